"""Effects: what each trace of a conversation comes to, and which commits recorded a decision.

A standing says how a topic stands. Whoever wrote a line and does not find it there asks why; this module says it
of every line, with the fold's own rules, and of lines that were meant as traces and are none.

    >>> from recall import AgentAuthor, LogMessage, QuorumPolicy, read_traces, trace_outcomes
    >>> def row(sequence, name, body):
    ...     return LogMessage(sequence, None, None, AgentAuthor(id=name, label=name), body)
    >>> rows = [row(1, "a", "!propose #stage"), row(2, "b", "!object >1 ^1 hm"), row(3, "b", "!support #stage")]
    >>> [str(outcome.effect) for outcome in trace_outcomes(read_traces(rows), 3, QuorumPolicy())]
    ['silenced', 'silences', 'no_cite']
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from itertools import groupby, islice

import msgspec

from recall.markers import AddressReader, TraceKind
from recall.masking import Dialect
from recall.records import LogMessage, Sequence, Value, author_id
from recall.standings import (
    Eligible,
    Floor,
    QuorumPolicy,
    asks_grounds,
    has_voice,
    is_carried,
    read_floor,
    standings,
    support_rule,
)
from recall.traces import TRACE_CAP, Trace, meant_traces

__all__ = [
    "Decision",
    "TraceEffect",
    "TraceOutcome",
    "judged_commits",
    "misread_traces",
    "trace_lack",
    "trace_outcomes",
]


class TraceEffect(StrEnum):
    """Name what became of a trace: the first six did something, the others nothing."""

    COUNTS = "counts"  # its author stands behind the topic
    SILENCED = "silenced"  # its author would, were it not for an objection
    SILENCES = "silences"
    REFUTES = "refutes"
    STANDS = "stands"  # evidence or a question, there to be cited
    RECORDS = "records"  # a commit of a topic that was carried at that row
    NO_TOPIC = "no_topic"
    NO_CITE = "no_cite"
    NO_EVIDENCE = "no_evidence"  # its cites lead to none, or its author deposited none
    NO_TARGET = "no_target"
    NO_VOICE = "no_voice"  # its author does not vote here
    NO_ADVOCACY = "no_advocacy"  # what it objects to advocates nothing
    OWN_MESSAGE = "own_message"
    REFUTER = "refuter"  # its author refutes the topic
    NOT_ON_FLOOR = "not_on_floor"  # it refutes what nobody advocates
    NOT_CARRIED = "not_carried"
    OUTSIDE = "outside"  # the window has moved on
    MISSPELT = "misspelt"
    TOO_MANY = "too_many"  # a row is read for its first `TRACE_CAP` traces

    @property
    def deposits(self) -> bool:
        """Say whether a trace of this effect did anything."""
        return self in _DEPOSITS


_DEPOSITS = frozenset(list(TraceEffect)[:6])


class TraceOutcome(Value, frozen=True):
    """Hold a trace and what became of it.

    `topics`: on which topics an objection silences. `by`: the rows whose objections silence its author.
    """

    trace: Trace
    effect: TraceEffect
    topics: tuple[str, ...] = ()
    by: tuple[Sequence, ...] = ()


class Decision(Value, frozen=True):
    """Hold a commit of a topic that was carried at its row, who carried it, and what else was carried then."""

    trace: Trace
    supporters: tuple[str, ...]
    beside: tuple[str, ...]


def trace_lack(trace: Trace, policy: QuorumPolicy) -> TraceEffect | None:
    """Return what a trace lacks by itself, so that it can do nothing whatever else is said; null for nothing."""
    kind = trace.kind
    if kind in _NEED_TOPIC and trace.topic is None:
        return TraceEffect.NO_TOPIC
    if kind is TraceKind.OBJECT and trace.target is None:
        return TraceEffect.NO_TARGET
    needs_cite = kind is TraceKind.REFUTE or (kind in _NEED_GROUNDS and asks_grounds(policy))
    return TraceEffect.NO_CITE if needs_cite and not trace.cites else None


_NEED_TOPIC = frozenset({TraceKind.PROPOSE, TraceKind.SUPPORT, TraceKind.REFUTE, TraceKind.COMMIT})
_NEED_GROUNDS = frozenset({TraceKind.SUPPORT, TraceKind.OBJECT})
_NEED_VOICE = frozenset({TraceKind.PROPOSE, TraceKind.SUPPORT, TraceKind.REFUTE})


def trace_outcomes(
    traces: Iterable[Trace],
    at: Sequence,
    policy: QuorumPolicy,
    *,
    eligible: Eligible | None = None,
    recorded: Collection[tuple[Sequence, int]] = (),
) -> tuple[TraceOutcome, ...]:
    """Say of each trace what it does in the standing at `at`, ordered by sequence, then by offset.

    `recorded`: the (sequence, offset) of the commits that recorded a decision, see `judged_commits`; they did so
    for good. Raises what `standings` raises.
    """
    traces = tuple(traces)
    explained = _Explained(read_floor(traces, at, policy, eligible), policy, eligible)
    live = {(trace.sequence, trace.offset): trace for trace in explained.floor.live}
    once = {(trace.sequence, trace.offset): trace for trace in traces} | live
    return tuple(
        TraceOutcome(trace, TraceEffect.RECORDS) if place in recorded else explained.outcome(trace, place in live)
        for place, trace in sorted(once.items(), key=lambda entry: entry[0])
    )


class _Explained:
    """Hold a floor, and what of it is asked for again and again while its traces are explained."""

    def __init__(self, floor: Floor, policy: QuorumPolicy, eligible: Eligible | None) -> None:
        self.floor = floor
        self._policy = policy
        self._eligible = eligible
        self._counts = support_rule(floor.live, policy)
        self._silenced_by = {
            pair: tuple(dict.fromkeys(objection.sequence for objection in objections))
            for pair, objections in floor.silencings.items()
        }
        self._silences: dict[tuple[Sequence, int], dict[str, None]] = {}
        for (topic, _), objections in floor.silencings.items():
            for objection in objections:
                self._silences.setdefault((objection.sequence, objection.offset), {})[topic] = None

    def outcome(self, trace: Trace, is_live: bool) -> TraceOutcome:
        """Return what became of a trace that recorded no decision."""
        effect = trace_lack(trace, self._policy)
        if effect is None and trace.kind is TraceKind.COMMIT:
            effect = TraceEffect.NOT_CARRIED
        elif effect is None and not is_live:
            effect = TraceEffect.OUTSIDE
        elif effect is None and trace.kind in _NEED_VOICE and not has_voice(trace.author, self._eligible):
            effect = TraceEffect.NO_VOICE
        if effect is not None:
            return TraceOutcome(trace, effect)
        if trace.kind is TraceKind.OBJECT:
            return self._objection(trace)
        return self._position(trace)

    def _position(self, trace: Trace) -> TraceOutcome:
        author, topic, effect = author_id(trace.author), trace.topic, TraceEffect
        if topic is None or trace.kind in {TraceKind.EVIDENCE, TraceKind.QUESTION}:
            return TraceOutcome(trace, effect.STANDS)
        if trace.kind is TraceKind.REFUTE:
            return TraceOutcome(trace, effect.REFUTES if topic in self.floor.advocates else effect.NOT_ON_FLOOR)
        if not self._counts(trace):
            return TraceOutcome(trace, effect.NO_EVIDENCE)
        if author in self.floor.refuters.get(topic, ()):
            return TraceOutcome(trace, effect.REFUTER)
        by = self._silenced_by.get((topic, author), ())
        return TraceOutcome(trace, effect.SILENCED if by else effect.COUNTS, by=by)

    def _objection(self, trace: Trace) -> TraceOutcome:
        topics = self._silences.get((trace.sequence, trace.offset))
        if topics:
            return TraceOutcome(trace, TraceEffect.SILENCES, topics=tuple(topics))
        pairs = self.floor.advocated.get(trace.target, ()) if trace.target is not None else ()
        if not pairs:
            return TraceOutcome(trace, TraceEffect.NO_ADVOCACY)
        own = all(author == author_id(trace.author) for _, author in pairs)
        return TraceOutcome(trace, TraceEffect.OWN_MESSAGE if own else TraceEffect.NO_EVIDENCE)


def misread_traces(
    row: LogMessage, policy: QuorumPolicy, *, dialect: Dialect = "commonmark", address: AddressReader | None = None
) -> tuple[TraceOutcome, ...]:
    """Return the lines of a row that were meant as traces and are not read as any, the first `TRACE_CAP`, with why."""
    read = 0
    found: list[TraceOutcome] = []
    for trace, spelt in meant_traces(row, dialect, address):
        lack = trace_lack(trace, policy) if trace.kind is TraceKind.REFUTE else None
        if spelt and lack is None:
            read += 1
            lack = TraceEffect.TOO_MANY if read > TRACE_CAP else None
        effect = lack if spelt else TraceEffect.MISSPELT
        if effect is not None:
            found.append(TraceOutcome(trace, effect))
    return tuple(found[:TRACE_CAP])


def _as_of(at: Sequence, trace: Trace) -> Trace:
    """Return a trace without what it names that came later, as an edit can have it: it was not there to rest on."""
    if all(named <= at for named in (*trace.cites, trace.target or 0)):
        return trace
    target = trace.target if trace.target is not None and trace.target <= at else None
    return msgspec.structs.replace(trace, cites=tuple(cite for cite in trace.cites if cite <= at), target=target)


def judged_commits(
    traces: Iterable[Trace], policy: QuorumPolicy, *, eligible: Eligible | None = None, rows: int | None = None
) -> Iterator[tuple[Decision, ...]]:
    """Yield, for each row with a commit, newest first, the decisions that it recorded: often none.

    A commit records a decision when its topic is carried in the standing at its own row, whoever wrote it; it adds
    no supporter. One fold of a window for each row, at most `rows` of them (null: all). Raises what `standings` does.
    """
    ordered = sorted(traces, key=lambda trace: (trace.sequence, trace.offset))
    places = [trace.sequence for trace in ordered]
    commits = [trace for trace in ordered if trace.kind is TraceKind.COMMIT and trace.topic is not None]
    by_row = groupby(reversed(commits), key=lambda trace: trace.sequence)
    for at, group in islice(by_row, rows):
        window = ordered[bisect_left(places, at - policy.window) : bisect_right(places, at)]
        live = [_as_of(at, trace) for trace in window]
        found = standings(live, at, policy, eligible=eligible)
        carried = {standing.topic: standing.supporters for standing in found if is_carried(standing, policy)}
        yield tuple(
            Decision(trace, carried[trace.topic], tuple(topic for topic in carried if topic != trace.topic))
            for trace in reversed(tuple(group))
            if trace.topic in carried
        )
