"""Find a place to read for a line, ask its question, and turn every failure into a sentence.

`LINE_WALKS` questions of a server are read for lines at once, so that whoever asks by a command is answered meanwhile.
A line that finds no place waits for one, `LINE_TRIES` times.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import discord

import recall
from recall.text import collapse

from ..access import Place
from ..answering import Asking, code_places, described, settings_of
from ..errors import Busy, GuildBusy, Refusal, sentence_of
from ..rendering.cards import clipped
from ..rendering.plain import PLAIN_WIDTH
from ..rows import text_in
from .answers import Answering, LineAnswer, Question, answer_context, answer_help, asker_of
from .asked import AskedLine
from .boards import answer_pins
from .deliberations import answer_standings
from .searching import answer_search

if TYPE_CHECKING:
    from ..history import Progress
    from ..services import Services

LINE_WALKS = 2  # questions of lines read for one server at once, but always less than its `search.guild_walks`
LINE_TRIES = 8  # times a line looks for a place to be read; an author's six of a minute need as many, and some to spare

ANSWERS: Mapping[str, Answering] = MappingProxyType(
    {
        "search": answer_search,
        "pins": answer_pins,
        "standings": answer_standings,
        "context": answer_context,
        "recall": answer_help,
    }
)

_log = logging.getLogger(__name__)


class Answerer:
    """Answer lines. `sleep` waits for seconds."""

    def __init__(self, services: Services, *, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._services = services
        self._sleep = sleep
        self._walking: dict[int, int] = {}

    async def answer(
        self, message: discord.Message, row: recall.LogMessage, line: AskedLine, here: Place
    ) -> LineAnswer | None:
        """Return the answer to a line, in one sentence why there is none; None where there was no place to read it."""
        guild_id, asked_by = here.guild.id, int(recall.author_id(row.author))
        cooldown = settings_of(self._services, here).search.cooldown_seconds
        for _ in range(LINE_TRIES):
            try:
                with self._walk(guild_id):
                    async with self._services.walks.admit(guild_id, asked_by, cooldown_seconds=cooldown):
                        return await self._ask(message, row, line, here)
            except Busy as busy:
                await self._sleep(busy.seconds)
            except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
                _log_failure(message, error)
                return LineAnswer(clipped(f"Recall: no answer. {collapse(sentence_of(error))}", PLAIN_WIDTH))
        return None

    async def _ask(self, message: discord.Message, row: recall.LogMessage, line: AskedLine, here: Place) -> LineAnswer:
        asker = await asker_of(message, here)
        asking = Asking(self._services, asker, public=True, on_progress=_unseen)
        question = Question(line, asking, row, partial(text_in, message))
        return await ANSWERS[line.word](question)

    @contextmanager
    def _walk(self, guild_id: int) -> Iterator[None]:
        walking = self._walking.get(guild_id, 0)
        most = min(LINE_WALKS, max(1, self._services.config.search.guild_walks - 1))
        if walking >= most:
            raise GuildBusy
        self._walking[guild_id] = walking + 1
        try:
            yield
        finally:
            self._walking[guild_id] -= 1
            if not self._walking[guild_id]:
                del self._walking[guild_id]


def _unseen(_progress: Progress) -> None:
    """Say nothing of how far the reading is: an answer to a line is one message."""


def _log_failure(message: discord.Message, error: Exception) -> None:
    where = f"message={message.id} channel={message.channel.id}"
    foreseen = error.__cause__ if isinstance(error, recall.ReadError) else error
    if isinstance(foreseen, Refusal | recall.PatternError):
        _log.info("no answer: %s (%s)", described(foreseen), where)
    else:
        _log.error("no answer: %s (%s) at %s", described(error), where, code_places(error))
