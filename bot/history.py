"""Read one channel or thread from Discord, newest row first, as a `recall.SessionLog`.

Discord answers with at most 100 messages at once, and not every message is a row. So pages are joined to what
was asked for, what came too much is kept for the next call, and a page without any row is read past. A walk
over n rows costs n ÷ 100 requests, and one that is asked for a single row fetches a single message.

Without Read Message History, Discord answers with an empty page and no error. An empty page is therefore the
beginning of history only where that right is held.

    log = HistoryLog(channel, identity=identity, deadline=loop.time() + 60)
    walk = await recall.walk_log(log, scan=2048)

A failure before anything was read is `Unavailable`, with a kind that a user can be told. After that it ends
the walk with what was read, as does the deadline: the answer's coverage then says `no_permission`, `gone`,
`rate_limited`, `discord_down` or `time`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

import discord

import recall

from .access import Readable, known_right
from .errors import Unavailable
from .failures import wrapped_errors
from .links import SNOWFLAKE_BOUND
from .rows import Identity, row_of

MESSAGE_PAGE_SIZE: Final = 100  # the most that Discord gives in one answer
STOPPED_AT_DEADLINE: Final = "time"
UNKNOWN_MESSAGE: Final = 10008  # Discord's code

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """Say how far a walk has come: rows read, and when the oldest message it met was sent."""

    rows: int
    oldest: datetime


def loop_time() -> float:
    """Return the running loop's clock, by which `asyncio` measures its timeouts."""
    return asyncio.get_running_loop().time()


class HistoryLog:
    """Be the history of one channel or thread. One walk at a time; a log is made for each question.

    `after`: a sequence at which whoever reads will end, so that nothing is fetched below it in vain.
    `deadline`: the instant on `clock` (seconds) at which the walk ends with what it has; None: never.
    `on_progress` is called after each request that brought messages.
    """

    def __init__(
        self,
        channel: Readable,
        *,
        identity: Identity,
        after: int | None = None,
        deadline: float | None = None,
        clock: Callable[[], float] = loop_time,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._channel = channel
        self._identity = identity
        self._after = after
        self._deadline = deadline
        self._clock = clock
        self._on_progress = on_progress
        self._begin(None)

    def _begin(self, before: int | None) -> None:
        """Start a walk: nothing is kept and nothing was served yet."""
        self._expected: int | Literal["nothing"] | None = before  # the cursor that goes on with this walk
        self._cursor = None if before is None or before >= SNOWFLAKE_BOUND else before  # the oldest message fetched
        self._kept: list[recall.LogMessage] = []
        self._served = 0
        self._at_beginning = before is not None and before <= 1
        self._failure: Unavailable | recall.WalkStopped | None = None

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        """Return the newest `limit` rows older than `before`; fewer at the beginning, at `after`, or on failure.

        Raises `Unavailable` when the first request fails, `recall.WalkStopped` when a later one does or the
        deadline is reached, and `recall.CursorDidNotAdvance` when Discord answers with the same page again.
        """
        if limit <= 0:
            return recall.SessionPage(())
        if before != self._expected:
            self._begin(before)
        rows = self._kept
        spent = len(rows)
        while len(rows) < limit and not self._at_beginning and not (rows and self._is_past(self._after)):
            size = MESSAGE_PAGE_SIZE
            if limit < recall.PAGE_SIZE and spent < limit:  # a walk asks for less only at its end
                size = min(size, limit - spent)
            try:
                messages = await self._fetch(size)
            except (Unavailable, recall.WalkStopped) as failure:
                self._failure = failure
                break
            spent += len(messages)
            rows.extend(row for message in messages if (row := row_of(message, identity=self._identity)) is not None)
            if messages and self._on_progress is not None:
                self._on_progress(Progress(self._served + min(len(rows), limit), messages[-1].created_at))
        page, self._kept = tuple(rows[:limit]), rows[limit:]
        self._served += len(page)
        if self._failure is not None and not page:
            self._expected = "nothing"
            if isinstance(self._failure, Unavailable) and self._served:
                raise recall.WalkStopped(self._failure.kind) from self._failure
            raise self._failure
        if self._at_beginning and not self._kept:
            self._expected = "nothing"
            return recall.SessionPage(page, None)
        self._expected = page[-1].sequence if self._kept else self._cursor
        return recall.SessionPage(page, self._expected)

    def _is_past(self, after: int | None) -> bool:
        """Say whether every message newer than `after` was fetched."""
        return after is not None and self._cursor is not None and self._cursor <= after + 1

    async def _fetch(self, size: int) -> list[discord.Message]:
        """Return the next `size` messages, fewer only at the beginning, and move the cursor."""
        if self._failure is not None:
            raise self._failure
        left = None if self._deadline is None else self._deadline - self._clock()
        if left is not None and left <= 0:
            raise recall.WalkStopped(STOPPED_AT_DEADLINE)
        before = None if self._cursor is None else discord.Object(self._cursor)
        try:
            async with asyncio.timeout(left):
                with wrapped_errors():
                    messages = [message async for message in self._channel.history(limit=size, before=before)]
        except TimeoutError:
            raise recall.WalkStopped(STOPPED_AT_DEADLINE) from None
        except Unavailable as failure:
            cause = failure.__cause__
            status = getattr(cause, "status", None)
            _log.warning("history of %s: %s (%s, %s)", self._channel.id, failure.kind, type(cause).__name__, status)
            raise
        if messages:
            oldest = messages[-1].id
            if self._cursor is not None and oldest >= self._cursor:
                raise recall.CursorDidNotAdvance(before=self._cursor, next_before=oldest)
            self._cursor = oldest
        elif known_right(self._channel, self._channel.guild.me) is False:
            raise Unavailable("no_permission")
        self._at_beginning = len(messages) < size
        return messages


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
    """Return the row of one message of a channel; None when it is gone, or no row. One request.

    Raises `Unavailable` when it cannot be known within `seconds`.
    """
    if not 0 < sequence < SNOWFLAKE_BOUND:
        return None
    try:
        async with asyncio.timeout(seconds):
            with wrapped_errors():
                message = await channel.fetch_message(sequence)
    except TimeoutError:
        raise Unavailable("discord_down") from None
    except Unavailable as failure:
        if isinstance(failure.__cause__, discord.NotFound) and failure.__cause__.code == UNKNOWN_MESSAGE:
            return None
        raise
    return row_of(message, identity=identity)
