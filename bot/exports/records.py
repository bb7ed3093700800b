"""The JSON that DiscordChatExporter writes, as typed records: any version, and only what a row is made of.

What is not named here is skipped while decoding and never becomes an object, which is most of a file. Every
field but a message's id has a default, because each version of the exporter wrote other keys, and null stands
for absent. Ids are strings in the file; a message's own becomes an integer at once.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from ..links import read_snowflake

Snowflake: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""An id. Discord's stay below that bound until 2084, and msgspec can check no higher one."""


class Record(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Be the base of every record. Records never form cycles, so the collector need not know of them."""


class Role(Record, frozen=True):
    """Name a role; only author and mention records list any, since 2.40.1."""

    id: str | None = None
    name: str | None = None


class User(Record, frozen=True):
    """Name an author, a mentioned user, or whoever used a command. `nickname` is what a client shows (2.27).

    `discriminator` is a number in some versions; "0000" is that of a person of today, and of a webhook.
    """

    id: str | None = None
    name: str | None = None
    nickname: str | None = None
    is_bot: bool | None = None
    discriminator: str | int | None = None


class Attachment(Record, frozen=True):
    """Name an attached file."""

    file_name: str | None = None


class EmbedField(Record, frozen=True):
    """Hold one field of an embed."""

    name: str | None = None
    value: str | None = None


class Embed(Record, frozen=True):
    """Hold the text of an embed."""

    title: str | None = None
    description: str | None = None
    fields: tuple[EmbedField, ...] | None = ()


class Sticker(Record, frozen=True):
    """Stand for a sticker: that there is one matters, what it is does not."""


class Reference(Record, frozen=True):
    """Point at another message: answered, pinned, forwarded, or the start of a thread. `type` since 2.47."""

    type: str | int | None = None
    message_id: str | int | None = None
    channel_id: str | int | None = None


class ForwardedMessage(Record, frozen=True):
    """Hold what a forward carries (2.47): text and files, no author."""

    content: str | None = None
    attachments: tuple[Attachment, ...] | None = ()
    embeds: tuple[Embed, ...] | None = ()


class Interaction(Record, frozen=True):
    """Say who used the command that a message answers (2.38)."""

    user: User | None = None


class Message(Record, frozen=True):
    """Hold one message. `type` is a name, or a number as a string where the exporter knows no name."""

    id: Snowflake
    type: str | int | None = None
    content: str | None = None
    author: User | None = None
    attachments: tuple[Attachment, ...] | None = ()
    embeds: tuple[Embed, ...] | None = ()
    stickers: tuple[Sticker, ...] | None = ()
    mentions: tuple[User, ...] | None = ()
    reference: Reference | None = None
    forwarded_message: ForwardedMessage | None = None
    interaction: Interaction | None = None


class Guild(Record, frozen=True):
    """Name a guild; `0` for direct messages."""

    id: str | int | None = None
    name: str | None = None


class Channel(Record, frozen=True):
    """Name a channel or thread. For a thread, `category_id` and `category` are those of its parent channel."""

    id: Snowflake
    type: str | int | None = None
    category_id: str | int | None = None
    category: str | None = None
    name: str | None = None


class DateRange(Record, frozen=True):
    """Say which span of time was asked for; null: no bound."""

    after: str | None = None
    before: str | None = None


class Document(Record, frozen=True):
    """Hold one file: a channel or thread, or a part of one."""

    channel: Channel
    messages: tuple[Message, ...]
    guild: Guild | None = None
    date_range: DateRange | None = None
    exported_at: str | None = None


class _Roles(Record, frozen=True):
    roles: tuple[Role, ...] | None = ()


class _RoleBearer(Record, frozen=True):
    author: _Roles | None = None
    mentions: tuple[_Roles, ...] | None = ()


class _RoleDocument(Record, frozen=True):
    messages: tuple[_RoleBearer, ...] = ()


_DOCUMENT = msgspec.json.Decoder(Document, strict=False)  # not strict: an id in quotes is read as an integer
_ROLES = msgspec.json.Decoder(_RoleDocument)

_ROLE_MARKUP = b"<@&"


def decode(data: bytes) -> Document:
    """Read one whole document. Raises `msgspec.DecodeError`, `msgspec.ValidationError` or `RecursionError`."""
    return _DOCUMENT.decode(data)


def role_names(data: bytes) -> dict[int, str]:
    """Return the names of the roles that a document's users bear, by id.

    Only text that was exported as it was sent (`--markdown false`) mentions roles by id, so that is looked for
    first: decoding the roles of every message costs as much as the rest.
    """
    if _ROLE_MARKUP not in data:
        return {}
    names: dict[int, str] = {}
    for message in _ROLES.decode(data).messages:
        for bearer in (message.author, *(message.mentions or ())):
            for role in (bearer.roles or ()) if bearer is not None else ():
                if role.id is not None and (number := read_snowflake(role.id)) is not None:
                    names[number] = role.name or ""
    return names
