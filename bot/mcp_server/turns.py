"""The tools of a turn: its context, its opening, each compile, and its end."""

from __future__ import annotations

from typing import Final

import recall

from ..contexts import context_document, fresh_nonce
from ..deliberation import standings_request
from ..queries import ContextRequest
from ..turn_keeping import CompileRequest, TurnUnknown
from .answers import ToolAnswer, answer, coverage_fields, id_of, ids
from .arguments import (
    CloseTurnArguments,
    CompileArguments,
    ContextArguments,
    OpenTurnArguments,
    given_channel,
    given_id,
)
from .room import Room
from .sources import OpenPlace

SPELLINGS: Final = recall.Spellings(search="call the tool `search`", traces=recall.TRACE_SPELLING)

_LET_GO = (
    "The messages that opened this turn do not fit whole any more, so they are no longer kept: the tool `read` has "
    "them, by their IDs."
)
_REQUEST = {
    recall.Whereabouts.HERE: "The message that it answers is here.",
    recall.Whereabouts.GONE: "The message that it answers is gone from this channel.",
    recall.Whereabouts.NOT_READ: "The message that it answers was not read.",
}


async def context(room: Room, asked: ContextArguments, _owner: str | None) -> ToolAnswer:
    """Read what a turn starts from."""
    turn = None if asked.turn is None else room.turns.find(asked.turn)
    channel = given_channel(asked.channel)
    if turn is not None and channel is None:
        channel = turn.view.conversation
    viewer = recall.AgentAuthor(turn.view.viewer, turn.view.viewer) if turn is not None else room.viewer(asked.viewer)
    async with room.open(channel) as place:
        request = _context_request(room, place, viewer, asked.window)
        nonce = fresh_nonce() if turn is None else turn.nonce
        document = await context_document(place.desk, request, nonce=nonce)
    session = document.answer.session
    return answer(
        document.text,
        history=ids(row.sequence for row in session.history),
        pins=ids(pin.sequence for pin in session.context.pins),
        threads=ids(line.root for line in session.context.threads),
        coverage=coverage_fields(document.answer.coverage),
    )


def _context_request(room: Room, place: OpenPlace, viewer: recall.Author, window: int | None) -> ContextRequest:
    settings = place.settings(room.config)
    return ContextRequest(
        viewer,
        SPELLINGS,
        recall.BrevityPolicy(settings.brevity.message_chars, window or settings.brevity.window),
        scan=place.scan,
        working_set=settings.pins.limit,
        standings=standings_request(room.config, place.guild_id, place.place_ids),
    )


async def open_turn(room: Room, asked: OpenTurnArguments, owner: str | None) -> ToolAnswer:
    """Open a turn."""
    request = None if asked.request is None else given_id(asked.request, "request")
    since = None if asked.since is None else given_id(asked.since, "since")
    viewer = recall.author_id(room.viewer(asked.viewer))
    async with room.open(given_channel(asked.channel, asked.request, asked.since)) as place:
        turn = await room.turns.open(
            place.desk,
            place.id,
            viewer=viewer,
            request=request,
            window=asked.window or place.settings(room.config).brevity.window,
            since=since,
            silent=asked.silent,
            owner=owner,
        )
    inputs = turn.turn.inputs
    held = room.turns.is_held(turn)
    said = "Nothing is kept whole in it." if asked.silent else "Nothing is new to you here, so nothing is kept whole."
    if inputs is not None:
        said = f"The messages from {inputs.first} to {inputs.last} are new to you" + (
            " and stay whole until the turn ends." if held else "."
        )
    return answer(
        f"Turn {turn.id} is open in channel {place.id}. {said}",
        None if turn.request is None else _REQUEST[turn.request],
        turn=turn.id,
        channel=place.id,
        viewer=viewer,
        request=None if turn.request is None else {"id": str(request), "where": turn.request.value},
        inputs=None if inputs is None else {"first": str(inputs.first), "last": str(inputs.last)},
        held=held,
        since=str(turn.start),
    )


async def compile_turn(room: Room, asked: CompileArguments, _owner: str | None) -> ToolAnswer:
    """Compile the context of a turn."""
    turn = room.turns.find(asked.turn)
    summaries = tuple(
        recall.Summary(
            given_id(summary.first, f"summaries[{number}].first"),
            given_id(summary.last, f"summaries[{number}].last"),
            summary.text,
        )
        for number, summary in enumerate(asked.summaries)
    )
    request = CompileRequest(asked.budget, asked.tail, summaries, asked.preview)
    async with room.open(turn.view.conversation) as place:
        compiled = await room.turns.compile(turn, place.desk, request)
    made = compiled.compilation
    return answer(
        _LET_GO if turn.turn.inputs is not None and not compiled.held else None,
        compiled.text or "Nothing was written here yet.",
        rows=ids(row.sequence for row in made.rows),
        summaries=[{"first": str(summary.first), "last": str(summary.last)} for summary in made.summaries],
        pinned=ids(made.pinned),
        newest=id_of(made.newest),
        characters=len(compiled.text or ""),
        held=compiled.held,
    )


async def close_turn(room: Room, asked: CloseTurnArguments, _owner: str | None) -> ToolAnswer:
    """Close a turn."""
    if not room.turns.close(asked.turn):
        raise TurnUnknown
    return answer("The turn is closed.", closed=True)
