from __future__ import annotations

import doctest
import random
import sys
from functools import partial

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall
from recall import (
    NOTE_LINE_CHARS,
    NOTE_OPTIONS,
    NOTE_TOPIC_CHARS,
    LogMessage,
    QuorumPolicy,
    TopicStanding,
    Trace,
    TraceEffect,
    TraceKind,
    ZeroQuorumThreshold,
    briefing_note,
    judged_commits,
    misread_traces,
    read_traces,
    standings,
    to_wire,
    trace_lack,
    trace_outcomes,
)
from tests.marked import ALICE, DIALECTS, SCOUT, logs, row
from tests.test_standings import deposits, policies

PROPOSE = "!propose #topic text (only what is none of the options above, under a name of its own)"
SUPPORT = "!support #topic ^N text (N is the message that it rests on)"
OBJECT = "!object >N ^M text (N is the message whose author you answer, M what it rests on)"
REFUTE = "!refute #topic ^N text (N is the fact that speaks against the topic)"
EVIDENCE, QUESTION, COMMIT = "!evidence #topic ^N text", "!question #topic text", "!commit #topic"
EXAMPLES = (
    "Right: !support #rollout ^1234 the canary held for a day",
    "Wrong: !support rollout 1234 (no # and no ^, so it names no topic, cites nothing and counts for nothing)",
)

STAGE = TopicStanding("stage", ("a",), ("b", "c"), ("d",), 900)
SKIP = TopicStanding("skip", ("a", "b"), (), (), 1_400)
SPLIT = TopicStanding("split", ("a", "b", "c"), (), ("d", "e"), 1_900)


def lines(*standings: TopicStanding, policy: QuorumPolicy | None = None, last: Trace | None = None) -> tuple[str, ...]:
    note = briefing_note(standings, policy or QuorumPolicy(), last=last)
    assert note is not None
    assert note.heading == "Where the floor stands"
    return note.lines


def own(text: str) -> Trace:
    [trace] = read_traces([row(7, text, SCOUT)])
    return trace


def test_while_nothing_is_carried_a_turn_is_told_what_each_option_needs_and_offered_no_commit() -> None:
    assert lines(STAGE) == (
        "#stage: 1 of 2 supporters, needs 1 more; 2 silenced by objections; 1 refuting it",
        "Nothing is carried yet, so nothing can be recorded",
        "What counts now:",
        *(PROPOSE, SUPPORT, OBJECT, EVIDENCE, QUESTION),
        *EXAMPLES,
    )


def test_once_a_topic_is_carried_a_turn_is_offered_to_record_it_or_to_object() -> None:
    assert lines(STAGE, SKIP, last=own("!support  #skip ^3 as\tI say")) == (
        "#stage: 1 of 2 supporters, needs 1 more; 2 silenced by objections; 1 refuting it",
        "#skip: 2 of 2 supporters, has enough",
        "Carried: #skip. It can be recorded now",
        'Your own last line was [7] "!support #skip ^3 as I say": do not repeat it, move the room on',
        "What counts now:",
        *(COMMIT, OBJECT),
        *EXAMPLES,
    )


def test_in_a_deadlock_a_turn_is_offered_what_breaks_it() -> None:
    assert lines(SKIP, SPLIT, policy=QuorumPolicy(refutation_cap=3)) == (
        "#skip: 2 of 2 supporters, has enough",
        "#split: 3 of 2 supporters, has enough; 2 refuting it",
        "Deadlocked: #skip, #split have enough supporters each. An objection that holds breaks it",
        "What counts now:",
        *(OBJECT, REFUTE, EVIDENCE),
        *EXAMPLES,
    )


