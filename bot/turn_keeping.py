"""Keep the turns of agents for a host: which are open, what their contexts are compiled from, and what was read.

    turns = TurnKeeper(State("state.sqlite", now=time.time), clock=time.monotonic)
    turn = await turns.open(desk, "general", viewer="137", request=1204000000000000000)
    compiled = await turns.compile(turn, desk, CompileRequest(budget=20_000, tail=6_000))
    compiled.text            # one frame, within the budget, its marks those of the turn
    turns.close(turn.id)

A turn reaches back over the newest rows of its conversation, and further for as long as the rows that opened it
are pinned. Each compile reads the desk again, so a desk is handed in each time, opened for whoever asks then.
A turn that nobody came back to for `LEASE_SECONDS` is closed, and its pin goes with it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import recall

from .contexts import fresh_nonce
from .errors import Refusal
from .queries import NoOneChannel, OpenDesk, chronological
from .turn_reading import read_back, read_from, whereabouts

LEASE_SECONDS: Final = 15 * 60  # a guess: longer than any tool of an agent takes, shorter than anybody's patience
TURNS_OPEN: Final = 256  # beyond that, the one that nobody has used for longest is closed
HEADING: Final = "Messages"

_log = logging.getLogger(__name__)


class TurnUnknown(Refusal):
    """Say that no such turn is open."""

    template = (
        "No such turn is open: it was closed, replaced by a later one of the same viewer and channel, or left for too "
        "long; open one."
    )


class Marks(Protocol):
    """Be where read marks are kept; `State` is."""

    async def read_mark(self, view: recall.Viewpoint) -> recall.ReadMark | None:
        """Return the mark, null where there is none."""
        ...  # pragma: no cover

    async def save_mark(self, view: recall.Viewpoint, mark: recall.ReadMark) -> None:
        """Keep a mark; a `Refusal` where that is not possible."""
        ...  # pragma: no cover


@dataclass(slots=True, eq=False)
class OpenTurn:
    """Be an open turn: its id, which is a secret of whoever opened it, its nonce, and how far back it reaches.

    `request` says where the message is that was named to open it, null where none was.
    """

    id: str
    turn: recall.Turn
    nonce: str = field(repr=False)
    start: int
    request: recall.Whereabouts | None
    owner: str | None
    used_at: float
    saved: recall.ReadMark | None = None

    @property
    def view(self) -> recall.Viewpoint:
        """Who reads, and what."""
        return self.turn.view


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Ask for a context of at most `budget` characters, its newest `tail` characters raw. A preview changes nothing."""

    budget: int
    tail: int
    summaries: tuple[recall.Summary, ...] = ()
    preview: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """Hold a context that fits, as one frame (null: there is nothing to show), and whether inputs are pinned still."""

    compilation: recall.Compilation
    text: str | None
    held: bool


