"""What a server reads from: the files that it was given, and of them what its operator offers.

A mirror may hold every channel that the bot was ever asked about. So nothing of it is offered but the channels
that the operator lists; a list holds channels, and their public threads follow. Export files were picked by hand:
whoever names them offers what is in them. What is not offered is spoken of as what is not there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import recall

from ..config import Config, Settings
from ..errors import Refusal
from ..held import HeldDesk, Holding, PlaceUnknown, find_place, held_place
from ..mirror.file import MirrorFile
from ..queries import OpenDesk

NAMED: Final = 20  # channels whose ids are said
STORED_SCAN: Final = 20_000  # rows that a question reads of a file, which costs nobody a request


class NotOffered(Refusal):
    """Say that no such channel is offered, whether or not there is one; `offered` are the ids of those that are."""

    def __init__(self, offered: Sequence[str], *, asked: bool = True) -> None:
        super().__init__(offered, asked)
        self.offered = tuple(offered)
        self.asked = asked

    @property
    def sentence(self) -> str:
        """What to do."""
        if not self.offered:
            return "No channel is offered: whoever runs this server lists them in its configuration, as mcp.channels."
        if self.asked:
            return f"No single channel or thread of that name or ID is offered here; there is {listed(self.offered)}."
        return f"Say which channel: {listed(self.offered)}."


def listed(ids: Sequence[str]) -> str:
    """Name channels by their ids, the first `NAMED` of them."""
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return f"{', '.join(ids[:NAMED]) or 'none'}{more}"


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """Hold a place that a question is asked of: its id, and its guild's; those it is configured by, nearest first.

    `live`: whether what is read now is what stands there now. What was stored is never called verified.
    """

    id: str
    guild_id: int
    place_ids: tuple[int, ...]
    desk: OpenDesk
    live: bool = False

    @property
    def scan(self) -> int:
        """How many rows a question reads at most."""
        return recall.SCAN_LIMIT if self.live else STORED_SCAN

    def settings(self, config: Config) -> Settings:
        """Return what is configured here."""
        return config.settings(guild_id=self.guild_id, channel_ids=self.place_ids)


class Source(Protocol):
    """Be what a server reads from."""

    def offered(self) -> Sequence[str]:
        """Return the ids of the channels that are offered."""
        ...  # pragma: no cover

    def open(self, channel: str | None, *, after: int | None = None) -> AbstractAsyncContextManager[OpenPlace]:
        """Open a channel or thread for one question; null for the only one. Raises a `Refusal`.

        `after`: where the question ends, if it does.
        """
        ...  # pragma: no cover


class FileSource:
    """Read export files, which are held, or a mirror, which is looked at anew for each question.

    `listed`: the channels that are offered; null for all of them, which are then `known`.
    """

    def __init__(
        self,
        look: Callable[[], AbstractAsyncContextManager[Holding]],
        listed: Collection[int] | None,
        known: Sequence[str] = (),
    ) -> None:
        self._look = look
        self._listed = None if listed is None else tuple(sorted(map(str, listed)))
        self._known = known

    @classmethod
    def of_exports(cls, exports: Holding, listed: Collection[int] | None = None) -> FileSource:
        """Offer what export files hold."""

        @asynccontextmanager
        async def look() -> AsyncIterator[Holding]:
            yield exports

        return cls(look, listed, [desk.id for desk in exports.desks])

    @classmethod
    def of_mirror(cls, path: Path, listed: Collection[int]) -> FileSource:
        """Offer the listed channels of a mirror; what it holds of them may grow."""

        @asynccontextmanager
        async def look() -> AsyncIterator[Holding]:
            with MirrorFile(path) as file:
                yield file

        return cls(look, listed)

    def offered(self) -> Sequence[str]:
        """See `Source`."""
        return self._known if self._listed is None else self._listed

    @asynccontextmanager
    async def open(self, channel: str | None, *, after: int | None = None) -> AsyncIterator[OpenPlace]:
        """See `Source`. Raises `NotOffered`, and what a mirror raises."""
        del after  # files are read no faster for knowing
        async with self._look() as files:
            desks = _offered(files.desks, self._listed)
            place_id = self._find(channel, desks)
            desk, thread = held_place(place_id, files.desks)
            ids = (desk.id,) if thread is None else (thread.id, desk.id)
            yield OpenPlace(place_id, int(desk.guild_id), tuple(map(int, ids)), files.open(place_id))

    def _find(self, channel: str | None, desks: Sequence[HeldDesk]) -> str:
        if channel is None:
            if len(desks) != 1:
                raise NotOffered(self.offered(), asked=False)
            return desks[0].id
        try:
            return find_place(channel, desks)
        except PlaceUnknown:
            raise NotOffered(self.offered()) from None


def _offered(desks: Sequence[HeldDesk], listed: Collection[str] | None) -> tuple[HeldDesk, ...]:
    """Return what is offered: listed channels with their threads, and listed threads by themselves."""
    if listed is None:
        return tuple(desks)
    found: list[HeldDesk] = []
    for desk in desks:
        if desk.id in listed:
            found.append(desk)
        else:
            alone = (thread for thread in desk.threads if thread.id in listed)
            found += [HeldDesk(thread.id, thread.name, desk.guild_id, ()) for thread in alone]
    return tuple(found)
