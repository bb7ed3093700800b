"""Turn the messages of one export file into rows, by the rules that hold for messages read from Discord.

Nearly every message is plain: authored text without markup, with nothing riding along. Those become rows at
once. The rest wait until every file has been read, because the name behind `<#123>` may stand in another one.

A text may have been exported as shown (`@Ada`) or as sent (`<@123>`, `--markdown false`), and nothing in a
file says which; so each text with a `<` is read as if it were as sent. Users' names come from the message's own
mentions, then from whoever wrote in these files; names of channels from the files, and only from them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field

import recall

from ..shown import (
    AUTHORED_TYPES,
    NO_EXTRAS,
    REPLY_TYPE,
    ROWLESS_TYPES,
    EmbedText,
    Extras,
    Names,
    attached,
    flatten_name,
    own_line,
    shown,
    type_name,
)
from .places import Place, snowflake
from .records import ForwardedMessage, Message, User

_NAMED_TYPES = {
    "Default": 0,
    "RecipientAdd": 1,
    "RecipientRemove": 2,
    "Call": 3,
    "ChannelNameChange": 4,
    "ChannelIconChange": 5,
    "ChannelPinnedMessage": 6,
    "GuildMemberJoin": 7,
    "ThreadCreated": 18,
    "Reply": REPLY_TYPE,
}
_PLAIN_KINDS = frozenset({"Default", "Reply"})  # the types of nearly all messages
TYPE_DIGITS = 9  # a longer number is no type, and one of thousands of digits no number to Python
THREAD_CREATED_TYPE = 18
THREAD_STARTER_TYPE = 21
_DEFAULT_REFERENCES = (None, "Default", "0", 0)  # what a reply's reference may be; a forward's is another

_NOBODY = User()


@dataclass(slots=True)
class NameBook:
    """Remember who and what the files name: users, roles and channels by id, and an author for each user record."""

    users: dict[int, str] = field(default_factory=dict)
    roles: dict[int, str] = field(default_factory=dict)
    channels: dict[int, str] = field(default_factory=dict)
    authors: dict[User, recall.Author] = field(default_factory=dict)
    webhooks: set[str] = field(default_factory=set)

    def author(self, user: User) -> recall.Author:
        """Return the author that a user record stands for; equal records give the very same value."""
        known = self.authors.get(user)
        if known is None:
            name, user_id = name_of(user), user.id or "0"
            kind = recall.AgentAuthor if user.is_bot else recall.PersonAuthor
            known = self.authors[user] = kind(id=user_id, label=flatten_name(name) or user_id)
            if user.is_bot and user.discriminator is not None and not str(user.discriminator).strip("0"):
                self.webhooks.add(user_id)  # a bot has digits of its own
            number = snowflake(user.id)
            if name and number is not None:
                self.users[number] = name
        return known

    def names(self, mentions: tuple[User, ...] | None) -> Names:
        """Return the look-ups for a message that mentions these users."""
        mentioned = {snowflake(user.id): name_of(user) for user in mentions or ()}
        return Names(
            user=lambda user_id: mentioned.get(user_id) or self.users.get(user_id),
            role=self.roles.get,
            channel=self.channels.get,
        )


@dataclass(slots=True)
class FileRows:
    """Hold what one file gives: rows that are done, messages that wait for names, and threads it speaks of."""

    place: Place
    rows: list[recall.LogMessage]
    waiting: list[Message]
    threads_started: set[int]
    starts_elsewhere: bool  # it is a thread whose first message stands in the channel above it


def name_of(user: User) -> str:
    """Return the name a client shows."""
    return user.nickname or user.name or ""


def type_number(kind: str | int | None) -> int | str:
    """Return the number of a message's type as exported; a name that no version known here writes stays a name."""
    if kind is None or isinstance(kind, int):
        return kind or 0
    number = _NAMED_TYPES.get(kind)
    if number is not None:
        return number
    return int(kind) if kind.isascii() and kind.isdigit() and len(kind) <= TYPE_DIGITS else kind


