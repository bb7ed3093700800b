"""Hold what a set of export files shows: desks with their threads, each open for questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import recall

from ..held import HeldDesk, HeldThread, held_place
from ..links import read_link
from ..queries import LeftOut, OpenDesk
from .log import ExportLog

if TYPE_CHECKING:
    from .library import Part

BEGINS_LATE = "date range"  # why a walk over an export ends before the beginning of its channel
NO_FILE = "no file of it was given"


@dataclass(frozen=True, slots=True)
class ExportedDesk(HeldDesk):
    """Hold a channel of an export with its public threads.

    `rows` are newest first. `left_out`: threads that it speaks of and that no file holds. `as_of`: when the
    oldest of its files was written, null where one does not say. `from_start`: whether it begins where the
    channel does.
    """

    guild_name: str
    rows: tuple[recall.LogMessage, ...] = field(repr=False)
    left_out: tuple[LeftOut, ...]
    as_of: datetime | None
    from_start: bool


@dataclass(frozen=True, slots=True)
class Exports:
    """Hold every desk of the files that were read, in the files' order, and all rows, newest first.

    `problems`: a sentence for each file that was not read whole. `webhooks`: the ids of authors that are webhooks.
    """

    desks: tuple[ExportedDesk, ...]
    rows: tuple[recall.LogMessage, ...] = field(repr=False)
    problems: tuple[str, ...] = ()
    webhooks: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        parts: list[Part],
        rows: tuple[recall.LogMessage, ...],
        problems: tuple[str, ...],
        webhooks: frozenset[str] = frozenset(),
    ) -> Self:
        """Sort rows (newest first) into the desks that the files' places name."""
        members: dict[str, list[Part]] = {}
        for part in parts:
            members.setdefault(part.found.place.desk_id, []).append(part)
        if len(members) == 1:
            inside = dict.fromkeys(members, rows)
        else:
            sorted_in: dict[str, list[recall.LogMessage]] = {desk_id: [] for desk_id in members}
            for row in rows:
                sorted_in[row.chat_id or ""].append(row)
            inside = {desk_id: tuple(found) for desk_id, found in sorted_in.items()}
        known = {part.found.place.id for part in parts}
        desks = tuple(_desk(desk_id, found, inside[desk_id], known) for desk_id, found in members.items())
        return cls(desks, rows, problems, webhooks)

    @property
    def most_rows(self) -> int:
        """More rows than a walk can meet."""
        return len(self.rows) + 1

    def open(self, place_id: str | None) -> OpenDesk:
        """Open a desk or thread by its id, or everything (null), for questions. Raises `PlaceUnknown`."""
        return replace(self._opened(place_id), is_webhook=self.webhooks.__contains__)

    def _opened(self, place_id: str | None) -> OpenDesk:
        if place_id is None:
            return _open(self.desks, self.rows, None)
        desk, thread = held_place(place_id, self.desks)
        if thread is None:
            return _open((desk,), desk.rows, recall.Conversation(desk.id, desk.name))
        inside = recall.Conversation(desk.id, desk.name, thread_root=int(thread.id))
        return _open((desk,), tuple(filter(inside.holds, desk.rows)), inside)

    def authors(self) -> set[tuple[str, str]]:
        """Return the id of every author with every name it used."""
        return {
            (recall.author_id(row.author), recall.author_label(row.author))
            for row in self.rows
            if not isinstance(row.author, recall.SystemAuthor)
        }


def _desk(desk_id: str, parts: list[Part], rows: tuple[recall.LogMessage, ...], known: set[str]) -> ExportedDesk:
    """Make one desk of the files that belong to it; `known` are the ids of all channels and threads with a file."""
    own = [part for part in parts if part.found.place.thread is None]
    place = (own or parts)[0].found.place
    threads = {
        found.place.id: HeldThread(
            found.place.id, found.place.name, root_in=desk_id if found.starts_elsewhere else found.place.id
        )
        for found in (part.found for part in parts)
        if found.place.thread is not None
    }
    started = sorted({str(thread) for part in parts for thread in part.found.threads_started} - known, key=int)
    left_out = [LeftOut(thread, f"thread {thread}", NO_FILE) for thread in started]
    if not own and any(part.found.starts_elsewhere for part in parts):  # of a forum there is nothing more to have
        left_out.insert(0, LeftOut(desk_id, place.desk_name, NO_FILE))
    begun = {part.found.place.id for part in parts if part.from_start}
    return ExportedDesk(
        id=desk_id,
        name=place.desk_name,
        guild_id=place.guild_id,
        guild_name=place.guild_name,
        threads=tuple(threads.values()),
        rows=rows,
        left_out=tuple(left_out),
        as_of=_earliest(part.exported_at for part in parts),
        from_start=all(part.found.place.id in begun for part in parts),
    )


def _open(
    desks: tuple[ExportedDesk, ...], rows: tuple[recall.LogMessage, ...], conversation: recall.Conversation | None
) -> OpenDesk:
    """Open rows that belong to these desks."""
    log = ExportLog(rows, begins_late=None if all(desk.from_start for desk in desks) else BEGINS_LATE)
    thread_only = conversation is not None and conversation.thread_root is not None
    as_of = _earliest(desk.as_of for desk in desks)
    threads = {int(thread.id): thread.name for desk in desks for thread in desk.threads}
    places = {desk.id for desk in desks} | set(map(str, threads))

    def address(text: str) -> int | None:
        link = read_link(text)
        return link.message_id if link is not None and str(link.channel_id) in places else None

    return OpenDesk(
        log,
        conversation,
        left_out=() if thread_only else tuple(left for desk in desks for left in desk.left_out),
        as_of=None if as_of is None else as_of.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        read_row=log.read_row,
        address=address,
        openings=lambda: threads,
        is_stored=True,
    )


def _earliest(instants: Iterable[datetime | None]) -> datetime | None:
    """Return the earliest instant; null when one is not known, or there is none."""
    found = tuple(instants)
    known = [instant for instant in found if instant is not None]
    return min(known) if known and len(known) == len(found) else None
