"""Know what the rules of pinning in a place depend on: who moderates there now, who may pin, whose thread it is.

A moderator has Administrator or Manage Messages in the channel, or owns the guild. Webhooks and whoever is not in the
guild are plain members. Roles are asked for anew, as for an access check; who owns a thread never changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import discord

import recall

from .access import Place
from .config import Config, PinsConfig
from .errors import Unavailable
from .failures import wrapped_errors
from .forgetting import forget_oldest
from .places import place_ids
from .queries import PinAuthority, PinPolicy, Powers
from .roles import Roles

POWERS_FRESH_SECONDS: Final = 5.0  # how long a member's roles stand, so that one answer asks for each once
OWNERS_KEPT: Final = 10_000  # threads; which was asked for longest ago is forgotten first


def sections_in(config: Config) -> Callable[[Place], PinsConfig]:
    """Return what knows what is configured for pins in a place, the tables of its guild and channels applied."""
    return lambda place: config.settings(guild_id=place.guild.id, channel_ids=place_ids(place)).pins


def policy_of(section: PinsConfig) -> PinPolicy:
    """Return the rules that are configured."""
    return PinPolicy(section.unpin, bool(section.pin), section.per_author, section.thread_owner)


def powers_in(place: Place, member: discord.Member, section: PinsConfig) -> Powers:
    """Return what a member may in a place, by the roles that they were made with."""
    pins = not section.pin or any(role.id in section.pin for role in member.roles)
    if isinstance(place, discord.Thread) and place.parent is None:
        return Powers(moderates=False, pins=pins)  # its rights are those of a parent that is not known
    rights = place.permissions_for(member)
    return Powers(moderates=rights.administrator or rights.manage_messages, pins=pins)


class PinPowers:
    """Make out the rules of places. `section_of` returns what is configured for one."""

    def __init__(self, roles: Roles, section_of: Callable[[Place], PinsConfig]) -> None:
        self._roles = roles
        self._section_of = section_of
        self._owners: dict[int, str | None] = {}

    def authority(self, place: Place, is_webhook: Callable[[str], bool]) -> PinAuthority:
        """Return the rules of a place, and whom to ask for what they depend on."""
        section = self._section_of(place)

        async def powers_of(author_id: str) -> Powers:
            member = None
            if not is_webhook(author_id):
                member = await self._roles.member(place.guild, author_id, fresh_seconds=POWERS_FRESH_SECONDS)
            stranger = Powers(pins=not section.pin, is_member=False)
            return stranger if member is None else powers_in(place, member, section)

        return PinAuthority(
            policy_of(section),
            powers_of,
            functools.partial(self._owner_of, place.guild),
            functools.partial(_thread_of, place),
        )

    async def _owner_of(self, guild: discord.Guild, thread_id: int) -> str | None:
        """Return the id of a thread's owner, None for one that is gone or not to be read. Raises `Unavailable`."""
        if thread_id in self._owners:
            return self._owners[thread_id]
        found: object = guild.get_thread(thread_id)
        if found is None:
            try:
                with wrapped_errors():
                    found = await guild.fetch_channel(thread_id)
            except Unavailable as failure:
                if failure.kind not in {"gone", "no_permission"}:
                    raise
        self._owners[thread_id] = str(found.owner_id) if isinstance(found, discord.Thread) else None
        forget_oldest(self._owners, OWNERS_KEPT)
        return self._owners[thread_id]


def _thread_of(place: Place, row: recall.LogMessage) -> int | None:
    """Return the thread that a row of a place stands in, None for the channel itself."""
    if row.parent is not None:
        return row.parent
    parent = place.parent if isinstance(place, discord.Thread) else place
    if isinstance(parent, discord.ForumChannel):
        return row.sequence  # the message that a post begins with, which has its id
    return place.id if isinstance(place, discord.Thread) and place.is_private() else None
