"""Hold one matcher worker from the host's side: start it, take turns with it, end it.

The worker is started from scratch, never forked with the host's state: it gets two pipes, the module path,
and of the environment only what an interpreter needs, so no token. Nothing reads its pipe between turns, so
an idle worker costs no task. A worker is fit for the next search only after the last has had its whole answer:
else the next asker would read what was meant for another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from .matcher_worker import HEADER, Answer, Begin, Failed, Found, More, Ready, Reply, Request, Rows, Taken, to_frame

WORKER_COMMAND = (sys.executable, "-P", "-m", "recall_bot.matcher_worker")

REPLY_BYTES = 64 * 2**20
"""The longest reply that is read: thousands of hits. It also bounds what a worker gone wild makes the host hold."""

# Enough for an interpreter to start, to find its libraries and to read UTF-8; secrets live in other names.
KEPT_VARIABLES = ("DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")

_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


class WorkerLost(Exception):  # noqa: N818 - whose fault it is depends on the turn
    """Say that a worker ended, or spoke out of turn, where an answer was due."""


def worker_environment(environ: Mapping[str, str], path: Sequence[str]) -> dict[str, str]:
    """Return a worker's whole environment: a few names of the host's, and where the host finds its modules."""
    kept = {name: environ[name] for name in KEPT_VARIABLES if name in environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in path)}


class WorkerProcess:
    """Own one worker process; whoever started it must `end` it."""

    def __init__(self, process: Process, requests: asyncio.StreamWriter, replies: asyncio.StreamReader) -> None:
        self._process = process
        self._requests = requests
        self._replies = replies
        self.fit = False  # whether it waits for a search, whoever's

    @classmethod
    async def start(cls, command: Sequence[str], *, memory_bytes: int) -> WorkerProcess:
        """Start a worker; it is of use once it has said that it is `ready`. Raises `OSError`, `WorkerLost`."""
        process = await asyncio.create_subprocess_exec(
            *command,
            str(memory_bytes),
            stdin=PIPE,
            stdout=PIPE,
            stderr=None,  # for what keeps it from starting; the worker closes it before it sees a message
            env=worker_environment(os.environ, sys.path),
            limit=REPLY_BYTES,
            start_new_session=True,  # Ctrl-C in a terminal goes to a session, and is the host's
        )
        if process.stdin is None or process.stdout is None:  # cannot be: pipes were asked for
            raise WorkerLost
        return cls(process, process.stdin, process.stdout)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    async def ready(self) -> bool:
        """Wait until the worker can begin; say whether its memory is bounded. Raises `WorkerLost`."""
        reply = await self._read()
        if not isinstance(reply, Ready):
            raise WorkerLost
        self.fit = True
        return reply.limited

    async def begin(self, request: Begin) -> None:
        """Open a search. Raises `WorkerLost`, and `UnicodeEncodeError` for text that is none."""
        if not isinstance(await self._exchange(request), Taken):
            raise WorkerLost

    async def match(self, request: Rows) -> More | Found | Failed:
        """Have a chunk of rows searched; `More` never follows the last. Raises `WorkerLost`."""
        answer = await self._exchange(request)
        if isinstance(answer, Taken) or (isinstance(answer, More) and request.last):
            raise WorkerLost
        self.fit = isinstance(answer, Found) or (isinstance(answer, Failed) and answer.kind in {"invalid", "time"})
        return answer

    async def _exchange(self, request: Request) -> Answer:
        """Send a request and read its answer, which must bear the same id."""
        frame = to_frame(request)
        self.fit = False
        try:
            self._requests.write(frame)
            await self._requests.drain()
        except ConnectionError as error:
            raise WorkerLost from error
        reply = await self._read()
        if isinstance(reply, Ready) or reply.id != request.id:
            raise WorkerLost
        return reply

    async def _read(self) -> Reply:
        try:
            (size,) = HEADER.unpack(await self._replies.readexactly(HEADER.size))
            if size > REPLY_BYTES:
                raise WorkerLost
            return _REPLIES.decode(await self._replies.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
            raise WorkerLost from None  # the cause may quote a message

    def kill(self) -> None:
        """Kill the worker now, whatever it is doing; `end` must still follow."""
        self.fit = False
        self._requests.close()
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                # `Process.kill` looks first whether the process has ended, and in 3.11 takes its exit status away
                # from the thread that waits for it: the status is lost then, and a line is logged.
                os.kill(self._process.pid, signal.SIGKILL)

    async def end(self) -> int:
        """Kill the worker and wait until it is gone; return its exit status, a signal's number negative."""
        self.kill()
        return await self._process.wait()
