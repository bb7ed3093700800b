"""Name the ids that a channel goes by in the configuration, and what the bot itself may do there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord

if TYPE_CHECKING:
    from discord.abc import MessageableChannel


def place_ids(channel: MessageableChannel | discord.ForumChannel) -> tuple[int, ...]:
    """Return the ids under which a channel may be configured, nearest first: a thread, then its parent."""
    if isinstance(channel, discord.Thread):
        return channel.id, channel.parent_id
    return (channel.id,)


def channel_of(channel: MessageableChannel | discord.ForumChannel) -> int:
    """Return the id of the channel that a place belongs to: a thread is its parent's, and bounds hold for both."""
    return place_ids(channel)[-1]


def may_reply(channel: MessageableChannel) -> bool:
    """Say whether the bot may answer a message here."""
    rights = _own_rights(channel)
    speak = rights.send_messages_in_threads if isinstance(channel, discord.Thread) else rights.send_messages
    return rights.view_channel and rights.read_message_history and speak


def may_attach(channel: MessageableChannel | discord.ForumChannel) -> bool:
    """Say whether the bot may post a file here."""
    return _own_rights(channel).attach_files


def may_react(channel: MessageableChannel) -> bool:
    """Say whether the bot may put a reaction on a message here."""
    rights = _own_rights(channel)
    return rights.view_channel and rights.read_message_history and rights.add_reactions


def _own_rights(channel: MessageableChannel | discord.ForumChannel) -> discord.Permissions:
    """Return the bot's rights in a channel, none where they are not known.

    They are asked for before every unasked request: Discord bans an address for a pile of refused ones.
    """
    if channel.guild is None:
        return discord.Permissions.none()
    if isinstance(channel, discord.Thread) and channel.parent is None:
        return discord.Permissions.none()
    return channel.permissions_for(channel.guild.me)
