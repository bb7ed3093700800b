"""What Discord holds of a guild, as rows, and whether what the bot answers and claims is that.

The rows are made from simcord's own records, and not from what the bot was told or has read.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import msgspec
from recall_bot import queries
from recall_bot.mirror import Mirror, statements
from recall_bot.queries import AnswerCoverage, ExpressionMatcher, OpenDesk, PinsRequest, SearchRequest, StandingsRequest
from recall_bot.rows import named_in
from recall_bot.shown import AUTHORED_TYPES, EmbedText, Extras, Names, attached, own_line, shown, type_name
from simcord.backend.access import channel_accessible
from simcord.backend.models import Channel, Message
from simcord.enums import ChannelType

import recall
from tests.upheaval import Upheaval
from tests.watched_folds import RowsLog

ALL = 10_000
WORDS = ("alpha", "beta", "side", "crew", "pin", "countess", "preview")


def rows_of_desk(world: Upheaval, place_id: int) -> list[recall.LogMessage]:
    """Return every row of a desk, newest first, as it is shown now."""
    place = world.backend.channels[place_id]
    homes = [] if place.type == ChannelType.FORUM else [place_id]
    if not place.is_thread:
        homes += [thread.id for thread in world.threads(private=False) if thread.parent_id == place_id]
    rows = [row for home in homes for row in rows_of_place(world, home)]
    if place.type == ChannelType.PUBLIC_THREAD and place.parent_id == world.general:
        rows += [row for row in rows_of_place(world, world.general) if row.sequence == place_id]
    guild = world.env.bot.get_guild(world.guild.id)
    return sorted(named_in(guild, rows), key=lambda row: -row.sequence)


def rows_of_place(world: Upheaval, place_id: int) -> list[recall.LogMessage]:
    """Return the rows of a channel or thread, without names."""
    place = world.backend.channels.get(place_id)
    if place is None:
        return []
    found = (_row(world, place, message) for message in world.backend.messages[place_id].values())
    return [row for row in found if row is not None]


def _row(world: Upheaval, place: Channel, message: Message) -> recall.LogMessage | None:
    names = Names({world.ada.id: "ada"}.get, None, None)
    content = shown(message.content, names)
    in_thread = place.type == ChannelType.PUBLIC_THREAD
    chat_id = str(place.parent_id if in_thread else place.id)
    parent = place.id if in_thread and message.id != place.id else None
    author = _author(world, message, content)
    if author is None:
        return None
    if message.type not in AUTHORED_TYPES:
        kind = recall.SystemAuthor(type_name(message.type), recall.author_label(author))
        return recall.LogMessage(message.id, chat_id, parent, kind, "")
    reply = int(message.reference["message_id"]) if message.reference is not None else None
    embeds = tuple(EmbedText(embed.get("title", ""), embed.get("description", "")) for embed in message.embeds)
    rides_along = attached(Extras(embeds=embeds), names)
    return recall.LogMessage(message.id, chat_id, parent, author, content, reply, rides_along)


def _author(world: Upheaval, message: Message, content: str) -> recall.PersonAuthor | recall.AgentAuthor | None:
    if message.webhook_id is not None:
        return recall.AgentAuthor(str(message.webhook_id), message.author_name or "")
    if message.author_id == world.backend.bot_user.id:
        asked = message.interaction_metadata is not None
        invoker = recall.PersonAuthor(str(world.ada.id), "ada") if asked else None
        return own_line(content, bare=not message.embeds, invoker=invoker)
    user = world.backend.users[message.author_id]
    return (recall.AgentAuthor if user.bot else recall.PersonAuthor)(str(user.id), user.name)


def is_open_to(world: Upheaval, place_id: int, *user_ids: int) -> bool:
    """Say whether all of these may read a channel or thread."""
    return all(channel_accessible(world.backend, place_id, user_id, history=True) for user_id in user_ids)


def still(rows: list[recall.LogMessage], desk: OpenDesk) -> OpenDesk:
    """Return a desk that holds these rows, and is asked for nothing else."""
    return OpenDesk(log=RowsLog(rows), conversation=desk.conversation, address=desk.address)


async def check_search(desk: OpenDesk, rows: list[recall.LogMessage], number: int, matcher: ExpressionMatcher) -> None:
    """Ask a desk for a word, and compare with what is found in all its rows."""
    order: Literal["best", "newest"] = "best" if number % 2 else "newest"
    request = SearchRequest(WORDS[number % len(WORDS)], scan=1 + number % 11, order=order)
    found = await queries.search(desk, request, matcher=matcher, asker="1")
    wanted = await queries.search(still(rows, desk), request, matcher=matcher, asker="1")
    assert found.hits == wanted.hits
    assert (found.more, found.loosened, found.rows) == (wanted.more, wanted.loosened, wanted.rows)
    check_coverage(found.coverage, wanted.coverage, rows)


async def check_board(desk: OpenDesk, rows: list[recall.LogMessage]) -> None:
    """Ask for a board that reads everything, and compare it with that of all rows."""
    request = PinsRequest(scan=ALL, working_set=2)
    found = await queries.pins(desk, request)
    wanted = await queries.pins(still(rows, desk), request)
    assert found.board == wanted.board
    assert (found.working, found.events, found.labels) == (wanted.working, wanted.events, wanted.labels)
    assert found.gone == (wanted.gone if not found.coverage.left_out else frozenset())
    assert found.rows == wanted.rows
    check_coverage(found.coverage, wanted.coverage, rows)


async def check_standings(desk: OpenDesk, rows: list[recall.LogMessage], webhooks: frozenset[str]) -> None:
    """Ask where topics stand, and compare with the standings of all rows; `webhooks` are those that there are."""
    request = StandingsRequest(recall.QuorumPolicy(threshold=1, window=8), scan=ALL)
    found = await queries.room_standings(desk, request)
    wanted = await queries.room_standings(
        dataclasses.replace(still(rows, desk), is_webhook=webhooks.__contains__), request
    )
    assert (found.standings, found.topics, found.decisions) == (wanted.standings, wanted.topics, wanted.decisions)
    assert found.traces == wanted.traces
    assert found.gone == (wanted.gone if not found.coverage.left_out else frozenset())
    assert found.rows == wanted.rows
    check_coverage(found.coverage, wanted.coverage, rows)


async def check_deep_board(
    desk: OpenDesk, rows: list[recall.LogMessage], scan: int, there: list[recall.LogMessage]
) -> None:
    """Ask for a board that walks a few rows, and see that its two parts are what it says they are.

    `there`: what Discord has, also of threads that the bot was not told of.
    """
    request = PinsRequest(scan=scan, working_set=2)
    found = await queries.pins(desk, request)
    walk = await queries.pins(still(rows, desk), request)
    check_coverage(msgspec.structs.replace(found.coverage, markers=None, seen=None), walk.coverage, rows)
    low = 0 if walk.coverage.beginning else walk.coverage.oldest or 0
    if (deep := found.coverage.markers) is not None:
        walked, low = low, 0 if deep.beginning else deep.oldest
        assert deep.rows == sum("!" in row.content for row in rows if low <= row.sequence < walked)
    sure = await queries.pins(still([row for row in rows if row.sequence >= low], desk), PinsRequest(scan=ALL))
    assert [bare(pin) for pin in found.board if found.standing(pin) == "verified"] == [bare(pin) for pin in sure.board]

    board = await queries.settle(desk, found, request, lambda answer: answer.board, most=ALL)
    by_id = {row.sequence: row for row in there}
    for pin in board.board:
        if board.standing(pin) != "verified":
            assert board.standing(pin) == "checked"
            line = recall.fold_pins([by_id[pin.pinned_at]], dialect="discord", address=desk.address)
            assert bare(pin) in [bare(each) for each in line]
        where, row = await queries.where_is(desk, board, pin.sequence)
        if len(there) == len(rows):
            assert where == ("here" if pin.sequence in by_id else "gone")
            assert row == by_id.get(pin.sequence)


def bare(pin: recall.Pin) -> recall.Pin:
    return msgspec.structs.replace(pin, excerpt=None)


def check_coverage(found: AnswerCoverage, wanted: AnswerCoverage, rows: list[recall.LogMessage]) -> None:
    """Compare how far an answer looked.

    Whether the last row read is the first message can be unknown. A thread that was deleted untold is gone, once.
    """
    found = msgspec.structs.replace(found, left_out=tuple(left for left in found.left_out if left.reason != "gone"))
    if wanted.rows == len(rows):
        assert found.beginning or found.stopped == "bound"
        found, wanted = (msgspec.structs.replace(each, beginning=True, stopped=None) for each in (found, wanted))
    assert found == wanted


async def check_claims(world: Upheaval, mirror: Mirror) -> None:
    """See that everything which the mirror claims to be sure of is as Discord has it."""
    async with mirror.use() as connection:
        for place in list(mirror.claims.places.values()):
            for span in mirror.claims.spans(place.id) if mirror.claims.epoch(place) else ():
                condition = "place = ? AND id >= ? AND id < ?"
                stored = await statements.select_rows(connection, condition, (place.id, *span), ALL)
                there = [row for row in rows_of_place(world, place.id) if span.low <= row.sequence < span.high]
                assert list(stored) == sorted(there, key=lambda row: -row.sequence)
