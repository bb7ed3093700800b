"""Pins: a small working set that is folded out of the log, never stored beside it.

A message that matters scrolls away. Somebody writes `!pin ^N #label note`, and until somebody writes
`!unpin ^N` that message is on the board. The log is the only store: delete the line that pinned, and the
pin is gone; edit it, and the pin is another.

    !pin [^N] [#label] [note]      without ^N: the message that the line stands in
    !unpin ^N

Later lines win. A board's order is most recently pinned first, by row and then by line.

    >>> from recall import AgentAuthor, LogMessage, fold_pins
    >>> def row(sequence, content):
    ...     author = AgentAuthor(id="scout", label="Scout")
    ...     return LogMessage(sequence=sequence, chat_id=None, parent=None, author=author, content=content)
    >>> board = fold_pins([row(7, "600 a minute."), row(8, "!pin ^7 #limits as measured")])
    >>> [(pin.sequence, pin.label, pin.note, pin.excerpt) for pin in board]
    [(7, 'limits', 'as measured', '600 a minute.')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from recall.log import NOTHING_READ, SCAN_LIMIT, Coverage, SessionLog, walk_log
from recall.markers import AddressReader, PinAction, is_all_markers, read_address, read_label, read_markers
from recall.masking import Dialect
from recall.records import Author, Conversation, LogMessage, Sequence, Value
from recall.text import collapse, cut, shown

__all__ = [
    "PIN_EXCERPT_CHARS",
    "PIN_LIMIT",
    "PIN_MARKER_CAP",
    "PIN_SCAN",
    "ContextNote",
    "Pin",
    "PinDirective",
    "PinEffect",
    "PinEvent",
    "PinRule",
    "Pinboard",
    "fold_pins",
    "pin_history",
    "pin_note",
    "read_directives",
    "read_pinboard",
    "render_directive",
]

PIN_LIMIT = 12  # pins of the working set: it rides along in every agent's context, so it has to stay small
PIN_SCAN = SCAN_LIMIT  # raw rows a board is folded from
PIN_EXCERPT_CHARS = 120  # characters quoted of a pinned message
PIN_MARKER_CAP = 8  # directives read from one body, so that no message grows a fold without bound

_PIN_WORDS = frozenset(PinAction)


class PinDirective(Value, frozen=True):
    """Hold what one pin line says: `sequence` and `author` are those of its row, `target` is what it acts on."""

    action: PinAction
    label: str | None
    note: str | None
    sequence: Sequence
    target: Sequence
    author: Author


class Pin(Value, frozen=True):
    """Hold one pin of a board.

    `sequence` is the pinned row, `pinned_at` the row of the directive and `pinned_by` its author.
    `excerpt` is null when the fold did not see the pinned row, or the row is blank.
    """

    sequence: Sequence
    pinned_at: Sequence
    pinned_by: Author
    label: str | None
    note: str | None
    excerpt: str | None


class PinEffect(StrEnum):
    """Name what became of a directive; `nothing` is an unpin of what was not pinned."""

    PINNED = "pinned"
    UNPINNED = "unpinned"
    NOTHING = "nothing"
    REFUSED = "refused"


class PinEvent(Value, frozen=True):
    """Hold a directive and what became of it when its turn came."""

    directive: PinDirective
    effect: PinEffect


class Pinboard(Value, frozen=True):
    """Hold the pins of a conversation, most recently pinned first, and how far the log was read for them."""

    pins: tuple[Pin, ...]
    coverage: Coverage


class ContextNote(Value, frozen=True):
    """Hold what a context quotes under a heading of its own, one record a line."""

    heading: str
    lines: tuple[str, ...]


PinRule: TypeAlias = Callable[[PinDirective, Pin | None], bool]
"""A host's narrower rule: whether a directive may act on the pin that stands on its target then, or on none.

