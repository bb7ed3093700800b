from __future__ import annotations

import doctest
import inspect
import math
import subprocess
import sys
from collections import Counter
from types import ModuleType

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recall import (
    SEARCH_PATTERN_CHARS,
    SELECT_LIMIT,
    Candidate,
    Hit,
    InvalidPattern,
    MatchKind,
    ParsedQuery,
    PatternError,
    PatternTimeout,
    PatternTooLong,
    RegexPattern,
    SearchPattern,
    TextMatch,
    TextPattern,
    WordsPattern,
    compile_pattern,
    from_wire,
    literals,
    parse_pattern,
    parse_query,
    patterns,
    rank,
    ranking,
    regex_source,
    score,
    score_pattern,
    to_wire,
)
from recall.text import strip
from recall.tiers import is_in_word
from tests.searched import CHARACTERS, TIERS, kinds, queries, slow_collapse, slow_score, slow_words, texts

BOMBS = ("(?:(?:(?:a{99}){99}){99}){99}", "(?:(?:a{1000}){1000}){1000}")


def found(pattern: SearchPattern, text: str) -> tuple[str, int, int] | None:
    match = score_pattern(pattern, text)
    return None if match is None else (str(match.kind), match.score, match.offset)


# One text


@settings(deadline=None, max_examples=500)
@given(queries, texts)
def test_a_score_is_what_its_rules_say(query: str, text: str) -> None:
    assert score(query, text) == slow_score(query, text)


@settings(deadline=None)
@given(texts)
def test_a_text_that_is_its_own_query_is_exact(text: str) -> None:
    assume(slow_collapse(text))

    assert score(text, text) == TextMatch(MatchKind.EXACT, 1100, 0)


@pytest.mark.parametrize("between", [*" -_.'(🚀\x1c", "\u200b", "\ufeff", "\u0301"])
def test_a_word_starts_behind_what_is_not_alphanumeric(between: str) -> None:
    assert found(TextPattern("ship"), f"a{between}ship") == ("word_prefix", 666, 2)


@pytest.mark.parametrize("within", [*"a1é日Ⅷ٣²", "ิ", "\u0345", "ⓐ", "\u093f"])
def test_no_word_starts_behind_a_letter_a_number_or_a_vowel_sign(within: str) -> None:
    assert found(TextPattern("ship"), f"-{within}ship") == ("substring", 466, 2)


def test_a_word_start_wins_over_an_earlier_occurrence_also_one_that_overlaps() -> None:
    assert found(TextPattern("ship"), "airship, ship") == ("word_prefix", 630, 9)
    assert found(TextPattern("-a-"), "x1-a-a-") == ("substring", 442, 2)
    assert found(TextPattern("aa"), "xaaa aaa") == ("word_prefix", 625, 5)
    assert found(TextPattern("--"), "a---") == ("word_prefix", 650, 2)


def test_what_is_alphanumeric_is_said_by_unicode() -> None:
    said = regex.compile(r"[\p{Alphabetic}\p{N}]")

    assert all(is_in_word(char) == bool(said.match(char)) for char in map(chr, range(sys.maxunicode + 1)))


def test_a_hostile_text_costs_no_more_than_a_long_one() -> None:
    marks = "x" + "กิก" * 4000  # each letter stands behind a vowel sign, which `re` takes for an edge

    assert score("ก", marks) == TextMatch(MatchKind.SUBSTRING, 400, 1)
    assert score("a" * 200, "b" + "a" * 20_000) == TextMatch(MatchKind.SUBSTRING, 400, 1)
    assert score("ab" * 90 + "c", "ab" * 20_000) is None


# Several words


def test_words_match_in_any_order_and_all_of_them() -> None:
    assert found(WordsPattern(("limiter", "rate")), "the rate limiter resets") == ("word_prefix", 647, 9)
    assert found(WordsPattern(("limiter", "rates")), "the rate limiter resets") == ("subsequence", 252, 9)
    assert found(WordsPattern(("limiter", "zebra")), "the rate limiter resets") is None


def test_words_are_at_best_the_starts_of_words_and_at_worst_the_worst_of_them() -> None:
    assert found(WordsPattern(("ship",)), "ship") == ("word_prefix", 700, 0)
    assert found(WordsPattern(("ship", "it")), "airship it") == ("substring", 460, 3)
    assert found(WordsPattern(("ship", "ship", "ship")), "ships") == ("word_prefix", 700, 0)


