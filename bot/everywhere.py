"""Open everything that somebody may read as one desk, for a search.

These are the channels and forums of the guild, each with its public threads, and the private threads that are
known and that the asker may read; all of them readable by the bot too, and by the age rule from where the question
is asked. Who is in a private thread has to be asked of Discord, so at most `PRIVATE_THREADS` are, the liveliest.
Archived private threads are not known here; each can be named.
"""

from __future__ import annotations

import asyncio
from typing import Final

import discord

from .access import Asker, Place, is_place, is_told
from .merging import SEARCH_CHANNELS

PRIVATE_THREADS: Final = 25  # that one question asks Discord about, a request each (a guess)


def known_places(asker: Asker) -> list[Place]:
    """Return the channels and threads that an asker may read, as far as that is known without asking Discord."""
    known = (*asker.guild.channels, *asker.guild.threads)
    return [place for place in known if is_place(place) and asker.may_complete(place)]


async def places_for(asker: Asker) -> list[Place]:
    """Return the desks that an asker may read from where they ask, and the bot too."""
    guild = asker.guild
    known = (*guild.channels, *(thread for thread in guild.threads if thread.is_private()))
    rights = [(place, asker.known_right(place)) for place in known if is_place(place) and is_told(guild, place.id)]
    asked = [place for place, right in rights if right is None and isinstance(place, discord.Thread)]
    asked.sort(key=lambda thread: (thread.id != asker.here.id, -(thread.last_message_id or thread.id)))
    room = asyncio.Semaphore(SEARCH_CHANNELS)

    async def may_read(thread: discord.Thread) -> bool:
        async with room:
            return await asker.may_read(thread)

    asked = asked[:PRIVATE_THREADS]
    may = await asyncio.gather(*(may_read(thread) for thread in asked))
    return [
        *(place for place, right in rights if right),
        *(thread for thread, right in zip(asked, may, strict=True) if right),
    ]
