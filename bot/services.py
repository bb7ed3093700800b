"""What the commands are given: no global, nothing read at import, everything owned by the cog."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from .errors import Busy, CoolingDown, GuildBusy
from .forgetting import forget_oldest

if TYPE_CHECKING:
    from .config import Config
    from .desks import Desks
    from .mirror import Mirror
    from .posting import Posts
    from .queries import ExpressionMatcher
    from .recent import Recent
    from .state import State

MEMBERS_REMEMBERED = 10_000  # last questions kept for the cooldown; the oldest are forgotten first


class Walks:
    """Admit walks over history: one at a time for each member, a cap for each guild, a cooldown between.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, *, guild_walks: int, clock: Callable[[], float]) -> None:
        self._guild_walks = guild_walks
        self._clock = clock
        self._walking: set[tuple[int, int]] = set()
        self._guilds: dict[int, int] = {}
        self._last: dict[tuple[int, int], float] = {}
        self._nobody = asyncio.Event()
        self._nobody.set()

    async def quiet(self) -> None:
        """Wait until nobody walks."""
        await self._nobody.wait()

    @asynccontextmanager
    async def admit(self, guild_id: int, member_id: int, *, cooldown_seconds: float = 0) -> AsyncIterator[None]:
        """Hold a place for one walk; raises `Busy` at once where there is none."""
        asker = (guild_id, member_id)
        wait = self._last.get(asker, -math.inf) + cooldown_seconds - self._clock()
        if wait > 0:
            raise CoolingDown(math.ceil(wait))
        if asker in self._walking:
            raise Busy
        if self._guilds.get(guild_id, 0) >= self._guild_walks:
            raise GuildBusy
        self._walking.add(asker)
        self._nobody.clear()
        self._guilds[guild_id] = self._guilds.get(guild_id, 0) + 1
        try:
            yield
        finally:
            self._walking.discard(asker)
            if not self._walking:
                self._nobody.set()
            self._guilds[guild_id] -= 1
            if not self._guilds[guild_id]:
                del self._guilds[guild_id]
            self._last.pop(asker, None)
            self._last[asker] = self._clock()
            forget_oldest(self._last, MEMBERS_REMEMBERED)


@dataclass(frozen=True, slots=True)
class Services:
    """Hold what a command works with."""

    config: Config
    desks: Desks
    matcher: ExpressionMatcher
    recent: Recent
    walks: Walks
    now: Callable[[], datetime]
    state: State
    mirror: Mirror | None
    posts: Posts

    def is_enabled(self, place_ids: Sequence[int]) -> bool:
        """Say whether Recall may act unasked in a place, given as a thread and its parent, or a channel alone.

        What was switched by command counts before the configuration.
        """
        switched = self.state.switched(place_ids)
        return self.config.is_enabled(place_ids) if switched is None else switched
