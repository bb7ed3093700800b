from __future__ import annotations

import contextlib
import doctest
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot import marker_lines
from recall_bot.marker_lines import LineTooLong, NotALine, pin_line, trace_line, unpin_line
from recall_bot.posting import LINES_PER_MINUTE, MayNotPost, Posts, SlowMode
from recall_bot.shown import own_line, shown

import recall

ADA = recall.PersonAuthor(id="1", label="Ada")
SUPPORT, OBJECT = recall.TraceKind.SUPPORT, recall.TraceKind.OBJECT
HARD_TEXT = st.text(
    alphabet=st.sampled_from("`\\<>#@!&^:123 \n\r\x00\x1c\u2028\u202e\u1feféa\u0301pin~*_|"), max_size=40
)


@pytest.mark.parametrize(
    ("label", "note", "line"),
    [
        ("", "", "!pin ^5"),
        ("#ops", "", "!pin ^5 #ops"),
        ("two words", " as\tmeasured ", "!pin ^5 #two-words as measured"),
        ("ops", "done\n!unpin ^5", "!pin ^5 #ops done !unpin ^5"),
        ("\u202eops", "a\u200bb\r\nc", "!pin ^5 #ops ab c"),
        ("", "#ops by hand", "!pin ^5 #ops by hand"),
        ("ops", "ask <@1> in <#2> <:wave:3>", "!pin ^5 #ops ask @user-1 in #channel-2 :wave:"),
        ("^7", ">8 ^9", "!pin ^5 #^7 >8 ^9"),
        ("ops", "cafe\u0301", "!pin ^5 #ops café"),
    ],
)
def test_a_pin_is_written_on_one_line_as_it_was_typed(label: str, note: str, line: str) -> None:
    assert pin_line(5, label, note) == line


def test_an_unpin_is_written_by_its_target_alone() -> None:
    assert unpin_line(5) == "!unpin ^5"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "!support #stage. ^5"),
        ("it\nholds", "!support #stage. ^5 it holds"),
        ("see ^7 and ^5", "!support #stage. ^5 ^7 see and"),
        ("!object >9", "!support #stage. >9 ^5 !object"),
    ],
)
def test_a_support_cites_its_message_first(text: str, line: str) -> None:
    assert trace_line(SUPPORT, "#stage.", cite=5, text=text) == line


def test_an_objection_needs_no_topic_and_keeps_its_target() -> None:
    assert trace_line(OBJECT, target=5, text="too slow >6") == "!object >5 too slow >6"
    assert trace_line(OBJECT, "a b", target=5) == "!object #a-b >5"


def test_a_line_longer_than_a_message_is_refused() -> None:
    with pytest.raises(LineTooLong):
        pin_line(5, "ops", "n" * 2_000)
    with pytest.raises(LineTooLong):
        trace_line(SUPPORT, "ops", cite=5, text="🎉" * 1_000)


@settings(deadline=None, max_examples=300)
@given(HARD_TEXT | st.text(max_size=30), HARD_TEXT | st.text(max_size=60))
def test_whatever_is_typed_acts_on_the_message_it_was_typed_for_and_on_no_other(name: str, text: str) -> None:
    makers: tuple[Callable[[], str], ...] = (
        lambda: pin_line(5, name, text),
        lambda: trace_line(SUPPORT, name or "x", cite=5, text=text),
        lambda: trace_line(OBJECT, name, target=5, text=text),
    )
    for make in makers:
        with contextlib.suppress(NotALine, LineTooLong):
            line = make()
            assert len(line.splitlines()) == 1
            assert shown(line) == line
            assert own_line(line, bare=True, invoker=ADA) == ADA
            [on] = acts_on(line)
            assert on == 5


def acts_on(line: str) -> list[int | None]:
    """Return what the markers of a line are about: the pinned, the first cited, the one objected to."""
    pins = recall.read_directives(line, author=ADA, sequence=9, dialect="discord")
    traces = recall.resolve_traces(line, None, author=ADA, sequence=9, dialect="discord")
    return [pin.target for pin in pins] + [trace.target if trace.kind == OBJECT else trace.cites[0] for trace in traces]


def test_the_example_of_a_line_is_right() -> None:
    assert doctest.testmod(marker_lines).failed == 0


def test_slow_mode_and_a_minutes_lines_hold_for_what_is_posted_for_somebody() -> None:
    now = [0.0]
    pace = Posts(clock=lambda: now[0])
    pace.admit(1, 7, slow_seconds=30)
    with pytest.raises(SlowMode, match="30 s"):
        pace.admit(1, 7, slow_seconds=30)
    pace.admit(1, 8, slow_seconds=30)
    now[0] = 30.0
    pace.admit(1, 7, slow_seconds=30)

    for place in range(LINES_PER_MINUTE - 2):
        pace.admit(place + 2, 7, slow_seconds=0)
    with pytest.raises(MayNotPost):
        pace.admit(1, 7, slow_seconds=0)
    now[0] = 91.0
    pace.admit(1, 7, slow_seconds=0)
