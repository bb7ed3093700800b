"""Search for strangers' regular expressions where they can do no harm, and where none keeps the others waiting.

    async with Matcher() as matcher:
        hits = await matcher.search(rows, query, asker="137")

The result is that of `recall.search_rows`. The search runs in a worker process (`matcher_worker`) whose memory
is bounded and which is killed and replaced when an answer is overdue; rows are sent in bounded chunks, so that
no worker holds an export whole.

- **Time.** `SEARCH_REGEX_SECONDS` are the expression's own, over all rows: its compilation and its matching.
  Waiting for a worker and bringing it the rows is not counted. Inside, the engine is given what is left;
  outside, each chunk's answer is awaited for what is left and `MATCHER_GRACE_SECONDS` more, then the worker is
  killed. An alarm inside, a little later, ends what a dead host can no longer kill.
- **Turns.** One expression at a time for each asker, a bounded line behind it, and the askers in turn
  (`matcher_pool`).
- **Failure.** `recall.InvalidPattern`; `recall.PatternTimeout`, which is `memory` also when a worker dies of an
  expression, whatever killed it; `recall.RegexUnsupported` where the system cannot bound a process's memory;
  `MatcherBusy`; `MatcherUnavailable`. It never becomes a literal search.

The start is lazy. An idle worker is no task: between searches nothing of this runs in the event loop.
"""

from __future__ import annotations

import logging
import signal
import sys
from asyncio import timeout
from collections.abc import Iterator, Sequence
from itertools import count
from types import TracebackType
from typing import Self

import recall

from .matcher_pool import MatcherBusy, MatcherUnavailable, WorkerPool
from .matcher_process import WORKER_COMMAND, WorkerLost, WorkerProcess
from .matcher_worker import Begin, Failed, Found, More, Rows

__all__ = ["Matcher", "MatcherBusy", "MatcherUnavailable"]

SEARCH_REGEX_SECONDS = 2.0
MATCHER_GRACE_SECONDS = 0.5  # for a chunk to come and its answer to go (a guess; they take milliseconds)
MATCHER_ALARM_SECONDS = 1.0  # how much later than the host a worker would end itself
MATCHER_MEMORY_BYTES = 512 * 2**20  # of address space; an idle worker takes a twentieth of it
MATCHER_WORKERS = 2  # while an expression holds one, the other answers
MATCHER_ASKER_QUEUE = 4  # searches that wait behind an asker's own
MATCHER_CHUNK_CHARS = 262_144  # of rows in one frame: under a millisecond of the host's time
MATCHER_ROW_CHARS = 128  # what a row weighs beside its text

logger = logging.getLogger(__name__)


class Matcher:
    """Search in worker processes; whoever made it must `close` it."""

    def __init__(
        self,
        *,
        seconds: float = SEARCH_REGEX_SECONDS,
        grace_seconds: float = MATCHER_GRACE_SECONDS,
        memory_bytes: int = MATCHER_MEMORY_BYTES,
        workers: int = MATCHER_WORKERS,
        asker_queue: int = MATCHER_ASKER_QUEUE,
        chunk_chars: int = MATCHER_CHUNK_CHARS,
        allow_unlimited: bool = False,
        command: Sequence[str] = WORKER_COMMAND,
    ) -> None:
        """Set the bounds. `allow_unlimited` searches also where a worker's memory cannot be bounded."""
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        self._chunk_chars = chunk_chars
        self._attempts = workers + 1
        self._ids = count(1)
        self._pool = WorkerPool(
            size=workers,
            command=command,
            memory_bytes=memory_bytes,
            asker_queue=asker_queue,
            turn_seconds=seconds + grace_seconds,
            allow_unlimited=allow_unlimited,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers, in ascending order."""
        return self._pool.pids

    async def start(self) -> None:
        """Start the workers now rather than at the first search, and wait until they can begin."""
        await self._pool.start()

    async def close(self) -> None:
        """End every process within seconds, and every search with `MatcherUnavailable`; for good."""
        await self._pool.close()

    async def search(
        self, rows: Sequence[recall.LogMessage], query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        """Return what `recall.search_rows` would. Raises what the module's text lists under failure."""
        if query.limit <= 0:
            return ()
        for _ in range(self._attempts):  # every idle worker may have died since its last search
            async with self._pool.turn(asker) as worker:
                begin = Begin(
                    next(self._ids), query, self._seconds, self._seconds + self._grace_seconds + MATCHER_ALARM_SECONDS
                )
                try:
                    async with timeout(self._seconds + self._grace_seconds):
                        await worker.begin(begin)
                except UnicodeEncodeError as error:
                    raise recall.InvalidPattern(reason="it is not Unicode text", position=error.start) from None
                except (TimeoutError, WorkerLost):
                    logger.warning("matcher worker %d was lost between two searches", worker.pid)
                    continue
                try:
                    return await self._match(worker, begin, rows)
                except recall.PatternTimeout as error:
                    logger.info("an expression of asker %s ran out of %s", asker, error.limit)
                    raise
        raise MatcherUnavailable

    async def _match(
        self, worker: WorkerProcess, begin: Begin, rows: Sequence[recall.LogMessage]
    ) -> tuple[recall.SearchHit, ...]:
        """Bring a worker the rows of a search that it has begun, until it has its answer."""
        left = self._seconds
        for request in _requests(begin.id, rows, self._chunk_chars):
            try:
                async with timeout(left + self._grace_seconds):
                    answer = await worker.match(request)
            except TimeoutError:
                raise recall.PatternTimeout("time") from None
            except WorkerLost:
                raise await self._cause_of_death(worker) from None
            match answer:
                case Found():
                    return answer.hits
                case Failed():
                    raise _error(answer)
                case More():
                    left = self._seconds - answer.spent
        raise MatcherUnavailable  # unreachable: the last request has no `More`

    async def _cause_of_death(self, worker: WorkerProcess) -> Exception:
        status = await worker.end()
        if self._pool.closed:
            return MatcherUnavailable()
        return recall.PatternTimeout("time" if sys.platform != "win32" and status == -signal.SIGALRM else "memory")


def _requests(number: int, rows: Sequence[recall.LogMessage], chunk_chars: int) -> Iterator[Rows]:
    """Part rows into chunks of bounded text; there is always one, so that an expression is checked in any case."""
    chunk: list[recall.LogMessage] = []
    chars = 0
    for row in rows:
        if chars >= chunk_chars:
            yield Rows(number, tuple(chunk), last=False)
            chunk, chars = [], 0
        chunk.append(row)
        chars += MATCHER_ROW_CHARS + len(row.content) + len(row.attached)
    yield Rows(number, tuple(chunk), last=True)


def _error(answer: Failed) -> Exception:
    """Return what a worker's failure is to whoever asked."""
    match answer.kind:
        case "invalid":
            return recall.InvalidPattern(reason=answer.reason, position=answer.position)
        case "fault":
            logger.error("a matcher worker failed: %s", answer.reason)
            return MatcherUnavailable()
        case "time" | "memory":
            return recall.PatternTimeout(answer.kind)
