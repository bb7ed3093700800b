from __future__ import annotations

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    SCAN_LIMIT,
    SESSION_WINDOW,
    BrevityPolicy,
    Conversation,
    Coverage,
    DuplicateSequence,
    LogMessage,
    SessionQuery,
    briefing,
    from_wire,
    project_session,
    to_wire,
)
from recall.text import is_blank
from tests.searched import RecordingLog, logs, row

DESK = Conversation(desk_id="desk", desk_name="Desk")
THREAD = Conversation(desk_id="desk", desk_name="Desk", thread_root=3)
wheres = st.sampled_from((DESK, THREAD))


async def project(
    rows: tuple[LogMessage, ...], where: Conversation = DESK, window: int = SESSION_WINDOW
) -> tuple[list[int], Coverage]:
    found = await project_session(RecordingLog(rows[::-1]), SessionQuery(conversation=where, window=window))
    return [message.sequence for message in found.messages], found.coverage


async def test_a_desk_shows_its_roots_and_the_first_reply_of_each() -> None:
    rows = (
        row(1, "root"),
        row(2, "other desk", chat_id="other"),
        row(3, "first", parent=1),
        row(4, "second", parent=1),
        row(5, "root"),
        row(6, "inside a reply", parent=3),
        row(7, "of a root that was not read", parent=99),
    )

    assert await project(rows) == ([1, 3, 5], Coverage(rows=7, oldest=1, beginning=True, stopped=None))


async def test_the_walk_of_a_desk_ends_where_the_window_is_sure_to_be_full() -> None:
    rows = (row(1, "old"), row(2, "root"), row(3, "early", parent=2), row(4, "late", parent=2))

    shown, coverage = await project(rows, window=2)

    assert shown == [2, 3]
    assert coverage == Coverage(rows=3, oldest=2, beginning=False, stopped=None)


async def test_a_channel_whose_last_rows_reply_to_older_roots_does_not_come_out_empty() -> None:
    rows = (row(1, "root"), *(row(number, "reply", parent=1) for number in range(2, 60)))

    assert (await project(rows))[0] == [1, 2]


async def test_a_blank_row_is_never_shown_and_a_blank_root_still_is_somebodys_root() -> None:
    rows = (row(1, " "), row(2, "", parent=1), row(3, "reply", parent=1), row(4, "\n", attached="cat.png"))

    assert (await project(rows))[0] == [3, 4]


async def test_a_reply_that_is_blank_takes_no_place() -> None:
    rows = (row(1, "root"), row(2, "root"), row(3, "\u200a", parent=2))

    assert (await project(rows, window=2))[0] == [1, 2]


async def test_a_thread_shows_its_root_and_its_direct_replies() -> None:
    rows = (
        row(1, "before"),
        row(3, "root"),
        row(4, "reply", parent=3),
        row(5, "beside"),
        row(6, "inside", parent=4),
        row(7, "reply", parent=3),
        row(8, "elsewhere", parent=3, chat_id="other"),
    )

    assert await project(rows, THREAD) == ([3, 4, 7], Coverage(rows=6, oldest=3, beginning=False, stopped=None))


async def test_a_thread_shows_the_newest_and_reads_no_further_than_it_needs() -> None:
    rows = (row(3, "root"), *(row(number, "reply", parent=3) for number in range(4, 3000)))
    log = RecordingLog(rows[::-1])

    found = await project_session(log, SessionQuery(conversation=THREAD))

    assert [message.sequence for message in found.messages] == list(range(2970, 3000))
    assert found.coverage == Coverage(rows=30, oldest=2970, beginning=False, stopped=None)
    assert len(log.asked) == 1


async def test_a_blank_root_ends_the_walk_of_its_thread_and_is_not_shown() -> None:
    rows = (row(1, "before"), row(3, ""), row(4, "reply", parent=3))

    assert await project(rows, THREAD) == ([4], Coverage(rows=2, oldest=3, beginning=False, stopped=None))


async def test_no_window_reads_nothing() -> None:
    log = RecordingLog((row(1, "root"),))

    found = await project_session(log, SessionQuery(conversation=DESK, window=0))

    assert (found.messages, found.coverage.rows, log.asked) == ((), 0, [])


async def test_what_is_read_is_bounded_and_older_than_what_was_asked() -> None:
    rows = tuple(row(number, "reply", parent=9999) for number in range(1, 4001))
    log = RecordingLog(rows[::-1])

    found = await project_session(log, SessionQuery(conversation=DESK, before=3000))

    assert found.coverage == Coverage(rows=SCAN_LIMIT, oldest=3000 - SCAN_LIMIT, beginning=False, stopped="bound")
    assert log.asked[0] == (3000, 512)
    narrow = await project_session(log, SessionQuery(conversation=DESK), scan=10)
    assert narrow.coverage.rows == 10


