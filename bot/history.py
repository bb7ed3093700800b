"""Read a desk, newest row first, as a `recall.SessionLog`: a channel merged with its public threads, or one thread.

Discord answers with at most 100 messages at once, and not every message is a row. So pages are joined to what
was asked for, what came too much is kept for the next call, and a page without any row is read past. A walk
over n rows of a channel without threads costs n ÷ 100 requests; one that is asked for a single row fetches a
single message.

A thread is opened when the walk comes down to its last message, and not before: one page of it is read then,
and the next when that is used up. The listing of archived threads is read down the same way. Rows are ordered
and told apart by id alone: one that comes again, from a page that moved while it was read, is passed over.

    log = HistoryLog(reads.pages(channel, desk_id=channel.id), threads=lists.of(channel), open_thread=…)
    walk = await recall.walk_log(log, scan=2048)

A failure before anything was read is `Unavailable`, with a kind that a user can be told. After that it ends
the walk with what was read, as does the deadline: the answer's coverage then says `no_permission`, `gone`,
`rate_limited`, `discord_down` or `time`. A thread that cannot be read ends nothing: it is left out, and named.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

import discord

import recall

from .errors import Unavailable
from .links import SNOWFLAKE_BOUND
from .pages import MESSAGE_PAGE_SIZE, Pages
from .queries import LeftOut
from .threads import ThreadList, ThreadReach

DESK_THREADS_OPENED: Final = 100  # threads read for one question; each costs a request at least (a guess)
ENDED: Final = -1  # the cursor after the last page, which is nobody's
STOPPED_AT_DEADLINE: Final = "time"
TOO_MANY_THREADS: Final = "too many threads"
ARCHIVED_THREADS: Final = "archived threads"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Progress:
    """Say how far a walk has come: rows read, and when the oldest message it met was sent."""

    rows: int
    oldest: datetime


def loop_time() -> float:
    """Return the running loop's clock, by which `asyncio` measures its timeouts."""
    return asyncio.get_running_loop().time()


class _Strand:
    """Hold the rows of one place that came and were not yet taken, and what could still come.

    `bound` is exclusive: everything from there up was read; 0 where nothing is left.
    """

    def __init__(self, pages: Pages, bound: int, thread: discord.Thread | None = None) -> None:
        self.pages = pages
        self.bound = bound
        self.thread = thread
        self.rows: deque[recall.LogMessage] = deque()

    @property
    def head(self) -> int:
        """The newest row that came; -1 where there is none."""
        return self.rows[0].sequence if self.rows else -1

    def could_bring(self, sequence: int) -> bool:
        """Say whether a row newer than `sequence` could still come."""
        return not self.rows and self.bound > sequence + 1


