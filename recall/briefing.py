"""Tell a turn where it is and what the room knows: a briefing, and a context, as two separate strings.

The briefing is the host's: who reads, who else is here, what a message may cost, how to pin and to search. The
context is the room's: threads that are alive, what is pinned, notes. They stay apart because whoever mixes
what was recalled with what was instructed has to part it again wherever intent is read. All of it, with the
history itself, comes from one walk, so no pin points at a row that another part has not seen.

    session = await initialize_session_with_context(log, SessionQuery(conversation=desk), briefing)
    session.briefing.system_text()
    session.context.system_text()    # as authored; `frame_context` writes the same so that it cannot give orders
    session.history                  # rows, oldest first

The budget for a message is reported, never applied. Nobody's message is shortened.

    >>> BrevityPolicy(message_chars=5).overrun("too long")
    3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recall.log import NOTHING_READ, SCAN_LIMIT, Coverage, SessionLog, Walk, walk_log
from recall.markers import AddressReader, TraceKind
from recall.masking import Dialect
from recall.pins import PIN_LIMIT, ContextNote, Pin, Pinboard, PinRule, fold_pins, pin_note
from recall.quoting import quoted
from recall.records import Author, Conversation, LogMessage, Sequence, Value, author_id, author_kind, author_label
from recall.session import SESSION_WINDOW, SessionQuery, fold_session
from recall.text import collapse
from recall.threads import THREAD_INDEX_LIMIT, THREAD_INDEX_SCAN, ThreadLine, fold_thread_index

__all__ = [
    "BREVITY_MESSAGE_CHARS",
    "BRIEFING_NAME_CHARS",
    "BRIEFING_TEAMMATES",
    "PIN_SPELLING",
    "SEARCH_SPELLING",
    "TRACE_SPELLING",
    "UNPIN_SPELLING",
    "BrevityPolicy",
    "InitializedSession",
    "RowAuthor",
    "SessionContext",
    "Spellings",
    "TeamBriefing",
    "fold_session_context",
    "initialize_session_with_context",
]

BREVITY_MESSAGE_CHARS = 600  # characters of a message: a paragraph or two; 30 of them are a few pages
BRIEFING_NAME_CHARS = 100  # of a name or id: the longest that Discord has
BRIEFING_TEAMMATES = 50  # named one by one; a guess: in a larger room who is meant is told by the messages

PIN_SPELLING = "!pin [^N] [#label] [note]"
UNPIN_SPELLING = "!unpin ^N"
SEARCH_SPELLING = "!search words"
TRACE_SPELLING = "!kind [#topic] [>N] [^N ...] [text]"


class BrevityPolicy(Value, frozen=True):
    """Allow a message `message_chars` characters, where `window` rows are read at a time."""

    message_chars: int = BREVITY_MESSAGE_CHARS
    window: int = SESSION_WINDOW

    def overrun(self, content: str) -> int | None:
        """Return the characters (code points) by which a row's content exceeds the budget; null when it fits."""
        over = len(content) - self.message_chars
        return over if over > 0 else None


class Spellings(Value, frozen=True):
    """Say how this host is asked for what it offers, in its own words; null where it does not.

    What is written here reaches the model as instructions, so nothing of the room belongs in it.
    """

    pin: str | None = PIN_SPELLING
    unpin: str | None = UNPIN_SPELLING
    search: str | None = SEARCH_SPELLING
    traces: str | None = None


class TeamBriefing(Value, frozen=True):
    """Hold who reads (`viewer`), where, with whom, and what a message may cost there."""

    viewer: Author
    desk: Conversation
    teammates: tuple[Author, ...] = ()
    brevity: BrevityPolicy = BrevityPolicy()
    spellings: Spellings = Spellings()

    def system_text(self) -> str:
        """Return the briefing as lines: names quoted, the first `BRIEFING_TEAMMATES` of the team by name."""
        window, chars = self.brevity.window, self.brevity.message_chars
        messages = "message" if window == 1 else f"{window} messages"
        lines = [
            f"You are {_named(self.viewer)}. You read {self._place()}.",
            *self._company(),
            f"A turn reads the newest {messages}: keep yours within {chars} characters, or it pushes out others.",
        ]
        said = self.spellings
        if said.pin is not None:
            lines.append(
                f"To keep message N in everybody's context, write on a line of its own: {said.pin} "
                "(without ^N it is your own message)."
            )
        if said.unpin is not None:
            lines.append(f"To take message N out of it again: {said.unpin}")
        if said.search is not None:
            lines.append(f"To find what is further back: {said.search}")
        if said.traces is not None:
            kinds = ", ".join(TraceKind)
            lines.append(
                f"To settle a question, on a line of its own: {said.traces} "
                f"(kind is one of {kinds}; a topic needs its #, a message its ^ or >)."
            )
        return "\n".join(lines)

    def _place(self) -> str:
        desk, root = _name(self.desk.desk_name), self.desk.thread_root
        return f"the channel {desk}" if root is None else f"the thread of message {root} in the channel {desk}"

    def _company(self) -> tuple[str, ...]:
        if not self.teammates:
            return ()
        named = [_named(author) for author in self.teammates[:BRIEFING_TEAMMATES]]
        left = len(self.teammates) - len(named)
        return (f"Also here: {', '.join(named)}{f' and {left} more' if left else ''}.",)


