"""The tools that ask: search, pins, standings, threads, read. Each is a query of the room, framed."""

from __future__ import annotations

import unicodedata
from typing import Any

import recall
from recall.text import collapse, is_blank

from .. import queries
from ..contexts import fresh_nonce
from ..deliberation import standings_request
from ..rendering.pin_rules import NO_ROLES, judged_notes
from ..times import parse_after, parse_before
from .answers import ToolAnswer, answer, coverage_fields, id_of, ids, reach, row_fields
from .arguments import (
    BadArgument,
    PinsArguments,
    ReadArguments,
    SearchArguments,
    StandingsArguments,
    ThreadsArguments,
    author_of,
    given_channel,
    given_id,
)
from .room import Room


async def search(room: Room, asked: SearchArguments, owner: str | None) -> ToolAnswer:
    """Search a channel."""
    if is_blank(asked.query):
        raise BadArgument("query", "holds nothing to look for")
    nonce = fresh_nonce()
    before = None if asked.before is None else parse_before(str(asked.before), room.now()).sequence
    after = None if asked.after is None else parse_after(str(asked.after), room.now()).sequence
    author = None if asked.author is None else author_of(asked.author, "author")
    async with room.open(given_channel(asked.channel), after=after) as place:
        request = queries.SearchRequest(
            unicodedata.normalize("NFC", asked.query),
            author_id=author,
            before=before,
            after=after,
            order=asked.sort,
            loose=asked.loose,
            offset=asked.offset,
            limit=asked.limit,
            scan=place.settings(room.config).search.scan if place.live else place.scan,
        )
        found = await queries.search(place.desk, request, matcher=room.matcher, asker=owner or "mcp")
    is_expression = isinstance(found.pattern, recall.RegexPattern)
    hits = [
        {
            "id": str(hit.sequence),
            "channel": hit.chat_id,
            "thread": id_of(hit.parent),
            "author": recall.author_id(hit.author),
            "author_kind": recall.author_kind(hit.author),
            "kind": hit.kind.value,
            "score": hit.score,
        }
        for hit in found.hits
    ]
    return answer(
        "Nothing found." if not found.hits else None,
        "There are more hits: ask again with an offset." if found.more else None,
        "Nothing better was found: these only have the letters of the query in order." if found.loosened else None,
        "The query was read as a regular expression; put it in quotes to look for that very text."
        if is_expression
        else None,
        reach(found.coverage, before=before),
        recall.frame_records("Found messages", map(recall.hit_record, found.hits), nonce),
        hits=hits,
        more=found.more,
        loosened=found.loosened,
        expression=is_expression,
        coverage=coverage_fields(found.coverage),
    )


async def pins(room: Room, asked: PinsArguments, _owner: str | None) -> ToolAnswer:
    """Read a board."""
    nonce = fresh_nonce()
    label = None if asked.label is None else collapse(unicodedata.normalize("NFC", asked.label)).removeprefix("#")
    async with room.open(given_channel(asked.channel)) as place:
        section = place.settings(room.config).pins
        request = queries.PinsRequest(label=label or None, scan=place.scan, working_set=section.limit)
        board = await queries.pins(place.desk, request)
        window = slice(asked.offset, asked.offset + asked.limit)
        board = await queries.settle(place.desk, board, request, lambda found: found.pins[window])
        shown = board.pins[window]
        where = await queries.where_are(place.desk, board, (pin.sequence for pin in shown))
    authors = {sequence: None if row is None else row.author for sequence, (_, row) in where.items()}
    told = [
        {
            "id": str(pin.sequence),
            "pinned_at": str(pin.pinned_at),
            "pinned_by": recall.author_id(pin.pinned_by),
            "where": where[pin.sequence][0].replace(" ", "_"),
            **({"standing": board.standing(pin)} if place.live else {}),
        }
        for pin in shown
    ]
    unjudged = not place.live and section.narrows
    return answer(
        "Nothing is pinned." if not shown else None,
        reach(board.coverage),
        NO_ROLES if unjudged else " ".join(judged_notes(board.rights)),
        recall.frame_records("Pinned", (recall.pin_record(pin, authors[pin.sequence]) for pin in shown), nonce),
        pins=told,
        working_set=ids(sorted(board.working)),
        rules=board.rights.policy.unpin,
        more=len(board.pins) > asked.offset + asked.limit,
        coverage=coverage_fields(board.coverage),
    )


