"""Arithmetic of stretches of ids: join, cut, and find the one that a page may be read from.

A span `[low, high)` says: every message of one place with `low <= id < high` is known here. `low` 0 is the
beginning of history; `high` `LIVE` is a stretch that reaches to now and grows by itself. A list of spans is
sorted, and no two of it touch or overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LIVE = 2**63 - 1  # the largest integer SQLite holds; snowflakes stay below it until 2084


class Span(NamedTuple):
    """Hold one half-open stretch of ids."""

    low: int
    high: int


def join(spans: Iterable[Span]) -> list[Span]:
    """Return the fewest spans that cover the same ids; empty ones vanish."""
    joined: list[Span] = []
    for low, high in sorted(span for span in spans if span.low < span.high):
        if joined and low <= joined[-1].high:
            joined[-1] = Span(joined[-1].low, max(joined[-1].high, high))
        else:
            joined.append(Span(low, high))
    return joined


def cut(spans: Iterable[Span], hole: Span) -> list[Span]:
    """Return what is left of spans outside a hole."""
    left: list[Span] = []
    for low, high in spans:
        left += [Span(low, min(high, hole.low)), Span(max(low, hole.high), high)]
    return join(left)


def below(spans: Iterable[Span], before: int | None) -> Span | None:
    """Return the span that holds the ids just below `before` (null: the newest there is), or nothing."""
    edge = LIVE if before is None else before
    return next((span for span in spans if span.low < edge <= span.high), None)
