"""The port through which history is read, and the only walk over it.

A host implements one method, `SessionLog.read_before`; everything else in this library is pure. Hosts
err: pages overlap, cursors stand still, rows come out of order, and a fold over such rows is confidently
wrong. So each page is checked before a fold sees a row, and each broken promise is an error of its own.

One bounded walk serves every reader. It goes from the newest row to older ones, reads at most `scan` raw
rows, and reports how far it came: reaching the bound is a success, and its `Coverage` says so.

    walk = await walk_log(log, scan=2048)
    walk.rows        # newest first
    walk.coverage    # Coverage(rows=2048, oldest=17953, beginning=False, stopped="bound")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from recall.errors import (
    CursorAfterOldest,
    CursorDidNotAdvance,
    DuplicateSequence,
    EmptyPageCursor,
    PageNotDescending,
    PageOutOfRange,
    PageTooLarge,
    ReadError,
    RecallError,
    WalkStopped,
)
from recall.records import LogMessage, Sequence, Value

__all__ = [
    "PAGE_SIZE",
    "SCAN_LIMIT",
    "STOPPED_AT_BOUND",
    "Coverage",
    "SessionLog",
    "SessionPage",
    "Walk",
    "validate_page",
    "walk_log",
]

PAGE_SIZE = 512  # rows asked of a log at once
SCAN_LIMIT = 2048  # raw rows a reader looks at unless told otherwise
STOPPED_AT_BOUND = "bound"


class SessionPage(Value, frozen=True):
    """Hold rows in strictly descending sequence, and the exclusive cursor of the next older page.

    `next_before` is null at the beginning of history.
    """

    messages: tuple[LogMessage, ...]
    next_before: Sequence | None = None


class SessionLog(Protocol):
    """Be a history that can be read backwards."""

    async def read_before(self, before: Sequence | None, limit: int) -> SessionPage:
        """Return at most `limit` rows older than `before` (null: the newest), newest first.

        May raise `WalkStopped` to end the walk with what was read until then; anything else it raises
        reaches the reader as `ReadError`.
        """
        ...  # pragma: no cover


class Coverage(Value, frozen=True):
    """Say how far a walk looked.

    `rows`: raw rows read. `oldest`: the lowest sequence reached, null when nothing was read.
    `beginning`: whether that is the beginning of history. `stopped`: why the walk ended early, `bound`
    or the port's reason; null when it reached the beginning, or all that the question asked for.
    """

    rows: int
    oldest: Sequence | None
    beginning: bool
    stopped: str | None


class Walk(NamedTuple):
    """Hold what a walk read, newest first, and how far it looked."""

    rows: tuple[LogMessage, ...]
    coverage: Coverage


NOTHING_READ = Coverage(rows=0, oldest=None, beginning=False, stopped=None)


def validate_page(page: SessionPage, *, before: Sequence | None, requested: int, seen: set[int]) -> None:
    """Check a page against the contract of `SessionLog` and add its sequences to `seen`.

    `before` and `requested` are what was asked for, `seen` the sequences of the walk so far. The first
    broken promise is raised, as the subclass of `PageError` that names it.
    """
    messages, next_before = page.messages, page.next_before
    if len(messages) > requested:
        raise PageTooLarge(requested=requested, actual=len(messages))
    if not messages:
        if next_before is not None:
            raise EmptyPageCursor(next_before=next_before)
        return
    previous: int | None = None
    for message in messages:
        sequence = message.sequence
        if sequence in seen:
            raise DuplicateSequence(sequence=sequence)
        if before is not None and sequence >= before:
            raise PageOutOfRange(sequence=sequence, before=before)
        if previous is not None and sequence >= previous:
            raise PageNotDescending(previous=previous, next=sequence)
        seen.add(sequence)
        previous = sequence
    if next_before is None:
        return
    if before is not None and next_before >= before:
        raise CursorDidNotAdvance(before=before, next_before=next_before)
    oldest = messages[-1].sequence
    if next_before > oldest:
        raise CursorAfterOldest(next_before=next_before, oldest=oldest)


async def walk_log(
    log: SessionLog,
    *,
    scan: int,
    before: Sequence | None = None,
    after: Sequence | None = None,
    ends_at: Callable[[LogMessage], bool] | None = None,
) -> Walk:
    """Read a log from `before` (exclusive; null: the newest row) backwards.

    The walk ends after `scan` raw rows, at the first row that is not newer than `after` (which is not
    part of the result), at the row for which `ends_at` says yes (which is), or at the beginning.
    Raises `PageError` when the log breaks its contract and `ReadError` when it cannot be read.
    """
    rows: list[LogMessage] = []
    seen: set[int] = set()
    cursor = before
    stopped: str | None = None
    beginning = complete = False
    while not (beginning or complete or stopped):
        requested = min(PAGE_SIZE, scan - len(rows))
        if requested <= 0:
            stopped = STOPPED_AT_BOUND
            break
        try:
            page = await log.read_before(cursor, requested)
        except WalkStopped as stop:
            stopped = stop.reason
            break
        except RecallError:
            raise
        except Exception as error:
            raise ReadError from error
        validate_page(page, before=cursor, requested=requested, seen=seen)
        kept = page.messages
        if after is not None:
            kept = tuple(row for row in kept if row.sequence > after)
        if ends_at is not None:
            for index, row in enumerate(kept):
                if ends_at(row):
                    kept, complete = kept[: index + 1], True
                    break
        rows.extend(kept)
        cursor = page.next_before
        whole = len(kept) == len(page.messages)
        beginning = whole and cursor is None
        complete = complete or not whole or (after is not None and cursor is not None and cursor <= after + 1)
    oldest = rows[-1].sequence if rows else None
    return Walk(tuple(rows), Coverage(rows=len(rows), oldest=oldest, beginning=beginning, stopped=stopped))
