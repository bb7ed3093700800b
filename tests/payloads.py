"""Guilds, members and messages made by hand, as Discord writes them, and what discord.py makes of them.

For what simcord cannot make, and where a whole simulated Discord would be slow. No gateway, no network.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import discord

GUILD, OWNER, BOT, ADA, BEN, SCOUT = (100_000_000_000_000_000 + n for n in range(6))
CHANNEL, SECRET, THREAD, PRIVATE, FORUM = (200_000_000_000_000_000 + n for n in range(5))
READER = discord.Permissions(view_channel=True, read_message_history=True, connect=True, send_messages=True)

_ids = count(300_000_000_000_000_000)


def make_client(**options: Any) -> discord.Client:
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    client = discord.Client(intents=intents, **options)
    client._connection.user = discord.ClientUser(state=client._connection, data=user(BOT, "Recall", bot=True))
    return client


def user(user_id: int, name: str, *, bot: bool = False) -> Any:
    return {
        "id": str(user_id),
        "username": name.lower(),
        "global_name": name,
        "discriminator": "0",
        "avatar": None,
        "bot": bot,
    }


def role(role_id: int, name: str, permissions: discord.Permissions | None = None) -> dict[str, Any]:
    value = (permissions or discord.Permissions.none()).value
    colors = {"primary_color": 0, "secondary_color": None, "tertiary_color": None}
    base = {"id": str(role_id), "name": name, "permissions": str(value), "position": 1, "color": 0, "colors": colors}
    return {**base, "hoist": False, "managed": False, "mentionable": False, "flags": 0}


def overwrite(target_id: int, *, member: bool = False, allow: Any = None, deny: Any = None) -> dict[str, Any]:
    none = discord.Permissions.none()
    values = {"allow": str((allow or none).value), "deny": str((deny or none).value)}
    return {"id": str(target_id), "type": int(member), **values}


HIDDEN = overwrite(GUILD, deny=discord.Permissions(view_channel=True))  # from everybody without a role that may


def channel(channel_id: int, name: str, kind: int = 0, **more: Any) -> dict[str, Any]:
    base = {"id": str(channel_id), "guild_id": str(GUILD), "type": kind, "name": name, "position": 0}
    voice = {"bitrate": 64_000, "user_limit": 0}
    return {**base, **voice, "permission_overwrites": [], "nsfw": False, "parent_id": None, **more}


def thread(thread_id: int, name: str, parent_id: int, kind: int = 11, **more: Any) -> dict[str, Any]:
    metadata = {"archived": False, "auto_archive_duration": 1440, "archive_timestamp": "2026-01-01T00:00:00+00:00"}
    base = {"id": str(thread_id), "guild_id": str(GUILD), "type": kind, "name": name, "parent_id": str(parent_id)}
    counts = {"owner_id": str(ADA), "message_count": 1, "member_count": 1}
    return {**base, **counts, "thread_metadata": {**metadata, "locked": False}, **more}


def make_guild(
    client: discord.Client | None = None,
    *,
    channels: Iterable[dict[str, Any]] = (),
    threads: Iterable[dict[str, Any]] = (),
    roles: Iterable[dict[str, Any]] = (),
    bot_roles: Iterable[int] = (),
) -> discord.Guild:
    """Make a guild in which everybody may read, and the bot is a member without more rights than that."""
    data: Any = {
        "id": str(GUILD),
        "name": "Workshop",
        "owner_id": str(OWNER),
        "roles": [role(GUILD, "@everyone", READER), *roles],
        "channels": list(channels),
        "threads": list(threads),
        "members": [{"user": user(BOT, "Recall", bot=True), **_membership(bot_roles)}],
    }
    return (client or make_client())._connection._add_guild_from_data(data)


def make_member(
    guild: discord.Guild, user_id: int = ADA, name: str = "Ada", roles: Iterable[int] = ()
) -> discord.Member:
    data: Any = {"user": user(user_id, name), **_membership(roles)}
    return discord.Member(data=data, guild=guild, state=guild._state)


def _membership(roles: Iterable[int]) -> dict[str, Any]:
    joined = "2020-01-01T00:00:00+00:00"
    return {"roles": [str(held) for held in roles], "joined_at": joined, "deaf": False, "mute": False, "flags": 0}


def message(channel_id: int, content: str = "", **more: Any) -> dict[str, Any]:
    """Return the payload of a message; `author` is Ada unless told otherwise."""
    base = {"id": str(next(_ids)), "channel_id": str(channel_id), "content": content, "type": 0, "flags": 0}
    lists: dict[str, Any] = {"embeds": [], "attachments": [], "mentions": [], "mention_roles": [], "components": []}
    times = {"timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None, "tts": False, "pinned": False}
    return {**base, **lists, **times, "mention_everyone": False, "author": user(ADA, "Ada"), **more}


def make_message(place: Any, content: str = "", **more: Any) -> discord.Message:
    data: Any = message(place.id, content, **more)
    return discord.Message(state=place._state, channel=place, data=data)


def attachment(name: str) -> dict[str, Any]:
    address = f"https://cdn.discordapp.com/attachments/1/2/{name}"
    return {"id": str(next(_ids)), "filename": name, "size": 1, "url": address, "proxy_url": address}


def snapshot(content: str = "", **more: Any) -> dict[str, Any]:
    """Return a forwarded message, as the forwarding message carries it."""
    base = {"type": 0, "content": content, "embeds": [], "attachments": [], "flags": 0, "components": []}
    times = {"timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None}
    return {"message": {**base, **times, "mentions": [], "mention_roles": [], **more}}


def forward(*snapshots: dict[str, Any]) -> dict[str, Any]:
    """Return what makes a message a forward, for `message`."""
    reference = {"type": 1, "channel_id": str(CHANNEL), "message_id": "5", "guild_id": str(GUILD)}
    return {"flags": 1 << 14, "message_reference": reference, "message_snapshots": list(snapshots)}
