"""Read a desk, newest row first, as a `recall.SessionLog`: a channel merged with its public threads, or one thread.

Discord answers with at most 100 messages at once, and not every message is a row. So pages are joined to what
was asked for, what came too much is kept for the next call, and a page without any row is read past. A walk
over n rows of a channel without threads costs n ÷ 100 requests; one that is asked for a single row fetches a
single message.

A desk is a merge of places, and the one that could hold the newest row is read next: so a thread is opened when
the walk comes down to its last message, and not before, and the listing of archived threads is read down the same
way. Rows are ordered and told apart by id alone: one that comes again, from a page that moved while it was read,
is passed over.

    log = HistoryLog(reads.pages(channel, desk_id=channel.id), threads=lists.of(channel), open_thread=…)
    walk = await recall.walk_log(log, scan=2048)

A failure before anything was read is `Unavailable`, with a kind that a user can be told. After that it ends
the walk with what was read, as does the deadline: the answer's coverage then says `no_permission`, `gone`,
`rate_limited`, `discord_down` or `time`. A thread that cannot be read ends nothing: it is left out, and named.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, Final, TypeAlias, TypeVar

import discord

import recall

from .errors import Unavailable
from .links import SNOWFLAKE_BOUND
from .pages import MESSAGE_PAGE_SIZE, Pages
from .queries import LeftOut
from .threads import ThreadList

DESK_THREADS_OPENED: Final = 100  # threads that one question may ask Discord for, a request each at least (a guess)
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

    `bound` is exclusive: everything from there up was read; 0 where nothing is left. `before` is the cursor of the
    next page: None while the newest is as good, so that the mirror knows the place up to now.
    """

    def __init__(self, pages: Pages, bound: int, before: int | None, thread: discord.Thread | None = None) -> None:
        self.pages = pages
        self.bound = bound
        self.before = before
        self.thread = thread
        self.opened = thread is None
        self.rows: deque[recall.LogMessage] = deque()

    @property
    def top(self) -> int:
        """The newest row that came, or the highest id that could."""
        return self.rows[0].sequence if self.rows else self.bound - 1


_Source: TypeAlias = _Strand | ThreadList
_KNOWN, _UNREAD, _UNLISTED = range(3)  # of two sources that reach as high, the one that costs less goes first


