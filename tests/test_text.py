from __future__ import annotations

import doctest
import sys

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import text
from recall.text import ELLIPSIS, WHITE_SPACE, collapse, cut, excerpt, is_blank, shown, strip, strip_start, words
from tests.searched import slow_collapse, texts

FAMILY = "👨\u200d👩\u200d👧"
CLUSTERS = ("a", "b", " ", "é", "e\u0301", FAMILY, "🇩🇪", "🇫🇷", "क्षि", "กิ", "日", "\u0600ا", "👍🏽", "⭐️", "ο")
lines = st.lists(st.sampled_from(CLUSTERS) | st.characters(exclude_characters="\r\n"), max_size=40).map("".join)


def edges(line: str) -> set[int]:
    return {0, *(cluster.end() for cluster in regex.finditer(r"\X", line))}


def test_white_space_is_what_unicode_says_and_nothing_else() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))

    assert list(WHITE_SPACE) == regex.findall(r"\p{White_Space}", everything)


@pytest.mark.parametrize("separator", "\x1c\x1d\x1e\x1f\u200b\ufeff")
def test_what_only_python_takes_for_white_space_stays(separator: str) -> None:
    assert strip(f" {separator}a{separator} ") == f"{separator}a{separator}"
    assert words(f"a{separator}b") == [f"a{separator}b"]
    assert collapse(f" a{separator}  b\n{separator} ") == f"a{separator} b {separator}"
    assert not is_blank(separator)


@pytest.mark.parametrize("space", WHITE_SPACE)
def test_every_kind_of_white_space_parts_words_and_is_trimmed(space: str) -> None:
    assert strip(f"{space}a b{space}") == "a b"
    assert strip_start(f"{space}a{space}") == f"a{space}"
    assert words(f"{space}a{space}{space}b{space}") == ["a", "b"]
    assert collapse(f"{space}a{space}b{space}{space}c") == "a b c"
    assert is_blank(space)


@settings(deadline=None)
@given(texts)
def test_one_line_is_what_its_definition_says(body: str) -> None:
    line = collapse(body)

    assert line == slow_collapse(body) == " ".join(words(body))
    assert collapse(line) == line
    assert is_blank(body) == (line == "") == (strip(body) == "")


@settings(deadline=None)
@given(texts)
def test_lower_case_and_one_line_can_be_made_in_either_order(body: str) -> None:
    assert collapse(body.lower()) == collapse(body).lower()


def test_a_blank_content_is_stood_in_for_by_what_is_attached() -> None:
    assert shown("said", "file.png") == "said"
    assert shown(" \n", "file.png") == "file.png"
    assert shown("", "") == ""


@pytest.mark.parametrize(
    ("line", "chars", "expected"),
    [
        ("needle", 6, "needle"),
        ("needles", 6, "needle…"),
        ("", 0, ""),
        ("a", 0, "…"),
        ("abe\u0301", 3, "ab…"),  # the accent stays with its letter
        (f"x{FAMILY}y", 3, "x…"),
        ("🇩🇪🇫🇷🇮🇹", 3, "🇩🇪…"),
        ("ab\u200d\u0301c", 2, "a…"),
        ("e" + "\u0301" * 9, 5, "…"),  # one cluster longer than the cut: nothing of it is torn off
    ],
)
def test_a_cut_keeps_characters_together(line: str, chars: int, expected: str) -> None:
    assert cut(line, chars) == expected


@settings(deadline=None, max_examples=300)
@given(lines, st.integers(0, 50))
def test_a_cut_is_bounded_and_ends_between_clusters(line: str, chars: int) -> None:
    kept = cut(line, chars)

    assert len(kept) <= chars + 1
    if kept == line:
        return
    assert kept.endswith(ELLIPSIS)
    assert line.startswith(kept[:-1])
    assert len(kept) - 1 == max(edge for edge in edges(line) if edge <= chars)


def test_an_excerpt_starts_before_the_match_and_is_full() -> None:
    line = "0123456789" * 5

    assert excerpt(line, 20, chars=10, lead=4) == "…6789012345…"
    assert excerpt(line, 2, chars=10, lead=4) == "0123456789…"
    assert excerpt(line, 49, chars=10, lead=4) == "…0123456789"
    assert excerpt(line, 20, chars=50, lead=4) == line


def test_an_excerpt_is_cut_between_characters_that_belong_together() -> None:
    line = f"a{FAMILY}b needle c{FAMILY}d"

    assert excerpt(line, line.index("needle"), chars=12, lead=4) == "…b needle c…"


@settings(deadline=None, max_examples=400)
@given(lines, st.integers(0, 120), st.integers(0, 20), st.integers(0, 8))
def test_an_excerpt_is_a_bounded_piece_of_the_line_between_clusters(
    line: str, offset: int, chars: int, lead: int
) -> None:
    kept = excerpt(line, offset, chars=chars, lead=lead)

    if len(line) <= chars:
        assert kept == line
        return
    start = min(max(0, offset - lead), len(line) - chars)
    inside = sorted(edge for edge in edges(line) if start <= edge <= start + chars)
    piece = line[inside[0] : inside[-1]] if inside else ""
    assert kept.strip(ELLIPSIS) == piece.strip(ELLIPSIS)
    assert len(kept) <= chars + 2


def test_the_examples_are_true() -> None:
    assert doctest.testmod(text).failed == 0
