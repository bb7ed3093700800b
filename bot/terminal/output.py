"""Print for people and for programs, and say how long work is going to take.

Text from a log is data here too: control characters, escape sequences and what reorders a line are taken out,
and none of it is read as rich's markup. Colour is only for a terminal. What was found goes to standard output,
everything else to standard error.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, Final, NoReturn

import msgspec
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import recall

from ..links import seconds_of
from ..queries import AnswerCoverage
from ..rendering.coverage import coverage_note
from ..rendering.inert import neutral

PROGRESS_SECONDS: Final = 2.0  # work that is shorter than this is done before anybody wonders
NAME_CHARS: Final = 40


class Exit(IntEnum):
    """Name the exit statuses."""

    FOUND = 0
    NOTHING = 1
    FAILED = 2


class Output(Console):
    """Print whole lines: no wrapping, no markup, no emoji codes."""

    def row(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of parts, each a text or a text with its style."""
        self.print(Text.assemble(*parts), soft_wrap=True, highlight=False)

    def on_broken_pipe(self) -> None:
        """End well: whoever read this has read enough."""
        drop_output()
        raise SystemExit(Exit.FOUND)


def standard_output() -> Output:
    """Return where answers are printed."""
    return Output(file=sys.stdout)


def standard_error() -> Output:
    """Return where everything else is printed."""
    return Output(file=sys.stderr)


def say(sentence: str) -> None:
    """Print one line to standard error, as this program."""
    standard_error().row(f"recall-bot: {neutral(sentence)}")


def fail(sentence: str) -> NoReturn:
    """Say in one line why there is no answer, and end."""
    say(sentence)
    raise SystemExit(Exit.FAILED)


def print_json(wire: dict[str, Any]) -> None:
    """Print one JSON object, indented."""
    print_text(msgspec.json.format(msgspec.json.encode(wire), indent=2).decode() + "\n")


def print_text(text: str) -> None:
    """Print a text as it is, in UTF-8 whatever the terminal's encoding."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        standard_output().on_broken_pipe()


def instant(sequence: int) -> str:
    """Return when a message was sent, in UTC, to the minute; its sequence where that is no snowflake of our time."""
    try:
        return datetime.fromtimestamp(seconds_of(sequence), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return str(sequence)


def name(author: recall.Author) -> str:
    """Return an author's name on one line, marked where it is an app's: apps choose any name they like."""
    label = recall.text.cut(neutral(recall.author_label(author)), NAME_CHARS) or recall.author_id(author)
    return f"{label} (app)" if isinstance(author, recall.AgentAuthor) else label


def coverage_line(coverage: AnswerCoverage, *, before: int | None = None) -> str:
    """Say how far an answer looked."""
    return coverage_note(coverage, before=before, instant=instant, quote=_quoted)


def _quoted(text: str, chars: int) -> str:
    return recall.text.cut(neutral(text), chars)


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int, int], None]]:
    """Draw how far the reading of files has come, on a terminal, once it takes longer than a moment.

    The callback takes bytes done, bytes of the next file, and bytes in all.
    """
    begun = time.monotonic()
    console = Console(stderr=True)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, auto_refresh=False
    ) as bar:
        task = bar.add_task("reading", visible=False)

        def advance(done: int, _next: int, total: int) -> None:
            late = time.monotonic() - begun >= PROGRESS_SECONDS
            bar.update(task, completed=done, total=total, visible=late, refresh=late)

        yield advance


def drop_output() -> None:
    """Send what is still to be written nowhere: whoever read it has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
