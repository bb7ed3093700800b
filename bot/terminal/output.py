"""Print for people and for programs.

Text from a log is data here too: control characters, escape sequences and what reorders a line are taken out,
letters that run from right to left are kept apart from what we write around them, and none of it is read as
rich's markup. Colour is only for a terminal. What was found goes to standard output, everything else to
standard error.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from enum import IntEnum
from io import TextIOWrapper
from typing import IO, Any, Final, NoReturn, TextIO

import msgspec
from rich.console import Console
from rich.text import Text

import recall

from ..links import seconds_of
from ..queries import AnswerCoverage
from ..rendering.coverage import coverage_note
from ..rendering.inert import isolated, neutral

NAME_CHARS: Final = 40

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Exit(IntEnum):
    """Name the exit statuses."""

    FOUND = 0
    NOTHING = 1
    FAILED = 2
    INTERRUPTED = 130  # as shells say of SIGINT


class Output(Console):
    """Print whole lines: no wrapping, no markup, no emoji codes, and colour on a terminal only, whatever is set."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(file=stream, force_terminal=stream.isatty(), highlight=False)

    def row(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of parts, each a text or a text with its style."""
        if self.is_terminal:
            self.print(Text.assemble(*parts), soft_wrap=True)
            return
        line = "".join(part if isinstance(part, str) else part[0] for part in parts)  # a tenth of the time
        try:
            self.file.write(f"{line}\n")
        except BrokenPipeError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Go on without a reader: whoever read this has read enough, and the status still says what was found."""
        drop(self.file)


def standard_output() -> Output:
    """Return where answers are printed."""
    return Output(sys.stdout)


def say(sentence: str) -> None:
    """Print one line to standard error, as this program."""
    try:
        Output(sys.stderr).row(f"recall-bot: {safe(sentence)}")
    except OSError:  # there is nobody to tell; the status tells it
        drop(sys.stderr)


def fail(sentence: str) -> NoReturn:
    """Say in one line why there is no answer, and end."""
    say(sentence)
    raise SystemExit(Exit.FAILED)


def print_json(wire: dict[str, Any]) -> None:
    """Print one JSON object, indented."""
    print_json_text(msgspec.json.format(msgspec.json.encode(wire), indent=2).decode() + "\n")


def print_json_text(text: str) -> None:
    """Print JSON; characters that a terminal may obey are written as escapes, which mean the same."""
    print_text(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_text(text: str) -> None:
    """Print a text as it is, in UTF-8 whatever the terminal's encoding."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop(sys.stdout)


def open_streams() -> None:
    """Prepare to print anything anywhere: to a terminal that cannot show every script, and to no stream at all."""
    if sys.stdout is None:  # closed by whoever started this, as by `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it ends with the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def finish_output() -> None:
    """Write what is still to be written; end with one line where that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop(sys.stdout)
    except OSError as error:
        fail_at(error)


def fail_at(error: OSError) -> NoReturn:
    """Say what the system refused, and end without trying again to write what could not be written."""
    drop(sys.stdout)
    fail(f"cannot go on ({error.strerror or error})")


def drop(stream: IO[str]) -> None:
    """Send what is still to be written to a stream nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def safe(text: str) -> str:
    """Return a text of others on one line, as something that is shown and nothing else."""
    return isolated(neutral(text))


def instant(sequence: int) -> str:
    """Return when a message was sent, in UTC, to the minute; its sequence where that is no snowflake of our time."""
    try:
        return datetime.fromtimestamp(seconds_of(sequence), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return str(sequence)


def name(author: recall.Author) -> str:
    """Return an author's name on one line, marked where it is an app's: apps choose any name they like."""
    label = quoted(recall.author_label(author), NAME_CHARS) or recall.author_id(author)
    return f"{label} (app)" if isinstance(author, recall.AgentAuthor) else label


def coverage_line(coverage: AnswerCoverage, *, before: int | None = None) -> str:
    """Say how far an answer looked."""
    return coverage_note(coverage, before=before, instant=instant, quote=quoted)


def quoted(text: str, chars: int) -> str:
    """Return the first `chars` characters of a text of others."""
    return isolated(recall.text.cut(neutral(text), chars))
