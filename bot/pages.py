"""One place's history a page at a time: from the mirror where it is sure, else from Discord, written through.

A **place** is a channel or thread with messages of its own. `Reads` is what all questions share: whoever asks
for a place waits for whoever reads it already and then finds what they found; a guild has at most
`HISTORY_CONCURRENT_READS` requests under way; and a place that has just said 403 is not asked again for
`REFUSED_SECONDS`, because Discord bans an address for a pile of refused requests.
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple, Protocol

import discord

import recall

from .access import Readable, known_right
from .errors import Unavailable
from .failures import wrapped_errors
from .links import SNOWFLAKE_BOUND
from .mirror import LIVE, Mirror, MirrorDown, Place
from .rows import Identity, row_of

HISTORY_CONCURRENT_READS: Final = 4  # requests for messages under way at once, for each guild (a guess)
MESSAGE_PAGE_SIZE: Final = 100  # the most that Discord gives in one answer
REFUSED_SECONDS: Final = 60.0

_log = logging.getLogger(__name__)


class Page(NamedTuple):
    """Hold rows, newest first, and what was looked at to find them.

    `messages`: how many there were, rows or not; `low`: everything from here up was looked at; `beginning`:
    whether nothing is older; `oldest_at`: when the oldest of them was sent.
    """

    rows: tuple[recall.LogMessage, ...]
    messages: int
    low: int
    beginning: bool
    oldest_at: datetime | None


class Pages(Protocol):
    """Be the history of one place, a page at a time."""

    async def read(self, before: int | None, size: int) -> Page:
        """Return at most `size` messages' worth of rows older than `before` (None: the newest).

        Raises `Unavailable`, and `recall.CursorDidNotAdvance` when Discord answers with newer messages.
        """
        ...  # pragma: no cover


class DiscordPages:
    """Read a place from Discord."""

    def __init__(self, channel: Readable, *, identity: Identity) -> None:
        self._channel = channel
        self._identity = identity

    async def read(self, before: int | None, size: int) -> Page:
        """See `Pages.read`; one request.

        Without Read Message History, Discord answers with an empty page and no error. An empty page is
        therefore the beginning of history only where that right is held.
        """
        cursor = None if before is None or before >= SNOWFLAKE_BOUND else discord.Object(before)
        try:
            with wrapped_errors():
                messages = [message async for message in self._channel.history(limit=size, before=cursor)]
        except Unavailable as failure:
            cause = failure.__cause__
            status = getattr(cause, "status", None)
            _log.warning("history of %s: %s (%s, %s)", self._channel.id, failure.kind, type(cause).__name__, status)
            raise
        if not messages and known_right(self._channel, self._channel.guild.me) is False:
            raise Unavailable("no_permission")
        if messages and before is not None and messages[-1].id >= before:
            raise recall.CursorDidNotAdvance(before=before, next_before=messages[-1].id)
        rows = tuple(row for message in messages if (row := row_of(message, identity=self._identity)) is not None)
        beginning = len(messages) < size
        low = 0 if beginning else messages[-1].id
        return Page(rows, len(messages), low, beginning, messages[-1].created_at if messages else None)


class Reads:
    """Share the reading of places between all who ask. `clock` counts seconds (`time.monotonic`)."""

    def __init__(
        self,
        *,
        identity: Callable[[], Identity],
        mirror: Mirror | None = None,
        withholds: Callable[[str], bool] = lambda _author_id: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mirror = mirror
        self.identity = identity
        self.withholds = withholds
        self._clock = clock
        self._turns: weakref.WeakValueDictionary[int, asyncio.Lock] = weakref.WeakValueDictionary()
        self._guilds: weakref.WeakValueDictionary[int, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._refused: dict[int, float] = {}

    def pages(self, channel: Readable, *, desk_id: int) -> Pages:
        """Return the history of a channel or thread that belongs to a desk."""
        return _SharedPages(self, channel, Place(channel.id, channel.guild.id, desk_id))

    @asynccontextmanager
    async def turn(self, place: Place) -> AsyncIterator[None]:
        """Hold a place: one reader at a time."""
        lock = self._turns.get(place.id)
        if lock is None:
            lock = self._turns[place.id] = asyncio.Lock()
        async with lock:
            yield

    async def from_discord(self, channel: Readable, before: int | None, size: int) -> Page:
        """Read a page from Discord, within the bounds that all askers share; raises as `Pages.read`."""
        if self._refused.get(channel.id, float("-inf")) > self._clock():
            raise Unavailable("no_permission")
        gate = self._guilds.get(channel.guild.id)
        if gate is None:
            gate = self._guilds[channel.guild.id] = asyncio.Semaphore(HISTORY_CONCURRENT_READS)
        async with gate:
            try:
                return await DiscordPages(channel, identity=self.identity()).read(before, size)
            except Unavailable as failure:
                if isinstance(failure.__cause__, discord.Forbidden):
                    now = self._clock()
                    self._refused = {id_: until for id_, until in self._refused.items() if until > now}
                    self._refused[channel.id] = now + REFUSED_SECONDS
                raise

    def withheld(self, page: Page) -> tuple[int, ...]:
        """Return which rows of a page must not be stored."""
        return tuple(row.sequence for row in page.rows if self.withholds(recall.author_id(row.author)))


class _SharedPages:
    """Read a place through the mirror, where there is one, in turn with whoever else reads it."""

    def __init__(self, reads: Reads, channel: Readable, place: Place) -> None:
        self._reads = reads
        self._channel = channel
        self._place = place

    async def read(self, before: int | None, size: int) -> Page:
        """See `Pages.read`; no request where the mirror knows the page."""
        async with self._reads.turn(self._place):
            known = await self._from_mirror(before, size)
            return known if known is not None else await self._through(before, size)

    async def _from_mirror(self, before: int | None, size: int) -> Page | None:
        if self._reads.mirror is None:
            return None
        try:
            found = await self._reads.mirror.page(self._place, before, size)
        except MirrorDown:
            return None
        if found is None:
            return None
        rows = found.rows
        full = len(rows) == size
        low = rows[-1].sequence if full else found.low
        oldest_at = discord.utils.snowflake_time(rows[-1].sequence) if rows else None
        return Page(rows, len(rows), low, low == 0, oldest_at)

    async def _through(self, before: int | None, size: int) -> Page:
        """Read from Discord and give the mirror what came; a mirror that fails is no fault of the question."""
        mirror = self._reads.mirror
        if mirror is None:
            return await self._reads.from_discord(self._channel, before, size)
        ticket = mirror.ticket(self._place)
        try:
            page = await self._reads.from_discord(self._channel, before, size)
            withheld = self._reads.withheld(page)
            stored = [row for row in page.rows if row.sequence not in withheld] if withheld else page.rows
            high = LIVE if before is None else min(before, LIVE)
            try:
                await mirror.write_page(ticket, stored, low=page.low, high=high, withheld=withheld)
            except MirrorDown:
                _log.debug("place %d was not mirrored", self._place.id)
        finally:
            mirror.settle(ticket)
        return page
