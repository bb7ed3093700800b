"""Say what pin lines would come to if somebody posted them now, by the rule that the board is folded by.

Whoever is about to have a line posted is told before that it would be refused; what counts is the fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import recall

from .desk import DIALECT, OpenDesk
from .labels import NEWEST
from .pins import PinsAnswer, board_rows


def foreseen(
    desk: OpenDesk, answer: PinsAnswer, lines: Sequence[str], author: recall.Author
) -> tuple[recall.PinEffect, ...]:
    """Return the effect of each of an author's lines, of one marker each, after all that an answer was folded from.

    They are taken in turn, as if they were posted so.
    """
    if answer.reach is None or not lines:
        return ()
    rows = (recall.LogMessage(NEWEST + number, None, None, author, line) for number, line in enumerate(lines))
    events = recall.pin_history(
        (*board_rows(desk, answer.reach), *rows), allows=desk.allows, dialect=DIALECT, address=desk.address
    )
    return tuple(event.effect for event in events[-len(lines) :])
