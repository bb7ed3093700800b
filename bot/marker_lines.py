r"""Write marker lines out of what people type into forms.

Nothing that is typed can make a second line or another marker: it is flattened, written by the library's own
renderer, and read back; a line is one only if what is read is that very line, about the message it was meant for.

    >>> pin_line(5, "#two words", "done\n!unpin ^5")
    '!pin ^5 #two-words done !unpin ^5'
"""

from __future__ import annotations

import unicodedata
from typing import Final

import recall

from .errors import Refusal
from .rendering.inert import neutral, width
from .shown import own_line, shown

LINE_WIDTH: Final = 2_000  # the most that Discord takes for a message

_SOMEBODY: Final = recall.PersonAuthor(id="0", label="")


class NotALine(Refusal):
    """Say that what was typed makes no marker line."""

    template = "That cannot be written as one marker line. Leave signs and markup out of it."


class LineTooLong(Refusal):
    """Say that a line would be longer than a message may be."""

    template = "That makes a line of more than {limit:,} characters. Shorten it."

    def __init__(self) -> None:
        self.limit = LINE_WIDTH


def typed(text: str) -> str:
    """Return what was typed into a form on one line, in Unicode NFC, without what cannot be seen.

    Markup for mentions becomes what a client shows, by id: the line then reads the same whatever somebody is called.
    """
    return unicodedata.normalize("NFC", neutral(shown(text)))


def pin_line(target: int, label: str = "", note: str = "") -> str:
    """Write the line that pins a message; `label` and `note` are as typed, and blank for none.

    The label's `#` is optional, white space in it becomes a hyphen. Raises `NotALine` and `LineTooLong`.
    """
    label = typed(typed(label).removeprefix("#"))
    pin = recall.PinDirective(recall.PinAction.PIN, label or None, typed(note) or None, 0, target, _SOMEBODY)
    return _pin_line(pin)


def unpin_line(target: int) -> str:
    """Write the line that takes a pin off the board."""
    return _pin_line(recall.PinDirective(recall.PinAction.UNPIN, None, None, 0, target, _SOMEBODY))


def trace_line(
    kind: recall.TraceKind, topic: str = "", *, target: int | None = None, cite: int | None = None, text: str = ""
) -> str:
    """Write the line of a trace; `topic` and `text` are as typed, and blank for none.

    The topic's `#` is optional, white space in it becomes a hyphen. Signs in the text mean what they mean when typed:
    `^7` is one cite more. Raises `NotALine` and `LineTooLong`.
    """
    topic = typed(typed(topic).removeprefix("#")).replace(" ", "-")
    said = [f"#{topic}"] if topic else []
    said += [] if target is None else [f">{target}"]
    said += [] if cite is None else [f"^{cite}"]
    read = recall.resolve_traces(
        " ".join([f"!{kind}", *said, typed(text)]), None, author=_SOMEBODY, sequence=0, dialect="discord"
    )
    if len(read) != 1:
        raise NotALine
    (trace,) = read
    meant = (kind, topic or trace.topic, trace.target if target is None else target)
    if (trace.kind, trace.topic, trace.target) != meant or (cite is not None and trace.cites[:1] != (cite,)):
        raise NotALine
    return checked_line(recall.render_trace(trace))


def _pin_line(pin: recall.PinDirective) -> str:
    line = checked_line(recall.render_directive(pin))
    (read,) = recall.read_directives(line, author=_SOMEBODY, sequence=0, dialect="discord")
    if (read.action, read.target) != (pin.action, pin.target) or (pin.label is not None and read.label is None):
        raise NotALine
    return line


def checked_line(line: str) -> str:
    """Return a line if it is one, and will be the row of whoever it is posted for."""
    if width(line) > LINE_WIDTH:
        raise LineTooLong
    if shown(line) != line or own_line(line, bare=True, invoker=_SOMEBODY) is None:
        raise NotALine
    return line
