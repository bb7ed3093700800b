"""Tell the mirror what the gateway tells, as it is told.

Every method is synchronous and is called before its listener awaits anything, so that events are noted in the
order in which they came. What a mirrored place is told of is noted; for every other place there is nothing to
bring up to date, and nothing is stored that nobody asked about.
"""

from __future__ import annotations

from collections.abc import Iterable

import discord

import recall

from .mirror import Created, Deleted, Edited, Event, Mirror, Unlisted, Withheld
from .rows import Identity, row_of


class Ingest:
    """Note messages, edits and deletions. `never_store`: author ids whose messages are dropped here."""

    def __init__(self, mirror: Mirror, *, identity: Identity, never_store: frozenset[str]) -> None:
        self._mirror = mirror
        self._identity = identity
        self._never_store = never_store

    def created(self, message: discord.Message) -> None:
        """Note a new message."""
        self._note(message, new=True)

    def edited(self, message: discord.Message) -> None:
        """Note what a message reads now; unfurled links and other changes are no harm."""
        self._note(message, new=False)

    def deleted(self, channel_id: int, message_ids: Iterable[int]) -> None:
        """Note deletions."""
        for message_id in message_ids:
            self._mirror.note(Deleted(channel_id, message_id))

    def _note(self, message: discord.Message, *, new: bool) -> None:
        if message.flags.ephemeral:  # such a message has no guild, and no place in a history
            return
        row = row_of(message, identity=self._identity)
        place_id = message.channel.id
        event: Event
        if row is None:
            event = Unlisted(place_id, message.id)
        elif recall.author_id(row.author) in self._never_store:
            event = Withheld(place_id, message.id)
        else:
            event = Created(place_id, row) if new else Edited(place_id, row)
        self._mirror.note(event)
