"""Answer `!standings`: the topics on the floor as records, or the messages behind one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import recall
from recall.text import collapse, cut, words

from .. import queries
from ..deliberation import standings_request
from ..places import place_ids
from ..rendering.board_files import iso_instant
from ..rendering.cards import counted
from ..rendering.contexts import reach_text
from ..rendering.plain import Record, excerpt_field, field, frame, record
from ..rendering.trace_words import count_notes
from .answers import LineAnswer, NotAsked, Question

TOPIC_WIDTH = 60
TOPICS_NAMED = 3  # of those that are carried
EFFECTS_NAMED = 4  # of one message's lines


async def answer_standings(question: Question) -> LineAnswer:
    """Fold the standings of the place of a line, as they were before that line."""
    given = words(question.words())
    if len(given) > 1 or (given and (not given[0].startswith("#") or given[0] == "#")):
        raise NotAsked("standings")
    topic = given[0][1:] if given else None
    here, services = question.here, question.asking.services
    request = standings_request(
        services.config, here.guild.id, place_ids(here), at=question.row.sequence - 1, topic=topic
    )
    desk = await question.asking.open(here)
    found = await queries.room_standings(desk, request)
    said = " ".join(count_notes(found))
    notes = [*question.notes(), *([f"Note: {said}"] if said else []), _state(found)]
    if topic is None:
        listed = question.listed([_topic_record(one, found) for one in found.topics], named=_named(question, found))
    else:
        notes.append(f"Topic: {_topic_line(found.topics[0])}" if found.topics else "Topic: not on the floor")
        notes += map(_decision, found.decisions[:1])
        listed = question.listed(_message_records(found))
    return LineAnswer(frame("standings", listed, reach_text(found.coverage), notes=notes))


def _named(question: Question, found: queries.StandingsAnswer) -> str | None:
    """Return the place of the topic that `after` names, as it was typed or as it is shown here."""
    after = question.line.after
    if after is None:
        return None
    typed = question.text_in(after)
    return next((_shown(one.topic) for one in found.topics if typed in {f"#{one.topic}", _shown(one.topic)}), None)


def _shown(topic: str) -> str:
    return field(f"#{topic}", TOPIC_WIDTH)


def _state(found: queries.StandingsAnswer) -> str:
    carried = ", ".join(map(_shown, found.carried[:TOPICS_NAMED]))
    if len(found.carried) > TOPICS_NAMED:
        carried += f" and {len(found.carried) - TOPICS_NAMED} more"
    match found.consensus:
        case recall.Quorum():
            return f"State: quorum on {carried}"
        case recall.Deadlocked():
            return f"State: deadlocked between {carried}"
    return "State: deliberating"


def _topic_line(topic: queries.TopicReport) -> str:
    said = [
        _shown(topic.topic),
        topic.state,
        f"{len(topic.supporters)} of {topic.needed} for it",
        f"{len(topic.silenced)} silenced",
        f"{len(topic.refutations)} against it",
        counted(len(topic.questions), "open question"),
    ]
    return " · ".join(said)


def _decision(decision: queries.DecisionReport) -> str:
    """Say when a topic was last decided, and by which message."""
    whole = "" if decision.whole else " · not all that counted then was read"
    supporters = counted(len(decision.supporters), "supporter")
    return f"Decided: by ^{decision.sequence} · {iso_instant(decision.sequence)} · {supporters}{whole}"


def _topic_record(topic: queries.TopicReport, found: queries.StandingsAnswer) -> Record:
    """Make the record of a topic: the message that first stood for it, and how the topic stands."""
    first = min(said for one in (*topic.supporters, *topic.silenced) for said in one.said)
    row = found.rows.get(first)
    return record(first, None if row is None else row.author, _topic_line(topic), place=_shown(topic.topic))


def _message_records(found: queries.StandingsAnswer) -> list[Record]:
    """Make a record of each message that says something on the topic, newest first."""
    by_message = groupby(reversed(found.traces), key=lambda outcome: outcome.trace.sequence)
    return [_message_record(sequence, list(outcomes)[::-1], found) for sequence, outcomes in by_message]


def _message_record(sequence: int, outcomes: Sequence[recall.TraceOutcome], found: queries.StandingsAnswer) -> Record:
    effects = [f"{outcome.trace.kind} {outcome.effect}" for outcome in outcomes]
    if len(effects) > EFFECTS_NAMED:
        effects[EFFECTS_NAMED:] = [f"{len(effects) - EFFECTS_NAMED} more"]
    row = found.rows.get(sequence)
    source = outcomes[0].trace.text if row is None else row.content
    excerpt = cut(collapse(outcomes[0].trace.text), recall.EXCERPT_CHARS)
    return record(sequence, outcomes[0].trace.author, excerpt_field(excerpt, source), ", ".join(effects))
