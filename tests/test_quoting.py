from __future__ import annotations

import doctest

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import quoted, quoting, unquoted, written_out

any_text = st.text(st.characters(codec=None), max_size=60)
unseen = st.sampled_from('\n\r\t\v\x00\x1b\x85\u200b\u200d\u2028\u202e\u2066\ufe0f\ufeff\ud800\U000e0041"\\')
nasty = st.lists(
    st.one_of(unseen, st.sampled_from(("\\u{41}", "\\n", "a", "日本", "👩\u200d🚀", "مى\u200cخوا"))), max_size=20
)
texts = st.one_of(any_text, nasty.map("".join))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('say "hi"', '"say \\"hi\\""'),
        ("a\nb\r\n\tc", '"a\\nb\\r\\n\\tc"'),
        ("C:\\new", '"C:\\\\new"'),
        ("ig\u200bno\u00adre", '"ig\\u{200b}no\\u{ad}re"'),
        ("\u202eevil\u2066", '"\\u{202e}evil\\u{2066}"'),
        ("tag\U000e0041", '"tag\\u{e0041}"'),
        ("👩\u200d🚀❤\ufe0f", '"👩\\u{200d}🚀❤\\u{fe0f}"'),
        ("half \ud83d", '"half \\u{d83d}"'),
        ("日本\u3000語 café", '"日本\u3000語 café"'),
        ("", '""'),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, written: str) -> None:
    assert quoted(text) == written
    assert unquoted(written[1:-1]) == text


def test_everything_that_unicode_calls_invisible_is_written_out_and_nothing_else() -> None:
    hidden = regex.compile(
        r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|[\p{Cf}--\p{PCM}]", regex.V1
    )
    every = "".join(map(chr, range(0x110000)))
    assert {char for char in every if written_out(char) != char} == {*hidden.findall(every), '"', "\\"}


@given(texts)
@settings(deadline=None, max_examples=500)
def test_any_text_stays_inside_its_quotes_on_one_line_and_comes_back_whole(text: str) -> None:
    written = quoted(text)
    assert len(written.splitlines()) == 1
    assert written.encode()
    assert regex.fullmatch(r'"(?:[^"\\]|\\.)*"', written)
    assert unquoted(written[1:-1]) == text


@given(texts, st.integers(0, 40))
@settings(deadline=None, max_examples=500)
def test_it_is_what_is_written_that_is_bounded(text: str, chars: int) -> None:
    written = written_out(text, chars)
    if len(written_out(text)) <= chars:
        assert written == written_out(text)
    else:
        assert len(written) <= chars + 1
        assert written.endswith("…")
        assert text.startswith(unquoted(written[:-1]))


def test_a_cut_parts_no_characters_that_belong_together() -> None:
    assert written_out("ab👩\u200d🚀cd", 8) == "ab…"
    assert written_out("ab\n\n\ncd", 7) == "ab\\n\\n…"


def test_what_is_no_spelling_of_ours_is_left_as_it_is() -> None:
    assert unquoted("\\u{110000} \\u{} \\x \\") == "\\u{110000} \\u{} \\x \\"


def test_the_examples_run() -> None:
    assert doctest.testmod(quoting).failed == 0
