"""What a search costs, the walk included: a query must not be able to choose that it is slow.

pytest -p benchmark tests/benchmarks
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from recall import LogMessage, MatchKind, SearchQuery, SessionPage, parse_query, search_messages, search_rows

Ratio = Callable[[Callable[[], object]], float]

TEXT_TIMES = 15
REGEX_TIMES = 25
COPIES = 58  # of the 2,048 rows: 118,784, an export's worth

QUERIES = {
    "a word": "deploy",
    "a word that many rows hold": "the",
    "a word that no row holds": "zebra",
    "one letter that starts many words": "o",
    "one letter that starts few words": "n",
    "one letter that is rare": "z",
    "a letter that no row holds": "日",
    "a phrase": '"rate limiter"',
    "a phrase of letters": '"e t"',
    "two words": "limiter rate",
    "a phrase among words": 'now "rate limiter"',
    "words that are letters": "e t a",
    "many words that are letters": " ".join("etaoinshrdlu"),
    "the alphabet": " ".join("abcdefghijklmnopqrstuvwxyz"),
    "many words": " ".join(a + b for a in "etao" for b in "etaoin"),
    "a subsequence of most rows": "eo",
    "a subsequence of many rows": "etaoin",
    "a subsequence of few rows": "etaoinshrdlu",
    "a subsequence of no row": "etaoinzq",
    "one letter many times": "e" * 30,
    "a long word": "etaoinshrdlu" * 16,
    "a long phrase": '"' + "e t a o i n s h r d " * 9 + '"',
    "a long phrase of one letter": '"' + "e " * 99 + '"',
    "words of one letter many times": "e " * 100,
}
EXPRESSIONS = ("/deploy/", "/(?i)deploy/", r"/^the\b/", r"/\d+/", "/z+q/", "/(?:)/", "/./", "/$/", r"/\bthe\b/")


class SlicedLog:
    """A log in memory whose pages cost next to nothing; its sequences are consecutive."""

    def __init__(self, rows: tuple[LogMessage, ...]) -> None:
        self.rows = rows[::-1]
        self.newest = self.rows[0].sequence

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        start = 0 if before is None else self.newest - before + 1
        page = self.rows[start : start + limit]
        return SessionPage(page, page[-1].sequence if start + limit < len(self.rows) else None)


@pytest.mark.parametrize("weakest", [MatchKind.SUBSEQUENCE, MatchKind.SUBSTRING], ids=["loose", "not loose"])
@pytest.mark.parametrize("typed", QUERIES.values(), ids=QUERIES)
def test_a_text_search_costs_at_most_fifteen_times_the_baseline(
    ratio: Ratio, rows: tuple[LogMessage, ...], typed: str, weakest: MatchKind
) -> None:
    log = SlicedLog(rows)
    query = SearchQuery(pattern=parse_query(typed).pattern, weakest=weakest)

    assert ratio(lambda: asyncio.run(search_messages(log, query))) <= TEXT_TIMES


@pytest.mark.parametrize("typed", EXPRESSIONS)
def test_an_expression_costs_at_most_twenty_five_times_the_baseline(
    ratio: Ratio, rows: tuple[LogMessage, ...], typed: str
) -> None:
    log = SlicedLog(rows)
    query = SearchQuery(pattern=parse_query(typed).pattern)

    assert ratio(lambda: asyncio.run(search_messages(log, query))) <= REGEX_TIMES


@pytest.mark.parametrize("typed", ["deploy", "e", "limiter rate", "etaoin", '"rate limiter"'])
def test_a_row_of_a_long_log_costs_no_more_than_one_of_a_short_log(
    ratio: Ratio, rows: tuple[LogMessage, ...], typed: str
) -> None:
    many = tuple(
        msgspec.structs.replace(row, sequence=row.sequence + 1_000_000 * copy) for copy in range(COPIES) for row in rows
    )
    query = SearchQuery(pattern=parse_query(typed).pattern)

    assert ratio(lambda: search_rows(many, query)) / COPIES <= TEXT_TIMES
