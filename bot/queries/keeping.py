"""Say which rows a board still needs, so that what is old can go and the board stays what it is.

A pin must be on the board for as long as nobody took it off, and no longer. So what was pinned stays with the
line that pinned it; and of all that was said about one message, everything stays or everything goes: an unpin
that went before its pin would bring the pin back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import recall

from .desk import DIALECT


def needed_by_boards(
    rows: Sequence[recall.LogMessage],
    going: Set[int],
    *,
    threads: Iterable[int] = (),
    address: recall.AddressReader | None = None,
    narrowed: bool = False,
) -> frozenset[int]:
    """Return which sequences must stay for the boards of a desk and of each of its threads.

    `rows` are the rows of the desk that may hold markers, in any order; `going` are those that are old. `threads`: the
    ids of the desk's threads. `narrowed`: whether not everybody may unpin, or pins of one author are bounded;
    whose right it was is not known here and may change, and what was taken off had its place among an author's pins,
    so what was ever pinned stays then.
    """
    chronological = sorted(rows, key=lambda row: row.sequence)
    about = {row.sequence: _targets(row, address) for row in chronological}
    wanted = _live(chronological, threads, address, narrowed=narrowed)
    stays = (about.keys() - going) | wanted
    while more := {
        target
        for sequence, targets in about.items()
        if sequence in stays or targets & wanted
        for target in targets - wanted
    }:
        wanted |= more
    return frozenset(stays | {sequence for sequence, targets in about.items() if targets & wanted})


def _pins_only(directive: recall.PinDirective, _pin: recall.Pin | None) -> bool:
    return directive.action is recall.PinAction.PIN


def _live(
    rows: Sequence[recall.LogMessage],
    threads: Iterable[int],
    address: recall.AddressReader | None,
    *,
    narrowed: bool,
) -> set[int]:
    """Return what is pinned on the board of the desk, or on that of a thread, which hears of its own lines alone."""
    boards: dict[int | None, list[recall.LogMessage]] = {thread: [] for thread in (None, *threads)}
    for row in rows:
        for board in {None, row.parent, row.sequence} & boards.keys():
            boards[board].append(row)
    allows = _pins_only if narrowed else None
    return {
        pin.sequence
        for board in boards.values()
        for pin in recall.fold_pins(
            board, len(board) * recall.PIN_MARKER_CAP, allows=allows, dialect=DIALECT, address=address
        )
    }


def _targets(row: recall.LogMessage, address: recall.AddressReader | None) -> set[int]:
    """Return which messages the pins and unpins of a row are about."""
    return {
        directive.target
        for directive in recall.read_directives(
            row.content,
            author=row.author,
            sequence=row.sequence,
            dialect=DIALECT,
            reply_to=row.reply_to,
            address=address,
        )
    }
