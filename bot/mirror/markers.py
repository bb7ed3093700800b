"""Find the rows that hold a `!`, in one look at the file: the sure ones, and older ones as they were last seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import aiosqlite

import recall

from . import statements
from .claims import Place
from .store import Mirror


class Sought(NamedTuple):
    """Say where marker rows are looked for.

    `places` are sure from `low` up, all together; `known` are those in which rows were ever stored. `root`: one
    message of another place that belongs to them too, null where there is none.
    """

    places: Sequence[Place]
    low: int
    known: Sequence[Place]
    root: tuple[Place, int] | None = None


class FoundMarkers(NamedTuple):
    """Hold marker rows, newest first: all that there are down to `low` (0: the beginning), then older ones as seen.

    `as_of`: the earliest instant at which one of the latter was sure, in seconds since 1970.
    """

    sure: tuple[recall.LogMessage, ...]
    low: int
    seen: tuple[recall.LogMessage, ...]
    as_of: int | None


async def find_markers(mirror: Mirror, seek: Callable[[], Sought], *, before: int, limit: int) -> FoundMarkers:
    """Return the newest `limit` marker rows older than `before`.

    `seek` is called when all that was told is written, so that what it calls sure is so in the file.
    Raises `MirrorDown`.
    """
    async with mirror.use() as connection:
        sought = seek()
        low = min(before, sought.low)
        if sought.root is not None:
            place, message_id = sought.root
            if low <= message_id and mirror.claims.verified(place, message_id + 1) is None:
                low = min(before, message_id + 1)
        sure = await _select(connection, sought.places, sought.root, low, before, limit)
        if len(sure) == limit:
            return FoundMarkers(_rows(sure), sure[-1].row.sequence, (), None)
        seen = await _select(connection, sought.known, sought.root, 0, low, limit - len(sure))
        as_of = await statements.sure_until(connection, {stamped.epoch for stamped in seen})
    return FoundMarkers(_rows(sure), low, _rows(seen), as_of)


async def _select(  # noqa: PLR0917 - a stretch of some places
    connection: aiosqlite.Connection,
    places: Sequence[Place],
    root: tuple[Place, int] | None,
    low: int,
    high: int,
    limit: int,
) -> list[statements.StampedRow]:
    """Return the newest `limit` marker rows of a stretch, newest first."""
    found = await statements.select_markers(connection, [place.id for place in places], low, high, limit)
    if root is not None and low <= root[1] < high:
        found += await statements.select_markers(connection, [root[0].id], root[1], root[1] + 1, 1)
        found.sort(key=lambda stamped: -stamped.row.sequence)
    return found[:limit]


def _rows(stamped: Iterable[statements.StampedRow]) -> tuple[recall.LogMessage, ...]:
    return tuple(row for row, _ in stamped)
