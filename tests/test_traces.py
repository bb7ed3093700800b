from __future__ import annotations

import doctest
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    TRACE_CAP,
    LogMessage,
    Trace,
    TraceKind,
    from_wire,
    read_traces,
    render_trace,
    resolve_traces,
    to_wire,
    traces,
)
from recall.masking import Dialect
from tests.marked import DIALECTS, HOSTILE, HOSTILE_GROWTH, SCOUT, bodies, growth, logs, row


def extract(body: str, *, reply_to: int | None = None, dialect: Dialect = "commonmark") -> tuple[Trace, ...]:
    return resolve_traces(body, None, author=SCOUT, sequence=9, reply_to=reply_to, dialect=dialect)


def read(body: str, *, reply_to: int | None = None) -> list[tuple[object, ...]]:
    return [(str(t.kind), t.topic, t.target, t.cites) for t in extract(body, reply_to=reply_to)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("!propose #stage Stage the rollout", ("propose", "stage", None, ())),
        ("!support ^2 because #stage ^1 ^2 ^+1", ("support", "stage", None, (2, 1))),
        ("!object why >x >3 >4 ^1", ("object", None, 3, (1,))),
        ("!propose # #real #other", ("propose", "real", None, ())),
        ("!propose #stage.", ("propose", "stage.", None, ())),
        ("!evidence ^1, ^-1 ^1_0 ^4", ("evidence", None, None, (4,))),
        ("!question", ("question", None, None, ())),
        ("! commit #a", ("commit", "a", None, ())),
    ],
)
def test_qualifiers_count_wherever_they_stand(body: str, said: tuple[object, ...]) -> None:
    assert read(body) == [said]


@pytest.mark.parametrize("body", ["!refute #a", "!refute ^1", "!refute #a ^x", "!refute # ^1", "!refute #a >1"])
def test_a_refutation_without_a_topic_or_a_cite_is_nothing(body: str) -> None:
    assert read(body) == []


def test_text_is_the_line_from_its_sign_on_and_offset_the_signs_place() -> None:
    (trace,) = extract("日本\r\n \t!support #a ^1 \t\r\n")
    assert (trace.text, trace.offset, trace.sequence, trace.author) == ("!support #a ^1 \t", 6, 9, SCOUT)


def test_a_body_gives_at_most_its_cap_and_what_is_nothing_does_not_count() -> None:
    body = "!refute\n" * 5 + "".join(f"!propose #t{n}\n" for n in range(30))
    assert [trace.topic for trace in extract(body)] == [f"t{n}" for n in range(TRACE_CAP)]


def test_an_answer_takes_the_message_answered_as_its_target_or_cite() -> None:
    body = "!object\n!support #a\n!refute #a\n!evidence\n!propose #a\n!question\n!commit"
    assert read(body, reply_to=4) == [
        ("object", None, 4, ()),
        ("support", "a", None, (4,)),
        ("refute", "a", None, (4,)),
        ("evidence", None, None, (4,)),
        ("propose", "a", None, ()),
        ("question", None, None, ()),
        ("commit", None, None, ()),
    ]


def test_an_answer_that_names_a_target_or_a_cite_takes_nothing() -> None:
    assert read("!object ^1\n!support #a >1\n!object >2", reply_to=4) == [
        ("object", None, None, (1,)),
        ("support", "a", 1, ()),
        ("object", None, 2, ()),
    ]


def test_a_host_may_read_links_as_addresses() -> None:
    links = {"https://chat/7": 7}
    body = "!object >https://chat/7 ^https://chat/7 ^https://chat/8"
    (trace,) = resolve_traces(body, None, author=SCOUT, sequence=9, address=links.get)
    assert (trace.target, trace.cites) == (7, (7,))
    assert read_traces((row(9, body, SCOUT),), address=links.get) == (trace,)


