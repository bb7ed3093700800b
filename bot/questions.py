"""What was asked, in a form that rides in our own answer, so that its pages can be turned without a memory.

A button's id holds 100 characters, and a process may have been replaced since the answer was given. So the
question itself stands in the address of the answer's embed, and a press reads it again from there:

    https://discord.com/channels/GUILD/CHANNEL?recall=…

Discord hands us that message as it stored it, yet what is read is treated as any stranger's input: it has a
strict form and bounds, and access is asked for anew. The upper edge is fixed when the question is first asked,
so that pages stay as they are while new messages arrive.
"""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

import msgspec

import recall

URL_CHARS = 2048  # the most that an embed's address may have
LABEL_CHARS = 300  # of a label that is asked for; with any script it still fits the address
NAME_CHARS = 60  # of what was typed for an author
EDGES_KEPT = 24  # windows that Newer can go back through before it returns to the first
PAGES = 10_000
EVERYWHERE_ID = 0  # stands for no one place but all that the asker may read; an id is never 0, but may be the guild's
REACH_DOUBLINGS = 4  # how often a board may read twice as far; a guess: 16 times 2,048 rows are minutes of reading

_PARAMETER = "?recall="

Snowflake: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Page: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=PAGES)]


class Turn(StrEnum):
    """Name what a button under an answer does."""

    PREVIOUS = "previous"
    NEXT = "next"
    NEWER = "newer"
    OLDER = "older"


class Question(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Hold what every question has: who asked, about which place, and which page of the answer is shown.

    `upper` is the exclusive sequence at which reading begins, fixed when the question was first asked.
    """

    asker: Snowflake
    place: Snowflake
    upper: Snowflake
    page: Page = 0


class SearchQuestion(Question, frozen=True, array_like=True, tag="s1", kw_only=True):
    """Hold a search; `place` may be `EVERYWHERE_ID`.

    `before` and `after` are what the asker gave, exclusive; `author_name` is for display.
    `edges` are the windows gone through, as the sequences at which each begins, the shown one last; empty for the
    first. `oldest` is the edge of the shown window, from which Older goes on.
    """

    text: Annotated[str, msgspec.Meta(max_length=recall.SEARCH_PATTERN_CHARS)]
    author: Annotated[str, msgspec.Meta(max_length=20)] | None = None
    author_name: Annotated[str, msgspec.Meta(max_length=NAME_CHARS)] = ""
    before: Snowflake | None = None
    after: Snowflake | None = None
    order: Literal["best", "newest"] = "best"
    loose: bool = False
    assumed_utc: bool = False
    edges: Annotated[tuple[Snowflake, ...], msgspec.Meta(max_length=EDGES_KEPT)] = ()
    oldest: Snowflake | None = None


class PinsQuestion(Question, frozen=True, array_like=True, tag="p1", kw_only=True):
    """Ask for a board or its history. `reach` counts how often it reads twice as far as it is configured to."""

    show: Literal["board", "history"] = "board"
    label: Annotated[str, msgspec.Meta(max_length=LABEL_CHARS)] | None = None
    reach: Annotated[int, msgspec.Meta(ge=0, le=REACH_DOUBLINGS)] = 0


class StandingsQuestion(Question, frozen=True, array_like=True, tag="t1", kw_only=True):
    """Ask for standings, or for the lines behind them. `at` is the message that they are as of, null for `upper`.

    `reach` counts as that of a board does.
    """

    show: Literal["standings", "traces"] = "standings"
    topic: Annotated[str, msgspec.Meta(max_length=LABEL_CHARS)] | None = None
    at: Snowflake | None = None
    assumed_utc: bool = False
    reach: Annotated[int, msgspec.Meta(ge=0, le=REACH_DOUBLINGS)] = 0


AnyQuestion: TypeAlias = SearchQuestion | PinsQuestion | StandingsQuestion


def question_url(question: AnyQuestion, guild_id: int) -> str | None:
    """Return the address that carries a question; null when it does not fit, and then no page can be turned."""
    carried = base64.urlsafe_b64encode(msgspec.msgpack.encode(question)).decode().rstrip("=")
    place = f"{guild_id}/{question.place}" if question.place != EVERYWHERE_ID else str(guild_id)
    url = f"https://discord.com/channels/{place}{_PARAMETER}{carried}"
    return url if len(url) <= URL_CHARS else None


def read_question(url: str | None) -> AnyQuestion | None:
    """Return the question that an address carries; null for one that carries none, or none of this version."""
    if url is None or len(url) > URL_CHARS or _PARAMETER not in url:
        return None
    carried = url.partition(_PARAMETER)[2]
    try:
        packed = base64.urlsafe_b64decode(carried + "=" * (-len(carried) % 4))
        question: AnyQuestion = msgspec.msgpack.decode(packed, type=AnyQuestion)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None
    return question


def turned(question: AnyQuestion, turn: Turn) -> AnyQuestion | None:
    """Return the question that a button asks; null when there is nothing to turn to."""
    if turn is Turn.PREVIOUS:
        return msgspec.structs.replace(question, page=question.page - 1) if question.page else None
    if turn is Turn.NEXT:
        return msgspec.structs.replace(question, page=question.page + 1) if question.page + 1 < PAGES else None
    if isinstance(question, SearchQuestion):
        return _other_window(question, turn)
    reach = question.reach + (1 if turn is Turn.OLDER else -1)
    return msgspec.structs.replace(question, reach=reach, page=0) if 0 <= reach <= REACH_DOUBLINGS else None


def _other_window(question: SearchQuestion, turn: Turn) -> SearchQuestion | None:
    edges = question.edges
    if turn is Turn.NEWER:
        return msgspec.structs.replace(question, edges=edges[:-1], page=0, oldest=None) if edges else None
    if question.oldest is None:
        return None
    edges = (*edges, question.oldest)
    if len(edges) > EDGES_KEPT:
        edges = edges[-EDGES_KEPT:]
    return msgspec.structs.replace(question, edges=edges, page=0, oldest=None)
