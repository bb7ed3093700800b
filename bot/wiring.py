"""Make what the commands work with, as the configuration says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import discord

import recall

from .config import Config
from .desks import Desks
from .matcher import Matcher
from .recent import Recent
from .services import Services, Walks


class ExpressionsOff:
    """Be the matcher where expressions are switched off: none is searched for."""

    async def search(
        self, _rows: Sequence[recall.LogMessage], _query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        """Raise `recall.RegexUnsupported`."""
        del asker
        raise recall.RegexUnsupported

    async def close(self) -> None:
        """End nothing."""


def make_matcher(config: Config) -> Matcher | ExpressionsOff:
    """Return a matcher, which starts no process before the first expression; its owner closes it."""
    if config.search.expressions == "off":
        return ExpressionsOff()
    return Matcher(allow_unlimited=config.search.expressions == "always")


def make_services(
    client: discord.Client,
    config: Config,
    matcher: Matcher | ExpressionsOff,
    *,
    clock: Callable[[], float],
    now: Callable[[], datetime],
) -> Services:
    """Return what the commands work with; `clock` counts seconds and never goes back, `now` tells the time."""
    recent = Recent()
    return Services(
        config=config,
        desks=Desks(client, config, recent, clock=clock),
        matcher=matcher,
        recent=recent,
        walks=Walks(guild_walks=config.search.guild_walks, clock=clock),
        now=now,
    )
