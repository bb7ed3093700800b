"""Servers to ask, over rooms that grow, and clients of the official SDK that ask them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
from mcp import Client, StdioServerParameters
from recall_bot.config import Config
from recall_bot.mcp_server.room import Room
from recall_bot.mcp_server.serving import make_server, open_room
from recall_bot.mcp_server.sources import NotOffered, OpenPlace
from recall_bot.queries import OpenDesk
from recall_bot.state import State

import recall
from recall import Frame, parse_frames
from tests.growing_desk import GrowingDesk

CHANNEL = "77"
VIEWER = "5"


class OneRoom:
    """Be a source with one channel, which grows; the links into it are those of guild 1."""

    def __init__(self, first: int = 10) -> None:
        self.room = GrowingDesk(first)
        self.live = False
        self.looked_up: list[int] = []  # single rows that were asked for

    def offered(self) -> Sequence[str]:
        return (CHANNEL,)

    @asynccontextmanager
    async def open(self, channel: str | None, *, after: int | None = None) -> AsyncIterator[OpenPlace]:
        if channel not in {None, CHANNEL}:
            raise NotOffered(self.offered())
        desk = OpenDesk(self.room, self.room.desk.conversation, read_row=self._row, left_out=self.room.left_out)
        yield OpenPlace(CHANNEL, 1, (int(CHANNEL),), desk, live=self.live)

    async def _row(self, sequence: int) -> recall.LogMessage | None:
        self.looked_up.append(sequence)
        return next((row for row in self.room.rows if row.sequence == sequence), None)


@asynccontextmanager
async def room_over(source: OneRoom, **options: Any) -> AsyncIterator[Room]:
    async with open_room(Config(), source, State(":memory:", now=time.time), **options) as room:
        yield room


@asynccontextmanager
async def asked(source: OneRoom, *, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Hold a client in this process."""
    async with room_over(source, **options) as room, Client(make_server(room), mode=mode) as client:
        yield client


def server(*arguments: object, folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "recall_bot", "mcp", *map(str, arguments)], cwd=folder
    )


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its fields."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    fields: dict[str, Any] = result.structured_content
    framed, rest = (text_of(part) for part in result.content)
    assert fields["text"] == framed
    assert json.loads(rest) == {name: value for name, value in fields.items() if name != "text"}
    return fields


async def large(client: Client, turn: str) -> dict[str, Any]:
    """Compile as much as there may be: the text is said once, since all of it has to fit into one event."""
    result = await client.call_tool("compile", {"turn": turn, "budget": 400_000})
    assert not result.is_error, result.content
    fields: dict[str, Any] = result.structured_content
    assert fields["text"] == "This is too long to be said twice: read it in the content of this answer."
    assert len(text_of(result.content[0])) == fields["characters"]
    assert len(frames_in(text_of(result.content[0]))["Messages"].records) == len(fields["rows"])
    return fields


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    """Call a tool that cannot answer, and return its one sentence."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    (content,) = result.content
    return text_of(content)


def text_of(content: Any) -> str:
    assert isinstance(content, mcp_types.TextContent)
    return content.text


def nonce_in(text: str) -> str:
    (nonce,) = {line[8:-1] for line in text.split("\n") if line.startswith("<recall-") and line.endswith(">")}
    return nonce


def frames_in(text: str) -> dict[str, Frame]:
    """Return the frames of a text by their headings, read with the nonce that it shows."""
    return {frame.heading: frame for frame in parse_frames(text, nonce_in(text))}


def said(frame: Frame) -> list[str | None]:
    return [record.get("text") for record in frame.records]
