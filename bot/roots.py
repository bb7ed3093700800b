"""Read single messages, and put the message that a thread was started from where a reader expects it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import discord

import recall

from .access import Readable
from .errors import Unavailable
from .failures import wrapped_answers
from .links import SNOWFLAKE_BOUND
from .rows import Identity, unnamed_row_of

UNKNOWN_MESSAGE: Final = 10008  # Discord's code


class ThreadLog:
    """Be the history of a public thread of a text channel, down to the message it was started from.

    That message is the thread's root and stands in the parent channel. `log` is the thread's own history and
    `read_root` reads the root, null where there is none: one request more, made only at the thread's beginning.
    """

    def __init__(
        self, log: recall.SessionLog, root: int, read_root: Callable[[], Awaitable[recall.LogMessage | None]]
    ) -> None:
        self._log = log
        self._root = root
        self._read_root = read_root
        self._only_root_below: int | None = None

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return rows of the thread, and at its beginning its root."""
        if limit <= 0 or (before is not None and before <= self._root):
            return recall.SessionPage(())
        rows: tuple[recall.LogMessage, ...] = ()
        if before is None or before != self._only_root_below:
            page = await self._log.read_before(before, limit)
            rows = page.messages
            if page.next_before is not None:
                return page
            self._only_root_below = rows[-1].sequence if rows else None
        if len(rows) < limit:
            try:
                root = await self._read_root()
            except Unavailable as failure:
                if not rows:
                    raise recall.WalkStopped(failure.kind) from failure
            else:
                return recall.SessionPage(rows if root is None else (*rows, root))
        return recall.SessionPage(rows, self._only_root_below)


async def read_message(
    channel: Readable, sequence: int, *, identity: Identity, seconds: float
) -> recall.LogMessage | None:
    """Return the row of one message of a channel, without names; None when it is gone, or no row. One request.

    Raises `Unavailable` when it cannot be known within `seconds`.
    """
    if not 0 < sequence < SNOWFLAKE_BOUND:
        return None
    try:
        async with asyncio.timeout(seconds):
            with wrapped_answers():
                message = await channel.fetch_message(sequence)
    except TimeoutError:
        raise Unavailable("discord_down") from None
    except Unavailable as failure:
        if isinstance(failure.__cause__, discord.NotFound) and failure.__cause__.code == UNKNOWN_MESSAGE:
            return None
        raise
    return unnamed_row_of(message, identity=identity)
