"""Read the rows of a mirror file as a log, newest first, without Discord and without the bot.

What is stored of a desk stands by channel and thread, each in the order of ids. The log merges them and reads
each a stretch at a time. It never says that anything is verified: that only the running bot knows.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import recall

from .readonly import MirrorUnreadable
from .spans import LIVE
from .statements import decode_row

NOT_MIRRORED: Final = "not mirrored"  # why a walk over a mirror ends before the beginning of its channel
STRETCH_ROWS: Final = 256  # rows of one place read at once


class Stretch(NamedTuple):
    """Name the rows of a place with `low <= id < high`."""

    place_id: int
    low: int = 0
    high: int = LIVE


class _Strand:
    """Hold the rows of a stretch that were read and not yet taken."""

    def __init__(self, stretch: Stretch, high: int) -> None:
        self.stretch = stretch
        self.high = high
        self.rows: deque[recall.LogMessage] = deque()


class MirrorLog:
    """Be a `recall.SessionLog` over stretches of a mirror file.

    `path` is what an error names. `named` puts names into a row. `begins_late`: why the oldest row may not be the
    first; null when it is. A walk that comes to the end is then stopped there for that reason.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        stretches: Iterable[Stretch],
        *,
        path: Path,
        named: Callable[[recall.LogMessage], recall.LogMessage] = lambda row: row,
        begins_late: str | None = None,
    ) -> None:
        self._connection = connection
        self._stretches = tuple(stretches)
        self._path = path
        self._named = named
        self._begins_late = begins_late
        self._heap: list[tuple[int, int, _Strand]] = []
        self._expected: int | None = 0  # the cursor that goes on with this walk; 0 is nobody's

    async def read_before(self, before: recall.Sequence | None, limit: int) -> recall.SessionPage:
        """Return at most `limit` rows older than `before` (null: the newest), newest first.

        Raises `MirrorUnreadable`.
        """
        if limit <= 0:
            return recall.SessionPage(())
        if before is None or before != self._expected:
            self._begin(LIVE if before is None else min(before, LIVE))
        rows: list[recall.LogMessage] = []
        while self._heap and len(rows) < limit:
            _, number, strand = heapq.heappop(self._heap)
            row = strand.rows.popleft()
            self._push(number, strand)
            if not rows or row.sequence < rows[-1].sequence:
                rows.append(self._named(row))
        if not rows and self._begins_late is not None:
            raise recall.WalkStopped(self._begins_late)
        more = bool(self._heap) or self._begins_late is not None
        self._expected = rows[-1].sequence if rows and more else 0
        return recall.SessionPage(tuple(rows), self._expected or None)

    async def read_row(self, sequence: int) -> recall.LogMessage | None:
        """Return the row of one sequence, null where there is none."""
        for stretch in self._stretches:
            if stretch.low <= sequence < stretch.high:
                found = self._read(stretch, min(sequence + 1, stretch.high), 1)
                if found and found[0].sequence == sequence:
                    return self._named(found[0])
        return None

    def _begin(self, before: int) -> None:
        self._heap = []
        for number, stretch in enumerate(self._stretches):
            self._push(number, _Strand(stretch, min(before, stretch.high)))

    def _push(self, number: int, strand: _Strand) -> None:
        """Put a strand where its newest row has its turn; one that has no more is let go."""
        if not strand.rows:
            strand.rows.extend(self._read(strand.stretch, strand.high, STRETCH_ROWS))
        if strand.rows:
            strand.high = strand.rows[-1].sequence
            heapq.heappush(self._heap, (-strand.rows[0].sequence, number, strand))

    def _read(self, stretch: Stretch, high: int, limit: int) -> list[recall.LogMessage]:
        statement = "SELECT row FROM rows WHERE place = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?"
        try:
            found = self._connection.execute(statement, (stretch.place_id, stretch.low, high, limit)).fetchall()
            return [decode_row(blob) for (blob,) in found]
        except sqlite3.Error as error:
            raise MirrorUnreadable(self._path, error) from error
