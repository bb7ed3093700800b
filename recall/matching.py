"""Match one text against one pattern: a tier, a density, a place.

An exact match beats a prefix, a prefix beats the start of a later word, that beats the inside of a word, and
a bare subsequence comes last. Tiers lie 200 apart and density adds at most 100, so a denser match never
passes a better one; literal queries, expressions and several words share the scale and can be compared.

Literal queries and the texts they meet are trimmed and then lower-cased whole (`str.lower`, never
`casefold`); an expression sees the text as written. A pattern is compiled once and then asked in two ways:
`match` says everything about one text, `weigh` is for thousands of rows: it takes them uncollapsed, builds
no value, and gives up as soon as `floor` is out of reach.

    >>> compile_pattern(TextPattern(query="ship")).match("airship")
    TextMatch(kind=<MatchKind.SUBSTRING: 'substring'>, score=457, offset=3)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

import regex

from recall.errors import InvalidPattern, PatternTimeout, RecallError
from recall.patterns import RegexPattern, SearchPattern, TextPattern, WordsPattern
from recall.records import Value
from recall.text import collapse, strip, words

__all__ = [
    "CompiledPattern",
    "CompiledRegex",
    "CompiledText",
    "CompiledWords",
    "MatchKind",
    "TextMatch",
    "compile_pattern",
]

EXACT, PREFIX, WORD_PREFIX, SUBSTRING, SUBSEQUENCE = 1000, 800, 600, 400, 200
DENSITY = 100  # what a text that is all match adds to its tier: half the step between tiers
ENGINE_SECONDS = 86_400.0  # the engine takes a very long time limit for none left; a day is never reached

Remaining: TypeAlias = Callable[[], float]
"""The seconds a host has left for a search; it counts them, since this library reads no clock."""


class MatchKind(StrEnum):
    """Name the tier of a match, best first."""

    EXACT = "exact"
    PREFIX = "prefix"
    WORD_PREFIX = "word_prefix"
    SUBSTRING = "substring"
    SUBSEQUENCE = "subsequence"


_TIERS = dict(zip(MatchKind, (EXACT, PREFIX, WORD_PREFIX, SUBSTRING, SUBSEQUENCE), strict=True))
_KINDS = {tier: kind for kind, tier in _TIERS.items()}


class TextMatch(Value, frozen=True):
    """Say how well a text matches: tier, score, and where the match starts.

    `offset` counts characters of the text that was matched: trimmed, and lower-cased but for an expression.
    """

    kind: MatchKind
    score: int
    offset: int


class CompiledText:
    """Match a literal query; tiers below `weakest` are no match."""

    def __init__(self, query: str, weakest: int) -> None:
        self.query = strip(query).lower()
        self.is_empty = not self.query
        parts = words(self.query)
        self.core = max(parts, key=len, default="")  # without white space, so a row holds it before collapsing too
        self._scattered = "".join(parts)
        self._spaced = " " + self.query
        self._weakest = weakest

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank."""
        text = text.lower()
        tier = self.tier(text)
        return TextMatch(_KINDS[tier], self._score(tier, text), self.offset(text, tier)) if tier else None

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match, or a score below `floor`."""
        text = text.lower()
        if self.core not in text and not self.may_be_loose(text, floor):
            return 0
        line = collapse(text)
        tier = self.tier(line, floor)
        return self._score(tier, line) if tier else 0

    def tier(self, text: str, floor: int = 0) -> int:
        """Return the tier of a trimmed, lower-cased text, 0 for none; a lower one where `floor` is out of reach."""
        at = -1 if self.is_empty else text.find(self.query)
        if at < 0:
            tier = SUBSEQUENCE if self._takes_loose(text, floor) and _in_order(self.query)(text) else 0
        elif at == 0:
            tier = EXACT if len(text) == len(self.query) else PREFIX
        elif floor < PREFIX and (self._spaced in text or _word_start(text, self.query) >= 0):
            tier = WORD_PREFIX
        else:
            tier = SUBSTRING
        return tier if tier >= self._weakest else 0

    def offset(self, text: str, tier: int) -> int:
        """Return where the match of that tier starts."""
        if tier == SUBSEQUENCE:
            return text.find(self.query[0])
        return _word_start(text, self.query) if tier == WORD_PREFIX else text.find(self.query)

    def may_be_loose(self, text: str, floor: int) -> bool:
        """Say whether a lower-cased text, collapsed or not, may hold the query as a subsequence that counts."""
        return self._takes_loose(text, floor) and _in_order(self._scattered)(text) is not None

    def _takes_loose(self, text: str, floor: int) -> bool:
        return self._weakest == SUBSEQUENCE and floor < SUBSTRING and 0 < len(self.query) <= len(text)

    def _score(self, tier: int, text: str) -> int:
        return tier + DENSITY * len(self.query) // len(text)


class CompiledWords:
    """Match several literal words, all of them; together they are at best the starts of words."""

    def __init__(self, listed: Iterable[str], weakest: int) -> None:
        texts = [CompiledText(word, max(weakest, SUBSTRING) if len(words(word)) > 1 else weakest) for word in listed]
        self.is_empty = not texts or any(text.is_empty for text in texts)
        self._texts = tuple({text.query: text for text in texts}.values())  # the same word twice is one question
        self._cores = tuple((text.core, text) for text in self._texts)
        self._chars = sum(len(text.query) for text in texts)
        self._weakest = weakest

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank; the offset is the first listed word's."""
        text = text.lower()
        tier = self._tier(text, 0)
        if not tier:
            return None
        first = self._texts[0]
        return TextMatch(_KINDS[tier], tier + self._density(text), first.offset(text, first.tier(text)))

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match, or a score below `floor`."""
        text = text.lower()
        for core, word in self._cores:
            if core not in text and not word.may_be_loose(text, floor):
                return 0
        line = collapse(text)
        density = self._density(line) if line else 0
        tier = self._tier(line, floor - density)
        return tier and tier + density

    def _tier(self, text: str, floor: int) -> int:
        """Return the lowest tier of the words, 0 when one is missing or the tier lies below `floor`."""
        lowest = 0 if self.is_empty else WORD_PREFIX
        for word in self._texts:
            if lowest < floor or lowest < self._weakest:
                return 0
            lowest = min(lowest, word.tier(text, floor))
        return lowest if lowest >= floor and lowest >= self._weakest else 0

    def _density(self, text: str) -> int:
        return min(DENSITY, DENSITY * self._chars // len(text))


class CompiledRegex:
    """Match a regular expression, its first match only; tiers below `weakest` are no match.

    Raises `InvalidPattern` when it does not compile, and `PatternTimeout` when that or a match takes too much.
    """

    def __init__(self, source: str, weakest: int) -> None:
        self.is_empty = not source
        self._weakest = weakest
        try:
            # Strangers' expressions are no guests of the engine's cache.
            self._search = regex.compile(source, cache_pattern=False).search
        except regex.error as error:
            raise InvalidPattern(reason=error.msg, position=error.pos) from error
        except MemoryError as error:
            raise PatternTimeout("memory") from error
        except RecursionError as error:
            raise InvalidPattern(reason="too deeply nested", position=None) from error
        except Exception as error:  # the compiler is the engine's: OverflowError, ValueError and what else it finds
            raise InvalidPattern(reason=str(error), position=None) from error

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank."""
        found = self._find(text, remaining)
        if found is None:
            return None
        start, end = found.span()
        if start >= end:
            tier = SUBSTRING
        elif start == 0:
            tier = EXACT if end == len(text) else PREFIX
        else:
            tier = SUBSTRING if _is_in_word(text[start - 1]) else WORD_PREFIX
        if tier < self._weakest:
            return None
        return TextMatch(_KINDS[tier], tier + DENSITY * max(0, end - start) // len(text), start)

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match."""
        line = collapse(text)
        found = self.match(line, remaining) if line else None
        return found.score if found else 0

    def _find(self, text: str, remaining: Remaining | None) -> regex.Match[str] | None:
        try:
            if remaining is None:
                return self._search(text)
            left = remaining()
            if not left > 0:
                raise PatternTimeout("time")
            return self._search(text, timeout=min(left, ENGINE_SECONDS))
        except RecallError:
            raise
        except TimeoutError as error:
            raise PatternTimeout("time") from error
        except MemoryError as error:
            raise PatternTimeout("memory") from error
        except RuntimeError as error:  # the engine's own "internal error"
            raise InvalidPattern(reason=str(error), position=None) from error


CompiledPattern: TypeAlias = CompiledText | CompiledWords | CompiledRegex


def compile_pattern(
    pattern: SearchPattern | CompiledPattern, *, weakest: MatchKind = MatchKind.SUBSEQUENCE
) -> CompiledPattern:
    """Make a pattern ready to be matched; tiers below `weakest` will not count. One that is ready stays as it is.

    Raises `InvalidPattern` with the position for an expression that does not compile. Compiling is not
    bounded in memory: a stranger's expression is compiled only where the host has a limit.
    """
    if isinstance(pattern, TextPattern):
        return CompiledText(pattern.query, _TIERS[weakest])
    if isinstance(pattern, WordsPattern):
        return CompiledWords(pattern.words, _TIERS[weakest])
    if isinstance(pattern, RegexPattern):
        return CompiledRegex(pattern.source, _TIERS[weakest])
    return pattern


_IN_WORD = regex.compile(r"[\p{Alphabetic}\p{N}]")


def _is_in_word(character: str) -> bool:
    """Say whether a character is alphanumeric: Unicode `Alphabetic` (vowel signs too) or a number."""
    return character.isalnum() or (not character.isascii() and _IN_WORD.match(character) is not None)


@lru_cache(maxsize=256)
def _after_edge(query: str) -> Callable[[str, int], re.Match[str] | None]:
    r"""Return the search for a query behind one of `[\W_]`: each of its word starts, and a few places more."""
    return re.compile(r"[\W_]" + re.escape(query)).search


def _word_start(text: str, query: str) -> int:
    """Return the query's first occurrence behind a character that is in no word, -1 where there is none."""
    search = _after_edge(query)
    found = search(text, 0)
    while found is not None:
        if not _is_in_word(text[found.start()]):
            return found.start() + 1
        found = search(text, found.start() + 1)
    return -1


@lru_cache(maxsize=256)
def _in_order(query: str) -> Callable[[str], re.Match[str] | None]:
    """Return the greedy test for a query's characters in order; possessive, so it never goes back."""
    return re.compile("".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in query)).match
