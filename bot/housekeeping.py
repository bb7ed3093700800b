"""Own what is done for the mirror unasked: channels that are read at start, and what is too old to keep.

There is a timer and never a task that waits for it: nothing idles, and what runs has an end. Both begin with a
gateway session, and end when their owner closes them. A mirror that fails is tried again the next time.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol

from .mirror import Mirror, MirrorDown
from .prewarm import Prewarm
from .retention import Retention

SWEEP_SECONDS: Final = 600.0  # by so much a place may outgrow its bounds before it is trimmed (a guess)
REWRITE_SECONDS: Final = 86_400.0
REWRITE_BYTES: Final = 2**30  # rewriting takes some three seconds up to here, in which questions wait

_log = logging.getLogger(__name__)


class Timer(Protocol):
    """Be something that is yet to happen."""

    def cancel(self) -> None:
        """Let it not happen."""
        ...  # pragma: no cover


def loop_later(seconds: float, call: Callable[[], None]) -> Timer:
    """Call something once, after so many seconds of the running loop."""
    return asyncio.get_running_loop().call_later(seconds, call)


class Housekeeping:
    """Run the background work of a mirror.

    `quiet` waits until nobody asks anything; `clock` counts seconds; `later` sets a timer.
    """

    def __init__(
        self,
        mirror: Mirror,
        retention: Retention,
        prewarm: Prewarm,
        *,
        quiet: Callable[[], Awaitable[None]],
        clock: Callable[[], float],
        later: Callable[[float, Callable[[], None]], Timer] = loop_later,
    ) -> None:
        self._mirror = mirror
        self._retention = retention
        self._prewarm = prewarm
        self._quiet = quiet
        self._clock = clock
        self._later = later
        self._timer: Timer | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._prewarm_again = False
        self._rewritten_at = clock()

    def begin(self) -> None:
        """Begin with a gateway session, and anew with the next: it verifies nothing of what was read in this one."""
        if "prewarm" in self._tasks:
            self._prewarm_again = True
        else:
            self._start("prewarm", self._fill)
        self._sweep()

    async def close(self) -> None:
        """End everything; idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _sweep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._later(SWEEP_SECONDS, self._sweep)
        if "retention" not in self._tasks:  # the last one may have had much to do
            self._start("retention", self._tidy)

    async def _fill(self) -> None:
        """Read the channels, and once more if a session began meanwhile: what is known already costs no request."""
        self._prewarm_again = True
        while self._prewarm_again:
            self._prewarm_again = False
            await self._prewarm.run()

    async def _tidy(self) -> None:
        """Trim what is too old; once a day, leave nothing in the file that is not in its tables."""
        gone = await self._retention.sweep()
        if gone:
            _log.info("retention: rows=%d", gone)
        if self._clock() - self._rewritten_at >= REWRITE_SECONDS and self._mirror.database.size() <= REWRITE_BYTES:
            self._rewritten_at = self._clock()
            await self._quiet()
            await self._mirror.database.rewrite()
            await self._mirror.database.checkpoint()

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(work(), name=f"recall-{name}")
        self._tasks[name] = task
        task.add_done_callback(functools.partial(self._ended, name))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, MirrorDown):  # of that one, the database has written a line
            _log.error("%s ended early", name, exc_info=error)
