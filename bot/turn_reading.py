"""Read what a turn is made of: back to what its viewer has read, and again from its start at every compile."""

from __future__ import annotations

from typing import Final

import recall

from .errors import Refusal
from .exports.desks import BEGINS_LATE
from .mirror.reading import NOT_MIRRORED
from .queries import OpenDesk, chronological, read
from .rendering.coverage import stop_words

TURN_ROWS: Final = 4_096  # rows that a turn reaches back over at most; a guess, twice what one walk reads elsewhere

_NO_MORE: Final = frozenset({None, NOT_MIRRORED, BEGINS_LATE})  # why a walk ended that has read all there is


class TurnTooLong(Refusal):
    """Say that a turn's rows could not all be read, so that its context would have a hole."""

    template = "The messages of this turn could not be read without a gap ({reason}), so nothing was compiled."

    def __init__(self, reason: str) -> None:
        self.reason = reason


async def read_back(desk: OpenDesk, read_until: int | None, window: int, since: int | None) -> recall.Walk:
    """Read a desk back to what was read already, and over the newest `window` rows or, in their place, to `since`."""
    below = [floor for floor in (read_until, None if since is None else since - 1) if floor is not None]
    wanted = window if since is None else 0
    met = 0

    def is_enough(row: recall.LogMessage) -> bool:
        nonlocal met
        met += desk.conversation is None or desk.conversation.holds(row)
        return met >= wanted and row.sequence <= min(below, default=row.sequence) + 1

    return await read(desk, scan=TURN_ROWS, ends_at=is_enough)


async def read_from(desk: OpenDesk, start: int) -> tuple[tuple[recall.LogMessage, ...], tuple[recall.RowRange, ...]]:
    """Return the rows of a desk from `start` on, oldest first, and the stretches of it that have no hole.

    Raises `TurnTooLong` where not all of them could be read.
    """
    walk = await read(desk, scan=TURN_ROWS, after=max(0, start - 1))
    if walk.coverage.stopped not in _NO_MORE:
        raise TurnTooLong(stop_words(walk.coverage.stopped))
    return chronological(desk, walk.rows), _whole(desk, walk)


def whereabouts(sequence: int, desk: OpenDesk, walk: recall.Walk) -> recall.Whereabouts:
    """Say where a row is, as far as a walk from the newest row backwards can tell."""
    present = {row.sequence for row in chronological(desk, walk.rows)}
    return recall.whereabouts(sequence, present, _whole(desk, walk))


def _whole(desk: OpenDesk, walk: recall.Walk) -> tuple[recall.RowRange, ...]:
    """Return what was read without a hole: nothing of a desk of which something is left out."""
    found = recall.whole_range(walk.coverage, walk.rows[0].sequence if walk.rows else None)
    return () if found is None or desk.left_out else (found,)
