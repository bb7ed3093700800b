"""Show the board of a desk, and every pin and unpin behind it.

Markers are rare, so a board must not end where a bounded walk ends. Below it, where the desk knows its marker
rows without reading the log, those are folded too: first the verified ones, then older ones as they were last
seen. A pin from the second part is shown only after it was checked (`check`): its marker row must still say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

import recall

from ..errors import Refusal
from .desk import (
    DIALECT,
    AnswerCoverage,
    MarkerRows,
    OpenDesk,
    SeenReach,
    chronological,
    coverage_of,
    read,
    rows_of,
    showable,
)

BOARD_MARKER_SCAN = 20_000  # marker rows below the walk; at one in a hundred messages, two million messages
BOARD_LIMIT = 250  # live pins a board can show, the number Discord allows of its own

WhereIs: TypeAlias = Literal["here", "gone", "not read"]


@dataclass(frozen=True, slots=True)
class PinsRequest:
    """Ask for a board. `label` leaves out every other (no `#`); `before` is an exclusive sequence."""

    label: str | None = None
    before: int | None = None
    limit: int = BOARD_LIMIT
    scan: int = recall.PIN_SCAN
    working_set: int = recall.PIN_LIMIT


@dataclass(frozen=True, slots=True)
class PinsAnswer:
    """Hold a board, newest pin first, and every pin and unpin behind it, in order.

    `working`: the sequences of the pins that every agent's context carries, whatever label was asked for.
    `labels`: those on the board, most recent first. `rows`: pinned rows and marker rows that were read.
    `gone`: the pinned messages that the reach would have shown and did not, where it is whole.
    `unverified`: pins whose marker row is as it was last seen.
    """

    pins: tuple[recall.Pin, ...]
    working: frozenset[int]
    events: tuple[recall.PinEvent, ...]
    labels: tuple[str, ...]
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]
    gone: frozenset[int]
    unverified: frozenset[int] = frozenset()


async def pins(desk: OpenDesk, request: PinsRequest) -> PinsAnswer:
    """Fold the board of a desk. Raises `recall.ReadError` when the log cannot be read."""
    walk = await read(desk, scan=request.scan, before=request.before)
    below = await _below(desk, walk.coverage)
    rows = chronological(desk, (*walk.rows, *below.verified, *below.seen))
    live = recall.fold_pins(rows, request.limit, dialect=DIALECT, address=desk.address)
    events = recall.pin_history(rows, dialect=DIALECT, address=desk.address)
    shown = tuple(pin for pin in live if request.label is None or pin.label == request.label)
    last_seen = {row.sequence for row in below.seen}
    seen = rows_of(rows, {pin.sequence for pin in live} | {pin.pinned_at for pin in live})
    whole = not desk.left_out
    return PinsAnswer(
        pins=shown,
        working=frozenset(pin.sequence for pin in live[: request.working_set]),
        events=events,
        labels=tuple(dict.fromkeys(pin.label for pin in live if pin.label is not None)),
        coverage=_board_coverage(desk, walk.coverage, below),
        rows=seen,
        gone=frozenset(
            pin.sequence for pin in live if pin.sequence not in seen and whole and _within(walk.coverage, pin.sequence)
        ),
        unverified=frozenset(pin.sequence for pin in live if pin.pinned_at in last_seen),
    )


async def where_is(desk: OpenDesk, answer: PinsAnswer, sequence: int) -> tuple[WhereIs, recall.LogMessage | None]:
    """Say of a pinned message whether it is here, gone from this desk, or was not read; reads at most one row.

    A row that cannot be read now is `not read`: no error.
    """
    row = answer.rows.get(sequence)
    if row is not None:
        return "here", row
    if sequence in answer.gone:
        return "gone", None
    if desk.read_row is None:
        return "not read", None
    try:
        row = await desk.read_row(sequence)
    except Refusal:
        return "not read", None
    if row is None:
        return "gone", None
    if desk.may_show is not None and not await desk.may_show(row):
        return "not read", None
    return "here", row


async def check(desk: OpenDesk, answer: PinsAnswer, pins: Sequence[recall.Pin]) -> list[recall.Pin]:
    """Return those of the pins that stand: each unverified one is read again, one request each.

    One that cannot be read now stays; what other lines did since is not known, and the coverage says so.
    """
    doubtful = [pin for pin in pins if pin.sequence in answer.unverified]
    stands = await asyncio.gather(*(_stands(desk, pin) for pin in doubtful))
    fallen = {pin.sequence for pin, stood in zip(doubtful, stands, strict=True) if not stood}
    return [pin for pin in pins if pin.sequence not in fallen]


async def _stands(desk: OpenDesk, pin: recall.Pin) -> bool:
    if desk.read_row is None:
        return True
    try:
        row = await desk.read_row(pin.pinned_at)
    except Refusal:
        return True
    return row is not None and any(
        directive.action is recall.PinAction.PIN and directive.target == pin.sequence
        for directive in recall.read_directives(
            row.content,
            author=row.author,
            sequence=row.sequence,
            dialect=DIALECT,
            reply_to=row.reply_to,
            address=desk.address,
        )
    )


async def _below(desk: OpenDesk, coverage: recall.Coverage) -> MarkerRows:
    """Return the marker rows below a walk that did not reach the beginning."""
    nothing = MarkerRows((), coverage.oldest or 0)
    if desk.markers is None or coverage.beginning or coverage.oldest is None:
        return nothing
    found = await desk.markers(coverage.oldest, BOARD_MARKER_SCAN)
    verified, seen = await showable(desk, found.verified), await showable(desk, found.seen)
    return MarkerRows(verified, found.low, seen, found.as_of)


def _board_coverage(desk: OpenDesk, coverage: recall.Coverage, below: MarkerRows) -> AnswerCoverage:
    """Say how far a board looked: the walk, the verified marker rows below it, and those last seen."""
    reached = below.low < (coverage.oldest or 0)
    if reached:
        beginning = below.low == 0
        oldest = below.verified[-1].sequence if below.verified else coverage.oldest
        coverage = recall.Coverage(
            coverage.rows + len(below.verified),
            oldest if beginning else below.low,
            beginning,
            None if beginning else coverage.stopped,
        )
    seen = None
    if below.seen and below.as_of is not None:
        as_of = datetime.fromtimestamp(below.as_of, UTC).isoformat()
        seen = SeenReach(len(below.seen), below.seen[-1].sequence, as_of)
    return msgspec.structs.replace(coverage_of(desk, coverage), seen=seen)


def _within(coverage: recall.Coverage, sequence: int) -> bool:
    """Say whether a walk that came this far would have met a sequence."""
    return coverage.beginning or (coverage.oldest is not None and sequence >= coverage.oldest)
