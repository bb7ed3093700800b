"""Give a board the marker rows that lie deeper than a walk goes, from the mirror.

They are verified as far down as every place of the desk is: its channel, every thread that could hold a message
there, and the list of threads itself. What lies below that was verified by an earlier gateway session at best,
and is given as it was last seen.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord

from .access import Place
from .mirror import LIVE, Mirror, MirrorDown
from .mirror import Place as MirrorPlace
from .mirror.upkeep import SeenRows, seen_markers
from .queries import MarkerRows
from .threads import ThreadList


class DeskMarkers:
    """Know the marker rows of one desk. `threads`: its public threads; None for a thread, which has none."""

    def __init__(self, mirror: Mirror, place: Place, threads: ThreadList | None, *, desk_id: int) -> None:
        self._mirror = mirror
        self._place = place
        self._threads = threads
        self._desk_id = desk_id

    async def below(self, before: int, limit: int) -> MarkerRows:
        """Return the newest `limit` marker rows older than `before`; nothing where the mirror fails."""
        places = list(self._places())
        low = min(before, self._verified_down_to())
        try:
            verified = (await self._mirror.markers(places, low=low, before=before, limit=limit)).rows
            if len(verified) == limit:
                return MarkerRows(verified, verified[-1].sequence)
            known = self._known()
            seen = SeenRows((), None)
            if low > 0 and known:
                seen = await seen_markers(self._mirror, known, before=low, limit=limit - len(verified))
        except MirrorDown:
            return MarkerRows((), before)
        return MarkerRows(verified, low, seen.rows, seen.as_of)

    def _places(self) -> Iterable[MirrorPlace]:
        guild_id = self._place.guild.id
        if not isinstance(self._place, discord.ForumChannel):
            yield MirrorPlace(self._place.id, guild_id, self._desk_id)
        for thread, _ in self._threads.reaches() if self._threads is not None else ():
            yield MirrorPlace(thread.id, guild_id, self._desk_id)

    def _known(self) -> list[MirrorPlace]:
        """Return the places of which rows were stored: of a desk also threads that are not known any more."""
        if self._threads is None:
            return list(self._places())
        return [place for place in self._mirror.claims.places.values() if place.desk_id == self._desk_id]

    def _verified_down_to(self) -> int:
        """Return the lowest id from which everything in the desk is verified, up to now; `LIVE` for nothing."""
        low = 0
        if not isinstance(self._place, discord.ForumChannel):
            low = self._low(self._place.id)
        if self._threads is not None:
            low = max(low, self._threads.complete_above)
            for thread, bound in self._threads.reaches():
                lowest = self._low(thread.id)
                low = max(low, bound if lowest == LIVE else lowest if lowest > thread.id else 0)
        return low

    def _low(self, place_id: int) -> int:
        span = self._mirror.claims.verified(MirrorPlace(place_id, self._place.guild.id, self._desk_id), None)
        return LIVE if span is None else span.low
