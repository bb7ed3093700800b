"""The questions, asked the same way by every surface: slash commands, the command line, and whatever comes.

A surface opens a desk (a Discord channel, the files of an export), hands it to a query, and renders the
answer. A query walks the desk's log once, leaves out what the asker may not see at the moment the answer is
made, folds what is left, and says how far it looked.

    answer = await search(desk, SearchRequest("rate limiter"), matcher=matcher, asker="42")
    answer.hits, answer.more, answer.coverage
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec

import recall

from .errors import Refusal

DIALECT: Literal["discord"] = "discord"
BOARD_LIMIT = 250  # live pins a board can show, the number Discord allows of its own
SEARCH_PAGE_HITS = 10
STANDINGS_WINDOW_ROWS = 500  # 30, the library's default, is minutes in a busy room

Voters: TypeAlias = Literal["everyone", "agents", "people"]
WhereIs: TypeAlias = Literal["here", "gone", "not read"]


class LeftOut(recall.Value, frozen=True):
    """Name a place that belongs to the question and was not read, to somebody who may know of it."""

    id: str
    name: str
    reason: str


class AnswerCoverage(recall.Value, frozen=True):
    """Say how far an answer looked: `recall.Coverage`, what was left out, and as of when (null: now)."""

    rows: int
    oldest: recall.Sequence | None
    beginning: bool
    stopped: str | None
    left_out: tuple[LeftOut, ...] = ()
    as_of: str | None = None


class ExpressionMatcher(Protocol):
    """Search rows for a regular expression where it can do no harm."""

    async def search(
        self, rows: Sequence[recall.LogMessage], query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        """Return what `recall.search_rows` would, or raise a `recall.PatternError`."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True)
class OpenDesk:
    """Hold a desk that somebody may ask questions of.

    `conversation`: null for everything the log holds. `may_show`: asked for each place (once for each
    `chat_id` and `parent`) when the answer is made; null where everybody may see everything. `read_row`:
    reads one row of this desk that a walk did not reach, null when it is gone; may raise. `address`: reads
    a message link of this place where a marker takes `^N`.
    """

    log: recall.SessionLog
    conversation: recall.Conversation | None = None
    left_out: tuple[LeftOut, ...] = ()
    as_of: str | None = None
    may_show: Callable[[recall.LogMessage], Awaitable[bool]] | None = None
    read_row: Callable[[int], Awaitable[recall.LogMessage | None]] | None = None
    address: Callable[[str], int | None] | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Ask for messages. `before` and `after` are exclusive sequences; hits `offset` … `offset + limit` are shown."""

    text: str
    author_id: str | None = None
    before: int | None = None
    after: int | None = None
    order: Literal["best", "newest"] = "best"
    loose: bool = False
    offset: int = 0
    limit: int = SEARCH_PAGE_HITS
    scan: int = recall.SEARCH_SCAN


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hold one page of hits. `more`: others follow in the same reach. `loosened`: nothing better was found,
    so these are subsequences that nobody asked for. `rows`: the rows of the hits."""

    pattern: recall.SearchPattern
    hits: tuple[recall.SearchHit, ...]
    more: bool
    loosened: bool
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]


@dataclass(frozen=True, slots=True)
class PinsRequest:
    """Ask for a board. `label` leaves out every other (no `#`); `before` is an exclusive sequence."""

    label: str | None = None
    before: int | None = None
    limit: int = BOARD_LIMIT
    scan: int = recall.PIN_SCAN
    working_set: int = recall.PIN_LIMIT


@dataclass(frozen=True, slots=True)
class PinsAnswer:
    """Hold a board, newest pin first, and every pin and unpin behind it, in order.

    `working`: the sequences of the pins that every agent's context carries, whatever label was asked for.
    `labels`: those on the board, most recent first. `rows`: pinned rows and marker rows that were read.
    `gone`: the pinned messages that the reach would have shown and did not, where it is whole.
    """

    pins: tuple[recall.Pin, ...]
    working: frozenset[int]
    events: tuple[recall.PinEvent, ...]
    labels: tuple[str, ...]
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]
    gone: frozenset[int]


