"""One run of `recall-bot backfill`: log in, find what there is to read, read it, keep what is to be kept.

Nothing of it needs the bot, and nothing disturbs one that runs: no gateway session is opened, and the mirror is
written a page at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import discord

import recall

from .access import Place, is_place, known_right
from .backfill import PASSING, Backfill, Progress, Report, Target, targets_of
from .config import IN_MEMORY, Config
from .desks import address_reader
from .errors import Refusal, Unavailable
from .mirror import Mirror, MirrorDown
from .mirror.filling import BACKFILL_SHARD, Filling
from .readiness import check_content_access
from .rest import find_place, guild_ids, load_guild, signed_in
from .retention import Retention
from .rows import Identity
from .state import State


class NoMirrorFile(Refusal):
    """Say that there is no file that a backfill could fill."""

    template = (
        'There is no mirror to fill: mirror.enabled is off, or mirror.path is ":memory:". Name a file in the '
        "configuration."
    )


class ForgottenUnknown(Refusal):
    """Say that it cannot be known whose messages are not to be stored."""

    template = "{path} cannot be read, and it says whose messages are not to be stored. Nothing was read."

    def __init__(self, path: str) -> None:
        self.path = path


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for channels and threads by id, or for `everything` that the bot may read.

    `floor`: nothing is read for older messages. `again`: also what is whole already.
    """

    places: tuple[int, ...] = ()
    everything: bool = False
    floor: int = 0
    again: bool = False


async def run_backfill(
    config: Config, token: str, request: Request, *, on_progress: Callable[[Progress], None] | None = None
) -> Report:
    """Read what was asked for into the mirror; may be cancelled at any time, and asked for again.

    Raises `HostError`, `NotReady`, and a `Refusal` where nothing can be read or stored, or no more of it.
    """
    if not config.mirror.enabled or config.mirror.path == IN_MEMORY:
        raise NoMirrorFile
    withholds = await _withholds(config)
    async with signed_in(token) as client:
        check_content_access(client)
        mirror = Mirror(config.mirror.path, clock=time.monotonic, now=time.time, shard_of=lambda _: BACKFILL_SHARD)
        own_id = 0 if client.user is None else client.user.id
        backfill = Backfill(
            Filling(mirror.database, now=time.time),
            identity=Identity(own_id, config.identity.former_ids, mirror.database.webhooks),
            withholds=withholds,
            floor=request.floor,
            again=request.again,
            on_progress=on_progress,
        )
        try:
            return await backfill.run(await _targets(client, request, backfill.report))
        finally:
            await _trim(client, config, mirror)
            await mirror.close()


async def _withholds(config: Config) -> Callable[[str], bool]:
    """Return what says of an author whether their messages are not to be stored. Raises `ForgottenUnknown`."""
    state = State(config.state.path, now=time.time)
    if config.state.path != IN_MEMORY and not await state.load():
        raise ForgottenUnknown(config.state.path)
    never = frozenset(map(str, config.mirror.never_store))
    return lambda author_id: author_id in never or state.is_forgotten(author_id)


async def _targets(client: discord.Client, request: Request, report: Report) -> list[Target]:
    """Return what there is to read, each place once; what was named and cannot be read is in the report.

    Raises `Unavailable` where Discord fails. Channels that nobody named and that the bot may not read are passed over.
    """
    found: dict[int, Target] = {}
    for place_id in request.places:
        place = None
        try:
            place = await find_place(client, place_id)
            found.update(await _inside(place))
        except Unavailable as failure:
            if failure.kind in PASSING:
                raise
            report.unread.append((str(place_id) if place is None else place.name, failure))
    for place in await _everything(client) if request.everything else ():
        found.update(await _inside(place))
    return list(found.values())


async def _inside(place: Place | None) -> dict[int, Target]:
    """Return what there is to read of a place, by id. Raises `Unavailable`."""
    if place is None:
        raise Unavailable("gone")
    if known_right(place, place.guild.me) is False:
        raise Unavailable("no_permission")
    return {target.channel.id: target for target in await targets_of(place)}


async def _everything(client: discord.Client) -> list[Place]:
    """Return every channel that the bot may read, of all its guilds."""
    guilds = [client.get_guild(guild_id) or await load_guild(client, guild_id) for guild_id in await guild_ids(client)]
    return [
        channel
        for guild in guilds
        for channel in guild.channels
        if is_place(channel) and known_right(channel, guild.me) is True
    ]


async def _trim(client: discord.Client, config: Config, mirror: Mirror) -> None:
    """Let go of what is older than may be kept; a bot that runs would do so too, but there may be none."""

    def address_of(desk_id: int) -> recall.AddressReader | None:
        return address_reader(client.get_channel(desk_id))

    with contextlib.suppress(MirrorDown):
        await Retention(mirror, config, now=time.time, address_of=address_of).sweep()
