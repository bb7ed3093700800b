"""Read the rows around one, and list the threads that are alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import recall

from .desk import AnswerCoverage, OpenDesk, chronological, coverage_of, read

HOUR = 3_600_000 << 22  # in ids, whose milliseconds stand above 22 bits
NEWER_HOURS = (1, 24, 24 * 30)  # how far above a row those after it are looked for, before all newer ones are read


@dataclass(frozen=True, slots=True)
class RowsAround:
    """Hold rows in chronological order, the one that was asked for among them where it is `here`."""

    rows: tuple[recall.LogMessage, ...]
    where: recall.Whereabouts
    coverage: AnswerCoverage


@dataclass(frozen=True, slots=True)
class ThreadsAnswer:
    """Hold the threads that are alive, and who wrote their roots, as far as these were read."""

    index: recall.ThreadIndex
    authors: Mapping[int, recall.Author]
    coverage: AnswerCoverage


async def around(desk: OpenDesk, sequence: int, rows: int) -> RowsAround:
    """Read a row with `rows` before and after it. Raises `recall.ReadError`.

    A log is read backwards, so the rows after one are those at the end of a walk down to it. It begins an hour
    above, further up where that is too little, and at the newest row at last; a walk that its bound ends before it
    comes down says nothing of the rows next to this one. The coverage is of the rows before it.
    """
    older = await read(desk, scan=rows + 1, before=sequence + 1)
    before = chronological(desk, older.rows)
    newest = older.rows[0].sequence if older.rows else None
    after: tuple[recall.LogMessage, ...] = ()
    for hours in (*NEWER_HOURS, None):
        upper = None if hours is None else sequence + hours * HOUR
        newer = await read(desk, scan=recall.SCAN_LIMIT, before=upper, after=sequence)
        if newer.coverage.stopped is not None:
            break
        after = chronological(desk, newer.rows)
        newest = newer.rows[0].sequence if newer.rows else newest
        if len(after) >= rows:
            break
    found = (*before, *after[:rows])
    whole = None if desk.left_out else recall.whole_range(older.coverage, newest)
    where = recall.whereabouts(sequence, {row.sequence for row in found}, [] if whole is None else [whole])
    return RowsAround(found, where, coverage_of(desk, older.coverage))


async def threads(desk: OpenDesk, limit: int) -> ThreadsAnswer:
    """List the threads of a desk that moved within the newest `recall.THREAD_INDEX_SCAN` rows.

    Raises `recall.ReadError`.
    """
    walk = await read(desk, scan=recall.THREAD_INDEX_SCAN)
    inside = chronological(desk, walk.rows)
    lines: tuple[recall.ThreadLine, ...] = ()
    if desk.conversation is None or desk.conversation.thread_root is None:
        openings = None if desk.openings is None else desk.openings()
        lines = recall.fold_thread_index(inside, limit, openings=openings)
    roots = {line.root for line in lines}
    authors = {row.sequence: row.author for row in inside if row.sequence in roots}
    return ThreadsAnswer(recall.ThreadIndex(lines, walk.coverage), authors, coverage_of(desk, walk.coverage))
