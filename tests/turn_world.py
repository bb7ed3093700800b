"""A small host for turns: rows that are written one after the other, pins in memory, and a record of what happened."""

from __future__ import annotations

from collections.abc import Callable

from recall import (
    TURN_INPUTS,
    Author,
    Compilation,
    HeldPins,
    LogMessage,
    OverBudget,
    ReadMark,
    RowRange,
    Summary,
    Turn,
    Turns,
    TurnStart,
    Viewpoint,
    compile_context,
)
from tests.marked import ALICE, SCOUT, row

TOOL = "tool: "
CHUNK_ROWS = 4

HERE = Viewpoint(viewer="scout", conversation="desk")


class World:
    """Hold a conversation of `scout` and others. With `pinning` off, the host has no pins for turns to use."""

    def __init__(self, *, pinning: bool = True) -> None:
        self.pins = HeldPins()
        self.logged: list[OverBudget] = []
        self.turns = Turns(self.pins if pinning else None, on_unpinned=lambda _, refusal: self.logged.append(refusal))
        self.rows: list[LogMessage] = []
        self.unseen: set[int] = set()
        self.marks: dict[Viewpoint, ReadMark | None] = {}
        self.attempts: list[bool] = []

    def say(self, content: str, author: Author = ALICE) -> int:
        self.rows.append(row(10 * (len(self.rows) + 1), content, author))
        return self.rows[-1].sequence

    def delete(self, sequence: int) -> None:
        self.rows = [kept for kept in self.rows if kept.sequence != sequence]

    def read_all(self, view: Viewpoint = HERE) -> None:
        self.marks[view] = ReadMark(view.branch, self.rows[-1].sequence)

    def start(self, kind: TurnStart = TurnStart.TURN, view: Viewpoint = HERE, *, request: int | None = None) -> Turn:
        return self.turns.start(
            view,
            kind,
            reversed(self.rows),
            self.marks.get(view),
            request=request,
            sees=self.sees,
            is_tool_result=lambda found: found.content.startswith(TOOL),
        )

    def sees(self, found: LogMessage) -> bool:
        return found.sequence not in self.unseen

    def pinned(self, view: Viewpoint = HERE) -> list[tuple[int, int]]:
        return [pin.range for pin in self.pins.listed(view) if pin.name == TURN_INPUTS]

    async def compile(
        self, turn: Turn, budget: int = 20_000, tail: int = 6_000, *, preview: bool = False, summed_up: bool = True
    ) -> Compilation:
        async def attempt(ranges: tuple[RowRange, ...]) -> Compilation:
            self.attempts.append(bool(self.pinned(turn.view)))
            return self.compiled(ranges, budget, tail, summed_up=summed_up)

        compilation = await self.turns.compile(turn, attempt, preview=preview)
        if not preview:
            self.marks[turn.view] = turn.mark
        return compilation

    def compiled(self, ranges: tuple[RowRange, ...], budget: int, tail: int, *, summed_up: bool = True) -> Compilation:
        summaries = self.summaries() if summed_up else ()
        return compile_context(filter(self.sees, self.rows), budget, summaries=summaries, pins=ranges, tail=tail)

    def summaries(self) -> tuple[Summary, ...]:
        """Sum up each four rows that are seen, from the first on."""
        seen = list(filter(self.sees, self.rows))
        chunks = [seen[start : start + CHUNK_ROWS] for start in range(0, len(seen), CHUNK_ROWS)]
        return tuple(Summary(chunk[0].sequence, chunk[-1].sequence, f"{len(chunk)} rows") for chunk in chunks)

    async def rounds(self, turn: Turn, count: int, check: Callable[[Compilation], None] = lambda _: None) -> None:
        """Let a turn think, use its tools and compile again, `count` times."""
        for number in range(count):
            self.say(f"thought {number} ".ljust(500, "."), SCOUT)
            self.say(f"{TOOL}result {number} ".ljust(1_500, "."))
            check(await self.compile(self.start(TurnStart.ROUND, turn.view)))
