"""One place's history a page at a time: from the mirror where it is sure, else from Discord, written through.

A **place** is a channel or thread with messages of its own. `Reads` is what all questions share: a place is read
by one of them at a time, and whoever waited takes what came meanwhile, from the mirror, or, where there is none,
the page that they wanted too. What is asked of Discord is bounded for all together (`bounds`).
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple, Protocol

import discord

import recall

from .access import Readable, is_place, known_right
from .bounds import Bounds
from .errors import Unavailable
from .failures import wrapped_answers
from .links import SNOWFLAKE_BOUND
from .mirror import LIVE, Created, Mirror, MirrorDown, Place, Withheld
from .rows import Identity, named_in, unnamed_row_of

MESSAGE_PAGE_SIZE: Final = 100  # the most that Discord gives in one answer

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

        Raises `Unavailable`, and `recall.CursorDidNotAdvance` when Discord answers with newer messages only.
        """
        ...  # pragma: no cover

    def is_known(self, before: int | None) -> bool:
        """Say whether what is just below `before` costs no request."""
        ...  # pragma: no cover


class DiscordPages:
    """Read a place from Discord; roles and channels have no names in its rows yet (`rows.named_in`)."""

    def __init__(self, channel: Readable, *, identity: Identity) -> None:
        self._channel = channel
        self._identity = identity

    async def read(self, before: int | None, size: int) -> Page:
        """See `Pages.read`; one request.

        Without Read Message History, Discord answers with an empty page and no error. An empty page is
        therefore the beginning of history only where that right is held. Messages are told apart and ordered by
        id alone, and those that are not older than `before` are passed over.
        """
        cursor = None if before is None or before >= SNOWFLAKE_BOUND else discord.Object(before)
        try:
            with wrapped_answers():
                came = [message async for message in self._channel.history(limit=size, before=cursor)]
        except Unavailable as failure:
            cause = failure.__cause__
            status = getattr(cause, "status", None)
            _log.warning("history of %s: %s (%s, %s)", self._channel.id, failure.kind, type(cause).__name__, status)
            raise
        if not came and known_right(_known_now(self._channel), self._channel.guild.me) is False:
            raise Unavailable("no_permission")
        older = {message.id: message for message in came if before is None or message.id < before}
        if came and before is not None and not older:
            raise recall.CursorDidNotAdvance(before=before, next_before=min(message.id for message in came))
        messages = [older[message_id] for message_id in sorted(older, reverse=True)]
        rows = tuple(row for message in messages if (row := unnamed_row_of(message, identity=self._identity)))
        beginning = len(came) < size
        low = 0 if beginning else messages[-1].id
        return Page(rows, len(messages), low, beginning, messages[-1].created_at if messages else None)


def _known_now(channel: Readable) -> Readable:
    """Return a channel as its guild has it now: after an outage that is another object."""
    found = channel.guild.get_channel_or_thread(channel.id)
    return found if is_place(found) and not isinstance(found, discord.ForumChannel) else channel


