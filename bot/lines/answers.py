"""Answer a line: ask the same questions as the commands do, and write what comes as plain records.

An answer stands where everybody there reads it, so it reads that place alone, with its public threads, and only if
whoever asks may read it, too. A webhook has no rights of its own: whoever holds its address can write here, and is
answered what everybody here may read.
"""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import discord

import recall

from ..access import Asker, Place
from ..answering import Asking
from ..commands.context import context_request
from ..contexts import context_document, fresh_nonce
from ..errors import Refusal
from ..failures import wrapped_errors
from ..places import may_attach
from ..rendering.contexts import reach_text
from ..rendering.plain import Listed, Record, place_after
from .asked import AskedLine
from .help import HELP_TEXT


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """Hold what is posted in answer to a line."""

    text: str
    files: Sequence[discord.File] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Hold a line, who asks it by which row, and how its parts are read: `text_in` gives them as rows have them."""

    line: AskedLine
    asking: Asking
    row: recall.LogMessage
    text_in: Callable[[str], str]

    @property
    def here(self) -> Place:
        """The place that is asked about."""
        return self.asking.asker.here

    @property
    def asker(self) -> str:
        """The id of whoever asks."""
        return recall.author_id(self.row.author)

    def notes(self) -> list[str]:
        """Return what is to be said of the message that asks."""
        others = self.line.others
        return [f"Note: one line a message is answered, and this one had {others} more."] if others else []

    def words(self) -> str:
        """Return what stands behind the line's word and its options, as rows have it."""
        return self.text_in(self.line.query)

    def listed(self, records: list[Record], *, more: bool = False, named: str | None = None) -> Listed:
        """Return the records from where the line asks for them; `named` says what is meant by `after`.

        Raises `NoSuchRecord`.
        """
        after = self.line.after
        if after is None:
            return Listed(records, 0, more)
        start = place_after(records, lambda record: record.place == (named or after))
        if start is None:
            raise NoSuchRecord
        return Listed(records, start, more)


class NoSuchRecord(Refusal):
    """Say that no list can go on behind what is none of its records."""

    template = "What stands behind after is no record of that list now. Ask without it."


class NotAsked(Refusal):
    """Say how a line is written."""

    spellings: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "search": "!search [from:WHO] [before:TIME] [after:TIME] [sort:newest] [loose:yes] QUERY [after ^ID]",
            "pins": "!pins [#label] [after ^ID]",
            "standings": "!standings [#topic] [after ^ID, or after #topic]",
            "context": "!context",
        }
    )
    template = "Write it so: {spelling}"

    def __init__(self, word: str) -> None:
        self.spelling = self.spellings[word]


class NoFiles(Refusal):
    """Say that a file cannot be posted here."""

    template = "I may not attach files here, and a context is a file: I need Attach Files."


Answering = Callable[[Question], Awaitable[LineAnswer]]


async def answer_context(question: Question) -> LineAnswer:
    """Answer `!context`: one line, and the file of what a turn of whoever asks would see here."""
    if question.line.query or question.line.after is not None:
        raise NotAsked("context")
    here, asking = question.here, question.asking
    if not may_attach(here):
        raise NoFiles
    desk = await asking.open(here)
    request = context_request(asking, here, question.row.author, question.row.sequence)
    document = await context_document(desk, request, nonce=fresh_nonce())
    reach = reach_text(document.answer.coverage, before=question.row.sequence)
    file = discord.File(io.BytesIO(document.text.encode()), document.file_name)
    return LineAnswer(f"Recall context: {document.line} {reach}", [file])


async def answer_help(_question: Question) -> LineAnswer:
    """Answer `!recall help`."""
    return LineAnswer(HELP_TEXT)


async def asker_of(message: discord.Message, here: Place) -> Asker:
    """Return whose rights a line is read with; raises `Unavailable` where Discord does not say.

    An author comes with an event as a member, or else (after some edits) is asked for.
    """
    author = message.author
    if message.webhook_id is not None:
        return Asker(here.guild.me, here)
    member = author if isinstance(author, discord.Member) else here.guild.get_member(author.id)
    if member is None:
        with wrapped_errors():
            member = await here.guild.fetch_member(author.id)
    return Asker(member, here)
