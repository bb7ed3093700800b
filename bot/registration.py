"""Register the commands with Discord when they are not what Discord has, and leave them alone when they are.

Registering costs requests and makes every client fetch the commands again, so a start compares first. Nothing
is kept of an earlier start: what Discord has is asked for. Only `recall-bot run` registers; a bot that loads
the extension does so with its own commands, when it likes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import discord
from discord import app_commands

_log = logging.getLogger(__name__)

_NOT_OURS_TO_SAY = frozenset({"id", "application_id", "version", "guild_id", "dm_permission"})
_GLOBAL_ONLY = frozenset({"contexts", "integration_types"})  # Discord keeps them for global commands only


async def register_commands(tree: app_commands.CommandTree[Any], guild_ids: Sequence[int]) -> None:
    """Make Discord's commands those of the tree: in the guilds named, or everywhere when none is.

    Where guilds are named, no global copy is left, because both would show. A guild that refuses is logged
    and passed over; any other failure is raised.
    """
    await _register(tree, None, [] if guild_ids else tree.get_commands())
    for guild_id in guild_ids:
        try:
            await _register(tree, discord.Object(guild_id), tree.get_commands())
        except discord.Forbidden:
            _log.warning("commands refused: guild=%d (the bot is not in it, or was invited without commands)", guild_id)


async def _register(tree: app_commands.CommandTree[Any], guild: discord.Object | None, wanted: Sequence[Any]) -> None:
    known = await _fetch(tree.client, guild)
    where = "everywhere" if guild is None else f"guild={guild.id}"
    if same_commands([command.to_dict(tree) for command in wanted], known, everywhere=guild is None):
        _log.info("commands unchanged: %s count=%d", where, len(known))
        return
    if guild is not None:
        tree.copy_global_to(guild=guild)
        await tree.sync(guild=guild)
    elif wanted:
        await tree.sync()
    else:
        await _clear_global(tree)
    _log.info("commands registered: %s count=%d", where, len(wanted))


async def _clear_global(tree: app_commands.CommandTree[Any]) -> None:
    """Take back what is registered everywhere; the tree keeps its commands, for the guilds."""
    kept = tree.get_commands()
    tree.clear_commands(guild=None)
    try:
        await tree.sync()
    finally:
        for command in kept:
            tree.add_command(command)


def same_commands(wanted: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]], *, everywhere: bool) -> bool:
    """Say whether two lists of command payloads mean the same to Discord, in whatever order they come."""
    ignored = _NOT_OURS_TO_SAY if everywhere else _NOT_OURS_TO_SAY | _GLOBAL_ONLY
    mine, theirs = ({_name(command): _shape(command, ignored) for command in some} for some in (wanted, known))
    for name, command in mine.items():
        for key in _GLOBAL_ONLY & theirs.get(name, {}).keys() - command.keys():
            del theirs[name][key]  # what a command does not say, Discord fills in
    return mine == theirs


def _name(command: Mapping[str, Any]) -> tuple[int, str]:
    return command.get("type", discord.AppCommandType.chat_input.value), command["name"]


def _shape(payload: Mapping[str, Any], ignored: frozenset[str]) -> dict[str, Any]:
    """Return a payload without what is absent, empty or false, which all mean the same, nested ones included."""
    shape: dict[str, Any] = {}
    for key, value in payload.items():
        if key in ignored or value is None or value is False or value in ("", [], {}):
            continue
        if isinstance(value, list):
            value = [_shape(part, frozenset()) if isinstance(part, dict) else part for part in value]  # noqa: PLW2901
            if key not in ("options", "choices"):
                value.sort()  # kinds of channels and contexts have no order of their own
        shape[key] = int(value) if key == "default_member_permissions" else value  # a string of digits on the wire
    return shape


async def _fetch(client: discord.Client, guild: discord.Object | None) -> list[Mapping[str, Any]]:
    """Return the payloads of the registered commands, as Discord gives them.

    `CommandTree.fetch_commands` would do, but it reads the context `[0]`, guilds only, as none at all.
    """
    application_id = client.application_id
    if application_id is None:
        raise app_commands.MissingApplicationID
    if guild is None:
        return [*await client.http.get_global_commands(application_id)]
    return [*await client.http.get_guild_commands(application_id, guild.id)]
