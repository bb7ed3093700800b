"""Show where the topics of a room stand, what was decided, and what every line came to.

Every number leads back to messages. A message that a line names is a link; where it is gone, or was not read, it
says so, and then it grounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import recall
from recall.text import cut

from ..queries import Advocacy, DecisionReport, Electorate, Refutation, StandingsAnswer, TopicReport, WhereIs
from .cards import PLACE_CHARS, Card, Links, counted, named, paged, when
from .coverage import coverage_note
from .inert import inert, width
from .pins import Found
from .spoilers import inert_excerpt
from .trace_words import count_notes, effect_words, rules_words, state_words

PAGE_TOPICS = 10
PAGE_TRACES = 12
ENTRIES_WIDTH = 3_800  # what is left of a card's body is for the lines above the entries
NAMES_TRIED = (8, 4, 2, 1)  # people named of each side, fewer where that makes an entry too wide
REFS_SHOWN = 4  # messages linked of each list before the rest is only counted
TOPIC_CHARS = 60
LINE_CHARS = 120  # quoted of a trace's line
GAP = "\n\n"

HOW_TO_DELIBERATE = (
    "`!propose #topic text` puts an option on the floor, `!support #topic ^ID text` stands behind it, "
    "`!object >ID ^ID text` answers its advocate, `!commit #topic` records what is carried. As a reply, "
    "`!support #topic` rests on the message you answer."
)
LOOKS_FURTHER = "**Older** looks twice as far back."
_AWAY: Mapping[WhereIs, str] = {"gone": "*(gone)*", "not read": "*(not read)*", "here": "*(older than I looked)*"}
_WIDER = "0" * 5  # a thread's id may have more digits than that of the place


@dataclass(frozen=True, slots=True)
class StandingsView:
    """Hold what was asked, as far as it is shown. `page` counts from 0; `goes_on` says how to read on.

    `at`: the message that the standing is as of, null for now; `assumed_utc`: it was a time without an offset.
    """

    place: str
    links: Links
    electorate: Electorate = field(default_factory=Electorate)
    topic: str | None = None
    at: int | None = None
    assumed_utc: bool = False
    page: int = 0
    goes_on: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one entry of a page: a topic, a decision or a trace, and the messages that it names."""

    about: TopicReport | DecisionReport | recall.TraceOutcome
    refs: tuple[int, ...] = ()


def standing_pages(answer: StandingsAnswer, view: StandingsView) -> list[list[Entry]]:
    """Deal topics, then decisions, out to pages; each fits a card, whatever is found of the messages named."""
    entries = [Entry(topic, _shown_cites(topic)) for topic in answer.topics]
    entries += [Entry(decision, decision.cites[:REFS_SHOWN]) for decision in answer.decisions]
    return _dealt(entries, answer, view, PAGE_TOPICS)


def trace_pages(answer: StandingsAnswer, view: StandingsView) -> list[list[Entry]]:
    """Deal traces out to pages, newest first."""
    entries = [Entry(outcome, _named_by(outcome.trace)) for outcome in reversed(answer.traces)]
    return _dealt(entries, answer, view, PAGE_TRACES)


def standings_card(answer: StandingsAnswer, view: StandingsView, pages: list[list[Entry]], found: Found) -> Card:
    """Make the card of one page that `standing_pages` dealt; `found` says where what it names is."""
    head = f"**{state_words(answer, _topic_text)}**"
    if not pages:
        empty = "No topic is on the floor" if view.topic is None else f"#{_topic_text(view.topic)} is not on the floor"
        known = [f"#{_topic_text(topic)}" for topic in answer.floor[:PAGE_TOPICS]]
        on_floor = f"\nOn the floor: {', '.join(known)}." if known else ""
        return _card(f"{head}\n{empty} in this reach.{on_floor}\n{HOW_TO_DELIBERATE}", answer, view, pages=0)
    lines = [head]
    for number, entry in enumerate(pages[min(view.page, len(pages) - 1)]):
        if isinstance(entry.about, DecisionReport) and (not number or _is_topic(pages, view, number - 1)):
            lines.append(f"**Decisions**, {len(answer.decisions):,} in this reach, newest first:")
        lines.append(entry_text(entry, answer, view, found))
    return _card(GAP.join(lines), answer, view, pages=len(pages))


