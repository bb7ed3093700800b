"""Recall loaded into a bot of somebody else's, which has a package named `bot` as most have."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import discord
import pytest
import simcord
from discord.ext import commands
from recall_bot.readiness import PORTAL_SWITCH
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle

from tests.simcord_shims import fix_app_flags
from tests.stage import command_names, open_world

THEIR_BOT = """
import discord
from discord.ext import commands

intents = discord.Intents.default()
intents.message_content = True


class TheirBot(commands.Bot):
    def __init__(self):
        everyone = discord.AllowedMentions.all()
        super().__init__("!", intents=intents, allowed_mentions=everyone)

    async def setup_hook(self):
        await self.load_extension("bot.greetings")
        await self.load_extension("recall_bot")
        await self.tree.sync()
"""
THEIR_GREETINGS = """
from discord.ext import commands


@commands.command()
async def pin(ctx):
    await ctx.send("theirs")


async def setup(bot):
    bot.add_command(pin)
"""


def modules(package: str) -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")}


@pytest.fixture
def their_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated_discord: None) -> Iterator[type[commands.Bot]]:
    """Their package on the path and their configuration in the folder, as where somebody starts their bot.

    discord.py takes an extension's modules out of `sys.modules` when it unloads; other tests hold theirs.
    """
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "__init__.py").write_text(THEIR_BOT)
    (tmp_path / "bot" / "greetings.py").write_text(THEIR_GREETINGS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("RECALL_CONFIG", raising=False)
    ours = modules("recall_bot")
    yield importlib.import_module("bot").TheirBot
    for name in modules("recall_bot") | modules("bot"):
        del sys.modules[name]
    sys.modules.update(ours)


@dataclass
class Theirs:
    """Hold their bot in a guild, where our configuration has a channel switched on."""

    bot: commands.Bot
    channel: ChannelHandle
    ada: MemberActor


async def start(env: simcord.Env, kind: type[commands.Bot]) -> Theirs:
    guild = env.create_guild("Theirs")
    channel, ada = guild.create_text_channel("general"), guild.add_member(env.create_user("ada"))
    Path("config.toml").write_text(f"channels.enabled = [{channel.id}]\n")
    bot = kind()  # type: ignore[call-arg]
    await env.restart_bot(bot)
    return Theirs(bot, channel, ada)


async def test_it_loads_beside_a_package_named_bot_with_the_same_commands(their_bot: type[commands.Bot]) -> None:
    async with open_world() as env:
        theirs = await start(env, their_bot)
        assert sorted(theirs.bot.extensions) == ["bot.greetings", "recall_bot"]
        parts = {f"recall {part}" for part in ("enable", "disable", "status", "help", "forget-me")}
        assert set(theirs.ada.available_commands(theirs.channel)) == {"search", "pins", "standings", "context", *parts}
        message = await theirs.ada.send(theirs.channel, "!pin")
        assert [said.content for said in theirs.channel.history() if said.author.bot] == ["theirs"]
        assert len(env.backend.get_message(theirs.channel.id, message.id).reactions) == 1


async def test_it_pings_nobody_whatever_the_bot_allows(their_bot: type[commands.Bot]) -> None:
    async with open_world() as env:
        theirs = await start(env, their_bot)
        await theirs.ada.send(theirs.channel, "x" * 700)
        await env.advance_time(5)
        (sent,) = [request.json for request in env.http_requests if request.path.endswith("/messages")]
        assert sent is not None
        assert sent["allowed_mentions"] == {"parse": [], "replied_user": False}


async def test_it_unloads_without_a_trace_and_loads_again(their_bot: type[commands.Bot]) -> None:
    async with open_world() as env:
        bot = (await start(env, their_bot)).bot
        await bot.unload_extension("recall_bot")
        assert (bot.tree.get_commands(), dict(bot.cogs)) == ([], {})
        assert {name for name, listeners in bot.extra_events.items() if listeners} == {"on_command_error"}  # simcord's
        await bot.load_extension("recall_bot")
        assert {command.name for command in bot.tree.get_commands()} == command_names()


async def test_a_wrong_configuration_is_one_line_in_what_discord_py_raises(their_bot: type[commands.Bot]) -> None:
    Path("config.toml").write_text("[pins]\nlimit = 'many'")
    with pytest.raises(commands.ExtensionFailed, match=r"config\.toml: pins\.limit: expected integer, got text"):
        await commands.Bot("!", intents=discord.Intents.all()).load_extension("recall_bot")


async def test_the_switch_that_is_off_is_named_in_what_discord_py_raises(their_bot: type[commands.Bot]) -> None:
    undo = fix_app_flags(0)
    try:
        async with open_world() as env:
            with pytest.raises(commands.ExtensionFailed) as caught:
                await start(env, their_bot)
            assert str(caught.value.original) == PORTAL_SWITCH
    finally:
        undo()


async def test_loaded_before_the_login_it_unloads_itself_where_messages_cannot_be_read(
    their_bot: type[commands.Bot], caplog: pytest.LogCaptureFixture
) -> None:
    intents = discord.Intents.default()
    intents.message_content = True
    bot = commands.Bot("!", intents=intents)
    await bot.load_extension("recall_bot")
    undo = fix_app_flags(0)
    try:
        async with open_world() as env:
            await env.restart_bot(bot)
            assert (dict(bot.extensions), dict(bot.cogs), bot.tree.get_commands()) == ({}, {}, [])
    finally:
        undo()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("recall_bot")] == [PORTAL_SWITCH]