def test_a_cap_makes_a_refutation_count_and_says_what_it_keeps_from_being_carried() -> None:
    assert lines(SPLIT, policy=QuorumPolicy(refutation_cap=2)) == (
        "#split: 3 of 2 supporters, has enough; 2 refuting it, which keeps it from being carried",
        "Nothing is carried yet, so nothing can be recorded",
        "What counts now:",
        *(PROPOSE, SUPPORT, OBJECT, REFUTE, EVIDENCE, QUESTION),
        *EXAMPLES,
    )


def test_on_an_empty_floor_only_who_wrote_something_is_told_of_it() -> None:
    assert briefing_note([], QuorumPolicy()) is None
    assert lines(last=own("!propose stage")) == (
        "Nothing is carried yet, so nothing can be recorded",
        'Your own last line was [7] "!propose stage": do not repeat it, move the room on',
        "What counts now:",
        *(PROPOSE, EVIDENCE, QUESTION),
        *EXAMPLES,
    )


def test_a_policy_that_can_carry_nothing_is_an_error() -> None:
    with pytest.raises(ZeroQuorumThreshold):
        briefing_note([], QuorumPolicy(threshold=0))


names = st.text(max_size=200)
floors = st.lists(
    st.builds(
        TopicStanding,
        topic=names,
        supporters=st.lists(names, max_size=4).map(tuple),
        silenced=st.lists(names, max_size=2).map(tuple),
        refuted_by=st.lists(names, max_size=2).map(tuple),
        support=st.integers(0, 9_000),
    ),
    max_size=20,
)


@given(floors, policies, st.none() | st.builds(Trace, st.just(1), st.just(ALICE), st.sampled_from(TraceKind),
    st.none(), st.none(), st.just(()), names, st.just(0)))  # fmt: skip
@settings(max_examples=200)
def test_a_note_is_bounded_whatever_the_floor_holds_and_a_line_stays_a_line(
    floor: list[TopicStanding], policy: QuorumPolicy, last: Trace | None
) -> None:
    note = briefing_note(floor, policy, last=last)

    assert briefing_note(floor, policy, last=last) == note
    if note is None:
        assert not floor
        assert last is None
        return
    assert len(note.lines) <= NOTE_OPTIONS + 14
    bound = max(NOTE_LINE_CHARS, NOTE_OPTIONS * (NOTE_TOPIC_CHARS + 3)) + 120
    assert all(len(line.splitlines()) == 1 and len(line) <= bound for line in note.lines)
    assert (COMMIT in note.lines) == any(line.startswith("Carried: ") for line in note.lines)
    assert (REFUTE in note.lines) <= (policy.refutation_cap is not None)


# What became of a trace


@pytest.mark.parametrize(
    ("line", "lack"),
    [
        ("!propose #t", None),
        ("!propose", TraceEffect.NO_TOPIC),
        ("!support #t ^1", None),
        ("!support ^1", TraceEffect.NO_TOPIC),
        ("!support #t", TraceEffect.NO_CITE),
        ("!object >1 ^2", None),
        ("!object ^2", TraceEffect.NO_TARGET),
        ("!object >1", TraceEffect.NO_CITE),
        ("!commit", TraceEffect.NO_TOPIC),
        ("!evidence", None),
        ("!question", None),
    ],
)
def test_a_trace_by_itself_lacks_a_topic_a_target_or_a_cite(line: str, lack: TraceEffect | None) -> None:
    free = QuorumPolicy(require_grounded=False)

    assert trace_lack(own(line), QuorumPolicy()) == lack
    assert trace_lack(own(line), free) == (None if lack is TraceEffect.NO_CITE else lack)
    assert trace_lack(own(line), QuorumPolicy(require_grounded=False, require_evidential=True)) == lack


