"""Keep no more in the mirror than `mirror.keep_messages` and `mirror.keep_days` say, and what live pins need.

The bounds hold for each channel and each thread, and may differ by guild and channel. What goes is read from
Discord again when somebody asks that far back, and goes again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import recall

from .config import Config
from .mirror import Mirror, Place
from .mirror.statements import snowflake_at
from .mirror.upkeep import TRIM_ROWS, keep_from, markers_of, old_rows, stored_places, trim
from .queries import BOARD_MARKER_SCAN, needed_by_boards
from .sections import DAY_SECONDS

DeskAddress: TypeAlias = Callable[[int], recall.AddressReader | None]


class Retention:
    """Trim a mirror. `now` gives seconds since 1970; `address_of` takes the id of a desk and reads links in markers."""

    def __init__(
        self, mirror: Mirror, config: Config, *, now: Callable[[], float], address_of: DeskAddress = lambda _: None
    ) -> None:
        self._mirror = mirror
        self._config = config
        self._now = now
        self._address_of = address_of

    async def sweep(self) -> int:
        """Trim every place that holds more than it should; returns how many rows went. Raises `MirrorDown`."""
        desks: dict[int, list[Place]] = {}
        for place in await stored_places(self._mirror):
            desks.setdefault(place.desk_id, []).append(place)
        gone = 0
        for desk_id, places in desks.items():
            gone += await self._sweep_desk(desk_id, places)
        if gone:
            await self._mirror.database.checkpoint()
        return gone

    async def _sweep_desk(self, desk_id: int, places: list[Place]) -> int:
        """Trim the places of one desk, which share its board."""
        bounds = {place.id: await self._keep_from(place) for place in places}
        full = [place for place in places if await old_rows(self._mirror, place, bounds[place.id])]
        if not full:
            return 0
        markers = await markers_of(self._mirror, desk_id, limit=BOARD_MARKER_SCAN)
        needed = needed_by_boards(
            [row for _, row in markers],
            {row.sequence for place_id, row in markers if row.sequence < bounds.get(place_id, 0)},
            threads=bounds.keys() - {desk_id},
            address=self._address_of(desk_id),
            narrowed=any(self._narrows(place) for place in places),
        )
        gone = 0
        for place in full:
            went = TRIM_ROWS
            while went == TRIM_ROWS:
                went = await trim(self._mirror, place, keep_from=bounds[place.id], spare=needed)
                gone += went
        return gone

    def _narrows(self, place: Place) -> bool:
        where = dict.fromkeys((place.id, place.desk_id))
        pins = self._config.settings(guild_id=place.guild_id, channel_ids=where).pins
        return pins.unpin != "anyone" or pins.per_author > 0

    async def _keep_from(self, place: Place) -> int:
        where = dict.fromkeys((place.id, place.desk_id))
        bounds = self._config.settings(guild_id=place.guild_id, channel_ids=where).mirror
        oldest = snowflake_at(self._now() - bounds.keep_days * DAY_SECONDS) if bounds.keep_days else None
        return await keep_from(self._mirror, place, messages=bounds.keep_messages or None, oldest=oldest)
