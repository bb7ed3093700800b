"""What the gateway tells of messages, each event with the whole state that it leads to.

Because an event carries the outcome and not a difference, the last one for an id is all that counts, with one
exception: nothing follows a deletion. Ids are never used again, so a create or edit that comes after it is late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import recall


class Created(NamedTuple):
    """Say that a row came to a place."""

    place_id: int
    row: recall.LogMessage


class Edited(NamedTuple):
    """Say what a row of a place reads now."""

    place_id: int
    row: recall.LogMessage


class Deleted(NamedTuple):
    """Say that a message of a place is no more, or is no row any more."""

    place_id: int
    id: int


class Withheld(NamedTuple):
    """Say that a message is there and must not be stored: its place is not whole at this id."""

    place_id: int
    id: int


Event: TypeAlias = Created | Edited | Deleted | Withheld


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