That pin has no excerpt yet: only the pins that are left at the end are quoted.
"""


def read_directives(
    body: str,
    *,
    author: Author,
    sequence: Sequence,
    dialect: Dialect = "commonmark",
    reply_to: Sequence | None = None,
    address: AddressReader | None = None,
) -> tuple[PinDirective, ...]:
    """Read the pin lines of a row's body in order, the first `PIN_MARKER_CAP` of them.

    Without an address, `!pin` acts on its own row, and on `reply_to` when the body holds nothing but
    markers (somebody answers a message with `!pin`); `!unpin` acts on `reply_to`, else is no directive.
    """
    found: list[PinDirective] = []
    for marker in read_markers(body, _PIN_WORDS, dialect):
        action = PinAction(marker.word)
        target, label, note = _read_words(marker.words, address)
        if target is None:
            own = action is PinAction.PIN and not (reply_to is not None and is_all_markers(body, dialect))
            target = sequence if own else reply_to
        if target is not None:
            found.append(PinDirective(action, label, note, sequence, target, author))
        if len(found) == PIN_MARKER_CAP:
            break
    return tuple(found)


def _read_words(
    given: tuple[str, ...], address: AddressReader | None
) -> tuple[Sequence | None, str | None, str | None]:
    """Read target, label and note; the first word that is neither an address nor a label starts the note."""
    target: Sequence | None = None
    label: str | None = None
    for place, word in enumerate(given):
        if target is None and (number := read_address(word, "^", address)) is not None:
            target = number
        elif label is None and (name := read_label(word)) is not None:
            label = name
        else:
            return target, label, " ".join(given[place:])
    return target, label, None


def render_directive(directive: PinDirective) -> str:
    """Write a directive as the one line that, read in the same row, gives it back.

    An unpin's label and note have no effect and are not written. Fields that no line could have given are
    brought to what one could: white space is one space, and one hyphen in a label; a blank label or note
    is none. A note that starts with `#word` gives the label where there is none, as it does when typed.
    """
    line = f"!{directive.action} ^{directive.target}"
    if directive.action is PinAction.UNPIN:
        return line
    label = collapse(directive.label or "").replace(" ", "-")
    note = collapse(directive.note or "")
    return line + (f" #{label}" if label else "") + (f" {note}" if note else "")


def fold_pins(
    rows: Iterable[LogMessage],
    limit: int = PIN_LIMIT,
    *,
    allows: PinRule | None = None,
    dialect: Dialect = "commonmark",
    address: AddressReader | None = None,
) -> tuple[Pin, ...]:
    """Fold chronological rows into a board of at most `limit` pins, dropping the least recently pinned.

    Pinning again replaces label, note, pinner and place; anyone may unpin. `allows` narrows that: it is
    asked for each directive in order, and a refused one changes nothing.
    """
    if limit <= 0:
        return ()
    rows = tuple(rows)
    board: dict[Sequence, Pin] = {}
    for directive in _row_directives(rows, dialect, address):
        _apply(directive, board, allows)
    newest = list(reversed(board.values()))[:limit]
    wanted = {pin.sequence for pin in newest}
    excerpts = {row.sequence: _excerpt(row) for row in rows if row.sequence in wanted}
    return tuple(
        Pin(pin.sequence, pin.pinned_at, pin.pinned_by, pin.label, pin.note, excerpts.get(pin.sequence))
        for pin in newest
    )


def pin_history(
    rows: Iterable[LogMessage],
    *,
    allows: PinRule | None = None,
    dialect: Dialect = "commonmark",
    address: AddressReader | None = None,
) -> tuple[PinEvent, ...]:
    """Return every directive of chronological rows, oldest first, with what became of it."""
    board: dict[Sequence, Pin] = {}
    return tuple(
        PinEvent(directive, _apply(directive, board, allows)) for directive in _row_directives(rows, dialect, address)
    )


def _row_directives(
    rows: Iterable[LogMessage], dialect: Dialect, address: AddressReader | None
) -> Iterator[PinDirective]:
    for row in rows:
        if "!" in row.content:
            yield from read_directives(
                row.content,
                author=row.author,
                sequence=row.sequence,
                dialect=dialect,
                reply_to=row.reply_to,
                address=address,
            )


def _apply(directive: PinDirective, board: dict[Sequence, Pin], allows: PinRule | None) -> PinEffect:
    """Let a directive act on a board, whose order is that of pinning."""
    target = directive.target
    if allows is not None and not allows(directive, board.get(target)):
        return PinEffect.REFUSED
    stood = board.pop(target, None)
    if directive.action is PinAction.UNPIN:
        return PinEffect.NOTHING if stood is None else PinEffect.UNPINNED
    board[target] = Pin(target, directive.sequence, directive.author, directive.label, directive.note, None)
    return PinEffect.PINNED


def _excerpt(row: LogMessage) -> str | None:
    return cut(collapse(shown(row.content, row.attached)), PIN_EXCERPT_CHARS) or None


async def read_pinboard(
    log: SessionLog,
    conversation: Conversation | None,
    limit: int = PIN_LIMIT,
    before: Sequence | None = None,
    *,
    scan: int = PIN_SCAN,
    allows: PinRule | None = None,
    dialect: Dialect = "commonmark",
    address: AddressReader | None = None,
) -> Pinboard:
    """Fold the board of a conversation out of the newest `scan` rows older than `before`.

    A desk's board holds what its threads pinned; a thread's board is of that thread alone, and its walk
    ends at the root. Null: everything that the log holds. Raises what `walk_log` raises.
    """
    if limit <= 0:
        return Pinboard((), NOTHING_READ)
    root = conversation.thread_root if conversation else None
    ends_at = None if root is None else (lambda row: row.sequence <= root)
    walk = await walk_log(log, scan=scan, before=before, ends_at=ends_at)
    rows = (row for row in reversed(walk.rows) if conversation is None or conversation.holds(row))
    return Pinboard(fold_pins(rows, limit, allows=allows, dialect=dialect, address=address), walk.coverage)


def pin_note(board: Pinboard) -> ContextNote | None:
    """Return what a context quotes of a board: `[N] #label "excerpt" — note` a pin; null for an empty board."""
    if not board.pins:
        return None
    return ContextNote("Pinned in this conversation", tuple(_pin_line(pin) for pin in board.pins))


def _pin_line(pin: Pin) -> str:
    parts = [f"[{pin.sequence}]"]
    if pin.label is not None:
        parts.append(f"#{pin.label}")
    if pin.excerpt is not None:
        parts.append(f'"{pin.excerpt}"')
    if pin.note is not None:
        parts.append(f"— {pin.note}")
    return " ".join(parts)
