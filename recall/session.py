"""Project a conversation onto the few rows that a turn, or a newcomer, reads.

A thread is its root and its direct replies. A desk is its roots, and of each root the first reply: enough
to see what was raised and how it was answered, without the inside of every thread. The walk ends as soon as
the window is sure to be full, so the cost does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Reversible

from recall.log import NOTHING_READ, SCAN_LIMIT, Coverage, SessionLog, walk_log
from recall.records import Conversation, LogMessage, Sequence, Value
from recall.text import is_blank

__all__ = ["SESSION_WINDOW", "Projection", "SessionQuery", "fold_session", "project_session"]

SESSION_WINDOW = 30  # rows of a conversation that a turn reads


class SessionQuery(Value, frozen=True):
    """Ask for the newest `window` rows of a conversation that are older than `before` (null: the newest)."""

    conversation: Conversation
    before: Sequence | None = None
    window: int = SESSION_WINDOW


class Projection(Value, frozen=True):
    """Hold rows in chronological order, and how far the walk looked for them."""

    messages: tuple[LogMessage, ...]
    coverage: Coverage


async def project_session(log: SessionLog, query: SessionQuery, *, scan: int = SCAN_LIMIT) -> Projection:
    """Return at most `query.window` rows that are not blank, oldest first, out of the newest `scan` raw rows.

    A window of 0 is empty and reads nothing. Raises what `walk_log` raises.
    """
    if query.window <= 0:
        return Projection((), NOTHING_READ)
    walk = await walk_log(log, scan=scan, before=query.before, ends_at=_is_full(query))
    return Projection(_project(walk.rows, query), walk.coverage)


def fold_session(rows: Iterable[LogMessage], query: SessionQuery) -> tuple[LogMessage, ...]:
    """Project rows that were read from `query.before` backwards, newest first, as `project_session` would.

    Rows older than the one with which the window is sure to be full have no say.
    """
    if query.window <= 0:
        return ()
    full = _is_full(query)
    read: list[LogMessage] = []
    for row in rows:
        read.append(row)
        if full(row):
            break
    return _project(read, query)


def _project(read: Reversible[LogMessage], query: SessionQuery) -> tuple[LogMessage, ...]:
    where = query.conversation
    rows = [row for row in reversed(read) if where.holds(row)]
    if where.thread_root is None:
        rows = _first_replies(rows)
    shown = [row for row in rows if not _is_blank(row)]
    return tuple(shown[-query.window :])


def _is_full(query: SessionQuery) -> Callable[[LogMessage], bool]:
    return _desk_is_full(query) if query.conversation.thread_root is None else _thread_is_full(query)


def _is_blank(row: LogMessage) -> bool:
    return is_blank(row.content) and is_blank(row.attached)


def _thread_is_full(query: SessionQuery) -> Callable[[LogMessage], bool]:
    """Return what ends the walk of a thread, newest first: its root, or the last row that the window takes."""
    where, count = query.conversation, 0

    def full(row: LogMessage) -> bool:
        nonlocal count
        if not where.holds(row):
            return False
        count += not _is_blank(row)
        return row.sequence == where.thread_root or count >= query.window

    return full


def _desk_is_full(query: SessionQuery) -> Callable[[LogMessage], bool]:
    """Return what ends the walk of a desk, newest first: the row with which the window is sure to be full.

    Sure to be kept is each root read that is not blank, and one reply of each root read, blank or not: an
    older reply may still take a newer one's place, but a place it is.
    """
    where, sure = query.conversation, 0
    roots: set[int] = set()
    answered: set[int] = set()

    def full(row: LogMessage) -> bool:
        nonlocal sure
        if not where.holds(row):
            return False
        if row.parent is None:
            roots.add(row.sequence)
            sure += (not _is_blank(row)) + (row.sequence in answered)
        elif row.parent not in answered and not _is_blank(row):
            answered.add(row.parent)
            sure += row.parent in roots
        return sure >= query.window

    return full


def _first_replies(rows: list[LogMessage]) -> list[LogMessage]:
    """Return the roots among chronological rows, and of each root the first reply that is not blank."""
    roots = {row.sequence for row in rows if row.parent is None}
    answered: set[int] = set()
    kept = []
    for row in rows:
        if row.parent is not None:
            if row.parent not in roots or row.parent in answered or _is_blank(row):
                continue
            answered.add(row.parent)
        kept.append(row)
    return kept
