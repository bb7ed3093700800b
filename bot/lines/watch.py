"""Answer question lines where they stand, once each, on the settled text.

Agents write by editing, so a message is looked at when its text has been still for `notices.settle_seconds`; every
edit before that starts the wait again. What is answered is not answered again, whatever its text becomes, and an
answer goes when its line is deleted. Nothing is answered that was posted while the bot was away.

At most `LINES_WAITING` lines of a channel wait at once, of one author as many as could be answered in a minute. Every
line has one task; `close` cancels them all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import discord

import recall

from ..access import Place, is_place
from ..answering import SILENT, code_places, described, settings_of
from ..failures import REQUEST_FAILURES
from ..forgetting import forget_oldest
from ..notices import partial_message
from ..places import channel_of, may_react, may_reply, place_ids
from .answerer import Answerer
from .answers import LineAnswer
from .asked import AskedLine, read_line
from .bounds import LINES_PER_AUTHOR, LineBounds

if TYPE_CHECKING:
    from ..services import Services

LINES_WAITING = 20  # lines of one channel that wait or are being answered; what is more is not answered
LINES_REMEMBERED = 1_000  # answers that can still be withdrawn; the oldest are forgotten
MESSAGES_REMEMBERED = 10_000  # ids posted while we were here; an edit of any other is never answered
PACED_EMOJI = "⏳"

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Watch:
    """Hold a message with a line that waits for its answer."""

    message: discord.Message
    row: recall.LogMessage
    line: AskedLine
    acting: bool = False
    gone: bool = False
    task: asyncio.Task[None] | None = None


class Lines:
    """Answer question lines. Call it for every message, changed text and deletion of enabled channels, in order.

    Our own messages are not to be handed in. `sleep` and `clock` are those of `Notices`.
    """

    def __init__(
        self, services: Services, *, sleep: Callable[[float], Awaitable[None]], clock: Callable[[], float]
    ) -> None:
        self._services = services
        self._sleep = sleep
        self._bounds = LineBounds(clock=clock)
        self._present: dict[int, None] = {}
        self._watches: dict[int, _Watch] = {}
        self._answers: dict[int, discord.PartialMessage] = {}
        self._answerer = Answerer(services, sleep=sleep)
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
        """Let go of messages, and withdraw the answers to them."""
        for message_id in message_ids:
            self._present.pop(message_id, None)
            watch = self._watches.get(message_id)
            if watch is not None:
                self._drop(watch)
            answer = self._answers.pop(message_id, None)
            if answer is not None:
                self._begin(self._withdraw(answer), f"recall-line-{message_id}-gone")

    def place_deleted(self, channel_id: int) -> None:
        """Let go of all lines of a channel or thread that is gone."""
        for watch in [one for one in self._watches.values() if channel_id in place_ids(one.message.channel)]:
            self._drop(watch)
        self._answers = {
            line: answer for line, answer in self._answers.items() if channel_id not in place_ids(answer.channel)
        }

    async def close(self, *, deadline_seconds: float) -> None:
        """Cancel every wait and every answer under way."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        self._watches.clear()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=deadline_seconds)
            if late:
                _log.warning("%d lines did not end within %s s", len(late), deadline_seconds)

    def _look(self, message: discord.Message, row: recall.LogMessage) -> None:
        watch = self._watches.get(message.id)
        if watch is not None and watch.acting:
            return
        if watch is not None:
            self._drop(watch)
        here = message.channel
        if not is_place(here) or not self._is_for(row.author, here):
            return
        line = read_line(message.content)
        if line is None:
            return
        if self._is_crowded(here, row.author):
            self._refuse(message, row)
            return
        watch = _Watch(message, row, line)
        self._watches[message.id] = watch
        watch.task = self._begin(self._tend(watch), f"recall-line-{message.id}")

    def _is_crowded(self, here: Place, author: recall.Author) -> bool:
        """Say whether a line more could not be answered, or would wait behind too many; its own author's count most."""
        author_id = recall.author_id(author)
        waiting = [
            recall.author_id(one.row.author)
            for one in self._watches.values()
            if channel_of(one.message.channel) == channel_of(here)
        ]
        if len(waiting) >= LINES_WAITING or waiting.count(author_id) >= LINES_PER_AUTHOR:
            return True
        return self._bounds.is_full(here.guild.id, channel_of(here), author_id)

    def _is_for(self, author: recall.Author, here: Place) -> bool:
        answered = settings_of(self._services, here).lines.answered
        if answered == "off":
            return False
        return isinstance(author, recall.AgentAuthor) or answered == "everyone"

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("%s failed: %s at %s", task.get_name(), described(error), code_places(error))

    def _drop(self, watch: _Watch) -> None:
        """Let go of a line that waits; of one that is being answered the answer is withdrawn once it stands."""
        watch.gone = True
        self._watches.pop(watch.message.id, None)
        if watch.task is not None and not watch.acting:
            watch.task.cancel()

    async def _tend(self, watch: _Watch) -> None:
        """Wait until the text is still, then answer it if that may be."""
        message, row = watch.message, watch.row
        here = message.channel
        try:
            if not is_place(here):
                return
            await self._sleep(settings_of(self._services, here).notices.settle_seconds)
            watch.acting = True
            if not (may_reply(message.channel) and self._services.is_enabled(place_ids(here))):
                return  # switched off meanwhile, or shut out
            self._present.pop(message.id, None)  # what is answered once is not answered again
            if not self._bounds.admit(here.guild.id, channel_of(here), recall.author_id(row.author)):
                self._refuse(message, row)
                return
            answer = await self._answerer.answer(message, row, watch.line, here)
            if answer is None:
                self._refuse(message, row)
            elif not watch.gone:
                await self._post(watch, answer)
        finally:
            if self._watches.get(message.id) is watch:
                del self._watches[message.id]

    async def _post(self, watch: _Watch, answer: LineAnswer) -> None:
        message = watch.message
        try:
            reply = await message.channel.send(
                answer.text,
                files=answer.files,
                reference=message.to_reference(fail_if_not_exists=False),
                mention_author=False,
                allowed_mentions=SILENT,
                suppress_embeds=True,
                silent=True,
            )
        except REQUEST_FAILURES as error:
            _log.warning("answer refused: message=%d (%s)", message.id, described(error))
            return
        _log.info("line answered: channel=%d message=%d word=%s", message.channel.id, message.id, watch.line.word)
        posted = partial_message(message.channel, reply.id)
        if watch.gone:
            await self._withdraw(posted)
            return
        self._answers[message.id] = posted
        forget_oldest(self._answers, LINES_REMEMBERED)

    async def _withdraw(self, answer: discord.PartialMessage) -> None:
        try:
            await answer.delete()
        except discord.NotFound:
            return  # somebody was quicker
        except REQUEST_FAILURES as error:
            _log.warning("answer not withdrawn: message=%d (%s)", answer.id, described(error))

    def _refuse(self, message: discord.Message, row: recall.LogMessage) -> None:
        """Tell an author by one reaction that their lines are not answered now, or say nothing."""
        if may_react(message.channel) and self._bounds.may_tell(
            channel_of(message.channel), recall.author_id(row.author)
        ):
            self._begin(_react(message), f"recall-line-{message.id}-paced")


async def _react(message: discord.Message) -> None:
    try:
        await message.add_reaction(PACED_EMOJI)
    except REQUEST_FAILURES as error:
        _log.warning("reaction refused: message=%d (%s)", message.id, described(error))
