"""Read all channels that somebody may read as one log, newest first: what `/search in: everywhere` asks.

Each channel or forum with its public threads is a log of its own, and so is each private thread that the asker
belongs to. They are merged by message id under one bound and one coverage; the one that could hold the newest row is
read next, and with it the next few that could, at most `SEARCH_CHANNELS` at a time. A channel whose newest message is
older than the point reached is not read at all, once its threads are known.

One that cannot be read any further is left out and named: only what the asker may read is here at all.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol

import discord

import recall
from recall.text import strip

from .access import Asker, Place, is_place, known_right, may_read
from .errors import Unavailable
from .history import ENDED, STOPPED_AT_DEADLINE
from .links import SNOWFLAKE_BOUND
from .pages import MESSAGE_PAGE_SIZE
from .queries import LeftOut
from .threads import ThreadList

SEARCH_CHANNELS: Final = 4  # channels read at once for one question; a guess: quick, and others get their turn
EVERYWHERE: Final = "everywhere"  # what is typed for it
PLACE_ID: Final = 0  # in the address of an answer; no channel has that id


class DeskHistory(recall.SessionLog, Protocol):
    """Be the history of a desk that says what it left out."""

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """What could not be read, of the walk under way."""
        ...  # pragma: no cover


class Strand:
    """Hold a desk among the others: what came of it and was not taken, and how high what comes next can be.

    `bound` is exclusive.
    """

    def __init__(self, place: Place, log: recall.SessionLog, history: DeskHistory, bound: int) -> None:
        self.place = place
        self.log = log
        self.history = history
        self.bound = bound
        self.cursor: int | None = None
        self.rows: deque[recall.LogMessage] = deque()
        self.failure: str | None = None

    @property
    def top(self) -> int:
        """The newest row that came, or the highest id that could; -1 for nothing."""
        return self.rows[0].sequence if self.rows else self.bound - 1


class EverywhereLog:
    """Be a `recall.SessionLog` over desks. `desks` makes them anew for a walk from a sequence (None: the newest)."""

    def __init__(self, desks: Callable[[int | None], Awaitable[Iterable[Strand]]]) -> None:
        self._desks = desks
        self._expected: int | None = ENDED
        self._strands: list[Strand] = []
        self._late = False
        self.left_out: list[LeftOut] = []

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return the newest `limit` rows older than `before`; raises `recall.WalkStopped` at the deadline."""
        if limit <= 0:
            return recall.SessionPage(())
        if before != self._expected or self._expected == ENDED:
            await self._begin(before)
        rows: list[recall.LogMessage] = []
        while len(rows) < limit and not self._late:
            waiting = heapq.nlargest(SEARCH_CHANNELS, self._strands, key=lambda strand: strand.top)
            if not waiting or waiting[0].top < 0:
                break
            if waiting[0].rows:
                self._take(waiting, rows, limit)
            else:
                unread = [strand for strand in waiting if not strand.rows and strand.top >= 0]
                await asyncio.gather(*map(self._read, unread))
        self._note_left_out()
        if self._late and not rows:
            raise recall.WalkStopped(STOPPED_AT_DEADLINE)
        more = self._late or any(strand.top >= 0 for strand in self._strands)
        self._expected = rows[-1].sequence if rows and more else ENDED
        return recall.SessionPage(tuple(rows), rows[-1].sequence if rows and more else None)

    async def _begin(self, before: int | None) -> None:
        self._late = False
        self._strands = list(await self._desks(before))
        for strand in self._strands:
            strand.bound = strand.bound if before is None else min(strand.bound, before)
            strand.cursor = before

    def _take(self, waiting: Sequence[Strand], rows: list[recall.LogMessage], limit: int) -> None:
        """Take from the highest strand the rows that nothing newer can come between."""
        highest = waiting[0]
        rival = waiting[1].top if len(waiting) > 1 else -1
        while highest.rows and highest.top >= rival and len(rows) < limit:
            row = highest.rows.popleft()
            if not rows or row.sequence < rows[-1].sequence:
                rows.append(row)

    async def _read(self, strand: Strand) -> None:
        """Read a desk one page further; one that fails is left out from where it was."""
        try:
            page = await strand.log.read_before(strand.cursor, MESSAGE_PAGE_SIZE)
        except Unavailable as failure:
            strand.failure, strand.bound = failure.kind, 0
        except recall.WalkStopped as stop:
            if stop.reason == STOPPED_AT_DEADLINE:
                self._late = True
            else:
                strand.failure, strand.bound = stop.reason, 0
        else:
            strand.rows.extend(page.messages)
            strand.cursor = page.next_before
            strand.bound = page.next_before or 0

    def _note_left_out(self) -> None:
        self.left_out[:] = [left for strand in self._strands for left in strand.history.left_out]
        self.left_out += [
            LeftOut(str(strand.place.id), strand.place.name, strand.failure)
            for strand in self._strands
            if strand.failure is not None
        ]


def means_everywhere(text: str | None) -> bool:
    """Say whether what was typed means all channels; one of that name is reached by its id, a link or `#everywhere`."""
    return text is not None and strip(text).lower() == EVERYWHERE


async def readable_places(asker: Asker) -> list[Place]:
    """Return what both the asker and the bot may read from where the asker is: channels, forums, private threads.

    Public threads come with their channels. Who belongs to a private thread is asked of Discord, a request for each.
    """
    guild = asker.guild
    channels: list[Place] = [channel for channel in guild.channels if is_place(channel)]
    threads: list[Place] = [thread for thread in guild.threads if thread.is_private()]
    gate = asyncio.Semaphore(SEARCH_CHANNELS)

    async def may(place: Place) -> bool:
        if known_right(place, guild.me) is False or asker.known_right(place) is False:
            return False
        async with gate:
            return await may_read(place, guild.me) and await asker.may_read(place)

    known = [*channels, *threads]
    rights = await asyncio.gather(*map(may, known))
    return [place for place, right in zip(known, rights, strict=True) if right]


def highest_bound(place: Place, threads: ThreadList | None, *, heard: bool) -> int:
    """Return an exclusive bound on the ids in a desk, as far as it is known; `heard`: whether the gateway speaks."""
    if not heard:
        return SNOWFLAKE_BOUND
    own = 0 if isinstance(place, discord.ForumChannel) else (place.last_message_id or 0) + 1
    if threads is None:
        return own
    return max([own, threads.complete_above, *(reach.bound for reach in threads.reaches())])
