"""Report each topic of a floor with the messages behind every number, so that each can be gone back to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import recall

TopicState: TypeAlias = Literal["open", "carried", "capped"]

_ADVOCACIES = frozenset({recall.TraceKind.PROPOSE, recall.TraceKind.SUPPORT})


class Advocacy(recall.Value, frozen=True):
    """Hold who stands behind a topic, by which messages, and which objections silence them: none for a supporter."""

    author: str
    said: tuple[recall.Sequence, ...]
    silenced_by: tuple[recall.Sequence, ...] = ()


class Refutation(recall.Value, frozen=True):
    """Hold who argues against a topic, by which message, and the facts that it cites, as far as they were read."""

    author: str
    sequence: recall.Sequence
    cites: tuple[recall.Sequence, ...]


class TopicReport(recall.Value, frozen=True):
    """Hold how a topic stands and what put it there, each list in the order of the log.

    `needed`: supporters that carry it. `state`: `capped` is one that is kept from being carried by its refuters.
    `evidence` is what was deposited under the topic; `questions` are those under it, or put to one of its advocates,
    that no later evidence cites.
    """

    topic: str
    state: TopicState
    needed: int
    weight: int
    supporters: tuple[Advocacy, ...]
    silenced: tuple[Advocacy, ...]
    refutations: tuple[Refutation, ...]
    evidence: tuple[recall.Sequence, ...]
    questions: tuple[recall.Sequence, ...]


class DecisionReport(recall.Value, frozen=True):
    """Hold a decision: the commit, who wrote it, who carried the topic then, and what else was carried then.

    `whole`: the window behind it was read whole; where not, older messages may have stood against it.
    """

    topic: str
    sequence: recall.Sequence
    author: str
    cites: tuple[recall.Sequence, ...]
    supporters: tuple[str, ...]
    beside: tuple[str, ...]
    whole: bool


def report_topics(
    standings: Iterable[recall.TopicStanding], outcomes: Sequence[recall.TraceOutcome], policy: recall.QuorumPolicy
) -> tuple[TopicReport, ...]:
    """Report topics in their order; `outcomes` are those of all traces, numbered as the log is."""
    about: dict[str, list[recall.TraceOutcome]] = {}
    advocated: dict[int, dict[str, None]] = {}
    for outcome in outcomes:
        topic = outcome.trace.topic
        if topic is not None and outcome.effect.deposits:
            about.setdefault(topic, []).append(outcome)
            if outcome.trace.kind in _ADVOCACIES:
                advocated.setdefault(outcome.trace.sequence, {})[topic] = None
    asked: dict[str, dict[int, None]] = {}
    for trace in open_questions(outcomes):
        for topic in _asked_about(trace, advocated):
            asked.setdefault(topic, {})[trace.sequence] = None
    return tuple(
        _report(standing, about.get(standing.topic, ()), tuple(asked.get(standing.topic, ())), policy)
        for standing in standings
    )


def open_questions(outcomes: Sequence[recall.TraceOutcome]) -> tuple[recall.Trace, ...]:
    """Return the questions that no later evidence cites, in order."""
    live = [outcome.trace for outcome in outcomes if outcome.effect is recall.TraceEffect.STANDS]
    answered: dict[int, int] = {}
    for trace in live:
        if trace.kind is recall.TraceKind.EVIDENCE:
            answered.update((cite, trace.sequence) for cite in trace.cites)
    questions = (trace for trace in live if trace.kind is recall.TraceKind.QUESTION)
    return tuple(trace for trace in questions if answered.get(trace.sequence, 0) <= trace.sequence)


def _asked_about(question: recall.Trace, advocated: Mapping[int, Iterable[str]]) -> Iterator[str]:
    if question.topic is not None:
        yield question.topic
        return
    named = question.cites if question.target is None else (question.target, *question.cites)
    for sequence in named:
        yield from advocated.get(sequence, ())


def _report(
    standing: recall.TopicStanding,
    about: Sequence[recall.TraceOutcome],
    questions: tuple[int, ...],
    policy: recall.QuorumPolicy,
) -> TopicReport:
    said: dict[str, dict[int, None]] = {}
    by: dict[str, tuple[int, ...]] = {}
    for outcome in about:
        if outcome.trace.kind in _ADVOCACIES:
            author = recall.author_id(outcome.trace.author)
            said.setdefault(author, {})[outcome.trace.sequence] = None
            by[author] = outcome.by
    state: TopicState = "open"
    if recall.is_carried(standing, policy):
        state = "carried"
    elif recall.is_capped(standing, policy):
        state = "capped"
    return TopicReport(
        topic=standing.topic,
        state=state,
        needed=policy.threshold,
        weight=standing.support,
        supporters=tuple(Advocacy(author, tuple(said.get(author, ()))) for author in standing.supporters),
        silenced=tuple(
            Advocacy(author, tuple(said.get(author, ())), by.get(author, ())) for author in standing.silenced
        ),
        refutations=tuple(
            Refutation(recall.author_id(outcome.trace.author), outcome.trace.sequence, outcome.trace.cites)
            for outcome in about
            if outcome.effect is recall.TraceEffect.REFUTES
        ),
        evidence=tuple(
            dict.fromkeys(
                outcome.trace.sequence for outcome in about if outcome.trace.kind is recall.TraceKind.EVIDENCE
            )
        ),
        questions=questions,
    )
