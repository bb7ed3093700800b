"""Traces: what agents deposit in a conversation while they deliberate, one line each.

Nobody calls anybody: a proposal, a support or an objection is left in the log, and whoever reads the log
next can act on it. This module reads the lines; `standings` says what they add up to.

    !<kind> [#topic] [>target] [^cite ...] [text]

Qualifiers count wherever they stand after the kind. A word is taken with its punctuation, so `#stage.`
is another topic than `#stage`, and topics are compared verbatim.

    >>> from recall import AgentAuthor, resolve_traces
    >>> (trace,) = resolve_traces("!support #stage ^1", None, author=AgentAuthor(id="c", label="C"), sequence=2)
    >>> trace.kind, trace.topic, trace.cites
    (<TraceKind.SUPPORT: 'support'>, 'stage', (1,))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recall.markers import AddressReader, Marker, TraceKind, meant_word, read_address, read_label, read_markers
from recall.masking import Dialect
from recall.records import Author, LogMessage, Sequence, Value

__all__ = ["TRACE_CAP", "Trace", "read_traces", "render_trace", "resolve_traces"]

TRACE_CAP = 16  # traces read from one body, so that no message grows a fold without bound

_TRACE_WORDS = frozenset(TraceKind)
_TAKE_REPLY_AS_CITE = frozenset({TraceKind.SUPPORT, TraceKind.REFUTE, TraceKind.EVIDENCE})


class Trace(Value, frozen=True):
    """Hold one trace of the row `sequence`.

    `target` is the row that is objected to, `cites` the rows named as grounds, in order, each once.
    `text` is the line from its `!` on, `offset` the place of that in the body, in characters.
    """

    sequence: Sequence
    author: Author
    kind: TraceKind
    topic: str | None
    target: Sequence | None
    cites: tuple[Sequence, ...]
    text: str
    offset: int


def resolve_traces(
    body: str,
    supplied: Iterable[Trace] | None,
    *,
    author: Author,
    sequence: Sequence,
    dialect: Dialect = "commonmark",
    reply_to: Sequence | None = None,
    address: AddressReader | None = None,
) -> tuple[Trace, ...]:
    """Read the traces of a row's body, or select from them those that `supplied` names.

    Null reads the first `TRACE_CAP` in order. A list selects by offset and kind, in its own order and each
    trace once; whatever else an entry claims is ignored, the body decides. In an answer (`reply_to`), a
    trace with neither target nor cites takes the message answered: `object` as its target, `support`,
    `refute` and `evidence` as their cite. A `refute` without topic or cite is nothing.
    """
    found: dict[int, Trace] = {}
    for marker in read_markers(body, _TRACE_WORDS, dialect):
        trace = _read_trace(TraceKind(marker.word), marker, author, sequence, reply_to, address)
        if trace.kind is not TraceKind.REFUTE or (trace.topic is not None and trace.cites):
            found[trace.offset] = trace
        if len(found) == TRACE_CAP:
            break
    if supplied is None:
        return tuple(found.values())
    chosen: dict[int, Trace] = {}
    for entry in supplied:
        named = found.get(entry.offset)
        if named is not None and named.kind == entry.kind:
            chosen.setdefault(named.offset, named)
    return tuple(chosen.values())


def meant_traces(
    row: LogMessage, dialect: Dialect, address: AddressReader | None = None
) -> Iterator[tuple[Trace, bool]]:
    """Yield every line of a row that is a trace or was meant to be one, in order, and whether its kind is spelt right.

    Meant: the kind in another case or with punctuation after it (`!Support:`), or a `refute` that lacks something.
    """
    if "!" not in row.content:
        return
    for marker in read_markers(row.content, None, dialect):
        kind = meant_word(marker.word)
        if kind in _TRACE_WORDS:
            trace = _read_trace(TraceKind(kind), marker, row.author, row.sequence, row.reply_to, address)
            yield trace, marker.word == kind


def _read_trace(  # noqa: PLR0917 - what a trace is made of
    kind: TraceKind,
    marker: Marker,
    author: Author,
    sequence: Sequence,
    reply_to: Sequence | None,
    address: AddressReader | None,
) -> Trace:
    topic: str | None = None
    target: Sequence | None = None
    cites: dict[Sequence, None] = {}
    for word in marker.words:
        if topic is None:
            topic = read_label(word)
        if target is None:
            target = read_address(word, ">", address)
        if (cite := read_address(word, "^", address)) is not None:
            cites[cite] = None
    if reply_to is not None and target is None and not cites:
        if kind is TraceKind.OBJECT:
            target = reply_to
        elif kind in _TAKE_REPLY_AS_CITE:
            cites[reply_to] = None
    return Trace(sequence, author, kind, topic, target, tuple(cites), marker.text, marker.offset)


def render_trace(trace: Trace, *, address: AddressReader | None = None) -> str:
    """Write a trace as one line, `!<kind>[ #topic][ >target][ ^cite ...][ text]`, that reads back as the same trace.

    What follows the qualifiers are the other words of its line. `address` reads the links among those as it did
    when the trace was read. Whatever a reply gave the trace stands in the line.
    """
    marker = next(read_markers(trace.text, _TRACE_WORDS), None)
    rest = [] if marker is None else _unqualified(marker.words, address)
    topic = [] if trace.topic is None else [f"#{trace.topic}"]
    target = [] if trace.target is None else [f">{trace.target}"]
    return " ".join([f"!{trace.kind}", *topic, *target, *(f"^{cite}" for cite in trace.cites), *rest])


def _unqualified(said: Iterable[str], address: AddressReader | None) -> list[str]:
    """Return the words that give a trace neither its topic, nor its target, nor a cite."""
    rest: list[str] = []
    topic = target = False
    for word in said:
        if not topic and read_label(word) is not None:
            topic = True
        elif not target and read_address(word, ">", address) is not None:
            target = True
        elif read_address(word, "^", address) is None:
            rest.append(word)
    return rest


def read_traces(
    rows: Iterable[LogMessage], *, dialect: Dialect = "commonmark", address: AddressReader | None = None
) -> tuple[Trace, ...]:
    """Read the traces of every row, ordered by sequence, then by offset. Rows may come in any order."""
    found = [
        trace
        for row in rows
        if "!" in row.content
        for trace in resolve_traces(
            row.content,
            None,
            author=row.author,
            sequence=row.sequence,
            dialect=dialect,
            reply_to=row.reply_to,
            address=address,
        )
    ]
    return tuple(sorted(found, key=lambda trace: (trace.sequence, trace.offset)))
