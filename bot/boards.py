"""Give a board the marker rows that lie deeper than a walk goes, from the mirror.

They are verified as far down as every place of the desk is: its channel, every thread that could hold a message
there, and the list of threads itself. What lies below that was verified by an earlier gateway session at best,
and is given as it was last seen.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord

from .access import Place
from .errors import Unavailable
from .mirror import LIVE, Mirror, MirrorDown, Sought, find_markers
from .mirror import Place as MirrorPlace
from .pages import Reads
from .queries import MarkerRows
from .rows import named_in
from .single_rows import channel_of_root
from .threads import ThreadList


class DeskMarkers:
    """Know the marker rows of one desk. `threads`: its public threads; None for a thread, which has none."""

    def __init__(self, reads: Reads, mirror: Mirror, place: Place, threads: ThreadList | None, *, desk_id: int) -> None:
        self._reads = reads
        self._mirror = mirror
        self._place = place
        self._threads = threads
        self._desk_id = desk_id

    async def below(self, before: int, limit: int) -> MarkerRows:
        """Return the newest `limit` marker rows older than `before`; nothing where that cannot be known."""
        try:
            found = await find_markers(self._mirror, self._seek, before=before, limit=limit)
            self._reads.check_current(self._place.guild)
        except (MirrorDown, Unavailable):
            return MarkerRows((), before)
        sure, seen = (named_in(self._place.guild, rows) for rows in (found.sure, found.seen))
        return MarkerRows(sure, found.low, seen, found.as_of)

    def _seek(self) -> Sought:
        places = list(self._places())
        root_in = channel_of_root(self._place)
        root = None if root_in is None else (self._mirrored(root_in.id, desk_id=root_in.id), self._place.id)
        return Sought(places, self._verified_down_to(), self._known() or places, root)

    def _places(self) -> Iterable[MirrorPlace]:
        if not isinstance(self._place, discord.ForumChannel):
            yield self._mirrored(self._place.id)
        for thread, _ in self._threads.reaches() if self._threads is not None else ():
            yield self._mirrored(thread.id)

    def _known(self) -> list[MirrorPlace]:
        """Return the places of which rows were stored, also threads that are not known any more; none for a thread."""
        if self._threads is None:
            return []
        return [place for place in self._mirror.claims.places.values() if place.desk_id == self._desk_id]

    def _verified_down_to(self) -> int:
        """Return the lowest id from which everything in the desk is verified, up to now; `LIVE` for nothing.

        A thread that is not verified leaves sure what is newer than anything in it.
        """
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
        span = self._mirror.claims.verified(self._mirrored(place_id), None)
        return LIVE if span is None else span.low

    def _mirrored(self, place_id: int, *, desk_id: int | None = None) -> MirrorPlace:
        return MirrorPlace(place_id, self._place.guild.id, desk_id or self._desk_id)
