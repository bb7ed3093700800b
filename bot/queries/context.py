"""Put together what an agent's turn in a desk would see: history, threads, pins and notes, out of one walk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

import recall
from recall.text import collapse, cut, shown

from ..errors import Refusal
from .desk import DIALECT, AnswerCoverage, OpenDesk, read
from .pins import PinsAnswer, PinsRequest, board_of, settle, where_are
from .standings import StandingsRequest, standings_of


class NoOneChannel(Refusal):
    """Say that a turn stands in one channel or thread."""

    template = "A turn stands in one channel or thread: say which."


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Ask for what a turn of `viewer` sees. `before`: an exclusive sequence; `working_set`: pins that it carries.

    `spellings`: how the host that asks is asked for what it offers. `standings`: how the floor is counted, null where
    a turn is told nothing of it.
    """

    viewer: recall.Author
    spellings: recall.Spellings = field(default_factory=lambda: recall.Spellings(search=None))
    brevity: recall.BrevityPolicy = field(default_factory=recall.BrevityPolicy)
    before: int | None = None
    scan: int = recall.SCAN_LIMIT
    working_set: int = recall.PIN_LIMIT
    standings: StandingsRequest | None = None


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """Hold a turn's beginning, the board that its pins are the working set of, and how far it looked."""

    session: recall.InitializedSession
    board: PinsAnswer
    coverage: AnswerCoverage


async def context(desk: OpenDesk, request: ContextRequest) -> ContextAnswer:
    """Read a desk once and fold what a turn starts from. Raises `NoOneChannel` and `recall.ReadError`.

    The pins are the working set of the desk's board, however far back that reaches; the few that the walk has not
    met are read one by one.
    """
    where = desk.conversation
    if where is None:
        raise NoOneChannel
    walk = await read(desk, scan=request.scan, before=request.before)
    wanted = PinsRequest(before=request.before, scan=request.scan, working_set=request.working_set)
    board = await settle(desk, await board_of(desk, wanted, walk), wanted, _working)
    inside = [row for row in walk.rows if where.holds(row)]
    briefing = recall.TeamBriefing(
        request.viewer, where, _teammates(inside, request.viewer), request.brevity, request.spellings
    )
    session = recall.fold_session_context(
        walk,
        recall.SessionQuery(where, request.before, request.brevity.window),
        briefing,
        await _notes(desk, request, walk),
        dialect=DIALECT,
        address=desk.address,
        openings=None if desk.openings is None else desk.openings(),
    )
    pins, authors = await _read_pins(desk, board)
    context = msgspec.structs.replace(
        session.context,
        pins=pins,
        authors=tuple(sorted({*session.context.authors, *authors}, key=lambda known: known.sequence)),
    )
    return ContextAnswer(msgspec.structs.replace(session, context=context), board, board.coverage)


async def _notes(desk: OpenDesk, request: ContextRequest, walk: recall.Walk) -> tuple[recall.ContextNote, ...]:
    """Return what a turn is told of the floor, out of the same walk."""
    if request.standings is None:
        return ()
    answer = await standings_of(desk, request.standings, walk)
    viewer = recall.author_id(request.viewer)
    own = (found.trace for found in reversed(answer.traces) if recall.author_id(found.trace.author) == viewer)
    note = recall.briefing_note(answer.standings, answer.policy, last=next(own, None))
    return () if note is None else (note,)


def _working(board: PinsAnswer) -> list[recall.Pin]:
    return [pin for pin in board.board if pin.sequence in board.working]


def _teammates(rows: Iterable[recall.LogMessage], viewer: recall.Author) -> tuple[recall.Author, ...]:
    """Return who else wrote rows, given newest first: each once, by the name used last, who wrote last first."""
    found: dict[str, recall.Author] = {}
    for row in rows:
        if isinstance(row.author, recall.PersonAuthor | recall.AgentAuthor):
            found.setdefault(row.author.id, row.author)
    found.pop(recall.author_id(viewer), None)
    return tuple(found.values())


async def _read_pins(desk: OpenDesk, board: PinsAnswer) -> tuple[tuple[recall.Pin, ...], tuple[recall.RowAuthor, ...]]:
    """Return the working set with its excerpts, and who wrote what is pinned, as far as that can be read."""
    wanted = _working(board)
    found = await where_are(desk, board, (pin.sequence for pin in wanted))
    rows = {sequence: row for sequence, (_, row) in found.items() if row is not None}
    pins = tuple(msgspec.structs.replace(pin, excerpt=_excerpt(rows.get(pin.sequence))) for pin in wanted)
    return pins, tuple(recall.RowAuthor(row.sequence, row.author) for row in rows.values())


def _excerpt(row: recall.LogMessage | None) -> str | None:
    return None if row is None else cut(collapse(shown(row.content, row.attached)), recall.PIN_EXCERPT_CHARS) or None
