"""Name the labels of a desk that are known without reading its log, for forms."""

from __future__ import annotations

from typing import Final

import recall

from .desk import DIALECT, OpenDesk, chronological
from .pin_rules import rights_over
from .pins import BOARD_MARKER_SCAN

NEWEST: Final = 2**63 - 1  # no id is as large


async def known_labels(desk: OpenDesk) -> tuple[str, ...]:
    """Return the labels of the board, most recent first, then those of other pins, from what is known of marker rows.

    A suggestion, no answer: it may miss what was pinned just now, and name what is off the board. What was refused
    suggests nothing. Raises `Unavailable` where that hangs on rights that Discord does not tell now.
    """
    if desk.markers is None:
        return ()
    found = await desk.markers(NEWEST, BOARD_MARKER_SCAN)
    rows = chronological(desk, (*found.verified, *found.seen))
    rights = await rights_over(desk.pin_authority, rows, desk.address)
    most = len(rows) * recall.PIN_MARKER_CAP
    board = recall.fold_pins(rows, most, allows=rights.rule(), dialect=DIALECT, address=desk.address)
    events = recall.pin_history(rows, allows=rights.rule(), dialect=DIALECT, address=desk.address)
    counted = [event.directive.label for event in reversed(events) if event.effect is not recall.PinEffect.REFUSED]
    labels = [*(pin.label for pin in board), *counted]
    return tuple(dict.fromkeys(label for label in labels if label is not None))
