"""Decide which search gets a matcher worker next, and keep enough of them warm.

    async with pool.turn("137") as worker:
        ...

An asker has one turn at a time; further ones wait in a line of the asker's own, and the askers who wait take
turns. So nobody, however much is asked, holds more than one worker or waits behind another's second search.
A worker that comes back unfit is killed, and another is started while the searches go on.

Nothing of this runs while nobody searches: a start and an end are short tasks, owned here and named.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress

import recall

from .errors import Busy, Refusal
from .matcher_process import WorkerLost, WorkerProcess

MATCHER_QUEUE = 256  # searches that wait in all; each holds its rows
MATCHER_START_SECONDS = 20.0  # a start takes a twentieth of one second; a machine may be busy
MATCHER_CLOSE_SECONDS = 2.0

logger = logging.getLogger(__name__)


class MatcherBusy(Busy):
    """Say that too many expressions wait already: the asker's own, or everybody's."""

    template = "Too many expressions wait to be searched for already: ask again in {seconds} s."


class MatcherUnavailable(Refusal):
    """Say that no worker could be started, or that the matcher is closed."""

    template = "I cannot search for expressions right now. Try again in a moment, or put the query in quotes."


class WorkerPool:
    """Own the worker processes, `size` of them; `close` ends them all."""

    def __init__(
        self,
        *,
        size: int,
        command: Sequence[str],
        memory_bytes: int,
        asker_queue: int,
        turn_seconds: float,
        allow_unlimited: bool,
    ) -> None:
        """Set the bounds; `turn_seconds` is what a turn takes at most, to guess how long a line is."""
        self._size = size
        self._command = tuple(command)
        self._memory_bytes = memory_bytes
        self._asker_queue = asker_queue
        self._turn_seconds = turn_seconds
        self._allow_unlimited = allow_unlimited
        self._living: set[WorkerProcess] = set()  # started, and not being ended
        self._idle: list[WorkerProcess] = []
        self._spawning = 0  # starts that have no process yet
        self._lines: dict[str, deque[asyncio.Future[WorkerProcess]]] = {}  # askers in the order of their turns
        self._served: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starts: set[asyncio.Task[None]] = set()  # those of the tasks that start a worker
        self._unsupported = False
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers, in ascending order."""
        return tuple(sorted(worker.pid for worker in self._living))

    @property
    def closed(self) -> bool:
        """Whether the pool has ended its workers for good."""
        return self._closed

    async def start(self) -> None:
        """Start the workers that are missing and wait until they can begin, or could not be started."""
        self._refill()
        if self._starts:
            await asyncio.wait(tuple(self._starts))

    async def close(self) -> None:
        """End every process, and every wait for one with `MatcherUnavailable`."""
        self._closed = True
        self._fail_waiting(MatcherUnavailable())
        for worker in tuple(self._living):
            self._discard(worker)
        with suppress(TimeoutError):
            async with asyncio.timeout(MATCHER_CLOSE_SECONDS):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()

    @asynccontextmanager
    async def turn(self, asker: str) -> AsyncIterator[WorkerProcess]:
        """Wait for a worker and hold it; it is given back as it is left, and replaced when unfit.

        Raises `MatcherBusy` at once where too many wait, `MatcherUnavailable`, `recall.RegexUnsupported`.
        """
        worker = await self._take(asker)
        try:
            yield worker
        finally:
            self._give_back(asker, worker)

    async def _take(self, asker: str) -> WorkerProcess:
        if self._closed:
            raise MatcherUnavailable
        if self._unsupported:
            raise recall.RegexUnsupported
        waiting = sum(map(len, self._lines.values()))
        if waiting >= MATCHER_QUEUE:
            raise MatcherBusy(math.ceil(self._turn_seconds * waiting / self._size))
        line = self._lines.get(asker, deque())
        if len(line) >= self._asker_queue:
            raise MatcherBusy(math.ceil(self._turn_seconds * len(line)))
        ticket: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        line.append(ticket)
        self._lines[asker] = line
        self._refill()
        self._hand_out()
        try:
            return await ticket
        except asyncio.CancelledError:
            if ticket.cancelled():
                self._leave_line(asker, ticket)
            elif ticket.exception() is None:  # handed out and cancelled in one breath
                self._give_back(asker, ticket.result())
            raise

    def _leave_line(self, asker: str, ticket: asyncio.Future[WorkerProcess]) -> None:
        line = self._lines.get(asker, deque())
        with suppress(ValueError):  # its turn may have come, and been passed on
            line.remove(ticket)
        if not line:
            self._lines.pop(asker, None)

    def _give_back(self, asker: str, worker: WorkerProcess) -> None:
        self._served.discard(asker)
        if worker.fit and worker in self._living:
            self._idle.append(worker)
        else:
            self._discard(worker)
            self._refill()
        self._hand_out()

    def _hand_out(self) -> None:
        """Give idle workers to the askers whose turn it is."""
        while self._idle:
            asker = next((asker for asker in self._lines if asker not in self._served), None)
            if asker is None:
                return
            line = self._lines.pop(asker)
            ticket = line.popleft()
            if line:
                self._lines[asker] = line  # behind everybody who waits
            if not ticket.done():  # else cancelled
                self._served.add(asker)
                ticket.set_result(self._idle.pop())

    def _fail_waiting(self, error: Exception) -> None:
        for line in self._lines.values():
            for ticket in line:
                if not ticket.done():
                    ticket.set_exception(error)
        self._lines.clear()

    def _refill(self) -> None:
        while not (self._closed or self._unsupported) and len(self._living) + self._spawning < self._size:
            self._spawning += 1
            task = self._own(self._start_one(), name="recall-matcher-start")
            self._starts.add(task)
            task.add_done_callback(self._starts.discard)

    def _discard(self, worker: WorkerProcess) -> None:
        if worker not in self._living:
            return
        self._living.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        worker.kill()
        self._own(self._end_one(worker), name=f"recall-matcher-end-{worker.pid}")

    def _own(self, work: Coroutine[object, object, None], *, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s failed", task.get_name(), exc_info=error)

    async def _start_one(self) -> None:
        """Start a worker and hand it out when it can begin."""
        worker: WorkerProcess | None = None
        limited = False
        try:
            async with asyncio.timeout(MATCHER_START_SECONDS):
                try:
                    worker = await WorkerProcess.start(self._command, memory_bytes=self._memory_bytes)
                    self._living.add(worker)
                finally:
                    self._spawning -= 1
                if not self._closed:
                    limited = await worker.ready()
        except (OSError, WorkerLost) as error:  # TimeoutError is an OSError
            if not (self._closed or self._unsupported):
                logger.warning("a matcher worker did not start: %s", type(error).__name__)
        finally:
            if worker is not None and not worker.fit:
                self._discard(worker)
        if worker is not None and worker.fit:
            if limited or self._allow_unlimited:
                self._idle.append(worker)
                self._hand_out()
                return
            self._unsupported = True
            self._fail_waiting(recall.RegexUnsupported())
            for other in tuple(self._living):
                self._discard(other)
        elif not self._living and not self._spawning:
            self._fail_waiting(MatcherUnavailable())

    async def _end_one(self, worker: WorkerProcess) -> None:
        status = await worker.end()
        logger.debug("matcher worker %d ended with %d", worker.pid, status)