@dataclass(frozen=True, slots=True)
class StandingsRequest:
    """Ask where each topic stood `at` a sequence (null: at the newest row). The policy's window counts rows."""

    policy: recall.QuorumPolicy = recall.QuorumPolicy(window=STANDINGS_WINDOW_ROWS)
    voters: Voters = "everyone"
    at: int | None = None
    scan: int = recall.SCAN_LIMIT


@dataclass(frozen=True, slots=True)
class StandingsAnswer:
    """Hold the topics on the floor, the state of the room, and how far it looked."""

    standings: tuple[recall.TopicStanding, ...]
    consensus: recall.Consensus
    coverage: AnswerCoverage


class Overrun(recall.Value, frozen=True):
    """Say by how many characters one message exceeds the budget."""

    sequence: recall.Sequence
    chat_id: str | None
    author: recall.Author
    characters: int
    over: int


@dataclass(frozen=True, slots=True)
class OverrunsAnswer:
    """Hold the messages over the budget, newest first."""

    overruns: tuple[Overrun, ...]
    coverage: AnswerCoverage


async def search(desk: OpenDesk, request: SearchRequest, *, matcher: ExpressionMatcher, asker: str) -> SearchAnswer:
    """Search a desk, and show subsequences only when they were asked for or nothing better is there.

    Raises `recall.PatternError` for a query that cannot be searched for, `recall.ReadError` when the log
    cannot be read.
    """
    parsed = recall.parse_query(request.text)
    walk = await _read(desk, scan=request.scan, before=request.before, after=request.after)
    query = recall.SearchQuery(
        pattern=parsed.pattern,
        scope=desk.conversation,
        author_id=request.author_id,
        limit=request.offset + request.limit + 1,
        weakest=recall.MatchKind.SUBSEQUENCE if request.loose else recall.MatchKind.SUBSTRING,
        order=request.order,
    )
    found = await _match(walk.rows, query, matcher, asker)
    loosened = False
    if not found and parsed.loose_allowed and not request.loose:
        found = await _match(
            walk.rows, msgspec.structs.replace(query, weakest=recall.MatchKind.SUBSEQUENCE), matcher, asker
        )
        loosened = bool(found)
    end = request.offset + request.limit
    hits = found[request.offset : end]
    return SearchAnswer(
        pattern=parsed.pattern,
        hits=hits,
        more=len(found) > end,
        loosened=loosened,
        coverage=_coverage(desk, walk.coverage),
        rows=_rows_of(walk.rows, {hit.sequence for hit in hits}),
    )


async def pins(desk: OpenDesk, request: PinsRequest) -> PinsAnswer:
    """Fold the board of a desk. Raises `recall.ReadError` when the log cannot be read."""
    walk = await _read(desk, scan=request.scan, before=request.before)
    rows = _chronological(desk, walk.rows)
    live = recall.fold_pins(rows, request.limit, dialect=DIALECT, address=desk.address)
    events = recall.pin_history(rows, dialect=DIALECT, address=desk.address)
    shown = tuple(pin for pin in live if request.label is None or pin.label == request.label)
    seen = _rows_of(rows, {pin.sequence for pin in live} | {pin.pinned_at for pin in live})
    whole = not desk.left_out
    return PinsAnswer(
        pins=shown,
        working=frozenset(pin.sequence for pin in live[: request.working_set]),
        events=events,
        labels=tuple(dict.fromkeys(pin.label for pin in live if pin.label is not None)),
        coverage=_coverage(desk, walk.coverage),
        rows=seen,
        gone=frozenset(
            pin.sequence for pin in live if pin.sequence not in seen and whole and _within(walk.coverage, pin.sequence)
        ),
    )


async def where_is(desk: OpenDesk, answer: PinsAnswer, sequence: int) -> tuple[WhereIs, recall.LogMessage | None]:
    """Say of a pinned message whether it is here, gone from this desk, or was not read; reads at most one row.

    A row that cannot be read now is `not read`: no error.
    """
    row = answer.rows.get(sequence)
    if row is not None:
        return "here", row
    if sequence in answer.gone:
        return "gone", None
    if desk.read_row is None:
        return "not read", None
    try:
        row = await desk.read_row(sequence)
    except Refusal:
        return "not read", None
    if row is None:
        return "gone", None
    if desk.may_show is not None and not await desk.may_show(row):
        return "not read", None
    return "here", row


