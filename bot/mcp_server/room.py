"""What the tools of a server work with: its source, its open turns, its matcher, and how many may ask at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import recall

from ..config import Config
from ..queries import ExpressionMatcher
from ..times import utc_now
from ..turn_keeping import TurnKeeper
from .arguments import BadArgument, Given, author_of
from .sources import OpenPlace, Source

QUESTIONS_AT_ONCE: Final = 4  # of all clients together; who comes fifth waits


@dataclass(frozen=True, slots=True)
class Room:
    """Hold what the tools work with."""

    config: Config
    source: Source
    turns: TurnKeeper
    matcher: ExpressionMatcher
    now: Callable[[], datetime] = utc_now
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUESTIONS_AT_ONCE))

    @asynccontextmanager
    async def open(self, channel: str | None, *, after: int | None = None) -> AsyncIterator[OpenPlace]:
        """Open a place for one question, when it is its turn. Raises what the source raises."""
        async with self._gate, self.source.open(channel, after=after) as place:
            yield place

    def viewer(self, given: Given | None) -> recall.Author:
        """Return whose turn it is: the author that was given, else the one that is configured. Raises `BadArgument`."""
        viewer = author_of(given, "viewer") if given is not None else str(self.config.mcp.identity or "")
        if not viewer:
            raise BadArgument("viewer", "is missing: no author is configured for this server, as mcp.identity")
        return recall.AgentAuthor(viewer, viewer)
