"""Name the labels of a desk that are known without reading its log, for forms."""

from __future__ import annotations

from typing import Final

import recall

from .desk import DIALECT, OpenDesk, chronological
from .pins import BOARD_MARKER_SCAN

NEWEST: Final = 2**63 - 1  # no id is as large


async def known_labels(desk: OpenDesk) -> tuple[str, ...]:
    """Return the labels of the board, most recent first, then those of other pins, from what is known of marker rows.

    A suggestion, no answer: it may miss what was pinned just now, and name what is off the board.
    """
    if desk.markers is None:
        return ()
    found = await desk.markers(NEWEST, BOARD_MARKER_SCAN)
    rows = chronological(desk, (*found.verified, *found.seen))
    board = recall.fold_pins(rows, len(rows) * recall.PIN_MARKER_CAP, dialect=DIALECT, address=desk.address)
    events = recall.pin_history(rows, dialect=DIALECT, address=desk.address)
    labels = [pin.label for pin in board] + [event.directive.label for event in reversed(events)]
    return tuple(dict.fromkeys(label for label in labels if label is not None))
