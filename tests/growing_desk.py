"""A desk that grows while a turn runs, as a channel does."""

from __future__ import annotations

from collections.abc import Sequence

from recall_bot.queries import LeftOut, OpenDesk

from recall import Author, Conversation, LogMessage, SessionPage
from tests.marked import ALICE, row

DESK = Conversation("desk", "general")


class GrowingDesk:
    """Hold rows that are written one after the other, and say how often they were read."""

    def __init__(self, first: int = 10) -> None:
        self._first = first
        self.rows: list[LogMessage] = []
        self.reads = 0
        self.left_out: Sequence[LeftOut] = ()

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        self.reads += 1
        older = [found for found in reversed(self.rows) if before is None or found.sequence < before]
        page = tuple(older[:limit])
        return SessionPage(page, page[-1].sequence if len(older) > limit else None)

    def say(self, content: str, author: Author = ALICE) -> int:
        number = self.rows[-1].sequence + 10 if self.rows else self._first
        self.rows.append(row(number, content, author))
        return number

    def delete(self, sequence: int) -> None:
        self.rows = [kept for kept in self.rows if kept.sequence != sequence]

    @property
    def desk(self) -> OpenDesk:
        return OpenDesk(self, DESK, left_out=self.left_out)
