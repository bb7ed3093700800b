"""Read export files into desks that can be asked questions.

    exports = load_exports([Path("exports")], self_ids={"137"})
    desk = exports.open(find_place("#general", exports.desks))      # or exports.open(None): everything

Files of one channel (parts, later exports of the same messages) become one log, and thread files join the log
of their channel. Of a repeated id the message exported later wins (`exportedAt`, which a version before 2.40.1
did not write: such a file counts as older), else the one whose path comes later.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

import recall

from .desks import Exports
from .files import find_files
from .places import Place, place_of
from .reading import Reading, read_file, read_roles
from .records import Document
from .rows import FileRows, NameBook, late_row, mentions_roles, read_rows

Progress: TypeAlias = Callable[[int, int, int], None]
"""Told before each file, and at the end: bytes read, bytes of the file that is next (0 at the end), bytes in all."""


@dataclass(slots=True)
class Part:
    """Hold what is kept of one file once its records are gone.

    `exported_at`: null where the file does not say. `from_start`: whether it begins where its channel does.
    """

    path: Path
    found: FileRows
    exported_at: datetime | None
    from_start: bool


def load_exports(
    paths: Iterable[Path], *, self_ids: Collection[str] = (), on_progress: Progress | None = None
) -> Exports:
    """Read files, and every `.json` file below folders. `self_ids`: whose messages were ours.

    Raises `ExportError` for the first path that cannot be read as an export. A file that breaks off is read as
    far as it goes and told of in `Exports.problems`.
    """
    files = find_files(paths)
    own_ids, book = frozenset(self_ids), NameBook()
    parts: list[Part] = []
    problems: list[str] = []
    total, done = sum(size for _, size in files), 0
    with _no_collection():
        for path, size in files:
            if on_progress is not None:
                on_progress(done, size, total)
            parts.append(_read_part(path, book, own_ids, problems))
            done += size
        if on_progress is not None:
            on_progress(done, 0, total)
        return _joined(parts, book, own_ids, tuple(problems))


def break_of(reading: Reading) -> str:
    """Say of a file that breaks off how much of it was read."""
    count = len(reading.document.messages)
    return f"{reading.path}: breaks off after {count:,} whole {'message' if count == 1 else 'messages'}"


def _read_part(path: Path, book: NameBook, own_ids: frozenset[str], problems: list[str]) -> Part:
    """Read one file and let go of its records; what it names stays in the book."""
    reading = read_file(path)
    document, place = reading.document, place_of(reading.document)
    if reading.broken_off:
        problems.append(break_of(reading))
    found = read_rows(place, document.messages, book=book, own_ids=own_ids)
    _name_places(document, place, book)
    if any(map(mentions_roles, found.waiting)):
        book.roles.update(read_roles(reading))
    return Part(path, found, instant_of(document.exported_at), _from_start(reading))


def _name_places(document: Document, place: Place, book: NameBook) -> None:
    """Remember the names of a file's channel and of the channel or category above it."""
    book.channels[int(place.id)] = place.name
    if document.channel.category and place.thread is not None:
        book.channels.setdefault(int(place.desk_id), document.channel.category)


def instant_of(written: str | None) -> datetime | None:
    """Return the instant that a file writes; null where it writes none."""
    try:
        instant = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def _from_start(reading: Reading) -> bool:
    """Say whether a file holds the oldest messages: it was not asked to leave them out, and did not lose them.

    A file that was written newest first (`--reverse`) loses its oldest messages when it breaks off.
    """
    span, messages = reading.document.date_range, reading.document.messages
    newest_first = len(messages) > 1 and messages[0].id > messages[-1].id
    return (span is None or span.after is None) and not (reading.broken_off and newest_first)


def _joined(parts: list[Part], book: NameBook, own_ids: frozenset[str], problems: tuple[str, ...]) -> Exports:
    """Join the rows of all files, newest first, each sequence once."""
    rows: list[recall.LogMessage] = []
    oldest = datetime.min.replace(tzinfo=UTC)
    for part in sorted(parts, key=lambda part: part.exported_at or oldest):  # stable: equals stay in path order
        found = part.found
        rows += found.rows
        late = (late_row(message, found.place, book=book, own_ids=own_ids) for message in found.waiting)
        rows += (row for row in late if row is not None)
        found.rows, found.waiting = [], []
    rows.sort(key=attrgetter("sequence"))
    if any(row.sequence == after.sequence for row, after in pairwise(rows)):
        rows = list({row.sequence: row for row in rows}.values())  # the last of each wins, in the place of the first
    rows.reverse()
    return Exports.of(parts, tuple(rows), problems, frozenset(book.webhooks))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking over a growing heap that holds no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
