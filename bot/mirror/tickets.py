"""What the gateway tells while a page is on its way: it is newer than the page, and wins over it."""

from __future__ import annotations

from collections.abc import Callable

from .claims import Place
from .events import Event


class Ticket:
    """Keep what the gateway tells of a place while a page of it is on its way. `epoch` 0: it counts for nothing."""

    def __init__(self, place: Place, epoch: int, generation: int) -> None:
        self.place = place
        self.epoch = epoch
        self.generation = generation
        self.events: list[Event] = []


class Tickets:
    """Hold the tickets of all pages on their way."""

    def __init__(self) -> None:
        self._of_place: dict[int, set[Ticket]] = {}

    def add(self, ticket: Ticket) -> None:
        """Keep events for a ticket from now on."""
        self._of_place.setdefault(ticket.place.id, set()).add(ticket)

    def remove(self, ticket: Ticket) -> None:
        """Keep no more events for a ticket; idempotent."""
        waiting = self._of_place.get(ticket.place.id, set())
        waiting.discard(ticket)
        if not waiting:
            self._of_place.pop(ticket.place.id, None)

    def note(self, event: Event) -> None:
        """Put an event on the tickets of its place."""
        for ticket in self._of_place.get(event.place_id, ()):
            ticket.events.append(event)

    def void(self, suspect: Callable[[Place], bool]) -> None:
        """Let the pages of some places count for nothing when they come."""
        for waiting in self._of_place.values():
            for ticket in waiting:
                if suspect(ticket.place):
                    ticket.epoch = 0
