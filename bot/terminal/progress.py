"""Show on a terminal that work goes on, once it takes longer than a moment.

Decoding a file is one call that lets nothing else run, so a bar cannot wait until it has become late: what comes
next is reckoned in, and the bar of a large file is drawn before its reading begins.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, TypeVar

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .output import Exit, Output

PROGRESS_SECONDS: Final = 2.0  # work that is shorter than this is done before anybody wonders
READ_BYTES_PER_SECOND: Final = 100_000_000  # at least, from file to rows; four times that was measured

Answer = TypeVar("Answer")


def ask(question: Coroutine[Any, Any, Answer], doing: str) -> Answer:
    """Run a query to its end; `doing` says what takes so long, if it does.

    At Ctrl-C its tasks are ended in order, by `asyncio`, which looks for Python's own handler.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with working(doing):
            return asyncio.run(question)
    except KeyboardInterrupt:
        raise SystemExit(Exit.INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def reading(
    stream: TextIO | None = None, *, patience_seconds: float = PROGRESS_SECONDS
) -> Iterator[Callable[[int, int, int], None]]:
    """Draw how far the reading of files has come, where `stream` (standard error) is a terminal.

    The callback takes bytes done, bytes of the next file, and bytes in all.
    """
    console = Output(stream or sys.stderr)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, auto_refresh=False, expand=False
    )
    begun = time.monotonic()
    task = bar.add_task("reading")

    def advance(done: int, coming: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if time.monotonic() - begun + coming / READ_BYTES_PER_SECOND >= patience_seconds:
            bar.start()  # does nothing the second time
            bar.refresh()

    try:
        yield advance
    finally:
        bar.stop()


@contextmanager
def working(
    sentence: str, stream: TextIO | None = None, *, patience_seconds: float = PROGRESS_SECONDS
) -> Iterator[None]:
    """Say what is being done, where `stream` (standard error) is a terminal and it takes long."""
    console = Output(stream or sys.stderr)
    if not console.is_terminal:
        yield
        return
    status = console.status(sentence)
    timer = threading.Timer(patience_seconds, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