class TurnKeeper:
    """Hold the open turns of one host. `clock` counts seconds and never goes back.

    With `pinning` off, turns run as they would in a host without pins.
    """

    def __init__(self, marks: Marks, *, clock: Callable[[], float], pinning: bool = True) -> None:
        self._marks = marks
        self._clock = clock
        self._pins = recall.HeldPins()
        self._turns = recall.Turns(self._pins if pinning else None, on_unpinned=_log_unpinned)
        self._open: dict[str, OpenTurn] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def open(
        self,
        desk: OpenDesk,
        conversation: str,
        *,
        viewer: str,
        request: int | None = None,
        window: int = recall.SESSION_WINDOW,
        since: int | None = None,
        silent: bool = False,
        is_tool_result: Callable[[recall.LogMessage], bool] = lambda _: False,
        owner: str | None = None,
    ) -> OpenTurn:
        """Open a turn of `viewer` (an author's id) in a desk, in place of one that it has open there.

        `request` is the row that the turn is to answer: of a viewer that is first met, or whose mark was lost, what
        it has not read begins there, and that is kept. Without it such a turn pins nothing, nor does a `silent` one,
        which nobody is to hear. It reaches back over `window` rows, or to `since`. `is_tool_result` says which rows
        hold nothing but results of tools. `owner`: whose it is, for `close_of`. Raises `recall.ReadError` and what a
        desk raises.
        """
        if desk.conversation is None:
            raise NoOneChannel
        view = recall.Viewpoint(viewer, conversation)
        mark = await self._marks.read_mark(view)
        kept = mark or recall.first_mark(view.branch, newest=None, request=request)
        walk = await read_back(desk, None if kept is None else kept.sequence, window, since)
        inside = chronological(desk, walk.rows)[::-1]
        self.sweep()
        for earlier in [turn for turn in self._open.values() if turn.view == view]:
            self._settle(earlier)
        kind = recall.TurnStart.SILENT if silent else recall.TurnStart.TURN
        turn = self._turns.start(view, kind, inside, mark, request=request, is_tool_result=is_tool_result)
        start = since if since is not None else min((row.sequence for row in inside[:window]), default=0)
        opened = OpenTurn(
            id=secrets.token_hex(16),
            turn=turn,
            nonce=fresh_nonce(),
            start=start,
            request=None if request is None else whereabouts(request, desk, walk),
            owner=owner,
            used_at=self._clock(),
            saved=mark,
        )
        self._open[opened.id] = opened
        if mark is None and kept is not None and inside and kept.sequence < inside[0].sequence and not silent:
            await self._keep(opened, kept)  # so that the next turn has what this one may never be told
        while len(self._open) > TURNS_OPEN:
            self._settle(min(self._open.values(), key=lambda one: one.used_at))
        return opened

    def find(self, turn_id: str) -> OpenTurn:
        """Return an open turn by its id, and renew its lease. Raises `TurnUnknown`."""
        self.sweep()
        turn = self._open.get(turn_id)
        if turn is None:
            raise TurnUnknown
        turn.used_at = self._clock()
        return turn

    def is_held(self, turn: OpenTurn) -> bool:
        """Say whether the rows that opened a turn are pinned."""
        return self._turns.is_held(turn.turn)

    async def compile(self, turn: OpenTurn, desk: OpenDesk, request: CompileRequest) -> Compiled:
        """Compile the context of a turn; what it has put before the model is kept, unless it is a preview.

        Budgets count the characters of the text that is returned. Raises `recall.CompilationError`, `TurnTooLong`,
        `recall.ReadError` and what a desk raises.
        """
        around = len(recall.render_frame(recall.Frame(HEADING, ()), turn.nonce))

        async def attempt(ranges: tuple[recall.RowRange, ...]) -> recall.Compilation:
            start = min((turn.start, *(pinned.first for pinned in ranges)))
            rows, whole = await read_from(desk, start)
            try:
                return recall.compile_context(
                    rows,
                    request.budget - around,
                    summaries=request.summaries,
                    pins=ranges,
                    tail=request.tail,
                    measure=_line_chars,
                    write=lambda part: recall.render_record(recall.part_record(part), turn.nonce, text_chars=None),
                    whole=whole,
                )
            except recall.OverBudget as error:
                raise recall.OverBudget(
                    budget=request.budget,
                    actual=error.actual + around,
                    pinned=error.pinned,
                    tail=error.tail,
                    uncovered=error.uncovered,
                ) from None

        compilation = await self._turns.compile(turn.turn, attempt, preview=request.preview)
        turn.used_at = self._clock()
        if not request.preview:
            await self._save(turn)
        text = recall.frame_compilation(compilation, turn.nonce, HEADING)
        return Compiled(compilation, text, self.is_held(turn))

    def close(self, turn_id: str) -> bool:
        """End a turn; says whether it was open. Twice is once."""
        turn = self._open.get(turn_id)
        if turn is not None:
            self._settle(turn)
        return turn is not None

    def close_of(self, owner: str) -> None:
        """End every turn of an owner that is gone."""
        for turn in [turn for turn in self._open.values() if turn.owner == owner]:
            self._settle(turn)

    def sweep(self) -> None:
        """End the turns that nobody came back to."""
        now = self._clock()
        for turn in [turn for turn in self._open.values() if now - turn.used_at >= LEASE_SECONDS]:
            _log.info("a turn was left: viewer=%s conversation=%s", turn.view.viewer, turn.view.conversation)
            self._settle(turn)

    def stop(self) -> None:
        """End every turn."""
        self._open.clear()
        self._turns.stop()

    def _settle(self, turn: OpenTurn) -> None:
        self._open.pop(turn.id, None)
        self._turns.settle(turn.turn)

    async def _save(self, turn: OpenTurn) -> None:
        mark = turn.turn.mark
        if mark is not None and mark != turn.saved:
            await self._keep(turn, mark)

    async def _keep(self, turn: OpenTurn, mark: recall.ReadMark) -> None:
        try:
            await self._marks.save_mark(turn.view, mark)
        except Refusal:  # the rows are then unread for the next turn, which pins them again
            _log.warning("a read mark was not kept: viewer=%s", turn.view.viewer)
        else:
            turn.saved = mark


def _line_chars(line: str) -> int:
    """Count a record with the end of its line."""
    return len(line) + 1


def _log_unpinned(turn: recall.Turn, refusal: recall.OverBudget) -> None:
    _log.info(
        "the inputs of a turn were unpinned: viewer=%s conversation=%s budget=%d actual=%d",
        turn.view.viewer,
        turn.view.conversation,
        refusal.budget,
        refusal.actual,
    )