class _Turn:
    """Let one reader at a time at a place, and keep the last page that was read there for those who waited."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.reads = 0
        self._asked: tuple[int | None, int] | None = None
        self._came: Page | Unavailable = Unavailable("discord_down")

    def keep(self, before: int | None, size: int, came: Page | Unavailable) -> None:
        """Keep what a request brought."""
        self.reads += 1
        self._asked, self._came = (before, size), came

    def since(self, reads: int, before: int | None, size: int) -> Page | None:
        """Return the page if it came after so many reads, None if not; raises the failure that came instead."""
        if self.reads == reads or self._asked != (before, size):
            return None
        if isinstance(self._came, Unavailable):
            raise Unavailable(self._came.kind) from self._came
        return self._came


def mirror_place(channel: Readable, desk_id: int) -> Place:
    """Return a channel or thread as the mirror knows it."""
    parent = channel.parent if isinstance(channel, discord.Thread) and channel.id != desk_id else None
    desk_name = channel.name if channel.id == desk_id else "" if parent is None else parent.name
    return Place(channel.id, channel.guild.id, desk_id, channel.name, desk_name)


class Reads:
    """Share the reading of places between all who ask. `clock` counts seconds (`time.monotonic`).

    `find_guild` returns a guild as the client has it now, None for one that it does not know.
    """

    def __init__(
        self,
        *,
        identity: Callable[[], Identity],
        find_guild: Callable[[int], discord.Guild | None] | None = None,
        mirror: Mirror | None = None,
        withholds: Callable[[str], bool] = lambda _author_id: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mirror = mirror
        self.identity = identity
        self._find_guild = find_guild
        self.withholds = withholds
        self.bounds = Bounds(clock=clock)
        self._turns: weakref.WeakValueDictionary[int, _Turn] = weakref.WeakValueDictionary()

    def pages(self, channel: Readable, *, desk_id: int) -> Pages:
        """Return the history of a channel or thread that belongs to a desk."""
        return _SharedPages(self, channel, mirror_place(channel, desk_id))

    def known_pages(self, channel: Readable, *, desk_id: int) -> Pages:
        """Return what the mirror is sure of in a channel or thread; where that ends, reading is `Unavailable`."""
        return _KnownPages(self.pages(channel, desk_id=desk_id), self._newest_known(channel.id))

    def _newest_known(self, place_id: int) -> int | None:
        spans = [] if self.mirror is None else self.mirror.claims.spans(place_id)
        return spans[-1].high if spans else None

    def guild_now(self, guild: discord.Guild) -> discord.Guild | None:
        """Return a guild as the client has it now: another object than the one of an older gateway session."""
        return guild if self._find_guild is None else self._find_guild(guild.id)

    def check_current(self, guild: discord.Guild) -> None:
        """Raise `Unavailable` for what was opened in an older gateway session: its names and rights are not kept up."""
        if self.guild_now(guild) is not guild:
            raise Unavailable("discord_down")

    def turn(self, place_id: int) -> _Turn:
        """Return what readers of a place queue for; it lasts as long as one of them holds it."""
        turn = self._turns.get(place_id)
        if turn is None:
            turn = self._turns[place_id] = _Turn()
        return turn

    async def from_discord(self, channel: Readable, before: int | None, size: int) -> Page:
        """Read a page from Discord, within the bounds that all askers share; raises as `Pages.read`."""
        async with self.bounds.request("messages", channel.id, channel.guild.id):
            return await DiscordPages(channel, identity=self.identity()).read(before, size)

    def note(self, channel: Readable, message: discord.Message) -> None:
        """Let the mirror know of a message of our own that Discord has taken; the gateway tells of it later."""
        row = unnamed_row_of(message, identity=self.identity(), place=channel)
        if self.mirror is not None and row is not None:
            kept = not self.withheld((row,))
            self.mirror.note(Created(channel.id, row) if kept else Withheld(channel.id, row.sequence))

    def withheld(self, rows: Iterable[recall.LogMessage]) -> tuple[int, ...]:
        """Return which rows must not be stored."""
        return tuple(row.sequence for row in rows if self.withholds(recall.author_id(row.author)))


class _KnownPages:
    """Read a place as far as that costs no request, from `newest` down where it is not known up to now."""

    def __init__(self, pages: Pages, newest: int | None) -> None:
        self._pages = pages
        self._newest = newest

    async def read(self, before: int | None, size: int) -> Page:
        """See `Pages.read`."""
        if before is None and not self._pages.is_known(None):
            before = self._newest
        if not self._pages.is_known(before):
            raise Unavailable("discord_down")
        return await self._pages.read(before, size)

    def is_known(self, before: int | None) -> bool:
        """See `Pages.is_known`."""
        return self._pages.is_known(before)


class _SharedPages:
    """Read a place through the mirror, where there is one, in turn with whoever else reads it."""

    def __init__(self, reads: Reads, channel: Readable, place: Place) -> None:
        self._reads = reads
        self._channel = channel
        self._place = place

    async def read(self, before: int | None, size: int) -> Page:
        """See `Pages.read`; no request where the mirror knows the page."""
        self._reads.check_current(self._channel.guild)
        page = await self._read(before, size)
        return page._replace(rows=named_in(self._channel.guild, page.rows))

    async def _read(self, before: int | None, size: int) -> Page:
        turn = self._reads.turn(self._place.id)
        reads = turn.reads
        async with turn.lock:
            page = await self._from_mirror(before, size) or turn.since(reads, before, size)
            if page is not None:
                return page
            try:
                page = await self._through(before, size)
            except Unavailable as failure:
                turn.keep(before, size, failure)
                raise
            turn.keep(before, size, page)
            return page

    def is_known(self, before: int | None) -> bool:
        """See `Pages.is_known`."""
        mirror = self._reads.mirror
        return mirror is not None and mirror.claims.verified(self._place, before) is not None

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
            withheld = self._reads.withheld(page.rows)
            stored = [row for row in page.rows if row.sequence not in withheld] if withheld else page.rows
            high = LIVE if before is None else min(before, LIVE)
            try:
                await mirror.write_page(ticket, stored, low=page.low, high=high, withheld=withheld)
            except MirrorDown:
                _log.debug("place %d was not mirrored", self._place.id)
        finally:
            mirror.settle(ticket)
        return page