def traces_card(answer: StandingsAnswer, view: StandingsView, pages: list[list[Entry]], found: Found) -> Card:
    """Make the card of one page that `trace_pages` dealt."""
    if not pages:
        return _card(f"**No deliberation line** is in this reach.\n{HOW_TO_DELIBERATE}", answer, view, pages=0)
    page = pages[min(view.page, len(pages) - 1)]
    nothing = sum(not outcome.effect.deposits for outcome in answer.traces)
    head = f"**Lines**, {len(answer.traces):,}, newest first; {nothing:,} came to nothing or no longer count."
    entries = [entry_text(entry, answer, view, found) for entry in page]
    return _card(GAP.join([head, *entries]), answer, view, pages=len(pages))


def export_card(answer: StandingsAnswer, view: StandingsView) -> Card:
    """Make the card that comes with the files."""
    topics, lines = counted(len(answer.topics), "topic"), counted(len(answer.traces), "line")
    said = f"**{state_words(answer, _topic_text)}**\n{topics}, {lines}, as Markdown and as JSON."
    return _card(said, answer, view, pages=0)


def entry_text(entry: Entry, answer: StandingsAnswer, view: StandingsView, found: Found | None) -> str:
    """Write one entry; with no `found`, as wide as it can become."""
    writer = _Writer(answer, view.links, found)
    match entry.about:
        case TopicReport() as topic:
            widest = writer if found is None else _Writer(answer, view.links, None)
            fit = (names for names in NAMES_TRIED if width(widest.topic(topic, names)) < ENTRIES_WIDTH)
            return writer.topic(topic, next(fit, 0))
        case DecisionReport() as decision:
            return writer.decision(decision)
        case outcome:
            return writer.trace(outcome)


class _Writer:
    """Write parts of entries."""

    def __init__(self, answer: StandingsAnswer, links: Links, found: Found | None) -> None:
        self._answer = answer
        self._links = links
        self._found = found

    def topic(self, topic: TopicReport, names: int) -> str:
        count = f"{len(topic.supporters):,} of {topic.needed:,}"
        state = {"open": "", "carried": " · **carried**", "capped": " · stopped by its refuters"}[topic.state]
        lines = [f"**#{_topic_text(topic.topic)}** · {count} supporters{state} · weight {topic.weight:,}"]
        lines += self._side("supported by", topic.supporters, names)
        lines += self._side("silenced", topic.silenced, names)
        lines += self._refuted(topic.refutations, names)
        if topic.evidence:
            lines.append(f"evidence {self._said(topic.evidence)}")
        if topic.questions:
            lines.append(f"open questions {self._said(topic.questions)}")
        return "\n".join(lines)

    def decision(self, decision: DecisionReport) -> str:
        by = ", ".join(self._name(author) for author in decision.supporters[: NAMES_TRIED[1]])
        more = len(decision.supporters) - NAMES_TRIED[1]
        recorded = f"**#{_topic_text(decision.topic)}** [recorded]({self._link(decision.sequence)})"
        carried = f"carried by {by}{f' and {more:,} more' if more > 0 else ''}"
        said = [f"{recorded} by {self._name(decision.author)} {when(decision.sequence)}, {carried}."]
        if decision.cites:
            said.append(f"Rests on {self._refs(decision.cites)}.")
        if decision.beside:
            beside = ", ".join(f"#{_topic_text(topic)}" for topic in decision.beside[:3])
            said.append(f"Carried beside it: {beside}.")
        if not decision.whole:
            said.append("*Not all the messages that counted then were read.*")
        return " ".join(said)

    def trace(self, outcome: recall.TraceOutcome) -> str:
        trace = outcome.trace
        kind = f"[{trace.kind}]({self._link(trace.sequence)})"
        topic = "" if trace.topic is None else f" **#{_topic_text(trace.topic)}**"
        said = [f"{when(trace.sequence)} {named(trace.author)} {kind}{topic}: {effect_words(outcome, _topic_text)}."]
        if trace.target is not None:
            said.append(f"To {self._refs((trace.target,))}.")
        if trace.cites:
            said.append(f"Cites {self._refs(trace.cites)}.")
        if outcome.by:
            said.append(f"Objected to in {self._said(outcome.by)}.")
        row = self._answer.rows.get(trace.sequence)
        source = trace.text if row is None else row.content
        return " ".join(said) + f"\n> {inert_excerpt(cut(recall.text.collapse(trace.text), LINE_CHARS), source)}"

    def _side(self, word: str, side: Sequence[Advocacy], names: int) -> list[str]:
        if not side:
            return []
        said = []
        for advocacy in side[:names]:
            by = f" (objected to in {self._said(advocacy.silenced_by)})" if advocacy.silenced_by else ""
            said.append(f"{self._name(advocacy.author)} {self._said(advocacy.said)}{by}")
        return [f"{word} {_listed(said, len(side))}"]

    def _refuted(self, refutations: Sequence[Refutation], names: int) -> list[str]:
        if not refutations:
            return []
        said = [
            f"{self._name(one.author)} {self._said((one.sequence,))} citing {self._refs(one.cites)}"
            for one in refutations[:names]
        ]
        return [f"refuted by {_listed(said, len(refutations))}"]

    def _name(self, author_id: str) -> str:
        author = self._answer.authors.get(author_id)
        return f"**{inert(author_id)}**" if author is None else named(author)

    def _link(self, sequence: int) -> str:
        row = self._answer.rows.get(sequence)
        return self._links.to(sequence, row)

    def _said(self, sequences: Sequence[int]) -> str:
        """Link messages that were read, by their number in the list."""
        links = [f"[{number}]({self._link(one)})" for number, one in enumerate(sequences[:REFS_SHOWN], 1)]
        return _listed(links, len(sequences), glue=" ")

    def _refs(self, sequences: Sequence[int]) -> str:
        """Link messages that a line names, and say where one is that grounds nothing."""
        return _listed([self._ref(n, one) for n, one in enumerate(sequences[:REFS_SHOWN], 1)], len(sequences))

    def _ref(self, number: int, sequence: int) -> str:
        if self._answer.grounds(sequence):
            return f"[{number}]({self._link(sequence)})"
        if sequence in self._answer.rows:
            return f"[{number}]({self._link(sequence)}) *(a notice of Discord)*"
        if self._found is None:
            return f"[{number}]({self._links.to(sequence)}{_WIDER}) {_AWAY['here']}"
        where, row = self._found.get(sequence, ("not read", None))
        if where == "gone":
            return _AWAY["gone"]
        return f"[{number}]({self._links.to(sequence, row)}) {_AWAY[where]}"


