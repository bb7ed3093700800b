"""Keep what is remembered within a bound: the oldest goes first."""

from __future__ import annotations

from typing import Any, TypeVar

_K = TypeVar("_K")


def forget_oldest(known: dict[_K, Any], limit: int) -> None:
    """Forget what was put in longest ago, down to `limit` entries."""
    while len(known) > limit:
        del known[next(iter(known))]
