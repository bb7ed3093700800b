"""Ask once more whether rows may be shown, when the answer is made: reading them may have taken minutes."""

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
    """Say of each row whether it may be shown, by the asker's rights at this moment.

    `place`: where every row of the desk stands or falls with; None for a desk of many places, each with its own.
    """

    def __init__(self, reads: Reads, asker: Asker, clock: Callable[[], float], place: Place | None) -> None:
        self._reads = reads
        self._asker = asker
        self._clock = clock
        self._place = place
        self._member: discord.Member | None = None
        self._fresh_until: float | None = None
        self._verdicts: dict[str | None, bool] = {}

    async def may_show(self, row: recall.LogMessage) -> bool:
        """Ask for the asker's roles again, then for their rights in the place of a row.

        Raises `Unavailable` when that cannot be known now.
        """
        guild = self._reads.guild_now(self._asker.guild)
        if self._fresh_until is None or self._clock() >= self._fresh_until:
            self._member = None if guild is None else await self._ask(guild)
            self._verdicts.clear()
            self._fresh_until = self._clock() + ACCESS_FRESH_SECONDS
        key = row.chat_id if self._place is None else None
        if key not in self._verdicts:
            self._verdicts[key] = await self._judge(guild, row)
        return self._verdicts[key]

    async def _judge(self, guild: discord.Guild | None, row: recall.LogMessage) -> bool:
        place_id = int(row.chat_id or 0) if self._place is None else self._place.id
        place = None if guild is None else guild.get_channel_or_thread(place_id)
        if place is None and isinstance(self._place, discord.Thread) and self._place.guild is guild:
            place = self._place  # archived ones are not kept
        if guild is None or self._member is None or not is_place(place):
            return False
        return await may_read(place, guild.me) and await Asker(self._member, self._asker.here).may_read(place)

    async def _ask(self, guild: discord.Guild) -> discord.Member | None:
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
