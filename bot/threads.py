"""Know the public threads of a desk, as far down as a walk needs them.

Active threads are in discord.py's cache. Archived ones are listed by Discord, newest archived first, and a
thread's last message is never newer than its archiving; so a listing that has come down to an instant has
named every archived thread with a newer message. `ThreadList` reads it a page at a time, keeps what it has
learnt for later questions, and is told what changes meanwhile. A new gateway session voids it.

Discord's cursor is the time of archiving: threads archived at one instant may be parted by a page's edge, so
the next page is asked for from a millisecond above and known threads are passed over.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

import discord

from .failures import wrapped_errors
from .links import SNOWFLAKE_BOUND

LISTING_PAGE_SIZE: Final = 100  # the most that Discord gives in one answer

Parent: TypeAlias = discord.TextChannel | discord.ForumChannel
"""What can have public threads (announcement channels are text channels, media channels forums)."""


class ThreadReach(NamedTuple):
    """Name a thread, and an exclusive bound on the ids of its messages."""

    thread: discord.Thread
    bound: int


class ThreadList:
    """Hold the public threads of one desk. `complete_above`: every thread with a message from here up is known."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._archived: dict[int, discord.Thread] = {}
        self.stale = False  # whether active threads may have newer messages than the client was told of
        self._oldest_listed: discord.Thread | None = None
        self.complete_above = SNOWFLAKE_BOUND

    def reaches(self) -> list[ThreadReach]:
        """Return the threads known now, each with how far up its messages can reach."""
        known = {**self._archived, **{thread.id: thread for thread in self._parent.threads}}
        return [
            ThreadReach(thread, SNOWFLAKE_BOUND if self.stale and not thread.archived else _bound(thread))
            for thread in known.values()
            if not thread.is_private()
        ]

    def note(self, thread: discord.Thread) -> None:
        """Take in a thread that was just archived: the cache forgets it, and the listing came before."""
        self._archived[thread.id] = thread

    def forget(self, thread_id: int) -> None:
        """Let go of a thread that is gone."""
        self._archived.pop(thread_id, None)

    async def list_more(self) -> None:
        """Read one page of the listing further; one request, none when it is at its end.

        Raises `Unavailable`.
        """
        if not self.complete_above:
            return
        last = self._oldest_listed
        before = None if last is None else last.archive_timestamp + timedelta(milliseconds=1)
        with wrapped_errors():
            page = [thread async for thread in self._parent.archived_threads(limit=LISTING_PAGE_SIZE, before=before)]
        fresh = [thread for thread in page if thread.id not in self._archived]
        self._archived.update((thread.id, thread) for thread in page)
        if len(page) < LISTING_PAGE_SIZE or not fresh:
            self.complete_above = 0
            return
        self._oldest_listed = min(page, key=lambda thread: thread.archive_timestamp)
        self.complete_above = discord.utils.time_snowflake(self._oldest_listed.archive_timestamp, high=True) + 1


def _bound(thread: discord.Thread) -> int:
    """Return an exclusive bound on the ids of a thread's messages."""
    if thread.last_message_id is not None:
        return thread.last_message_id + 1
    return thread.id + 1 if thread.message_count == 0 else SNOWFLAKE_BOUND


class ThreadLists:
    """Hold the thread lists of all desks that somebody asked about."""

    def __init__(self) -> None:
        self._lists: dict[int, ThreadList] = {}
        self._stale = False

    def of(self, parent: Parent) -> ThreadList:
        """Return the list of a desk."""
        known = self._lists.setdefault(parent.id, ThreadList(parent))
        known.stale = self._stale
        return known

    def silent(self) -> None:
        """Take in that the gateway is interrupted: how far threads reach is not told any more."""
        self._stale = True

    def whole(self) -> None:
        """Take in that a gateway session is whole: what is known of threads is right again."""
        self._stale = False

    def archived(self, thread: discord.Thread) -> None:
        """Take in that a thread was archived."""
        if thread.parent_id in self._lists and not thread.is_private():
            self._lists[thread.parent_id].note(thread)

    def deleted(self, thread_id: int, parent_id: int) -> None:
        """Take in that a thread was deleted."""
        if parent_id in self._lists:
            self._lists[parent_id].forget(thread_id)

    def void(self, parent_id: int | None = None) -> None:
        """Forget the list of a desk, or every list: what changed was not told."""
        if parent_id is None:
            self._lists.clear()
        else:
            self._lists.pop(parent_id, None)
