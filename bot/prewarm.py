"""Read the channels that the operator named before anybody asks, so that the first question is answered at once.

They are read as a question reads them, down to where one would end, so the mirror knows them in the present
gateway session. Whoever asks something meanwhile goes first: this waits until nobody does, and goes on.
"""

from __future__ import annotations

import logging

import discord

import recall

from .access import Place, is_place, may_read
from .config import Config
from .desks import Desks
from .errors import Unavailable
from .places import place_ids
from .services import Walks

_log = logging.getLogger(__name__)


class Prewarm:
    """Fill the mirror with the channels of `mirror.prewarm`."""

    def __init__(self, client: discord.Client, config: Config, desks: Desks, walks: Walks) -> None:
        self._client = client
        self._config = config
        self._desks = desks
        self._walks = walks

    async def run(self) -> None:
        """Read the channels, one after another; one that cannot be read is logged and passed over."""
        for channel_id in self._config.mirror.prewarm:
            place = self._client.get_channel(channel_id)
            if not is_place(place) or not await may_read(place, place.guild.me):
                _log.warning("prewarm: channel=%d is not there, or I may not read it", channel_id)
                continue
            rows, why = await self._fill(place)
            _log.info("prewarm: channel=%d rows=%d ended=%s", channel_id, rows, why)

    async def _fill(self, place: Place) -> tuple[int, str]:
        """Read as far as the deepest question reads; returns how many rows that was, and why it ended."""
        where = [] if isinstance(place, discord.ForumChannel) else place_ids(place)
        settings = self._config.settings(guild_id=place.guild.id, channel_ids=where or [place.id])
        left = max(settings.search.scan, recall.PIN_SCAN)
        log = self._desks.history(place)
        rows, before = 0, None
        while left > rows:
            await self._walks.quiet()
            try:
                page = await log.read_before(before, min(recall.PAGE_SIZE, left - rows))
            except Unavailable as failure:
                return rows, failure.kind
            except recall.WalkStopped as stop:
                return rows, stop.reason
            except recall.PageError:
                return rows, "broken page"
            rows += len(page.messages)
            before = page.next_before
            if before is None:
                return rows, "beginning"
        return rows, "bound"
