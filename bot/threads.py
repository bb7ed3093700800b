"""Know the public threads of a desk, as far down as a walk needs them.

Active threads are in discord.py's cache. Archived ones are listed by Discord, newest archived first, and a
thread's last message is never newer than its archiving; so a listing that has come down to an instant has
named every archived thread with a newer message. `ThreadList` reads it a page at a time, keeps what it has
learnt for later questions, and is told what changes meanwhile. A new gateway session voids it.

Discord's cursor is the time of archiving, exclusive: threads archived at one instant may be parted by a page's
edge. So the next page is asked for from a millisecond above, and threads are told apart by id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

import discord

import recall

from .bounds import Bounds
from .failures import wrapped_answers
from .forgetting import forget_oldest
from .links import SNOWFLAKE_BOUND

LISTING_PAGE_SIZE: Final = 100  # the most that Discord gives in one answer
LISTED_AGAIN: Final = timedelta(milliseconds=1)  # the precision of ids, and of what others may cut the time to
CLOCK_SLACK: Final = timedelta(seconds=1)  # how far Discord's clocks, which stamp ids and archivings, may differ
LISTS_KEPT: Final = 1_000  # desks; a list holds each of its threads

Parent: TypeAlias = discord.TextChannel | discord.ForumChannel
"""What can have public threads (announcement channels are text channels, media channels forums)."""


class ThreadReach(NamedTuple):
    """Name a thread, and an exclusive bound on the ids of its messages."""

    thread: discord.Thread
    bound: int


class ThreadList:
    """Hold the public threads of one desk. `complete_above`: every thread with a message from here up is known.

    `torn`: so many threads were archived at one instant that Discord cannot list them all.
    """

    def __init__(self, parent: Parent, bounds: Bounds) -> None:
        self.parent = parent
        self._bounds = bounds
        self._lock = asyncio.Lock()
        self._archived: dict[int, discord.Thread] = {}
        self._gone: set[int] = set()
        self._before: datetime | None = None  # the cursor of the next page
        self.stale = False  # whether active threads may have newer messages than the client was told of
        self.torn = False
        self.complete_above = SNOWFLAKE_BOUND

    @property
    def shard(self) -> int:
        """The shard that tells of the desk."""
        return self.parent.guild.shard_id

    def reaches(self) -> list[ThreadReach]:
        """Return the threads known now, each with how far up its messages can reach."""
        known = {**self._archived, **{thread.id: thread for thread in self.parent.threads}}
        return [
            ThreadReach(thread, SNOWFLAKE_BOUND if self.stale and not thread.archived else _bound(thread))
            for thread in known.values()
            if not thread.is_private() and thread.id not in self._gone
        ]

    def known(self) -> ThreadList:
        """Return the threads known now, as a list that asks Discord for no more."""
        known = ThreadList(self.parent, self._bounds)
        known._archived, known._gone, known.stale = dict(self._archived), set(self._gone), self.stale
        known.complete_above = 0
        return known

    def note(self, thread: discord.Thread) -> None:
        """Take in a thread that was just archived: the cache forgets it, and the listing came before."""
        self._archived[thread.id] = thread

    def forget(self, thread_id: int) -> None:
        """Let go of a thread that is gone; the client may go on to know it, if that happened in an outage."""
        self._archived.pop(thread_id, None)
        self._gone.add(thread_id)

    async def list_below(self, complete_above: int) -> None:
        """Read the listing one page below where it was complete; none if somebody else has done so meanwhile.

        Raises `Unavailable`, and `recall.CursorDidNotAdvance` when Discord answers with the same page again.
        """
        async with self._lock:
            if 0 < complete_above <= self.complete_above:
                await self._list_page()

    async def _list_page(self) -> None:
        listed = self.parent.archived_threads(limit=LISTING_PAGE_SIZE, before=self._before)
        async with self._bounds.request("threads", self.parent.id, self.parent.guild.id):
            with wrapped_answers():
                page = [thread async for thread in listed]
        self._archived.update((thread.id, thread) for thread in page)
        if len(page) < LISTING_PAGE_SIZE:
            self.complete_above = 0
            return
        oldest = min(thread.archive_timestamp for thread in page)
        before = oldest + LISTED_AGAIN
        if self._before is not None and before >= self._before:
            self.torn, before = True, oldest  # a whole page of one instant: all that is left is to step over it
        if self._before is not None and before >= self._before:
            raise recall.CursorDidNotAdvance(before=_snowflake(self._before), next_before=_snowflake(before))
        self._before = before
        self.complete_above = min(self.complete_above, _snowflake(oldest + CLOCK_SLACK))


def _snowflake(instant: datetime) -> int:
    """Return an exclusive bound on the ids made until an instant."""
    return discord.utils.time_snowflake(instant, high=True) + 1


def _bound(thread: discord.Thread) -> int:
    """Return an exclusive bound on the ids of a thread's messages."""
    if thread.last_message_id is not None:
        return thread.last_message_id + 1
    return thread.id + 1 if thread.message_count == 0 else SNOWFLAKE_BOUND


class ThreadLists:
    """Hold the thread lists of all desks that somebody asked about; `bounds` are those of all questions.

    `hears` says whether a shard is connected as far as its socket knows.
    """

    def __init__(self, bounds: Bounds | None = None, *, hears: Callable[[int], bool] = lambda _: True) -> None:
        self._bounds = bounds or Bounds()
        self._hears = hears
        self._lists: dict[int, ThreadList] = {}  # the one asked about last comes last
        self._silent: set[int] = set()

    def of(self, parent: Parent) -> ThreadList:
        """Return the list of a desk; one that is read anew, and not kept, while nothing is told of its threads."""
        if not self.hears(parent.guild):
            unheard = ThreadList(parent, self._bounds)
            unheard.stale = True
            return unheard
        known = self._lists.pop(parent.id, None)
        if known is None or known.parent is not parent:  # a client that connects anew makes channels anew
            known = ThreadList(parent, self._bounds)
        self._lists[parent.id] = known
        forget_oldest(self._lists, LISTS_KEPT)
        return known

    def hears(self, guild: discord.Guild) -> bool:
        """Say whether what happens in a guild is told now."""
        return guild.shard_id not in self._silent and self._hears(guild.shard_id) and not guild.unavailable

    def silent(self, shard: int) -> None:
        """Take in that the gateway of a shard is interrupted: how far threads reach is not told any more."""
        self._silent.add(shard)

    def whole(self, shard: int) -> None:
        """Take in that the gateway of a shard has told all that it had to: what is known of threads is right again."""
        self._silent.discard(shard)

    def renewed(self, shard: int) -> None:
        """Take in a gateway session that did not resume: what changed before it was not told."""
        self._silent.discard(shard)
        self._lists = {id_: known for id_, known in self._lists.items() if known.shard != shard}

    def archived(self, thread: discord.Thread) -> None:
        """Take in that a thread was archived."""
        if thread.parent_id in self._lists and not thread.is_private():
            self._lists[thread.parent_id].note(thread)

    def deleted(self, thread_id: int, parent_id: int) -> None:
        """Take in that a thread was deleted."""
        if parent_id in self._lists:
            self._lists[parent_id].forget(thread_id)

    def void(self, parent_id: int) -> None:
        """Forget the list of a desk: what changed was not told."""
        self._lists.pop(parent_id, None)
