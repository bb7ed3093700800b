"""Show the board of a desk, and every pin and unpin behind it.

Markers are rare, so a board must not end where a bounded walk ends. Below it, where the desk knows its marker
rows without reading the log, those are folded too: first the verified ones, then older ones as they were last
seen. A pin that stands on the latter is read again before it is shown (`settle`): its line must still say so.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeAlias

import msgspec

import recall

from ..errors import Refusal
from .desk import (
    DIALECT,
    AnswerCoverage,
    MarkerReach,
    MarkerRows,
    OpenDesk,
    SeenReach,
    chronological,
    coverage_of,
    read,
    rows_of,
    showable,
)
from .pin_rules import PinRights, WhyRefused, rights_over

BOARD_MARKER_SCAN = 20_000  # marker rows below the walk; at one in a hundred messages, two million messages
BOARD_LIMIT = 250  # live pins a board can show, the number Discord allows of its own
BOARD_CHECKS = 25  # pins that are read again for one answer, one request each; what is more is shown as last seen

WhereIs: TypeAlias = Literal["here", "gone", "not read"]
Standing: TypeAlias = Literal["verified", "checked", "last seen"]


@dataclass(frozen=True, slots=True)
class PinsRequest:
    """Ask for a board. `label` leaves out every other (no `#`); `before` is an exclusive sequence."""

    label: str | None = None
    before: int | None = None
    limit: int = BOARD_LIMIT
    scan: int = recall.PIN_SCAN
    working_set: int = recall.PIN_LIMIT


@dataclass(frozen=True, slots=True)
class BoardReach:
    """Hold the rows behind a board: `sure` ones, newest first, and older ones as they were last seen, by sequence.

    `tried`: which of the latter were asked for again, `checked`: which are as they were read then. `walk`: how far
    every message was looked at, `coverage`: what is said of it all. `rights`: by which the lines were judged.
    """

    sure: tuple[recall.LogMessage, ...]
    walk: recall.Coverage
    coverage: AnswerCoverage
    seen: Mapping[int, recall.LogMessage] = field(default_factory=dict)
    tried: frozenset[int] = frozenset()
    checked: frozenset[int] = frozenset()
    rights: PinRights = field(default_factory=PinRights)


@dataclass(frozen=True, slots=True)
class PinsAnswer:
    """Hold a board, newest pin first, and every pin and unpin behind it, in order.

    Of all live pins, `board` is the newest, `pins` the newest that were asked for, each within the request's limit,
    and `beyond` how many more were asked for. `working`: the sequences of the pins that every agent's context carries,
    whatever label was asked for. `labels`: those of live pins, most recent first. `rows`: pinned rows and marker rows
    that are sure. `gone`: the pinned messages that the reach would have shown and did not, where it is whole.
    `refused`: why directives were, which did nothing. `reach`: what it was folded from, null where that is not told.
    """

    pins: tuple[recall.Pin, ...]
    working: frozenset[int]
    events: tuple[recall.PinEvent, ...]
    labels: tuple[str, ...]
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage] = field(repr=False)
    gone: frozenset[int]
    board: tuple[recall.Pin, ...] = ()
    beyond: int = 0
    refused: Mapping[recall.PinDirective, WhyRefused] = field(default_factory=dict)
    reach: BoardReach | None = field(default=None, repr=False)  # asyncio writes out what a task returns

    @property
    def rights(self) -> PinRights:
        """The rights by which its lines were judged."""
        return PinRights() if self.reach is None else self.reach.rights

    def standing(self, pin: recall.Pin) -> Standing:
        """Say how surely a pin is on the board: `last seen` is one whose line could not be read again."""
        if self.reach is None or pin.pinned_at not in self.reach.seen:
            return "verified"
        return "checked" if pin.pinned_at in self.reach.checked else "last seen"


async def pins(desk: OpenDesk, request: PinsRequest) -> PinsAnswer:
    """Fold the board of a desk. Raises `recall.ReadError` when the log cannot be read.

    Raises `Unavailable` where it hangs on rights that Discord does not tell now.
    """
    return await board_of(desk, request, await read(desk, scan=request.scan, before=request.before))


async def board_of(desk: OpenDesk, request: PinsRequest, walk: recall.Walk) -> PinsAnswer:
    """Fold the board of a desk out of a walk from `request.before` backwards, for whoever reads it for more."""
    below = await _below(desk, walk.coverage)
    coverage = _board_coverage(desk, walk.coverage, below)
    seen = {row.sequence: row for row in below.seen}
    reach = BoardReach((*walk.rows, *below.verified), walk.coverage, coverage, seen)
    return _fold(desk, request, await _judged(desk, reach))


async def _judged(desk: OpenDesk, reach: BoardReach) -> BoardReach:
    """Find out whose rights decide what is on a board."""
    rights = await rights_over(desk.pin_authority, board_rows(desk, reach), desk.address)
    return dataclasses.replace(reach, rights=rights)


def board_rows(desk: OpenDesk, reach: BoardReach) -> tuple[recall.LogMessage, ...]:
    """Return the rows that a board is folded from, oldest first."""
    return chronological(desk, (*reach.sure, *sorted(reach.seen.values(), key=lambda row: -row.sequence)))


def _fold(desk: OpenDesk, request: PinsRequest, reach: BoardReach) -> PinsAnswer:
    rows = board_rows(desk, reach)
    unsure = reach.seen.keys() - reach.checked
    refused: dict[recall.PinDirective, WhyRefused] = {}
    most = len(rows) * recall.PIN_MARKER_CAP
    live = tuple(
        msgspec.structs.replace(pin, excerpt=None) if pin.sequence in unsure else pin
        for pin in recall.fold_pins(rows, most, allows=reach.rights.rule(), dialect=DIALECT, address=desk.address)
    )
    board = live[: request.limit]
    asked = tuple(pin for pin in live if request.label is None or pin.label == request.label)
    shown = asked[: request.limit]
    wanted = {sequence for pin in (*board, *shown) for sequence in (pin.sequence, pin.pinned_at)}
    known = rows_of(rows, wanted - unsure)
    return PinsAnswer(
        pins=shown,
        working=frozenset(pin.sequence for pin in board[: request.working_set]),
        events=recall.pin_history(rows, allows=reach.rights.rule(refused), dialect=DIALECT, address=desk.address),
        labels=tuple(dict.fromkeys(pin.label for pin in live if pin.label is not None)),
        coverage=reach.coverage,
        rows=known,
        gone=frozenset(
            pin.sequence
            for pin in (*board, *shown)
            if pin.sequence not in known and not desk.left_out and within(reach.walk, request.before, pin.sequence)
        ),
        board=board,
        beyond=len(asked) - len(shown),
        refused=refused,
        reach=reach,
    )


class Reached(Protocol):
    """Be an answer that knows rows of its reach, and what the reach would have shown and did not."""

    @property
    def rows(self) -> Mapping[int, recall.LogMessage]:
        """The rows, by sequence."""
        ...  # pragma: no cover

    @property
    def gone(self) -> frozenset[int]:
        """The sequences that are no rows any more."""
        ...  # pragma: no cover


async def where_is(desk: OpenDesk, answer: Reached, sequence: int) -> tuple[WhereIs, recall.LogMessage | None]:
    """Say of a message that an answer names whether it is here, gone from this desk, or was not read.

    Reads at most one row. A row that cannot be read now is `not read`: no error. So is one that stored files do not
    hold: only what was read without a hole shows that it is gone.
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
        return ("not read" if desk.is_stored else "gone"), None
    if desk.may_show is not None and not await desk.may_show(row):
        return "not read", None
    return "here", row


