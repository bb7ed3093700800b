"""Answer `!search`: messages of this place, as records."""

from __future__ import annotations

from typing import Literal, cast

import recall
from recall.text import is_blank

from .. import queries
from ..errors import Refusal
from ..rendering.contexts import reach_text
from ..rendering.coverage import can_go_on
from ..rendering.plain import Record, excerpt_field, frame, record
from ..rendering.search import ASSUMED_UTC, LOOSENED, expression_note, hit_source
from ..times import Bound, parse_after, parse_before
from .answers import LineAnswer, NotAsked, Question
from .asked import only_asks

LINE_HITS = 200  # hits of one list, over all its messages; whoever wants more asks more exactly (a guess)


class BadChoice(Refusal):
    """Say which values an option takes."""

    template = "{key} takes {values}."

    def __init__(self, key: str, values: str) -> None:
        self.key = key
        self.values = values


class LineElsewhere(Refusal):
    """Say that everybody here may read an answer to a line, so it is about nothing but this place."""

    template = "A line asks about the place it stands in: leave out in:, or use /search."


async def answer_search(question: Question) -> LineAnswer:
    """Search the place of a line, for what is older than the line. Lines that only ask are no answers."""
    line, asking, here = question.line, question.asking, question.here
    text, options = question.words(), line.options
    if is_blank(text):
        raise NotAsked("search")
    if "in" in options:
        raise LineElsewhere
    recall.parse_query(text)
    now, upper = asking.services.now(), question.row.sequence
    before = parse_before(options["before"], now) if "before" in options else None
    after = parse_after(options["after"], now) if "after" in options else None
    order = cast(Literal["best", "newest"], _choice(question, "sort", ("best", "newest")))
    author = asking.services.desks.author(options["from"], asking.asker, here) if "from" in options else None
    request = queries.SearchRequest(
        text,
        author_id=author,
        before=upper if before is None else min(before.sequence, upper),
        after=None if after is None else after.sequence,
        order=order,
        loose=_choice(question, "loose", ("no", "yes")) == "yes",
        limit=LINE_HITS,
        scan=asking.settings(here).search.scan,
    )
    desk = await asking.open(here, after=request.after)
    found = await queries.search(desk, request, matcher=asking.services.matcher, asker=question.asker)
    records = [_record(hit, found) for hit in found.hits if not _asks(found.rows.get(hit.sequence))]
    far = reach_text(found.coverage, before=None if before is None else before.sequence)
    return LineAnswer(
        frame(
            "search",
            question.listed(records, more=found.more),
            far,
            notes=[*question.notes(), *_notes(text, found, before, after)],
            older=f"Older: the same line with before:{found.coverage.oldest} in place of any other before."
            if can_go_on(found.coverage)
            else None,
        )
    )


def _choice(question: Question, key: str, values: tuple[str, str]) -> str:
    value = question.line.options.get(key, values[0])
    if value not in values:
        raise BadChoice(key, " or ".join(values))
    return value


def _asks(row: recall.LogMessage | None) -> bool:
    return row is not None and only_asks(row.content)


def _record(hit: recall.SearchHit, found: queries.SearchAnswer) -> Record:
    source, kind = hit_source(hit, found.rows.get(hit.sequence))
    tags = [kind, "loose" if hit.kind is recall.MatchKind.SUBSEQUENCE else None]
    return record(
        hit.sequence, hit.author, excerpt_field(hit.excerpt, source), *(tag for tag in tags if tag is not None)
    )


def _notes(text: str, found: queries.SearchAnswer, *times: Bound | None) -> list[str]:
    notes = []
    if isinstance(found.pattern, recall.RegexPattern):
        notes.append(f"Note: {expression_note(text)}")
    if found.loosened:
        notes.append(f"Note: {LOOSENED}")
    if any(bound is not None and bound.assumed_utc for bound in times):
        notes.append(f"Note: {ASSUMED_UTC}")
    return notes
