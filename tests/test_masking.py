from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import masking
from recall.masking import Dialect, code_ranges
from tests.marked import DIALECTS, HOSTILE, HOSTILE_GROWTH, bodies, growth


def masked(body: str, dialect: Dialect = "commonmark") -> list[str]:
    return [body[start:end] for start, end in code_ranges(body, dialect)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a `b` c", ["`b`"]),
        ("```\nx\n```\ny", ["```\nx\n```\n"]),
        ("   ~~~\nx\n   ~~~~ \t\ny", ["   ~~~\nx\n   ~~~~ \t\n"]),
        ("```\nx\n~~~\n``\n", ["```\nx\n~~~\n``\n"]),
        ("```\nx\n``` y\n", ["```\nx\n``` y\n"]),
        ("```a`b\nx", []),
        ("~~~a`b\nx", ["~~~a`b\nx"]),
        ("    a\n\n    b\n\nc", ["    a\n\n    b\n"]),
        ("  \ta\nb", ["  \ta\n"]),
        ("a\n    b", []),
        ("a\n\n    b", ["    b"]),
        ("# a\n    b", ["    b"]),
        ("#a\n    b", []),
        ("####### a\n    b", []),
        ("* * *\n    b", ["    b"]),
        ("* * x\n    b", []),
        ("a\n==\n    b", ["    b"]),
        ("==\n    b", []),
        ("--\n    b", []),
        ("---\n    b", ["    b"]),
        ("```\nx\n```\n    b", ["```\nx\n```\n", "    b"]),
        ("a\r\n \t\r\n    b\r\nc", ["    b\r\n"]),
        ("``a`b``", ["``a`b``"]),
        ("`a``", []),
        ("\\`a`", []),
        ("`a\\`b`", ["`a\\`"]),
        ("`a\nb`", ["`a\nb`"]),
        ("`a\n\nb`", []),
        ("`a\n \t\nb`", []),
        ("`a\n# h\nb`", []),
        ("`a\n-\nb`", []),
        ("`a\n***\nb`", []),
        ("`a\n```\nb\n```\nc`", ["```\nb\n```\n"]),
        ("# `a` `b\nc`", ["`a`"]),
        ("- item\n    `x`", ["`x`"]),
        ("> ```\nx", []),
        ("", []),
    ],
)
def test_commonmark_masks(body: str, code: list[str]) -> None:
    assert masked(body) == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a `b` c", ["`b`"]),
        ("a ```b``` c", ["```b```"]),
        ("```js\nx\n```y", ["```js\nx\n```"]),
        ("```js\n```", ["```js\n```"]),
        ("```\n\n```", ["```\n\n```"]),
        ("```\n```", ["```\n```"]),
        ("```x", []),
        ("``````", []),
        ("```````", ["```````"]),
        ("``x`", ["``x`"]),
        ("`x``", []),
        ("`x\n\ny`", ["`x\n\ny`"]),
        ("\\`x`", []),
        ("\\\\`x`", ["`x`"]),
        ("`x\\`y`", ["`x\\`"]),
        ("> a\n> b\nc", ["> a\n> b\n"]),
        ("  > a\n >b", ["  > a\n"]),
        (">a", []),
        ("a > b", []),
        ("\t> a", []),
        ("\\> a", []),
        ("> a\n>>> b\nc", ["> a\n", ">>> b\nc"]),
        (">>> a\n\nb", [">>> a\n\nb"]),
        (">>>a", []),
        ("`a\n> b`", ["`a\n> b`"]),
        ("> `a\nb`", ["> `a\n"]),
        ("~~~\nx\n~~~", []),
        ("    x", []),
        ("\\\n> a", ["> a"]),
    ],
)
def test_discord_masks(body: str, code: list[str]) -> None:
    assert masked(body, "discord") == code


@given(bodies, st.sampled_from(DIALECTS))
@settings(deadline=None, max_examples=300)
def test_ranges_ascend_inside_the_body_and_are_the_same_each_time(body: str, dialect: Dialect) -> None:
    ranges = code_ranges(body, dialect)
    edges = [edge for span in ranges for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(body) for start, end in ranges)
    assert code_ranges(body, dialect) == ranges


# The client's own expressions, in the order in which it tries them at each position.
CLIENT_ESCAPE = re.compile(r"\\[^0-9A-Za-z\s]")
CLIENT_QUOTATION = re.compile(r" *>>> [\s\S]*| *> [^\n]*(?:\n *> [^\n]*)*\n?")
CLIENT_BLOCK = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)
CLIENT_SPAN = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")


def read_as_the_client_does(body: str) -> list[tuple[int, int]]:
    ranges = []
    at = 0
    while at < len(body):
        line_start = at == 0 or body[at - 1] == "\n"
        quotation = CLIENT_QUOTATION.match(body, at) if line_start else None
        code = quotation or CLIENT_BLOCK.match(body, at) or CLIENT_SPAN.match(body, at)
        if escape := CLIENT_ESCAPE.match(body, at):
            at = escape.end()
        elif code:
            ranges.append(code.span())
            at = code.end()
        else:
            at += 1
    return ranges


@given(
    st.one_of(
        bodies,
        st.text(alphabet="`\n> \\a", max_size=25),
        st.lists(st.sampled_from(("`", "``", "```", "````", "a", "\n", "\\", "> ", ">>> ", "js\n")), max_size=15).map(
            "".join
        ),
    )
)
@settings(deadline=None, max_examples=1500)
def test_the_discord_dialect_agrees_with_the_clients_own_expressions(body: str) -> None:
    assert list(code_ranges(body, "discord")) == read_as_the_client_does(body)


@pytest.mark.parametrize("shape", HOSTILE)
def test_the_commonmark_scanner_takes_a_hundred_kilobytes_in_its_stride(shape: str) -> None:
    assert growth(code_ranges, HOSTILE[shape], small=6_250, factor=16) < HOSTILE_GROWTH


@pytest.mark.parametrize("shape", HOSTILE)
def test_the_discord_scanner_grows_with_the_message_and_no_faster(shape: str) -> None:
    assert growth(lambda body: code_ranges(body, "discord"), HOSTILE[shape], small=2_000, factor=16) < HOSTILE_GROWTH


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(masking).failed == 0