def edge_of(at: int | None) -> int | None:
    """Return where the window of a standing ends, for the words on its reach; null for the newest message."""
    return None if at is None else at + 1


def _is_topic(pages: list[list[Entry]], view: StandingsView, number: int) -> bool:
    return isinstance(pages[min(view.page, len(pages) - 1)][number].about, TopicReport)


def _dealt(entries: Iterable[Entry], answer: StandingsAnswer, view: StandingsView, most: int) -> list[list[Entry]]:
    wide = ((entry, width(entry_text(entry, answer, view, None)) + len(GAP) + 2) for entry in entries)
    return paged(wide, budget=ENTRIES_WIDTH, most=most)


def _shown_cites(topic: TopicReport) -> tuple[int, ...]:
    shown = topic.refutations[: NAMES_TRIED[0]]
    return tuple(dict.fromkeys(cite for one in shown for cite in one.cites[:REFS_SHOWN]))


def _named_by(trace: recall.Trace) -> tuple[int, ...]:
    cites = trace.cites[:REFS_SHOWN]
    return cites if trace.target is None else (trace.target, *cites)


def _listed(said: list[str], total: int, *, glue: str = ", ") -> str:
    if not said:
        return f"{total:,}"
    return glue.join(said) + (f" and {total - len(said):,} more" if total > len(said) else "")


def _topic_text(topic: str) -> str:
    return inert(topic, TOPIC_CHARS)


def _card(body: str, answer: StandingsAnswer, view: StandingsView, *, pages: int) -> Card:
    topic = "" if view.topic is None else f" {inert(f'#{view.topic}', TOPIC_CHARS)}"
    at = "" if view.at is None else f"As of {when(view.at)}{' (read as UTC)' if view.assumed_utc else ''}. "
    foot = [f"Page {min(view.page, pages - 1) + 1} of {pages}."] if pages > 1 else []
    return Card(
        title=f"Standings: {inert(view.place, PLACE_CHARS)}{topic}",
        body=body,
        far=at + coverage_note(answer.coverage, before=edge_of(view.at), goes_on=view.goes_on),
        foot=" ".join([*foot, rules_words(answer.policy, view.electorate), *count_notes(answer)]),
    )
