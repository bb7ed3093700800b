from __future__ import annotations

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import MARKER_WORDS, looks_like_marker, markers
from recall.markers import is_all_markers, read_address, read_label, read_markers
from recall.masking import Dialect, code_ranges
from recall.text import is_blank
from tests.marked import DIALECTS, HOSTILE, HOSTILE_GROWTH, bodies, growth


def acting(body: str, dialect: Dialect = "commonmark") -> list[str]:
    return [marker.text for marker in read_markers(body, MARKER_WORDS, dialect)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [
        "`!pin #a x`",
        "```\n!unpin ^3\n```",
        "text !pin #c z",
        "`opened here\n!pin #d between\nclosed` two lines later",
        "``\n!pin\n``",
    ],
)
def test_no_marker_in_code_or_inside_a_line_acts(body: str, dialect: Dialect) -> None:
    assert acting(body, dialect) == []


def test_a_quotation_is_no_marker_in_either_dialect() -> None:
    assert acting("> !pin #b y") == []
    assert acting("> !pin #b y", "discord") == []
    assert acting(">>> said\n!pin #b y", "discord") == []


def test_an_unclosed_fence_hides_the_rest_in_commonmark_and_is_no_code_in_the_client() -> None:
    assert acting("```\n!pin") == []
    assert acting("```\n!pin", "discord") == ["!pin"]


def test_indentation_is_code_in_commonmark_and_nothing_in_the_client() -> None:
    assert acting("    !pin\n!unpin ^3") == ["!unpin ^3"]
    assert acting("    !pin\n!unpin ^3", "discord") == ["!pin", "!unpin ^3"]


def test_two_marker_lines_in_one_plain_message_both_act_in_order() -> None:
    assert acting("!pin ^1 #a\nsome text\n!unpin ^2") == ["!pin ^1 #a", "!unpin ^2"]


def test_a_marker_between_two_pieces_of_code_acts() -> None:
    assert acting("`a`\n!pin\n```\n!pin ^2\n```\n!unpin ^3\n`b`") == ["!pin", "!unpin ^3"]


@pytest.mark.parametrize("blank", [" ", "\t", "\xa0", "\u3000", "\u2028", "\x85", "\v", "\f", "\r"])
def test_unicode_white_space_may_stand_before_the_sign_and_parts_words(blank: str) -> None:
    (marker,) = read_markers(f"{blank}!{blank}pin{blank}#ops{blank}it’s “done”", MARKER_WORDS, "discord")
    assert (marker.word, marker.words) == ("pin", ("#ops", "it’s", "“done”"))
    assert marker.offset == 1


@pytest.mark.parametrize(
    "body", ["\u200b!pin", "\x1c!pin", "！pin", "x\r!pin", "!pinned", "!pin.", "!PIN", "!!pin", "!"]
)
def test_what_only_looks_like_white_space_or_a_word_makes_no_marker(body: str) -> None:
    assert acting(body) == []


def test_lines_end_at_line_feeds_only_and_lose_their_line_ending() -> None:
    assert [(m.text, m.offset) for m in read_markers("a\r\n  !pin  x \r\r\n!commit\u2028!pin", MARKER_WORDS)] == [
        ("!pin  x ", 5),
        ("!commit\u2028!pin", 16),
    ]


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("^7", 7),
        ("^007", 7),
        ("^+0", 0),
        ("^" + "0" * 9_000 + "5", 5),
        (f"^{2**64 - 1}", 2**64 - 1),
        (f"^{2**64}", None),
        ("^" + "9" * 9_000, None),
        *((word, None) for word in ("^", "^-1", "^++1", "^12_000", "^1,", "^ 1", "^١", "^²", ">7", "7", "^^7", "")),
    ],
)
def test_a_number_is_ascii_digits_that_fit_64_bits(word: str, number: int | None) -> None:
    assert read_address(word, "^") == number


def test_what_is_no_number_is_handed_to_the_host_and_its_answer_checked() -> None:
    asked: list[str] = []

    def read_link(text: str) -> int | None:
        asked.append(text)
        return {"https://chat/7": 7, "https://chat/far": 2**64, "https://chat/-1": -1}.get(text)

    words = ("^https://chat/7", "^https://chat/far", "^https://chat/-1", "^other", "^5", ">https://chat/7", "^")
    assert [read_address(word, "^", read_link) for word in words] == [7, None, None, None, 5, None, None]
    assert asked == ["https://chat/7", "https://chat/far", "https://chat/-1", "other"]


@pytest.mark.parametrize(("word", "label"), [("#a", "a"), ("##a", "#a"), ("#a,b!", "a,b!"), ("#", None), ("a#", None)])
def test_a_label_is_what_follows_its_sign(word: str, label: str | None) -> None:
    assert read_label(word) == label


@pytest.mark.parametrize(
    ("body", "only"),
    [
        ("!pin #limits", True),
        ("\n !pin\r\n\xa0\n!support #a ^1\n", True),
        ("!refute", True),
        ("The limit is 5.\n!pin #limits", False),
        ("!pin\n!pinned", False),
        ("!pin\n`x`", False),
        ("```\n!pin\n```", False),
        ("", False),
        (" \n", False),
    ],
)
def test_a_body_of_nothing_but_markers_is_told_apart(body: str, only: bool) -> None:
    assert is_all_markers(body) is only


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("body", "like"),
    [
        ("!pin", True),
        ("!PIN ^3", True),
        ("so:\n !Pin: this", True),
        ("!pin...", True),
        ("!propose—", True),
        ("!unpin^3", False),
        ("!pinned", False),
        ("!pin2", False),
        ("!!pin", False),
        ("! ", False),
        ("!help", False),
        ("`!PIN`", False),
        ("```\n!PIN\n```", False),
        ("no sign: pin", False),
        ("", False),
    ],
)
def test_what_was_meant_as_a_marker_is_recognised(body: str, like: bool, dialect: Dialect) -> None:
    assert looks_like_marker(body, dialect) is like


@given(bodies, st.sampled_from(DIALECTS))
@settings(deadline=None, max_examples=400)
def test_every_marker_is_a_line_of_its_body_outside_code(body: str, dialect: Dialect) -> None:
    found = list(read_markers(body, MARKER_WORDS, dialect))
    ranges = code_ranges(body, dialect)
    assert found == list(read_markers(body, MARKER_WORDS, dialect))
    assert [marker.offset for marker in found] == sorted({marker.offset for marker in found})
    for marker in found:
        assert body.startswith(marker.text, marker.offset)
        assert marker.text.startswith("!")
        assert "\n" not in marker.text
        assert is_blank(body[: marker.offset].rpartition("\n")[2])
        assert marker.word in MARKER_WORDS
        assert not any(start <= marker.offset < end for start, end in ranges)


@given(bodies, st.sampled_from(DIALECTS))
@settings(deadline=None, max_examples=300)
def test_a_marker_looks_like_one_and_a_body_of_markers_alone_has_one_a_line(body: str, dialect: Dialect) -> None:
    found = list(read_markers(body, MARKER_WORDS, dialect))
    assert looks_like_marker(body, dialect) or not found
    if is_all_markers(body, dialect):
        assert len(found) == sum(not is_blank(line) for line in body.split("\n"))


@pytest.mark.parametrize("shape", HOSTILE)
def test_reading_markers_grows_with_the_body_and_no_faster(shape: str) -> None:
    def read(body: str) -> None:
        is_all_markers(body, "discord")
        looks_like_marker(body, "discord")

    assert growth(read, HOSTILE[shape], small=2_000, factor=16) < HOSTILE_GROWTH


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(markers).failed == 0
