"""List the messages of a desk that are longer than its budget."""

from __future__ import annotations

from dataclasses import dataclass

import recall

from .desk import AnswerCoverage, OpenDesk, coverage_of, read


class Overrun(recall.Value, frozen=True):
    """Say by how many characters one message exceeds the budget."""

    sequence: recall.Sequence
    chat_id: str | None
    author: recall.Author
    characters: int
    over: int


@dataclass(frozen=True, slots=True)
class OverrunsAnswer:
    """Hold the messages over the budget, newest first."""

    overruns: tuple[Overrun, ...]
    coverage: AnswerCoverage


async def overruns(desk: OpenDesk, policy: recall.BrevityPolicy, *, scan: int) -> OverrunsAnswer:
    """List the messages of a desk that exceed the budget. Raises `recall.ReadError`."""
    walk = await read(desk, scan=scan)
    found = tuple(
        Overrun(row.sequence, row.chat_id, row.author, len(row.content), over)
        for row in walk.rows
        if (desk.conversation is None or desk.conversation.holds(row)) and (over := policy.overrun(row.content))
    )
    return OverrunsAnswer(found, coverage_of(desk, walk.coverage))