async def test_a_log_that_repeats_itself_is_an_error() -> None:
    with pytest.raises(DuplicateSequence):
        await project((row(1, "x"), row(1, "y")))


def blank(message: LogMessage) -> bool:
    return is_blank(message.content) and is_blank(message.attached)


def slow_desk(rows: tuple[LogMessage, ...], window: int) -> tuple[list[int], int]:
    """The projection of a desk by its definition, and how many rows that takes."""
    read = 0
    for read in range(1, len(rows) + 1):
        inside = [message for message in rows[:read] if DESK.holds(message)]
        roots = [message for message in inside if message.parent is None]
        answered = {message.parent for message in inside if message.parent is not None and not blank(message)}
        if sum(not blank(root) for root in roots) + sum(root.sequence in answered for root in roots) >= window:
            break
    inside = [message for message in reversed(rows[:read]) if DESK.holds(message)]
    roots = [message for message in inside if message.parent is None]
    kept = [root for root in roots if not blank(root)]
    for root in roots:
        replies = [message for message in inside if message.parent == root.sequence and not blank(message)]
        kept += replies[:1]
    return sorted(message.sequence for message in kept)[-window:], read


@settings(deadline=None, max_examples=300)
@given(logs(), st.integers(1, 8))
async def test_a_desk_is_projected_as_its_rule_says(rows: tuple[LogMessage, ...], window: int) -> None:
    shown, coverage = await project(rows[::-1], window=window)

    assert (shown, coverage.rows) == slow_desk(rows, window)


@settings(deadline=None, max_examples=300)
@given(logs(), st.integers(1, 8))
async def test_a_thread_is_projected_as_its_rule_says(rows: tuple[LogMessage, ...], window: int) -> None:
    shown, coverage = await project(rows[::-1], THREAD, window)

    inside = [message.sequence for message in rows if THREAD.holds(message) and not blank(message)]
    since_root = [
        sequence for sequence in inside if sequence >= 3 or not any(r.sequence == 3 and THREAD.holds(r) for r in rows)
    ]
    assert shown == sorted(since_root[:window])
    assert coverage.rows <= len(rows)


@settings(deadline=None)
@given(logs(), wheres, st.integers(0, 8))
async def test_a_projection_is_bounded_chronological_and_repeatable(
    rows: tuple[LogMessage, ...], where: Conversation, window: int
) -> None:
    query = SessionQuery(conversation=where, window=window)
    found = await project_session(RecordingLog(rows), query)

    assert found == await project_session(RecordingLog(rows), query)
    assert len(found.messages) <= window
    assert list(found.messages) == sorted(found.messages, key=lambda message: message.sequence)
    assert all(message in rows and where.holds(message) and not blank(message) for message in found.messages)


def test_a_query_has_a_wire_form() -> None:
    query = SessionQuery(conversation=THREAD, before=2**63)

    assert to_wire(query, string_ids=True) == {
        "conversation": {"desk_id": "desk", "desk_name": "Desk", "thread_root": "3"},
        "before": str(2**63),
        "window": 30,
    }
    assert from_wire(SessionQuery, to_wire(query, string_ids=True)) == query


# The budget of a message


@pytest.mark.parametrize(("characters", "over"), [(0, None), (599, None), (600, None), (601, 1), (900, 300)])
def test_a_message_runs_over_by_the_characters_above_the_budget(characters: int, over: int | None) -> None:
    assert BrevityPolicy().overrun("x" * characters) == over


def test_an_emoji_counts_its_code_points() -> None:
    assert BrevityPolicy(message_chars=2).overrun("👨\u200d👩\u200d👧") == 3


def test_the_budget_is_stated_against_the_window_that_is_read() -> None:
    assert to_wire(BrevityPolicy()) == {"message_chars": 600, "window": SESSION_WINDOW}


@settings(deadline=None)
@given(st.text(max_size=20), st.integers(0, 20))
def test_an_overrun_is_what_is_left_above_the_budget(content: str, budget: int) -> None:
    assert (BrevityPolicy(message_chars=budget).overrun(content) or 0) == max(0, len(content) - budget)


def test_the_examples_of_the_budget_are_true() -> None:

    assert doctest.testmod(briefing).failed == 0