async def where_are(
    desk: OpenDesk, answer: Reached, sequences: Iterable[int], *, most: int = BOARD_CHECKS
) -> dict[int, tuple[WhereIs, recall.LogMessage | None]]:
    """Say of many messages where they are, as `where_is`; of those that no walk met, Discord is asked for `most`."""
    wanted = tuple(dict.fromkeys(sequences))
    unmet = [sequence for sequence in wanted if sequence not in answer.rows and sequence not in answer.gone]
    passed = set() if desk.is_stored else set(unmet[most:])
    asked = [sequence for sequence in wanted if sequence not in passed]
    found = dict(zip(asked, await asyncio.gather(*(where_is(desk, answer, one) for one in asked)), strict=True))
    return {sequence: found.get(sequence, ("not read", None)) for sequence in wanted}


async def settle(
    desk: OpenDesk,
    answer: PinsAnswer,
    request: PinsRequest,
    wanted: Callable[[PinsAnswer], Iterable[recall.Pin]],
    *,
    most: int = BOARD_CHECKS,
) -> PinsAnswer:
    """Read again the lines of wanted pins that are known as they were last seen, at most `most` of them.

    One that is gone or says something else now makes another board, and others move up: so `wanted` is asked again
    until all it names are verified, checked, or could not be read. These stay as they were last seen.
    """
    while answer.reach is not None:
        reach = answer.reach
        lines = dict.fromkeys(pin.pinned_at for pin in wanted(answer) if pin.pinned_at in reach.seen)
        untried = [line for line in lines if line not in reach.tried][:most]
        if not untried:
            break
        most -= len(untried)
        came = await asyncio.gather(*(_read_again(desk, reach.seen[line]) for line in untried))
        now = {line: row for line, row in zip(untried, came, strict=True) if not isinstance(row, Refusal)}
        seen = {line: now.get(line, row) for line, row in reach.seen.items()}
        reach = dataclasses.replace(
            reach,
            seen={line: row for line, row in seen.items() if row is not None},
            tried=reach.tried.union(untried),
            checked=reach.checked | now.keys(),
        )
        answer = _fold(desk, request, await _judged(desk, reach))
    return answer


async def _read_again(desk: OpenDesk, row: recall.LogMessage) -> recall.LogMessage | Refusal | None:
    """Return a row as it is now, None when it is gone, or why that cannot be known."""
    if desk.read_again is None:
        return Refusal()
    try:
        now = await desk.read_again(row)
        may_show = now is None or desk.may_show is None or await desk.may_show(now)
    except Refusal as refusal:
        return refusal
    return now if may_show else Refusal()


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
    markers = seen = None
    if coverage.oldest is not None and below.low < coverage.oldest:
        oldest = below.low or (below.verified[-1].sequence if below.verified else coverage.oldest)
        markers = MarkerReach(len(below.verified), oldest, beginning=below.low == 0)
    if below.seen and below.as_of is not None:
        as_of = datetime.fromtimestamp(below.as_of, UTC).isoformat()
        seen = SeenReach(len(below.seen), below.seen[-1].sequence, as_of)
    return msgspec.structs.replace(coverage_of(desk, coverage), markers=markers, seen=seen)


def within(coverage: recall.Coverage, before: int | None, sequence: int) -> bool:
    """Say whether a walk that came this far would have met a sequence."""
    from_below = coverage.beginning or (coverage.oldest is not None and sequence >= coverage.oldest)
    return from_below and (before is None or sequence < before)
