"""Keep what is known of history true to what the gateway tells: messages, threads, channels, guilds, sessions.

`Gateway` is called by the cog's listeners, first of all and before they await anything, so that events are
noted in the order in which they came. Nothing is trusted of what was not told. A session that did not resume
voids all that was known through the one before: the mirror begins an epoch, and lists of threads are read again.
An interruption holds it back until the session has resumed. What the bot may not read is not told of, so it is
dropped, and read anew when the right is back; in an outage of a guild, what was known of it counts for nothing.

A connection that is dead without a word is noticed by its heartbeat, up to a minute later. Until then answers are
as of what was told last, which is the one thing about them that cannot be known here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import discord

import recall

from .access import is_place, is_told, known_right
from .errors import Unavailable
from .failures import wrapped_errors
from .mirror import Created, Deleted, Edited, Event, Mirror, MirrorDown, Place, Unlisted, Withheld
from .mirror.database import MIRROR_RETRY_SECONDS
from .mirror.upkeep import drop_guild, drop_place
from .rows import Identity, unnamed_row_of
from .threads import ThreadLists

DESKS_ASKED_AFTER: Final = 20  # requests at the start of a session, for each guild, about places not in its list


class Gateway:
    """Note what is told.

    `find_guild`: of those that the client knows. `forgive`: asks again for what a guild has refused. `withholds`:
    whether an author's messages are dropped here. `mirror`: None for none. `sleep` waits until a mirror that failed
    is tried again.
    """

    def __init__(
        self,
        mirror: Mirror | None,
        lists: ThreadLists,
        *,
        identity: Callable[[], Identity],
        find_guild: Callable[[int], discord.Guild | None],
        forgive: Callable[[int | None], None] = lambda _: None,
        withholds: Callable[[str], bool] = lambda _author_id: False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._mirror = mirror
        self._lists = lists
        self._identity = identity
        self._find_guild = find_guild
        self._forgive = forgive
        self._withholds = withholds
        self._sleep = sleep
        self._told: dict[int, discord.Guild] = {}  # guilds as the present session told of them
        self._older: dict[int, discord.Guild] = {}  # as the session before did
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def open(self) -> None:
        """Open the mirror, where its file can be used; raises `MirrorRefused` for one of a newer version."""
        if self._mirror is not None:
            with contextlib.suppress(MirrorDown):
                await self._mirror.flush()

    async def close(self) -> None:
        """Finish what is under way and close the mirror."""
        self._closed = True
        for task in self._waiting:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._mirror is not None:
            await self._mirror.close()

    def created(self, message: discord.Message) -> None:
        """Note a new message."""
        self._note(message, new=True)

    def edited(self, message: discord.Message) -> None:
        """Note what a message reads now; one that was changed otherwise is stored again as it is."""
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

    def thread_left(self, thread: discord.Thread) -> None:
        """Note that we are no member of a thread any more, or that it is not among those that were synced."""
        self._lists.void(thread.parent_id)
        if known_right(thread, thread.guild.me) is not True:
            self.place_gone(thread.id)

    def place_gone(self, place_id: int, parent_id: int | None = None) -> None:
        """Note that a channel with its threads, or a thread, was deleted, or may not be read any more."""
        if parent_id is not None:
            self._lists.deleted(place_id, parent_id)
        self._lists.void(place_id)
        if self._mirror is not None:
            self._mirror.mistrust(lambda place: place_id in {place.id, place.desk_id})
            self._begin(functools.partial(drop_place, self._mirror, place_id), f"drop-place-{place_id}")

    def rights_changed(self, *changed: discord.abc.GuildChannel | discord.Role | discord.Member) -> None:
        """Note that our own rights may have changed: what we may not read, we are not told of.

        `changed` is something as it was and as it is, or a role that was deleted. It may be that we lost a right and
        have it back by now: then what it was is where that is seen.
        """
        before, now = changed[0], changed[-1]
        guild = now.guild
        if isinstance(before, discord.Member) and isinstance(now, discord.Member):
            if now != guild.me or before.roles == now.roles:
                return
            self._guild_untold(guild)
        elif isinstance(before, discord.Role) and isinstance(now, discord.Role):
            if before is not now and before.permissions == now.permissions:
                return
            self._guild_untold(guild)
        elif not (_may_be_read(before) and _may_be_read(now)):
            self._lists.void(now.id)
            self._mistrust(lambda place: now.id in _channels_of(guild, place))
        self._forgive(guild.id)
        self._sweep(guild)

    def _sweep(self, guild: discord.Guild) -> None:
        """Keep nothing of what may not be read."""
        for channel in guild.channels:
            if not is_told(guild, channel.id):
                self._lists.void(channel.id)
        self._mistrust(lambda place: place.guild_id == guild.id and not is_told(guild, place.desk_id))
        for desk_id in self._desks_of(guild.id):
            if guild.get_channel_or_thread(desk_id) is not None and not is_told(guild, desk_id):
                self.place_gone(desk_id)  # one that is not known here may be an archived private thread

    def guild_out(self, guild: discord.Guild) -> None:
        """Note that an outage at Discord has begun: of this guild nothing is told. It is no removal."""
        if self._mirror is not None:
            self._mirror.claims.guild_out(guild.id)
        self._guild_untold(guild)

    def guild_back(self, guild: discord.Guild) -> None:
        """Note that a guild is told of, since the start of a session or the end of an outage."""
        self._told[guild.id] = guild
        if self._mirror is not None and self._mirror.claims.guild_back(guild.id):
            self._guild_untold(guild)

    def guild_gone(self, guild: discord.Guild) -> None:
        """Note that the bot left a guild: nothing of it is kept."""
        self._told.pop(guild.id, None)
        self._guild_untold(guild)
        self._drop_guild(guild.id)

    def connected(self, shard: int) -> None:
        """Note a gateway session that did not resume."""
        self._forgive(None)
        self._lists.renewed(shard)
        if self._mirror is not None:
            mirror = self._mirror
            mirror.claims.connected(shard)  # at once: what is told from now on belongs to the new session
            self._older.update((id_, guild) for id_, guild in self._told.items() if self._is_of(shard, id_))
            self._begin(mirror.flush, f"epoch-{shard}")

    def settled(self, shard: int) -> None:
        """Note that a session has told of its guilds: what is gone since the one before is dropped.

        Nobody tells of a guild that removed the bot while it was away, nor of a channel that was deleted. A client
        with many shards goes on to know such a guild: as the very object that the session before told of.
        """
        if self._mirror is None:
            return
        for guild_id in {place.guild_id for place in self._mirror.claims.places.values()}:
            if not self._is_of(shard, guild_id):
                continue
            guild = self._find_guild(guild_id)
            if guild is None or guild is self._older.get(guild_id):
                self._drop_guild(guild_id)
            elif not guild.unavailable:
                self._sweep(guild)
                unknown = [id_ for id_ in self._desks_of(guild_id) if guild.get_channel_or_thread(id_) is None]
                for desk_id in unknown[:DESKS_ASKED_AFTER]:
                    self._begin(functools.partial(self._ask_after, guild, desk_id), f"ask-after-{desk_id}")
        self._older = {id_: guild for id_, guild in self._older.items() if not self._is_of(shard, id_)}

    def _is_of(self, shard: int, guild_id: int) -> bool:
        return self._mirror is not None and self._mirror.claims.shard_of(guild_id) == shard

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

    def _note(self, message: discord.Message, *, new: bool) -> None:
        if self._mirror is None or message.guild is None or message.flags.ephemeral:
            return
        place_id = message.channel.id
        row = unnamed_row_of(message, identity=self._identity())
        event: Event
        if not is_place(message.channel):
            event = Withheld(place_id, message.id)  # an archived thread: where its row belongs is not known here
        elif row is None:
            event = Unlisted(place_id, message.id)
        elif self._withholds(recall.author_id(row.author)):
            event = Withheld(place_id, message.id)
        else:
            event = Created(place_id, row) if new else Edited(place_id, row)
        self._mirror.note(event)

    def _desks_of(self, guild_id: int) -> set[int]:
        known = () if self._mirror is None else self._mirror.claims.places.values()
        return {place.desk_id for place in known if place.guild_id == guild_id}

    def _guild_untold(self, guild: discord.Guild) -> None:
        self._forgive(guild.id)
        for channel in guild.channels:
            self._lists.void(channel.id)
        self._mistrust(lambda place: place.guild_id == guild.id)

    def _mistrust(self, suspect: Callable[[Place], bool]) -> None:
        if self._mirror is not None:
            self._mirror.mistrust(suspect)

    def _drop_guild(self, guild_id: int) -> None:
        if self._mirror is not None:
            self._mirror.mistrust(lambda place: place.guild_id == guild_id)
            self._begin(functools.partial(drop_guild, self._mirror, guild_id), f"drop-guild-{guild_id}")

    async def _ask_after(self, guild: discord.Guild, desk_id: int) -> None:
        """Drop a place that Discord does not know, or does not show us, any more; one request."""
        try:
            with wrapped_errors():
                await guild.fetch_channel(desk_id)
        except Unavailable as failure:
            if failure.kind in {"gone", "no_permission"}:
                self.place_gone(desk_id)

    def _begin(self, work: Callable[[], Awaitable[object]], name: str) -> None:
        task = asyncio.create_task(self._until_done(work), name=f"recall-{name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_done(self, work: Callable[[], Awaitable[object]]) -> None:
        """Work, and again for as long as the mirror fails, which the database has logged."""
        while not self._closed:
            try:
                await work()
            except MirrorDown:
                waiting = asyncio.create_task(self._wait(), name="recall-mirror-retry")
            else:
                return
            self._waiting.add(waiting)
            await asyncio.wait({waiting})
            self._waiting.discard(waiting)

    async def _wait(self) -> None:
        await self._sleep(MIRROR_RETRY_SECONDS)


def _channels_of(guild: discord.Guild, place: Place) -> set[int]:
    """Return the channels whose rights a place may have: all where it is not known."""
    if place.guild_id != guild.id:
        return set()
    desk = guild.get_channel_or_thread(place.desk_id)
    if desk is None:
        return {channel.id for channel in guild.channels}
    return {desk.parent_id if isinstance(desk, discord.Thread) else desk.id}


def _may_be_read(channel: object) -> bool:
    """Say whether we may read a channel, as it is or was."""
    return is_place(channel) and known_right(channel, channel.guild.me) is not False
