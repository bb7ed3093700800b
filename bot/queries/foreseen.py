"""Say what pin lines would come to if somebody posted them now, by the rule that the board is folded by.

Whoever is about to have a line posted is told before that it would be refused; what counts is the fold.
"""

from __future__ import annotations

from collections.abc import Sequence

import recall

from .desk import DIALECT, OpenDesk
from .labels import NEWEST
from .pin_rules import rights_over
from .pins import PinsAnswer, board_rows


async def foreseen(
    desk: OpenDesk, answer: PinsAnswer, lines: Sequence[str], author: recall.Author
) -> tuple[recall.PinEffect, ...]:
    """Return the effect of each of an author's lines, of one marker each, after all that an answer was folded from.

    They are taken in turn, as if they were posted where the board is. Raises `Unavailable` where the author's rights
    decide and Discord does not tell them now.
    """
    if answer.reach is None or not lines:
        return ()
    here = desk.conversation
    root = None if here is None else here.thread_root
    posted = [recall.LogMessage(NEWEST + number, None, root, author, line) for number, line in enumerate(lines)]
    rows = (*board_rows(desk, answer.reach), *posted)
    rights = await rights_over(desk.pin_authority, rows, desk.address)
    events = recall.pin_history(rows, allows=rights.rule(), dialect=DIALECT, address=desk.address)
    return tuple(event.effect for event in events[-len(lines) :])
