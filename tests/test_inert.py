from __future__ import annotations

import itertools
import sys
import unicodedata

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recall_bot.rendering.inert import ISOLATE, fitted, inert, neutral, plain, width
from recall_bot.rendering.spoilers import inert_excerpt, inert_text, spoiler_ranges

import recall
from recall.text import collapse, cut, excerpt
from tests.inertness import is_contained, read_line

UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
BIDI_CONTROLS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067")
MARKUP = st.sampled_from(
    [
        *("||", "`", "```", "\\", "*", "**", "_", "~~", ">", "> ", ">>> ", "#", "-#", "- ", "1.", "\n", "secret", "x"),
        *("<@1>", "<@&1>", "<#1>", "<:e:1>", "<a:e:1>", "<t:1:R>", "</x:1>", "<id:guide>", "@everyone", "@here"),
        *("[a](https://b.c)", "https://b.c", "\u202e", "\u2069", "\u2068", "\u200b", "\u200d", "\ufe0f", "\u0301"),
        *("\U000e0041", "אבג", "مرحبا", "日本", "👩‍👩‍👧", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"),
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(MARKUP, max_size=20).map("".join), st.lists(MARKUP).map(" ".join))
quick = settings(max_examples=150, deadline=None)


@pytest.mark.parametrize(
    "typed",
    [
        "@everyone and @here",
        "<@2> <@!2> <@&1> <#3>",
        "<:wave:1> <a:wave:1> :wave:",
        "<t:1700000000:R>",
        "</search:1> </search in:1>",
        "<id:customize>",
        "[docs](https://example.org) <https://example.org> https://example.org/_a_?b=*c*",
        "**a** __b__ ~~c~~ *d* _e_ `f` ``g`` ```h```",
        "# a",
        "-# a",
        "> a",
        "- a",
        "1. a",
        "12) a",
        "+ a",
        "\\*a\\*",
        "=== a",
    ],
)
def test_markup_of_every_kind_is_shown_as_it_was_typed(typed: str) -> None:
    reading = read_line(inert(typed))

    assert reading.text == typed
    assert not reading.active


def test_a_list_or_a_heading_cannot_begin_with_an_excerpt() -> None:
    assert [inert(line) for line in ("1. a", "- a", "# a", "a - b")] == [r"1\. a", r"\- a", r"\# a", "a - b"]


def test_controls_invisible_and_reordering_characters_do_not_survive() -> None:
    assert inert("a\x00b\x1bc\u200bd\u2060e\ufefff\u00adg\u202eh\u2066i\u200fj\U000e0041k\u3164l") == "abcdefghijkl"


def test_text_comes_out_on_one_line() -> None:
    assert inert("a\r\n\tb\u2028c\u0085 d") == "a b c d"


def test_what_a_script_or_an_emoji_needs_stays() -> None:
    for needed in ("می‌خواهم", "क्‍ष", "👩‍❤️‍💋‍👨", "⭐️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "한국어", "e\u0301"):
        assert neutral(needed) == needed


def test_joiners_and_selectors_where_nothing_needs_them_go() -> None:
    assert neutral("a\u200db \u200c\u200dc ⭐\ufe0f\ufe0f\ufe0f\U000e0101 \ufe0fd") == "ab c ⭐\ufe0f d"


def test_marks_piled_on_one_letter_are_thinned_out() -> None:
    assert len(neutral("z" + "\u0301" * 500)) < 12


def test_right_to_left_text_is_isolated_and_other_text_is_left_alone() -> None:
    assert inert("שלום") == "\u2068שלום\u2069"
    assert inert("plain") == "plain"


def test_every_letter_that_runs_right_to_left_is_noticed() -> None:
    missed = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.bidirectional(chr(code)) in {"R", "AL", "AN"}
        and neutral(chr(code))
        and ISOLATE not in inert(chr(code))
    ]
    assert not missed


def test_every_bidi_control_and_every_ignorable_that_nothing_needs_goes() -> None:
    needed = regex.compile(r"[\u200c\u200d\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
    ignorable = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}]")
    left = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if ignorable.fullmatch(chr(code))
        and not needed.fullmatch(chr(code))
        and neutral(f"a{chr(code)}b") not in {"ab", "a b"}
    ]
    assert not left


def test_cuts_fall_between_grapheme_clusters() -> None:
    family = "👩‍👩‍👧"
    assert inert(family * 3, 11) == family * 2 + "…"
    assert inert("e\u0301e\u0301e\u0301", 3) == "e\u0301…"


def test_escaping_comes_after_the_cut() -> None:
    assert inert("*" * 10, 3) == r"\*\*\*…"


def test_names_for_choices_are_not_escaped_and_keep_to_their_limit() -> None:
    assert plain("a*b\u202e\nc", 100) == "a*b c"
    assert width(plain("𝔸" * 100, 100)) <= 100
    assert width(plain("ש" * 200, 100)) <= 100


def test_a_text_is_fitted_to_what_it_takes_when_written() -> None:
    assert width(fitted(lambda chars: inert("*" * 500, chars), 100)) in range(90, 101)


