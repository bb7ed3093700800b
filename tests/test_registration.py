from __future__ import annotations

from typing import Any

import discord
import pytest
import simcord
from discord import app_commands
from recall_bot.commands import COMMANDS
from recall_bot.registration import register_commands, same_commands


class Program(discord.Client):
    """A program with a few commands, which registers nothing by itself."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents(guilds=True))
        self.tree = app_commands.CommandTree(self)


@app_commands.command(description="Say something")
@app_commands.describe(text="What to say")
@app_commands.choices(tone=[app_commands.Choice(name="Calm", value="calm")])
@app_commands.guild_only()
@app_commands.default_permissions(manage_guild=True)
async def say(
    interaction: discord.Interaction,
    text: app_commands.Range[str, 1, 200],
    tone: str = "calm",
    times: app_commands.Range[int, 0, 9] = 0,
    where: discord.TextChannel | None = None,
) -> None: ...


@say.autocomplete("text")
async def _texts(interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
    return []


@app_commands.context_menu(name="Say again")
async def again(interaction: discord.Interaction, message: discord.Message) -> None: ...


group = app_commands.Group(name="recall", description="Look after it")


@group.command(description="What is on")
async def status(interaction: discord.Interaction) -> None: ...


def writes(env: simcord.Env) -> list[str]:
    return [request.path for request in env.http_requests if request.method != "GET"]


async def start(env: simcord.Env, *commands: Any) -> app_commands.CommandTree[Any]:
    """Replace the bot by one with these commands, as a new process would, and forget what the last one asked."""
    program = Program()
    for command in commands:
        program.tree.add_command(command)
    await env.restart_bot(program)
    env.http_requests.clear()
    return program.tree


async def test_commands_are_registered_once(env: simcord.Env) -> None:
    tree = await start(env, say, again, group)
    await register_commands(tree, ())
    assert len(writes(env)) == 1
    tree = await start(env, group, again, say)
    await register_commands(tree, ())
    assert writes(env) == []


async def test_a_changed_command_is_registered_again_and_one_that_is_gone_goes(env: simcord.Env) -> None:
    tree = await start(env, say, again)
    await register_commands(tree, ())
    tree = await start(env, say)
    await register_commands(tree, ())
    assert [command.name for command in await tree.fetch_commands()] == ["say"]


async def test_named_guilds_get_their_own_copies_and_no_global_one_is_left(env: simcord.Env) -> None:
    guilds = [env.create_guild(name).id for name in ("one", "two")]
    tree = await start(env, say, group)
    await register_commands(tree, ())
    env.http_requests.clear()
    await register_commands(tree, guilds)
    assert len(writes(env)) == 3
    assert await tree.fetch_commands() == []
    for guild_id in guilds:
        fetched = await tree.fetch_commands(guild=discord.Object(guild_id))
        assert {command.name for command in fetched} == {"say", "recall"}
    assert {command.name for command in tree.get_commands()} == {"say", "recall"}
    tree = await start(env, say, group)
    await register_commands(tree, guilds)
    assert writes(env) == []


async def test_a_guild_that_refuses_is_passed_over(env: simcord.Env, caplog: pytest.LogCaptureFixture) -> None:
    refusing, willing = env.create_guild("one").id, env.create_guild("two").id
    tree = await start(env, say)
    env.inject_error("GET", f"/applications/*/guilds/{refusing}/commands", status=403, code=50001)
    await register_commands(tree, [refusing, willing])
    assert len(await tree.fetch_commands(guild=discord.Object(willing))) == 1
    (warning,) = [record.getMessage() for record in caplog.records if record.name.startswith("recall_bot")]
    assert f"guild={refusing}" in warning


def payload(**keys: Any) -> dict[str, Any]:
    return {"name": "say", "type": 1, "description": "Say something", "options": [], **keys}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"nsfw": False}, {"id": 5, "application_id": 6, "version": "7", "name_localizations": {}}),
        ({"contexts": None}, {"contexts": None, "integration_types": [0]}),
        ({"contexts": [0, 1]}, {"contexts": [1, 0]}),
        ({"default_member_permissions": 32}, {"default_member_permissions": "32"}),
        ({"default_member_permissions": None}, {"default_member_permissions": None, "dm_permission": True}),
    ],
)
def test_what_discord_fills_in_is_no_change(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert same_commands([payload(**mine)], [payload(**theirs)], everywhere=True)


def option(**keys: Any) -> dict[str, Any]:
    return {"type": 3, "name": "text", "description": "x", **keys}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"description": "Say a thing"}, {}),
        ({"default_member_permissions": 0}, {}),
        ({"contexts": [0]}, {}),
        ({"options": [option()]}, {}),
        ({"options": [option(required=True)]}, {"options": [option()]}),
        ({"options": [option(min_value=0)]}, {"options": [option()]}),
        ({"options": [option(name="a"), option(name="b")]}, {"options": [option(name="b"), option(name="a")]}),
        ({}, {"nsfw": True}),
    ],
)
def test_what_we_would_change_is_a_change(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert not same_commands([payload(**mine)], [payload(**theirs)], everywhere=True)


def test_a_guilds_copy_has_no_contexts_to_compare() -> None:
    assert same_commands([payload(contexts=[0], integration_types=[0])], [payload()], everywhere=False)


def test_a_menu_and_a_command_of_one_name_are_two() -> None:
    both = [payload(), {"name": "say", "type": 3}]
    assert same_commands(both, both[::-1], everywhere=True)
    assert not same_commands(both, both[:1], everywhere=True)


async def test_discord_py_still_misreads_the_contexts_of_a_registered_command(env: simcord.Env) -> None:
    """When this fails, `registration` can read commands by `CommandTree.fetch_commands`."""
    tree = await start(env, say)
    await register_commands(tree, ())
    (command,) = await tree.fetch_commands()
    assert command.allowed_contexts is not None
    assert command.allowed_contexts.to_array() != [0]


def test_every_command_and_menu_of_ours_is_for_members_of_guilds_alone() -> None:
    unused: Any = None
    tree = Program().tree
    menus = 0
    for build in COMMANDS:
        command = build(unused)
        wire = command.to_dict(tree)
        assert (wire["contexts"], wire["integration_types"]) == ([0], [0])
        assert 1 <= len(wire["name"]) <= 32
        menus += isinstance(command, app_commands.ContextMenu)
    assert menus == 4  # of five that discord.py registers
