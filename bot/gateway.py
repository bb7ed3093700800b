"""Keep what is known of history true to what the gateway tells: messages, threads, channels, guilds, sessions.

`Gateway` is called by the cog's listeners, first of all and before they await anything, so that events are
noted in the order in which they came. Every session that did not resume voids what was known: the mirror
begins an epoch, and the lists of threads are read again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import discord

import recall

from .access import is_place, known_right
from .mirror import Created, Deleted, Edited, Event, Mirror, MirrorDown, Place, Unlisted, Withheld
from .mirror.upkeep import drop_guild, drop_place
from .rows import Identity, row_of
from .threads import ThreadLists


class Gateway:
    """Note what is told. `never_store`: author ids whose messages are dropped here. `mirror`: None for none."""

    def __init__(
        self,
        mirror: Mirror | None,
        lists: ThreadLists,
        *,
        identity: Callable[[], Identity],
        never_store: frozenset[str] = frozenset(),
    ) -> None:
        self._mirror = mirror
        self._lists = lists
        self._identity = identity
        self._never_store = never_store
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open the mirror, where its file can be used; raises `MirrorRefused` for one of a newer version."""
        if self._mirror is not None:
            with contextlib.suppress(MirrorDown):
                await self._mirror.flush()

    async def close(self) -> None:
        """Finish what is under way and close the mirror."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._mirror is not None:
            await self._mirror.close()

    def created(self, message: discord.Message) -> None:
        """Note a new message."""
        self._note(message, new=True)

    def edited(self, message: discord.Message) -> None:
        """Note what a message reads now; unfurled links and other changes are no harm."""
        self._note(message, new=False)

    def deleted(self, channel_id: int, message_ids: Iterable[int]) -> None:
        """Note deletions."""
        if self._mirror is not None:
            for message_id in message_ids:
                self._mirror.note(Deleted(channel_id, message_id))

    def thread_changed(self, thread: discord.Thread) -> None:
        """Note a thread that may just have been archived: the client forgets it then."""
        if thread.archived:
            self._lists.archived(thread)

    def thread_unknown(self, parent_id: int) -> None:
        """Note that a thread changed which the client does not know: the list of its desk is read again."""
        self._lists.void(parent_id)

    def place_gone(self, place_id: int, parent_id: int | None = None) -> None:
        """Note that a channel or thread was deleted, or may not be read any more."""
        if parent_id is not None:
            self._lists.deleted(place_id, parent_id)
        self._lists.void(place_id)
        if self._mirror is not None:
            self._begin(drop_place(self._mirror, place_id), f"drop-place-{place_id}")

    def rights_changed(self, guild: discord.Guild) -> None:
        """Note that our own rights may have changed: what may not be read any more is told of no longer."""
        known = () if self._mirror is None else tuple(self._mirror.claims.places.values())
        for desk_id in {place.desk_id for place in known if place.guild_id == guild.id}:
            desk = guild.get_channel_or_thread(desk_id)
            readable = is_place(desk) and known_right(desk, guild.me) is not False
            if not readable:
                self._mistrust(functools.partial(_is_of, desk_id))
            if not readable and desk is not None:  # else an archived private thread, whose channel is not known here
                self.place_gone(desk_id)

    def thread_left(self, thread: discord.Thread) -> None:
        """Note that we are no member of a thread any more, or that it is not among those that were synced."""
        self._lists.void(thread.parent_id)
        if known_right(thread, thread.guild.me) is not True:
            self._mistrust(lambda place: place.id == thread.id)
            self.place_gone(thread.id)

    def guild_untold(self, guild: discord.Guild) -> None:
        """Note that an outage begins or ends for a guild, within which nothing is told of it."""
        self._mistrust(lambda place: place.guild_id == guild.id)
        for channel in guild.channels:
            self._lists.void(channel.id)

    def guild_gone(self, guild_id: int) -> None:
        """Note that the bot left a guild: nothing of it is kept."""
        if self._mirror is not None:
            self._begin(drop_guild(self._mirror, guild_id), f"drop-guild-{guild_id}")

    def connected(self, shard: int) -> None:
        """Note a gateway session that did not resume."""
        self._lists.renewed(shard)
        if self._mirror is not None:
            self._mirror.claims.connected(shard)  # at once: what is told from now on belongs to the new session
            self._begin(self._mirror.flush(), f"epoch-{shard}")

    def silent(self, shard: int) -> None:
        """Note that a session is interrupted."""
        self._lists.silent(shard)
        if self._mirror is not None:
            self._mirror.claims.suspend(shard)

    def resumed(self, shard: int) -> None:
        """Note that a session is whole again."""
        self._lists.whole(shard)
        if self._mirror is not None:
            self._mirror.claims.resume(shard)

    def _mistrust(self, suspect: Callable[[Place], bool]) -> None:
        if self._mirror is not None:
            self._mirror.mistrust(suspect)

    def _note(self, message: discord.Message, *, new: bool) -> None:
        if self._mirror is None or message.guild is None or message.flags.ephemeral:
            return
        place_id = message.channel.id
        row = row_of(message, identity=self._identity())
        event: Event
        if not is_place(message.channel):
            event = Withheld(place_id, message.id)  # an archived thread: where its row belongs is not known here
        elif row is None:
            event = Unlisted(place_id, message.id)
        elif recall.author_id(row.author) in self._never_store:
            event = Withheld(place_id, message.id)
        else:
            event = Created(place_id, row) if new else Edited(place_id, row)
        self._mirror.note(event)

    def _begin(self, work: Coroutine[Any, Any, object], name: str) -> None:
        task = asyncio.create_task(self._quietly(work), name=f"recall-{name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _quietly(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except MirrorDown:
            return  # the database has logged it, and claims nothing any more


def _is_of(desk_id: int, place: Place) -> bool:
    return place.desk_id == desk_id
