"""Tell a turn where the floor stands, so that what it writes next moves the room on.

Models that deliberate coin two names for one idea, repeat their own last line, commit to what was never carried
and forget a sigil. So a turn is told the options by their exact names, with what each has and still needs; its
own last line; the moves that count now, and no others; and how a line looks right and wrong.

    >>> from recall import QuorumPolicy, TopicStanding, briefing_note
    >>> note = briefing_note([TopicStanding("stage", ("a",), (), (), 900)], QuorumPolicy())
    >>> print(note.lines[0])
    #stage: 1 of 2 supporters, needs 1 more
"""

from __future__ import annotations

from collections.abc import Sequence as Items

from recall.markers import TraceKind
from recall.pins import ContextNote
from recall.quoting import quoted, written_out
from recall.standings import Deadlocked, Deliberating, Quorum, QuorumPolicy, TopicStanding, consensus, is_capped
from recall.text import collapse
from recall.traces import Trace

__all__ = ["NOTE_LINE_CHARS", "NOTE_OPTIONS", "NOTE_TOPIC_CHARS", "briefing_note"]

NOTE_OPTIONS = 12  # topics named one by one; a guess: a room that has more cannot settle on one
NOTE_TOPIC_CHARS = 60
NOTE_LINE_CHARS = 200  # of the viewer's own last line: enough to know it again

_HEADING = "Where the floor stands"
_RIGHT = "Right: !support #rollout ^1234 the canary held for a day"
_WRONG = "Wrong: !support rollout 1234 (no # and no ^, so it names no topic, cites nothing and counts for nothing)"

_MOVES = {
    TraceKind.PROPOSE: "!propose #topic text (only what is none of the options above, under a name of its own)",
    TraceKind.SUPPORT: "!support #topic ^N text (N is the message that it rests on)",
    TraceKind.OBJECT: "!object >N ^M text (N is the message whose author you answer, M what it rests on)",
    TraceKind.REFUTE: "!refute #topic ^N text (N is the fact that speaks against the topic)",
    TraceKind.EVIDENCE: "!evidence #topic ^N text",
    TraceKind.QUESTION: "!question #topic text",
    TraceKind.COMMIT: "!commit #topic",
}
_DELIBERATING = (
    TraceKind.PROPOSE,
    TraceKind.SUPPORT,
    TraceKind.OBJECT,
    TraceKind.REFUTE,
    TraceKind.EVIDENCE,
    TraceKind.QUESTION,
)


def briefing_note(
    standings: Items[TopicStanding], policy: QuorumPolicy, *, last: Trace | None = None
) -> ContextNote | None:
    """Return what a turn is told of the floor; null where nothing is on it and the viewer wrote nothing.

    `last` is the viewer's own newest trace. Options stand in order of first advocacy, the first `NOTE_OPTIONS` by
    name. A `!refute` is offered only where a cap lets it count, a `!commit` only of the one topic that is carried.
    Raises the `PolicyError` that `consensus` raises.
    """
    state = consensus(standings, policy)
    if not standings and last is None:
        return None
    lines = [_option(standing, policy) for standing in standings[:NOTE_OPTIONS]]
    if len(standings) > NOTE_OPTIONS:
        lines.append(f"and {len(standings) - NOTE_OPTIONS} more options")
    lines.append(_state(state))
    if last is not None:
        said = quoted(collapse(last.text), NOTE_LINE_CHARS)
        lines.append(f"Your own last line was [{last.sequence}] {said}: do not repeat it, move the room on")
    lines.append("What counts now:")
    lines += [_MOVES[kind] for kind in _moves(state, policy, on_floor=bool(standings))]
    return ContextNote(_HEADING, (*lines, _RIGHT, _WRONG))


def _option(standing: TopicStanding, policy: QuorumPolicy) -> str:
    have, need = len(standing.supporters), policy.threshold
    supporters = f"{have} of {need} supporters"
    said = [f"{supporters}, needs {need - have} more" if have < need else f"{supporters}, has enough"]
    if standing.silenced:
        said.append(f"{len(standing.silenced)} silenced by objections")
    if standing.refuted_by:
        capped = ", which keeps it from being carried" if is_capped(standing, policy) else ""
        said.append(f"{len(standing.refuted_by)} refuting it{capped}")
    return f"{_topic(standing.topic)}: {'; '.join(said)}"


def _state(state: Deliberating | Quorum | Deadlocked) -> str:
    match state:
        case Quorum(topic=topic):
            return f"Carried: {_topic(topic)}. It can be recorded now"
        case Deadlocked(topics=topics):
            named = ", ".join(map(_topic, topics[:NOTE_OPTIONS]))
            more = f" and {len(topics) - NOTE_OPTIONS} more" if len(topics) > NOTE_OPTIONS else ""
            return f"Deadlocked: {named}{more} have enough supporters each. An objection that holds breaks it"
    return "Nothing is carried yet, so nothing can be recorded"


def _moves(state: Deliberating | Quorum | Deadlocked, policy: QuorumPolicy, *, on_floor: bool) -> tuple[TraceKind, ...]:
    """Return the kinds that change something in this phase."""
    if isinstance(state, Quorum):
        moves: tuple[TraceKind, ...] = (TraceKind.COMMIT, TraceKind.OBJECT, TraceKind.REFUTE)
    elif isinstance(state, Deadlocked):
        moves = (TraceKind.OBJECT, TraceKind.REFUTE, TraceKind.EVIDENCE)
    elif on_floor:
        moves = _DELIBERATING
    else:
        moves = (TraceKind.PROPOSE, TraceKind.EVIDENCE, TraceKind.QUESTION)
    return moves if policy.refutation_cap is not None else tuple(kind for kind in moves if kind is not TraceKind.REFUTE)


def _topic(topic: str) -> str:
    return f"#{written_out(topic, NOTE_TOPIC_CHARS)}"
