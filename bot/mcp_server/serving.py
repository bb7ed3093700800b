"""Put a server of the official SDK together: it lists the tools, checks what they are given, and says what went wrong.

What cannot be done is an answer that is marked as an error and holds one sentence, so that a model can read it and
ask again; an unknown tool is an error of the protocol. The log has the names of tools and the types of errors.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any, Final

import mcp_types
import msgspec
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import recall

from ..config import Config
from ..errors import Refusal, sentence_of
from ..matchers import make_matcher
from ..turn_keeping import Marks, TurnKeeper
from .answers import ToolAnswer
from .arguments import read_arguments, schema_of
from .catalogue import INSTRUCTIONS, TOOLS, Tool
from .room import Room
from .sources import Source, listed

NAME: Final = "recall"
SESSION_HEADER: Final = "mcp-session-id"

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_room(
    config: Config,
    source: Source,
    marks: Marks,
    *,
    clock: Callable[[], float] = time.monotonic,
    pinning: bool = True,
) -> AsyncIterator[Room]:
    """Hold what the tools work with; at its end every turn is closed and the matcher's process has ended."""
    matcher = make_matcher(config)
    turns = TurnKeeper(marks, clock=clock, pinning=pinning)
    try:
        yield Room(config, source, turns, matcher)
    finally:
        turns.stop()
        await matcher.close()


def make_server(room: Room) -> Server[Any]:
    """Return a server that offers the tools over a room."""
    described = [_described(tool) for tool in TOOLS.values()]

    async def list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=described)

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(mcp_types.INVALID_PARAMS, f"There is no tool of that name; there are {known}.")
        request = context.request
        owner = None if request is None else request.headers.get(SESSION_HEADER)
        return await _called(room, tool, params.arguments, owner)

    return Server(
        NAME,
        version=metadata.version("recall-bot"),
        title="Recall",
        instructions=instructions(room.source),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def instructions(source: Source) -> str:
    """Return what a client is told of the server; of channels their ids alone."""
    return f"{INSTRUCTIONS} Channels offered: {listed(source.offered())}."


def _described(tool: Tool) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.arguments),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not tool.changes, destructive_hint=False, open_world_hint=False
        ),
    )


async def _called(room: Room, tool: Tool, given: dict[str, Any] | None, owner: str | None) -> mcp_types.CallToolResult:
    try:
        return _result(await tool.run(room, read_arguments(tool.arguments, given), owner))
    except (Refusal, recall.RecallError) as error:
        _log.info("no answer: tool=%s (%s)", tool.name, type(error).__name__)
        return _failed(sentence_of(error))
    except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
        places = " > ".join(f"{at.name}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__))
        _log.error("no answer: tool=%s (%s) at %s", tool.name, type(error).__name__, places)
        return _failed(sentence_of(error))


def _result(made: ToolAnswer) -> mcp_types.CallToolResult:
    """Return frames as text, and ids beside them as JSON, in both forms in which clients look for it."""
    fields = msgspec.json.encode(made.fields).decode()
    content: list[Any] = [mcp_types.TextContent(type="text", text=text) for text in (made.text, fields)]
    return mcp_types.CallToolResult(content=content, structured_content={**made.fields, "text": made.repeated})


def _failed(sentence: str) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=sentence)], is_error=True)