def _name(text: str) -> str:
    return quoted(collapse(text), BRIEFING_NAME_CHARS)


def _named(author: Author) -> str:
    return f"{_name(author_label(author))} ({author_kind(author)}, id {_name(author_id(author))})"


class RowAuthor(Value, frozen=True):
    """Say who wrote a row."""

    sequence: Sequence
    author: Author


class SessionContext(Value, frozen=True):
    """Hold what a room knows: the threads that are alive, what is pinned, and notes of the host.

    `authors` says who wrote the rows that threads and pins point at, as far as those were read.
    """

    threads: tuple[ThreadLine, ...] = ()
    pins: tuple[Pin, ...] = ()
    notes: tuple[ContextNote, ...] = ()
    authors: tuple[RowAuthor, ...] = ()

    def blocks(self) -> tuple[ContextNote, ...]:
        """Return each part that holds anything, as a heading and its lines."""
        threads = ContextNote("Threads in this desk", tuple(_thread_line(line) for line in self.threads))
        pins = pin_note(Pinboard(self.pins, NOTHING_READ))
        return tuple(block for block in (threads, pins, *self.notes) if block is not None and block.lines)

    def system_text(self) -> str | None:
        """Return the context as it was authored, each item on a line; null when there is none.

        Nothing in it is neutralised: for whoever reads it as a person. A model is given `frame_context`.
        """
        blocks = (
            "\n".join((f"{collapse(block.heading)}:", *(f"- {collapse(line)}" for line in block.lines)))
            for block in self.blocks()
        )
        return "\n\n".join(blocks) or None


def _thread_line(line: ThreadLine) -> str:
    replies = "no replies" if line.replies == 0 else "1 reply" if line.replies == 1 else f"{line.replies} replies"
    landed = "" if line.landed is None else f" (landed: {line.landed})"
    return f'[{line.root}] "{line.opening}" — {replies}{landed}'


class InitializedSession(Value, frozen=True):
    """Hold what a turn starts from: its briefing, its context, its history (oldest first), and how far it looked.

    The budget of the briefing is stated against the window that was read. Threads are those that moved within
    the newest `THREAD_INDEX_SCAN` rows of the coverage.
    """

    briefing: TeamBriefing
    context: SessionContext
    history: tuple[LogMessage, ...]
    coverage: Coverage


async def initialize_session_with_context(
    log: SessionLog,
    query: SessionQuery,
    briefing: TeamBriefing,
    notes: Iterable[ContextNote] = (),
    *,
    scan: int = SCAN_LIMIT,
    allows: PinRule | None = None,
    dialect: Dialect = "commonmark",
    address: AddressReader | None = None,
    openings: Mapping[Sequence, str] | None = None,
) -> InitializedSession:
    """Read the newest `scan` raw rows older than `query.before` once, and fold all that a turn starts from.

    A thread's walk ends at its root. Raises what `walk_log` raises.
    """
    root = query.conversation.thread_root
    ends_at = None if root is None else (lambda row: row.sequence <= root)
    walk = await walk_log(log, scan=scan, before=query.before, ends_at=ends_at)
    return fold_session_context(
        walk, query, briefing, notes, allows=allows, dialect=dialect, address=address, openings=openings
    )


def fold_session_context(
    walk: Walk,
    query: SessionQuery,
    briefing: TeamBriefing,
    notes: Iterable[ContextNote] = (),
    *,
    allows: PinRule | None = None,
    dialect: Dialect = "commonmark",
    address: AddressReader | None = None,
    openings: Mapping[Sequence, str] | None = None,
) -> InitializedSession:
    """Fold a walk from `query.before` backwards: for a host that reads for itself, or sifts what was read."""
    where = query.conversation
    start = where.thread_root or 0
    inside = tuple(row for row in walk.rows if row.sequence >= start and where.holds(row))
    pins = fold_pins(reversed(inside), PIN_LIMIT, allows=allows, dialect=dialect, address=address)
    threads: tuple[ThreadLine, ...] = ()
    if where.thread_root is None:
        newest = filter(where.holds, reversed(walk.rows[:THREAD_INDEX_SCAN]))
        threads = fold_thread_index(newest, THREAD_INDEX_LIMIT, openings=openings)
    wanted = {line.root for line in threads} | {pin.sequence for pin in pins}
    authors = tuple(RowAuthor(row.sequence, row.author) for row in reversed(inside) if row.sequence in wanted)
    brevity = BrevityPolicy(briefing.brevity.message_chars, max(query.window, 0))
    return InitializedSession(
        briefing=TeamBriefing(briefing.viewer, briefing.desk, briefing.teammates, brevity, briefing.spellings),
        context=SessionContext(threads, pins, tuple(notes), authors),
        history=fold_session(inside, query),
        coverage=walk.coverage,
    )
