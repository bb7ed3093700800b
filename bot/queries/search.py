"""Search a desk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

import recall

from .desk import AnswerCoverage, OpenDesk, coverage_of, read, rows_of

SEARCH_PAGE_HITS = 10


class ExpressionMatcher(Protocol):
    """Search rows for a regular expression where it can do no harm."""

    async def search(
        self, rows: Sequence[recall.LogMessage], query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        """Return what `recall.search_rows` would, or raise a `recall.PatternError`."""
        ...  # pragma: no cover


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
    so these are subsequences that nobody asked for. `rows`: the rows of the hits.
    """

    pattern: recall.SearchPattern
    hits: tuple[recall.SearchHit, ...]
    more: bool
    loosened: bool
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]


async def search(
    self, rows: Sequence[recall.LogMessage], query: recall.SearchQuery, *, asker: str
) -> tuple[recall.SearchHit, ...]:
    """Return what `recall.search_rows` would, or raise a `recall.PatternError`."""
    # pragma: no cover


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
    so these are subsequences that nobody asked for. `rows`: the rows of the hits.
    """

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
    walk = await read(desk, scan=request.scan, before=request.before, after=request.after)
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
        coverage=coverage_of(desk, walk.coverage),
        rows=rows_of(walk.rows, {hit.sequence for hit in hits}),
    )


async def _match(
    rows: tuple[recall.LogMessage, ...], query: recall.SearchQuery, matcher: ExpressionMatcher, asker: str
) -> tuple[recall.SearchHit, ...]:
    if isinstance(query.pattern, recall.RegexPattern):
        return await matcher.search(rows, query, asker=asker)
    return recall.search_rows(rows, query)
