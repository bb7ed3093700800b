"""A simulated guild with the real bot in it, for tests that play a scene.

    async def test_a_long_message_is_answered(stage: Stage) -> None:
        await stage.ada.send(stage.channel, "x" * 700)
        await stage.env.advance_time(5)
        assert len(stage.ours()) == 1

Time is simcord's: nothing waits for a real second. The bot's waits end when `advance_time` passes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import discord
import msgspec
import simcord
from recall_bot.cog import RecallCog
from recall_bot.commands import COMMANDS
from recall_bot.config import ChannelsConfig, Config, Snowflake
from recall_bot.host import RecallBot
from simcord.actors import MemberActor
from simcord.backend.models import Overwrite
from simcord.backend.serializers import message_payload
from simcord.builders import ChannelHandle, GuildHandle
from simcord.enums import OverwriteType


@dataclass
class Stage:
    """Hold the world of a test: two people, one agent, a channel that is switched on and one that is not."""

    env: simcord.Env
    config: Config
    guild: GuildHandle
    channel: ChannelHandle
    quiet: ChannelHandle
    ada: MemberActor
    ben: MemberActor
    scout: MemberActor

    @property
    def bot(self) -> RecallBot:
        bot = self.env.bot
        assert isinstance(bot, RecallBot)
        return bot

    @property
    def cog(self) -> RecallCog:
        cog = self.bot.get_cog("Recall")
        assert isinstance(cog, RecallCog)
        return cog

    async def settle(self) -> None:
        await self.env.settle(timeout=30, idle=0.0005)

    async def restart(self) -> None:
        """Replace the bot by a fresh one with the same configuration, as a new process would."""
        await self.bot.close()
        await self.env.restart_bot(make_bot(self.env, self.config))

    def place(self, place_id: int) -> ChannelHandle:
        """Return a channel or thread, to be written in."""
        return ChannelHandle(self.env, self.guild, self.env.backend.get_channel(place_id))

    def ours(self, channel: ChannelHandle | None = None) -> list[discord.Message]:
        """Return what the bot has written in a channel that stands there now, oldest first."""
        me = self.bot.user
        assert me is not None
        messages = (channel or self.channel).history()
        return sorted((m for m in messages if m.author.id == me.id), key=lambda message: message.id)

    def reactions(self, message: discord.Message) -> list[str]:
        """Return the bot's own reactions on a message."""
        stored = self.env.backend.get_message(message.channel.id, message.id)
        me = self.env.backend.bot_user.id
        return [str(reaction.emoji) for reaction in stored.reactions if me in reaction.user_ids]

    def requests(self, method: str, path: str) -> list[Any]:
        """Return the bodies of the bot's requests to a path, which ends in `path`."""
        return [r.json for r in self.env.http_requests if r.method == method and r.path.endswith(path)]

    async def deny(self, channel: ChannelHandle, **permissions: bool | None) -> None:
        """Take permissions from the bot in a channel, as in `deny(channel, send_messages=False)`."""
        allow, deny = discord.PermissionOverwrite(**permissions).pair()
        overwrite = Overwrite(self.env.backend.bot_user.id, OverwriteType.MEMBER, allow=allow.value, deny=deny.value)
        self.env.backend.set_overwrite(channel.id, overwrite)
        await self.settle()

    async def touch(self, message: discord.Message) -> None:
        """Report a message as updated though its text has not changed, as a preview that arrives does."""
        stored = self.env.backend.get_message(message.channel.id, message.id)
        self.env.backend.emit("MESSAGE_UPDATE", dict(message_payload(self.env.backend, stored)))
        await self.settle()


def command_names() -> set[str]:
    """Return the names of all commands and menus."""
    unused: Any = None
    return {build(unused).name for build in COMMANDS}


def make_bot(env: simcord.Env, config: Config) -> RecallBot:
    """Return the real bot, living in the simulation's time."""

    async def sleep(seconds: float) -> None:
        await env.external_wait(asyncio.sleep(seconds), reason="waits for a text to be still")

    timing = {"sleep": sleep, "clock": lambda: env.now().timestamp(), "now": env.now}
    return RecallBot(config, cog=timing, shard_count=1)


@asynccontextmanager
async def open_world() -> AsyncIterator[simcord.Env]:
    """Open an empty world that holds a bot without features; at its end, errors that the bot swallowed are raised."""
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    env = simcord.Env(discord.Client(intents=intents))
    await env.start()
    try:
        yield env
    finally:
        await env.bot.close()
        await env.shutdown()
    if env.check_errors and env.errors:
        raise ExceptionGroup("the bot swallowed errors", [e for e in env.errors if isinstance(e, Exception)])


async def set_stage(env: simcord.Env, configure: Callable[[Config], Config] = lambda config: config) -> Stage:
    """Put people, channels and the real bot into an empty world.

    `configure` changes the configuration, in which `channel` is switched on.
    """
    guild = env.create_guild("Workshop")
    channel, quiet = guild.create_text_channel("general"), guild.create_text_channel("quiet")
    ada, ben = (guild.add_member(env.create_user(name)) for name in ("ada", "ben"))
    scout = guild.add_member(env.create_user("scout", bot=True))
    enabled = ChannelsConfig(enabled=frozenset({Snowflake(channel.id)}))
    config = configure(msgspec.structs.replace(Config(), channels=enabled))
    await env.restart_bot(make_bot(env, config))  # only now: a configuration names ids, so the channels came first
    return Stage(env, config, guild, channel, quiet, ada, ben, scout)
