"""Make what the commands work with, as the configuration says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import discord

import recall

from .config import Config
from .desks import Desks, address_reader
from .housekeeping import Housekeeping
from .matcher import Matcher
from .matchers import ExpressionsOff
from .mirror import Mirror
from .pages import Reads
from .pin_powers import sections_in
from .posting import Posts
from .prewarm import Prewarm
from .recent import Recent
from .retention import Retention
from .rows import Identity
from .services import Services, Walks
from .state import State
from .threads import ThreadLists


def make_mirror(
    client: discord.Client, config: Config, *, clock: Callable[[], float], now: Callable[[], datetime]
) -> Mirror | None:
    """Return the mirror, which opens its file at its first use; None where it is switched off."""
    if not config.mirror.enabled:
        return None

    def shard_of(guild_id: int) -> int:
        return (guild_id >> 22) % (client.shard_count or 1)

    def hears(shard: int) -> bool:
        return shard in connected_shards(client)

    return Mirror(config.mirror.path, clock=clock, now=lambda: now().timestamp(), shard_of=shard_of, hears=hears)


def connected_shards(client: discord.Client) -> frozenset[int]:
    """Return the gateway sessions that are open, as far as their sockets know."""
    if isinstance(client, discord.AutoShardedClient):
        return frozenset(number for number, shard in client.shards.items() if not shard.is_closed())
    is_open = getattr(client.ws, "open", False)  # before the first connection there is none
    return frozenset({client.shard_id or 0} if is_open else ())


def make_reads(
    client: discord.Client, config: Config, mirror: Mirror | None, state: State, *, clock: Callable[[], float]
) -> Reads:
    """Return what all questions share of reading."""
    webhooks: set[str] = set() if mirror is None else mirror.database.webhooks

    def identity() -> Identity:
        return Identity(0 if client.user is None else client.user.id, config.identity.former_ids, webhooks)

    configured = frozenset(str(author_id) for author_id in config.mirror.never_store)

    def withholds(author_id: str) -> bool:
        return author_id in configured or state.is_forgotten(author_id)

    return Reads(identity=identity, find_guild=client.get_guild, mirror=mirror, withholds=withholds, clock=clock)


def make_housekeeping(
    client: discord.Client, config: Config, mirror: Mirror | None, services: Services, *, clock: Callable[[], float]
) -> Housekeeping | None:
    """Return the background work on the mirror; None where there is no mirror."""
    if mirror is None:
        return None

    def address_of(desk_id: int) -> recall.AddressReader | None:
        return address_reader(client.get_channel(desk_id))

    retention = Retention(mirror, config, now=lambda: services.now().timestamp(), address_of=address_of)
    prewarm = Prewarm(client, config, services.desks, services.walks)
    return Housekeeping(mirror, retention, prewarm, quiet=services.walks.quiet, clock=clock)


def make_services(
    config: Config,
    matcher: Matcher | ExpressionsOff,
    reads: Reads,
    lists: ThreadLists,
    state: State,
    *,
    clock: Callable[[], float],
    now: Callable[[], datetime],
) -> Services:
    """Return what the commands work with; `clock` counts seconds and never goes back, `now` tells the time."""
    recent = Recent()

    return Services(
        config=config,
        desks=Desks(reads, lists, recent, clock=clock, pin_rules=sections_in(config)),
        matcher=matcher,
        recent=recent,
        walks=Walks(guild_walks=config.search.guild_walks, clock=clock),
        now=now,
        state=state,
        mirror=reads.mirror,
        posts=Posts(clock=clock),
    )
