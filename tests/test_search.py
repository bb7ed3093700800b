from __future__ import annotations

import itertools
from typing import Literal

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    EXCERPT_CHARS,
    EXCERPT_LEAD,
    SEARCH_LIMIT,
    SEARCH_SCAN,
    AgentAuthor,
    Conversation,
    Coverage,
    InvalidPattern,
    LogMessage,
    MatchKind,
    OperatorAuthor,
    PatternTimeout,
    RegexPattern,
    SearchHit,
    SearchPattern,
    SearchQuery,
    SearchResult,
    SystemAuthor,
    TextPattern,
    WordsPattern,
    author_id,
    from_wire,
    parse_query,
    score_pattern,
    search_messages,
    search_rows,
    to_wire,
)
from recall.text import ELLIPSIS
from tests.searched import ADA, SCOUT, TIERS, RecordingLog, kinds, logs, queries, row, slow_collapse, texts

DESK = Conversation(desk_id="desk", desk_name="Desk")
NOTHING = SearchResult((), Coverage(rows=0, oldest=None, beginning=False, stopped=None))


def found(typed: str, *said: str) -> list[str]:
    """The excerpts that a typed query finds among what was said, oldest first, without the loose ones."""
    parsed = parse_query(typed)
    rows = tuple(row(number, content) for number, content in enumerate(said, 1))
    query = SearchQuery(pattern=parsed.pattern, weakest=MatchKind.SUBSTRING)
    return [hit.excerpt for hit in search_rows(rows[::-1], query)]


# The window is not the answer, S1

BUSY = tuple(row(number, "needle" if number == 71 else "hay") for number in range(250, 0, -1))


async def test_a_search_says_how_far_it_looked_and_goes_on_from_there() -> None:
    log = RecordingLog(BUSY)
    query = SearchQuery(pattern=TextPattern("needle"))

    first = await search_messages(log, query, scan=100)
    assert first == SearchResult((), Coverage(rows=100, oldest=151, beginning=False, stopped="bound"))

    older = SearchQuery(pattern=TextPattern("needle"), before=first.coverage.oldest)
    second = await search_messages(log, older, scan=100)
    assert [hit.sequence for hit in second.hits] == [71]
    assert second.coverage == Coverage(rows=100, oldest=51, beginning=False, stopped="bound")

    whole = await search_messages(log, query)
    assert [hit.sequence for hit in whole.hits] == [71]
    assert whole.coverage == Coverage(rows=250, oldest=1, beginning=True, stopped=None)


async def test_a_bound_of_one_fetches_and_reports_one_message() -> None:
    log = RecordingLog(BUSY)

    result = await search_messages(log, SearchQuery(pattern=TextPattern("needle")), scan=1)

    assert result == SearchResult((), Coverage(rows=1, oldest=250, beginning=False, stopped="bound"))
    assert log.asked == [(None, 1)]


async def test_a_search_reads_pages_up_to_its_bound_and_no_further_back_than_asked() -> None:
    rows = tuple(row(number, "hay") for number in range(5000, 0, -1))
    log = RecordingLog(rows)

    result = await search_messages(log, SearchQuery(pattern=TextPattern("hay"), before=4000))
    assert log.asked == [(4000, 512), (3488, 512), (2976, 512), (2464, 512)]
    assert result.coverage == Coverage(rows=SEARCH_SCAN, oldest=1952, beginning=False, stopped="bound")
    assert [hit.sequence for hit in result.hits] == list(range(3999, 3999 - SEARCH_LIMIT, -1))

    since = await search_messages(log, SearchQuery(pattern=TextPattern("hay"), after=4990, limit=99))
    assert [hit.sequence for hit in since.hits] == list(range(5000, 4990, -1))
    assert since.coverage == Coverage(rows=10, oldest=4991, beginning=False, stopped=None)


@pytest.mark.parametrize(
    "query",
    [
        SearchQuery(pattern=TextPattern(" \u3000\n")),
        SearchQuery(pattern=TextPattern("")),
        SearchQuery(pattern=RegexPattern("")),
        SearchQuery(pattern=WordsPattern(())),
        SearchQuery(pattern=WordsPattern(("a", " "))),
        SearchQuery(pattern=TextPattern("a"), limit=0),
        SearchQuery(pattern=RegexPattern("["), limit=0),
    ],
)
async def test_a_search_for_nothing_reads_nothing(query: SearchQuery) -> None:
    log = RecordingLog((row(1, "a"),))

    assert await search_messages(log, query) == NOTHING
    assert search_rows(log.rows, query) == ()
    assert log.asked == []


