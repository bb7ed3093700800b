"""Take rows out of the mirror again: for whoever asks, for what is gone, and for what is too old to keep.

Whatever is taken out, the claim that its stretch is whole goes with it, so the rows are read from Discord again
when somebody asks. What was erased is overwritten in the file (`secure_delete`), and its journal is emptied.
Each place is a transaction of its own, so that whoever asks meanwhile waits for one of them at most.
Every function raises `MirrorDown`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

import aiosqlite

import recall

from . import statements
from .claims import Place
from .spans import Span, cut
from .store import Mirror

TRIM_ROWS: Final = 2_000  # removed in one transaction, which takes some milliseconds


class Erased(NamedTuple):
    """Say how many rows were erased, and from how many channels and threads."""

    rows: int
    places: int


class Stored(NamedTuple):
    """Say how many rows of a place are stored, the oldest of them, and since when (seconds since 1970)."""

    place: Place
    rows: int
    oldest: int | None
    since: int


async def erase_author(mirror: Mirror, author_id: str) -> Erased:
    """Erase what an author wrote."""
    async with mirror.use() as connection:
        statement = "SELECT DISTINCT place FROM rows WHERE author_id = ?"
        places = [int(place_id) for (place_id,) in await connection.execute_fetchall(statement, (author_id,))]
    rows = 0
    for place_id in places:
        async with mirror.use() as connection:
            statement = "SELECT id FROM rows WHERE author_id = ? AND place = ?"
            found = await connection.execute_fetchall(statement, (author_id, place_id))
            ids = [int(message_id) for (message_id,) in found]
            await statements.remove_rows(connection, place_id, ids)
            await _give_up(mirror, connection, place_id, [Span(id_, id_ + 1) for id_ in ids])
        rows += len(ids)
    async with mirror.use() as connection:
        await statements.forget_webhooks(connection)
    await mirror.database.checkpoint()
    return Erased(rows, len(places))


async def drop_place(mirror: Mirror, place_id: int) -> Erased:
    """Drop a channel with its threads, or a thread: it is gone, or may not be read any more."""
    return await _drop(mirror, "id = ? OR desk_id = ?", (place_id, place_id))


async def drop_guild(mirror: Mirror, guild_id: int) -> Erased:
    """Drop everything of a guild."""
    return await _drop(mirror, "guild_id = ?", (guild_id,))


async def drop_all(mirror: Mirror) -> Erased:
    """Drop everything."""
    erased = await _drop(mirror, "TRUE", ())
    async with mirror.use() as connection:
        await connection.execute("DELETE FROM touched")
    return erased


async def trim(
    mirror: Mirror, place: Place, *, keep_from: int, spare: Iterable[int] = (), limit: int = TRIM_ROWS
) -> int:
    """Remove the oldest `limit` of a place's rows below `keep_from`, but for those to spare; returns how many went."""
    async with mirror.use() as connection:
        statement = """
            SELECT id FROM rows WHERE place = ? AND id < ? AND id NOT IN (SELECT value FROM json_each(?))
            ORDER BY id LIMIT ?
        """
        values = (place.id, keep_from, json.dumps(list(spare)), limit)
        gone = [int(message_id) for (message_id,) in await connection.execute_fetchall(statement, values)]
        if gone:
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


async def stored_places(mirror: Mirror) -> list[Place]:
    """Return every place of which something may be stored."""
    async with mirror.use() as connection:
        return await statements.select_places(connection)


async def old_rows(mirror: Mirror, place: Place, keep_from: int) -> bool:
    """Say whether a place has rows below `keep_from`."""
    async with mirror.use() as connection:
        statement = "SELECT EXISTS(SELECT 1 FROM rows WHERE place = ? AND id < ?)"
        ((found,),) = await connection.execute_fetchall(statement, (place.id, keep_from))
    return bool(found)


async def stored(mirror: Mirror, *, desk_id: int | None = None) -> list[Stored]:
    """Return what is stored, of all places or of one desk's."""
    where, values = ("", ()) if desk_id is None else ("WHERE desk_id = ?", (desk_id,))
    statement = f"""
        SELECT id, guild_id, desk_id, name, desk_name, asked_at,
            (SELECT COUNT(*) FROM rows WHERE place = places.id), (SELECT MIN(id) FROM rows WHERE place = places.id)
        FROM places {where} ORDER BY id
    """  # noqa: S608 - the condition is one of two written above
    async with mirror.use() as connection:
        found = await connection.execute_fetchall(statement, values)
    return [Stored(Place(*place), rows, oldest, since) for *place, since, rows, oldest in found]


async def markers_of(mirror: Mirror, desk_id: int, *, limit: int) -> list[tuple[int, recall.LogMessage]]:
    """Return the newest `limit` rows of a desk that hold a `!`, each with the id of its place, newest first."""
    async with mirror.use() as connection:
        return await statements.select_markers_of(connection, desk_id, limit)


async def _drop(mirror: Mirror, condition: str, values: tuple[int, ...]) -> Erased:
    """Drop the places that meet a condition, which is written by us."""
    async with mirror.use() as connection:
        statement = f"SELECT id FROM places WHERE {condition}"  # noqa: S608 - see above
        ids = [int(place_id) for (place_id,) in await connection.execute_fetchall(statement, values)]
    rows = 0
    for place_id in ids:
        async with mirror.use() as connection:
            gone = await connection.execute("DELETE FROM rows WHERE place = ?", (place_id,))
            rows += gone.rowcount
            await connection.execute("DELETE FROM spans WHERE place = ?", (place_id,))
            await connection.execute("DELETE FROM places WHERE id = ?", (place_id,))
            mirror.claims.forget([place_id])
    async with mirror.use() as connection:
        await statements.forget_webhooks(connection)
    await mirror.database.checkpoint()
    return Erased(rows, len(ids))


async def _give_up(mirror: Mirror, connection: aiosqlite.Connection, place_id: int, holes: list[Span]) -> None:
    """Give up stretches of a place, of the current epoch and of every older one."""
    place = mirror.claims.places.get(place_id)
    epoch = 0 if place is None else mirror.claims.stored_epoch(place)
    mirror.claims.cut(place_id, *holes)
    await statements.save_spans(connection, place_id, epoch, mirror.claims.spans(place_id))
    for older, spans in (await statements.older_spans(connection, place_id, epoch)).items():
        await statements.save_spans(connection, place_id, older, cut(spans, *holes))
