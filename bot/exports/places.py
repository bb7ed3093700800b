"""Say where the messages of an export file belong: a desk, and maybe a thread of it.

Each channel, thread and forum post is a file of its own. A public thread's file names its parent channel where
other files name their category, so its rows go to that channel's desk. A private thread is a desk of its own,
as is a public one whose file does not say whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from .records import Document

_PUBLIC_THREADS = frozenset({"GuildPublicThread", "GuildNewsThread", "10", "11"})


@dataclass(frozen=True, slots=True)
class Place:
    """Name the channel or thread of one file, and the desk that holds it. `thread`: its id, null when it is none."""

    id: str
    name: str
    desk_id: str
    desk_name: str
    guild_id: str
    guild_name: str
    thread: int | None

    def parent_of(self, sequence: int) -> int | None:
        """Return the thread a row belongs to; null for the row that starts a forum post, whose id it shares."""
        return None if sequence == self.thread else self.thread


def place_of(document: Document) -> Place:
    """Return where a file's messages belong."""
    channel, guild = document.channel, document.guild
    channel_id, name = str(channel.id), channel.name or f"channel-{channel.id}"
    desk_id, desk_name, thread = channel_id, name, None
    parent = snowflake(channel.category_id)
    if parent is not None and str(channel.type) in _PUBLIC_THREADS:
        desk_id, desk_name = str(parent), channel.category or f"channel-{parent}"
        thread = snowflake(channel.id)
    return Place(
        id=channel_id,
        name=name,
        desk_id=desk_id,
        desk_name=desk_name,
        guild_id=str(guild.id) if guild is not None and guild.id is not None else "0",
        guild_name=(guild.name if guild is not None else None) or "",
        thread=thread,
    )


def snowflake(written: str | int | None) -> int | None:
    """Return an id as a number; None for null, and for the empty string that some versions write for it."""
    if isinstance(written, int):
        return written
    return int(written) if written and written.isascii() and written.isdigit() else None
