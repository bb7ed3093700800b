"""What Discord says of the bot: login, switches, clock, guilds, and the rights in each channel of one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

import aiohttp
import discord

from ..access import Place, is_place
from ..config import IN_MEMORY, Config
from ..errors import Unavailable
from ..host import HostError
from ..places import place_ids
from ..readiness import PORTAL_SWITCH, NotReady, check_content_access
from ..rest import find_place, guild_ids, load_guild, signed_in
from ..state import State
from .finding import Finding, note, ok, wrong

CLOCK_SECONDS: Final = 30.0  # off by more, spans such as `3d` and the days that messages are kept are wrong
CLOCK_TIMEOUT_SECONDS: Final = 10.0
READ_RIGHTS: Final = ("view_channel", "read_message_history")
UNASKED_RIGHTS: Final = ("send_messages", "send_messages_in_threads", "add_reactions")
INVITE: Final = (
    "Invite it: the Developer Portal makes the link, under OAuth2, with the scopes bot and applications.commands."
)


async def look_at_discord(config: Config, token: str, *, guild_id: int | None) -> AsyncIterator[Finding]:
    """Yield what is found at Discord; `guild_id` names the guild whose channels are gone through."""
    yield await clock()
    try:
        async with signed_in(token) as client:
            user = client.user
            yield ok("login", "Discord lets it in" if user is None else f"as {user.name} ({user.id})")
            yield switches(client)
            yield await gateway(client)
            async for finding in guilds(client, config, guild_id):
                yield finding
    except HostError as error:
        yield wrong("login", str(error), "A new token comes from the Developer Portal, under Bot, Reset Token.")
    except Unavailable as error:
        yield wrong("discord", error.sentence, "Look at https://discordstatus.com, and ask again.")


async def clock(now: Callable[[], float] = time.time) -> Finding:
    """Compare this machine's clock with Discord's."""
    try:
        timeout = aiohttp.ClientTimeout(CLOCK_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            begun = now()
            async with session.get(f"{discord.http.Route.BASE}/gateway") as response:
                here = (begun + now()) / 2
                there = parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (aiohttp.ClientError, OSError, KeyError, ValueError) as error:
        return note("clock", f"it could not be compared with Discord's ({type(error).__name__})")
    off = here - there
    if abs(off) > CLOCK_SECONDS:
        which = "ahead of" if off > 0 else "behind"
        return wrong("clock", f"it is {abs(off):,.0f} s {which} Discord's", "Set it; let NTP keep it.")
    return ok("clock", "it agrees with Discord's")


def switches(client: discord.Client) -> Finding:
    """Look at the switch in the portal without which every message comes empty."""
    try:
        check_content_access(client)
    except NotReady:
        return wrong("intents", "the Message Content Intent is off", PORTAL_SWITCH)
    return ok("intents", "the Message Content Intent is on")


async def gateway(client: discord.Client) -> Finding:
    """Ask how many sessions may still be started today."""
    try:
        shards, _, limit = await client.http.get_bot_gateway()
    except discord.DiscordException as error:
        return wrong(
            "gateway", f"Discord names no gateway ({error})", "Look at https://discordstatus.com, and ask again."
        )
    said = (
        f"{shards:,} shard{'' if shards == 1 else 's'}, {limit['remaining']:,} of {limit['total']:,} starts left today"
    )
    if limit["remaining"] < shards:
        return wrong("gateway", said, "Wait until they are given anew, and find out why the bot starts so often.")
    return ok("gateway", said)


async def guilds(client: discord.Client, config: Config, guild_id: int | None) -> AsyncIterator[Finding]:
    """Yield whether the guilds and channels of the configuration are there, and the rights in one guild."""
    known = await guild_ids(client)
    if known:
        yield ok("guilds", f"it is in {len(known):,}")
    else:
        yield wrong("guilds", "it is in none", INVITE)
    for wanted in config.sync.guilds:
        if wanted not in known:
            yield wrong("sync.guilds", f"it is not in guild {wanted}", "Take the id out, or invite it there.")
    for key, ids in (("channels.enabled", config.channels.enabled), ("mirror.prewarm", config.mirror.prewarm)):
        for place_id in sorted(ids):
            if (finding := await _configured(client, key, place_id)) is not None:
                yield finding
    if guild_id is None:
        return
    if guild_id not in known:
        yield wrong("guild", f"it is not in guild {guild_id}", INVITE)
        return
    state = State(config.state.path, now=time.time)
    if _is_there(config.state.path):
        await state.load()
    guild = client.get_guild(guild_id) or await load_guild(client, guild_id)
    for finding in rights(guild, config, state):
        yield finding


def _is_there(path: str) -> bool:
    return path != IN_MEMORY and Path(path).exists()


async def _configured(client: discord.Client, key: str, place_id: int) -> Finding | None:
    """Return what is wrong with an id in the configuration, None for nothing."""
    try:
        place = await find_place(client, place_id)
    except Unavailable as failure:
        if failure.kind in {"rate_limited", "discord_down"}:
            raise
        place = None
    if place is not None:
        return None
    return wrong(key, f"{place_id} is no channel that it may see", "Take the id out, or allow it View Channel there.")


def rights(guild: discord.Guild, config: Config, state: State) -> Iterator[Finding]:
    """Yield what it may do in each channel of a guild, in the order of the channel list."""
    for _, channels in guild.by_category():
        for channel in channels:
            if is_place(channel):
                where = (channel.id,) if isinstance(channel, discord.ForumChannel) else place_ids(channel)
                switched = state.switched(where)
                yield _rights_in(channel, unasked=config.is_enabled(where) if switched is None else switched)


def _rights_in(channel: Place, *, unasked: bool) -> Finding:
    granted = channel.permissions_for(channel.guild.me)
    needed = [*READ_RIGHTS, *(UNASKED_RIGHTS if unasked else ())]
    if isinstance(channel, discord.VoiceChannel | discord.StageChannel):
        needed.append("connect")
    missing = [name.replace("_", " ").title() for name in needed if not getattr(granted, name)]
    name = f"#{channel.name}"
    if not missing:
        return ok(name, "it may do what it needs to" if unasked else "it may read here")
    if not granted.view_channel and not unasked:
        return note(
            name, "it does not see this channel", "If questions about it are to be answered, allow View Channel."
        )
    why = "and is to act here unasked" if unasked else "so questions about it are refused"
    return wrong(
        name, f"it lacks {', '.join(missing)}, {why}", "Allow it in the channel's settings, under Permissions."
    )