def test_a_phrase_among_words_is_never_matched_loosely() -> None:
    assert found(WordsPattern(("rate limiter", "now")), "rate of limiter now") is None
    assert found(WordsPattern(("a a",)), "a 1a") is None  # also where it says one word twice
    assert found(TextPattern("rate limiter"), "rate of limiter now") is not None
    assert found(WordsPattern(("rate limiter", "nw")), "rate limiter now") == ("subsequence", 287, 0)


@pytest.mark.parametrize("listed", [(), ("",), (" ",), ("a", "")])
def test_no_word_and_a_blank_word_match_nothing(listed: tuple[str, ...]) -> None:
    assert found(WordsPattern(listed), "a") is None
    assert compile_pattern(WordsPattern(listed)).is_empty


@settings(deadline=None, max_examples=400)
@given(st.lists(queries, max_size=4).map(tuple), texts)
def test_words_are_scored_as_each_word_is(listed: tuple[str, ...], text: str) -> None:
    assert score_pattern(WordsPattern(listed), text) == slow_words(listed, text)


# Expressions


@settings(deadline=None, max_examples=300)
@given(st.text("ab[]()*+?|^$\\. {1}", max_size=8), texts)
def test_an_expression_matches_in_bounds_or_is_refused_as_a_pattern(source: str, text: str) -> None:
    try:
        match = score_pattern(RegexPattern(source), text, remaining=lambda: 5.0)
    except PatternError:
        return
    assert match is None or (400 <= match.score <= 1100 and 0 <= match.offset <= len(text))


@settings(deadline=None, max_examples=300)
@given(queries, texts)
def test_a_literal_expression_is_put_on_the_same_scale(query: str, text: str) -> None:
    query, text = query.strip().lower(), text.lower()
    match = score_pattern(RegexPattern(regex.escape(query)), text)
    literal = slow_score(query, text, loose=False)

    if not query or literal is None or literal.kind is MatchKind.WORD_PREFIX:  # it looks at its first match only
        return
    assert match == literal


@pytest.mark.parametrize(
    ("source", "position"), [("[", 1), ("ship(", 5), ("a**", 2), ("(?z)", 2), ("\\", 1), ("a{2,1}", 2), ("(?P<1>a)", 5)]
)
def test_an_expression_that_does_not_compile_says_where(source: str, position: int) -> None:
    with pytest.raises(InvalidPattern) as caught:
        compile_pattern(RegexPattern(source))

    assert caught.value.position == position
    assert caught.value.reason
    assert isinstance(caught.value.__cause__, regex.error)


def test_what_else_the_compiler_raises_is_an_invalid_pattern_too() -> None:
    with pytest.raises(InvalidPattern) as caught:  # a ValueError of the engine
        compile_pattern(RegexPattern("(?u)(?a)x"))
    assert caught.value.position is None

    def compile_deep(frames: int) -> None:
        if frames:
            compile_deep(frames - 1)
        compile_pattern(RegexPattern("(" * 90 + "a" + ")" * 90))

    with pytest.raises(InvalidPattern, match="too deeply nested"):
        compile_deep(sys.getrecursionlimit() - len(inspect.stack()) - 100)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_no_time_left_is_a_timeout(seconds: float) -> None:
    with pytest.raises(PatternTimeout) as caught:
        score_pattern(RegexPattern("a"), "a", remaining=lambda: seconds)

    assert caught.value.limit == "time"


@pytest.mark.parametrize("seconds", [0.5, 1e18, math.inf])
def test_time_left_is_enough_however_much_it_is(seconds: float) -> None:
    assert score_pattern(RegexPattern("a"), "a", remaining=lambda: seconds) is not None


def test_an_expression_that_backtracks_without_end_stops_in_time() -> None:
    with pytest.raises(PatternTimeout) as caught:
        score_pattern(RegexPattern("(a|a)+$"), "a" * 40 + "!", remaining=lambda: 0.05)

    assert caught.value.limit == "time"


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
import recall
for source in sys.argv[1:]:
    try:
        recall.score_pattern(recall.RegexPattern(source), "b" * 5000, remaining=lambda: 5.0)
    except recall.PatternTimeout as stopped:
        print(stopped.limit)
    else:
        print("found nothing")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is the kernel's")
