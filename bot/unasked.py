"""Do what nobody asked for by a command: notices of length, reactions to markers, answers to question lines.

All of it happens only in channels that are switched on, and each of the three holds to bounds of its own, whose
surplus is dropped. Whatever is told here in the order of the gateway is looked at in that order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

import discord

from .acknowledge import Acknowledgements
from .desks import address_reader
from .lines.watch import Lines
from .notices import Notices
from .places import place_ids
from .rows import Identity, row_of
from .texts import Texts

if TYPE_CHECKING:
    import recall

    from .services import Services


class Unasked:
    """Watch messages of every channel. `identity` knows our own, `application_id` whose webhooks are ours.

    `sleep` waits for a message to be still, `clock` counts seconds and never goes back.
    """

    def __init__(
        self,
        services: Services,
        *,
        identity: Callable[[], Identity],
        application_id: Callable[[], int | None],
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], float],
    ) -> None:
        self._services = services
        self._identity = identity
        self._application_id = application_id
        self._notices = Notices(services.config, sleep=sleep, clock=clock)
        self._acknowledgements = Acknowledgements(services.config, clock=clock)
        self._lines = Lines(services, sleep=sleep, clock=clock)
        self._texts = Texts()

    async def created(self, message: discord.Message, *, replayed: bool) -> None:
        """Look at a new message; `replayed`: it was posted while the bot was away."""
        row = self._row(message)
        if row is None:
            return
        self._texts.posted(message.id, row.content)
        if not self._is_ours(message):
            self._notices.created(message, row, replayed=replayed)
            self._lines.created(message, row, replayed=replayed)
        await self._acknowledgements.look(message, row, address=address_reader(message.channel))

    async def edited(self, message: discord.Message) -> None:
        """Look at a message that was updated, if its text has changed."""
        row = self._row(message)
        if row is None or not self._texts.changed(message.id, row.content, edited=message.edited_at is not None):
            return
        if not self._is_ours(message):
            self._notices.edited(message, row)
            self._lines.edited(message, row)
        await self._acknowledgements.look(message, row, address=address_reader(message.channel))

    def deleted(self, message_ids: Collection[int]) -> None:
        """Let go of messages, and withdraw what stands under them."""
        for message_id in message_ids:
            self._texts.forget(message_id)
        self._notices.deleted(message_ids)
        self._lines.deleted(message_ids)
        self._acknowledgements.deleted(message_ids)

    def place_deleted(self, channel_id: int) -> None:
        """Let go of all of a channel or thread that is gone."""
        self._notices.place_deleted(channel_id)
        self._lines.place_deleted(channel_id)

    async def close(self, *, deadline_seconds: float) -> None:
        """Cancel what waits or is under way; what stands stays."""
        await self._lines.close(deadline_seconds=deadline_seconds)
        await self._notices.close(deadline_seconds=deadline_seconds)

    def _row(self, message: discord.Message) -> recall.LogMessage | None:
        """Return the row of a message of an enabled channel."""
        if message.guild is None or not self._services.is_enabled(place_ids(message.channel)):
            return None
        return row_of(message, identity=self._identity())

    def _is_ours(self, message: discord.Message) -> bool:
        """Say whether we posted a message, also where it is somebody's row, or a webhook of ours did."""
        if self._identity().owns(message.author.id):
            return True
        ours = self._application_id()
        return message.webhook_id is not None and ours is not None and message.application_id == ours
