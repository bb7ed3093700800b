"""Say in words what a trace came to and why, the same on every surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import recall

from ..queries import Electorate, StandingsAnswer
from .cards import counted

_EFFECTS: Mapping[recall.TraceEffect, str] = {
    recall.TraceEffect.COUNTS: "counts",
    recall.TraceEffect.SILENCED: "is silenced",
    recall.TraceEffect.SILENCES: "silences",
    recall.TraceEffect.REFUTES: "counts as a refutation",
    recall.TraceEffect.STANDS: "stands",
    recall.TraceEffect.RECORDS: "records a decision",
    recall.TraceEffect.NO_TOPIC: "nothing: it names no topic; write it with its #, as in #name",
    recall.TraceEffect.NO_CITE: "nothing: it rests on no message; name one by ^ID",
    recall.TraceEffect.NO_EVIDENCE: "nothing: no !evidence stands behind it, which is asked for here",
    recall.TraceEffect.NO_TARGET: "nothing: it names no message to object to; write >ID, or answer the message",
    recall.TraceEffect.NO_VOICE: "nothing: its author does not vote here",
    recall.TraceEffect.NO_ADVOCACY: "nothing: the message it objects to speaks for no topic that counts",
    recall.TraceEffect.OWN_MESSAGE: "nothing: nobody objects to themselves",
    recall.TraceEffect.REFUTER: "nothing: its author refutes the topic too",
    recall.TraceEffect.NOT_ON_FLOOR: "nothing: nobody speaks for that topic",
    recall.TraceEffect.NOT_CARRIED: "nothing: the topic was not carried then",
    recall.TraceEffect.OUTSIDE: "no longer counts: it is older than the messages that do",
    recall.TraceEffect.MISSPELT: "nothing: the word must be exactly !{kind}",
    recall.TraceEffect.TOO_MANY: "nothing: only the first {cap} lines of a message are read",
}
_CITES_AWAY = "nothing: what it cites is not here, so it rests on nothing"
_TARGET_AWAY = "nothing: the message it objects to is not here"


def effect_words(outcome: recall.TraceOutcome, quote: Callable[[str], str]) -> str:
    """Say what a trace came to; `quote` writes a topic."""
    trace, effect = outcome.trace, outcome.effect
    if effect is recall.TraceEffect.NO_CITE and trace.cites:
        return _CITES_AWAY
    if effect is recall.TraceEffect.NO_TARGET and trace.target is not None:
        return _TARGET_AWAY
    if effect is recall.TraceEffect.SILENCES:
        topics = [f"#{quote(topic)}" for topic in outcome.topics[:3]]
        more = [f"{len(outcome.topics) - 3} more"] if len(outcome.topics) > 3 else []  # noqa: PLR2004
        return f"silences its author on {', '.join(topics + more)}"
    return _EFFECTS[effect].format(kind=trace.kind, cap=recall.TRACE_CAP)


def state_words(answer: StandingsAnswer, quote: Callable[[str], str]) -> str:
    """Say the state of the room in a sentence; `quote` writes a topic."""
    topics = [f"#{quote(topic)}" for topic in answer.carried]
    match answer.consensus:
        case recall.Quorum():
            return f"Quorum: {topics[0]} is carried."
        case recall.Deadlocked():
            named = [*topics[:5], *([f"{len(topics) - 5} more"] if len(topics) > 5 else [])]  # noqa: PLR2004
            return f"Deadlocked: {', '.join(named)} are carried."
    return "Deliberating: nothing is carried."


def rules_words(policy: recall.QuorumPolicy, electorate: Electorate) -> str:
    """Say by which rules a standing was counted."""
    who = {
        "everyone": "Everyone votes",
        "agents": "Agents vote",
        "people": "People vote",
        "role": "Who holds a voting role votes",
    }[electorate.voters]
    said = [
        f"{who}; {counted(policy.threshold, 'supporter carries', 'supporters carry')} a topic",
        f"the newest {counted(policy.window, 'message counts', 'messages count')}",
    ]
    if policy.require_evidential:
        said.append("support must lead to evidence")
    elif policy.require_grounded:
        said.append("support and objections must cite a message")
    if policy.refutation_cap is not None:
        said.append(f"{counted(policy.refutation_cap, 'refuter stops', 'refuters stop')} one")
    return f"{'; '.join(said)}."


def count_notes(answer: StandingsAnswer) -> list[str]:
    """Say what was not counted for lack of bounds, where there is any."""
    notes = []
    if answer.unjudged:
        notes.append(f"{counted(answer.unjudged, 'older message')} with a !commit not judged.")
    if answer.unasked:
        notes.append(f"{counted(answer.unasked, 'author')} had no vote: too many roles to look up.")
    return notes
