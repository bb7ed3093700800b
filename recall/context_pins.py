"""Hold ranges of rows raw in a viewer's contexts, under names, for as long as whoever pinned them says.

This is not the board of a conversation, which is folded out of its log and the same for everybody: a range is
one viewpoint's, lasts for a turn or so, and nobody else sees it. A host may keep such pins where it likes, as
a `ContextPins`; `HeldPins` keeps them in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from recall.compilation import RowRange
from recall.records import Sequence, Value

__all__ = ["MAIN_BRANCH", "ContextPins", "HeldPins", "RangePin", "Viewpoint"]

MAIN_BRANCH = "main"


class Viewpoint(Value, frozen=True):
    """Name who reads what: the viewer's id, the host's key for the conversation, and the branch of its history.

    A fork is a branch of its own that starts as a copy; nothing done on it touches another.
    """

    viewer: str
    conversation: str
    branch: str = MAIN_BRANCH


class RangePin(Value, frozen=True):
    """Hold a range of rows that a viewer's contexts keep raw, both ends included, under the name of its owner."""

    name: str
    first: Sequence
    last: Sequence

    @property
    def range(self) -> RowRange:
        """Return what is pinned, as `compile_context` takes it."""
        return RowRange(self.first, self.last)


class ContextPins(Protocol):
    """Be where a host keeps the ranges that it pins for each viewpoint; others than this module pin there too."""

    def listed(self, view: Viewpoint) -> Iterable[RangePin]:
        """Return what is pinned for a viewpoint."""
        ...  # pragma: no cover

    def pin(self, view: Viewpoint, pin: RangePin) -> None:
        """Add a pin; one of the same name stays beside it."""
        ...  # pragma: no cover

    def unpin(self, view: Viewpoint, name: str) -> None:
        """Remove every pin of that name, of that viewpoint alone; none is no error."""
        ...  # pragma: no cover


class HeldPins:
    """Keep pins in memory: they need not outlive the turns that hold them. See `ContextPins`."""

    def __init__(self) -> None:
        self._pins: dict[Viewpoint, tuple[RangePin, ...]] = {}

    def listed(self, view: Viewpoint) -> tuple[RangePin, ...]:
        """Return what is pinned for a viewpoint, oldest first."""
        return self._pins.get(view, ())

    def pin(self, view: Viewpoint, pin: RangePin) -> None:
        """Add a pin; one of the same name stays beside it."""
        self._pins[view] = (*self.listed(view), pin)

    def unpin(self, view: Viewpoint, name: str) -> None:
        """Remove every pin of that name, of that viewpoint alone; none is no error."""
        kept = tuple(pin for pin in self.listed(view) if pin.name != name)
        if kept:
            self._pins[view] = kept
        else:
            self._pins.pop(view, None)
