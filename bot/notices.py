"""Tell the author of a long message how far it runs over the channel's budget, without anybody being pinged.

Agents write by editing, so a message is looked at when its text has been still for `settle_seconds`; every
edit starts that wait again. One notice for each author and channel within the cooldown, at most
`NOTICES_PER_MINUTE` for each channel (the surplus is dropped), and none for what was posted while the bot
was away. A notice follows its message: its number is corrected, and it is withdrawn when the message is
shortened or deleted.

Every message that is waiting or being answered has one task named after it. `close` cancels them all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import discord

import recall

from .answering import code_places, described
from .failures import REQUEST_FAILURES
from .forgetting import forget_oldest
from .pace import Pace
from .places import channel_of, may_react, may_reply, place_ids

if TYPE_CHECKING:
    from discord.abc import MessageableChannel

    from .config import Config, Settings

NOTICES_PER_MINUTE = 3  # for each channel
CORRECTIONS_PER_MINUTE = 10  # for each channel; beyond that a notice keeps its number until the text changes again
NOTICES_REMEMBERED = 1_000  # messages waiting or answered that can still be withdrawn; the oldest are forgotten
MESSAGES_REMEMBERED = 10_000  # ids posted while we were here; an edit of any other is never answered
AUTHORS_REMEMBERED = 10_000  # last notices kept for the cooldown
LENGTH_EMOJI = "📏"

_log = logging.getLogger(__name__)


def notice_text(over: int, budget: int) -> str:
    """Return what a notice says: characters over, and the budget."""
    return f"{over} {'character' if over == 1 else 'characters'} over this channel's {budget}"


@dataclass(slots=True, eq=False)
class _Watch:
    """Hold what is known of one long message, and what stands under it."""

    message: discord.PartialMessage
    author: str
    settings: Settings
    over: int | None
    version: int = 0
    acting: bool = False
    task: asyncio.Task[None] | None = None
    notice: discord.PartialMessage | None = None  # our reply, or the message itself where we reacted
    stated: int = 0

    @property
    def text(self) -> str:
        """What its notice says; `stated` characters over."""
        return notice_text(self.stated, self.settings.brevity.message_chars)


class Notices:
    """Watch long messages. Call it for every message, changed text and deletion of enabled channels, in order.

    `sleep` and `clock` (seconds) are `asyncio.sleep` and `time.monotonic`, or a test's.
    """

    def __init__(
        self, config: Config, *, sleep: Callable[[float], Awaitable[None]], clock: Callable[[], float]
    ) -> None:
        self._config = config
        self._sleep = sleep
        self._clock = clock
        self._pace = Pace(NOTICES_PER_MINUTE, clock=clock)
        self._corrections = Pace(CORRECTIONS_PER_MINUTE, clock=clock)
        self._watches: dict[int, _Watch] = {}
        self._present: dict[int, None] = {}
        self._last: dict[tuple[int, str], float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def created(self, message: discord.Message, row: recall.LogMessage, *, replayed: bool = False) -> None:
        """Look at a new message; `replayed`: it was posted while the bot was away."""
        if replayed:
            return
        self._present[message.id] = None
        forget_oldest(self._present, MESSAGES_REMEMBERED)
        self._look(message, row)

    def edited(self, message: discord.Message, row: recall.LogMessage) -> None:
        """Look at a message whose text has changed."""
        if message.id in self._present:
            self._look(message, row)

    def deleted(self, message_ids: Iterable[int]) -> None:
        """Let go of messages, and withdraw what stands under them."""
        for message_id in message_ids:
            self._present.pop(message_id, None)
            watch = self._watches.get(message_id)
            if watch is not None:
                self._stir(watch, None)

    def place_deleted(self, channel_id: int) -> None:
        """Let go of all messages of a channel or thread that is gone, and of whatever stood there."""
        for watch in [watch for watch in self._watches.values() if channel_id in place_ids(watch.message.channel)]:
            self._drop(watch)

    async def close(self, *, deadline_seconds: float) -> None:
        """Cancel every wait and every answer under way; notices that stand stay."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        self._watches.clear()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=deadline_seconds)
            if late:
                _log.warning("%d notices did not end within %s s", len(late), deadline_seconds)

    def _look(self, message: discord.Message, row: recall.LogMessage) -> None:
        ids = place_ids(message.channel)
        settings = self._config.settings(guild_id=message.guild.id if message.guild else None, channel_ids=ids)
        brevity = settings.brevity
        over = recall.BrevityPolicy(message_chars=brevity.message_chars, window=brevity.window).overrun(row.content)
        watch = self._watches.get(message.id)
        if watch is not None:
            self._stir(watch, over)
        elif over is not None and settings.notices.mode != "off":
            place = partial_message(message.channel, message.id)
            watch = _Watch(place, recall.author_id(row.author), settings, over)
            self._watches[message.id] = watch
            self._start(watch)
            while len(self._watches) > NOTICES_REMEMBERED:
                self._drop(next(iter(self._watches.values())))

    def _stir(self, watch: _Watch, over: int | None) -> None:
        """Take a new text into account: begin the wait again, or let the answer under way see it."""
        watch.over, watch.version = over, watch.version + 1
        if watch.acting:
            return
        if watch.task is not None:
            watch.task.cancel()
            watch.task = None
        if over is None and watch.notice is None:
            self._drop(watch)
        else:
            self._start(watch)

    def _start(self, watch: _Watch) -> None:
        task = asyncio.create_task(self._tend(watch), name=f"recall-notice-{watch.message.id}")
        watch.task = task
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(watch, done))

    def _ended(self, watch: _Watch, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if watch.task is task:
            watch.task = None
            if watch.notice is None:
                self._drop(watch)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("notice failed: message=%d (%s) at %s", watch.message.id, described(error), code_places(error))

    def _drop(self, watch: _Watch) -> None:
        if self._watches.get(watch.message.id) is watch:
            del self._watches[watch.message.id]
        if watch.task is not None and not watch.acting:
            watch.task.cancel()

    async def _tend(self, watch: _Watch) -> None:
        """Wait until the text is still, then make what stands under it true, until nothing changed meanwhile."""
        while True:
            version = watch.version
            if watch.over is not None:
                await self._sleep(watch.settings.notices.settle_seconds)
            watch.acting = True
            try:
                await self._act(watch, watch.over)
            except discord.NotFound:
                _log.debug("notice dropped, its message is gone: message=%d", watch.message.id)  # as a proxy does
            except REQUEST_FAILURES as error:
                _log.warning("notice refused: message=%d (%s)", watch.message.id, described(error))
            finally:
                watch.acting = False
            if watch.version == version:
                return

    async def _act(self, watch: _Watch, over: int | None) -> None:
        replies = watch.settings.notices.mode == "reply"
        channel = watch.message.channel
        if over is None:
            notice, watch.notice = watch.notice, None
            if notice is not None:
                await self._withdraw(notice, replies=replies)
        elif watch.notice is not None:
            if replies and watch.stated != over and self._corrections.admit(channel_of(channel)):
                watch.stated = over
                watch.notice = await self._correct(watch.notice, watch.text)
        elif (may_reply if replies else may_react)(channel) and self._admit(watch):
            watch.stated = over
            watch.notice = await self._post(watch, replies=replies)
            _log.info("notice: channel=%d message=%d over=%d", channel.id, watch.message.id, over)

    def _admit(self, watch: _Watch) -> bool:
        """Say whether the cooldown and the pace allow a notice now, and count it before it is sent."""
        key = (watch.message.channel.id, watch.author)
        now = self._clock()
        last = self._last.get(key)
        if last is not None and now - last < watch.settings.notices.cooldown_seconds:
            return False
        if not self._pace.admit(channel_of(watch.message.channel)):
            return False
        self._last.pop(key, None)
        self._last[key] = now
        forget_oldest(self._last, AUTHORS_REMEMBERED)
        return True

    async def _post(self, watch: _Watch, *, replies: bool) -> discord.PartialMessage:
        message = watch.message
        if not replies:
            await message.add_reaction(LENGTH_EMOJI)
            return message
        reply = await message.channel.send(
            watch.text,
            reference=message.to_reference(fail_if_not_exists=False),
            mention_author=False,
            allowed_mentions=discord.AllowedMentions.none(),
            silent=True,
        )
        return partial_message(message.channel, reply.id)

    async def _correct(self, notice: discord.PartialMessage, text: str) -> discord.PartialMessage | None:
        try:
            await notice.edit(content=text, allowed_mentions=discord.AllowedMentions.none())
        except discord.NotFound:
            return None  # somebody deleted it, and is not told again
        return notice

    async def _withdraw(self, notice: discord.PartialMessage, *, replies: bool) -> None:
        try:
            if replies:
                await notice.delete()
            elif notice.guild is not None:
                await notice.remove_reaction(LENGTH_EMOJI, notice.guild.me)
        except discord.NotFound:
            return  # somebody was quicker, or the message is gone and its reactions with it


def partial_message(channel: MessageableChannel, message_id: int) -> discord.PartialMessage:
    """Return a handle for a message that holds nothing of its text."""
    return discord.PartialMessage(channel=channel, id=message_id)
