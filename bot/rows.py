"""Turn a Discord message into a row of the log, or into none.

A row is what its author typed, as the client shows it. What rides along (embeds, component text, forwarded
text, file names, a poll's question) stands apart in `attached` and is never read for markers. What nobody
wrote is a row of the system, without text. Our own messages are no rows, so that nothing we quote can act;
the one exception is a marker line posted for somebody who asked for it (`shown.own_line`).

    row_of(message, identity=Identity(client.user.id))

The names of roles and channels are those of this moment, and the name of a channel may become a secret. So what
is kept of a message is its row without them (`unnamed_row_of`), and they are put in whenever it is read (`named`).
The names of people are part of a message, as they were when it was read. Nicknames count only where the client
knows the members, for history does not tell them.

Where a row belongs: `chat_id` is the channel, or the parent of a public thread, whose id is then `parent`. A
thread's starter is the thread's root and has no parent; a private thread is a desk of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import discord

import recall

from .shown import (
    AUTHORED_TYPES,
    NO_EXTRAS,
    REPLY_TYPE,
    ROWLESS_TYPES,
    EmbedText,
    Extras,
    Names,
    attached,
    flatten_name,
    named,
    own_line,
    shown,
    type_name,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Know our own messages: the bot's user id, and the ids under which it has written before.

    `webhooks` collects the ids of the webhooks among the authors that are met, which a row does not tell from bots.
    What the mirror gives was met in the same process, so there they are all known. A server has few of them.
    """

    self_id: int
    former_ids: Collection[int] = ()
    webhooks: set[str] = field(default_factory=set, compare=False)

    def owns(self, user_id: int) -> bool:
        """Say whether a message of this user is one of ours."""
        return user_id == self.self_id or user_id in self.former_ids


def row_of(message: discord.Message, *, identity: Identity) -> recall.LogMessage | None:
    """Return the row of a message as it is shown now; None for one that is no row.

    No rows are: pointers to other messages (a thread's copy of its starter, a poll's result), ephemeral
    messages, and our own but for a marker line posted for a person.
    """
    row = unnamed_row_of(message, identity=identity)
    return None if row is None else named_in(message.guild, (row,))[0]


def named_in(guild: discord.Guild | None, rows: Sequence[recall.LogMessage]) -> tuple[recall.LogMessage, ...]:
    """Return rows of a guild with the names that roles and channels have in it now."""

    def role(role_id: int) -> str | None:
        found = None if guild is None else guild.get_role(role_id)
        return None if found is None else found.name.removeprefix("@")  # everybody's role is called @everyone

    def channel(channel_id: int) -> str | None:
        return public_channel_name(guild, channel_id)

    names = Names(role=role, channel=channel)
    return tuple(named(row, names) for row in rows)


def unnamed_row_of(
    message: discord.Message, *, identity: Identity, place: discord.abc.MessageableChannel | None = None
) -> recall.LogMessage | None:
    """Do as `row_of`, and leave the markup of roles and channels for `named_in`.

    `place`: where the message stands, for one that does not know its thread, as an answer to an interaction.
    """
    number = message.type.value
    if number in ROWLESS_TYPES or message.flags.ephemeral:
        return None
    names = _names(message)
    content, extras = shown(message.content, names), extras_of(message)
    author: recall.PersonAuthor | recall.AgentAuthor | None
    if not identity.owns(message.author.id):
        author = _author(message)
    elif number in AUTHORED_TYPES:
        author = own_line(content, bare=_is_bare(message), invoker=_invoker(message))
    else:
        author = None
    if author is None:
        return None
    if webhook_of(message) is not None:
        identity.webhooks.add(author.id)
    chat_id, parent = place_of(place or message.channel, message.id)
    if number not in AUTHORED_TYPES:  # its content and embeds may be a name, or what a filter has blocked
        kind = recall.SystemAuthor(kind=type_name(number), label=recall.author_label(author))
        return recall.LogMessage(message.id, chat_id, parent, kind, "")
    return recall.LogMessage(
        message.id, chat_id, parent, author, content, _reply_to(message, number), attached(extras, names)
    )


def text_in(message: discord.Message, text: str) -> str:
    """Return a part of what a message's author sent as its row has it."""
    shown_text = shown(text, _names(message))
    (row,) = named_in(message.guild, (recall.LogMessage(0, None, None, recall.OperatorAuthor(), shown_text),))
    return row.content


def place_of(channel: discord.abc.MessageableChannel, message_id: int) -> tuple[str, int | None]:
    """Return the `chat_id` and the `parent` of a message's row."""
    if isinstance(channel, discord.Thread) and not channel.is_private():
        return str(channel.parent_id), None if message_id == channel.id else channel.id
    return str(channel.id), None


