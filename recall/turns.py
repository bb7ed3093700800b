"""Keep the rows that open a turn raw while it runs, however often its context is compiled.

A turn answers a request, and a long turn folds old rows into summaries. The request itself grows old on the
way; folded, the agent goes on from a summary of what it was asked. So the rows that a viewer has not read
when its turn opens, its inputs, are pinned under one name until the turn settles, and unpinned at once where
they are the reason that nothing fits.

    turns = Turns(HeldPins())
    turn = turns.start(view, TurnStart.TURN, rows, mark)    # before anything of the start itself is written
    compilation = await turns.compile(turn, attempt)        # attempt: from the pinned ranges to a `Compilation`
    save(turn.mark)                                         # the host keeps marks; a committed compile moved it
    turns.settle(turn)                                      # however it ends

What was read is one number for each viewer and conversation, the read mark. A turn that failed has still
read its rows, so the mark is not what was last answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from recall.compilation import Compilation, RowRange
from recall.context_pins import MAIN_BRANCH, ContextPins, RangePin, Viewpoint
from recall.errors import OverBudget
from recall.records import LogMessage, Sequence, Value, author_id

__all__ = [
    "START_RULES",
    "TURN_INPUTS",
    "ReadMark",
    "StartRule",
    "Turn",
    "TurnStart",
    "Turns",
    "first_mark",
    "move_mark",
    "turn_inputs",
]

TURN_INPUTS = "turn-inputs"
"""The name under which the inputs of a turn are pinned."""

Sees: TypeAlias = Callable[[LogMessage], bool]


class ReadMark(Value, frozen=True):
    """Hold the newest row that a committed compile has carried to a viewer, and on which branch."""

    branch: str
    sequence: Sequence


class TurnStart(StrEnum):
    """Name what a start is. `silent`: a heartbeat that nobody is to hear. `resume`: of a turn that is still held."""

    TURN = "turn"
    SILENT = "silent"
    RESUME = "resume"
    ROUND = "round"
    CONTINUATION = "continuation"
    RESTART = "restart"


class StartRule(NamedTuple):
    """Say whether a start clears the pins of the name first, all of them, and whether it then pins its inputs."""

    clears: bool
    pins: bool


_HOLDS = StartRule(clears=False, pins=False)
START_RULES: Mapping[TurnStart, StartRule] = MappingProxyType(
    {
        TurnStart.TURN: StartRule(clears=True, pins=True),
        TurnStart.SILENT: StartRule(clears=True, pins=False),
        TurnStart.RESUME: _HOLDS,
        TurnStart.ROUND: _HOLDS,
        TurnStart.CONTINUATION: _HOLDS,
        TurnStart.RESTART: _HOLDS,
    }
)


def first_mark(branch: str, *, newest: Sequence | None, request: Sequence | None = None) -> ReadMark | None:
    """Return the mark of a viewer that is first met, or whose mark was lost.

    Just below the request that opens its turn, where the host names it: then the request is an input of its
    own turn. Otherwise at the newest row; null where there is none.
    """
    if request is not None:
        return ReadMark(branch, max(0, request - 1))
    return None if newest is None else ReadMark(branch, newest)


def move_mark(mark: ReadMark | None, branch: str, newest: Sequence | None) -> ReadMark | None:
    """Return the mark after `newest` was put before the model, by a committed compile or at a tool boundary.

    Null for `newest`: nothing new was, and the mark stays. It never goes back on its branch.
    """
    if newest is None or (mark is not None and mark.branch == branch and mark.sequence >= newest):
        return mark
    return ReadMark(branch, newest)


def turn_inputs(
    rows: Iterable[LogMessage],
    mark: ReadMark | None,
    viewer: str,
    *,
    branch: str = MAIN_BRANCH,
    sees: Sees = lambda _: True,
    is_tool_result: Callable[[LogMessage], bool] = lambda _: False,
) -> RowRange | None:
    """Return the range of rows, given newest first, that open a turn of `viewer`; null where none do.

    It runs back to what the mark covers, or to the viewer's last own row: the mark alone would take in the
    rounds of the turn before, the own row alone has no floor for who has been silent for long. Rows that the
    viewer does not see are passed over, its own among them. Tool results count at the new end and between, not
    at the old end. No mark, or one on another branch: null.
    """
    if mark is None or mark.branch != branch:
        return None
    first = last = None
    for row in rows:
        if row.sequence <= mark.sequence:
            break
        if not sees(row):
            continue
        if author_id(row.author) == viewer:
            break
        if last is None:
            last = row.sequence
        if not is_tool_result(row):
            first = row.sequence
    return None if first is None or last is None else RowRange(first, last)


class Turn:
    """Be the handle of one turn: whose it is, the rows that opened it (null: none did), and its read mark.

    `mark` moves as the turn reads. A host that keeps it beside others of the viewer keeps the furthest.
    `settled` says that the turn has ended.
    """

    def __init__(self, view: Viewpoint, inputs: RowRange | None, mark: ReadMark | None) -> None:
        self.view = view
        self.inputs = inputs
        self.mark = mark
        self.settled = False

    def carry(self, newest: Sequence | None) -> None:
        """Note what a tool boundary has put before the model without a compile; null: nothing new."""
        self.mark = move_mark(self.mark, self.view.branch, newest)


class Turns:
    """Pin the inputs of turns as they start, let go of them as they end, and compile for them in between.

    `pins`: null for a host without any, whose turns run as they would without this module. `on_unpinned` is
    told when the inputs of a turn were unpinned because nothing fits with them; a host logs a line.
    """

    def __init__(
        self,
        pins: ContextPins | None,
        *,
        on_unpinned: Callable[[Turn, OverBudget], None] = lambda *_: None,
    ) -> None:
        self._pins = pins
        self._on_unpinned = on_unpinned
        self._current: dict[Viewpoint, Turn] = {}
        self._waiting: dict[Turn, Callable[[], object]] = {}
        self._stopped = False

    def start(
        self,
        view: Viewpoint,
        kind: TurnStart,
        rows: Iterable[LogMessage] = (),
        mark: ReadMark | None = None,
        *,
        request: Sequence | None = None,
        sees: Sees = lambda _: True,
        is_tool_result: Callable[[LogMessage], bool] = lambda _: False,
    ) -> Turn:
        """Start, or go on with, a turn; call it before the start writes anything of its own, notices included.

        `rows` are the newest of the conversation, newest first, back to the mark; `mark` the one that the host
        keeps, null for a viewer that is first met, for whom `request` may name the row that opens the turn. A
        kind that holds what is held takes neither, and gives back the turn that is open here, if there is one.
        """
        rule, open_turn = START_RULES[kind], self._current.get(view)
        if open_turn is not None and not rule.clears:
            self.resume(open_turn)
            return open_turn
        if rule.clears:
            self._unpin(view)
        rows = tuple(rows)
        if mark is None:
            mark = first_mark(view.branch, newest=rows[0].sequence if rows else None, request=request)
        inputs = None
        if rule.pins:
            inputs = turn_inputs(rows, mark, view.viewer, branch=view.branch, sees=sees, is_tool_result=is_tool_result)
        if inputs is not None and self._pins is not None and not self._stopped:
            self._pins.pin(view, RangePin(TURN_INPUTS, *inputs))
        turn = self._current[view] = Turn(view, inputs, mark)
        return turn

    def is_held(self, turn: Turn) -> bool:
        """Say whether the inputs of a turn are pinned; a later turn of its viewpoint takes over what is."""
        return self._current.get(turn.view) is turn and any(pin.name == TURN_INPUTS for pin in self._listed(turn.view))

    async def compile(
        self, turn: Turn, attempt: Callable[[tuple[RowRange, ...]], Awaitable[Compilation]], *, preview: bool = False
    ) -> Compilation:
        """Compile a context for a turn; `attempt` is given all ranges that are pinned for its viewpoint now.

        Where it raises `OverBudget` and the inputs were held when it began, they are unpinned and it is made
        exactly once more, whatever comes of that. Any other error is the attempt's. The result moves the mark
        of the turn; a preview moves, unpins and repeats nothing.
        """
        held = self.is_held(turn)
        try:
            compilation = await attempt(self._ranges(turn.view))
        except OverBudget as refusal:
            if preview or not held:
                raise
            self._unpin(turn.view)
            self._on_unpinned(turn, refusal)
            compilation = await attempt(self._ranges(turn.view))
        if not preview:
            turn.carry(compilation.newest)
        return compilation

    def wait(self, turn: Turn, call_off: Callable[[], object]) -> None:
        """Let a retry of a turn wait, in place of an earlier one; `call_off` ends that when the turn settles."""
        earlier = self._waiting.pop(turn, None)
        if earlier is not None:
            earlier()
        if self._stopped or turn.settled:
            call_off()
        else:
            self._waiting[turn] = call_off

    def resume(self, turn: Turn) -> bool:
        """End the wait of a turn's retry, and say whether it may run: not once the turn has settled."""
        return self._waiting.pop(turn, None) is not None

    def settle(self, turn: Turn) -> None:
        """End a turn, however it ended, also when its start or a continuation of it was dropped; twice is once."""
        turn.settled = True
        if self._current.get(turn.view) is turn:
            del self._current[turn.view]
            self._unpin(turn.view)
        call_off = self._waiting.pop(turn, None)
        if call_off is not None:
            call_off()

    def stop(self) -> None:
        """Settle every turn, with each retry that waits; what starts later pins nothing and waits for nothing."""
        self._stopped = True
        for turn in dict.fromkeys((*self._current.values(), *self._waiting)):
            self.settle(turn)

    def _listed(self, view: Viewpoint) -> tuple[RangePin, ...]:
        return () if self._pins is None else tuple(self._pins.listed(view))

    def _ranges(self, view: Viewpoint) -> tuple[RowRange, ...]:
        return tuple(pin.range for pin in self._listed(view))

    def _unpin(self, view: Viewpoint) -> None:
        if self._pins is not None:
            self._pins.unpin(view, TURN_INPUTS)