async def room_standings(desk: OpenDesk, request: StandingsRequest) -> StandingsAnswer:
    """Fold the standings of a desk; raises `recall.PolicyError` and `recall.ReadError`.

    Snowflakes are not consecutive, so the authored rows are numbered 1, 2, 3 … before the fold, which counts
    the window in rows. A cite or target that is none of these rows grounds and silences nothing.
    """
    before = None if request.at is None else request.at + 1
    walk = await _read(desk, scan=request.scan, before=before)
    rows = tuple(row for row in _chronological(desk, walk.rows) if not isinstance(row.author, recall.SystemAuthor))
    number = {row.sequence: index for index, row in enumerate(rows, 1)}
    traces = tuple(
        msgspec.structs.replace(
            trace,
            sequence=number[trace.sequence],
            target=None if trace.target is None else number.get(trace.target),
            cites=tuple(number[cite] for cite in trace.cites if cite in number),
        )
        for trace in recall.read_traces(rows, dialect=DIALECT)
    )
    found = recall.standings(traces, len(rows), request.policy, eligible=_ELIGIBLE[request.voters])
    return StandingsAnswer(found, recall.consensus(found, request.policy), _coverage(desk, walk.coverage))


async def overruns(desk: OpenDesk, policy: recall.BrevityPolicy, *, scan: int) -> OverrunsAnswer:
    """List the messages of a desk that exceed the budget. Raises `recall.ReadError`."""
    walk = await _read(desk, scan=scan)
    found = tuple(
        Overrun(row.sequence, row.chat_id, row.author, len(row.content), over)
        for row in walk.rows
        if (desk.conversation is None or desk.conversation.holds(row)) and (over := policy.overrun(row.content))
    )
    return OverrunsAnswer(found, _coverage(desk, walk.coverage))


def _is_person(author: recall.Author) -> bool:
    return isinstance(author, recall.PersonAuthor)


def _is_agent(author: recall.Author) -> bool:
    return isinstance(author, recall.AgentAuthor)


_ELIGIBLE: Mapping[Voters, Callable[[recall.Author], bool]] = {
    "everyone": lambda author: _is_person(author) or _is_agent(author),
    "agents": _is_agent,
    "people": _is_person,
}


async def _read(desk: OpenDesk, *, scan: int, before: int | None = None, after: int | None = None) -> recall.Walk:
    """Walk a desk, then leave out the rows of places that the asker may not see any more."""
    walk = await recall.walk_log(desk.log, scan=scan, before=before, after=after)
    if desk.may_show is None:
        return walk
    places: dict[tuple[str | None, int | None], bool] = {}
    for row in walk.rows:
        place = (row.chat_id, row.parent)
        if place not in places:
            places[place] = await desk.may_show(row)
    if all(places.values()):
        return walk
    rows = tuple(row for row in walk.rows if places[row.chat_id, row.parent])
    coverage = msgspec.structs.replace(walk.coverage, rows=len(rows), oldest=rows[-1].sequence if rows else None)
    return recall.Walk(rows, coverage)


async def _match(
    rows: tuple[recall.LogMessage, ...], query: recall.SearchQuery, matcher: ExpressionMatcher, asker: str
) -> tuple[recall.SearchHit, ...]:
    if isinstance(query.pattern, recall.RegexPattern):
        return await matcher.search(rows, query, asker=asker)
    return recall.search_rows(rows, query)


def _chronological(desk: OpenDesk, rows: tuple[recall.LogMessage, ...]) -> tuple[recall.LogMessage, ...]:
    inside = rows if desk.conversation is None else tuple(row for row in rows if desk.conversation.holds(row))
    return inside[::-1]


def _rows_of(rows: Sequence[recall.LogMessage], wanted: set[int]) -> dict[int, recall.LogMessage]:
    return {row.sequence: row for row in rows if row.sequence in wanted} if wanted else {}


def _within(coverage: recall.Coverage, sequence: int) -> bool:
    """Say whether a walk that came this far would have met a sequence."""
    return coverage.beginning or (coverage.oldest is not None and sequence >= coverage.oldest)


def _coverage(desk: OpenDesk, coverage: recall.Coverage) -> AnswerCoverage:
    return AnswerCoverage(
        coverage.rows, coverage.oldest, coverage.beginning, coverage.stopped, desk.left_out, desk.as_of
    )
