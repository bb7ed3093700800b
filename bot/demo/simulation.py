"""Put a room into simcord's simulated Discord, and run a bot in it.

The one module of the demo that reaches into private parts of simcord (3.2.1, which is pinned for that reason).
Each part says why it is needed, and `tests/test_simulation.py` fails when it no longer is:

- `LiveClock`: simcord's clock stands still at 1 January 2026.
- `message_content_allowed`: a simulated application has no flags, so that the bot refuses to start.
- `place_room`: simcord makes up every id, and gives every message the present time.
- `RECORDS_KEPT`: simcord keeps a copy of every event and request for ever.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import Any

import discord
import simcord
from simcord._clock import Clock
from simcord.backend import Backend, serializers
from simcord.backend.models import Channel, Member, Message, SystemMessageMetadata, ThreadMetadata, User
from simcord.enums import ChannelType
from simcord.http import router

from .world import REPLY_POST, THREAD_CREATED_POST, Embed, File, Forward, Place, Post, Room

CONTENT_FLAG = 1 << 19  # GATEWAY_MESSAGE_CONTENT_LIMITED, what a small bot has with the switch on
FORWARD_FLAG = 1 << 14
COMMAND_INTERACTION = 2
RECORDS_KEPT = 200  # events and requests; only a failing settlement ever quotes them
SETTLE_SECONDS = 20.0  # a page action waits so long for what the bot does about it
ARCHIVE_MINUTES = 10_080
USERNAME = "recall"

_APPLICATION_ROUTE = ["oauth2", "applications", "@me"]
_USER_MENTION = re.compile(r"<@!?(\d+)>")
_KINDS = {
    "channel": ChannelType.TEXT,
    "forum": ChannelType.FORUM,
    "thread": ChannelType.PUBLIC_THREAD,
    "private_thread": ChannelType.PRIVATE_THREAD,
}


class LiveClock(Clock):
    """Let simulated time begin at an instant and go on like the machine's own.

    Its seconds are those of the machine's monotonic clock, whose place simcord's takes inside the bot, so
    that a bot that holds the one and a bot that holds the other agree.
    """

    def __init__(self, starts_at: datetime, *, seconds: Callable[[], float] = time.perf_counter) -> None:
        self._seconds = seconds  # not time.monotonic, which simcord replaces by this very clock
        self._ahead = 0.0
        self._epoch = starts_at - timedelta(seconds=seconds())

    @property
    def elapsed(self) -> float:  # type: ignore[override]
        """Seconds, counted from when the machine started."""
        return self._seconds() + self._ahead

    def advance(self, seconds: float) -> None:
        """Go ahead by so many seconds."""
        self._ahead += seconds


@contextmanager
def message_content_allowed() -> Iterator[None]:
    """Let the simulated application have the switch for message content on."""
    routes = router._ROUTES["GET"]  # noqa: SLF001 - the flags are written into the handler
    place, original = next(
        (place, handler) for place, (path, handler) in enumerate(routes) if path == _APPLICATION_ROUTE
    )

    def application(context: router.RequestContext) -> Any:
        return {**original(context), "flags": CONTENT_FLAG}

    routes[place] = (_APPLICATION_ROUTE, application)
    try:
        yield
    finally:
        routes[place] = (_APPLICATION_ROUTE, original)


@asynccontextmanager
async def simulated(room: Room, bot: discord.Client, *, clock: Clock) -> AsyncIterator[simcord.Env]:
    """Run `bot` in a guild made of `room`: it finds the history there, and is told of nothing before its start."""
    env = simcord.Env(bot, check_errors=False, settle_timeout=SETTLE_SECONDS)
    backend: Any = env.backend
    backend.clock = clock
    backend.http_requests = deque(maxlen=RECORDS_KEPT)
    backend.transcript = deque(maxlen=RECORDS_KEPT)
    backend.bot_user.name, backend.bot_user.global_name = USERNAME, USERNAME.title()
    place_room(env.backend, room)
    with message_content_allowed():
        await env.start()
        try:
            with env.time_context():
                yield env
        finally:
            await bot.close()
            await env.shutdown()


def channel_of(env: simcord.Env, room: Room) -> simcord.ChannelHandle:
    """Return the handle of the place that a room shows."""
    return simcord.ChannelHandle(env, _guild_of(env, room), env.backend.channels[room.shown_id])


def viewers_of(env: simcord.Env, room: Room) -> list[simcord.MemberActor]:
    """Return the members of a room that one can be in the page."""
    users = env.backend.users
    guild = _guild_of(env, room)
    return [simcord.MemberActor(env, guild, simcord.UserHandle(env, users[viewer.id])) for viewer in room.viewers]


def _guild_of(env: simcord.Env, room: Room) -> simcord.GuildHandle:
    return simcord.GuildHandle(env, env.backend.guilds[room.guild_id])


def place_room(backend: Backend, room: Room) -> None:
    """Make a guild of a room, with the ids and times it has."""
    for speaker in room.speakers:
        backend.users[speaker.id] = User(
            speaker.id, speaker.handle, bot=speaker.kind != "person", global_name=speaker.name
        )
    owner_id = next((speaker.id for speaker in room.speakers if speaker.moderator), None)
    guild = backend.create_guild(room.guild_name, id=room.guild_id, owner_id=owner_id)
    joined_at = discord.utils.snowflake_time(room.guild_id).isoformat()
    for speaker in room.speakers:
        if speaker.kind != "webhook":  # a webhook is no member
            guild.members[speaker.id] = Member(speaker.id, joined_at=joined_at)
    for position, place in enumerate(room.places):
        channel = _channel(place, guild.id, position, joined_at)
        backend.channels[channel.id] = channel
        backend.messages[channel.id] = {}
        (guild.thread_ids if channel.is_thread else guild.channel_ids).append(channel.id)
    placer = _Placer(backend, room)
    for place in room.places:
        for post in place.posts:
            placer.add(place, post)


def _channel(place: Place, guild_id: int, position: int, joined_at: str) -> Channel:
    channel = Channel(
        place.id,
        _KINDS[place.kind],
        name=place.name,
        guild_id=guild_id,
        position=position,
        topic=place.topic or None,
        parent_id=place.parent_id,
        owner_id=place.owner_id,
    )
    if channel.is_thread:
        channel.thread_metadata = ThreadMetadata(
            auto_archive_duration=ARCHIVE_MINUTES, archive_timestamp=joined_at, create_timestamp=joined_at
        )
        channel.thread_members.update({post.author_id: joined_at for post in place.posts})
    return channel


class _Placer:
    """Add posts to the simulation's store, as they are and without an event."""

    def __init__(self, backend: Backend, room: Room) -> None:
        self._backend = backend
        self._guild_id = room.guild_id
        self._webhooks = {speaker.id for speaker in room.speakers if speaker.kind == "webhook"}
        self._where = {post.id: place.id for place in room.places for post in place.posts}

    def add(self, place: Place, post: Post) -> None:
        """Add a post that is newer than those of its place already added."""
        message = Message(
            post.id,
            place.id,
            post.author_id,
            post.content,
            timestamp=post.sent_at.isoformat(),
            edited_timestamp=post.edited_at.isoformat() if post.edited_at else None,
            type=post.type,
            embeds=[_embed(embed) for embed in post.embeds],
            attachments=self._attachments(place.id, post.files),
            mention_user_ids=[int(found) for found in _USER_MENTION.findall(post.content)],
            webhook_id=post.author_id if post.author_id in self._webhooks else None,
            author_name=post.name,
        )
        if post.forward is not None:
            self._carry(message, post.forward)
        elif post.points_at is not None:
            self._point(message, post.points_at, post.points_into or place.id)
        if post.invoker_id is not None:
            message.interaction_metadata = {
                "id": str(post.id),
                "type": COMMAND_INTERACTION,
                "user": serializers.user_payload(self._backend.users[post.invoker_id]),
                "authorizing_integration_owners": {},
            }
        channel = self._backend.channels[place.id]
        channel.last_message_id = post.id
        channel.message_count += channel.is_thread
        self._backend.messages[place.id][post.id] = message

    def _point(self, message: Message, target_id: int, place_id: int) -> None:
        """Let a message point at another, which need not be there."""
        if message.type == THREAD_CREATED_POST:
            message.system_metadata = SystemMessageMetadata(channel_id=target_id)
        elif message.type == REPLY_POST:
            message.reference = {"type": 0, "channel_id": str(place_id), "message_id": str(target_id)}
            answered = self._backend.messages.get(place_id, {}).get(target_id)
            message.reply_author_id = answered.author_id if answered is not None else None
        else:
            message.system_metadata = SystemMessageMetadata(
                referenced_channel_id=place_id, referenced_message_id=target_id
            )

    def _carry(self, message: Message, forward: Forward) -> None:
        """Make a message the forward of another, which may be out of reach."""
        carried = Message(
            message.id,
            message.channel_id,
            message.author_id,
            forward.content,
            timestamp=message.timestamp,
            embeds=[_embed(embed) for embed in forward.embeds],
            attachments=self._attachments(message.channel_id, forward.files),
        )
        source_id = forward.source_id or message.id
        message.flags |= FORWARD_FLAG
        message.snapshots = [dict(serializers.message_snapshot_payload(self._backend, carried))]
        message.reference = {
            "type": 1,
            "channel_id": str(self._where.get(source_id, message.channel_id)),
            "message_id": str(source_id),
            "guild_id": str(self._guild_id),
        }

    def _attachments(self, place_id: int, files: Iterable[File]) -> list[dict[str, Any]]:
        store = self._backend.cdn.store_attachment
        return [store(self._backend.snowflake(), place_id, file.name, file.text.encode(), None) for file in files]


def _embed(embed: Embed) -> dict[str, Any]:
    fields = [{"name": name, "value": value, "inline": False} for name, value in embed.fields]
    return {"type": "rich", "title": embed.title, "description": embed.description, "fields": fields}
