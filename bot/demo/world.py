"""The values a simulated guild is made of, wherever they come from: the demo's own room, or an export.

Nothing here knows simcord or a file. Ids are Discord's: the time of a message is in its id (`sent_at`), so ids
and times cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

import discord

from ..config import StandingsConfig

SpeakerKind: TypeAlias = Literal["person", "bot", "webhook"]
PlaceKind: TypeAlias = Literal["channel", "forum", "thread", "private_thread"]

DEFAULT_POST, THREAD_CREATED_POST, REPLY_POST = 0, 18, 19  # Discord's message types


@dataclass(frozen=True, slots=True)
class Speaker:
    """Hold who can write: a member, a bot, or a webhook."""

    id: int
    handle: str
    name: str
    kind: SpeakerKind
    moderator: bool = False


@dataclass(frozen=True, slots=True)
class Embed:
    """Hold the text of an embed; `fields` are pairs of name and value."""

    title: str = ""
    description: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """Hold a file; an export knows the names of files, not what is in them."""

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Forward:
    """Hold what a forward carries: text of another message, without its author."""

    content: str
    source_id: int | None = None
    embeds: tuple[Embed, ...] = ()
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Post:
    """Hold one message.

    `name` is what a webhook calls itself here; `invoker_id` used the command it answers. `points_at`: the message
    it answers or speaks of, in `points_into` if that is elsewhere; for the announcement of a thread, the thread.
    """

    id: int
    author_id: int
    content: str
    type: int = DEFAULT_POST
    name: str | None = None
    edited_at: datetime | None = None
    points_at: int | None = None
    points_into: int | None = None
    forward: Forward | None = None
    embeds: tuple[Embed, ...] = ()
    files: tuple[File, ...] = ()
    invoker_id: int | None = None

    @property
    def sent_at(self) -> datetime:
        """The time of the message, which is its id's."""
        return discord.utils.snowflake_time(self.id)


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a channel or a thread with its posts, oldest first. A thread has the id of the message it began from."""

    id: int
    name: str
    kind: PlaceKind
    posts: tuple[Post, ...]
    parent_id: int | None = None
    topic: str = ""
    owner_id: int | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """Hold a guild: who is in it, its places, and the one that is `shown`.

    Parents come before their threads. `viewers` are the members one can be in the browser page. `notes` are
    sentences for whoever starts the demo. `window`: messages that count in its standings.
    """

    guild_id: int
    guild_name: str
    speakers: tuple[Speaker, ...]
    places: tuple[Place, ...]
    shown_id: int
    viewers: tuple[Speaker, ...]
    notes: tuple[str, ...] = ()
    window: int = StandingsConfig().window

    @property
    def shown(self) -> Place:
        """The place the browser page shows."""
        return next(place for place in self.places if place.id == self.shown_id)

    @property
    def posts(self) -> Iterator[Post]:
        """Every post of every place."""
        return (post for place in self.places for post in place.posts)

    @property
    def ends_at(self) -> datetime:
        """The time of the newest post, or of the guild's beginning."""
        return max((post.sent_at for post in self.posts), default=discord.utils.snowflake_time(self.guild_id))
