"""The mirror: which rows are known, how surely, and how they come and go.

Reading: `page` answers from inside a span of the current epoch, or says that it cannot. Writing: a page read
from Discord replaces what stood in its stretch (`write_page`), and what the gateway tells is noted at once and
written in batches (`note`, `flush`); every read flushes first, so an answer never misses what was noted.

A page takes time to come. What the gateway tells meanwhile is newer than the page, so whoever asks Discord
takes a `Ticket` before: events of the place are kept on it and win over the page they raced with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiosqlite

import recall

from . import statements
from .claims import Claims, Place
from .database import Database, MirrorDown
from .events import (
    TOMBSTONE_SECONDS,
    Created,
    Deleted,
    Edited,
    Event,
    Tombstones,
    Unlisted,
    Withheld,
    event_id,
    outcome,
)
from .spans import LIVE, Span, below
from .tickets import Ticket, Tickets

log = logging.getLogger(__name__)

PENDING_EVENTS: Final = 5_000  # noted and not yet written; past it claims end rather than memory


class MirrorPage(NamedTuple):
    """Hold rows newest first, and where the span they come from ends (0: the beginning of history).

    When fewer rows came than were asked for, everything down to `low` is here.
    """

    rows: tuple[recall.LogMessage, ...]
    low: int


class Mirror:
    """Hold rows of many places in one SQLite file.

    `clock` counts seconds and never goes back; `now` gives seconds since 1970; `shard_of` and `hears` are those of
    `Claims`. What may meet a failing file raises `MirrorDown`, and says so; Discord has the log.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
        shard_of: Callable[[int], int] = lambda _: 0,
        hears: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self.database = Database(path, clock=clock)
        self.claims = Claims(shard_of=shard_of, hears=hears)
        self._now = now
        self._generation = self._data_version = 0
        self._pending: list[Event] = []
        self._tombstones = Tombstones(clock=clock)
        self._tickets = Tickets()
        self._flushing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Write what is noted, end the epochs, and close the file; idempotent."""
        if self._flushing is not None:
            await asyncio.gather(self._flushing, return_exceptions=True)
        try:
            async with self.use() as connection:
                for epoch in self.claims.epochs:
                    await statements.end_epoch(connection, epoch, self._now())
            await self.database.checkpoint()
        except MirrorDown:
            log.info("the mirror was not in use when it was closed")
        await self.database.close()

    async def new_epoch(self, shard: int = 0) -> None:
        """Begin the epoch of a gateway session that did not resume: nothing older is verified from here on."""
        self.claims.connected(shard)
        await self._flush_quietly()

    def note(self, event: Event) -> None:
        """Take what the gateway told; it is written soon, and before anything is read."""
        if isinstance(event, Deleted):
            self._tombstones.bury(event.id)
        self._tickets.note(event)
        if isinstance(event, Created) and event.place_id not in self.claims.places:
            return  # an edit or a deletion may still concern what another process has stored
        self._pending.append(event)
        if len(self._pending) > PENDING_EVENTS:
            log.warning("more than %d events wait to be written; what is mirrored is verified anew", PENDING_EVENTS)
            self._lose_sight()
        elif self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_quietly(), name="recall-mirror-flush")

    def mistrust(self, suspect: Callable[[Place], bool]) -> None:
        """End what is claimed of some places, and of pages of them on their way: something was not told."""
        for place in self.claims.places.values():
            if suspect(place):
                self.claims.cut(place.id, Span(0, LIVE))
        self._tickets.void(suspect)

    def ticket(self, place: Place) -> Ticket:
        """Begin to keep events for a page that is about to be asked for; give it back by `settle`."""
        ticket = Ticket(place, self.claims.epoch(place), self._generation)
        self._tickets.add(ticket)
        return ticket

    def settle(self, ticket: Ticket) -> None:
        """Stop keeping events for a page; idempotent."""
        self._tickets.remove(ticket)

    async def page(self, place: Place, before: int | None, limit: int) -> MirrorPage | None:
        """Return verified rows older than `before`, or nothing where the place is not known there.

        Raises `MirrorDown`.
        """
        async with self.use() as connection:
            span = self.claims.verified(place, before)
            if span is None:
                return None
            edge = LIVE if before is None else before
            condition = "place = ? AND id >= ? AND id < ?"
            rows = await statements.select_rows(connection, condition, (place.id, span.low, edge), limit)
        return MirrorPage(rows, span.low)

    async def write_page(
        self, ticket: Ticket, rows: Iterable[recall.LogMessage], *, low: int, high: int, withheld: Iterable[int] = ()
    ) -> bool:
        """Take a page that holds every row with `low <= id < high`; `LIVE` for the newest page.

        What stood there is replaced, except by what the gateway told since the ticket was taken. Ids that are
        `withheld` are there and not among the rows. False: the gateway session changed meanwhile and nothing
        was written. Raises `MirrorDown`.
        """
        place, span = ticket.place, Span(low, high)
        read: list[Event] = [Created(place.id, row) for row in rows]
        read += [Withheld(place.id, id_) for id_ in withheld]
        try:
            async with self.use() as connection:
                now = (self.claims.epoch(place), self._generation)
                if not ticket.epoch or now != (ticket.epoch, ticket.generation):
                    return False
                await statements.put_place(connection, place, self._now())
                await connection.execute("DELETE FROM rows WHERE place = ? AND id >= ? AND id < ?", (place.id, *span))
                await statements.cut_older_spans(connection, place.id, ticket.epoch, span)
                self.claims.add(place, span)
                await self._write(connection, [*read, *ticket.events])
                await statements.save_spans(connection, place.id, ticket.epoch, self.claims.spans(place.id))
        except BaseException:
            self.claims.cut(place.id, span)  # the rows are taken back, or it is not known whether they are
            raise
        return True

    async def flush(self) -> None:
        """Write everything that was noted; raises `MirrorDown`, and then nothing noted counts as verified."""
        async with self.use():
            return

    @asynccontextmanager
    async def use(self) -> AsyncIterator[aiosqlite.Connection]:
        """Hold the file in one transaction, with everything written that was noted until now.

        Raises `MirrorDown`; what was claimed is given up then. When the block ends otherwise than well (it may be
        cancelled at any await), nothing of it is kept, and what was noted waits again.
        """
        pending: list[Event] = []
        awaited = self.claims.awaited
        try:
            async with self.database.use() as connection:
                await self._catch_up(connection)
                pending, self._pending = self._pending, []
                if pending:
                    await self._write(connection, pending)
                yield connection
        except MirrorDown:
            self._lose_sight(pending)
            raise
        except BaseException:
            self._pending[:0] = pending
            for shard in awaited:
                self.claims.unnumber(shard)
            raise
        if any(isinstance(event, Deleted) for event in pending):
            await self.database.checkpoint()

    async def _flush_quietly(self) -> None:
        """Flush, and leave a failing file to the next question; the database has logged it."""
        try:
            await self.flush()
        except MirrorDown:
            return

    async def _catch_up(self, connection: aiosqlite.Connection) -> None:
        """Learn the places of a file that was just opened, and begin the epochs that are awaited.

        Where another process wrote meanwhile (a backfill, an erase), no more is claimed than the file still holds.
        """
        version = await statements.data_version(connection)
        if self._generation != self.database.generation:
            self._generation = self.database.generation
            self.claims.reopen(await statements.select_places(connection))
        elif self._data_version != version:
            places = await statements.select_places(connection)
            self.claims.confirm(places, await statements.spans_of(connection, self.claims.epochs))
        self._data_version = version
        for shard in self.claims.awaited:
            self.claims.number(shard, await statements.begin_epoch(connection, shard, self._now()))

    async def _write(self, connection: aiosqlite.Connection, events: Iterable[Event]) -> None:
        """Bring the tables to what events lead to; rows are stored only inside spans of the current epoch."""
        by_place: dict[int, list[Event]] = {}
        for event in outcome(events).values():
            by_place.setdefault(event.place_id, []).append(event)
        for place_id, mine in by_place.items():
            place = self.claims.places.get(place_id)
            spans = self.claims.spans(place_id)
            told = [
                event.row
                for event in mine
                if isinstance(event, Created | Edited) and not self._tombstones.buried(event.row.sequence)
            ]
            known = [row for row in told if below(spans, row.sequence + 1)]
            known_ids = {row.sequence for row in known}
            holes = [event.id for event in mine if isinstance(event, Withheld)]
            gone = [event.id for event in mine if isinstance(event, Deleted | Unlisted)]
            heard = [event_id(event) for event in mine if not isinstance(event, Created)]
            epoch = self.claims.stored_epoch(place) if place is not None else 0
            await statements.put_rows(connection, place_id, known, epoch, self.database.webhooks)
            await statements.amend_rows(connection, place_id, [row for row in told if row.sequence not in known_ids])
            await statements.remove_rows(connection, place_id, [*holes, *gone])
            if heard:
                await statements.touch(connection, heard, self._now(), keep_seconds=TOMBSTONE_SECONDS)
            if holes:
                self.claims.cut(place_id, *(Span(hole, hole + 1) for hole in holes))
                await statements.save_spans(connection, place_id, epoch, self.claims.spans(place_id))

    def _lose_sight(self, noted: Iterable[Event] = ()) -> None:
        """Give up what was noted, and every claim that it belonged to; what was deleted is deleted all the same."""
        owed: list[Event] = [event for event in (*noted, *self._pending) if isinstance(event, Deleted)]
        self._pending = owed[-PENDING_EVENTS // 2 :]
        self.claims.end_all()
