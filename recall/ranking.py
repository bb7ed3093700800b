"""One order for every list: what a person picks from, and what a search finds, are ranked by the same score.

    >>> score("ship", "we ship")
    TextMatch(kind=<MatchKind.WORD_PREFIX: 'word_prefix'>, score=657, offset=3)
    >>> [hit.id for hit in rank(parse_pattern("ali"), (Candidate("7", "Natalie"), Candidate("9", "Alice")))]
    ['9', '7']

What a match is worth stands in `tiers`; how one is found, in `literals` and `expressions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from recall.expressions import CompiledRegex
from recall.literals import CompiledText, CompiledWords
from recall.patterns import RegexPattern, SearchPattern, TextPattern, WordsPattern
from recall.records import Value
from recall.text import strip
from recall.tiers import TIERS, MatchKind, Remaining, TextMatch

__all__ = [
    "SELECT_LIMIT",
    "Candidate",
    "CompiledPattern",
    "Hit",
    "HitField",
    "compile_pattern",
    "rank",
    "score",
    "score_pattern",
]

SELECT_LIMIT = 8  # choices a picker offers at once


CompiledPattern: TypeAlias = CompiledText | CompiledWords | CompiledRegex


class HitField(StrEnum):
    """Name the field of a candidate that matched."""

    LABEL = "label"
    ID = "id"
    DETAIL = "detail"


class Candidate(Value, frozen=True):
    """Be one thing a person may pick."""

    id: str
    label: str
    detail: str | None = None


class Hit(Value, frozen=True):
    """Say which field of a candidate matched best, and how well; `offset` counts in that field."""

    id: str
    label: str
    field: HitField
    kind: MatchKind
    score: int
    offset: int


def compile_pattern(
    pattern: SearchPattern | CompiledPattern, *, weakest: MatchKind = MatchKind.SUBSEQUENCE
) -> CompiledPattern:
    """Make a pattern ready to be matched; tiers below `weakest` will not count. One that is ready stays as it is.

    Raises `InvalidPattern` with the position for an expression that does not compile. Compiling is not
    bounded in memory: a stranger's expression is compiled only where the host has a limit.
    """
    if isinstance(pattern, TextPattern):
        return CompiledText(pattern.query, TIERS[weakest])
    if isinstance(pattern, WordsPattern):
        return CompiledWords(pattern.words, TIERS[weakest])
    if isinstance(pattern, RegexPattern):
        return CompiledRegex(pattern.source, TIERS[weakest])
    return pattern


def score(query: str, text: str) -> TextMatch | None:
    """Match a literal query against a text; null when either is blank or nothing matches."""
    return score_pattern(compile_pattern(TextPattern(query)), text)


def score_pattern(
    pattern: SearchPattern | CompiledPattern, text: str, *, remaining: Remaining | None = None
) -> TextMatch | None:
    """Match a text, trimmed first; null when it is blank or nothing matches.

    `remaining` says how many seconds an expression may still take. Raises `PatternTimeout` when it takes
    more, or runs out of memory, and `InvalidPattern` when it does not compile.
    """
    text = strip(text)
    return compile_pattern(pattern).match(text, remaining) if text else None


def rank(
    pattern: SearchPattern | CompiledPattern, candidates: Iterable[Candidate], limit: int = SELECT_LIMIT
) -> tuple[Hit, ...]:
    """Return the best `limit` candidates: score down, match offset up, label length up, then as they came.

    Label and id count in full, the detail half; the strongest field is reported, a tie going to the label,
    then to the id. An empty query ranks nothing: listing everybody is the caller's own.
    """
    if limit <= 0:
        return ()
    compiled = compile_pattern(pattern)
    hits = [hit for candidate in candidates if (hit := _best_field(compiled, candidate)) is not None]
    hits.sort(key=lambda hit: (-hit.score, hit.offset, len(hit.label)))
    return tuple(hits[:limit])


def _best_field(compiled: CompiledPattern, candidate: Candidate) -> Hit | None:
    """Return the strongest field of a candidate, the first of equals; null when none matches."""
    best: Hit | None = None
    for field, text in zip(HitField, (candidate.label, candidate.id, candidate.detail or ""), strict=True):
        found = score_pattern(compiled, text)
        if found is None:
            continue
        worth = found.score // 2 if field is HitField.DETAIL else found.score
        if best is None or worth > best.score:
            best = Hit(candidate.id, candidate.label, field, found.kind, worth, found.offset)
    return best