async def test_a_bad_expression_is_found_before_anything_is_read() -> None:
    log = RecordingLog((row(1, "a"),))

    with pytest.raises(InvalidPattern) as caught:
        await search_messages(log, SearchQuery(pattern=RegexPattern("ship(")))

    assert caught.value.position == 5
    assert log.asked == []


# Expressions of strangers, S3


@pytest.mark.parametrize("typed", ["/(a+)+$/", "/(a|a)+$/"])
def test_an_expression_that_backtracks_ends_within_the_time_of_the_whole_search(typed: str) -> None:
    rows = tuple(row(number, "a" * 26 + "!") for number in range(40, 0, -1))
    left = itertools.chain((0.05,) * 3, itertools.repeat(0.0))
    query = SearchQuery(pattern=parse_query(typed).pattern)

    with pytest.raises(PatternTimeout) as caught:  # inside a match, or between two
        search_rows(rows, query, remaining=lambda: next(left))

    assert caught.value.limit == "time"


def test_the_time_that_remains_is_asked_for_before_every_match() -> None:
    rows = (row(3, "a", attached="a"), row(2, "\n"), row(1, "b"))
    asked: list[float] = []

    def remaining() -> float:
        asked.append(60.0)
        return asked[-1]

    (hit,) = search_rows(rows, SearchQuery(pattern=RegexPattern("a")), remaining=remaining)

    assert hit.sequence == 3
    assert len(asked) == 3 + 2  # two texts and one, then two again to quote the hit; nothing for a blank row


@pytest.mark.parametrize(("typed", "position"), [("/[/", 1), ("/(/", 1), ("/a**/", 2)])
def test_a_bad_expression_names_its_position(typed: str, position: int) -> None:
    with pytest.raises(InvalidPattern) as caught:
        search_rows((), SearchQuery(pattern=parse_query(typed).pattern))

    assert caught.value.position == position


def test_no_expression_becomes_a_literal_search_and_no_text_an_expression() -> None:
    said = ("see // here", "a/b", "use /x/i", "xi", "(?:)")

    assert found("//", *said) == ["see // here"]
    assert found("/a/b/", *said) == ["a/b"]
    assert found(r"/\//", *said) == ["use /x/i", "see // here", "a/b"]
    assert found("/x/i", *said) == ["use /x/i"]
    assert found("/(?:)/", *said) == ["(?:)", "xi", "use /x/i", "a/b", "see // here"]
    assert found("/" + "a" * 198 + "/", "a" * 198) == [ELLIPSIS.join(("a" * 96, ""))]


def test_a_row_without_text_is_found_by_no_expression() -> None:
    assert search_rows((row(2, " "), row(1, "")), SearchQuery(pattern=RegexPattern("(?:)|^$"))) == ()


def test_the_case_of_an_expression_is_its_own_business() -> None:
    assert found("/ship/", "Ship") == []
    assert found("/(?i)ship/", "Ship") == ["Ship"]


# Scripts and letter case, S4


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("日本", "今日本を読む"),
        ("読む", "今日本を読む"),
        ("⭐️", "five ⭐️ of five"),
        ("cafe\u0301", "le café du coin"),
        ("οδος", "ΟΔΟΣ"),
        ("ΟΔΟΣ", "η οδος"),
        ("İstanbul", "from İstanbul to İzmir"),
        ("مرحبا", "قال مرحبا بكم"),
        ("שלום", "אמר שלום לכם"),
        ("حد", "أحد"),
    ],
)
def test_every_script_is_found_whatever_its_case(typed: str, said: str) -> None:
    assert found(typed, said, "nothing of it") == [said]


def test_a_composed_query_does_not_find_a_decomposed_row_so_hosts_compose_their_rows() -> None:
    assert found("café", "cafe\u0301") == []


