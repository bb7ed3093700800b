from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest
import simcord
from discord import app_commands
from discord.ext import commands
from recall_bot.cog import RecallCog
from recall_bot.config import Config
from recall_bot.readiness import PORTAL_SWITCH, NotReady

from tests.simcord_shims import fix_app_flags, user_thread
from tests.stage import Stage, command_names, make_bot, open_world, set_stage


class AnyBot(commands.Bot):
    """A bot of somebody else's, which reads messages for purposes of its own."""

    def __init__(self, **intents: bool) -> None:
        wanted = discord.Intents.default()
        wanted.message_content = True
        for name, on in intents.items():
            setattr(wanted, name, on)
        super().__init__("!", intents=wanted)


def names(bot: commands.Bot | commands.AutoShardedBot) -> set[str]:
    kinds = discord.AppCommandType
    return {command.name for kind in kinds for command in bot.tree.get_commands(type=kind)}


async def test_without_the_switch_in_the_portal_it_refuses_to_start_and_names_it() -> None:
    undo = fix_app_flags(0)
    try:
        async with open_world() as env:
            with pytest.raises(NotReady) as caught:
                await set_stage(env)
    finally:
        undo()
    assert str(caught.value) == PORTAL_SWITCH
    assert "\n" not in PORTAL_SWITCH
    assert "Message Content Intent" in PORTAL_SWITCH


@pytest.mark.parametrize("flag", [1 << 18, 1 << 19])
async def test_either_form_of_the_switch_is_enough(flag: int) -> None:
    undo = fix_app_flags(flag)
    try:
        async with open_world() as env:
            assert (await set_stage(env)).cog.qualified_name == "Recall"
    finally:
        undo()


@pytest.mark.parametrize("intent", ["message_content", "guild_messages", "guilds"])
async def test_a_client_that_does_not_ask_for_messages_is_refused(intent: str) -> None:
    bot = AnyBot(**{intent: False})
    with pytest.raises(NotReady, match=f"Recall needs the intents {intent} of the bot"):
        await bot.add_cog(RecallCog(bot, Config()))
    assert (bot.cogs, names(bot)) == ({}, set())


async def test_a_client_that_logs_in_later_is_checked_at_its_first_connect(
    env: simcord.Env, caplog: pytest.LogCaptureFixture
) -> None:
    undo = fix_app_flags(0)
    bot = AnyBot()
    await bot.add_cog(RecallCog(bot, Config()))
    assert names(bot) == command_names()
    await env.restart_bot(bot)
    undo()
    assert (dict(bot.cogs), names(bot)) == ({}, set())
    assert [record.getMessage() for record in caplog.records if record.name.startswith("recall_bot")] == [PORTAL_SWITCH]


async def test_a_client_that_logs_in_later_keeps_the_cog_where_messages_can_be_read(env: simcord.Env) -> None:
    bot = AnyBot()
    cog = RecallCog(bot, Config())
    await bot.add_cog(cog)
    await env.restart_bot(bot)
    assert bot.get_cog("Recall") is cog
    assert names(bot) == command_names()


async def test_unloading_takes_commands_and_listeners_back_and_leaves_those_of_others(stage: Stage) -> None:
    @app_commands.command(description="x")
    async def theirs(interaction: discord.Interaction) -> None: ...

    stage.bot.tree.add_command(theirs)
    await stage.bot.remove_cog("Recall")
    assert names(stage.bot) == {"theirs"}
    message = await stage.ada.send(stage.channel, "!pin")
    assert stage.reactions(message) == []


async def test_the_buttons_of_answers_are_answered_only_while_the_cog_is_loaded(stage: Stage) -> None:
    registered = stage.bot._connection._view_store._dynamic_items
    assert len(registered) == 2
    await stage.bot.remove_cog("Recall")
    assert len(registered) == 0


async def test_a_cog_can_be_loaded_again(stage: Stage) -> None:
    await stage.bot.remove_cog("Recall")
    await stage.bot.add_cog(RecallCog(stage.bot, stage.config))
    message = await stage.ada.send(stage.channel, "!pin")
    assert len(stage.reactions(message)) == 1
    assert names(stage.bot) == command_names()


async def test_a_command_of_the_same_name_is_left_alone_and_nothing_of_ours_stays() -> None:
    @app_commands.command(name="pins", description="Somebody else's")
    async def theirs(interaction: discord.Interaction) -> None: ...

    bot = AnyBot()
    bot.tree.add_command(theirs)
    with pytest.raises(app_commands.CommandAlreadyRegistered):
        await bot.add_cog(RecallCog(bot, Config()))
    assert bot.tree.get_commands() == [theirs]
    assert dict(bot.cogs) == {}


async def test_a_closed_bot_leaves_no_task_behind(env: simcord.Env) -> None:
    stage = await set_stage(env)
    await stage.ada.send(stage.channel, "x" * 700)
    await stage.bot.close()
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("recall")] == []


async def test_what_no_member_of_the_guild_wrote_is_not_looked_at(stage: Stage) -> None:
    await stage.ada.send_dm("!pin")
    user_thread(stage.env, stage.channel.id, stage.ada.id, "!pin")  # its name is the content of a system message
    await stage.settle()
    assert [request for request in stage.env.http_requests if "reactions" in request.path] == []


async def test_one_process_serves_guilds_of_several_shards(env: simcord.Env) -> None:
    """What is known of one shard's absence does not silence another's guilds."""
    stage = await set_stage(env)
    stage.bot.dispatch("shard_disconnect", 7)
    await stage.ada.send(stage.channel, "x" * 700)
    await stage.env.advance_time(5)
    assert len(stage.ours()) == 1


@pytest.mark.parametrize(("gone", "back"), [("disconnect", "resumed"), ("disconnect", "connect")])
async def test_a_client_without_shards_has_its_own_word_for_being_away(env: simcord.Env, gone: str, back: str) -> None:
    stage = await set_stage(env)
    bot = AnyBot()
    timed: dict[str, Any] = make_bot(env, stage.config)._cog_options
    await bot.add_cog(RecallCog(bot, stage.config, **timed))
    await stage.bot.close()
    await env.restart_bot(bot)
    bot.dispatch(gone)
    await stage.ada.send(stage.channel, "x" * 700)
    bot.dispatch(back)
    await env.advance_time(5)
    me = env.backend.bot_user.id
    assert [message for message in stage.channel.history() if message.author.id == me] == []
    await stage.ben.send(stage.channel, "x" * 700)
    await env.advance_time(5)
    assert len([message for message in stage.channel.history() if message.author.id == me]) == 1
