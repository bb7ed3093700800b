"""Read single rows of a desk: from the mirror where it is sure, else from Discord.

A message's id does not say in which channel or thread it stands. So one that somebody names is looked for in the
channel first, then in the threads that could hold it, which are few; and it is called gone only where none of
them can have it. One that was met before is read again where it stood.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import discord

import recall

from .access import Place, Readable, is_place
from .errors import Unavailable
from .failures import wrapped_errors
from .links import SNOWFLAKE_BOUND
from .mirror import MirrorDown
from .mirror import Place as MirrorPlace
from .pages import Reads
from .roots import read_message
from .rows import named_in
from .threads import ThreadList

ROW_SECONDS: Final = 5  # for a single request beside the walk
ROW_THREADS: Final = 5  # threads that Discord is asked for a message that their channel does not have
ROW_LISTINGS: Final = 3  # pages of the list of threads that are read for one message


def channel_of_root(place: Place) -> discord.TextChannel | None:
    """Return the channel that holds the message a thread was started from; None where the thread itself does."""
    if isinstance(place, discord.Thread) and not place.is_private() and isinstance(place.parent, discord.TextChannel):
        return place.parent
    return None


class SingleRows:
    """Read single rows of one desk. `threads`: its public threads, None for a desk that has none."""

    def __init__(self, reads: Reads, place: Place, threads: ThreadList | None, *, desk_id: int) -> None:
        self._reads = reads
        self._place = place
        self._threads = threads
        self._desk_id = desk_id

    async def read(self, sequence: int) -> recall.LogMessage | None:
        """Return the row of a message of this desk; None when it is gone, or no row.

        Raises `Unavailable` where that cannot be known.
        """
        if not 0 < sequence < SNOWFLAKE_BOUND:
            return None
        home = self._home(sequence)
        if home is not None and (row := await self._row(home, sequence)) is not None:
            return row
        return None if self._threads is None else await self._in_a_thread(self._threads, sequence)

    async def read_again(self, row: recall.LogMessage) -> recall.LogMessage | None:
        """Return a row as it is now, where it stood; None when it is gone. Raises `Unavailable`.

        At most two requests: one for the message, and one for a thread that is not known here.
        """
        try:
            home = await self._home_of(row)
            return await self._row(home, row.sequence)
        except Unavailable as failure:
            if failure.kind == "gone":
                return None
            raise

    def _home(self, sequence: int) -> Readable | None:
        """Return the channel or thread that this desk is, or the parent for the message it was started from."""
        root_in = channel_of_root(self._place)
        if root_in is not None and sequence == self._place.id:
            return root_in
        return None if isinstance(self._place, discord.ForumChannel) else self._place

    async def _home_of(self, row: recall.LogMessage) -> Readable:
        home = self._home(row.sequence)
        if self._threads is None or (home is not None and row.parent is None):
            return home if home is not None else await self._thread(row.sequence)
        return await self._thread(row.parent or row.sequence)

    async def _thread(self, thread_id: int) -> Readable:
        known = self._place.guild.get_thread(thread_id)
        if known is not None:
            return known
        for thread, _ in self._threads.reaches() if self._threads is not None else ():
            if thread.id == thread_id:
                return thread
        async with _in_time():
            with wrapped_errors():
                found = await self._place.guild.fetch_channel(thread_id)
        if not is_place(found) or isinstance(found, discord.ForumChannel):
            raise Unavailable("gone")
        return found

    async def _in_a_thread(self, threads: ThreadList, sequence: int) -> recall.LogMessage | None:
        await self._list(threads, down_to=sequence)
        unknown: list[discord.Thread] = []
        for thread, bound in threads.reaches():
            if thread.id <= sequence < bound:
                rows = await self._from_mirror(thread, sequence)
                if rows:
                    return rows[0]
                if rows is None:
                    unknown.append(thread)
        if len(unknown) > ROW_THREADS:
            raise Unavailable("rate_limited")  # too many to ask; the row counts as not read
        for thread in unknown:
            if (row := await self._from_discord(thread, sequence)) is not None:
                return row
        if threads.torn:
            raise Unavailable("rate_limited")
        return None

    async def _list(self, threads: ThreadList, *, down_to: int) -> None:
        """Read the list of threads until every one that could hold a message is known."""
        for _ in range(ROW_LISTINGS):
            if threads.complete_above <= down_to:
                return
            try:
                async with _in_time():
                    await threads.list_below(threads.complete_above)
            except recall.CursorDidNotAdvance as error:
                raise Unavailable("discord_down") from error
        if threads.complete_above > down_to:
            raise Unavailable("rate_limited")

    async def _row(self, home: Readable, sequence: int) -> recall.LogMessage | None:
        self._reads.check_current(home.guild)
        rows = await self._from_mirror(home, sequence)
        if rows is not None:
            return rows[0] if rows else None
        return await self._from_discord(home, sequence)

    async def _from_mirror(self, home: Readable, sequence: int) -> tuple[recall.LogMessage, ...] | None:
        """Return the row of a message, or no row; None where the mirror does not know."""
        if self._reads.mirror is None:
            return None
        try:
            page = await self._reads.mirror.page(self._mirrored(home), sequence + 1, 1)
        except MirrorDown:
            return None
        if page is None:
            return None
        return named_in(home.guild, [row for row in page.rows if row.sequence == sequence])

    async def _from_discord(self, home: Readable, sequence: int) -> recall.LogMessage | None:
        """Read a message from Discord, and let the mirror know it: nobody asks for it twice."""
        mirror = self._reads.mirror
        ticket = None if mirror is None else mirror.ticket(self._mirrored(home))
        try:
            async with self._reads.bounds.request("messages", home.id, home.guild.id):
                row = await read_message(home, sequence, identity=self._reads.identity(), seconds=ROW_SECONDS)
            rows = () if row is None else (row,)
            if mirror is not None and ticket is not None and not self._reads.withheld(rows):
                with contextlib.suppress(MirrorDown):
                    await mirror.write_page(ticket, rows, low=sequence, high=sequence + 1)
        finally:
            if mirror is not None and ticket is not None:
                mirror.settle(ticket)
        return named_in(home.guild, rows)[0] if rows else None

    def _mirrored(self, home: Readable) -> MirrorPlace:
        return MirrorPlace(home.id, home.guild.id, self._desk_id)


@asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    """Raise `Unavailable` when a request takes too long."""
    try:
        async with asyncio.timeout(ROW_SECONDS):
            yield
    except TimeoutError:
        raise Unavailable("discord_down") from None