def test_what_lower_case_makes_longer_does_not_move_the_excerpt() -> None:
    said = "İ" * 200 + " needle " + "z" * 200

    (excerpt,) = found("needle", said)

    assert excerpt == "…" + "İ" * 23 + " needle " + "z" * 65 + "…"
    assert len(excerpt) == EXCERPT_CHARS + 2


@pytest.mark.parametrize("cluster", ["👩\u200d👩\u200d👧\u200d👦", "e\u0301", "🇩🇪", "क्षि", "กิ", "👍🏽", "שָׁ"])
def test_an_excerpt_is_cut_between_characters_that_belong_together(cluster: str) -> None:
    said = cluster * 40 + " needle " + cluster * 40

    (excerpt,) = found("needle", said)

    head, tail = excerpt.removeprefix("…").removesuffix("…").split(" needle ")
    assert head == cluster * (len(head) // len(cluster))
    assert tail == cluster * (len(tail) // len(cluster))
    assert head
    assert tail
    assert len(excerpt) <= EXCERPT_CHARS + 2


def test_an_excerpt_adds_nothing_to_a_text_of_any_direction() -> None:
    said = "אבג " * 30 + "שלום" + " דהו" * 30

    (excerpt,) = found("שלום", said)

    assert excerpt.strip(ELLIPSIS) in said


# Words in another order, S5


def test_words_are_found_in_any_order_and_a_phrase_only_in_its_own() -> None:
    said = "the rate limiter resets"

    assert found("limiter rate", said) == [said]
    assert found('"limiter rate"', said) == []
    assert found('"rate limiter"', said) == [said]
    assert found('resets "rate limiter"', said) == [said]


# What is asked about


MIXED = (
    row(9, "ship", author=SystemAuthor(kind="join", label="Join")),
    row(8, "ship", author=OperatorAuthor()),
    row(7, "ship", chat_id=None, author=SCOUT),
    row(6, "ship", chat_id="other"),
    row(5, "ship", parent=4),
    row(4, "ship", parent=2),
    row(3, "ship", author=SCOUT),
    row(2, "ship"),
    row(1, "no match"),
)


@pytest.mark.parametrize(
    ("asked", "sequences"),
    [
        ({}, [9, 8, 7, 6, 5, 4, 3, 2]),
        ({"scope": DESK}, [9, 8, 5, 4, 3, 2]),
        ({"scope": Conversation("desk", "another name", 2)}, [4, 2]),
        ({"scope": Conversation("desk", "Desk", 4)}, [5]),
        ({"scope": Conversation("Desk", "desk")}, []),
        ({"author_id": "scout"}, [7, 3]),
        ({"author_id": "operator"}, [8]),
        ({"author_id": "join"}, [9]),
        ({"author_id": "Scout"}, []),
        ({"before": 4}, [3, 2]),
        ({"after": 7}, [9, 8]),
        ({"before": 8, "after": 5, "scope": DESK}, []),
        ({"author_id": "ada", "scope": DESK, "limit": 2}, [5, 4]),
    ],
)
async def test_a_query_names_its_place_author_and_time(asked: dict[str, object], sequences: list[int]) -> None:
    query = SearchQuery(pattern=TextPattern("ship"), **asked)  # type: ignore[arg-type]

    assert [hit.sequence for hit in search_rows(MIXED, query)] == sequences
    assert [hit.sequence for hit in (await search_messages(RecordingLog(MIXED), query)).hits] == sequences


def test_a_hit_says_where_who_and_how_well() -> None:
    (hit,) = search_rows(
        (row(7, "airship\n\nships  now", parent=5, author=SCOUT),), SearchQuery(pattern=TextPattern("ship"))
    )

    assert hit == SearchHit(7, "desk", 5, SCOUT, "airship ships now", 623, MatchKind.WORD_PREFIX)


def test_the_best_come_first_and_the_newest_of_equals_unless_the_newest_are_asked_for() -> None:
    rows = (row(5, "a ship"), row(4, "ship"), row(3, "airship"), row(2, "ship"), row(1, "s h i p"))
    pattern = TextPattern("ship")

    assert [hit.sequence for hit in search_rows(rows, SearchQuery(pattern=pattern))] == [4, 2, 5, 3, 1]
    newest = SearchQuery(pattern=pattern, order="newest", limit=3)
    assert [hit.sequence for hit in search_rows(rows, newest)] == [5, 4, 3]


@pytest.mark.parametrize(
    ("weakest", "sequences"),
    [
        ("exact", [5]),
        ("prefix", [5, 4]),
        ("word_prefix", [5, 4, 3]),
        ("substring", [5, 4, 3, 2]),
        ("subsequence", [5, 4, 3, 2, 1]),
    ],
)
def test_tiers_below_the_weakest_are_left_out(weakest: str, sequences: list[int]) -> None:
    rows = (row(5, "ship"), row(4, "shipping"), row(3, "a ship"), row(2, "airship"), row(1, "s h i p"))
    query = from_wire(SearchQuery, {"pattern": {"type": "text", "query": "ship"}, "weakest": weakest})

    assert [hit.sequence for hit in search_rows(rows, query)] == sequences


# What is attached


def test_what_is_attached_counts_half_and_is_quoted_when_it_is_the_stronger() -> None:
    rows = (
        row(3, "see below", attached="Release\nthe ship notes"),
        row(2, "ship", attached="ship"),
        row(1, "s h i p", attached="ship"),
    )

    hits = search_rows(rows, SearchQuery(pattern=TextPattern("ship")))

    assert [(hit.sequence, hit.score, str(hit.kind), hit.excerpt) for hit in hits] == [
        (2, 1100, "exact", "ship"),
        (1, 550, "exact", "ship"),
        (3, 309, "word_prefix", "Release the ship notes"),
    ]


def test_of_two_that_are_as_strong_the_content_is_quoted() -> None:
    rows = (row(1, "xxabxxxxxx", attached="ab-abcdefghabcdefghij"),)

    (hit,) = search_rows(rows, SearchQuery(pattern=RegexPattern("ab")))

    assert (hit.score, hit.excerpt) == (420, "xxabxxxxxx")


def test_a_loose_content_does_not_hide_what_is_attached() -> None:
    rows = (row(1, "s h i p", attached="a ship"),)
    query = SearchQuery(pattern=TextPattern("ship"), weakest=MatchKind.SUBSTRING)

    assert [(hit.score, hit.excerpt) for hit in search_rows(rows, query)] == [(333, "a ship")]


def test_a_match_is_not_pieced_together_of_content_and_what_is_attached() -> None:
    rows = (row(1, "rate", attached="limiter"),)

    assert search_rows(rows, SearchQuery(pattern=WordsPattern(("rate", "limiter")))) == ()


# The excerpt


def test_an_excerpt_surrounds_the_match_on_one_line() -> None:
    said = "lorem ipsum " * 20 + "\nneedle\n\n" + "dolor sit " * 20

    (excerpt,) = found("needle", said)

    assert excerpt == "…lorem ipsum lorem ipsum needle " + "dolor sit " * 6 + "dolor…"
    assert (excerpt.index("needle"), len(excerpt)) == (1 + EXCERPT_LEAD, EXCERPT_CHARS + 2)


# Rules for any rows

patterns = (
    st.builds(TextPattern, queries)
    | st.builds(WordsPattern, st.lists(queries, min_size=1, max_size=3).map(tuple))
    | st.builds(RegexPattern, st.sampled_from(("a", "a+", "^b", "b$", "(?:)", ".", "[ab]{2}", r"\w+")))
)


def slow_search(rows: tuple[LogMessage, ...], query: SearchQuery) -> list[tuple[int, int, str]]:
    """The hits by the rules, row by row: sequence, score, kind."""
    hits = []
    for found_row in rows:
        if query.scope is not None and not query.scope.holds(found_row):
            continue
        if query.author_id is not None and author_id(found_row.author) != query.author_id:
            continue
        worths = []
        for share, text in ((1, found_row.content), (2, found_row.attached)):
            match = score_pattern(query.pattern, slow_collapse(text))
            if match is not None and TIERS[match.kind] >= TIERS[query.weakest]:
                worths.append((match.score // share, -share, str(match.kind)))
        if worths:
            score, _, kind = max(worths)
            hits.append((found_row.sequence, score, kind))
    best = query.order == "best"
    return sorted(hits, key=lambda hit: (-hit[1], -hit[0]) if best else (-hit[0], 0))[: query.limit]


asked = st.builds(
    SearchQuery,
    pattern=patterns,
    scope=st.none() | st.just(DESK),
    author_id=st.none() | st.sampled_from(("ada", "scout", "operator", "join")),
    limit=st.integers(0, 14),
    weakest=kinds,
    order=st.sampled_from(("best", "newest")),
)


@settings(deadline=None, max_examples=500)
@given(logs(), asked)
async def test_a_search_finds_what_its_rules_say(rows: tuple[LogMessage, ...], query: SearchQuery) -> None:
    hits = search_rows(rows, query)

    assert [(hit.sequence, hit.score, str(hit.kind)) for hit in hits] == slow_search(rows, query)
    result = await search_messages(RecordingLog(rows), query)
    assert result.hits == hits
    assert search_rows(iter(rows[::-1]), query) == hits  # in any order, and from anything that yields rows


@settings(deadline=None, max_examples=300)
@given(logs(), patterns, st.integers(0, 14), st.integers(0, 14))
def test_a_limit_only_cuts(rows: tuple[LogMessage, ...], pattern: SearchPattern, few: int, more: int) -> None:
    orders: tuple[Literal["best", "newest"], ...] = ("best", "newest")
    for order in orders:
        many = search_rows(rows, SearchQuery(pattern, limit=few + more, order=order))
        assert search_rows(rows, SearchQuery(pattern, limit=few, order=order)) == many[:few]


@settings(deadline=None, max_examples=300)
@given(st.lists(texts, max_size=5).map(" ".join), queries)
def test_an_excerpt_is_a_bounded_piece_of_the_line_and_holds_the_match(said: str, query: str) -> None:
    said = f"{said * 9} {query} {said * 9}"
    line = slow_collapse(said)
    for hit in search_rows((row(1, said),), SearchQuery(pattern=TextPattern(query), weakest=MatchKind.SUBSTRING)):
        assert len(hit.excerpt) <= EXCERPT_CHARS + 2
        assert hit.excerpt.strip(ELLIPSIS) in line
        if len(line) <= EXCERPT_CHARS:
            assert hit.excerpt == line
        elif len(regex.findall(r"\X", line)) == len(line):  # nothing but the match's own edges to keep
            assert query.strip().lower() in hit.excerpt.lower()


def test_the_same_row_given_twice_is_no_error() -> None:
    rows = (row(1, "ship", author=ADA), row(1, "ship", author=AgentAuthor("x", "X")), row(1, "ship"))

    assert len(search_rows(rows, SearchQuery(pattern=TextPattern("ship")))) == 3
    assert len(search_rows(rows, SearchQuery(pattern=TextPattern("ship"), order="newest", limit=2))) == 2


# Wire forms


def test_a_query_has_a_wire_form_with_its_fields_in_order() -> None:
    query = SearchQuery(pattern=WordsPattern(("a", "b c")), scope=DESK, before=2**63, after=7)
    wire = to_wire(query, string_ids=True)

    assert wire == {
        "pattern": {"type": "words", "words": ["a", "b c"]},
        "scope": {"desk_id": "desk", "desk_name": "Desk", "thread_root": None},
        "author_id": None,
        "before": str(2**63),
        "limit": 10,
        "weakest": "subsequence",
        "after": "7",
        "order": "best",
    }
    assert list(wire)[:5] == ["pattern", "scope", "author_id", "before", "limit"]
    assert from_wire(SearchQuery, wire) == query
    assert from_wire(SearchQuery, {"pattern": {"type": "text", "query": "a"}}) == SearchQuery(pattern=TextPattern("a"))


def test_a_result_has_a_wire_form() -> None:
    hit = SearchHit(2**53 + 1, None, 5, SCOUT, "ship", 1100, MatchKind.EXACT)
    result = SearchResult((hit,), Coverage(rows=1, oldest=7, beginning=True, stopped=None))

    assert to_wire(result, string_ids=True) == {
        "hits": [
            {
                "sequence": str(2**53 + 1),
                "chat_id": None,
                "parent": "5",
                "author": {"type": "agent", "id": "scout", "label": "Scout"},
                "excerpt": "ship",
                "score": 1100,
                "kind": "exact",
            }
        ],
        "coverage": {"rows": 1, "oldest": "7", "beginning": True, "stopped": None},
    }
    assert from_wire(SearchResult, to_wire(result)) == result
