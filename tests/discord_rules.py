"""Who may read what on Discord, stated from its documentation alone (Topics, Permissions) over simcord's records.

Nothing here is taken from the bot, from discord.py or from simcord's own computing, which are what is tested.
The documentation: the owner has everything. Base rights are those of @everyone and of all roles of a member, and
Administrator among them is everything and passes over overwrites. Then come the channel's overwrites: @everyone's
denied and allowed; of all the member's roles together what any denies, and then what any allows; the member's own.
A category's overwrites count for nothing but as the copy that a channel may have. Without View Channel there is
nothing. Text in voice and stage channels wants Connect too. A time-out leaves View Channel and Read Message
History, to all but the owner and administrators. A thread has the rights of its parent; a private one is read by
those in it and by who may manage threads.
"""

from __future__ import annotations

from typing import Any, Final

ADMINISTRATOR: Final = 1 << 3
VIEW_CHANNEL: Final = 1 << 10
READ_MESSAGE_HISTORY: Final = 1 << 16
CONNECT: Final = 1 << 20
MANAGE_THREADS: Final = 1 << 34
EVERYTHING: Final = (1 << 52) - 1

VOICE, STAGE, PRIVATE_THREAD = 2, 13, 12
THREADS: Final = (10, 11, 12)
OF_A_ROLE, OF_A_MEMBER = 0, 1


def rights_of(backend: Any, user_id: int, channel: Any) -> int:
    """Return the bits that somebody has in a channel; none for who is not a member."""
    guild = backend.guilds[channel.guild_id]
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if user_id == guild.owner_id:
        return EVERYTHING
    roles = [guild.id, *member.role_ids]
    bits = 0
    for role_id in roles:
        bits |= guild.roles[role_id].permissions if role_id in guild.roles else 0
    if bits & ADMINISTRATOR:
        return EVERYTHING
    stages = (
        [o for o in channel.overwrites if o.type == OF_A_ROLE and o.target_id == guild.id],
        [o for o in channel.overwrites if o.type == OF_A_ROLE and o.target_id in member.role_ids],
        [o for o in channel.overwrites if o.type == OF_A_MEMBER and o.target_id == user_id],
    )
    for overwrites in stages:
        denied = allowed = 0
        for overwrite in overwrites:
            denied |= overwrite.deny
            allowed |= overwrite.allow
        bits = bits & ~denied | allowed
    if member.timed_out_until is not None:  # every time-out here is one that lasts
        bits &= VIEW_CHANNEL | READ_MESSAGE_HISTORY
    return bits


def may_view(backend: Any, user_id: int, channel: Any) -> bool:
    """Say whether somebody sees that a channel is there."""
    home = backend.channels[channel.parent_id] if channel.type in THREADS else channel
    bits = rights_of(backend, user_id, home)
    if not bits & VIEW_CHANNEL:
        return False
    return channel.type != PRIVATE_THREAD or bool(bits & MANAGE_THREADS) or user_id in channel.thread_members


def may_read(backend: Any, user_id: int, channel: Any) -> bool:
    """Say whether somebody may read the messages of a channel or thread."""
    home = backend.channels[channel.parent_id] if channel.type in THREADS else channel
    bits = rights_of(backend, user_id, home)
    if home.type in {VOICE, STAGE} and not bits & CONNECT:
        return False
    return may_view(backend, user_id, channel) and bool(bits & READ_MESSAGE_HISTORY)


def everyone_views(backend: Any, channel: Any) -> bool:
    """Say whether a plain member without a role sees that a channel is there, so that its name is no secret."""
    if channel.type == PRIVATE_THREAD:
        return False
    home = backend.channels[channel.parent_id] if channel.type in THREADS else channel
    guild = backend.guilds[channel.guild_id]
    bits = guild.roles[guild.id].permissions
    if bits & ADMINISTRATOR:
        return True
    for overwrite in home.overwrites:
        if overwrite.type == OF_A_ROLE and overwrite.target_id == guild.id:
            bits = bits & ~overwrite.deny | overwrite.allow
    return bool(bits & VIEW_CHANNEL)
