"""A simulated guild with places of every kind, for tests of who may read what.

`ada` is a plain member, `ben` a moderator. The bot is a plain client: nothing here is a command.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

import discord
import simcord
from recall_bot.access import Asker, Place, is_place
from recall_bot.config import Config
from recall_bot.desks import Desks
from recall_bot.recent import Recent
from recall_bot.state import State
from recall_bot.threads import ThreadLists
from recall_bot.wiring import make_reads
from simcord.actors import MemberActor
from simcord.backend.models import Overwrite
from simcord.backend.serializers import channel_payload
from simcord.builders import ChannelHandle, GuildHandle, RoleHandle
from simcord.enums import OverwriteType

from tests.simcord_shims import user_forum_post, user_thread

HIDE = discord.PermissionOverwrite(view_channel=False)
SHOW = discord.PermissionOverwrite(view_channel=True)


@dataclass
class Workshop:
    """Hold the world: handles of what is in it, and the desks of the bot that serves it."""

    env: simcord.Env
    guild: GuildHandle
    general: ChannelHandle
    mods: ChannelHandle
    moderators: RoleHandle
    ada: MemberActor
    ben: MemberActor
    desks: Desks
    recent: Recent

    @property
    def discord_guild(self) -> discord.Guild:
        guild = self.env.bot.get_guild(self.guild.id)
        assert guild is not None
        return guild

    async def place(self, place_id: int) -> Place:
        found = self.discord_guild.get_channel_or_thread(place_id) or await self.discord_guild.fetch_channel(place_id)
        assert is_place(found)
        return found

    async def asker(self, who: MemberActor, here: int | None = None) -> Asker:
        member = await self.discord_guild.fetch_member(who.id)
        return Asker(member, await self.place(here or self.general.id))

    def write(self, place_id: int, *texts: str, who: MemberActor | None = None, **more: Any) -> list[int]:
        """Put messages into a place without telling the bot; returns their ids."""
        author = (who or self.ada).id
        create = self.env.backend.create_message
        return [create(place_id, author, text, broadcast=False, **more).id for text in texts]

    async def post_in(self, place_id: int, *texts: str, who: MemberActor | None = None) -> list[int]:
        """Put messages into a place as Discord does, so that the bot is told; returns their ids."""
        author = (who or self.ada).id
        ids = [self.env.backend.create_message(place_id, author, text).id for text in texts]
        await self.settle()
        return ids

    async def settle(self) -> None:
        await self.env.settle(timeout=30, idle=0.0005)

    async def deny(self, target_id: int, place_id: int, **permissions: bool) -> None:
        """Set permissions of a member in a channel, as in `deny(ada.id, channel.id, view_channel=False)`."""
        allow, deny = discord.PermissionOverwrite(**permissions).pair()
        overwrite = Overwrite(target_id, OverwriteType.MEMBER, allow=allow.value, deny=deny.value)
        self.env.backend.set_overwrite(place_id, overwrite)
        await self.settle()

    async def deny_bot(self, place_id: int, **permissions: bool) -> None:
        await self.deny(self.env.backend.bot_user.id, place_id, **permissions)

    async def thread(self, name: str, **options: Any) -> int:
        """Make a thread in the general channel; returns its id."""
        thread = user_thread(self.env, self.general.id, self.ada.id, name, **options)
        await self.settle()
        return int(thread.id)

    async def post(self, forum_id: int, name: str, body: str) -> int:
        """Make a forum post; returns its id, which is also that of its first message."""
        thread, _starter = user_forum_post(self.env, forum_id, self.ada.id, name, body)
        await self.settle()
        return int(thread.id)

    async def restrict(self, place_id: int) -> None:
        """Make a channel age-restricted, which simcord knows nothing of."""
        backend = self.env.backend
        payload = {**channel_payload(backend, backend.get_channel(place_id)), "nsfw": True}
        backend.emit("CHANNEL_UPDATE", payload)
        await self.settle()

    def requests(self, part: str = "") -> list[str]:
        """Return the requests made so far whose path holds `part`, and forget all of them."""
        made = [f"{request.method} {request.path}" for request in self.env.http_requests]
        self.env.http_requests.clear()
        return [line for line in made if part in line]


def desks_of(
    env: simcord.Env, recent: Recent, config: Config | None = None, *, heard: bool = True, **options: Any
) -> Desks:
    """Return desks that read from Discord alone; unless `heard`, they are told nothing of what changes."""
    state = State(":memory:", now=time.time)
    reads = make_reads(env.bot, config or Config(), None, state, clock=time.monotonic)
    return Desks(reads, ThreadLists(reads.bounds, hears=lambda _: heard), recent, **options)


async def open_workshop(env: simcord.Env) -> Workshop:
    guild = env.create_guild("Workshop")
    moderators = guild.create_role("mods", permissions=discord.Permissions(manage_threads=True, manage_messages=True))
    general = guild.create_text_channel("general")
    us = cast(discord.ClientUser, env.bot.user)
    mods = guild.create_text_channel("mods", overwrites={guild.default_role: HIDE, moderators: SHOW, us: SHOW})
    ada = guild.add_member(env.create_user("ada"))
    ben = guild.add_member(env.create_user("ben"), roles=[moderators])
    recent = Recent()
    workshop = Workshop(env, guild, general, mods, moderators, ada, ben, desks_of(env, recent), recent)
    await workshop.settle()
    return workshop
