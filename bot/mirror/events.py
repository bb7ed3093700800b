"""What the gateway tells of messages, each event with the whole state that it leads to.

Because an event carries the outcome and not a difference, the last one for an id is all that counts, with one
exception: nothing follows a deletion. Ids are never used again, so a create or edit that comes after it is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import recall

TOMBSTONE_SECONDS: Final = 900.0  # how long after a deletion a late create could still come; on the safe side


class Created(NamedTuple):
    """Say that a row came to a place."""

    place_id: int
    row: recall.LogMessage


class Edited(NamedTuple):
    """Say what a row of a place reads now."""

    place_id: int
    row: recall.LogMessage


class Unlisted(NamedTuple):
    """Say that a message of a place is there and is no row, or none any more."""

    place_id: int
    id: int


class Deleted(NamedTuple):
    """Say that a message of a place is no more."""

    place_id: int
    id: int


class Withheld(NamedTuple):
    """Say that a message is there and must not be stored: its place is not whole at this id."""

    place_id: int
    id: int


Event: TypeAlias = Created | Edited | Unlisted | Deleted | Withheld


def event_id(event: Event) -> int:
    """Return the id of the message that an event is about."""
    return event.row.sequence if isinstance(event, Created | Edited) else event.id


def outcome(events: Iterable[Event]) -> dict[tuple[int, int], Event]:
    """Return the one event that counts for each place and id."""
    last: dict[tuple[int, int], Event] = {}
    for event in events:
        key = (event.place_id, event_id(event))
        if not isinstance(last.get(key), Deleted):
            last[key] = event
    return last


class Tombstones:
    """Remember what was deleted for as long as a create or edit of it could still come late."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}  # in the order of the deletions, so the oldest ends first

    def bury(self, message_id: int) -> None:
        """Remember a deletion, and forget those that nothing can follow any more."""
        now = self._clock()
        self._until.pop(message_id, None)
        self._until[message_id] = now + TOMBSTONE_SECONDS
        while (oldest := next(iter(self._until))) != message_id and self._until[oldest] <= now:
            del self._until[oldest]

    def buried(self, message_id: int) -> bool:
        """Say whether a message was deleted a short while ago."""
        return self._until.get(message_id, 0.0) > self._clock()
