"""Standings: what the traces of a conversation add up to, and whether they carry a decision.

Read the live traces of a window, and each topic that somebody advocates stands with its supporters, with
those that an objection silenced and with those that refute it. A topic with enough supporters carries;
one that does is a quorum, more are a deadlock.

The result depends on nothing but the set of traces: neither on their order nor on how often each came.

    >>> from recall import AgentAuthor, QuorumPolicy, consensus, resolve_traces, standings
    >>> def say(sequence, name, body):
    ...     return resolve_traces(body, None, author=AgentAuthor(id=name, label=name), sequence=sequence)
    >>> traces = say(1, "planner", "!propose #stage") + say(2, "critic", "!support #stage ^1")
    >>> consensus(standings(traces, 2, QuorumPolicy()), QuorumPolicy())
    Quorum(topic='stage')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from recall.errors import ZeroQuorumThreshold, ZeroQuorumWindow, ZeroRefutationCap
from recall.markers import TraceKind
from recall.records import AgentAuthor, Author, PersonAuthor, Sequence, Value, author_id
from recall.traces import Trace

__all__ = [
    "TRACE_WEIGHTS",
    "Consensus",
    "Deadlocked",
    "Deliberating",
    "Quorum",
    "QuorumPolicy",
    "TopicStanding",
    "consensus",
    "is_capped",
    "is_carried",
    "standings",
]

TRACE_WEIGHTS: Mapping[TraceKind, int] = MappingProxyType(
    {
        TraceKind.COMMIT: 1000,
        TraceKind.PROPOSE: 900,
        TraceKind.REFUTE: 850,
        TraceKind.OBJECT: 800,
        TraceKind.EVIDENCE: 600,
        TraceKind.SUPPORT: 500,
        TraceKind.QUESTION: 300,
    }
)
"""How much each kind weighs. Only proposals and supports add to a topic's `support`."""


class QuorumPolicy(Value, frozen=True):
    """Say what carries a topic.

    `threshold`: supporters needed. `window`: how far back of `at` a trace is live, in sequences as the host
    numbers them. `require_grounded`: supports and objections without cites are ignored.
    `refutation_cap`: a topic with so many refuters does not carry; null for no cap. `require_evidential`:
    a support counts only when its cites lead to evidence, an objection only from who deposited some.
    """

    threshold: int = 2
    window: int = 30
    require_grounded: bool = True
    refutation_cap: int | None = None
    require_evidential: bool = False


class TopicStanding(Value, frozen=True):
    """Hold how a topic stands; people and agents by id, each list in order of what put them there.

    `support` is the weight of what the unsilenced supporters said for it.
    """

    topic: str
    supporters: tuple[str, ...]
    silenced: tuple[str, ...]
    refuted_by: tuple[str, ...]
    support: int


class Deliberating(Value, frozen=True, tag_field="state", tag="deliberating"):
    """Say that no topic carries yet."""


class Quorum(Value, frozen=True, tag_field="state", tag="quorum"):
    """Say that one topic carries."""

    topic: str


class Deadlocked(Value, frozen=True, tag_field="state", tag="deadlocked"):
    """Say that several topics carry."""

    topics: tuple[str, ...]


Consensus: TypeAlias = Deliberating | Quorum | Deadlocked

Eligible: TypeAlias = Callable[[Author], bool]


def standings(
    traces: Iterable[Trace], at: Sequence, policy: QuorumPolicy, *, eligible: Eligible | None = None
) -> tuple[TopicStanding, ...]:
    """Fold the traces that are live at `at` into the standing of each topic, in order of first advocacy.

    Live is what lies at most `window` below `at`, both ends included; a host whose sequences are not
    consecutive numbers its rows 1, 2, 3 first. Proposals, supports and refutations need a topic and an
    eligible author: an agent, or whom `eligible` says among agents and persons; never the operator or the
    system. Who refutes a topic does not advocate it, and a topic that nobody is left to advocate is not
    listed; one whose advocates are all silenced is. Supporting again adds weight, never a supporter.

    Raises the `PolicyError` that names the first zero among threshold, window and cap.
    """
    floor = read_floor(traces, at, policy, eligible)
    return tuple(
        TopicStanding(
            topic=topic,
            supporters=tuple(author for author in weights if (topic, author) not in floor.silencings),
            silenced=tuple(author for author in weights if (topic, author) in floor.silencings),
            refuted_by=tuple(floor.refuters.get(topic, ())),
            support=sum(weight for author, weight in weights.items() if (topic, author) not in floor.silencings),
        )
        for topic, weights in floor.advocates.items()
    )


class Floor(NamedTuple):
    """Hold what the live traces come to, for whoever explains a standing as well.

    `refuters` by topic, `advocates` with their weights by topic, both in order of first deposit; `advocated`: which
    (topic, author) the traces of a row advocate; `silencings`: the objections against a (topic, author).
    """

    live: tuple[Trace, ...]
    refuters: Mapping[str, Mapping[str, None]]
    advocates: Mapping[str, Mapping[str, int]]
    advocated: Mapping[Sequence, set[tuple[str, str]]]
    silencings: Mapping[tuple[str, str], list[Trace]]


