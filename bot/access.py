"""Who may read a channel or thread now; whatever cannot be known is a no.

Discord's rules: View Channel and Read Message History, in voice and stage chat Connect too; threads take the
rights of their parent, and a private thread also wants its members or Manage Threads, which discord.py's
`Thread.permissions_for` does not check. What the bot may not read, nobody reads through it. And what is
age-restricted is read only from a place that is.

Rights change while an answer is made, so they are asked before a read and again before rows are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import discord

import recall

from .errors import PlaceNotFound, Unavailable
from .failures import wrapped_errors
from .shown import flatten_name

Readable: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
"""What has messages of its own."""

Place: TypeAlias = Readable | discord.ForumChannel
"""What a question can be about; a forum has only threads."""


def is_place(channel: object) -> TypeGuard[Place]:
    """Say whether a question can be about a channel: not about a category, a direct message or an unknown one."""
    return isinstance(
        channel,
        discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread | discord.ForumChannel,
    )


def known_right(channel: Place, member: discord.Member) -> bool | None:
    """Say whether a member may read a channel, as far as that is known without asking Discord.

    None for a private thread that only its members may read: who they are has to be asked.
    """
    if isinstance(channel, discord.Thread) and channel.parent is None:
        return False  # its rights are those of a parent that is not known
    rights = channel.permissions_for(member)
    if not (rights.view_channel and rights.read_message_history):
        return False
    if isinstance(channel, discord.VoiceChannel | discord.StageChannel):
        return rights.connect
    if isinstance(channel, discord.Thread) and channel.is_private() and not rights.manage_threads:
        return None
    return True


async def may_read(channel: Place, member: discord.Member) -> bool:
    """Say whether a member may read a channel. One request for a private thread, none for anything else.

    `member` holds the roles it was made with: take a fresh one. A failed request is a no.
    """
    right = known_right(channel, member)
    if right is not None or not isinstance(channel, discord.Thread):
        return bool(right)
    try:
        with wrapped_errors():
            await channel.fetch_member(member.id)
    except Unavailable:
        return False
    return True


def is_told(guild: discord.Guild, channel_id: int) -> bool:
    """Say whether what happens in a channel or thread is told to the bot, and may be read by it.

    False for one that is not known here. In a private thread only its members and who may manage it are told.
    """
    channel = guild.get_channel_or_thread(channel_id)
    if not is_place(channel):
        return False
    right = known_right(channel, guild.me)
    return isinstance(channel, discord.Thread) and channel.me is not None if right is None else right


def age_allows(channel: Place, asked_in: Place) -> bool:
    """Say whether a channel may be read from the place where the question is asked, by its age restriction."""
    return channel.id == asked_in.id or not channel.is_nsfw() or asked_in.is_nsfw()


@dataclass(frozen=True, slots=True)
class Asker:
    """Be a member who asks, and the place where they do."""

    member: discord.Member
    here: Place

    @classmethod
    def of(cls, interaction: discord.Interaction) -> Asker:
        """Return who an interaction comes from; raises `PlaceNotFound` outside the channels of a guild."""
        guild, here = interaction.guild, interaction.channel
        if guild is not None and here is not None:
            here = guild.get_channel_or_thread(here.id) or here  # what Discord keeps up to date
        if not isinstance(interaction.user, discord.Member) or not is_place(here):
            raise PlaceNotFound
        return cls(interaction.user, here)

    @property
    def guild(self) -> discord.Guild:
        """The guild where the question is asked."""
        return self.member.guild

    @property
    def author(self) -> recall.PersonAuthor:
        """The author that the asker is, of what they write or have posted."""
        return recall.PersonAuthor(
            id=str(self.member.id), label=flatten_name(self.member.display_name) or str(self.member.id)
        )

    def known_right(self, channel: Place) -> bool | None:
        """Say whether the asker may read a channel from here, without asking Discord; None where that is not known."""
        if channel.guild.id != self.guild.id or not age_allows(channel, self.here):
            return False
        return known_right(channel, self.member)

    async def may_read(self, channel: Place) -> bool:
        """Say whether the asker may read a channel from here. At most one request."""
        return self.known_right(channel) is not False and await may_read(channel, self.member)

    def may_complete(self, channel: Place) -> bool:
        """Say whether what was read in a channel may be completed for the asker, and never ask Discord.

        In a private thread that is known where they stand in it, or may manage threads.
        """
        if known_right(channel, self.guild.me) is False:
            return False
        right = self.known_right(channel)
        return channel.id == self.here.id if right is None else right
