"""The statements that read and write the mirror's tables, each inside a transaction of its caller.

What is selected is fetched in the same breath (`execute_fetchall`): a cursor left open by a caller that was
cancelled would keep the transactions of all others from ending.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

import aiosqlite
import msgspec

import recall

from .claims import Place
from .spans import LIVE, Span, cut

DISCORD_EPOCH_MS = 1_420_070_400_000  # 2015-01-01, where snowflakes begin

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(recall.LogMessage)


def seconds_of(snowflake: int) -> int:
    """Return when an id was made, in seconds since 1970."""
    return ((snowflake >> 22) + DISCORD_EPOCH_MS) // 1000


def snowflake_at(seconds: float) -> int:
    """Return the lowest id that can be made at a time, given in seconds since 1970."""
    return max(0, int(seconds * 1000) - DISCORD_EPOCH_MS) << 22


async def select_rows(
    connection: aiosqlite.Connection, condition: str, values: Sequence[object], limit: int
) -> tuple[recall.LogMessage, ...]:
    """Return the rows that meet a condition, newest first. `condition` is written by us, `values` is data."""
    statement = f"SELECT row FROM rows WHERE {condition} ORDER BY id DESC LIMIT ?"  # noqa: S608 - see above
    found = await connection.execute_fetchall(statement, (*values, limit))
    return tuple(decode_row(blob) for (blob,) in found)


def decode_row(blob: bytes) -> recall.LogMessage:
    """Return a stored row; raises `sqlite3.DatabaseError` for a damaged one, as SQLite does for a damaged file."""
    try:
        return _DECODER.decode(blob)
    except msgspec.DecodeError as error:
        raise sqlite3.DatabaseError("a row is damaged") from error


class StampedRow(NamedTuple):
    """Hold a row and the epoch that verified it last."""

    row: recall.LogMessage
    epoch: int


async def select_markers(
    connection: aiosqlite.Connection, place_ids: Sequence[int], low: int, high: int, limit: int
) -> list[StampedRow]:
    """Return the newest `limit` rows of places that hold a `!`, with `low <= id < high`, newest first."""
    marks = ", ".join("?" * len(place_ids))
    statement = f"""
        SELECT row, epoch FROM rows WHERE marker AND place IN ({marks}) AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?
    """  # noqa: S608 - placeholders only
    found = await connection.execute_fetchall(statement, (*place_ids, low, high, limit))
    return [StampedRow(decode_row(blob), epoch) for blob, epoch in found]


async def select_markers_of(
    connection: aiosqlite.Connection, desk_id: int, limit: int
) -> list[tuple[int, recall.LogMessage]]:
    """Return the newest `limit` rows of a desk that hold a `!`, each with the id of its place, newest first."""
    statement = """
        SELECT place, row FROM rows WHERE marker AND place IN (SELECT id FROM places WHERE desk_id = ?)
        ORDER BY id DESC LIMIT ?
    """
    found = await connection.execute_fetchall(statement, (desk_id, limit))
    return [(int(place_id), decode_row(blob)) for place_id, blob in found]


async def sure_until(connection: aiosqlite.Connection, epochs: Collection[int]) -> int | None:
    """Return the instant, in seconds since 1970, until which all of these epochs were sure; None for no epochs.

    Of one that lasts, that is when it began: what it has verified may have been given up again.
    """
    marks = ", ".join("?" * len(epochs))
    statement = f"SELECT MIN(COALESCE(closed_at, opened_at)) FROM epochs WHERE epoch IN ({marks})"  # noqa: S608 - marks
    ((instant,),) = await connection.execute_fetchall(statement, tuple(epochs))
    return None if instant is None else int(instant)


async def select_places(connection: aiosqlite.Connection) -> list[Place]:
    """Return every place that is mirrored."""
    statement = "SELECT id, guild_id, desk_id, name, desk_name FROM places"
    return [Place(*found) for found in await connection.execute_fetchall(statement)]


async def data_version(connection: aiosqlite.Connection) -> int:
    """Return a number that is another one when somebody else has changed the file."""
    ((number,),) = await connection.execute_fetchall("PRAGMA data_version")
    return int(number)


async def put_place(connection: aiosqlite.Connection, place: Place, now: float) -> None:
    """Store that a place is mirrored, since now unless it was before, under the name that is known now."""
    await connection.execute(
        """
        INSERT INTO places(id, guild_id, desk_id, name, desk_name, asked_at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT(id) DO UPDATE SET name = excluded.name, desk_name = excluded.desk_name
        WHERE excluded.name <> '' AND (name, desk_name) <> (excluded.name, excluded.desk_name)
        """,
        (*place, int(now)),
    )


async def put_rows(
    connection: aiosqlite.Connection,
    place_id: int,
    rows: Collection[recall.LogMessage],
    epoch: int,
    webhooks: Set[str] = frozenset(),
) -> None:
    """Store rows of a place, in place of what stood there, and which of their authors are among `webhooks`."""
    await connection.executemany(
        "INSERT OR REPLACE INTO rows(place, id, author_id, epoch, marker, row) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (place_id, row.sequence, recall.author_id(row.author), epoch, "!" in row.content, _ENCODER.encode(row))
            for row in rows
        ],
    )
    met = {recall.author_id(row.author) for row in rows} & webhooks
    await connection.executemany("INSERT OR IGNORE INTO webhooks(id) VALUES (?)", [(author_id,) for author_id in met])


async def forget_webhooks(connection: aiosqlite.Connection) -> None:
    """Forget the webhooks of which no row is stored."""
    await connection.execute(
        "DELETE FROM webhooks WHERE NOT EXISTS (SELECT 1 FROM rows WHERE rows.author_id = webhooks.id)"
    )


async def amend_rows(connection: aiosqlite.Connection, place_id: int, rows: Iterable[recall.LogMessage]) -> None:
    """Bring rows up to date where they stand, and store none that do not."""
    await connection.executemany(
        "UPDATE rows SET marker = ?, row = ? WHERE place = ? AND id = ?",
        [("!" in row.content, _ENCODER.encode(row), place_id, row.sequence) for row in rows],
    )


async def remove_rows(connection: aiosqlite.Connection, place_id: int, ids: Iterable[int]) -> None:
    """Remove rows of a place; those that are not there are no fault."""
    await connection.executemany("DELETE FROM rows WHERE place = ? AND id = ?", [(place_id, id_) for id_ in ids])


async def touch(connection: aiosqlite.Connection, ids: Iterable[int], now: float, *, keep_seconds: float) -> None:
    """Store that the gateway told of messages that were there, for a process that may have read them just before."""
    await connection.executemany(
        "INSERT OR REPLACE INTO touched(id, at) VALUES (?, ?)", [(id_, int(now)) for id_ in ids]
    )
    await connection.execute("DELETE FROM touched WHERE at < ?", (int(now - keep_seconds),))


async def touched_since(connection: aiosqlite.Connection, low: int, high: int, since: float) -> set[int]:
    """Return which messages of a stretch the gateway told of since a time, in whatever place."""
    statement = "SELECT id FROM touched WHERE id >= ? AND id < ? AND at >= ?"
    return {int(id_) for (id_,) in await connection.execute_fetchall(statement, (low, high, int(since)))}


async def spans_of(connection: aiosqlite.Connection, epochs: Sequence[int]) -> dict[int, list[Span]]:
    """Return what the file holds of these epochs, by place."""
    marks = ", ".join("?" * len(epochs))
    statement = f"SELECT place, low, high FROM spans WHERE epoch IN ({marks}) ORDER BY place, low"  # noqa: S608 - marks
    found: dict[int, list[Span]] = {}
    for place_id, low, high in await connection.execute_fetchall(statement, epochs):
        found.setdefault(place_id, []).append(Span(low, high))
    return found


async def save_spans(connection: aiosqlite.Connection, place_id: int, epoch: int, spans: Iterable[Span]) -> None:
    """Store the spans of a place in an epoch, in place of those that stood there."""
    await connection.execute("DELETE FROM spans WHERE place = ? AND epoch = ?", (place_id, epoch))
    await connection.executemany(
        "INSERT INTO spans(place, epoch, low, high) VALUES (?, ?, ?, ?)",
        [(place_id, epoch, span.low, span.high) for span in spans],
    )


async def spans_in(connection: aiosqlite.Connection, place_id: int, epoch: int) -> list[Span]:
    """Return the spans of a place in one epoch."""
    statement = "SELECT low, high FROM spans WHERE place = ? AND epoch = ? ORDER BY low"
    return [Span(*found) for found in await connection.execute_fetchall(statement, (place_id, epoch))]


async def older_spans(connection: aiosqlite.Connection, place_id: int, epoch: int) -> dict[int, list[Span]]:
    """Return the spans of a place that other epochs left, by epoch."""
    found: dict[int, list[Span]] = {}
    statement = "SELECT epoch, low, high FROM spans WHERE place = ? AND epoch <> ? ORDER BY epoch, low"
    for older, low, high in await connection.execute_fetchall(statement, (place_id, epoch)):
        found.setdefault(older, []).append(Span(low, high))
    return found


async def cut_older_spans(connection: aiosqlite.Connection, place_id: int, epoch: int, hole: Span) -> None:
    """Take a stretch away from what other epochs left of a place."""
    for older, spans in (await older_spans(connection, place_id, epoch)).items():
        left = cut(spans, hole)
        if left != spans:
            await save_spans(connection, place_id, older, left)


async def begin_epoch(connection: aiosqlite.Connection, shard: int, now: float) -> int:
    """End the open epochs of a shard and begin another; returns its number.

    An epoch that nobody ended (the process died) ends with the newest row that it stored, or as it began.
    """
    statement = """
        SELECT epoch, opened_at, (SELECT MAX(id) FROM rows WHERE rows.epoch = epochs.epoch)
        FROM epochs WHERE shard = ? AND closed_at IS NULL
    """
    found = await connection.execute_fetchall(statement, (shard,))
    left_open = [(epoch, seconds_of(newest) if newest else opened) for epoch, opened, newest in found]
    for epoch, ended in left_open:
        await end_epoch(connection, epoch, ended)
    await connection.execute("INSERT INTO epochs(shard, opened_at) VALUES (?, ?)", (shard, int(now)))
    ((number,),) = await connection.execute_fetchall("SELECT last_insert_rowid()")
    return int(number)


async def end_epoch(connection: aiosqlite.Connection, epoch: int, ended: float) -> None:
    """Say when an epoch ended, in seconds since 1970; its live spans end there too."""
    await connection.execute("UPDATE epochs SET closed_at = ? WHERE epoch = ?", (int(ended), epoch))
    await connection.execute(
        "UPDATE spans SET high = MAX(low, ?) WHERE epoch = ? AND high = ?", (snowflake_at(ended + 1), epoch, LIVE)
    )
