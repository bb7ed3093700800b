"""Remember who wrote, and the labels and topics written, place by place, for completions only.

A completion has no time to read history and may fetch nothing. It offers what earlier questions happened to
read, to those who may read that place when they type. Nothing here is an answer, nothing is kept on disk, and
the memory is bounded: the place longest unread is forgotten first, and in a place what was written longest ago.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

import recall

from .forgetting import forget_oldest

RECENT_PLACES: Final = 1_000  # channels and threads remembered
RECENT_AUTHORS: Final = 200  # names remembered of each
RECENT_LABELS: Final = 100
RECENT_LABEL_CHARS: Final = 100  # a longer label cannot be a choice

KnownAuthor: TypeAlias = recall.PersonAuthor | recall.AgentAuthor
_Key = TypeVar("_Key")


@dataclass(slots=True)
class _Place:
    """Hold what was met in one place, each with the newest sequence that it was met at."""

    authors: dict[KnownAuthor, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)


class Recent:
    """Hold the authors, labels and topics last read in each place, by the place's id."""

    def __init__(self) -> None:
        self._places: dict[int, _Place] = {}

    def remember(self, place_id: int, rows: Iterable[recall.LogMessage]) -> None:
        """Take in rows that were read, in any order."""
        place = self._places.pop(place_id, None) or _Place()
        self._places[place_id] = place  # put last: the first is the longest unread
        forget_oldest(self._places, RECENT_PLACES)
        for row in rows:
            if isinstance(row.author, KnownAuthor):
                _meet(place.authors, row.author, row.sequence)
            for directive in recall.read_directives(row.content, author=row.author, sequence=0, dialect="discord"):
                if directive.label is not None and len(directive.label) <= RECENT_LABEL_CHARS:
                    _meet(place.labels, directive.label, row.sequence)
            for trace in recall.read_traces((row,), dialect="discord"):
                if trace.topic is not None and len(trace.topic) <= RECENT_LABEL_CHARS:
                    _meet(place.topics, trace.topic, row.sequence)
        _forget(place.authors, RECENT_AUTHORS)
        _forget(place.labels, RECENT_LABELS)
        _forget(place.topics, RECENT_LABELS)

    def authors(self, place_id: int) -> tuple[KnownAuthor, ...]:
        """Return the authors met in a place, last to write first; one id comes once for each name it used."""
        place = self._places.get(place_id)
        return () if place is None else _newest_first(place.authors)

    def labels(self, place_id: int) -> tuple[str, ...]:
        """Return the labels met in a place, last written first."""
        place = self._places.get(place_id)
        return () if place is None else _newest_first(place.labels)

    def topics(self, place_id: int) -> tuple[str, ...]:
        """Return the topics met in a place, last written first."""
        place = self._places.get(place_id)
        return () if place is None else _newest_first(place.topics)


class RememberingLog:
    """Be another log, and remember for completions what is read of it."""

    def __init__(self, log: recall.SessionLog, recent: Recent, place_id: int) -> None:
        self._log = log
        self._recent = recent
        self._place_id = place_id

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return the other log's page."""
        page = await self._log.read_before(before, limit)
        self._recent.remember(self._place_id, page.messages)
        return page


def _meet(known: dict[_Key, int], key: _Key, sequence: int) -> None:
    known[key] = max(sequence, known.get(key, 0))


def _newest_first(known: dict[_Key, int]) -> tuple[_Key, ...]:
    return tuple(sorted(known, key=lambda key: -known[key]))


def _forget(known: dict[_Key, int], size: int) -> None:
    """Forget what was written longest ago, down to `size`."""
    for key in _newest_first(known)[size:] if len(known) > size else ():
        del known[key]
