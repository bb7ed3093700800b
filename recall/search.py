"""Search a log itself: a bounded walk, every row scored on one line, the best of them quoted.

There is no index to be built or to drift: a search reads the newest rows through the port and says how far
it came. What a person typed becomes a pattern in `patterns`; what a match is worth is said in `tiers`.

    result = await search_messages(log, SearchQuery(pattern=parse_query("limiter rate").pattern))
    result.hits       # best first, the newest of equals first
    result.coverage   # Coverage(rows=2048, oldest=17953, beginning=False, stopped="bound")

The fold, `search_rows`, is pure and takes rows in any order. A host that must not run a stranger's
expression in its own process walks the log itself, and hands the rows to `search_rows` elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Literal

from recall.expressions import CompiledRegex
from recall.log import NOTHING_READ, Coverage, SessionLog, walk_log
from recall.patterns import SearchPattern
from recall.ranking import CompiledPattern, compile_pattern
from recall.records import Author, Conversation, LogMessage, Sequence, Value, author_id
from recall.text import collapse, excerpt
from recall.threads import THREAD_INDEX_SCAN, ThreadLine, read_thread_index
from recall.tiers import MatchKind, Remaining, TextMatch

__all__ = [
    "EXCERPT_CHARS",
    "EXCERPT_LEAD",
    "SEARCH_LIMIT",
    "SEARCH_SCAN",
    "SearchHit",
    "SearchQuery",
    "SearchResult",
    "ThreadHit",
    "ThreadSearch",
    "search_messages",
    "search_rows",
    "search_threads",
]

SEARCH_LIMIT = 10  # hits, a page of them
SEARCH_SCAN = 2048  # raw rows
EXCERPT_CHARS = 96  # of the line quoted: about what a phone shows on two lines
EXCERPT_LEAD = 24  # characters quoted before the match, to say what it belongs to


class SearchQuery(Value, frozen=True):
    """Ask for rows that match a pattern.

    `scope` is a desk (with the inside of its threads) or a thread; null is everything the log holds.
    `author_id` is an agent's or person's id, a system row's kind, or `operator`. `before` and `after` are
    exclusive. Tiers below `weakest` are no hits. `order` is `best` or `newest`.
    """

    pattern: SearchPattern
    scope: Conversation | None = None
    author_id: str | None = None
    before: Sequence | None = None
    limit: int = SEARCH_LIMIT
    weakest: MatchKind = MatchKind.SUBSEQUENCE
    after: Sequence | None = None
    order: Literal["best", "newest"] = "best"


class SearchHit(Value, frozen=True):
    """Point at a row that matches, with the piece of its text around the match on one line."""

    sequence: Sequence
    chat_id: str | None
    parent: Sequence | None
    author: Author
    excerpt: str
    score: int
    kind: MatchKind


class SearchResult(Value, frozen=True):
    """Hold hits, and how far the search looked for them."""

    hits: tuple[SearchHit, ...]
    coverage: Coverage


class ThreadHit(Value, frozen=True):
    """Say how well the opening words of a thread match."""

    line: ThreadLine
    score: int
    kind: MatchKind


class ThreadSearch(Value, frozen=True):
    """Hold threads that match, best first, and how far the search looked for them."""

    hits: tuple[ThreadHit, ...]
    coverage: Coverage


def search_rows(
    rows: Iterable[LogMessage], query: SearchQuery, *, remaining: Remaining | None = None
) -> tuple[SearchHit, ...]:
    """Return the best `query.limit` hits among rows: score down, the newest of equals first.

    Content counts in full, `attached` at half; the stronger of the two is the hit, and is quoted.
    `remaining` says how many seconds an expression may still take, over all rows. Raises `InvalidPattern`
    with the position, and `PatternTimeout` when time or memory runs out; there is no partial result.
    """
    compiled = _compile(query)
    return () if compiled is None else _best(rows, query, compiled, remaining)


async def search_messages(
    log: SessionLog,
    query: SearchQuery,
    *,
    scan: int = SEARCH_SCAN,
    remaining: Remaining | None = None,
) -> SearchResult:
    """Search the newest `scan` raw rows of a log, of those between `after` and `before`.

    A pattern that asks for nothing, or a limit of 0, is an empty result for which nothing is read. Raises
    what `search_rows` and `walk_log` raise; a bad expression is found before anything is read.
    """
    compiled = _compile(query)
    if compiled is None:
        return SearchResult((), NOTHING_READ)
    walk = await walk_log(log, scan=scan, before=query.before, after=query.after)
    return SearchResult(_best(walk.rows, query, compiled, remaining), walk.coverage)


async def search_threads(
    log: SessionLog,
    conversation: Conversation,
    pattern: SearchPattern,
    limit: int,
    *,
    scan: int = THREAD_INDEX_SCAN,
    remaining: Remaining | None = None,
) -> ThreadSearch:
    """Rank a desk's threads by their opening words, as the index cuts them; the livelier of equals first.

    Inside a thread there are none, and nothing is read, as for a pattern that asks for nothing.
    """
    compiled = _compile(SearchQuery(pattern=pattern, limit=limit))
    if compiled is None or conversation.thread_root is not None:
        return ThreadSearch((), NOTHING_READ)
    index = await read_thread_index(log, conversation, scan, scan=scan)
    found = ((line, compiled.match(line.opening, remaining)) for line in index.threads)
    hits = [ThreadHit(line, match.score, match.kind) for line, match in found if match is not None]
    hits.sort(key=lambda hit: -hit.score)
    return ThreadSearch(tuple(hits[:limit]), index.coverage)


def _compile(query: SearchQuery) -> CompiledPattern | None:
    """Return what to match; null when nothing is asked for, even by an expression that does not compile."""
    if query.limit <= 0:
        return None
    compiled = compile_pattern(query.pattern, weakest=query.weakest)
    return None if compiled.is_empty else compiled


def _best(
    rows: Iterable[LogMessage],
    query: SearchQuery,
    compiled: CompiledPattern,
    remaining: Remaining | None,
) -> tuple[SearchHit, ...]:
    """Keep the best rows in a bounded heap, on keys of integers, and quote only those."""
    limit, by_score, weigh = query.limit, query.order == "best", compiled.weigh
    heap: list[tuple[int, int, int, LogMessage]] = []
    floor = 0  # a lower score cannot be a hit any more
    for index, row in enumerate(_wanted(rows, query)):
        if not by_score and len(heap) == limit and row.sequence < heap[0][0]:
            continue
        score = weigh(row.content, floor, remaining)
        if row.attached:
            score = max(score, weigh(row.attached, 2 * floor, remaining) // 2)
        if score <= 0 or score < floor:
            continue
        key = score if by_score else row.sequence
        entry = (key, row.sequence, -index, row)  # the index parts rows that are equal in all else
        if len(heap) < limit:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)
        if by_score and len(heap) == limit:
            floor = heap[0][0]
    heap.sort(reverse=True)
    hits = (_hit(row, compiled, remaining) for *_, row in heap)
    return tuple(hit for hit in hits if hit is not None)


def _wanted(rows: Iterable[LogMessage], query: SearchQuery) -> Iterable[LogMessage]:
    """Return the rows that a query asks about; only the conditions that it states cost anything."""
    before, after, scope, author = query.before, query.after, query.scope, query.author_id
    if before is not None:
        rows = (row for row in rows if row.sequence < before)
    if after is not None:
        rows = (row for row in rows if row.sequence > after)
    if scope is not None:
        rows = filter(scope.holds, rows)
    if author is not None:
        rows = (row for row in rows if author_id(row.author) == author)
    return rows


def _hit(row: LogMessage, compiled: CompiledPattern, remaining: Remaining | None) -> SearchHit | None:
    """Match a row again, this time for the place, and quote it there."""
    best: tuple[int, str, TextMatch] | None = None
    for share, text in ((1, row.content), (2, row.attached)):
        line = collapse(text)
        found = compiled.match(line, remaining) if line else None
        if found is not None and (best is None or found.score // share > best[0]):
            best = (found.score // share, line, found)
    if best is None:
        return None
    score, line, found = best
    offset = found.offset if isinstance(compiled, CompiledRegex) else _as_written(line, found.offset)
    quoted = excerpt(line, offset, chars=EXCERPT_CHARS, lead=EXCERPT_LEAD)
    return SearchHit(row.sequence, row.chat_id, row.parent, row.author, quoted, score, found.kind)


def _as_written(line: str, offset: int) -> int:
    """Return where the character stands that `line.lower()` has at `offset` (`İ` becomes two characters)."""
    if len(line.lower()) == len(line):
        return offset
    lowered = 0
    for index, character in enumerate(line):
        lowered += len(character.lower())
        if lowered > offset:
            return index
    return len(line)
