"""What the mirror claims to know for sure, and which gateway session each claim rests on.

A claim is a span of a place, verified in the current epoch of the place's shard. It ends with the epoch: when
a gateway session begins that did not resume, when what was told could not be written, when another file is
opened. Claims live in memory; the tables keep a copy, from which only *as last seen* is ever said again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from .spans import Span, below, common, cut, join


class Place(NamedTuple):
    """Name one channel or thread with a history of its own, and the desk that it belongs to.

    The names are those that were seen last, for whoever reads the file without Discord; empty where unknown.
    """

    id: int
    guild_id: int
    desk_id: int
    name: str = ""
    desk_name: str = ""


class Claims:
    """Hold the places, the epochs of the shards, and the spans that are sure.

    `shard_of` takes a guild id. `hears` says whether a shard is connected as far as its socket knows: a client with
    many shards may report an interruption only when it comes to reconnect that one.
    """

    def __init__(self, *, shard_of: Callable[[int], int], hears: Callable[[int], bool] = lambda _: True) -> None:
        self.shard_of = shard_of
        self._hears = hears
        self._shards: set[int] = set()
        self._silent: set[int] = set()
        self._out: set[int] = set()  # guilds of which nothing is told, by no fault of their shard
        self._epochs: dict[int, int] = {}
        self._spans: dict[int, list[Span]] = {}
        self.places: dict[int, Place] = {}

    @property
    def epochs(self) -> tuple[int, ...]:
        """The numbers of the current epochs."""
        return tuple(self._epochs.values())

    @property
    def awaited(self) -> frozenset[int]:
        """The shards whose gateway speaks and whose epoch has no number yet."""
        return frozenset(self._shards - self._epochs.keys())

    def connected(self, shard: int) -> None:
        """Take in that a gateway session began: every older claim of the shard ends, its epoch is awaited."""
        self._shards.add(shard)
        self._silent.discard(shard)
        self._out = {guild_id for guild_id in self._out if self.shard_of(guild_id) != shard}
        self._end(shard)

    def suspend(self, shard: int) -> None:
        """Hold back a shard's claims: its gateway is silent, and what it would tell is not known."""
        self._silent.add(shard)

    def resume(self, shard: int) -> None:
        """Hold a shard's claims again: its session was resumed, and told what was missed."""
        self._silent.discard(shard)

    def guild_out(self, guild_id: int) -> None:
        """Verify nothing of a guild until it is back: an outage at Discord, in which nothing is told of it."""
        self._out.add(guild_id)

    def guild_back(self, guild_id: int) -> bool:
        """Take in that a guild is told of again; says whether it was out."""
        was_out = guild_id in self._out
        self._out.discard(guild_id)
        return was_out

    def number(self, shard: int, epoch: int) -> None:
        """Give an awaited epoch its number."""
        self._epochs[shard] = epoch

    def unnumber(self, shard: int) -> None:
        """Await an epoch again, because the transaction that began it was taken back."""
        self._epochs.pop(shard, None)

    def reopen(self, places: Iterable[Place]) -> None:
        """Begin with the places of a file that was just opened; what was claimed of another ends."""
        self.end_all()
        self.places = {place.id: place for place in places}

    def confirm(self, places: Iterable[Place], spans: Mapping[int, list[Span]]) -> None:
        """Take in that another process wrote to the file: learn its places, and claim no more than still stands.

        `spans` are those that the file holds of the current epochs, by place. What they say beyond what is
        claimed is not believed: a claim that was given up may have its copy there still.
        """
        self.places = {place.id: place for place in places}
        self._spans = {
            place_id: common(claimed, spans.get(place_id, []))
            for place_id, claimed in self._spans.items()
            if place_id in self.places
        }

    def end_all(self) -> None:
        """End every claim; the epochs of all shards are awaited again."""
        for shard in self._shards:
            self._end(shard)

    def stored_epoch(self, place: Place) -> int:
        """Return the epoch under which rows of a place are stored; 0 where none has a number."""
        return self._epochs.get(self.shard_of(place.guild_id), 0)

    def epoch(self, place: Place) -> int:
        """Return the epoch that verifies a place now; 0 where none does."""
        shard = self.shard_of(place.guild_id)
        heard = shard not in self._silent and place.guild_id not in self._out and self._hears(shard)
        return self.stored_epoch(place) if heard else 0

    def verified(self, place: Place, before: int | None) -> Span | None:
        """Return the sure span just below `before` (None: up to now), if there is one."""
        return below(self.spans(place.id), before) if self.epoch(place) else None

    def spans(self, place_id: int) -> list[Span]:
        """Return the spans of a place, whether or not its gateway speaks now."""
        return self._spans.get(place_id, [])

    def add(self, place: Place, span: Span) -> None:
        """Claim a span."""
        self.places[place.id] = place
        self._spans[place.id] = join([*self.spans(place.id), span])

    def cut(self, place_id: int, *holes: Span) -> None:
        """Give up some stretches."""
        if place_id in self._spans:
            self._spans[place_id] = cut(self._spans[place_id], *holes)

    def forget(self, place_ids: Iterable[int]) -> None:
        """Give up whole places."""
        for place_id in place_ids:
            self.places.pop(place_id, None)
            self._spans.pop(place_id, None)

    def _end(self, shard: int) -> None:
        self._epochs.pop(shard, None)
        for place in self.places.values():
            if self.shard_of(place.guild_id) == shard:
                self._spans.pop(place.id, None)
