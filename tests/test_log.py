from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    PAGE_SIZE,
    SCAN_LIMIT,
    Coverage,
    CursorAfterOldest,
    CursorDidNotAdvance,
    DuplicateSequence,
    EmptyPageCursor,
    LogMessage,
    PageError,
    PageNotDescending,
    PageOutOfRange,
    PageTooLarge,
    ReadError,
    SessionPage,
    WalkStopped,
    from_wire,
    to_wire,
    validate_page,
    walk_log,
)
from tests.searched import RecordingLog, row


def page(*sequences: int, next_before: int | None = None) -> SessionPage:
    return SessionPage(tuple(row(sequence, "m") for sequence in sequences), next_before)


def numbers(rows: tuple[LogMessage, ...]) -> list[int]:
    return [found.sequence for found in rows]


class ScriptedLog:
    """A log that answers with what it was given, in order, and raises what is an exception."""

    def __init__(self, *answers: SessionPage | BaseException) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int | None, int]] = []

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        self.asked.append((before, limit))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


# One page


@pytest.mark.parametrize(
    ("given_page", "before", "seen", "error", "fields"),
    [
        (page(5, 4, 3), None, (), PageTooLarge, {"requested": 2, "actual": 3}),
        (page(next_before=4), None, (), EmptyPageCursor, {"next_before": 4}),
        (page(5, 5), None, (), DuplicateSequence, {"sequence": 5}),
        (page(5), 9, (5,), DuplicateSequence, {"sequence": 5}),
        (page(9), 9, (), PageOutOfRange, {"sequence": 9, "before": 9}),
        (page(4, 5), None, (), PageNotDescending, {"previous": 4, "next": 5}),
        (page(5, next_before=9), 9, (), CursorDidNotAdvance, {"before": 9, "next_before": 9}),
        (page(5, 4, next_before=5), None, (), CursorAfterOldest, {"next_before": 5, "oldest": 4}),
    ],
)
def test_each_broken_promise_is_its_own_error_with_its_numbers(
    given_page: SessionPage, before: int | None, seen: tuple[int, ...], error: type[PageError], fields: dict[str, int]
) -> None:
    with pytest.raises(error) as caught:
        validate_page(given_page, before=before, requested=2, seen=set(seen))

    assert vars(caught.value) == fields


def test_promises_are_checked_row_by_row_and_the_cursor_last() -> None:
    for broken, error in (
        (page(9, 9, next_before=20), PageOutOfRange),  # the first row, before the second repeats it
        (page(5, 5, next_before=20), DuplicateSequence),
        (page(5, 6, next_before=20), PageNotDescending),
        (page(5, 4, next_before=20), CursorDidNotAdvance),
    ):
        with pytest.raises(error):
            validate_page(broken, before=9, requested=2, seen=set())


def test_a_page_that_keeps_its_promises_adds_to_what_was_seen() -> None:
    seen = {9}

    validate_page(page(5, 3, next_before=3), before=9, requested=2, seen=seen)
    validate_page(page(), before=3, requested=2, seen=seen)

    assert seen == {9, 5, 3}


# The walk

LONG = tuple(row(number, "m") for number in range(2000, 0, -1))


async def test_a_walk_reads_pages_newest_first_up_to_its_bound() -> None:
    log = RecordingLog(LONG)

    walk = await walk_log(log, scan=1100)

    assert numbers(walk.rows) == list(range(2000, 900, -1))
    assert walk.coverage == Coverage(rows=1100, oldest=901, beginning=False, stopped="bound")
    assert log.asked == [(None, 512), (1489, 512), (977, 76)]
    assert (PAGE_SIZE, SCAN_LIMIT) == (512, 2048)


async def test_a_walk_that_reaches_the_beginning_says_so() -> None:
    assert (await walk_log(RecordingLog(LONG[-5:]), scan=99)).coverage == Coverage(5, 1, True, None)
    assert (await walk_log(RecordingLog(LONG[-5:]), scan=5)).coverage == Coverage(5, 1, True, None)
    assert (await walk_log(RecordingLog(LONG[-5:]), scan=4)).coverage == Coverage(4, 2, False, "bound")
    assert (await walk_log(RecordingLog(()), scan=4)).coverage == Coverage(0, None, True, None)


async def test_a_walk_starts_before_and_ends_after_both_exclusive() -> None:
    log = RecordingLog(LONG)

    walk = await walk_log(log, scan=99, before=50, after=45)

    assert numbers(walk.rows) == [49, 48, 47, 46]
    assert walk.coverage == Coverage(rows=4, oldest=46, beginning=False, stopped=None)


async def test_a_walk_asks_for_no_page_that_can_only_lie_outside() -> None:
    log = ScriptedLog(page(9, 8, next_before=8))

    walk = await walk_log(log, scan=99, after=7)

    assert numbers(walk.rows) == [9, 8]
    assert walk.coverage == Coverage(rows=2, oldest=8, beginning=False, stopped=None)
    assert len(log.asked) == 1


