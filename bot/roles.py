"""Know which roles somebody holds now: for those who vote by role, and for those whose pins and unpins are judged.

The client is not told of members and their roles, so Discord is asked, one request for each author, and what it
said stands for `ROLES_FRESH_SECONDS`, or as long as whoever asks will have it: turning a page asks nothing again.
"""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Callable
from typing import Final

import discord

from .errors import Unavailable
from .failures import wrapped_errors
from .forgetting import forget_oldest
from .single_rows import ROW_SECONDS

ROLES_FRESH_SECONDS: Final = 60.0  # a guess: a role that is taken counts no longer than that
ROLES_CONCURRENT: Final = 4  # requests under way at once, for each guild (a guess)
ROLES_KEPT: Final = 10_000  # members; who was asked for longest ago is forgotten first


class Roles:
    """Ask for roles. `clock` counts seconds and never goes back."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._gates: weakref.WeakValueDictionary[int, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._known: dict[tuple[int, str], tuple[discord.Member | None, float]] = {}

    async def of(self, guild: discord.Guild, author_id: str) -> frozenset[int]:
        """Return the ids of the roles that an author holds, none for one who is not in the guild. Raises `Unavailable`.

        The role of everybody has the guild's own id, and is among them.
        """
        member = await self.member(guild, author_id)
        return frozenset() if member is None else frozenset(role.id for role in member.roles)

    async def member(
        self, guild: discord.Guild, author_id: str, *, fresh_seconds: float = ROLES_FRESH_SECONDS
    ) -> discord.Member | None:
        """Return an author as a member, as Discord had them at most so long ago; None for one who is not in the guild.

        Raises `Unavailable`.
        """
        gate = self._gates.get(guild.id)
        if gate is None:
            gate = self._gates[guild.id] = asyncio.Semaphore(ROLES_CONCURRENT)
        async with gate:
            member, asked_at = self._known.pop((guild.id, author_id), (None, -math.inf))
            if asked_at + fresh_seconds <= self._clock():
                asked_at = self._clock()
                member = await self._ask(guild, int(author_id))
            self._known[guild.id, author_id] = member, asked_at
            forget_oldest(self._known, ROLES_KEPT)
        return member

    async def _ask(self, guild: discord.Guild, user_id: int) -> discord.Member | None:
        try:
            async with asyncio.timeout(ROW_SECONDS):
                with wrapped_errors():
                    return await guild.fetch_member(user_id)
        except TimeoutError:
            raise Unavailable("discord_down") from None
        except Unavailable as failure:
            if failure.kind == "gone":
                return None
            raise
