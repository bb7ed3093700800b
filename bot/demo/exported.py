"""Make a room of channel exports, so that the demo shows somebody's own channel.

Authors, dates and ids are those of the files. What a file does not hold cannot be shown: what is in attached
files, who reacted, whether a bot is a webhook. A simulated room is held in memory and walked over for every
action in the page, so of large exports it shows the newest messages, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from ..exports.files import find_files
from ..exports.library import break_of, instant_of
from ..exports.places import place_of, snowflake
from ..exports.reading import Reading, read_file
from ..exports.records import Attachment, ForwardedMessage, Message, User
from ..exports.records import Embed as EmbedRecord
from ..exports.rows import name_of, type_number
from ..shown import AUTHORED_TYPES, REPLY_TYPE
from .world import THREAD_CREATED_POST, Embed, File, Forward, Place, PlaceKind, Post, Room, Speaker, SpeakerKind

PLACE_POSTS = 2_000  # of each channel or thread; with more, every action in the page takes seconds
VIEWERS_SHOWN = 12  # whom one can be, the busiest authors of the channel shown
GUEST_ID, NOBODY_ID, DIRECT_MESSAGES_ID = (ms << 22 for ms in (1, 2, 3))  # before anything on Discord had an id
GUEST = Speaker(GUEST_ID, "you", "You", "person", moderator=True)
NOBODY = User(name="unknown")
UNKNOWN_TYPE = 255  # a type whose name is not known here: neither discord.py nor the page knows this number

_PRIVATE_THREADS = {"GuildPrivateThread", "12"}


@dataclass(slots=True)
class _Gathered:
    """Hold what the files gave of one channel or thread."""

    id: int
    name: str
    kind: PlaceKind
    parent_id: int | None
    parent_name: str
    posts: dict[int, Post] = field(default_factory=dict)


def read_exports(paths: Sequence[Path]) -> Room:
    """Return the room that export files, and every export below folders, make up. Raises `ExportError`."""
    gatherer = _Gatherer()
    for reading in sorted((read_file(path) for path, _ in find_files(paths)), key=_written_at):
        gatherer.add(reading)
    return gatherer.room()


def _written_at(reading: Reading) -> datetime:
    """Return when a file was written, of which the later counts where two hold the same message."""
    return instant_of(reading.document.exported_at) or datetime.min.replace(tzinfo=UTC)


class _Gatherer:
    """Gather places, posts and speakers file by file."""

    def __init__(self) -> None:
        self._gathered: dict[int, _Gathered] = {}
        self._speakers = {GUEST_ID: GUEST}
        self._guild = ("", "")
        self._notes: list[str] = []

    def add(self, reading: Reading) -> None:
        """Take in one file."""
        document = reading.document
        found = place_of(document)
        self._guild = found.guild_id, found.guild_name
        if reading.broken_off:
            self._notes.append(break_of(reading))
        kind: PlaceKind = "channel" if found.thread is None else "thread"
        parent_id = None if found.thread is None else int(found.desk_id)
        if str(document.channel.type) in _PRIVATE_THREADS and (above := snowflake(document.channel.category_id)):
            kind, parent_id = "private_thread", above
        place = _Gathered(int(found.id), found.name, kind, parent_id, document.channel.category or "channel")
        posts = self._gathered.setdefault(place.id, place).posts
        posts.update({message.id: self._post(message) for message in document.messages})

    def room(self) -> Room:
        """Return everything that was gathered."""
        places = [*self._parents(), *map(_place, self._gathered.values())]
        places.sort(key=lambda place: place.parent_id is not None)
        for number, place in enumerate(places):
            if len(place.posts) > PLACE_POSTS:
                places[number] = replace(place, posts=place.posts[-PLACE_POSTS:])
                self._notes.append(
                    f"of #{place.name} the newest {PLACE_POSTS:,} of {len(place.posts):,} messages are shown"
                )
        shown = max(places, key=lambda place: len(place.posts))
        busiest = Counter(post.author_id for post in shown.posts if self._speakers[post.author_id].kind == "person")
        viewers = [GUEST, *(self._speakers[author_id] for author_id, _ in busiest.most_common(VIEWERS_SHOWN))]
        guild_id, guild_name = self._guild
        return Room(
            int(guild_id) or DIRECT_MESSAGES_ID,
            guild_name or "Exported",
            tuple(self._speakers.values()),
            tuple(places),
            shown_id=shown.id,
            viewers=tuple(viewers),
            notes=tuple(self._notes),
        )

    def _parents(self) -> Iterator[Place]:
        """Yield the channels that only threads tell of: forums, and channels whose own file was not given."""
        orphans: dict[int, list[_Gathered]] = {}
        for gathered in self._gathered.values():
            if gathered.parent_id is not None and gathered.parent_id not in self._gathered:
                orphans.setdefault(gathered.parent_id, []).append(gathered)
        for parent_id, threads in orphans.items():
            is_forum = all(thread.id in thread.posts for thread in threads)  # a post has the id of its first message
            yield Place(parent_id, threads[0].parent_name, "forum" if is_forum else "channel", ())

    def _post(self, message: Message) -> Post:
        number = type_number(message.type)
        author = self._speaker(message.author or NOBODY)
        name = name_of(message.author or NOBODY)
        for user in message.mentions or ():
            self._speaker(user)
        invoker = message.interaction.user if message.interaction is not None else None
        forward = message.forwarded_message
        points_at, points_into = _target(message, number)
        return Post(
            message.id,
            author.id,
            (message.content or "") if number in AUTHORED_TYPES else "",
            type=number if isinstance(number, int) else UNKNOWN_TYPE,
            name=name if author.kind == "bot" and name != author.name else None,
            points_at=points_at,
            points_into=points_into,
            forward=_forward(forward, points_at) if forward is not None else None,
            embeds=_embeds(message.embeds),
            files=_files(message.attachments),
            invoker_id=self._speaker(invoker).id if invoker is not None else None,
        )

    def _speaker(self, user: User) -> Speaker:
        """Return who a user record names; the first name a user is met under is theirs."""
        user_id = snowflake(user.id) or NOBODY_ID
        known = self._speakers.get(user_id)
        if known is None:
            name = name_of(user) or str(user_id)
            kind: SpeakerKind = "bot" if user.is_bot else "person"
            known = self._speakers[user_id] = Speaker(user_id, user.name or name, name, kind)
        return known


def _place(gathered: _Gathered) -> Place:
    posts = tuple(sorted(gathered.posts.values(), key=attrgetter("id")))
    owner_id = posts[0].author_id if posts else GUEST_ID
    return Place(gathered.id, gathered.name, gathered.kind, posts, parent_id=gathered.parent_id, owner_id=owner_id)


def _target(message: Message, number: int | str) -> tuple[int | None, int | None]:
    """Return which message, in which channel, a message points at; the thread where it announces one."""
    if message.reference is None:
        return None, None
    channel_id = snowflake(message.reference.channel_id)
    if number == THREAD_CREATED_POST:
        return channel_id, None
    return snowflake(message.reference.message_id), None if number == REPLY_TYPE else channel_id


def _forward(forward: ForwardedMessage, source_id: int | None) -> Forward:
    return Forward(forward.content or "", source_id, _embeds(forward.embeds), _files(forward.attachments))


def _embeds(records: Iterable[EmbedRecord] | None) -> tuple[Embed, ...]:
    return tuple(
        Embed(
            record.title or "",
            record.description or "",
            tuple((pair.name or "", pair.value or "") for pair in record.fields or ()),
        )
        for record in records or ()
    )


def _files(records: Iterable[Attachment] | None) -> tuple[File, ...]:
    return tuple(File(record.file_name or "file") for record in records or ())