class HistoryLog:
    """Be the history of a desk. One walk at a time; a log is made for each question.

    `pages`: the channel's or thread's own history, None for a forum, which has threads only. `threads`: the
    public threads that belong to it, each opened by `open_thread`; None for a thread. `after`: a
    sequence at which whoever reads will end, so that nothing is fetched below it in vain. `deadline`: the instant
    on `clock` (seconds) at which the walk ends with what it has; None: never. `on_progress` is called after
    each page that brought messages. `newest` returns the id of the channel's newest message, None where it is not told.
    `left_out` names what could not be read, of this walk.

    Every question has an upper edge, the instant at which it was asked. Where nothing is newer, the newest page is read
    in place of the one below that edge: then the mirror is sure of the place up to now, and the next question, whose
    edge is higher, costs nothing.
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
        newest: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._pages = pages
        self._newest = newest
        self._threads = threads if open_thread is not None else None
        self._open_thread = open_thread
        self._after = after
        self._deadline = deadline
        self._clock = clock
        self._on_progress = on_progress
        self._expected: int | None = ENDED
        self.left_out: list[LeftOut] = []

    def _begin(self, before: int | None) -> None:
        """Start a walk: nothing is kept and nothing was served yet."""
        self._bound = SNOWFLAKE_BOUND if before is None else min(before, SNOWFLAKE_BOUND)  # of what comes next
        self._expected = before  # the cursor that goes on with this walk
        self._sources: list[tuple[int, int, int, _Source]] = []  # a heap: the highest first
        self._serial = count()
        self._known: set[int] = set()  # threads that are among the sources, or were
        self._asked = self._came = self._served = 0  # threads that Discord was asked for; rows
        self._failure: Unavailable | recall.WalkStopped | None = None
        self.left_out.clear()
        if self._pages is not None:
            newest = self._newest()
            at_top = before is None or (newest is not None and newest < self._bound)
            self._push(_Strand(self._pages, self._bound, None if at_top else self._bound))
        self._listable = self._threads is not None
        if self._threads is not None:
            if self._threads.torn:
                self._leave_out(None, TOO_MANY_THREADS)
            self._push_threads()
            self._push(self._threads)

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
        while len(rows) < limit and self._sources and self._failure is None:
            highest, _, _, source = heapq.heappop(self._sources)
            try:
                if isinstance(source, _Strand) and source.rows:
                    self._take(source, rows)
                elif rows and self._after is not None and -highest <= self._after:
                    break
                else:
                    await self._read(source)
            finally:
                self._push(source)
        if self._failure is not None and not rows:
            if isinstance(self._failure, Unavailable) and self._served:
                raise recall.WalkStopped(self._failure.kind) from self._failure
            raise self._failure
        self._served += len(rows)
        more = self._failure is not None or bool(self._sources)
        if self._after is not None and more and self._failure is None and len(rows) < limit:
            self._bound = min(self._bound, self._after + 1)
        self._expected = self._bound if more else ENDED
        return recall.SessionPage(tuple(rows), self._bound if more else None)

    def _push(self, source: _Source) -> None:
        """Take in a source for as long as something could come from it."""
        if isinstance(source, _Strand):
            top, kind = source.top, _KNOWN if source.rows else _UNREAD
        else:
            top, kind = min(source.complete_above, self._bound) - 1 if self._listable else 0, _UNLISTED
        if top > 0:
            heapq.heappush(self._sources, (-top, kind, next(self._serial), source))

    def _push_threads(self) -> None:
        """Take in the threads that were not known before."""
        if self._threads is None or self._open_thread is None:
            return
        for thread, reach in self._threads.reaches():
            if thread.id not in self._known and thread.id < self._bound:
                self._known.add(thread.id)
                before = None if reach <= self._bound else self._bound
                self._push(_Strand(self._open_thread(thread), min(reach, self._bound), before, thread))

    def _take(self, strand: _Strand, rows: list[recall.LogMessage]) -> None:
        """Take from a strand the rows that nothing newer can come between."""
        rival = -self._sources[0][0] if self._sources else 0
        while strand.rows and strand.top >= rival and len(rows) < self._limit:
            row = strand.rows.popleft()
            if row.sequence < self._bound:
                self._bound = row.sequence
                rows.append(row)

    async def _read(self, source: _Source) -> None:
        """Read a source one page further; what the walk cannot do without is kept as its failure."""
        try:
            if isinstance(source, ThreadList):
                await self._list_more(source)
            else:
                await self._read_page(source)
        except (Unavailable, recall.WalkStopped) as failure:
            self._failure = failure

    async def _list_more(self, threads: ThreadList) -> None:
        torn = threads.torn
        try:
            await self._in_time(threads.list_below(threads.complete_above))
        except Unavailable as failure:
            self._listable = False
            self._leave_out(None, failure.kind)
            return
        if threads.torn and not torn:
            self._leave_out(None, TOO_MANY_THREADS)
        self._push_threads()

    async def _read_page(self, strand: _Strand) -> None:
        """Read a strand one page further; a thread that fails is left out from where it was."""
        if not strand.opened and not self._open(strand):
            self._leave_out(strand, TOO_MANY_THREADS)
            return
        try:
            page = await self._in_time(strand.pages.read(strand.before, self._size()))
        except Unavailable as failure:
            if strand.thread is None:
                raise
            if failure.kind == "gone" and self._threads is not None:
                self._threads.forget(strand.thread.id)
            self._leave_out(strand, failure.kind)
            return
        strand.rows.extend(page.rows)
        strand.bound = strand.before = page.low
        self._came += len(page.rows)
        self._spent += page.messages
        if page.oldest_at is not None and self._on_progress is not None:
            self._on_progress(Progress(min(self._came, self._served + self._limit), page.oldest_at))

    def _open(self, strand: _Strand) -> bool:
        """Say whether a thread may be read: not where Discord was asked for so many already."""
        costs = not strand.pages.is_known(strand.before)
        strand.opened = not costs or self._asked < DESK_THREADS_OPENED
        self._asked += costs
        return strand.opened

    def _leave_out(self, strand: _Strand | None, reason: str) -> None:
        """Name what is not read any further: a thread, or the list of archived ones."""
        if strand is None or strand.thread is None:
            self.left_out.append(LeftOut("", ARCHIVED_THREADS, reason))
        else:
            self.left_out.append(LeftOut(str(strand.thread.id), strand.thread.name, reason))
            strand.bound = 0

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
