"""A card: what one answer shows, within every limit that Discord sets, measured after escaping.

A card becomes one embed. Text in an embed pings nobody and unfolds no link, and it has room for a page of hits.
Its `url` carries the question, so that a page can be turned without anything kept by us (`questions`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import recall

from ..links import seconds_of
from .inert import fitted, inert, width

TITLE_WIDTH = 256
BODY_WIDTH = 4096
NOTE_WIDTH = 1024
FOOT_WIDTH = 620  # Discord allows 2,048; this keeps the whole below its 6,000 with all the others full
CARD_WIDTH = 6000

NAME_CHARS = 40  # of an author; Discord allows 32, and 80 for a webhook
PLACE_CHARS = 60

Block = TypeVar("Block")


@dataclass(frozen=True, slots=True)
class Card:
    """Hold what is shown: a title, a body, how far it looked, and a line of small print without markup."""

    title: str
    body: str
    far: str = ""
    foot: str = ""


@dataclass(frozen=True, slots=True)
class Links:
    """Make links to messages of one place: a channel with its threads, or a thread.

    `thread_root_in`: where the message of the thread's own id stands, in its channel or in the thread; null for a
    channel.
    """

    guild_id: int
    place_id: int
    thread_root_in: int | None = None

    def to(self, sequence: int, row: recall.LogMessage | None = None) -> str:
        """Return the address of a message; without its row it is taken to be in the place itself."""
        place = str(self.place_id)
        if self.thread_root_in is not None:
            place = str(self.thread_root_in) if sequence == self.place_id else place
        elif row is not None:
            place = str(row.parent) if row.parent is not None else row.chat_id or place
        return f"https://discord.com/channels/{self.guild_id}/{place}/{sequence}"


def clipped(text: str, limit: int) -> str:
    """Return a text of at most `limit` wide; the last resort, it does not know markup."""
    return text if width(text) <= limit else fitted(lambda chars: text[:chars] + "…", limit)


def when(sequence: int) -> str:
    """Return the instant of a message as markup that each client shows in its own time zone and language."""
    return f"<t:{seconds_of(sequence)}:f>"


def named(author: recall.Author) -> str:
    """Return an author's name, inert and in bold, marked where it is an app's: apps choose any name they like."""
    name = inert(recall.author_label(author), NAME_CHARS) or inert(recall.author_id(author), NAME_CHARS)
    return f"**{name}** (app)" if isinstance(author, recall.AgentAuthor) else f"**{name}**"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def paged(blocks: Iterable[tuple[Block, int]], *, budget: int, most: int) -> list[list[Block]]:
    """Deal blocks out to pages, in order: at most `most` on each, and `budget` in all of their widths.

    Each comes with its width, the gap to the next included. A block wider than the budget has a page alone.
    """
    pages: list[list[Block]] = []
    room = 0
    for block, wide in blocks:
        if not pages or len(pages[-1]) >= most or wide > room:
            pages.append([])
            room = budget
        pages[-1].append(block)
        room -= wide
    return pages
