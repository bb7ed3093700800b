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
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiosqlite

import recall

from . import statements
from .database import Database, MirrorDown
from .events import Created, Deleted, Edited, Event, Withheld, outcome
from .spans import LIVE, Span, below, cut, join

log = logging.getLogger(__name__)

PENDING_EVENTS = 5_000  # noted and not yet written; past it the live spans end rather than memory
TOMBSTONE_SECONDS = 900.0  # how long after a deletion a late create could still come; a guess, on the safe side


class Place(NamedTuple):
    """Name one channel or thread with a history of its own, and the desk that it belongs to."""

    id: int
    guild_id: int
    desk_id: int


class MirrorPage(NamedTuple):
    """Hold rows newest first, and where the span they come from ends (0: the beginning of history).

    When fewer rows came than were asked for, everything down to `low` is here.
    """

    rows: tuple[recall.LogMessage, ...]
    low: int


class Ticket:
    """Keep what the gateway tells of a place while a page of it is on its way."""

    def __init__(self, place: Place, epoch: int, generation: int) -> None:
        self.place = place
        self.epoch = epoch
        self.generation = generation
        self.events: list[Event] = []


class Mirror:
    """Hold rows of many places in one SQLite file.

    `clock` counts seconds and never goes back; `now` gives seconds since 1970; `shard_of` says which gateway
    session tells of a guild. What may meet a failing file raises `MirrorDown`, and says so; Discord has the log.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
        shard_of: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self.database = Database(path, clock=clock)
        self._clock = clock
        self._now = now
        self._shard_of = shard_of
        self._generation = 0
        self._shards: set[int] = set()
        self._silent: set[int] = set()
        self._epochs: dict[int, int] = {}
        self._spans: dict[int, list[Span]] = {}
        self._places: dict[int, Place] = {}
        self._pending: list[Event] = []
        self._tombstones: dict[int, float] = {}
        self._tickets: dict[int, set[Ticket]] = {}
        self._flushing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Write what is noted, end the epochs, and close the file; idempotent."""
        if self._flushing is not None:
            await asyncio.gather(self._flushing, return_exceptions=True)
        try:
            await self.flush()
            async with self.database.use() as connection:
                for epoch in self._epochs.values():
                    await statements.end_epoch(connection, epoch, self._now())
            await self.database.checkpoint()
        except MirrorDown:
            log.info("the mirror was not in use when it was closed")
        await self.database.close()

    async def new_epoch(self, shard: int = 0) -> None:
        """Begin the epoch of a gateway session that did not resume: nothing older is verified from here on."""
        self._shards.add(shard)
        self._silent.discard(shard)
        self._end_epoch(shard)
        await self._flush_quietly()

    def suspend(self, shard: int = 0) -> None:
        """Serve nothing of a shard: its gateway is silent, and what it would have told is not known."""
        self._silent.add(shard)

    def resume(self, shard: int = 0) -> None:
        """Serve a shard again: its session was resumed, and told what was missed."""
        self._silent.discard(shard)

    def note(self, event: Event) -> None:
        """Take what the gateway told; it is written soon, and before anything is read."""
        if isinstance(event, Deleted):
            self._bury(event.id)
        for ticket in self._tickets.get(event.place_id, ()):
            ticket.events.append(event)
        if event.place_id not in self._places:
            return
        self._pending.append(event)
        if len(self._pending) > PENDING_EVENTS:
            log.warning("more than %d events wait to be written; what is mirrored is verified anew", PENDING_EVENTS)
            self._lose_sight()
        elif self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_quietly(), name="recall-mirror-flush")

    def ticket(self, place: Place) -> Ticket:
        """Begin to keep events for a page that is about to be asked for; give it back by `settle`."""
        ticket = Ticket(place, self._epoch_of(place), self._generation)
        self._tickets.setdefault(place.id, set()).add(ticket)
        return ticket

    def settle(self, ticket: Ticket) -> None:
        """Stop keeping events for a page; idempotent."""
        waiting = self._tickets.get(ticket.place.id, set())
        waiting.discard(ticket)
        if not waiting:
            self._tickets.pop(ticket.place.id, None)

    def verified(self, place: Place, before: int | None = None) -> Span | None:
        """Return the span of the current epoch just below `before` (null: up to now), if there is one."""
        if not self._epoch_of(place) or self._generation != self.database.generation:
            return None
        return below(self._spans.get(place.id, ()), before)

    async def page(self, place: Place, before: int | None, limit: int) -> MirrorPage | None:
        """Return verified rows older than `before`, or nothing where the place is not known there.

        Raises `MirrorDown`.
        """
        await self.flush()
        async with self.database.use() as connection:
            span = self.verified(place, before)
            if span is None:
                return None
            edge = LIVE if before is None else before
            rows = await statements.select_rows(
                connection, "place = ? AND id >= ? AND id < ?", (place.id, span.low, edge), limit
            )
        return MirrorPage(rows, span.low)

    async def markers(self, places: Sequence[Place], *, low: int, before: int | None, limit: int) -> MirrorPage:
        """Return the rows of several places that hold a `!`, newest first, down to `low`; raises `MirrorDown`.

        Verified only where each place is: ask `verified` for each, and give the highest `low` of them.
        """
        await self.flush()
        edge = LIVE if before is None else before
        condition = f"marker AND place IN ({', '.join('?' * len(places))}) AND id >= ? AND id < ?"
        async with self.database.use() as connection:
            values = (*(place.id for place in places), low, edge)
            return MirrorPage(await statements.select_rows(connection, condition, values, limit), low)

    async def row(self, place: Place, message_id: int) -> recall.LogMessage | None:
        """Return one verified row; nothing means neither that it is there nor that it is gone.

        Raises `MirrorDown`.
        """
        found = await self.page(place, message_id + 1, 1)
        return found.rows[0] if found and found.rows and found.rows[0].sequence == message_id else None

    async def write_page(
        self, ticket: Ticket, rows: Iterable[recall.LogMessage], *, low: int, high: int, withheld: Iterable[int] = ()
    ) -> bool:
        """Take a page that holds every row with `low <= id < high`; `LIVE` for the newest page.

        What stood there is replaced, except by what the gateway told since the ticket was taken. Ids that are
        `withheld` are there and not among the rows. False: the gateway session changed meanwhile and nothing
        was written. Raises `MirrorDown`.
        """
        place = ticket.place
        await self.flush()
        async with self._use() as connection:
            now = (self._epoch_of(place), self._generation)
            if (
                not ticket.epoch
                or now != (ticket.epoch, ticket.generation)
                or ticket.generation != self.database.generation
            ):
                return False
            read: list[Event] = [Created(place.id, row) for row in rows]
            read += [Withheld(place.id, id_) for id_ in withheld]
            span = Span(low, high)
            await connection.execute(
                "INSERT OR IGNORE INTO places(id, guild_id, desk_id, asked_at) VALUES (?, ?, ?, ?)",
                (*place, int(self._now())),
            )
            await connection.execute("DELETE FROM rows WHERE place = ? AND id >= ? AND id < ?", (place.id, low, high))
            await statements.cut_older_spans(connection, place.id, ticket.epoch, span)
            self._places[place.id] = place
            self._spans[place.id] = join([*self._spans.get(place.id, ()), span])
            await self._write(connection, [*read, *ticket.events])
            await statements.save_spans(connection, place.id, ticket.epoch, self._spans[place.id])
        return True

    async def flush(self) -> None:
        """Write everything that was noted; raises `MirrorDown`, and then nothing noted counts as verified."""
        caught_up = self._generation == self.database.generation and self._epochs.keys() >= self._shards
        if caught_up and not self._pending:
            return
        async with self._use() as connection:
            await self._catch_up(connection)
            pending, self._pending = self._pending, []
            await self._write(connection, pending)
        if any(isinstance(event, Deleted) for event in pending):
            await self.database.checkpoint()

    @asynccontextmanager
    async def _use(self) -> AsyncIterator[aiosqlite.Connection]:
        """Hold the file for a change; where it fails, what is claimed of it is given up."""
        try:
            async with self.database.use() as connection:
                yield connection
        except MirrorDown:
            self._lose_sight()
            raise

    async def _flush_quietly(self) -> None:
        """Flush, and leave a failing file to the next question; the database has logged it."""
        try:
            await self.flush()
        except MirrorDown:
            return

    async def _catch_up(self, connection: aiosqlite.Connection) -> None:
        """Learn the places of a file that was just opened, and begin the epochs that are missing."""
        if self._generation != self.database.generation:
            self._generation = self.database.generation
            self._epochs.clear()
            self._spans.clear()
            async with connection.execute("SELECT id, guild_id, desk_id FROM places") as cursor:
                self._places = {place[0]: Place(*place) for place in await cursor.fetchall()}
        for shard in self._shards - self._epochs.keys():
            self._epochs[shard] = await statements.begin_epoch(connection, shard, self._now())

    async def _write(self, connection: aiosqlite.Connection, events: Iterable[Event]) -> None:
        """Bring the tables to what events lead to; rows are stored only inside spans of the current epoch."""
        by_place: dict[int, list[Event]] = {}
        for event in outcome(events).values():
            by_place.setdefault(event.place_id, []).append(event)
        for place_id, mine in by_place.items():
            place = self._places.get(place_id)
            if place is None:
                continue
            told = [event.row for event in mine if isinstance(event, Created | Edited) and not self._is_buried(event)]
            spans = self._spans.get(place_id, [])
            known = [row for row in told if below(spans, row.sequence + 1)]
            known_ids = {row.sequence for row in known}
            holes = [event.id for event in mine if isinstance(event, Withheld)]
            await statements.put_rows(connection, place_id, known, self._epoch_of(place, even_silent=True))
            await statements.amend_rows(connection, place_id, [row for row in told if row.sequence not in known_ids])
            await statements.remove_rows(
                connection, place_id, [*holes, *(event.id for event in mine if isinstance(event, Deleted))]
            )
            if holes and spans:
                for hole in holes:
                    spans = cut(spans, Span(hole, hole + 1))
                self._spans[place_id] = spans
                await statements.save_spans(connection, place_id, self._epoch_of(place, even_silent=True), spans)

    def _epoch_of(self, place: Place, *, even_silent: bool = False) -> int:
        """Return the epoch that verifies a place now; 0 where none does."""
        shard = self._shard_of(place.guild_id)
        return 0 if shard in self._silent and not even_silent else self._epochs.get(shard, 0)

    def _end_epoch(self, shard: int) -> None:
        self._epochs.pop(shard, None)
        for place in self._places.values():
            if self._shard_of(place.guild_id) == shard:
                self._spans.pop(place.id, None)

    def _lose_sight(self) -> None:
        """Give up what was noted, and with it every claim of the epochs that it belonged to."""
        self._pending.clear()
        for shard in self._shards:
            self._end_epoch(shard)

    def _bury(self, message_id: int) -> None:
        now = self._clock()
        self._tombstones.pop(message_id, None)
        self._tombstones[message_id] = now + TOMBSTONE_SECONDS
        while self._tombstones and next(iter(self._tombstones.values())) <= now:
            del self._tombstones[next(iter(self._tombstones))]

    def _is_buried(self, event: Created | Edited) -> bool:
        return self._tombstones.get(event.row.sequence, 0.0) > self._clock()
