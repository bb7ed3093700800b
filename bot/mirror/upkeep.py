"""Take rows out of the mirror again: for whoever asks, for what is gone, and for what is too old to keep.

Whatever is taken out, the claim that its stretch is whole goes with it, so the rows are read from Discord again
when somebody asks. What was erased is overwritten in the file (`secure_delete`), and its journal is emptied.
Every function raises `MirrorDown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import aiosqlite

import recall

from . import statements
from .claims import Place
from .spans import Span, cut
from .store import Mirror


class Stored(NamedTuple):
    """Say how many rows of a place are stored, the oldest of them, and since when (seconds since 1970)."""

    place: Place
    rows: int
    oldest: int | None
    since: int


class SeenRows(NamedTuple):
    """Hold rows as they were last seen, newest first; `as_of` is when that was, the earliest of it."""

    rows: tuple[recall.LogMessage, ...]
    as_of: int | None


async def erase_author(mirror: Mirror, author_id: str) -> int:
    """Erase what an author wrote; returns how many rows that was."""
    async with mirror.use() as connection:
        statement = "SELECT place, id FROM rows WHERE author_id = ?"
        found = list(await connection.execute_fetchall(statement, (author_id,)))
        by_place: dict[int, list[int]] = {}
        for place_id, message_id in found:
            by_place.setdefault(place_id, []).append(message_id)
        for place_id, ids in by_place.items():
            await statements.remove_rows(connection, place_id, ids)
            await _give_up(mirror, connection, place_id, [Span(id_, id_ + 1) for id_ in ids])
    await mirror.database.checkpoint()
    return len(found)


async def drop_place(mirror: Mirror, place_id: int) -> None:
    """Drop a channel with its threads, or a thread: it is gone, or may not be read any more."""
    await _drop(mirror, "id = ? OR desk_id = ?", (place_id, place_id))


async def drop_guild(mirror: Mirror, guild_id: int) -> None:
    """Drop everything of a guild."""
    await _drop(mirror, "guild_id = ?", (guild_id,))


async def trim(mirror: Mirror, place: Place, *, keep_from: int, spare: Iterable[int] = ()) -> int:
    """Remove a place's rows older than `keep_from`, but for those to spare; returns how many went."""
    spared = set(spare)
    async with mirror.use() as connection:
        statement = "SELECT id FROM rows WHERE place = ? AND id < ?"
        old = [int(message_id) for (message_id,) in await connection.execute_fetchall(statement, (place.id, keep_from))]
        gone = [message_id for message_id in old if message_id not in spared]
        await statements.remove_rows(connection, place.id, gone)
        await _give_up(mirror, connection, place.id, [Span(0, keep_from)])
    return len(gone)


async def keep_from(mirror: Mirror, place: Place, *, messages: int | None, oldest: int | None) -> int:
    """Return the lowest id to keep of a place: of its newest `messages`, and nothing older than `oldest`."""
    lowest = oldest or 0
    if messages is None:
        return lowest
    async with mirror.use() as connection:
        statement = "SELECT id FROM rows WHERE place = ? ORDER BY id DESC LIMIT 1 OFFSET ?"
        found = list(await connection.execute_fetchall(statement, (place.id, max(0, messages - 1))))
    return max(lowest, int(found[0][0]) if found else 0)


async def stored(mirror: Mirror, *, desk_id: int | None = None) -> list[Stored]:
    """Return what is stored, of all places or of one desk's."""
    where, values = ("", ()) if desk_id is None else ("WHERE desk_id = ?", (desk_id,))
    statement = f"""
        SELECT id, guild_id, desk_id, asked_at,
            (SELECT COUNT(*) FROM rows WHERE place = places.id), (SELECT MIN(id) FROM rows WHERE place = places.id)
        FROM places {where} ORDER BY id
    """  # noqa: S608 - the condition is one of two written above
    async with mirror.use() as connection:
        found = await connection.execute_fetchall(statement, values)
    return [
        Stored(Place(id_, guild_id, desk_id), rows, oldest, since)
        for id_, guild_id, desk_id, since, rows, oldest in found
    ]


async def seen_markers(mirror: Mirror, places: Iterable[Place], *, before: int, limit: int) -> SeenRows:
    """Return the rows below `before` that hold a `!`, whether or not they were verified since, newest first."""
    ids = [place.id for place in places]
    marks = ", ".join("?" * len(ids))
    condition = f"marker AND place IN ({marks}) AND id < ?"
    statement = f"""
        SELECT MIN(COALESCE(closed_at, opened_at)) FROM epochs
        WHERE epoch IN (SELECT DISTINCT epoch FROM rows WHERE {condition})
    """  # noqa: S608 - placeholders only
    async with mirror.use() as connection:
        rows = await statements.select_rows(connection, condition, (*ids, before), limit)
        ((as_of,),) = await connection.execute_fetchall(statement, (*ids, before))
    return SeenRows(rows, as_of if rows else None)


async def _drop(mirror: Mirror, condition: str, values: tuple[int, ...]) -> None:
    """Drop the places that meet a condition, which is written by us."""
    async with mirror.use() as connection:
        statement = f"SELECT id FROM places WHERE {condition}"  # noqa: S608 - see above
        ids = [int(place_id) for (place_id,) in await connection.execute_fetchall(statement, values)]
        for place_id in ids:
            for table in ("rows", "spans"):
                await connection.execute(f"DELETE FROM {table} WHERE place = ?", (place_id,))  # noqa: S608 - see the line above
            await connection.execute("DELETE FROM places WHERE id = ?", (place_id,))
        mirror.claims.forget(ids)
    await mirror.database.checkpoint()


async def _give_up(mirror: Mirror, connection: aiosqlite.Connection, place_id: int, holes: list[Span]) -> None:
    """Give up stretches of a place, of the current epoch and of every older one."""
    place = mirror.claims.places.get(place_id)
    epoch = 0 if place is None else mirror.claims.stored_epoch(place)
    for hole in holes:
        mirror.claims.cut(place_id, hole)
    await statements.save_spans(connection, place_id, epoch, mirror.claims.spans(place_id))
    for older, spans in (await statements.older_spans(connection, place_id, epoch)).items():
        left = spans
        for hole in holes:
            left = cut(left, hole)
        await statements.save_spans(connection, place_id, older, left)
