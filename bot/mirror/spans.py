"""Arithmetic of stretches of ids: join, cut, and find the one that a page may be read from.

A span `[low, high)` says: every message of one place with `low <= id < high` is known here. `low` 0 is the
beginning of history; `high` `LIVE` is a stretch that reaches to now and grows by itself. A list of spans is
sorted, and no two of it touch or overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def cut(spans: Iterable[Span], *holes: Span) -> list[Span]:
    """Return what is left of spans outside some holes."""
    return common(join(spans), gaps(holes, Span(0, LIVE)))


def common(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return what two sorted lists of spans both cover."""
    found: list[Span] = []
    mine = theirs = 0
    while mine < len(spans) and theirs < len(others):
        span, other = spans[mine], others[theirs]
        found.append(Span(max(span.low, other.low), min(span.high, other.high)))
        if span.high < other.high:
            mine += 1
        else:
            theirs += 1
    return join(found)


def gaps(spans: Iterable[Span], within: Span, *, least: int = 1) -> list[Span]:
    """Return the stretches of `within` that no span covers, but for those of fewer than `least` ids."""
    found: list[Span] = []
    edge = within.low
    for low, high in join(spans):
        found.append(Span(edge, min(low, within.high)))
        edge = max(edge, high)
    found.append(Span(edge, within.high))
    return [gap for gap in found if gap.high - gap.low >= max(1, least)]


def below(spans: Iterable[Span], before: int | None) -> Span | None:
    """Return the span that holds the ids just below `before` (null: the newest there is), or nothing."""
    edge = LIVE if before is None else before
    return next((span for span in spans if span.low < edge <= span.high), None)
