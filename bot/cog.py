"""The feature as discord.py takes it: one cog that owns every listener, command, task and worker of Recall.

    await bot.add_cog(RecallCog(bot, load_config(None, os.environ)))     # or load_extension("recall_bot")

Nothing is taken from the client it is loaded into, and nothing of it is left behind: commands, menus, buttons,
waits and the worker process go when the cog goes. Loading is refused, in one line, where messages cannot be
read (`readiness`). A client that has not logged in yet does not know whether they can; there the check is made
at its first connect, and the cog unloads itself if it fails.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

import discord
from discord import app_commands
from discord.ext import commands

from . import paging, unpinning
from .answering import Interaction
from .commands import COMMANDS, AppCommand, take_form
from .config import Config
from .gateway import Gateway
from .matchers import make_matcher
from .readiness import NotReady, check_content_access, check_intents
from .rows import Identity
from .state import NotSaved, State
from .threads import ThreadLists
from .times import utc_now
from .unasked import Unasked
from .wiring import connected_shards, make_housekeeping, make_mirror, make_reads, make_services

CLOSE_SECONDS = 2.0  # what notices and answers under way may take to end

_log = logging.getLogger(__name__)


class RecallCog(commands.Cog, name="Recall"):
    """Answer what is asked of a channel's history, and watch the channels that are switched on.

    `sleep` waits for a message to be still, `clock` counts seconds and never goes back, `now` tells the time.
    """

    def __init__(
        self,
        bot: commands.Bot | commands.AutoShardedBot,
        config: Config,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.bot = bot
        self.config = config
        self._matcher = make_matcher(config)
        mirror = make_mirror(bot, config, clock=clock, now=now)
        self._state = State(config.state.path, now=lambda: now().timestamp())
        reads = make_reads(bot, config, mirror, self._state, clock=clock)
        lists = ThreadLists(reads.bounds, hears=lambda shard: shard in connected_shards(bot))
        self.services = make_services(config, self._matcher, reads, lists, self._state, clock=clock, now=now)
        self._housekeeping = make_housekeeping(bot, config, mirror, self.services, clock=clock)
        self._gateway = Gateway(
            mirror,
            lists,
            identity=reads.identity,
            find_guild=bot.get_guild,
            forgive=reads.bounds.forgive,
            withholds=reads.withholds,
            sleep=sleep,
        )
        self._unasked = Unasked(
            self.services,
            identity=self.identity,
            application_id=lambda: bot.application_id,
            sleep=sleep,
            clock=clock,
        )
        self._commands: list[AppCommand] = []
        self._buttons = (paging.build(self.services), unpinning.build(self.services))
        self._away: set[int] = set()
        self._checked = False

    async def cog_load(self) -> None:
        """Check that messages can be read, open the mirror, and add commands and buttons.

        Raises `NotReady`, `MirrorRefused` for a mirror of a newer version, or `CommandAlreadyRegistered` where the
        bot has a command of the same name.
        """
        check_intents(self.bot)
        if self.bot.user is not None:
            check_content_access(self.bot)
            self._checked = True
        await self._state.load()
        await self._gateway.open()
        try:
            for build in COMMANDS:
                command = build(self.services)
                self.bot.tree.add_command(command)
                self._commands.append(command)
            self.bot.add_dynamic_items(*self._buttons)
        except BaseException:
            await self.cog_unload()
            raise
        for shard in connected_shards(self.bot):  # whoever loads us late has had the word that a session began
            self._gateway.connected(shard)
        if self.bot.is_ready() and self._housekeeping is not None:
            self._housekeeping.begin()

    async def cog_unload(self) -> None:
        """Take everything back: commands and buttons first, then the waits, then the worker."""
        for command in self._commands:
            kind = command.type if isinstance(command, app_commands.ContextMenu) else discord.AppCommandType.chat_input
            if self.bot.tree.get_command(command.name, type=kind) is command:
                self.bot.tree.remove_command(command.name, type=kind)
        self._commands.clear()
        self.bot.remove_dynamic_items(*self._buttons)
        await self._unasked.close(deadline_seconds=CLOSE_SECONDS)
        await self._matcher.close()
        if self._housekeeping is not None:
            await self._housekeeping.close()
        await self._gateway.close()

    def identity(self) -> Identity:
        """Return by which ids our own messages are known; the client has logged in."""
        user = self.bot.user
        return Identity(user.id if user is not None else 0, self.config.identity.former_ids)

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        """Look at a new message."""
        self._gateway.created(message)
        await self._state.recover()
        replayed = message.guild is not None and message.guild.shard_id in self._away
        await self._unasked.created(message, replayed=replayed)

    @commands.Cog.listener()
    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Look at a message whose text has changed."""
        self._gateway.edited(payload.message)
        await self._unasked.edited(payload.message)

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """Let go of a message."""
        self._deleted(payload.channel_id, {payload.message_id})

    @commands.Cog.listener()
    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Let go of many messages."""
        self._deleted(payload.channel_id, payload.message_ids)

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """Let go of a thread."""
        self._gateway.place_gone(payload.thread_id, payload.parent_id)
        self._unasked.place_deleted(payload.thread_id)

    @commands.Cog.listener()
    async def on_raw_thread_update(self, payload: discord.RawThreadUpdateEvent) -> None:
        """Keep an archived thread in mind, which the client forgets."""
        if payload.thread is not None:
            self._gateway.thread_changed(payload.thread)
        elif payload.data["thread_metadata"]["archived"]:  # else the client knows it from now on
            self._gateway.thread_unknown(payload.parent_id)

    @commands.Cog.listener()
    async def on_thread_remove(self, thread: discord.Thread) -> None:
        """Let go of a private thread that nothing is told of any more."""
        self._gateway.thread_left(thread)

    @commands.Cog.listener()
    async def on_interaction(self, interaction: Interaction) -> None:
        """Take in a form that was filled in; commands and buttons are told apart by the client."""
        await take_form(interaction, self.services)

    @commands.Cog.listener("on_guild_channel_update")
    @commands.Cog.listener("on_guild_role_update")
    @commands.Cog.listener("on_guild_role_delete")
    @commands.Cog.listener("on_member_update")
    async def on_rights_changed(self, *changed: discord.abc.GuildChannel | discord.Role | discord.Member) -> None:
        """Let go of what we may not read any more, or could not for a while."""
        self._gateway.rights_changed(*changed)

    @commands.Cog.listener()
    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        """Trust nothing that is known of a guild in an outage."""
        self._gateway.guild_out(guild)

    @commands.Cog.listener("on_guild_available")
    @commands.Cog.listener("on_guild_join")
    async def on_guild_back(self, guild: discord.Guild) -> None:
        """Take note that a guild is told of."""
        self._gateway.guild_back(guild)

    @commands.Cog.listener()
    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """Keep nothing of a guild that the bot has left."""
        self._gateway.guild_gone(guild)
        try:
            await self._state.forget_guild(guild.id)
        except NotSaved:
            return  # the state has logged it

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """Let go of a channel with its threads."""
        self._gateway.place_gone(channel.id)
        self._unasked.place_deleted(channel.id)

    @commands.Cog.listener("on_connect")
    @commands.Cog.listener("on_shard_connect")
    async def on_session(self, shard_id: int | None = None) -> None:
        """Begin anew: a new session has nothing to catch up with. Make the check that had to wait for the login."""
        if (shard := self._shard(shard_id)) is not None:
            self._gateway.connected(shard)
            self._away.discard(shard)
        if self._checked:
            return
        self._checked = True
        try:
            check_content_access(self.bot)
        except NotReady as missing:
            _log.error("%s", missing)  # one line for the operator; a traceback would say nothing more
            await self._leave()

    @commands.Cog.listener("on_ready")
    @commands.Cog.listener("on_shard_ready")
    async def on_guilds_told(self, shard_id: int | None = None) -> None:
        """Keep nothing of what went away before this session."""
        if (shard := self._shard(shard_id)) is not None:
            self._gateway.settled(shard)
        if shard_id is None and self._housekeeping is not None:
            self._housekeeping.begin()

    @commands.Cog.listener("on_disconnect")
    @commands.Cog.listener("on_shard_disconnect")
    async def on_silence(self, shard_id: int | None = None) -> None:
        """Take note that what comes next, until the session is whole again, was posted without us."""
        if (shard := self._shard(shard_id)) is not None:
            self._gateway.silent(shard)
            self._away.add(shard)

    @commands.Cog.listener("on_resumed")
    @commands.Cog.listener("on_shard_resumed")
    async def on_whole(self, shard_id: int | None = None) -> None:
        """Take note that the session is whole again."""
        if (shard := self._shard(shard_id)) is not None:
            self._gateway.resumed(shard)
            self._away.discard(shard)

    def _shard(self, told: int | None) -> int | None:
        """Return whose session an event is about; None for one that a client with shards tells for all of them."""
        return told if isinstance(self.bot, discord.AutoShardedClient) else self.bot.shard_id or 0

    def _deleted(self, channel_id: int, message_ids: set[int]) -> None:
        self._gateway.deleted(channel_id, message_ids)
        self._unasked.deleted(message_ids)

    async def _leave(self) -> None:
        """Unload the extension that loaded this cog, or else the cog."""
        package = __name__.rpartition(".")[0]
        if package in self.bot.extensions:
            await self.bot.unload_extension(package)
        else:
            await self.bot.remove_cog(self.qualified_name)
