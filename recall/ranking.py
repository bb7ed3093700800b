"""One order for every list: what a person picks from, and what a search finds, are ranked by the same score.

    >>> score("ship", "we ship")
    TextMatch(kind=<MatchKind.WORD_PREFIX: 'word_prefix'>, score=657, offset=3)
    >>> [hit.id for hit in rank(parse_pattern("ali"), (Candidate("7", "Natalie"), Candidate("9", "Alice")))]
    ['9', '7']

How a text is matched, and what that is worth, stands in `matching`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from recall.matching import CompiledPattern, MatchKind, TextMatch, compile_pattern
from recall.patterns import SearchPattern, TextPattern
from recall.records import Value
from recall.text import strip

__all__ = [
    "SELECT_LIMIT",
    "Candidate",
    "Hit",
    "HitField",
    "rank",
    "score",
    "score_pattern",
]

SELECT_LIMIT = 8  # choices a picker offers at once


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


def score(query: str, text: str) -> TextMatch | None:
    """Match a literal query against a text; null when either is blank or nothing matches."""
    return score_pattern(compile_pattern(TextPattern(query)), text)


def score_pattern(
    pattern: SearchPattern | CompiledPattern, text: str, *, remaining: Callable[[], float] | None = None
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
