"""Talk to Discord without a gateway: log in, and load guilds as the gateway would have sent them.

For what runs beside the bot or without it, with the same token. A gateway session of its own would count as a
second bot to Discord; requests do not.

    async with signed_in(token) as client:
        guild = await load_guild(client, guild_id)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord

from .access import Place, is_place
from .failures import wrapped_errors
from .host import explained, intents


@asynccontextmanager
async def signed_in(token: str) -> AsyncIterator[discord.Client]:
    """Hold a client that has logged in and opens no gateway. Raises `HostError` where Discord does not let it in."""
    client = discord.Client(intents=intents())
    try:
        try:
            await client.login(token)
        except Exception as error:
            raise explained(error) from error
        yield client
    finally:
        await client.close()


async def load_guild(client: discord.Client, guild_id: int) -> discord.Guild:
    """Return a guild with its roles, channels, active threads and us. Four requests; raises `Unavailable`.

    `Client.fetch_guild` gives a guild without channels, members and threads, in which no right can be reckoned
    and no name be looked up. So it is made of the same payloads that the gateway sends at once, by the same
    function of discord.py, which is private.
    """
    own_id = 0 if client.user is None else client.user.id
    with wrapped_errors():
        data: dict[str, Any] = {**await client.http.get_guild(guild_id, with_counts=False)}
        data["channels"] = await client.http.get_all_guild_channels(guild_id)
        data["threads"] = (await client.http.get_active_threads(guild_id))["threads"]
        data["members"] = [await client.http.get_member(guild_id, own_id)]
    return client._connection._add_guild_from_data(data)  # type: ignore[arg-type]  # noqa: SLF001 - see above


async def guild_ids(client: discord.Client) -> list[int]:
    """Return the guilds the bot is in; raises `Unavailable`."""
    with wrapped_errors():
        return [guild.id async for guild in client.fetch_guilds(limit=None, with_counts=False)]


async def find_place(client: discord.Client, place_id: int) -> Place | None:
    """Return a channel or thread of a loaded guild; None for what holds no messages. Raises `Unavailable`.

    One or two requests, and those of `load_guild` for the first place of a guild.
    """
    with wrapped_errors():
        found = await client.fetch_channel(place_id)
    if not is_place(found):
        return None
    guild = client.get_guild(found.guild.id) or await load_guild(client, found.guild.id)
    known = guild.get_channel_or_thread(place_id)
    if known is None:  # an archived thread, which no list holds
        with wrapped_errors():
            known = await guild.fetch_channel(place_id)
    return known if is_place(known) else None