@quick
@given(TEXTS)
@example("\ud800")
@example("\\")
def test_inert_text_never_does_anything(text: str) -> None:
    rendered = inert(text)
    reading = read_line(rendered)

    assert not reading.active
    assert is_contained(rendered)
    assert not BIDI_CONTROLS & set(rendered)
    assert not any(unicodedata.category(char) in UNSEEN for char in rendered)
    rendered.encode()


@quick
@given(TEXTS)
@example("||a|||")
@example("|||||")
@example("|| ||")
@example("||\u200b||")
@example("||\\||")
@example("\\||a||b||")
def test_spoilers_are_balanced_and_nothing_else_is_markup(text: str) -> None:
    rendered = inert_text(text, 40)
    reading = read_line(rendered)

    assert not reading.active
    assert reading.balanced
    assert is_contained(rendered)
    assert "||||" not in rendered.replace("\\|", "")


@quick
@given(TEXTS, st.integers(0, 60), st.integers(1, 30), st.integers(0, 8))
def test_what_a_message_hides_is_hidden_in_every_excerpt_of_it(text: str, offset: int, chars: int, lead: int) -> None:
    line = collapse(text)
    quoted = excerpt(line, min(offset, len(line)), chars=chars, lead=lead)

    reading = read_line(inert_excerpt(quoted, text))

    assert not reading.active
    assert reading.balanced
    for secret in {text[start + 2 : end - 2] for start, end in spoiler_ranges(text)}:
        if "secret" in secret and text.count("secret") == 1:
            assert "secret" not in reading.text or "secret" in reading.hidden


@quick
@given(TEXTS)
def test_spoiler_ranges_are_ascending_and_start_and_end_with_bars(text: str) -> None:
    ranges = spoiler_ranges(text)

    assert all(text[start : start + 2] == "||" == text[end - 2 : end] and end - start >= 5 for start, end in ranges)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(ranges))


@pytest.mark.parametrize(
    ("body", "hidden"),
    [
        ("a ||b|| c", ["||b||"]),
        ("||a|| ||b||", ["||a||", "||b||"]),
        ("||a", []),
        ("||||", []),
        ("|||||", ["|||||"]),
        (r"\||a||", []),
        ("`||a||`", []),
        ("```\n||a||\n```", []),
        ("||a `b|| c` d||", ["||a `b||"]),
        ("||a\n\nb||", ["||a\n\nb||"]),
        ("> `a\n||b||`", ["||b||"]),
        ("> ||a\n> b||", ["||a\n> b||"]),
        ("> `||a||`", []),
        (">>> x\n||a||", ["||a||"]),
        ("`||` ||a||", ["||a||"]),
    ],
)
def test_bars_are_read_as_a_client_reads_them(body: str, hidden: list[str]) -> None:
    assert [body[start:end] for start, end in spoiler_ranges(body)] == hidden


def test_an_excerpt_that_starts_inside_a_spoiler_hides_it() -> None:
    body = "It was ||the butler in the library|| all along, said the inspector."

    assert inert_excerpt(excerpt(collapse(body), 17, chars=20, lead=4), body) == "…||butler in the librar||…"


def test_an_excerpt_that_ends_inside_a_spoiler_hides_it() -> None:
    body = "It was ||the butler in the library|| all along."

    assert inert_excerpt(cut(body, 19), body) == "It was ||the butler||…"


def test_an_excerpt_that_could_come_from_two_places_is_hidden_if_either_is() -> None:
    body = "the butler ||the butler|| and so on and on"

    assert inert_excerpt("the butler…", body) == "||the butler||…"


def test_an_excerpt_of_some_other_text_is_hidden_altogether() -> None:
    assert inert_excerpt("elsewhere", "||a||") == "||elsewhere||"


def test_spoilers_in_right_to_left_text_stay_in_one_isolate() -> None:
    assert inert_text("שלום ||סוד|| סוף") == "\u2068שלום ||סוד|| סוף\u2069"


def test_hostile_bodies_cost_no_more_than_others() -> None:
    for body in ("||" * 2000, "`||" * 1300, "||`" * 1300, "> ||a|| `\n" * 400, "> " * 2000 + "||a||", "\\|" * 2000):
        inert_text(body)
        inert_excerpt(cut(collapse(body), 96), body)


def test_s4_excerpts_of_any_script_are_whole_and_stay_in_place() -> None:
    texts = ("今日本を読む", "⭐️ five", "café", "cafe\u0301", "ΟΔΟΣ οδος", "İstanbul", "قاعدة البيانات", "מסד הנתונים")
    for text in texts:
        rows = [recall.LogMessage(1, "1", None, recall.OperatorAuthor(), text)]
        [hit] = recall.search_rows(rows, recall.SearchQuery(recall.TextPattern(text)))
        assert read_line(inert_excerpt(hit.excerpt, text)).text == text
        assert is_contained(inert_excerpt(hit.excerpt, text))