async def standings(room: Room, asked: StandingsArguments, _owner: str | None) -> ToolAnswer:
    """Read the standings."""
    nonce = fresh_nonce()
    at = None if asked.at is None else parse_before(str(asked.at), room.now()).sequence
    topic = None if asked.topic is None else collapse(asked.topic).removeprefix("#") or None
    async with room.open(given_channel(asked.channel)) as place:
        request = standings_request(room.config, place.guild_id, place.place_ids, at=at, topic=topic)
        found = await queries.room_standings(place.desk, request)
    topics = [_topic(number, standing, found) for number, standing in enumerate(found.standings)]
    records = (
        recall.FrameRecord(None, (("topic", standing.topic), ("number", str(number))))
        for number, standing in enumerate(found.standings)
    )
    return answer(
        "No topic is on the floor." if not topics else None,
        "\n".join(_topic_line(told) for told in topics) or None,
        reach(found.coverage, before=None if at is None else at + 1),
        recall.frame_records("Topics", records, nonce),
        state=recall.to_wire(found.consensus)["state"],
        topics=topics,
        coverage=coverage_fields(found.coverage),
    )


def _topic(number: int, standing: recall.TopicStanding, found: queries.StandingsAnswer) -> dict[str, Any]:
    """Return the standing of a topic, which is somebody's word and so stands in the frame, under its number."""
    return {
        "number": number,
        "carried": standing.topic in found.carried,
        "support": standing.support,
        "supporters": list(standing.supporters),
        "silenced": list(standing.silenced),
        "refuted_by": list(standing.refuted_by),
    }


def _topic_line(told: dict[str, Any]) -> str:
    """Say of a numbered topic where it stands."""
    state = "carried" if told["carried"] else "open"
    voices = "; ".join(
        f"{word} {', '.join(told[key])}"
        for word, key in (
            ("supported by", "supporters"),
            ("silenced", "silenced"),
            ("refuted by", "refuted_by"),
        )
        if told[key]
    )
    return f"Topic number {told['number']}: {state}, weight {told['support']}" + (f"; {voices}" if voices else "") + "."


async def threads(room: Room, asked: ThreadsArguments, _owner: str | None) -> ToolAnswer:
    """List the threads of a channel."""
    nonce = fresh_nonce()
    async with room.open(given_channel(asked.channel)) as place:
        found = await queries.threads(place.desk, asked.limit)
    told = [{"id": str(line.root), "replies": line.replies, "latest": str(line.latest)} for line in found.index.threads]
    records = (recall.thread_record(line, found.authors.get(line.root)) for line in found.index.threads)
    return answer(
        "No thread is alive here." if not told else None,
        reach(found.coverage),
        recall.frame_records("Threads", records, nonce),
        threads=told,
        coverage=coverage_fields(found.coverage),
    )


async def read_around(room: Room, asked: ReadArguments, _owner: str | None) -> ToolAnswer:
    """Read the rows around one."""
    nonce = fresh_nonce()
    sequence = given_id(asked.message, "message")
    async with room.open(given_channel(asked.channel, asked.message)) as place:
        found = await queries.around(place.desk, sequence, asked.around)
    where = {
        recall.Whereabouts.HERE: "The message is here.",
        recall.Whereabouts.GONE: "The message is gone from this channel.",
        recall.Whereabouts.NOT_READ: "The message was not read: it may be here, or nowhere.",
    }[found.where]
    return answer(
        where,
        reach(found.coverage, before=sequence + 1),
        recall.frame_records("Messages", map(recall.row_record, found.rows), nonce),
        where=found.where.value,
        rows=[row_fields(row) for row in found.rows],
        coverage=coverage_fields(found.coverage),
    )
