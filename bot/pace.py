"""Hold what the bot says unasked to so many times in a while, per channel; the surplus is dropped, never queued."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

from .forgetting import forget_oldest

MINUTE_SECONDS = 60
KEYS_REMEMBERED = 4_096  # places whose last minute is kept; only memory is at stake


class Pace:
    """Admit at most `most` things for each key in any span of `seconds`.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, most: int, *, clock: Callable[[], float], seconds: float = MINUTE_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._admitted: dict[Hashable, deque[float]] = {}

    def admit(self, key: Hashable) -> bool:
        """Say whether one more may pass now, and count it if so."""
        now = self._clock()
        times = self._admitted.pop(key, None) or deque()
        self._let_go(times, now)
        admitted = len(times) < self._most
        if admitted:
            times.append(now)
        if times:
            self._admitted[key] = times  # put last: the first keys are the longest unused
        forget_oldest(self._admitted, KEYS_REMEMBERED)
        return admitted

    def is_full(self, key: Hashable) -> bool:
        """Say whether nothing more may pass now; counts nothing."""
        times = self._admitted.get(key)
        if times is None:
            return self._most <= 0
        self._let_go(times, self._clock())
        return len(times) >= self._most

    def _let_go(self, times: deque[float], now: float) -> None:
        while times and times[0] <= now - self._seconds:
            times.popleft()
