"""A guild to which everything happens, and a bot that is told of it as Discord tells: at once, late, or never.

simcord knows neither interruptions nor what a bot may not view, so `Line` stands between it and the bot. It keeps
back what is not told, and what is told late, when a session resumes; a session that does not begins as Discord's
does, with a guild that is there only once it was told of. `Wire` holds answers of Discord on their way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord
import simcord
from simcord.backend import serializers
from simcord.backend.access import channel_accessible
from simcord.backend.models import Channel, Message, Overwrite
from simcord.builders import UserHandle
from simcord.enums import ChannelType, MessageType, OverwriteType

from tests.simcord_shims import archive, user_forum_post, user_thread

VIEW = discord.Permissions(view_channel=True).value
HISTORY = discord.Permissions(read_message_history=True).value
TEXTS = ("alpha", "beta gamma", "ship it <#{side}>", "ask <@{ada}> or <@&{role}>", "`!pin #code` alpha", "> !pin beta")
LABELS = (" #decision", " #limits", "", " #decision as we said")


class Line:
    """Be the connection between the guild and the bot, which can be interrupted."""

    def __init__(self, env: simcord.Env) -> None:
        self._env = env
        self._late: list[tuple[str, dict[str, Any]]] = []
        self.attach()

    def attach(self) -> None:
        """Stand between simcord and the bot that was just started."""
        self._feed: Any = self._env._gateway_feed
        self._env.backend.subscribers[:] = [self.tell]
        self._late.clear()
        self.open = True
        self.out = False  # whether the guild is in an outage

    @property
    def whole(self) -> bool:
        """Whether the bot has been told all."""
        return self.open and not self.out

    @property
    def _socket(self) -> Any:
        bot: Any = self._env.bot
        return bot._AutoShardedClient__shards[0].ws

    @property
    def _parsers(self) -> Any:
        return self._env.bot._connection.parsers

    def tell(self, event: str, payload: Mapping[str, Any]) -> None:
        """Tell the bot, if it may know and can hear."""
        if self.out or not self._may_be_told(event, payload):
            return
        if self.open:
            self._feed(event, payload)
        else:
            self._late.append((event, dict(payload)))

    def _may_be_told(self, event: str, payload: Mapping[str, Any]) -> bool:
        backend = self._env.backend
        if event == "THREAD_LIST_SYNC":
            place = int(payload["channel_ids"][0])
        elif event.startswith("THREAD_"):
            known = int(payload["id"]) in backend.channels
            place = int(payload["id"] if known else payload["parent_id"])
        elif event.startswith("MESSAGE_"):
            place = int(payload["channel_id"])
        else:
            return True
        return channel_accessible(backend, place, backend.bot_user.id)

    def cut(self) -> None:
        """Let the connection die without a word."""
        self.open = self._socket.open = False

    def lapse(self) -> None:
        """Interrupt the connection, so that the client notices."""
        self.cut()
        self._env.bot.dispatch("disconnect")
        self._env.bot.dispatch("shard_disconnect", 0)

    def handshake(self) -> None:
        """Interrupt the connection, and have a socket again, with no word on the session yet."""
        self.lapse()
        self._socket.open = True

    def resume(self) -> None:
        """Go on with the session: what was missed is told first."""
        self.open = self._socket.open = True
        late, self._late = self._late, []
        for event, payload in late:
            self._feed(event, payload)
        with self._env._bot_scope():
            self._parsers["RESUMED"]({"__shard_id__": 0})

    def identify(self) -> None:
        """Begin a session that knows nothing of the one before."""
        self._late.clear()
        self.open = self._socket.open = True
        self.out = False
        backend = self._env.backend
        ready = {
            "v": 10,
            "user": dict(serializers.user_payload(backend.bot_user)),
            "guilds": [{"id": str(guild_id), "unavailable": True} for guild_id in backend.guilds],
            "session_id": "another",
            "resume_gateway_url": "wss://simcord.invalid",
            "shard": [0, 1],
            "application": {"id": str(backend.application_id), "flags": 0},
        }
        with self._env._bot_scope():
            self._parsers["READY"](ready)
        self.tell_guilds()

    def tell_guilds(self) -> None:
        """Tell of every guild as it is."""
        for guild in self._env.backend.guilds.values():
            self.tell("GUILD_CREATE", serializers.guild_create_payload(self._env.backend, guild))


class Wire:
    """Hold the answers of Discord about messages on their way, so that something can happen meanwhile."""

    def __init__(self) -> None:
        self._released: asyncio.Event | None = None
        self.holding = 0

    def attach(self, bot: discord.Client) -> None:
        """Stand between Discord and the bot that was just started."""
        http: Any = bot.http
        orig: Callable[..., Awaitable[Any]] = http.request

        async def request(route: Any, **options: Any) -> Any:
            answer = await orig(route, **options)
            if self._released is not None and route.method == "GET" and "/messages" in route.path:
                self.holding += 1
                await self._released.wait()
            return answer

        http.request = request

    def hold(self) -> None:
        self._released, self.holding = asyncio.Event(), 0

    def release(self) -> None:
        if self._released is not None:
            self._released.set()
            self._released = None


class Upheaval:
    """Hold a guild, and do to it what a number says: what there is to choose from changes, the number does not."""

    def __init__(self, env: simcord.Env, line: Line, people: tuple[UserHandle, UserHandle, UserHandle]) -> None:
        self.env = env
        self.line = line
        self.backend = env.backend
        self.guild = env.create_guild("Upheaval")
        self.ada, self.scout, self.mallory = (self.guild.add_member(user) for user in people)
        self.backend.edit_member(self.guild.id, self.ada.id, {"nick": "Countess"})
        self.role = self.guild.create_role("crew")
        self.blind: set[int] = set()  # channels that the bot may not read
        self.ids: list[int] = []  # of every message there ever was
        self.general = self.guild.create_text_channel("general").id
        self.side = self.guild.create_text_channel("side").id
        self.forum = self.guild.create_forum_channel("forum").id
        self.hook = self.backend.create_webhook(self.general, "herald", self.ada.id).id

    @property
    def channels(self) -> list[int]:
        return [self.general, self.side, self.forum]

    def threads(self, *, archived: bool | None = None, private: bool | None = None) -> list[Channel]:
        found = [self.backend.channels[thread_id] for thread_id in self.backend.guilds[self.guild.id].thread_ids]
        return [
            thread
            for thread in found
            if archived in {None, bool(thread.thread_metadata and thread.thread_metadata.archived)}
            and private in {None, thread.type == ChannelType.PRIVATE_THREAD}
        ]

    def places(self) -> list[int]:
        """Return where messages can be written."""
        return [self.general, self.general, self.side, *(thread.id for thread in self.threads(archived=False))]

    def messages(self, *, writable: bool = False) -> list[Message]:
        places = self.places()[1:] if writable else [self.general, self.side, *(t.id for t in self.threads())]
        return [message for place in places for message in self.backend.messages[place].values()]

    def text(self, number: int) -> str:
        return TEXTS[number % len(TEXTS)].format(side=self.side, ada=self.ada.id, role=self.role.id)

    def marker(self, number: int) -> str:
        """Return a marker line about a message that is, was, or is not read here."""
        target = self.ids[number % len(self.ids)] if self.ids else 5
        label = LABELS[number // 3 % len(LABELS)]
        link = f"https://discord.com/channels/{self.guild.id}/{self.general}/{target}"
        lines = (f"!pin ^{target}{label}", f"!unpin ^{target}", f"!pin{label}", f"!pin ^{link}{label}")
        traces = ("!propose #a", f"!support #a ^{target}", f"!object >{target} ^{target}", "!commit #a")
        return (*lines, *lines, *traces)[number // 5 % (2 * len(lines) + len(traces))]

    # What happens. Each step takes a number that says what it is done to.

    def post(self, number: int) -> None:
        author = (self.ada, self.ada, self.scout, self.mallory)[number % 4]
        self._made(self._create(number, author.id, self.text(number)))

    def pin(self, number: int) -> None:
        self._made(self._create(number, self.ada.id, self.marker(number)))

    def pin_twice(self, number: int) -> None:
        lines = f"{self.marker(number)}\n{self.text(number)}\n{self.marker(number + 7)}"
        self._made(self._create(number, self.scout.id, lines))

    def reply(self, number: int) -> None:
        place = self.places()[number % len(self.places())]
        answered = list(self.backend.messages[place])
        if answered:
            reference = {"message_id": str(answered[number % len(answered)]), "channel_id": str(place)}
            self._made(self.backend.create_message(place, self.ada.id, "!pin #decision", reference=reference))

    def webhook(self, number: int) -> None:
        text = self.marker(number) if number % 2 else self.text(number)
        name = f"herald {number % 2}"
        self._made(self.backend.create_message(self.general, self.hook, text, webhook_id=self.hook, author_name=name))

    def own_line(self, number: int) -> None:
        """Post a marker line as a menu does; every third is none of ours that counts."""
        user = dict(serializers.user_payload(self.backend.users[self.ada.id]))
        metadata = {"id": str(self.backend.snowflake()), "type": 2, "user": user, "authorizing_integration_owners": {}}
        text = self.marker(number) if number % 3 else "Here is what I found.\n" + self.marker(number)
        self._made(self._create(number, self.backend.bot_user.id, text, interaction_metadata=metadata))

    def system(self, number: int) -> None:
        place = (self.general, self.side)[number % 2]
        self._made(self.backend.create_system_message(place, MessageType.NEW_MEMBER, self.ada.id))

    def edit(self, number: int) -> None:
        self._change(number, {"content": self.marker(number) if number % 2 else self.text(number)})

    def unfurl(self, number: int) -> None:
        """Show the preview of a link, which can come after a thread was archived."""
        embed = {"title": "alpha preview", "type": "rich", "description": f"of <#{self.side}>"}
        self._change(number, {"embeds": [embed]}, writable=False)

    def delete(self, number: int) -> None:
        if found := self.messages():
            message = found[number % len(found)]
            self.backend.delete_message(message.channel_id, message.id)

    def unborn(self, number: int) -> dict[str, Any]:
        """Write and delete a message, and tell of the deletion alone; returns what would have told of its coming."""
        places = self.places()
        place, text = places[number % len(places)], self.marker(number)
        made = self.backend.create_message(place, self.ada.id, text, broadcast=False)
        told = dict(serializers.message_payload(self.backend, made))
        self.backend.delete_message(place, made.id)
        return told

    def purge(self, number: int) -> None:
        place = self.places()[number % len(self.places())]
        ids = sorted(self.backend.messages[place])
        at = number % (len(ids) or 1)
        self.backend.bulk_delete_messages(place, ids[at : at + 2 + number % 3])

    def thread(self, number: int) -> None:
        roots = [message_id for message_id in self.backend.messages[self.general] if message_id not in self.known]
        root = roots[number % len(roots)] if roots and number % 2 else None
        user_thread(self.env, self.general, self.ada.id, f"thread {number}", message_id=root)
        self._seen(self.general)

    @property
    def known(self) -> Mapping[int, Channel]:
        return self.backend.channels

    def crowd(self, number: int) -> None:
        """Make threads that pin something, and archive them one after the other."""
        for place in range(3 + number % 2):
            self.backend.clock.advance(1.5)
            thread = user_thread(self.env, self.general, self.ada.id, f"crowd {place}")
            self._made(self.backend.create_message(thread.id, self.ada.id, self.marker(number + place)))
            archive(self.env, thread.id)
        self._seen(self.general)

    def forum_post(self, number: int) -> None:
        _, starter = user_forum_post(self.env, self.forum, self.ada.id, f"post {number}", self.text(number))
        self._made(starter)

    def private(self, number: int) -> None:
        user_thread(self.env, self.general, self.ada.id, f"secret {number}", private=True)
        self._seen(self.general)

    def archive(self, number: int) -> None:
        if found := self.threads(archived=False):
            archive(self.env, found[number % len(found)].id)

    def unarchive(self, number: int) -> None:
        if found := self.threads(archived=True):
            archive(self.env, found[number % len(found)].id, archived=False)

    def delete_thread(self, number: int) -> None:
        if found := self.threads():
            self.backend.delete_channel(found[number % len(found)].id)

    def delete_channel(self, number: int) -> None:
        """Delete a channel with its threads, of which nothing is told, and make another."""
        gone = (self.side, self.forum)[number % 2]
        for thread in [thread for thread in self.threads() if thread.parent_id == gone]:
            del self.backend.channels[thread.id], self.backend.messages[thread.id]
            self.backend.guilds[self.guild.id].thread_ids.remove(thread.id)
        self.backend.delete_channel(gone)
        self.blind.discard(gone)
        if gone == self.side:
            self.side = self.guild.create_text_channel("side").id
        else:
            self.forum = self.guild.create_forum_channel("forum").id

    def rename(self, number: int) -> None:
        self.backend.edit_role(self.guild.id, self.role.id, {"name": f"crew {number % 3}"})
        self.backend.channels[self.side].name = f"side {number % 3}"
        self.backend.announce_channel_update(self.side)

    def hide(self, number: int) -> None:
        """Hide a channel from everybody, or show it again: its name is a secret or none."""
        allow, deny = discord.PermissionOverwrite(view_channel=False if number % 2 else None).pair()
        overwrite = Overwrite(self.guild.id, OverwriteType.ROLE, allow=allow.value, deny=deny.value)
        self.backend.set_overwrite(self.side, overwrite)
        if self.side not in self.blind:
            self._allow(self.side, VIEW | HISTORY, 0)

    def blindfold(self, number: int) -> None:
        """Take a channel from the bot, or its history, or give it back."""
        channel = self.channels[number % 3]
        if channel in self.blind:
            self.blind.discard(channel)
            self._allow(channel, VIEW | HISTORY, 0)
        else:
            self.blind.add(channel)
            self._allow(channel, 0, VIEW if number % 2 else HISTORY)

    def blink(self, number: int) -> None:
        """Take a channel, or all of them, from the bot, and give it back: what was said meanwhile is never told."""
        if number % 2:
            self.blindfold(number // 2 * 3 + number % 3)
            self.pin(number)
            self.blindfold(number // 2 * 3 + number % 3)
            return
        [role_id] = self.backend.get_member(self.guild.id, self.backend.bot_user.id).role_ids
        rights = self.backend.get_role(self.guild.id, role_id).permissions
        self.backend.edit_role(self.guild.id, role_id, {"permissions": 0})
        everybody = self.backend.get_role(self.guild.id, self.guild.id).permissions
        self.backend.edit_role(self.guild.id, self.guild.id, {"permissions": 0})
        self.pin(number)
        self.backend.edit_role(self.guild.id, self.guild.id, {"permissions": everybody})
        self.backend.edit_role(self.guild.id, role_id, {"permissions": rights})
        for channel in self.channels:
            self._sync(channel)

    def _allow(self, channel: int, allow: int, deny: int) -> None:
        """Set what the bot may do in a channel."""
        me = self.backend.bot_user.id
        self.backend.set_overwrite(channel, Overwrite(me, OverwriteType.MEMBER, allow=allow, deny=deny))
        if allow:
            self._sync(channel)

    def _sync(self, channel: int) -> None:
        """Tell of the threads of a channel that the bot may view again."""
        threads = [thread for thread in self.threads(archived=False) if thread.parent_id == channel]
        told = [dict(serializers.thread_payload(self.backend, thread)) for thread in threads]
        payload = {"guild_id": str(self.guild.id), "channel_ids": [str(channel)], "threads": told, "members": []}
        self.line.tell("THREAD_LIST_SYNC", payload)

    def _create(self, number: int, author_id: int, text: str, **more: Any) -> Message:
        places = self.places()
        return self.backend.create_message(places[number // 2 % len(places)], author_id, text, **more)

    def _change(self, number: int, fields: dict[str, Any], *, writable: bool = True) -> None:
        """Change a message that somebody wrote."""
        found = [message for message in self.messages(writable=writable) if message.type in {0, 19}]
        if found:
            message = found[number % len(found)]
            self.backend.edit_message(message.channel_id, message.id, fields)

    def _made(self, message: Message) -> None:
        self.ids.append(message.id)

    def _seen(self, place: int) -> None:
        self.ids += [message_id for message_id in self.backend.messages[place] if message_id not in self.ids]
