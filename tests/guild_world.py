"""Random guilds in which every place has secrets of its own, so that whatever leaks says where it is from.

A place's name holds one secret, what is written in it another, and each of its messages names another place. The
bot and `asker` have rights of all sorts. simcord knows nothing of age restrictions: `age_restrictions` adds them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import simcord
from simcord.actors import MemberActor
from simcord.backend import serializers
from simcord.backend.models import Channel, Overwrite
from simcord.builders import ChannelHandle, GuildHandle, UserHandle
from simcord.enums import ChannelType, OverwriteType

from tests import discord_rules as rules
from tests.simcord_shims import archive, user_forum_post

KINDS = (
    ChannelType.TEXT, ChannelType.TEXT, ChannelType.TEXT, ChannelType.VOICE, ChannelType.STAGE_VOICE, ChannelType.FORUM,
)  # fmt: skip
BITS = (rules.VIEW_CHANNEL, rules.READ_MESSAGE_HISTORY, rules.CONNECT, rules.MANAGE_THREADS)
LINES = 5  # written in each place
FOR_EVER = "2999-01-01T00:00:00+00:00"

_restricted: set[int] = set()
_serials = itertools.count(1)


@contextmanager
def age_restrictions() -> Iterator[None]:
    """Let channels be age-restricted in what Discord tells of them."""
    module: Any = serializers
    orig = module.channel_payload

    def payload(backend: Any, channel: Any) -> Any:
        told = orig(backend, channel)
        return told if channel.is_thread else {**told, "nsfw": channel.id in _restricted}

    module.channel_payload = payload
    try:
        yield
    finally:
        module.channel_payload = orig


@dataclass
class Secret:
    """Hold what nobody may learn who may not read a place, and how many messages it has."""

    place: Channel
    name: str
    text: str
    messages: int = 0
    last: int = 0


def is_archived(place: Channel) -> bool:
    """Say whether a place is an archived thread."""
    return place.thread_metadata is not None and place.thread_metadata.archived


class GuildWorld:
    """Make one guild by a seed."""

    def __init__(self, env: simcord.Env, seed: int, asker: UserHandle, writer: UserHandle, agent: UserHandle) -> None:
        self.env, self.backend, self.random = env, env.backend, Random(seed)
        random, backend = self.random, env.backend
        owner = {"owner_id": asker.id} if random.random() < 0.06 else {}
        guild = backend.create_guild("Guild", **owner)
        self.guild = GuildHandle(env, guild)
        self.bot_id = backend.bot_user.id
        [bot_role] = guild.members[self.bot_id].role_ids
        if random.random() < 0.25:
            backend.edit_role(
                guild.id, guild.id, {"permissions": guild.everyone_role.permissions & ~random.choice(BITS)}
            )
        roles = [self._role() for _ in range(random.randint(1, 3))]
        held = random.sample(roles, random.randint(0, len(roles)))
        self.writer = self.guild.add_member(writer)
        self.agent = self.guild.add_member(agent)
        if asker.id not in guild.members:
            backend.add_member(guild.id, asker.id, roles=held)
        self.asker = MemberActor(env, self.guild, asker)
        self._targets = [guild.id, guild.id, *roles, *roles, asker.id, asker.id, self.bot_id, bot_role]
        self._members = {asker.id, self.bot_id}
        self.secrets: dict[int, Secret] = {}
        category = backend.create_channel(
            guild.id, "category", type=ChannelType.CATEGORY, overwrites=self._overwrites()
        )
        for _ in range(random.randint(3, 5)):
            self._channel(category)
        for parent in list(self.secrets.values()):
            if parent.place.type in {ChannelType.TEXT, ChannelType.FORUM}:
                for _ in range(random.choice((0, 1, 1, 2))):
                    self._thread(parent.place)
        open_places = [secret for secret in self.secrets.values() if secret.place.type != ChannelType.FORUM]
        for number in range(LINES):  # one after the other, so that what is merged is interleaved
            for secret in open_places:
                self._write(secret, number)

    def _role(self) -> int:
        random = self.random
        bits = sum(bit for bit in BITS if random.random() < 0.3)
        if random.random() < 0.06:
            bits |= rules.ADMINISTRATOR
        return int(self.backend.create_role(self.guild.id, "role", permissions=bits).id)

    def _overwrites(self) -> list[Overwrite]:
        """Return overwrites of a channel, often those of a hidden one."""
        random = self.random
        made: dict[int, Overwrite] = {}
        if random.random() < 0.5:
            made[self.guild.id] = Overwrite(self.guild.id, OverwriteType.ROLE, allow=0, deny=random.choice(BITS[:3]))
            if random.random() < 0.8:  # else the bot is locked out as well
                made[self.bot_id] = Overwrite(self.bot_id, OverwriteType.MEMBER, allow=sum(BITS), deny=0)
        for target in random.sample(self._targets, random.choice((0, 1, 1, 2, 3))):
            allow = sum(bit for bit in BITS if random.random() < 0.35)
            deny = sum(bit for bit in BITS if random.random() < 0.2) & ~allow
            kind = OverwriteType.MEMBER if target in self._members else OverwriteType.ROLE
            if target != self.bot_id or random.random() < 0.4:
                made[target] = Overwrite(target, kind, allow=allow, deny=deny)
        return list(made.values())

    def _secret(self, place: Channel, name: str) -> Secret:
        secret = self.secrets[place.id] = Secret(place, name, f"zt{next(_serials)}t")
        return secret

    def _channel(self, category: Channel) -> None:
        random, name = self.random, f"zn{next(_serials)}n"
        if self.secrets and random.random() < 0.1:
            name = random.choice(list(self.secrets.values())).name
        overwrites = list(category.overwrites) if random.random() < 0.25 else self._overwrites()
        parent = category.id if random.random() < 0.5 else None
        made = self.backend.create_channel(
            self.guild.id, name, type=random.choice(KINDS), overwrites=overwrites, parent_id=parent, announce=False
        )
        if random.random() < 0.2:
            _restricted.add(made.id)
        self.backend.emit("CHANNEL_CREATE", serializers.channel_payload(self.backend, made))
        self._secret(made, name)

    def _thread(self, parent: Channel) -> None:
        random, name, backend = self.random, f"zn{next(_serials)}n", self.backend
        if parent.type == ChannelType.FORUM:
            thread, _ = user_forum_post(self.env, parent.id, self.writer.id, name, "a post")
            self._secret(thread, name).messages = 1
        else:
            private = random.random() < 0.5
            kind = ChannelType.PRIVATE_THREAD if private else ChannelType.PUBLIC_THREAD
            thread = backend.create_thread(parent.id, name, self.writer.id, type=kind, broadcast=False)
            backend.announce_thread_create(thread)
            self._secret(thread, name)
            if private and random.random() < 0.8:
                backend.add_thread_member(thread.id, self.bot_id)
            if private and random.random() < 0.4:
                backend.add_thread_member(thread.id, self.asker.id)
        if random.random() < 0.3 and thread.type != ChannelType.PRIVATE_THREAD:
            for number in range(LINES):
                self._write(self.secrets[thread.id], number)
            archive(self.env, thread.id)

    def _write(self, secret: Secret, number: int) -> None:
        place = secret.place
        if is_archived(place):
            return
        chosen = self.random.choice(list(self.secrets.values()))
        other = chosen.place
        texts = (
            f"needle {secret.text} see <#{other.id}>",
            f"!pin #l{secret.text} note{secret.text}",
            f"!propose #t{secret.text} because {secret.text}",
            f"!pin ^{chosen.last or other.id} #elsewhere",
            f"needle again {secret.text}",
        )
        who = self.agent if number == 2 else self.writer
        secret.last = self.backend.create_message(place.id, who.id, texts[number]).id
        secret.messages += 1

    def readable(self, here: Channel, *, bot: bool = True) -> set[int]:
        """Return the places that the asker may read from where they ask, by Discord's rules; `bot`: through the bot."""
        backend, asker = self.backend, self.asker.id
        return {
            place_id
            for place_id, secret in self.secrets.items()
            if rules.may_read(backend, asker, secret.place)
            and (not bot or rules.may_read(backend, self.bot_id, secret.place))
            and (self.is_restricted(here) or not self.is_restricted(secret.place) or place_id == here.id)
        }

    def is_public_name(self, secret: Secret) -> bool:
        """Say whether every member sees the name of a place, which then may stand in what is written elsewhere."""
        return rules.everyone_views(self.backend, secret.place)

    def is_restricted(self, place: Channel) -> bool:
        """Say whether a place is age-restricted."""
        return (place.parent_id if place.is_thread else place.id) in _restricted

    def asking_places(self) -> list[Channel]:
        """Return where the asker can use a command."""
        found = [secret.place for secret in self.secrets.values() if secret.place.type != ChannelType.FORUM]
        return [
            place for place in found if rules.may_view(self.backend, self.asker.id, place) and not is_archived(place)
        ]

    def take_away(self) -> None:
        """Take all roles from the asker, or time them out, and tell the bot of neither, as Discord does not."""
        member = self.backend.guilds[self.guild.id].members[self.asker.id]
        if self.random.random() < 0.5:
            member.role_ids.clear()
        else:
            member.timed_out_until = FOR_EVER

    def handle(self, place: Channel) -> ChannelHandle:
        """Return a place, to be asked in."""
        return ChannelHandle(self.env, self.guild, place)

    def end(self) -> None:
        """Take the guild away, so that the next stands alone."""
        self.backend.remove_guild(self.guild.id)
        self.backend.transcript.clear()
        self.env.http_requests.clear()
