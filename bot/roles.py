"""Know which roles somebody holds now, for those who vote by role.

The client is not told of members and their roles, so Discord is asked, one request for each author, and what it
said stands for `ROLES_FRESH_SECONDS`: turning a page asks nothing again.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Final

import discord

from .errors import Unavailable
from .failures import wrapped_errors
from .single_rows import ROW_SECONDS

ROLES_FRESH_SECONDS: Final = 60.0  # a guess: a role that is taken counts no longer than that
ROLES_CONCURRENT: Final = 4  # requests under way at once, for each guild (a guess)
ROLES_KEPT: Final = 10_000  # members; who was asked for longest ago is forgotten first


class Roles:
    """Ask for roles. `clock` counts seconds and never goes back."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._gates: weakref.WeakValueDictionary[int, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._known: dict[tuple[int, str], tuple[frozenset[int], float]] = {}

    async def of(self, guild: discord.Guild, author_id: str) -> frozenset[int]:
        """Return the ids of the roles that an author holds, none for one who is not in the guild. Raises `Unavailable`.

        The role of everybody has the guild's own id, and is among them.
        """
        known = self._known.get((guild.id, author_id))
        if known is not None and known[1] > self._clock():
            return known[0]
        gate = self._gates.get(guild.id)
        if gate is None:
            gate = self._gates[guild.id] = asyncio.Semaphore(ROLES_CONCURRENT)
        async with gate:
            roles = await self._ask(guild, int(author_id))
        self._known.pop((guild.id, author_id), None)
        self._known[guild.id, author_id] = roles, self._clock() + ROLES_FRESH_SECONDS
        while len(self._known) > ROLES_KEPT:
            del self._known[next(iter(self._known))]
        return roles

    async def _ask(self, guild: discord.Guild, user_id: int) -> frozenset[int]:
        try:
            async with asyncio.timeout(ROW_SECONDS):
                with wrapped_errors():
                    member = await guild.fetch_member(user_id)
        except TimeoutError:
            raise Unavailable("discord_down") from None
        except Unavailable as failure:
            if failure.kind == "gone":
                return frozenset()
            raise
        return frozenset(role.id for role in member.roles)
