"""Write standings as files: Markdown for people, JSON for programs. Nobody and no line is left out of either."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

import recall

from ..queries import DecisionReport, StandingsAnswer, TopicReport
from .board_files import iso_instant
from .coverage import coverage_note
from .inert import inert
from .pins import Found
from .spoilers import inert_excerpt
from .standings import StandingsView, edge_of
from .trace_words import count_notes, effect_words, rules_words, state_words


def standings_wire(answer: StandingsAnswer) -> dict[str, Any]:
    """Return where topics stand in wire form, ids as strings: `{"standings": […], "consensus": {…}, …}`."""
    return {
        "standings": _wired(answer.standings),
        "consensus": recall.to_wire(answer.consensus, string_ids=True),
        "topics": _wired(answer.topics),
        "decisions": _wired(answer.decisions),
        "questions": [str(sequence) for sequence in answer.questions],
        "names": dict(answer.names),
        "coverage": recall.to_wire(answer.coverage, string_ids=True),
    }


def traces_wire(answer: StandingsAnswer) -> dict[str, Any]:
    """Return what every line came to in wire form, oldest first: `{"traces": […], "coverage": {…}}`."""
    return {"traces": _wired(answer.traces), "coverage": recall.to_wire(answer.coverage, string_ids=True)}


def standings_json(answer: StandingsAnswer, found: Found) -> bytes:
    """Return both in one object, and which of the messages that lines name are `gone` or `not_read`."""
    named = [ref for ref in named_messages(answer) if not answer.grounds(ref)]
    where = {ref: found.get(ref, ("not read", None))[0] for ref in named}
    wire = {
        **standings_wire(answer),
        **traces_wire(answer),
        "gone": [str(ref) for ref, at in where.items() if at == "gone"],
        "not_read": [str(ref) for ref, at in where.items() if at != "gone"],
    }
    return msgspec.json.format(msgspec.json.encode(wire), indent=2) + b"\n"


def named_messages(answer: StandingsAnswer) -> tuple[int, ...]:
    """Return every message that a line names, in order."""
    refs: dict[int, None] = {}
    for outcome in answer.traces:
        trace = outcome.trace
        refs.update(dict.fromkeys(trace.cites if trace.target is None else (trace.target, *trace.cites)))
    return tuple(refs)


def standings_markdown(answer: StandingsAnswer, view: StandingsView, found: Found) -> str:
    """Return standings as a Markdown document; what people wrote is escaped in it."""
    writer = _Writer(answer, view, found)
    topic = "" if view.topic is None else f" {inert(f'#{view.topic}')}"
    at = "" if view.at is None else f"As of {iso_instant(view.at)}. "
    parts = [
        f"# Standings: {inert(view.place)}{topic}",
        f"**{state_words(answer, inert)}**",
        at + coverage_note(answer.coverage, before=edge_of(view.at), instant=iso_instant),
        " ".join([rules_words(answer.policy, view.electorate), *count_notes(answer)]),
        *map(writer.topic, answer.topics),
    ]
    if answer.decisions:
        parts += ["## Decisions", "\n".join(map(writer.decision, answer.decisions))]
    if answer.traces:
        parts += ["## Lines", "\n".join(map(writer.trace, answer.traces))]
    else:
        parts.append("No deliberation line.")
    return "\n\n".join(parts) + "\n"


class _Writer:
    """Write the parts of the document."""

    def __init__(self, answer: StandingsAnswer, view: StandingsView, found: Found) -> None:
        self._answer = answer
        self._view = view
        self._found = found

    def topic(self, topic: TopicReport) -> str:
        state = {"open": "", "carried": ", carried", "capped": ", stopped by its refuters"}[topic.state]
        lines = [
            f"## #{inert(topic.topic)}",
            "",
            f"{len(topic.supporters)} of {topic.needed} supporters{state}, weight {topic.weight}.",
            "",
        ]
        lines += [f"- supported by {self._name(one.author)}: {self._refs(one.said)}" for one in topic.supporters]
        lines += [
            f"- silenced {self._name(one.author)}: {self._refs(one.said)}, objected to in {self._refs(one.silenced_by)}"
            for one in topic.silenced
        ]
        lines += [
            f"- refuted by {self._name(one.author)}: {self._refs((one.sequence,))}, citing {self._refs(one.cites)}"
            for one in topic.refutations
        ]
        lines += [f"- evidence: {self._refs(topic.evidence)}"] if topic.evidence else []
        lines += [f"- open questions: {self._refs(topic.questions)}"] if topic.questions else []
        return "\n".join(lines)

    def decision(self, decision: DecisionReport) -> str:
        said = [
            f"- #{inert(decision.topic)}, recorded by {self._name(decision.author)} {self._refs((decision.sequence,))}",
            f"carried by {', '.join(map(self._name, decision.supporters))}",
        ]
        said += [f"rests on {self._refs(decision.cites)}"] if decision.cites else []
        said += [f"beside {', '.join(f'#{inert(topic)}' for topic in decision.beside)}"] if decision.beside else []
        said += [] if decision.whole else ["not all the messages that counted then were read"]
        return "; ".join(said)

    def trace(self, outcome: recall.TraceOutcome) -> str:
        trace = outcome.trace
        row = self._answer.rows.get(trace.sequence)
        quote = inert_excerpt(recall.text.collapse(trace.text), trace.text if row is None else row.content)
        author = inert(recall.author_label(trace.author)) or inert(recall.author_id(trace.author))
        said = [f"- {author} {self._refs((trace.sequence,))}: {quote}", effect_words(outcome, inert)]
        named = trace.cites if trace.target is None else (trace.target, *trace.cites)
        said += [f"names {self._refs(named)}"] if named else []
        said += [f"objected to in {self._refs(outcome.by)}"] if outcome.by else []
        return "; ".join(said)

    def _name(self, author_id: str) -> str:
        author = self._answer.authors.get(author_id)
        return inert(author_id if author is None else recall.author_label(author) or author_id)

    def _refs(self, sequences: Iterable[int]) -> str:
        return ", ".join(map(self._ref, sequences))

    def _ref(self, sequence: int) -> str:
        row = self._answer.rows.get(sequence)
        if self._answer.grounds(sequence):
            return f"[{iso_instant(sequence)}]({self._view.links.to(sequence, row)})"
        where, row = self._found.get(sequence, ("not read", None))
        if where == "gone":
            return f"{sequence} (gone)"
        return f"[{sequence}]({self._view.links.to(sequence, row)}) (not read)"


def _wired(values: Iterable[recall.Value]) -> list[dict[str, Any]]:
    return [recall.to_wire(value, string_ids=True) for value in values]
