"""What can be searched for, and how a typed query becomes it.

One box takes every kind of query. `/…/` is a regular expression; several words match in any order, a phrase
in quotes stays together; anything else is looked for as it stands. No expression ever becomes a literal
search, and `//` or `/x/i`, which are none, are searched for as text.

    >>> parse_query('limiter "rate limit"').pattern
    WordsPattern(words=('limiter', 'rate limit'))
"""

from __future__ import annotations

import re
import unicodedata
from typing import TypeAlias

from recall.errors import PatternTooLong
from recall.records import Value
from recall.text import WHITE_SPACE, collapse, strip

__all__ = [
    "SEARCH_PATTERN_CHARS",
    "ParsedQuery",
    "RegexPattern",
    "SearchPattern",
    "TextPattern",
    "WordsPattern",
    "parse_pattern",
    "parse_query",
    "regex_source",
]

SEARCH_PATTERN_CHARS = 200  # of a typed query; a guess: beyond what anybody types, and an expression stays small


class TextPattern(Value, frozen=True, tag_field="type", tag="text"):
    """Look for a text as it is."""

    query: str


class RegexPattern(Value, frozen=True, tag_field="type", tag="regex"):
    """Look for a regular expression (the `regex` module, version 0, case as the expression says)."""

    source: str


class WordsPattern(Value, frozen=True, tag_field="type", tag="words"):
    """Look for several words in any order; one that holds white space is a phrase, and never matched loosely."""

    words: tuple[str, ...]


SearchPattern: TypeAlias = TextPattern | RegexPattern | WordsPattern


class ParsedQuery(Value, frozen=True):
    """Hold what a typed query asks for. Without `loose_allowed` it is never matched as a subsequence."""

    pattern: SearchPattern
    loose_allowed: bool


def regex_source(query: str) -> str | None:
    """Return the inside of a slash-delimited query; null for any other, `//` and `/` among them."""
    query = strip(query)
    return query[1:-1] if len(query) > 2 and query[0] == query[-1] == "/" else None  # noqa: PLR2004 - two slashes


def parse_pattern(query: str) -> TextPattern | RegexPattern:
    """Read a query: `/…/` is a regular expression, anything else a text, trimmed."""
    source = regex_source(query)
    return TextPattern(strip(query)) if source is None else RegexPattern(source)


def parse_query(query: str) -> ParsedQuery:
    """Read what a person or an agent typed into a search box (normalised to NFC, as rows are).

    `/…/` is a regular expression. Else the query is split at white space outside `"…"`; a quote that is not
    closed is a character, and so is one inside a word. One word or one phrase is a text, more are words. A
    phrase is not matched loosely. Raises `PatternTooLong` beyond `SEARCH_PATTERN_CHARS` characters.
    """
    query = strip(unicodedata.normalize("NFC", query))
    if len(query) > SEARCH_PATTERN_CHARS:
        raise PatternTooLong(chars=len(query), limit=SEARCH_PATTERN_CHARS)
    source = regex_source(query)
    if source is not None:
        return ParsedQuery(RegexPattern(source), loose_allowed=False)
    parts = [(collapse(part["phrase"] or part["word"]), part["phrase"] is not None) for part in _PARTS.finditer(query)]
    if len(parts) > 1:
        quoted_word = any(quoted and " " not in part for part, quoted in parts)
        return ParsedQuery(WordsPattern(tuple(part for part, _ in parts)), loose_allowed=not quoted_word)
    part, quoted = parts[0] if parts else ("", False)
    return ParsedQuery(TextPattern(part), loose_allowed=not quoted)


_PARTS = re.compile(  # a phrase is quoted whole; any other quote is a character of its word
    f"""
    "(?P<phrase> [^"]* [^"{WHITE_SPACE}] [^"]* )" (?= [{WHITE_SPACE}] | \\Z )
    | (?P<word> [^{WHITE_SPACE}]+ )
    """,
    re.VERBOSE,
)
