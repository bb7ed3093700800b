"""Fill a mirror from outside the bot, also while the bot has it open.

A backfill is an epoch of its own, of a shard that no gateway has. What it stores is *as last seen*: the bot
claims nothing of it, and shows it as such until it has read it again itself.

Two writers of one file must not undo each other. A page takes time to come, and what the gateway told the bot
meanwhile is newer; so the bot leaves the ids that it was told of in the file (`touched`), and those are left as
they stand there. The spans of an open epoch, which the bot keeps true, stay the bot's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import aiosqlite

import recall

from . import statements
from .claims import Place
from .database import Database
from .spans import LIVE, Span, cut, gaps, join

BACKFILL_SHARD: Final = -1
LEAST_GAP: Final = 2  # a gap of one id is a message that is not to be stored, or was erased: not worth a request


class Filling:
    """Write pages into a mirror. `now` gives seconds since 1970. Everything here raises `MirrorDown`."""

    def __init__(self, database: Database, *, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._epoch = 0
        self._begun = 0.0
        self._generation = 0

    async def missing(self, place: Place, within: Span) -> list[Span]:
        """Return the stretches of a place that no earlier reading has left whole, newest first.

        What the bot keeps up to date counts as known up to its newest row: whether the bot lives is not known here.
        """
        async with self._database.use() as connection:
            newest = await connection.execute_fetchall("SELECT MAX(id) FROM rows WHERE place = ?", (place.id,))
            ((top,),) = newest
            statement = "SELECT low, high FROM spans WHERE place = ?"
            found = await connection.execute_fetchall(statement, (place.id,))
        known = [Span(low, max(low, (top or 0) + 1) if high == LIVE else high) for low, high in found]
        return gaps(known, within, least=LEAST_GAP)[::-1]

    async def write(
        self,
        place: Place,
        rows: Iterable[recall.LogMessage],
        span: Span,
        *,
        asked_at: float,
        withheld: Iterable[int] = (),
    ) -> None:
        """Take a page that was asked for at `asked_at` and holds every row of a stretch, but for those `withheld`.

        What stood there is replaced, except where the gateway told of a message since.
        """
        epoch = await self._current_epoch()
        async with self._database.use() as connection:
            touched = await statements.touched_since(connection, *span, asked_at)
            fresh = [row for row in rows if row.sequence not in touched]
            stretch = (place.id, *span)
            held = await connection.execute_fetchall(
                "SELECT id FROM rows WHERE place = ? AND id >= ? AND id < ?", stretch
            )
            stale = {int(id_) for (id_,) in held} - touched
            await statements.put_place(connection, place, self._now())
            await statements.remove_rows(connection, place.id, stale)
            await statements.put_rows(connection, place.id, fresh, epoch, self._database.webhooks)
            kept = await self._kept(connection)
            for older, spans in (await statements.older_spans(connection, place.id, epoch)).items():
                if older not in kept:
                    await statements.save_spans(connection, place.id, older, cut(spans, span))
            holes = [Span(id_, id_ + 1) for id_ in (*withheld, *touched)]
            mine = await statements.spans_in(connection, place.id, epoch)
            await statements.save_spans(connection, place.id, epoch, join([*mine, *cut([span], *holes)]))

    async def end(self) -> None:
        """End the epoch. What it holds is known as of its beginning: since then, much may have changed behind it."""
        if self._epoch and self._generation == self._database.generation:
            async with self._database.use() as connection:
                await statements.end_epoch(connection, self._epoch, self._begun)

    async def _current_epoch(self) -> int:
        """Return the number of our epoch, which begins with the first page, and again where the file was replaced."""
        if not self._epoch or self._generation != self._database.generation:
            begun = self._now()
            async with self._database.use() as connection:
                number = await statements.begin_epoch(connection, BACKFILL_SHARD, begun)
            self._epoch, self._begun, self._generation = number, begun, self._database.generation
        return self._epoch

    async def _kept(self, connection: aiosqlite.Connection) -> set[int]:
        """Return the epochs that a bot keeps up to date, as far as the file tells."""
        statement = "SELECT epoch FROM epochs WHERE closed_at IS NULL AND shard <> ?"
        return {int(epoch) for (epoch,) in await connection.execute_fetchall(statement, (BACKFILL_SHARD,))}