async def test_a_walk_ends_at_the_row_that_its_reader_names() -> None:
    log = RecordingLog(LONG)

    walk = await walk_log(log, scan=99, ends_at=lambda found: found.sequence % 10 == 0 and found.sequence < 1995)

    assert numbers(walk.rows) == list(range(2000, 1989, -1))
    assert walk.coverage == Coverage(rows=11, oldest=1990, beginning=False, stopped=None)


async def test_a_walk_over_short_pages_goes_on_while_there_is_a_cursor() -> None:
    log = ScriptedLog(page(9, next_before=9), page(7, 5, next_before=4), page())

    walk = await walk_log(log, scan=99)

    assert numbers(walk.rows) == [9, 7, 5]
    assert walk.coverage == Coverage(rows=3, oldest=5, beginning=True, stopped=None)
    assert log.asked == [(None, 99), (9, 98), (4, 96)]


@pytest.mark.parametrize("scan", [0, -1])
async def test_a_walk_of_no_rows_asks_for_none(scan: int) -> None:
    log = ScriptedLog()

    assert (await walk_log(log, scan=scan)).coverage == Coverage(0, None, False, "bound")


async def test_a_port_that_must_stop_keeps_what_was_read() -> None:
    log = ScriptedLog(page(9, 8, next_before=8), WalkStopped("time"))

    walk = await walk_log(log, scan=99)

    assert numbers(walk.rows) == [9, 8]
    assert walk.coverage == Coverage(rows=2, oldest=8, beginning=False, stopped="time")


async def test_a_failure_of_the_host_is_wrapped_once_with_its_cause() -> None:
    failure = OSError("no route")
    with pytest.raises(ReadError) as caught:
        await walk_log(ScriptedLog(failure), scan=9)
    assert caught.value.__cause__ is failure

    own = ReadError()
    with pytest.raises(ReadError) as again:
        await walk_log(ScriptedLog(own), scan=9)
    assert again.value is own


async def test_a_cancelled_walk_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await walk_log(ScriptedLog(asyncio.CancelledError()), scan=9)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ((page(9, next_before=9), page(9)), DuplicateSequence),
        ((page(9, next_before=9), page(10)), PageOutOfRange),
        ((page(9, next_before=9), page(8, next_before=9)), CursorDidNotAdvance),
        ((page(9, next_before=9), page(next_before=8)), EmptyPageCursor),
        ((page(*range(99, 0, -1)),), PageTooLarge),
    ],
)
async def test_every_page_of_a_walk_is_checked(answers: tuple[SessionPage, ...], error: type[PageError]) -> None:
    with pytest.raises(error):
        await walk_log(ScriptedLog(*answers), scan=50)


limits = st.none() | st.integers(0, 40)
ends: tuple[Callable[[LogMessage], bool] | None, ...] = (
    None,
    lambda found: found.sequence % 7 == 0,
    lambda found: False,
)


@settings(deadline=None, max_examples=300)
@given(st.sets(st.integers(0, 40)), limits, limits, st.integers(0, 50), st.sampled_from(ends))
async def test_a_walk_is_what_lies_between_its_bounds(
    sequences: set[int],
    before: int | None,
    after: int | None,
    scan: int,
    ends_at: Callable[[LogMessage], bool] | None,
) -> None:
    rows = tuple(row(sequence) for sequence in sorted(sequences, reverse=True))

    walk = await walk_log(RecordingLog(rows), scan=scan, before=before, after=after, ends_at=ends_at)

    inside = [found for found in rows if before is None or found.sequence < before]
    wanted = [found for found in inside if after is None or found.sequence > after][:scan]
    stop = next((index for index, found in enumerate(wanted) if ends_at and ends_at(found)), len(wanted))
    assert list(walk.rows) == wanted[: stop + 1]
    assert walk.coverage.rows == len(walk.rows)
    assert walk.coverage.oldest == (walk.rows[-1].sequence if walk.rows else None)
    if walk.coverage.beginning:
        assert list(walk.rows) == inside


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda found, cursor: page(*found, next_before=cursor),
            st.lists(st.integers(0, 9), max_size=4),
            st.none() | st.integers(0, 9),
        ),
        max_size=5,
    )
)
async def test_whatever_a_log_answers_the_walk_is_descending_or_an_error(answers: list[SessionPage]) -> None:
    try:
        walk = await walk_log(ScriptedLog(*answers, page()), scan=9)
    except PageError:
        return
    found = numbers(walk.rows)
    assert found == sorted(set(found), reverse=True)


def test_pages_and_coverage_have_wire_forms() -> None:
    coverage = Coverage(rows=2, oldest=2**63, beginning=False, stopped="bound")

    assert to_wire(coverage, string_ids=True) == {
        "rows": 2,
        "oldest": str(2**63),
        "beginning": False,
        "stopped": "bound",
    }
    assert from_wire(Coverage, to_wire(coverage)) == coverage
    assert from_wire(SessionPage, to_wire(page(5, 4, next_before=4))) == page(5, 4, next_before=4)