def test_an_expression_that_eats_memory_ends_as_one_that_ran_out_of_it() -> None:
    sources = (*BOMBS, "(?R)?a|b(?R)")

    ran = subprocess.run([sys.executable, "-c", LIMITED, *sources], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["memory"] * 3


# Any pattern


@settings(deadline=None, max_examples=500)
@given(
    st.builds(TextPattern, queries)
    | st.builds(WordsPattern, st.lists(queries, min_size=1, max_size=3).map(tuple))
    | st.builds(RegexPattern, st.text("ab.^$ ", max_size=3)),
    texts,
    st.integers(0, 1200),
    kinds,
)
def test_a_row_weighs_what_its_line_scores_unless_that_is_too_little(
    pattern: SearchPattern, text: str, floor: int, weakest: MatchKind
) -> None:
    line = slow_collapse(text)
    whole = score_pattern(pattern, line)
    counts = whole is not None and TIERS[whole.kind] >= TIERS[weakest]
    compiled = compile_pattern(pattern, weakest=weakest)

    assert score_pattern(compiled, line) == (whole if counts else None)
    worth = whole.score if whole is not None and counts else 0
    weight = compiled.weigh(text, floor)
    assert weight == worth or (weight < floor and worth < floor)


def test_a_pattern_that_is_ready_stays_as_it_is() -> None:
    compiled = compile_pattern(TextPattern("a"))

    assert compile_pattern(compiled) is compiled


@pytest.mark.parametrize(
    ("pattern", "wire"),
    [
        (TextPattern("a"), {"type": "text", "query": "a"}),
        (RegexPattern("a"), {"type": "regex", "source": "a"}),
        (WordsPattern(("a", "b c")), {"type": "words", "words": ["a", "b c"]}),
    ],
)
def test_a_pattern_has_one_wire_form(pattern: SearchPattern, wire: dict[str, object]) -> None:
    assert to_wire(pattern) == wire
    assert from_wire(SearchPattern, wire) == pattern


# Typed queries


@pytest.mark.parametrize(
    ("typed", "pattern", "loose"),
    [
        ("limiter", TextPattern("limiter"), True),
        ("  limiter\n", TextPattern("limiter"), True),
        ("", TextPattern(""), True),
        (" \u3000 ", TextPattern(""), True),
        ("limiter rate", WordsPattern(("limiter", "rate")), True),
        ("a\u00a0b\tc", WordsPattern(("a", "b", "c")), True),
        ('"limiter rate"', TextPattern("limiter rate"), False),
        ('"limiter  \n rate"', TextPattern("limiter rate"), False),  # rows are searched on one line
        ('"limiter"', TextPattern("limiter"), False),
        ('the "rate limiter" resets', WordsPattern(("the", "rate limiter", "resets")), True),
        ('"the" limiter', WordsPattern(("the", "limiter")), False),
        ('"/etc/nginx/"', TextPattern("/etc/nginx/"), False),
        ('say "hi', WordsPattern(("say", '"hi')), True),
        ('"', TextPattern('"'), True),
        ('""', TextPattern('""'), True),
        ('6" pipe', WordsPattern(('6"', "pipe")), True),
        ('6" and "rate limiter"', WordsPattern(('6"', "and", "rate limiter")), True),
        ('{"name": "Ada"}', WordsPattern(('{"name":', '"Ada"}')), True),
        ("/^ship/", RegexPattern("^ship"), False),
        (" /a b/ ", RegexPattern("a b"), False),
        ("/a/b/", RegexPattern("a/b"), False),
        (r"/\//", RegexPattern(r"\/"), False),
        ("/(?:)/", RegexPattern("(?:)"), False),
        ("//", TextPattern("//"), True),
        ("/", TextPattern("/"), True),
        ("/x/i", TextPattern("/x/i"), True),
        ("/a/ b", WordsPattern(("/a/", "b")), True),
        ("cafe\u0301", TextPattern("café"), True),
        ("/cafe\u0301/", RegexPattern("café"), False),
    ],
)
def test_a_typed_query_becomes_a_pattern(typed: str, pattern: SearchPattern, loose: bool) -> None:
    assert parse_query(typed) == ParsedQuery(pattern, loose_allowed=loose)


def test_a_query_is_bounded_after_it_is_trimmed_and_composed() -> None:
    assert SEARCH_PATTERN_CHARS == 200
    assert parse_query(" " * 300 + "e\u0301" * 200).pattern == TextPattern("é" * 200)
    for typed in ("a" * 201, "/" + "a" * 199 + "/"):
        with pytest.raises(PatternTooLong) as caught:
            parse_query(typed)
        assert (caught.value.chars, caught.value.limit) == (201, 200)


@settings(deadline=None)
@given(st.text('ab "/\n' + CHARACTERS, max_size=30) | st.text(max_size=30))
def test_every_query_becomes_a_pattern_and_only_slashes_make_an_expression(typed: str) -> None:
    parsed = parse_query(typed)

    assert isinstance(parsed.pattern, RegexPattern) == (regex_source(typed) is not None)
    assert from_wire(ParsedQuery, to_wire(parsed)) == parsed
    if isinstance(parsed.pattern, WordsPattern):
        assert len(parsed.pattern.words) > 1
        assert not compile_pattern(parsed.pattern).is_empty


@settings(deadline=None)
@given(st.text("ab c" + CHARACTERS.replace("_", ""), max_size=30))
def test_a_query_in_quotes_is_a_phrase(typed: str) -> None:
    line = slow_collapse(typed)
    assume(line)
    parsed = parse_query(f'"{line}"')

    assert isinstance(parsed.pattern, TextPattern)
    assert not parsed.loose_allowed
    assert slow_score(parsed.pattern.query, line) is not None or line != parsed.pattern.query


@settings(deadline=None)
@given(texts)
def test_a_query_in_slashes_is_an_expression_and_any_other_a_text(typed: str) -> None:
    assert regex_source(f" /{typed}a/\n") == f"{typed}a"
    pattern = parse_pattern(typed)
    assert isinstance(pattern, RegexPattern) or pattern.query == strip(typed)


# Candidates

candidates = st.lists(st.builds(Candidate, st.text("ab", max_size=3), texts, st.none() | texts), max_size=8).map(tuple)
picked = st.builds(TextPattern, queries) | st.builds(RegexPattern, st.sampled_from(("a", "^b", ".", "x*")))


def test_the_strongest_field_is_reported_and_a_detail_counts_half() -> None:
    people = (
        Candidate("1", "Bob", "alice"),
        Candidate("alice", "Bob"),
        Candidate("alice", "Alice"),
        Candidate("2", "Malice", "alice alice"),
    )

    assert [
        (hit.id, hit.label, str(hit.field), hit.score, hit.offset) for hit in rank(TextPattern("alice"), people)
    ] == [
        ("alice", "Bob", "id", 1100, 0),
        ("alice", "Alice", "label", 1100, 0),
        ("1", "Bob", "detail", 550, 0),
        ("2", "Malice", "label", 483, 1),
    ]


def test_equal_scores_go_by_offset_then_by_length_of_label_then_as_they_came() -> None:
    crowd = (
        Candidate("a", "yy ab"),
        Candidate("b", "y ab "),  # trimmed, so denser
        Candidate("ab1", "long name"),
        Candidate("ab2", "name"),
        Candidate("ab3", "name"),
    )

    assert [hit.id for hit in rank(TextPattern("ab"), crowd)] == ["ab2", "ab3", "ab1", "b", "a"]


def test_a_picker_offers_eight_unless_told_otherwise() -> None:
    crowd = [Candidate(str(number), "same") for number in range(20)]

    assert SELECT_LIMIT == 8
    assert [hit.id for hit in rank(TextPattern("same"), crowd)] == [str(number) for number in range(8)]
    assert rank(TextPattern("same"), crowd, 0) == rank(TextPattern(" "), crowd) == ()


@settings(deadline=None)
@given(picked, candidates, st.integers(0, 9), st.integers(0, 9))
def test_a_ranking_is_bounded_ordered_repeatable_and_its_limit_only_cuts(
    pattern: SearchPattern, crowd: tuple[Candidate, ...], few: int, more: int
) -> None:
    hits = rank(pattern, crowd, few + more)

    assert rank(pattern, iter(crowd), few) == hits[:few]
    assert len(hits) <= min(few + more, len(crowd))
    assert [(-hit.score, hit.offset, len(hit.label)) for hit in hits] == sorted(
        (-hit.score, hit.offset, len(hit.label)) for hit in hits
    )
    whole = rank(pattern, crowd, len(crowd))
    expected = [hit for candidate in crowd if (hit := slow_hit(pattern, candidate))]
    assert Counter(whole) == Counter(expected)


def slow_hit(pattern: SearchPattern, candidate: Candidate) -> Hit | None:
    fields = {"label": candidate.label, "id": candidate.id, "detail": candidate.detail or ""}
    halves = {"label": 1, "id": 1, "detail": 2}
    matches = [(name, match) for name, text in fields.items() if (match := score_pattern(pattern, text))]
    if not matches:
        return None
    name, match = max(matches, key=lambda pair: pair[1].score // halves[pair[0]])
    return Hit(
        candidate.id, candidate.label, ranking.HitField(name), match.kind, match.score // halves[name], match.offset
    )


@pytest.mark.parametrize("module", [ranking, literals, patterns], ids=lambda module: module.__name__)
def test_the_examples_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
