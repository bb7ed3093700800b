"""Bound what all questions together ask of Discord.

A guild has at most `HISTORY_CONCURRENT_READS` requests for its history under way. And what has just said 403 is
not asked again for `REFUSED_SECONDS`, by nobody: Discord bans an address for a pile of refused requests.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal, NamedTuple

import discord

from .errors import Unavailable

HISTORY_CONCURRENT_READS: Final = 4  # requests under way at once, for each guild (a guess)
REFUSED_SECONDS: Final = 60.0


class _Refused(NamedTuple):
    guild_id: int
    until: float


class Bounds:
    """Admit requests for messages and for lists of threads. `clock` counts seconds (`time.monotonic`)."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guilds: weakref.WeakValueDictionary[int, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._refused: dict[tuple[str, int], _Refused] = {}

    @asynccontextmanager
    async def request(self, what: Literal["messages", "threads"], place_id: int, guild_id: int) -> AsyncIterator[None]:
        """Hold a place for one request of a channel or thread, and remember when it is refused.

        Raises `Unavailable` at once, without waiting, for what was refused a short while ago.
        """
        gate = self._guilds.get(guild_id)
        if gate is None:
            gate = self._guilds[guild_id] = asyncio.Semaphore(HISTORY_CONCURRENT_READS)
        self._check(what, place_id)
        async with gate:
            self._check(what, place_id)  # whoever was before us may have been refused
            try:
                yield
            except Unavailable as failure:
                if isinstance(failure.__cause__, discord.Forbidden):
                    self._remember(what, place_id, guild_id)
                raise

    def forgive(self, guild_id: int | None = None) -> None:
        """Ask again for what a guild, or any, has refused: our rights in it may have changed."""
        kept = {key: refused for key, refused in self._refused.items() if guild_id not in {None, refused.guild_id}}
        self._refused = kept

    def _check(self, what: str, place_id: int) -> None:
        refused = self._refused.get((what, place_id))
        if refused is not None and refused.until > self._clock():
            raise Unavailable("no_permission")

    def _remember(self, what: str, place_id: int, guild_id: int) -> None:
        now = self._clock()
        self._refused = {key: refused for key, refused in self._refused.items() if refused.until > now}
        self._refused[what, place_id] = _Refused(guild_id, now + REFUSED_SECONDS)