def read_rows(place: Place, messages: tuple[Message, ...], *, book: NameBook, own_ids: Collection[str]) -> FileRows:
    """Make the rows of one file's messages, in the file's order."""
    found = FileRows(place, [], [], set(), starts_elsewhere=False)
    add, wait, authors = found.rows.append, found.waiting.append, book.authors
    desk, thread = place.desk_id, place.thread
    for message in messages:
        kind, reply_to, rides_along = message.type, None, ""
        if kind not in _PLAIN_KINDS and type_number(kind) not in AUTHORED_TYPES:
            _read_system(message, found, book, own_ids)
            continue
        if message.reference is not None:
            reply_to = _reply_to(message, place)
        user = message.author or _NOBODY
        author = authors.get(user) or book.author(user)
        content = message.content or ""
        if "<" in content or user.id in own_ids:
            wait(message)
            continue
        if message.attachments or message.embeds or message.forwarded_message is not None:
            extras = _extras(message)
            if "<" in "\n".join(extras.parts()):
                wait(message)
                continue
            rides_along = attached(extras)
        if not content.isascii():
            content = unicodedata.normalize("NFC", content)
        sequence = message.id
        parent = None if sequence == thread else thread
        add(recall.LogMessage(sequence, desk, parent, author, content, reply_to, rides_along))
    return found


def _read_system(message: Message, found: FileRows, book: NameBook, own_ids: Collection[str]) -> None:
    """Take in a message that nobody wrote: a row without text, or none."""
    number, user, place = type_number(message.type), message.author or _NOBODY, found.place
    if number == THREAD_STARTER_TYPE:
        found.starts_elsewhere = True
    if number == THREAD_CREATED_TYPE and message.reference is not None:
        started = snowflake(message.reference.channel_id)
        if started is not None:
            found.threads_started.add(started)
    if number in ROWLESS_TYPES or user.id in own_ids:
        return
    name = type_name(number) if isinstance(number, int) else number
    author = recall.SystemAuthor(kind=name, label=recall.author_label(book.author(user)))
    found.rows.append(recall.LogMessage(message.id, place.desk_id, place.parent_of(message.id), author, ""))


def late_row(message: Message, place: Place, *, book: NameBook, own_ids: Collection[str]) -> recall.LogMessage | None:
    """Return the row of a message that waited for names; None for one of our own that is no row."""
    names, extras, user = book.names(message.mentions), _extras(message), message.author or _NOBODY
    content = shown(message.content or "", names)
    author: recall.Author | None = book.author(user)
    if user.id in own_ids:
        author = own_line(content, bare=extras is NO_EXTRAS and not message.stickers, invoker=_invoker(message, book))
    if author is None:
        return None
    return recall.LogMessage(
        message.id,
        place.desk_id,
        place.parent_of(message.id),
        author,
        content,
        _reply_to(message, place),
        attached(extras, names),
    )


def mentions_roles(message: Message) -> bool:
    """Say whether a message, as sent, names a role by its id."""
    return "<@&" in (message.content or "") or any("<@&" in part for part in _extras(message).parts())


def _extras(message: Message | ForwardedMessage) -> Extras:
    """Return the text that rides along with a message."""
    forward = message.forwarded_message if isinstance(message, Message) else None
    if not (message.embeds or message.attachments or forward):
        return NO_EXTRAS
    embeds = tuple(
        EmbedText(
            embed.title or "",
            embed.description or "",
            tuple((field.name or "", field.value or "") for field in embed.fields or ()),
        )
        for embed in message.embeds or ()
    )
    forwards = () if forward is None else ((forward.content or "", _extras(forward)),)
    files = tuple(file.file_name or "" for file in message.attachments or ())
    return Extras(embeds=embeds, forwards=forwards, files=files)


def _invoker(message: Message, book: NameBook) -> recall.PersonAuthor | None:
    """Return the person whose command a message answers."""
    user = message.interaction.user if message.interaction is not None else None
    author = book.author(user) if user is not None else None
    return author if isinstance(author, recall.PersonAuthor) else None


def _reply_to(message: Message, place: Place) -> int | None:
    """Return the id of the message answered, where it stands in the same channel (null in a file: it does)."""
    reference = message.reference
    if reference is None or reference.type not in _DEFAULT_REFERENCES or type_number(message.type) != REPLY_TYPE:
        return None
    if reference.channel_id != place.id and snowflake(reference.channel_id) not in {None, int(place.id)}:
        return None
    return snowflake(reference.message_id)