@given(st.lists(deposits, max_size=14), st.integers(0, 12), policies, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_outcomes_follow_the_standings_and_depend_on_neither_order_nor_redelivery(
    traces: list[Trace], at: int, policy: QuorumPolicy, everyone: bool, chance: random.Random
) -> None:
    unique = list({(trace.sequence, trace.offset): trace for trace in traces}.values())
    eligible = (lambda _: True) if everyone else None
    found = trace_outcomes(unique, at, policy, eligible=eligible)
    again = [*unique, *chance.choices(unique, k=3)] if unique else []
    chance.shuffle(again)

    assert trace_outcomes(again, at, policy, eligible=eligible) == found
    assert [(one.trace.sequence, one.trace.offset) for one in found] == sorted({(t.sequence, t.offset) for t in unique})
    for standing in standings(unique, at, policy, eligible=eligible):
        mine = [one for one in found if one.trace.topic == standing.topic]
        for effect, side in (
            (TraceEffect.COUNTS, standing.supporters),
            (TraceEffect.SILENCED, standing.silenced),
            (TraceEffect.REFUTES, standing.refuted_by),
        ):
            assert {recall.author_id(one.trace.author) for one in mine if one.effect is effect} == set(side)
    silencing = {one.trace.sequence for one in found if one.effect is TraceEffect.SILENCES}
    assert {by for one in found for by in one.by} == silencing


def as_of(at: int, trace: Trace) -> Trace:
    """Return a trace as a reader at a row could take it: what it names further down was not there."""
    target = trace.target if trace.target is not None and trace.target <= at else None
    return msgspec.structs.replace(trace, cites=tuple(cite for cite in trace.cites if cite <= at), target=target)


@given(st.lists(deposits, max_size=14), policies)
@settings(max_examples=150)
def test_a_commit_records_what_is_carried_at_its_row(traces: list[Trace], policy: QuorumPolicy) -> None:
    unique = list({(trace.sequence, trace.offset): trace for trace in traces}.values())
    judged = list(judged_commits(unique, policy))
    rows = sorted({t.sequence for t in unique if t.kind is TraceKind.COMMIT and t.topic is not None}, reverse=True)

    assert len(judged) == len(rows)
    assert list(judged_commits(unique, policy, rows=1)) == judged[:1]
    for at, decisions in zip(rows, judged, strict=True):
        there = [trace for trace in map(partial(as_of, at), unique) if trace.sequence <= at]
        state = recall.consensus(standings(there, at, policy), policy)
        carried = state.topics if isinstance(state, recall.Deadlocked) else ()
        carried = (state.topic,) if isinstance(state, recall.Quorum) else carried
        commits = [t for t in unique if t.sequence == at and t.kind is TraceKind.COMMIT and t.topic in carried]
        assert [decision.trace for decision in decisions] == sorted(commits, key=lambda trace: trace.offset)
        assert all({*decision.beside, decision.trace.topic} == set(carried) for decision in decisions)


@given(logs)
@settings(max_examples=200)
def test_a_line_is_read_as_a_trace_or_said_to_be_none_and_never_both(rows: tuple[LogMessage, ...]) -> None:
    for dialect in DIALECTS:
        read = {(t.sequence, t.offset) for t in read_traces(rows, dialect=dialect)}
        missed = [one for given in rows for one in misread_traces(given, QuorumPolicy(), dialect=dialect)]

        assert read.isdisjoint((one.trace.sequence, one.trace.offset) for one in missed)
        assert all(not one.effect.deposits for one in missed)
        assert len(missed) <= recall.TRACE_CAP * len(rows)


def test_an_outcome_on_the_wire_has_its_trace_and_why() -> None:
    [outcome] = misread_traces(row(7, "!Support #a ^3", SCOUT), QuorumPolicy())

    wire = to_wire(outcome, string_ids=True)
    assert list(wire) == ["trace", "effect", "topics", "by"]
    assert (wire["trace"]["sequence"], wire["effect"]) == ("7", "misspelt")
    assert recall.from_wire(recall.TraceOutcome, wire) == outcome


@pytest.mark.parametrize("function", [briefing_note, trace_outcomes])
def test_the_examples_of_the_modules_are_true(function: object) -> None:
    assert doctest.testmod(sys.modules[function.__module__]).failed == 0
