"""Frame what this library returns: rows, hits, boards, contexts and compilations, as records of `framing`.

Each record names the row it is about and who wrote that row, by kind and id, wherever it is known. What
another wrote about it (a pin's note) stands beside it with its own author. Empty is null, never an empty frame.
"""

from __future__ import annotations

from collections.abc import Iterable

from recall.briefing import SessionContext
from recall.compilation import Compilation, Part, Summary
from recall.framing import FRAME_TEXT_CHARS, Frame, FrameRecord, render_frame
from recall.pins import Pin
from recall.records import Author, LogMessage, author_id, author_kind, author_label
from recall.search import SearchHit
from recall.threads import ThreadLine

__all__ = [
    "frame_compilation",
    "frame_context",
    "frame_records",
    "hit_record",
    "note_record",
    "part_record",
    "pin_record",
    "row_record",
    "summary_record",
    "thread_record",
]


def row_record(row: LogMessage) -> FrameRecord:
    """Return the record of a row: its author, the thread and the row it answers, what it says and carries."""
    return FrameRecord(
        row.sequence,
        _given(
            *_by(row.author),
            ("thread", row.parent),
            ("reply_to", row.reply_to),
            ("text", row.content or None),
            ("attached", row.attached or None),
        ),
    )


def summary_record(summary: Summary) -> FrameRecord:
    """Return the record of a summary; who made it is the host's business, so it is of kind `summary`."""
    return FrameRecord(
        None, _given(("kind", "summary"), ("first", summary.first), ("last", summary.last), ("text", summary.text))
    )


def part_record(part: Part) -> FrameRecord:
    """Return the record of a part of a compilation. `render_record` of it is what a host gives as `write`."""
    return summary_record(part) if isinstance(part, Summary) else row_record(part)


def pin_record(pin: Pin, author: Author | None = None) -> FrameRecord:
    """Return the record of a pin; `author` wrote the pinned row, null where that was not read."""
    return FrameRecord(
        pin.sequence,
        _given(
            *_by(author),
            ("text", pin.excerpt),
            ("label", pin.label),
            ("note", pin.note),
            ("pinned_at", pin.pinned_at),
            *_by(pin.pinned_by, "pinned_by_"),
        ),
    )


def thread_record(line: ThreadLine, author: Author | None = None) -> FrameRecord:
    """Return the record of a thread; `author` wrote its root, null where that was not read."""
    return FrameRecord(
        line.root,
        _given(
            *_by(author),
            ("text", line.opening),
            ("replies", line.replies),
            ("latest", line.latest),
            ("landed", line.landed),
        ),
    )


def hit_record(hit: SearchHit) -> FrameRecord:
    """Return the record of a search hit: its author, its thread and the piece of text around the match."""
    return FrameRecord(hit.sequence, _given(*_by(hit.author), ("thread", hit.parent), ("text", hit.excerpt)))


def note_record(line: str) -> FrameRecord:
    """Return the record of a line of a note."""
    return FrameRecord(None, (("text", line),))


def frame_records(
    heading: str, records: Iterable[FrameRecord], nonce: str, *, text_chars: int | None = FRAME_TEXT_CHARS
) -> str | None:
    """Write records under a heading of the host's, as `render_frame` does; null for none."""
    held = tuple(records)
    return render_frame(Frame(heading, held), nonce, text_chars=text_chars) if held else None


def frame_context(context: SessionContext, nonce: str) -> str | None:
    """Write what a room knows as frames parted by a blank line, one for each block of it; null when empty."""
    authors = {known.sequence: known.author for known in context.authors}
    threads = (thread_record(line, authors.get(line.root)) for line in context.threads)
    pins = (pin_record(pin, authors.get(pin.sequence)) for pin in context.pins)
    blocks = [
        frame_records("Threads in this desk", threads, nonce),
        frame_records("Pinned in this conversation", pins, nonce),
        *(frame_records(note.heading, map(note_record, note.lines), nonce) for note in context.notes),
    ]
    return "\n\n".join(block for block in blocks if block is not None) or None


def frame_compilation(compilation: Compilation, nonce: str, heading: str = "Messages") -> str | None:
    """Write a compilation as one frame in the order to be read, no text cut; null when empty."""
    return frame_records(heading, map(part_record, compilation.parts()), nonce, text_chars=None)


def _by(author: Author | None, prefix: str = "") -> tuple[tuple[str, str | int | None], ...]:
    if author is None:
        return ()
    kind, known, name = author_kind(author), author_id(author), author_label(author)
    return ((f"{prefix}kind", kind), (f"{prefix}author", known), (f"{prefix}name", name))


def _given(*fields: tuple[str, str | int | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in fields if value is not None)
