"""Read many desks as one log, newest row first, each no sooner than the walk comes down to it.

A desk reaches no higher than its last message and those of its threads, which Discord tells unasked. So the desks
lie on a heap, the one that could hold the newest row on top; what is not read yet on top is read a page further,
at most `SEARCH_CHANNELS` at once. What was listed or mirrored costs no request. A desk that cannot be read is left
out and named; when Discord stops answering altogether, the walk ends with what it has.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

import discord

import recall

from .access import Place
from .errors import Unavailable
from .history import ENDED, HistoryLog, Progress
from .links import SNOWFLAKE_BOUND
from .pages import MESSAGE_PAGE_SIZE
from .queries import LeftOut
from .threads import ThreadList

SEARCH_CHANNELS: Final = 4  # desks of one question that are read at the same time (a guess)
NEWEST_MISSED: Final = "newest messages"

_ENDS_ALL: Final = ("rate_limited", "discord_down")


class MergedDesk:
    """Be one of the desks: its history, what came of it and was not yet taken, and how high the rest can reach."""

    def __init__(self, place: Place, log: recall.SessionLog, history: HistoryLog, threads: ThreadList | None) -> None:
        self.place = place
        self.left_out: list[LeftOut] = []
        self.rows: deque[recall.LogMessage] = deque()
        self.bound = 0
        self.failure: Unavailable | recall.WalkStopped | None = None  # why nothing is read below what came
        self._log = log
        self._history = history
        self._threads = threads
        self._before: int | None = None
        self._start = SNOWFLAKE_BOUND
        self._begun = False
        self._listable = True

    def begin(self, before: int | None) -> None:
        """Start anew, with what is older than `before`."""
        self._before, self._start = before, SNOWFLAKE_BOUND if before is None else before
        self._begun, self._listable, self.failure = False, self._threads is not None, None
        self.rows.clear()
        self.left_out.clear()
        self.bound = min(self._reach(), self._start)

    @property
    def top(self) -> int:
        """The newest row that came, or the highest id that could."""
        return self.rows[0].sequence if self.rows else self.bound - 1

    async def read(self, highest: int) -> None:
        """List threads, or read a page; `highest` is the exclusive bound that the walk has come down to.

        Raises `recall.WalkStopped`, and `Unavailable` where it is of all desks.
        """
        try:
            if await self._listed():
                return
            if not self._begun and self.bound < self._start:
                self._before = None  # the newest is as good, and may be mirrored
            page = await self._log.read_before(self._before, MESSAGE_PAGE_SIZE)
        except Unavailable as failure:
            if failure.kind in _ENDS_ALL:
                raise
            self._leave_out(failure.kind)
            return
        except recall.WalkStopped as stopped:
            if stopped.reason not in {"gone", "no_permission"}:
                raise
            self._leave_out(stopped.reason)
            return
        if not self._begun and any(highest <= row.sequence < self._start for row in page.messages):
            self.left_out.append(LeftOut(str(self.place.id), self.place.name, NEWEST_MISSED))
        self._begun = True
        self.rows.extend(page.messages)
        self._before = page.next_before
        self.bound = page.next_before or 0

    def named(self) -> list[LeftOut]:
        """Return what could not be read of this desk."""
        return [*self.left_out, *self._history.left_out]

    async def _listed(self) -> bool:
        """List archived threads one page further, if they could hold what is newest; say whether it was done."""
        threads = self._threads
        if self._begun or threads is None or not self._listable or threads.complete_above < self.bound:
            return False
        try:
            await threads.list_below(threads.complete_above)
        except Unavailable as failure:
            if failure.kind in _ENDS_ALL:
                raise
            self._listable = False  # the history says what it left out
        self.bound = min(self.bound, self._reach())
        return True

    def _reach(self) -> int:
        """Return an exclusive bound on the ids of what the desk holds."""
        threads, place = self._threads, self.place
        if threads is None:
            last = None if isinstance(place, discord.ForumChannel) else place.last_message_id
            return SNOWFLAKE_BOUND if last is None else last + 1
        if threads.stale:
            return SNOWFLAKE_BOUND
        last = 0 if isinstance(place, discord.ForumChannel) else place.last_message_id
        if last is None:
            return SNOWFLAKE_BOUND
        listing = threads.complete_above if self._listable else 0
        return max(last + 1, listing, *(reach.bound for reach in threads.reaches()), 0)

    def _leave_out(self, reason: str) -> None:
        self.left_out.append(LeftOut(str(self.place.id), self.place.name, reason))
        self.bound = 0


class MergedLog:
    """Be the history of many desks. One walk at a time; a log is made for each question.

    `after`: a sequence at which whoever reads will end. `on_progress` is called when pages came. `left_out` names
    what could not be read, of this walk.
    """

    def __init__(
        self,
        desks: Sequence[MergedDesk],
        *,
        after: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._desks = desks
        self._after = after
        self._on_progress = on_progress
        self._expected: int | None = ENDED
        self._heap: list[tuple[int, int, int, MergedDesk]] = []
        self._serial = count()
        self._bound = SNOWFLAKE_BOUND  # of what comes next
        self._served = 0
        self._failure: Unavailable | recall.WalkStopped | None = None
        self.left_out: list[LeftOut] = []

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return the newest `limit` rows older than `before`; fewer at the beginning, at `after`, or on failure.

        Raises `Unavailable` when nothing could be read, `recall.WalkStopped` when reading failed later.
        """
        if limit <= 0:
            return recall.SessionPage(())
        if before != self._expected:
            self._begin(before)
        rows: list[recall.LogMessage] = []
        while len(rows) < limit and self._heap and self._failure is None:
            top = -self._heap[0][0]
            if self._heap[0][3].rows:
                self._take(rows, limit)
            elif self._heap[0][3].failure is not None:
                self._failure = self._heap[0][3].failure  # only here: what is newer than that desk is whole
            elif rows and self._after is not None and top <= self._after:
                break
            else:
                await self._read(limit - len(rows), len(rows))
        if self._failure is not None and not rows:
            if isinstance(self._failure, Unavailable) and self._served:
                raise recall.WalkStopped(self._failure.kind) from self._failure
            raise self._failure
        self._served += len(rows)
        more = self._failure is not None or bool(self._heap)
        if self._after is not None and more and self._failure is None and len(rows) < limit:
            self._bound = min(self._bound, self._after + 1)
        self._expected = self._bound if more else ENDED
        return recall.SessionPage(tuple(rows), self._bound if more else None)

    def _begin(self, before: int | None) -> None:
        self._bound = SNOWFLAKE_BOUND if before is None else min(before, SNOWFLAKE_BOUND)
        self._heap, self._served, self._failure = [], 0, None
        self.left_out.clear()
        for desk in self._desks:
            desk.begin(before)
            self._push(desk)

    def _push(self, desk: MergedDesk) -> None:
        if desk.top > 0:
            heapq.heappush(self._heap, (-desk.top, not desk.rows, next(self._serial), desk))

    def _take(self, rows: list[recall.LogMessage], limit: int) -> None:
        """Take from the desk on top the rows that nothing newer can come between."""
        desk = heapq.heappop(self._heap)[3]
        rival = -self._heap[0][0] if self._heap else 0
        while desk.rows and desk.top >= rival and len(rows) < limit:
            row = desk.rows.popleft()
            if row.sequence < self._bound:
                self._bound = row.sequence
                rows.append(row)
        self._push(desk)

    async def _read(self, wanted: int, came: int) -> None:
        """Read the desk on top, and at the same time those after it that the rows wanted make likely to be read."""
        desk = heapq.heappop(self._heap)[3]
        batch, certain, likely = [desk], desk.top, -(-wanted // MESSAGE_PAGE_SIZE)
        while self._heap and len(batch) < SEARCH_CHANNELS:
            desk = self._heap[0][3]
            if desk.rows or desk.failure is not None or (desk.top < certain and len(batch) >= likely):
                break
            batch.append(heapq.heappop(self._heap)[3])
        async with asyncio.TaskGroup() as group:
            for desk in batch:
                group.create_task(self._read_desk(desk), name=f"recall-search-{desk.place.id}")
        for desk in batch:
            self._push(desk)
        self.left_out[:] = dict.fromkeys(left for desk in self._desks for left in desk.named())
        oldest = [desk.rows[-1].sequence for desk in batch if desk.rows]
        if oldest and self._on_progress is not None:
            waiting = sum(len(desk.rows) for desk in self._desks)
            self._on_progress(Progress(self._served + came + waiting, discord.utils.snowflake_time(min(oldest))))

    async def _read_desk(self, desk: MergedDesk) -> None:
        try:
            await desk.read(self._bound)
        except (Unavailable, recall.WalkStopped) as failure:
            desk.failure = failure
