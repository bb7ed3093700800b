"""Be the process in which strangers' expressions run: `python -m recall_bot.matcher_worker BYTES`.

An expression of 28 characters can take a machine's whole memory while it compiles, and nothing bounds that
from within. So it runs here: in a process of its own that has bound its address space, holds no secret,
imports nothing of Discord, and may be killed at any moment. `matcher` is the other side.

The two take turns over two pipes. A frame is a length (four bytes, big-endian) and a msgpack value:

    worker  Ready         once, when the bound stands
    host    Begin         a search, and the seconds it may take
    worker  Taken         before anything of the stranger's is touched
    host    Rows          a bounded chunk of rows, `last` or not
    worker  More          asks for the next chunk, and says how many seconds are spent, or
            Found         ends the search with its hits, or
            Failed        ends it without

So one call of `recall.search_rows` sees all rows while this process holds a chunk of them and the best hits.

The seconds are the expression's own: its compilation and its matching. Waiting for rows and decoding them does
not count. `search_rows` heeds them inside a match only; what hangs anywhere else is killed by the host, or,
where the host is dead, by an alarm.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from time import perf_counter
from typing import BinaryIO, Literal, TypeAlias

import msgspec
import regex

import recall

HEADER = struct.Struct(">I")


class Begin(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Open a search that may take `seconds`; between two frames of it an alarm goes after `alarm_seconds`."""

    id: int
    query: recall.SearchQuery
    seconds: float
    alarm_seconds: float


class Rows(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Hand over the next rows of a search."""

    id: int
    rows: tuple[recall.LogMessage, ...]
    last: bool


class Ready(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Say that the worker can begin, and whether its memory is really bounded."""

    limited: bool


class Taken(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Say that a search has begun: when the worker dies from here on, it dies of the expression."""

    id: int


class More(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Ask for the next rows; `spent` are the search's seconds so far."""

    id: int
    spent: float


class Found(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Hold what `recall.search_rows` returned."""

    id: int
    hits: tuple[recall.SearchHit, ...]


class Failed(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Say why a search ended; a `fault` is our own, with the exception's class as `reason`."""

    id: int
    kind: Literal["invalid", "time", "memory", "fault"]
    reason: str = ""
    position: int | None = None


Request: TypeAlias = Begin | Rows
Answer: TypeAlias = Taken | More | Found | Failed
Reply: TypeAlias = Ready | Answer

_ENCODER = msgspec.msgpack.Encoder()
_BEGIN = msgspec.msgpack.Decoder(Begin)
_ROWS = msgspec.msgpack.Decoder(Rows)


def to_frame(message: Request | Reply) -> bytearray:
    """Return a message as its bytes on the pipe."""
    frame = bytearray(HEADER.size)
    _ENCODER.encode_into(message, frame, HEADER.size)
    HEADER.pack_into(frame, 0, len(frame) - HEADER.size)
    return frame


class _Pipes:
    """Read and write frames; between the two, an alarm is set."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies
        self.alarm_seconds = 0.0

    def receive(self) -> bytes:
        """Wait for a frame. Raises `EOFError` when the host is gone."""
        header = self._requests.read(HEADER.size)
        _set_alarm(self.alarm_seconds)
        if len(header) == HEADER.size:
            (size,) = HEADER.unpack(header)
            frame = self._requests.read(size)
            if len(frame) == size:
                return frame
        raise EOFError

    def send(self, reply: Reply) -> None:
        """Send a reply. Raises `BrokenPipeError` when the host is gone."""
        self._replies.write(to_frame(reply))
        self._replies.flush()
        _set_alarm(0)


class _Search:
    """Run one search over rows that are still coming, and keep the account of its seconds."""

    def __init__(self, begin: Begin, pipes: _Pipes) -> None:
        self._begin = begin
        self._pipes = pipes
        self._deadline = 0.0  # moves with everything that is not the expression's own time

    def run(self) -> Found | Failed:
        """Return what became of it. Raises `EOFError` or `BrokenPipeError` when the host is gone."""
        begin = self._begin
        try:
            first = _ROWS.decode(self._pipes.receive())
            self._deadline = perf_counter() + begin.seconds
            return Found(begin.id, recall.search_rows(self._rows(first), begin.query, remaining=self._remaining))
        except recall.InvalidPattern as error:
            return Failed(begin.id, "invalid", error.reason, error.position)
        except recall.PatternTimeout as error:
            return Failed(begin.id, error.limit)
        except MemoryError:
            return Failed(begin.id, "memory")
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - its text may quote a message, so only its class goes on
            return Failed(begin.id, "fault", type(error).__name__)

    def _remaining(self) -> float:
        return self._deadline - perf_counter()

    def _rows(self, chunk: Rows) -> Iterator[recall.LogMessage]:
        """Yield all rows of the search, chunk by chunk; the deadline moves by the time that a chunk takes to come."""
        yield from chunk.rows
        while not chunk.last:
            asked = perf_counter()
            self._pipes.send(More(self._begin.id, self._begin.seconds - (self._deadline - asked)))
            chunk = _ROWS.decode(self._pipes.receive())
            self._deadline += perf_counter() - asked
            yield from chunk.rows


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Search until the host is gone, or memory ran out once: the host starts a fresh worker then."""
    pipes = _Pipes(requests, replies)
    try:
        with suppress(EOFError, BrokenPipeError):
            while True:
                begin = _BEGIN.decode(pipes.receive())
                pipes.send(Taken(begin.id))
                pipes.alarm_seconds = begin.alarm_seconds
                answer = _Search(begin, pipes).run()
                pipes.alarm_seconds = 0
                pipes.send(answer)
                if isinstance(answer, Failed) and answer.kind == "memory":
                    return
                regex.purge()  # the engine remembers what it was given
                gc.collect()
    finally:
        _set_alarm(0)


def _set_alarm(seconds: float) -> None:
    """Have this process killed after that many seconds, 0 for never, whatever it is busy with."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_memory(limit: int) -> bool:
    """Bound this process's address space to `limit` bytes and forbid core dumps; say whether the bound holds.

    Some systems know no such bound and others accept it without heeding it, so it is put to the test.
    """
    try:
        import resource  # noqa: PLC0415 - missing on Windows
    except ImportError:
        return False
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump would hold messages
    except (AttributeError, OSError, ValueError):
        return False
    try:
        mmap.mmap(-1, limit).close()
    except (MemoryError, OSError):
        return True
    return False


def _take_signals() -> None:
    """Leave Ctrl-C and a service's stop to the host, which ends this process by its pipe, or kills it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep both pipes for frames; whatever else is printed goes nowhere, lest it break a frame or quote a message."""
    replies = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return sys.stdin.buffer, os.fdopen(replies, "wb")


def main(arguments: list[str]) -> None:
    """Bound this process to so many bytes, say so, and serve standard input."""
    _take_signals()
    requests, replies = _take_pipes()
    limited = limit_memory(int(arguments[0]))
    gc.freeze()  # what is here now stays; a collection looks at expressions only
    replies.write(to_frame(Ready(limited)))
    replies.flush()
    serve(requests, replies)


if __name__ == "__main__":
    main(sys.argv[1:])
