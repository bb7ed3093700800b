"""The scale on which every match is put, whatever was searched for.

An exact match beats a prefix, a prefix beats the start of a later word, that beats the inside of a word, and
a bare subsequence comes last. Tiers lie 200 apart and density adds at most 100, so a denser match never
passes a better one; literal queries, expressions and several words can be compared.

A score is a tier and its density, `100 * matched characters // characters of the text`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import regex

from recall.records import Value

__all__ = ["MatchKind", "TextMatch"]

EXACT, PREFIX, WORD_PREFIX, SUBSTRING, SUBSEQUENCE = 1000, 800, 600, 400, 200
DENSITY = 100  # what a text that is all match adds to its tier: half the step between tiers

Remaining: TypeAlias = Callable[[], float]
"""The seconds a host has left for a search; it counts them, since this library reads no clock."""


class MatchKind(StrEnum):
    """Name the tier of a match, best first."""

    EXACT = "exact"
    PREFIX = "prefix"
    WORD_PREFIX = "word_prefix"
    SUBSTRING = "substring"
    SUBSEQUENCE = "subsequence"


TIERS = dict(zip(MatchKind, (EXACT, PREFIX, WORD_PREFIX, SUBSTRING, SUBSEQUENCE), strict=True))
KINDS = {tier: kind for kind, tier in TIERS.items()}


class TextMatch(Value, frozen=True):
    """Say how well a text matches: tier, score, and where the match starts.

    `offset` counts characters of the text that was matched: trimmed, and lower-cased but for an expression.
    """

    kind: MatchKind
    score: int
    offset: int


IN_WORD = r"[\p{Alphabetic}\p{N}]"
"""What is alphanumeric, as an expression: a word starts where the character before is not (vowel signs are)."""

_IN_WORD = regex.compile(IN_WORD)


def is_in_word(character: str) -> bool:
    """Say whether a character is alphanumeric: Unicode `Alphabetic`, or a number."""
    return character.isalnum() or (not character.isascii() and _IN_WORD.match(character) is not None)