def test_a_list_only_selects_by_offset_and_kind_in_its_own_order() -> None:
    body = "!propose #a\n!support #b ^1\n!question"
    propose, support, question = extract(body)

    def select(*supplied: Trace) -> tuple[Trace, ...]:
        return resolve_traces(body, supplied, author=SCOUT, sequence=9)

    lie = Trace(77, SCOUT, TraceKind.SUPPORT, "other", 5, (5,), "made up", support.offset)
    wrong_kind = Trace(9, SCOUT, TraceKind.COMMIT, None, None, (), "!question", question.offset)
    elsewhere = Trace(9, SCOUT, TraceKind.QUESTION, None, None, (), "!question", 99)
    assert select() == ()
    assert select(question, propose) == (question, propose)
    assert select(support, support, lie) == (support,)
    assert select(lie) == (support,)
    assert select(wrong_kind, elsewhere, question) == (question,)


def test_traces_are_read_in_the_order_of_rows_and_lines() -> None:
    rows = (row(2, "x\n!question\n!commit", SCOUT), row(1, "!propose #a", SCOUT), row(3, "no marker!", SCOUT))
    assert [(trace.sequence, str(trace.kind)) for trace in read_traces(rows)] == [
        (1, "propose"),
        (2, "question"),
        (2, "commit"),
    ]


def test_quoted_traces_are_none() -> None:
    assert [trace.kind for trace in extract("> !propose #a\n!question", dialect="discord")] == ["question"]
    assert read("`\n!propose #a\n`\n```\n!commit\n```") == []


@given(bodies, st.sampled_from(DIALECTS), st.none() | st.integers(1, 8))
@settings(deadline=None, max_examples=300)
def test_traces_are_bounded_ordered_and_select_themselves(body: str, dialect: Dialect, reply_to: int | None) -> None:
    found = extract(body, reply_to=reply_to, dialect=dialect)
    assert found == extract(body, reply_to=reply_to, dialect=dialect)
    assert len(found) <= TRACE_CAP
    assert [trace.offset for trace in found] == sorted({trace.offset for trace in found})
    for trace in found:
        assert body.startswith(trace.text, trace.offset)
        assert len(set(trace.cites)) == len(trace.cites)
        assert trace.topic != ""
        assert trace.kind != "refute" or (trace.topic and trace.cites)
        assert from_wire(Trace, to_wire(trace, string_ids=True)) == trace
    chosen = resolve_traces(body, found[::-1], author=SCOUT, sequence=9, reply_to=reply_to, dialect=dialect)
    assert chosen == found[::-1]


@given(logs, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_the_order_of_rows_does_not_matter(rows: tuple[LogMessage, ...], chance: random.Random) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert read_traces(shuffled) == read_traces(rows)


@pytest.mark.parametrize("shape", HOSTILE)
def test_reading_traces_grows_with_the_body_and_no_faster(shape: str) -> None:
    def read_all(body: str) -> None:
        resolve_traces(body, None, author=SCOUT, sequence=9, dialect="discord", reply_to=4)

    assert growth(read_all, HOSTILE[shape], small=2_000, factor=16) < HOSTILE_GROWTH


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(traces).failed == 0


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("!support ^2 because  #stage ^1 ^2", "!support #stage ^2 ^1 because"),
        ("! object why >3 >4", "!object >3 why >4"),
        ("!propose # #real #other words", "!propose #real # #other words"),
        ("!question", "!question"),
        ("  !commit #a\t done \r\nnext", "!commit #a done"),
    ],
)
def test_a_trace_is_written_with_its_qualifiers_first(body: str, line: str) -> None:
    (trace,) = extract(body)
    assert render_trace(trace) == line


def test_what_an_answer_gives_a_trace_stands_in_its_line() -> None:
    (trace,) = extract("!support #a yes", reply_to=7)
    assert render_trace(trace) == "!support #a ^7 yes"


@settings(deadline=None, max_examples=200)
@given(bodies, st.sampled_from(DIALECTS))
def test_the_line_of_a_trace_reads_back_as_the_same_trace(body: str, dialect: Dialect) -> None:
    for trace in extract(body, reply_to=5, dialect=dialect):
        line = render_trace(trace)
        (again,) = extract(line, dialect=dialect)
        assert "\n" not in line
        said = (trace.kind, trace.topic, trace.target, trace.cites)
        assert (again.kind, again.topic, again.target, again.cites) == said
        assert render_trace(again) == line