def read_floor(traces: Iterable[Trace], at: Sequence, policy: QuorumPolicy, eligible: Eligible | None) -> Floor:
    """Sort the traces that are live at `at` by what they do; raises what `standings` raises."""
    _check(policy)
    live = _live(traces, at, policy.window)
    voiced = [(trace.topic, trace) for trace in live if trace.topic is not None and has_voice(trace.author, eligible)]
    refuters: dict[str, dict[str, None]] = {}
    for topic, trace in voiced:
        if trace.kind is TraceKind.REFUTE and trace.cites:
            refuters.setdefault(topic, {})[author_id(trace.author)] = None
    counts = support_rule(live, policy)
    advocates: dict[str, dict[str, int]] = {}
    advocated: dict[Sequence, set[tuple[str, str]]] = {}
    for topic, trace in voiced:
        author = author_id(trace.author)
        if counts(trace) and author not in refuters.get(topic, ()):
            weights = advocates.setdefault(topic, {})
            weights[author] = weights.get(author, 0) + TRACE_WEIGHTS[trace.kind]
            advocated.setdefault(trace.sequence, set()).add((topic, author))
    return Floor(live, refuters, advocates, advocated, _silencings(live, policy, advocated))


def consensus(found: Iterable[TopicStanding], policy: QuorumPolicy) -> Consensus:
    """Say whether the standings carry a decision. Raises the same `PolicyError` as `standings`."""
    _check(policy)
    carried = tuple(standing.topic for standing in found if is_carried(standing, policy))
    if not carried:
        return Deliberating()
    return Quorum(carried[0]) if len(carried) == 1 else Deadlocked(carried)


def is_carried(standing: TopicStanding, policy: QuorumPolicy) -> bool:
    """Say whether a topic has supporters enough, and fewer refuters than the policy's cap."""
    return len(standing.supporters) >= policy.threshold and not is_capped(standing, policy)


def is_capped(standing: TopicStanding, policy: QuorumPolicy) -> bool:
    """Say whether so many refute a topic that it cannot carry, however many support it."""
    return policy.refutation_cap is not None and len(standing.refuted_by) >= policy.refutation_cap


def _check(policy: QuorumPolicy) -> None:
    if policy.threshold <= 0:
        raise ZeroQuorumThreshold
    if policy.window <= 0:
        raise ZeroQuorumWindow
    if policy.refutation_cap is not None and policy.refutation_cap <= 0:
        raise ZeroRefutationCap


def _live(traces: Iterable[Trace], at: Sequence, window: int) -> tuple[Trace, ...]:
    """Return the traces of the window in order, one for each place, whatever came how often and when."""
    found: dict[tuple[Sequence, int], Trace] = {}
    for trace in traces:
        if at - window <= trace.sequence <= at:
            other = found.setdefault((trace.sequence, trace.offset), trace)
            if other is not trace and repr(trace) < repr(other):  # an edited row: any choice that is always the same
                found[trace.sequence, trace.offset] = trace
    return tuple(trace for _, trace in sorted(found.items(), key=lambda entry: entry[0]))


def has_voice(author: Author, eligible: Eligible | None) -> bool:
    """Say whether an author's proposals, supports and refutations count."""
    if eligible is None:
        return isinstance(author, AgentAuthor)
    return isinstance(author, AgentAuthor | PersonAuthor) and eligible(author)


def support_rule(live: tuple[Trace, ...], policy: QuorumPolicy) -> Callable[[Trace], bool]:
    """Return which traces advocate their topic: every proposal, and the supports that a policy accepts."""
    evident = _leading_to_evidence(live) if policy.require_evidential else frozenset()

    def counts(trace: Trace) -> bool:
        if trace.kind is not TraceKind.SUPPORT:
            return trace.kind is TraceKind.PROPOSE
        if policy.require_evidential:
            return not evident.isdisjoint(trace.cites)
        return bool(trace.cites) or not policy.require_grounded

    return counts


def _leading_to_evidence(live: tuple[Trace, ...]) -> frozenset[Sequence]:
    """Return the rows that hold evidence, or whose traces cite a row from which cites lead to some."""
    cited_by: dict[Sequence, list[Sequence]] = {}
    for trace in live:
        for cite in trace.cites:
            cited_by.setdefault(cite, []).append(trace.sequence)
    waiting = [trace.sequence for trace in live if trace.kind is TraceKind.EVIDENCE]
    reached: set[Sequence] = set()
    while waiting:
        sequence = waiting.pop()
        if sequence not in reached:
            reached.add(sequence)
            waiting.extend(cited_by.get(sequence, ()))
    return frozenset(reached)


def _silencings(
    live: tuple[Trace, ...], policy: QuorumPolicy, advocated: Mapping[Sequence, set[tuple[str, str]]]
) -> dict[tuple[str, str], list[Trace]]:
    """Return which objections silence a (topic, author): what the message objected to advocated.

    Anyone may object, but not to themselves; a policy that asks for grounds asks them of objections too.
    """
    depositors = {author_id(trace.author) for trace in live if trace.kind is TraceKind.EVIDENCE}
    found: dict[tuple[str, str], list[Trace]] = {}
    for trace in live:
        if trace.kind is not TraceKind.OBJECT or trace.target is None:
            continue
        objector = author_id(trace.author)
        if (asks_grounds(policy) and not trace.cites) or (policy.require_evidential and objector not in depositors):
            continue
        for pair in advocated.get(trace.target, ()):
            if pair[1] != objector:
                found.setdefault(pair, []).append(trace)
    return found


def asks_grounds(policy: QuorumPolicy) -> bool:
    """Say whether supports and objections need cites."""
    return policy.require_grounded or policy.require_evidential
