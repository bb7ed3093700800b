"""What files hold for those who ask them questions: desks with their threads, found as people name them.

Exports are files, and so is a mirror. Whoever reads them offline asks both through `Holding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from .errors import Refusal
from .links import read_link, read_snowflake
from .queries import OpenDesk
from .shown import flatten_name


@dataclass(frozen=True, slots=True)
class HeldThread:
    """Name a public thread of a desk. `root_in`: where the message it began with stands: there, or above it."""

    id: str
    name: str
    root_in: str


@dataclass(frozen=True, slots=True)
class HeldDesk:
    """Name a channel with its public threads, as far as files hold something of them."""

    id: str
    name: str
    guild_id: str
    threads: tuple[HeldThread, ...]


class Holding(Protocol):
    """Be what some files hold."""

    @property
    def desks(self) -> Sequence[HeldDesk]:
        """The channels, in the files' order."""
        ...  # pragma: no cover

    @property
    def most_rows(self) -> int:
        """More rows than a walk can meet."""
        ...  # pragma: no cover

    def open(self, place_id: str | None) -> OpenDesk:
        """Open a desk or thread by its id, or everything (null), for questions. Raises `PlaceUnknown`."""
        ...  # pragma: no cover

    def authors(self) -> set[tuple[str, str]]:
        """Return the id of every author with every name it used."""
        ...  # pragma: no cover


class PlaceUnknown(Refusal):
    """Say that files hold no such channel or thread, or several; `names` are those to choose from."""

    def __init__(self, asked: str, names: tuple[str, ...], *, several: bool = False) -> None:
        super().__init__(asked, names)
        self.asked = asked
        self.names = names
        self.several = several

    @property
    def sentence(self) -> str:
        """What was asked for, and what there is."""
        choices = ", ".join(self.names)
        if self.several:
            return f"{self.asked!r} is more than one place in these files: give the id of one of {choices}."
        return f"These files hold no channel or thread {self.asked!r}: there is {choices}."


DeskT = TypeVar("DeskT", bound=HeldDesk)


def named_places(desks: Iterable[HeldDesk]) -> Iterator[tuple[str, str]]:
    """Yield the id and name of every desk, and of its threads after it."""
    for desk in desks:
        yield desk.id, desk.name
        for thread in desk.threads:
            yield thread.id, thread.name


def find_place(text: str, desks: Iterable[HeldDesk]) -> str:
    """Return the id of the channel or thread that `text` means: an id, a link, a mention, or a name.

    Case does not count in names, nor a `#` before them. Raises `PlaceUnknown` unless it is exactly one.
    """
    text = text.strip()
    link = read_link(text)
    number = link.channel_id if link is not None else read_snowflake(text.removeprefix("<#").removesuffix(">"))
    places = list(named_places(desks))
    if number is not None and (found := [place for place in places if place[0] == str(number)]):
        return found[0][0]
    wanted = flatten_name(text.removeprefix("#")).casefold()
    found = [place for place in places if flatten_name(place[1]).casefold() == wanted]
    if len(found) == 1:
        return found[0][0]
    raise PlaceUnknown(text, _choices(found or places), several=bool(found))


def held_place(place_id: str, desks: Sequence[DeskT]) -> tuple[DeskT, HeldThread | None]:
    """Return the desk of an id, and the thread if it is one's. Raises `PlaceUnknown`."""
    for desk in desks:
        if desk.id == place_id:
            return desk, None
        for thread in desk.threads:
            if thread.id == place_id:
                return desk, thread
    raise PlaceUnknown(place_id, _choices(named_places(desks)))


def _choices(places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"#{name} ({place_id})" for place_id, name in places)
