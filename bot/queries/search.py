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
    """Hold one page of hits, and the `rows` they were found in.

    `more`: others follow in the same reach. `loosened`: nothing better was found, so these are subsequences
    that nobody asked for.
    """

    pattern: recall.SearchPattern
    hits: tuple[recall.SearchHit, ...]
    more: bool
    loosened: bool
    coverage: AnswerCoverage
    rows: Mapping[int, recall.LogMessage]


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