class HistoryLog:
    """Be the history of a desk. One walk at a time; a log is made for each question.

    `pages`: the channel's or thread's own history, None for a forum, which has threads only. `threads`: the
    public threads that belong to it, each opened by `open_thread`; None for a thread. `after`: a
    sequence at which whoever reads will end, so that nothing is fetched below it in vain. `deadline`: the instant
    on `clock` (seconds) at which the walk ends with what it has; None: never. `on_progress` is called after
    each page that brought messages. `left_out` names what could not be read, of this walk.
    """

    def __init__(
        self,
        pages: Pages | None,
        *,
        threads: ThreadList | None = None,
        open_thread: Callable[[discord.Thread], Pages] | None = None,
        after: int | None = None,
        deadline: float | None = None,
        clock: Callable[[], float] = loop_time,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._pages = pages
        self._threads = threads if open_thread is not None else None
        self._open_thread = open_thread
        self._after = after
        self._deadline = deadline
        self._clock = clock
        self._on_progress = on_progress
        self.left_out: list[LeftOut] = []
        self._begin(None)

    def _begin(self, before: int | None) -> None:
        """Start a walk: nothing is kept and nothing was served yet."""
        self._bound = SNOWFLAKE_BOUND if before is None else min(before, SNOWFLAKE_BOUND)  # of what comes next
        self._expected: int | None = before  # the cursor that goes on with this walk
        self._strands = [] if self._pages is None else [_Strand(self._pages, self._bound)]
        self._known: set[int] = set()  # threads that were opened or left out
        self._listable = self._threads is not None
        self._came = self._served = 0  # rows
        self._failure: Unavailable | recall.WalkStopped | None = None
        self.left_out.clear()

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return the newest `limit` rows older than `before`; fewer at the beginning, at `after`, or on failure.

        Raises `Unavailable` when the first request fails, `recall.WalkStopped` when a later one does or the
        deadline is reached, and `recall.CursorDidNotAdvance` when Discord answers with newer messages.
        """
        if limit <= 0:
            return recall.SessionPage(())
        if before != self._expected:
            self._begin(before)
        rows: list[recall.LogMessage] = []
        self._spent, self._limit = 0, limit
        while len(rows) < limit and (strand := await self._next(self._after if rows else None)) is not None:
            row = strand.rows.popleft()
            if row.sequence < self._bound:
                self._bound = row.sequence
                rows.append(row)
        if self._failure is not None and not rows:
            if isinstance(self._failure, Unavailable) and self._served:
                raise recall.WalkStopped(self._failure.kind) from self._failure
            raise self._failure
        self._served += len(rows)
        if self._after is not None and self._failure is None and len(rows) < limit:
            self._bound = min(self._bound, self._after + 1)
        more = self._failure is not None or self._is_more()
        self._expected = self._bound if more else ENDED
        return recall.SessionPage(tuple(rows), self._bound if more else None)

    def _is_more(self) -> bool:
        """Say whether anything older could come, without a request."""
        return (
            any(strand.rows or strand.bound > 1 for strand in self._strands)
            or (self._listable and self._threads is not None and self._threads.complete_above > 0)
            or any(thread.id not in self._known and thread.id < self._bound for thread, _ in self._reaches())
        )

    async def _next(self, floor: int | None) -> _Strand | None:
        """Return the strand whose head is the next row, None at the beginning or where the walk must stop.

        Nothing is read for rows that are not newer than `floor`.
        """
        while self._failure is None:
            best = max(self._strands, key=lambda strand: strand.head, default=None)
            head = -1 if best is None else best.head
            try:
                if not await self._read_above(max(head, floor or 0)):
                    return best if head >= 0 else None
            except (Unavailable, recall.WalkStopped) as failure:
                self._failure = failure
        return None

    async def _read_above(self, head: int) -> bool:
        """Read once wherever a row newer than `head` could still come; False where it cannot."""
        if self._listable and self._threads is not None and min(self._threads.complete_above, self._bound) > head + 1:
            await self._list_more(self._threads)
            return True
        for strand in self._strands:
            if strand.could_bring(head):
                await self._read(strand)
                return True
        for thread, bound in self._reaches():
            if thread.id not in self._known and thread.id < self._bound and bound > head + 1:
                self._open(thread, min(bound, self._bound))
                return True
        return False

    def _reaches(self) -> list[ThreadReach]:
        return [] if self._threads is None else self._threads.reaches()

    async def _list_more(self, threads: ThreadList) -> None:
        before = threads.complete_above
        try:
            await self._in_time(threads.list_more())
        except Unavailable as failure:
            self._listable = False
            self.left_out.append(LeftOut("", ARCHIVED_THREADS, failure.kind))
        else:
            self._listable = threads.complete_above < before

    def _open(self, thread: discord.Thread, bound: int) -> None:
        self._known.add(thread.id)
        if len(self._known) > DESK_THREADS_OPENED or self._open_thread is None:
            self.left_out.append(LeftOut(str(thread.id), thread.name, TOO_MANY_THREADS))
        else:
            self._strands.append(_Strand(self._open_thread(thread), bound, thread))

    async def _read(self, strand: _Strand) -> None:
        """Read a strand one page further; a thread that fails is left out from where it was."""
        before = None if strand.bound >= SNOWFLAKE_BOUND else strand.bound
        try:
            page = await self._in_time(strand.pages.read(before, self._size()))
        except Unavailable as failure:
            strand.bound = 0
            if strand.thread is None:
                raise
            self.left_out.append(LeftOut(str(strand.thread.id), strand.thread.name, failure.kind))
            return
        strand.rows.extend(page.rows)
        self._came += len(page.rows)
        strand.bound = page.low
        self._spent += page.messages
        if page.oldest_at is not None and self._on_progress is not None:
            self._on_progress(Progress(min(self._came, self._served + self._limit), page.oldest_at))

    def _size(self) -> int:
        """Return how many messages to ask for: whole pages, but for the end of a walk, which asks for less."""
        left = self._limit - self._spent
        return min(MESSAGE_PAGE_SIZE, left) if self._limit < recall.PAGE_SIZE and left > 0 else MESSAGE_PAGE_SIZE

    async def _in_time(self, request: Coroutine[Any, Any, _T]) -> _T:
        """Await a request until the deadline. Raises `recall.WalkStopped` there."""
        left = None if self._deadline is None else self._deadline - self._clock()
        if left is not None and left <= 0:
            request.close()
            raise recall.WalkStopped(STOPPED_AT_DEADLINE)
        try:
            async with asyncio.timeout(left):
                return await request
        except TimeoutError:
            raise recall.WalkStopped(STOPPED_AT_DEADLINE) from None
