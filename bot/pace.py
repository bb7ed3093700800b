"""Hold what the bot says unasked to so many times a minute, per channel; the surplus is dropped, never queued."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

MINUTE_SECONDS = 60
KEYS_REMEMBERED = 4_096  # places whose last minute is kept; only memory is at stake


class Pace:
    """Admit at most `per_minute` things for each key in any span of a minute.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._admitted: dict[Hashable, deque[float]] = {}

    def admit(self, key: Hashable) -> bool:
        """Say whether one more may pass now, and count it if so."""
        now = self._clock()
        times = self._admitted.pop(key, None) or deque()
        while times and times[0] <= now - MINUTE_SECONDS:
            times.popleft()
        admitted = len(times) < self._per_minute
        if admitted:
            times.append(now)
        if times:
            self._admitted[key] = times  # put last: the first keys are the longest unused
        while len(self._admitted) > KEYS_REMEMBERED:
            del self._admitted[next(iter(self._admitted))]
        return admitted
