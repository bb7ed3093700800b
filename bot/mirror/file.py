"""A mirror file, open for questions as exports are, also while a bot writes it.

What a file can say of itself is when it was last told something, and where its stretches have gaps. So every
answer says as of when it is, and which channels are not whole.

    mirror = MirrorFile(Path("mirror.sqlite"))
    desk = mirror.open(find_place("#general", mirror.desks))
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import recall

from ..held import HeldDesk, HeldThread, held_place
from ..links import read_link
from ..queries import LeftOut, OpenDesk
from ..shown import Names, named
from .claims import Place
from .filling import BACKFILL_SHARD
from .reading import NOT_MIRRORED, MirrorLog, Stretch
from .readonly import MirrorUnreadable, open_read_only
from .spans import LIVE, Span, gaps
from .statements import decode_row, seconds_of

GAPS: Final = "not all of it was read"
NOT_STORED: Final = "messages of it are not stored"  # withheld, erased, or told of while a page was on its way


@dataclass(frozen=True, slots=True)
class _Reach:
    """Say of a place what the file knows: until when it was told, why it is not whole, whether it has a beginning."""

    as_of: int
    missing: str | None
    from_start: bool


class MirrorFile:
    """Hold what a mirror file holds. Raises `MirrorRefused` and `MirrorUnreadable`, when it is opened or later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_read_only(path)
        self._told_until: dict[int, int] = {}
        try:
            statement = "SELECT id, guild_id, desk_id, name, desk_name, asked_at FROM places ORDER BY id"
            found = self._select(statement)
            self._places = {place[0]: Place(*place[:5]) for place in found}
            self._since = {place[0]: place[5] for place in found}
            self._names = _names(self._places.values())
            self.desks = tuple(self._desks())
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; idempotent."""
        self._connection.close()

    @property
    def most_rows(self) -> int:
        """More rows than a walk can meet, whatever a bot adds meanwhile."""
        return sys.maxsize

    def open(self, place_id: str | None) -> OpenDesk:
        """Open a desk or thread by its id, or everything (null), for questions. Raises `PlaceUnknown`."""
        if place_id is None:
            return self._open(list(self._places.values()), None, [Stretch(place) for place in self._places])
        desk, thread = held_place(place_id, self.desks)
        desk_id = int(desk.id)
        if thread is None:
            places = [place for place in self._places.values() if place.desk_id == desk_id]
            return self._open(places, recall.Conversation(desk.id, desk.name), [Stretch(place.id) for place in places])
        root = int(thread.id)
        stretches = [Stretch(root)]
        if thread.root_in != thread.id:
            stretches.append(Stretch(desk_id, root, root + 1))
        conversation = recall.Conversation(desk.id, desk.name, thread_root=root)
        return self._open([self._places[root]], conversation, stretches)

    def authors(self) -> set[tuple[str, str]]:
        """Return the id of every author with every name it used. Reads every row."""
        found: set[tuple[str, str]] = set()
        try:
            for (blob,) in self._connection.execute("SELECT row FROM rows"):
                author = decode_row(blob).author
                if not isinstance(author, recall.SystemAuthor):
                    found.add((recall.author_id(author), recall.author_label(author)))
        except sqlite3.Error as error:
            raise MirrorUnreadable(self._path, error) from error
        return found

    def _open(
        self, places: list[Place], conversation: recall.Conversation | None, stretches: list[Stretch]
    ) -> OpenDesk:
        reaches = {place: self._reach(place) for place in places}
        log = MirrorLog(
            self._connection,
            stretches,
            path=self._path,
            named=self._named,
            begins_late=None if all(reach.from_start for reach in reaches.values()) else NOT_MIRRORED,
        )
        instants = [reach.as_of for reach in reaches.values()]
        as_of = datetime.fromtimestamp(min(instants), UTC).isoformat().replace("+00:00", "Z") if instants else None
        left_out = [
            LeftOut(str(place.id), self._names[place.id], reach.missing)
            for place, reach in reaches.items()
            if reach.missing is not None
        ]
        own = {place.id for place in places} | {place.desk_id for place in places}
        others = self._names.keys() - own
        guilds = {place.guild_id for place in places}

        def address(text: str) -> int | None:
            link = read_link(text)
            return None if link is None or link.guild_id not in guilds or link.channel_id in others else link.message_id

        threads = {place.id: self._names[place.id] for place in places if place.id != place.desk_id}
        return OpenDesk(
            log,
            conversation,
            left_out,
            as_of,
            read_row=log.read_row,
            address=address,
            openings=lambda: threads,
            is_stored=True,
            is_webhook=self._webhooks().__contains__,
        )

    def _webhooks(self) -> frozenset[str]:
        """Return which authors are webhooks; a file of the first version does not know."""
        if not self._select("SELECT 1 FROM sqlite_master WHERE name = 'webhooks'"):
            return frozenset()
        return frozenset(author_id for (author_id,) in self._select("SELECT id FROM webhooks"))

    def _reach(self, place: Place) -> _Reach:
        """Return what the file knows of a place."""
        statement = """
            SELECT low, high, shard, opened_at, closed_at FROM spans JOIN epochs ON epochs.epoch = spans.epoch
            WHERE place = ? ORDER BY low
        """
        found = self._select(statement, (place.id,))
        spans = [Span(low, high) for low, high, *_ in found]
        instants = []
        for *_, shard, opened, closed in found:
            told = opened if shard == BACKFILL_SHARD else max(opened, self._told(place.guild_id))
            instants.append(told if closed is None else closed)
        lowest = min((span.low for span in spans), default=LIVE)
        ((oldest,),) = self._select("SELECT MIN(id) FROM rows WHERE place = ?", (place.id,))
        if not instants or (oldest is not None and oldest < lowest):  # what is older stays for the pins that need it
            instants.append(self._since[place.id])
        holes = gaps(spans, Span(lowest, max((span.high for span in spans), default=LIVE)))
        missing = None if not holes else GAPS if any(hole.high - hole.low > 1 for hole in holes) else NOT_STORED
        return _Reach(min(instants), missing, from_start=lowest == 0)

    def _told(self, guild_id: int) -> int:
        """Return until when an open session has told of a guild for sure: when the newest message it told was sent."""
        if guild_id in self._told_until:
            return self._told_until[guild_id]
        statement = """
            SELECT MAX((SELECT MAX(id) FROM rows WHERE place = spans.place)) FROM spans
            JOIN epochs ON epochs.epoch = spans.epoch AND closed_at IS NULL AND shard <> ?
            JOIN places ON places.id = spans.place AND guild_id = ? WHERE high = ?
        """
        ((newest,),) = self._select(statement, (BACKFILL_SHARD, guild_id, LIVE))
        self._told_until[guild_id] = 0 if newest is None else seconds_of(newest)
        return self._told_until[guild_id]

    def _desks(self) -> Iterable[HeldDesk]:
        inside: dict[int, list[Place]] = {}
        for place in self._places.values():
            inside.setdefault(place.desk_id, []).append(place)
        for desk_id, places in inside.items():
            threads = tuple(
                HeldThread(str(place.id), self._names[place.id], self._root_in(place))
                for place in places
                if place.id != desk_id
            )
            yield HeldDesk(str(desk_id), self._names[desk_id], str(places[0].guild_id), threads)

    def _root_in(self, thread: Place) -> str:
        """Return where the message stands that a thread began with: in itself in a forum, else above it."""
        own = self._select("SELECT 1 FROM rows WHERE place = ? AND id = ?", (thread.id, thread.id))
        return str(thread.id if own or thread.desk_id not in self._places else thread.desk_id)

    def _named(self, row: recall.LogMessage) -> recall.LogMessage:
        return named(row, Names(None, lambda _: None, self._names.get))

    def _select(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise MirrorUnreadable(self._path, error) from error


def _names(places: Collection[Place]) -> dict[int, str]:
    """Return the names of all channels and threads, by id; one that nobody has named is called by its id."""
    named_ids = [(place.desk_id, place.desk_name) for place in places] + [(place.id, place.name) for place in places]
    names = {place_id: f"channel-{place_id}" for place_id, _ in named_ids}
    names.update((place_id, name) for place_id, name in named_ids if name)
    return names
