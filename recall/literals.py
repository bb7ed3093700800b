"""Match literal queries, one text or several words, in one text or in thousands of rows.

Both sides are trimmed and then lower-cased whole (`str.lower`, never `casefold`). `match` says everything
about one text; `weigh` is for rows: it takes them as they were written, turns most of them down before it
collapses them, builds no value, and gives up as soon as `floor` is out of reach.

    >>> CompiledText("ship", SUBSEQUENCE).match("airship")
    TextMatch(kind=<MatchKind.SUBSTRING: 'substring'>, score=457, offset=3)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeAlias

import regex

from recall.text import collapse, strip, words
from recall.tiers import (
    DENSITY,
    EXACT,
    IN_WORD,
    KINDS,
    PREFIX,
    SUBSEQUENCE,
    SUBSTRING,
    WORD_PREFIX,
    Remaining,
    TextMatch,
)

__all__ = ["CompiledText", "CompiledWords"]

_Search: TypeAlias = Callable[[str], re.Match[str] | None]


class CompiledText:
    """Match a literal query; tiers below `weakest` are no match."""

    def __init__(self, query: str, weakest: int) -> None:
        self.query = strip(query).lower()
        self.is_empty = not self.query
        found = words(self.query)
        self.is_phrase = len(found) > 1
        self.parts = tuple(dict.fromkeys(found))  # a row holds these before it is collapsed, too
        self._is_single = self.parts == (self.query,)
        self._spaced = " " + self.query
        self._weakest = weakest

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank."""
        text = text.lower()
        tier = self.tier(text)
        if not tier:
            return None
        return TextMatch(KINDS[tier], tier + DENSITY * len(self.query) // len(text), self.offset(text, tier))

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match, or a score below `floor`."""
        text = text.lower()
        if len(text) < len(self.query):
            return 0
        for part in self.parts:
            if part not in text:
                if self._takes_loose(floor) and self._scattered(text):
                    break
                return 0
        # A single word stands in the same places, and behind the same, before the text is collapsed.
        text = strip(text) if self._is_single else collapse(text)
        tier = self.tier(text, floor)
        if not tier or tier + DENSITY < floor:
            return 0
        return tier + DENSITY * len(self.query) // len(collapse(text) if self._is_single else text)

    def tier(self, text: str, floor: int = 0) -> int:
        """Return the tier of a trimmed, lower-cased text, 0 for none; a lower one where `floor` is out of reach."""
        if self.is_empty:
            return 0
        at = text.find(self.query)
        if at < 0:
            return SUBSEQUENCE if self._takes_loose(floor) and self._in_order(text) else 0
        if at == 0:
            tier = PREFIX if len(text) > len(self.query) else EXACT
        else:
            tier = WORD_PREFIX if floor <= WORD_PREFIX + DENSITY and self.starts_word(text) else SUBSTRING
        return tier if tier >= self._weakest else 0

    def starts_word(self, text: str) -> bool:
        """Say whether the query stands at the start of a word of a lower-cased text."""
        return self._spaced in text or self._word_start(text) >= 0

    def offset(self, text: str, tier: int) -> int:
        """Return where the match of that tier starts."""
        if tier == SUBSEQUENCE:
            return text.find(self.query[0])
        return self._word_start(text) if tier == WORD_PREFIX else text.find(self.query)

    def _takes_loose(self, floor: int) -> bool:
        """Say whether a subsequence would count; one character is no other than a substring."""
        return self._weakest == SUBSEQUENCE and floor <= SUBSEQUENCE + DENSITY and len(self.query) > 1

    @cached_property
    def _in_order(self) -> _Search:
        return re.compile(_in_order(self.query)).match

    @cached_property
    def _scattered(self) -> _Search:
        """Test a text that is not collapsed: white space is left out."""
        return self._in_order if self._is_single else re.compile(_in_order("".join(words(self.query)))).match

    @cached_property
    def _edge(self) -> Callable[[str], regex.Match[str] | None]:
        """Search for the query where a word starts, or the text."""
        return regex.compile(rf"(?<!{IN_WORD}){regex.escape(self.query)}", cache_pattern=False).search

    @cached_property
    def _ascii_edge(self) -> _Search:
        """Search likewise in ASCII, where `re` is faster, most of all when its expression opens with the literal."""
        return re.compile(rf"(?s:{re.escape(self.query)}(?<![0-9a-z].{{{len(self.query)}}}))").search

    def _word_start(self, text: str) -> int:
        """Return the query's first occurrence where a word starts, or the text; -1 where there is none."""
        found = self._ascii_edge(text) if text.isascii() else self._edge(text)
        return found.start() if found else -1


class CompiledWords:
    """Match several literal words, all of them; together they are at best the starts of words."""

    def __init__(self, listed: Iterable[str], weakest: int) -> None:
        texts = [CompiledText(word, weakest) for word in listed]
        self.is_empty = not texts or any(text.is_empty for text in texts)
        self._texts = {text.query: text for text in texts}  # the same word twice is one question
        self._rare_first = sorted(self._texts, key=lambda query: -len(query))
        self._starts = [(" " + query, text) for query, text in self._texts.items()]
        self._phrases = [text.query for text in texts if text.is_phrase]
        self._chars = sum(len(text.query) for text in texts)
        self._weakest = weakest

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank; the offset is the first listed word's."""
        text = text.lower()
        tier = self._tier(text, 0)
        if not tier:
            return None
        first = next(iter(self._texts.values()))
        return TextMatch(KINDS[tier], tier + self._density(text), first.offset(text, first.tier(text)))

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match, or a score below `floor`."""
        text = text.lower()
        if self._phrases:
            text = collapse(text)
        tier = self._tier(text, floor)
        return tier + self._density(collapse(text)) if tier and tier + DENSITY >= floor else 0

    def _tier(self, text: str, floor: int) -> int:
        """Return the lowest tier of the words in a lower-cased text, 0 when one is missing or that is too weak.

        Only a phrase needs the text collapsed: where a single word stands, and behind what, is the same before.
        """
        if self.is_empty:
            return 0
        tier = WORD_PREFIX
        for query in self._rare_first:
            if query not in text:
                tier = SUBSEQUENCE if len(query) > 1 and self._is_loose(text, floor) else 0
                break
        else:
            for spaced, word in self._starts:
                if spaced not in text and not word.starts_word(text):
                    tier = SUBSTRING
                    break
        return tier if tier >= self._weakest else 0

    def _is_loose(self, text: str, floor: int) -> bool:
        """Say whether a text holds all phrases, and every other word at least as a subsequence that counts."""
        if self._weakest > SUBSEQUENCE or floor > SUBSEQUENCE + DENSITY:
            return False
        return self._in_order(text) is not None and all(phrase in text for phrase in self._phrases)

    @cached_property
    def _in_order(self) -> _Search:
        """Test every word that is no phrase at once, from the start of the text."""
        singles = (query for query in self._texts if query not in self._phrases)
        return re.compile("".join(f"(?={_in_order(query)})" for query in singles)).match

    def _density(self, text: str) -> int:
        return min(DENSITY, DENSITY * self._chars // len(text))


def _in_order(query: str) -> str:
    """Return an expression for a query's characters in order, taken greedily; possessive, it never goes back."""
    return "".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in query)