def extras_of(message: discord.Message | discord.MessageSnapshot) -> Extras:
    """Return the text that rides along with a message, as sent."""
    embeds = tuple(_embed_text(embed) for embed in message.embeds)
    components = tuple(_component_text(_components(message)))
    files = tuple(attachment.filename for attachment in message.attachments)
    forwards: tuple[tuple[str, Extras], ...] = ()
    poll = ""
    if isinstance(message, discord.Message):
        forwards = tuple((snapshot.content, extras_of(snapshot)) for snapshot in message.message_snapshots)
        poll = message.poll.question if message.poll is not None else ""
    if not (embeds or components or files or forwards or poll):
        return NO_EXTRAS
    return Extras(embeds, components, forwards, files, poll)


def public_channel_name(guild: discord.Guild | None, channel_id: int) -> str | None:
    """Return the name of a channel or thread that everybody may view; a name can be a secret.

    None for any other, and for one that is gone or not known here (an archived thread): nothing is fetched.
    """
    channel = None if guild is None else guild.get_channel_or_thread(channel_id)
    if channel is None or guild is None:
        return None
    if isinstance(channel, discord.Thread) and (channel.is_private() or channel.parent is None):
        return None
    return channel.name if channel.permissions_for(guild.default_role).view_channel else None


def _author(message: discord.Message) -> recall.PersonAuthor | recall.AgentAuthor:
    """Return who wrote a message: an agent by its webhook or user id, or a person."""
    user = message.author
    label = flatten_name(_name_of(user, message.guild))
    hook = webhook_of(message)
    if hook is not None:
        return recall.AgentAuthor(id=str(hook), label=label or str(hook))
    kind = recall.AgentAuthor if user.bot or message.webhook_id is not None else recall.PersonAuthor
    return kind(id=str(user.id), label=label or str(user.id))


def webhook_of(message: discord.Message) -> int | None:
    """Return the webhook that wrote a message; an app's answer names the app itself as its webhook."""
    hook = message.webhook_id
    return None if hook == message.application_id else hook


def _invoker(message: discord.Message) -> recall.PersonAuthor | None:
    """Return the person whose command or form a message answers."""
    metadata = message.interaction_metadata
    if metadata is None or metadata.user.bot:
        return None
    user = metadata.user
    return recall.PersonAuthor(id=str(user.id), label=flatten_name(_name_of(user, message.guild)) or str(user.id))


def _name_of(user: discord.User | discord.Member, guild: discord.Guild | None) -> str:
    """Return what somebody is called in a guild, if the client knows its members, else by their account.

    An event tells the nickname that the author of a message has, and history does not: read either way, a row is
    the same.
    """
    member = None if guild is None else guild.get_member(user.id)
    return member.display_name if member is not None else user.global_name or user.name


def _is_bare(message: discord.Message) -> bool:
    return not (
        message.embeds
        or message.attachments
        or _components(message)
        or message.stickers
        or message.poll
        or message.message_snapshots
    )


def _reply_to(message: discord.Message, number: int) -> int | None:
    """Return the id of the message answered, where it stands in the same channel."""
    reference = message.reference
    if number != REPLY_TYPE or reference is None or reference.type is not discord.MessageReferenceType.default:
        return None
    return reference.message_id if reference.channel_id == message.channel.id else None


def _names(message: discord.Message) -> Names:
    """Return the look-ups for the markup of a message: whom it mentions first, then what the guild knows."""
    guild = message.guild
    mentioned = {user.id: _name_of(user, guild) for user in message.mentions}

    def user(user_id: int) -> str | None:
        if user_id in mentioned or guild is None:
            return mentioned.get(user_id)
        member = guild.get_member(user_id)
        return None if member is None else member.display_name

    return Names(user, role=None, channel=None)


def _embed_text(embed: discord.Embed) -> EmbedText:
    fields = tuple((field.name or "", field.value or "") for field in embed.fields)
    return EmbedText(embed.title or "", embed.description or "", fields)


def _components(message: discord.Message | discord.MessageSnapshot) -> Iterable[discord.Component]:
    """Return the components of a message; discord.py leaves the attribute out where the payload has no such key."""
    return getattr(message, "components", None) or ()


def _component_text(components: Iterable[discord.Component]) -> Iterator[str]:
    """Yield the text that components display, in order, nested ones included; buttons and menus have none."""
    for component in components:
        if isinstance(component, discord.TextDisplay):
            yield component.content
        else:
            yield from _component_text(getattr(component, "children", ()))
