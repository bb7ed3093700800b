"""Show the board of a desk, and every pin and unpin behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import recall

from ..errors import Refusal
from .desk import DIALECT, AnswerCoverage, OpenDesk, chronological, coverage_of, read, rows_of

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
    """

    pins: tuple[recall.Pin, ...]
    working: frozenset[int]
    events: tuple[recall.PinEvent, ...]
    labels: tuple[str, ...]
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]
    gone: frozenset[int]


async def pins(desk: OpenDesk, request: PinsRequest) -> PinsAnswer:
    """Fold the board of a desk. Raises `recall.ReadError` when the log cannot be read."""
    walk = await read(desk, scan=request.scan, before=request.before)
    rows = chronological(desk, walk.rows)
    live = recall.fold_pins(rows, request.limit, dialect=DIALECT, address=desk.address)
    events = recall.pin_history(rows, dialect=DIALECT, address=desk.address)
    shown = tuple(pin for pin in live if request.label is None or pin.label == request.label)
    seen = rows_of(rows, {pin.sequence for pin in live} | {pin.pinned_at for pin in live})
    whole = not desk.left_out
    return PinsAnswer(
        pins=shown,
        working=frozenset(pin.sequence for pin in live[: request.working_set]),
        events=events,
        labels=tuple(dict.fromkeys(pin.label for pin in live if pin.label is not None)),
        coverage=coverage_of(desk, walk.coverage),
        rows=seen,
        gone=frozenset(
            pin.sequence for pin in live if pin.sequence not in seen and whole and _within(walk.coverage, pin.sequence)
        ),
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


def _within(coverage: recall.Coverage, sequence: int) -> bool:
    """Say whether a walk that came this far would have met a sequence."""
    return coverage.beginning or (coverage.oldest is not None and sequence >= coverage.oldest)
