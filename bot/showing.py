"""Say of each row whether it may be shown to somebody, by their rights at this moment.

Rights are asked before a read, and here once more when the answer is made: a role that was lost while history was
read counts. The asker is fetched from Discord for it, once in `ACCESS_FRESH_SECONDS`, for all places of an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import discord

import recall

from .access import Asker, Place, is_place, may_read
from .errors import Unavailable
from .failures import wrapped_errors
from .pages import Reads
from .single_rows import ROW_SECONDS

ACCESS_FRESH_SECONDS: Final = 5  # how long an access check stands while one answer is put together


class Showing:
    """Decide for one asker. `place_of` names the place that a row stands or falls with; None: it is not shown."""

    def __init__(
        self,
        reads: Reads,
        place_of: Callable[[recall.LogMessage], Place | None],
        asker: Asker,
        clock: Callable[[], float],
    ) -> None:
        self._reads = reads
        self._place_of = place_of
        self._asker = asker
        self._clock = clock
        self._member: discord.Member | None = None
        self._verdicts: dict[int, bool] = {}
        self._fresh_until: float | None = None

    async def may_show(self, row: recall.LogMessage) -> bool:
        """Ask for the asker's roles again, then for their rights in the row's place.

        Raises `Unavailable` when that cannot be known now.
        """
        place = self._place_of(row)
        if place is None:
            return False
        if self._fresh_until is None or self._clock() >= self._fresh_until:
            self._member = await self._fetch()
            self._verdicts.clear()
            self._fresh_until = self._clock() + ACCESS_FRESH_SECONDS
        if place.id not in self._verdicts:
            self._verdicts[place.id] = await self._ask(place)
        return self._verdicts[place.id]

    async def _fetch(self) -> discord.Member | None:
        """Return the asker as Discord has them now; None when they left, or the guild is not known any more."""
        guild = self._reads.guild_now(self._asker.guild)
        if guild is None:
            return None
        try:
            async with asyncio.timeout(ROW_SECONDS):
                with wrapped_errors():
                    return await guild.fetch_member(self._asker.member.id)
        except TimeoutError:
            raise Unavailable("discord_down") from None
        except Unavailable as failure:
            if isinstance(failure.__cause__, discord.NotFound):
                return None
            raise

    async def _ask(self, opened: Place) -> bool:
        if self._member is None:
            return False
        guild = self._member.guild
        place = guild.get_channel_or_thread(opened.id)
        if place is None and isinstance(opened, discord.Thread) and opened.guild is guild:
            place = opened  # archived ones are not kept
        if not is_place(place):
            return False
        return await may_read(place, guild.me) and await Asker(self._member, self._asker.here).may_read(place)
