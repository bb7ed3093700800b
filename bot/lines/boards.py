"""Answer `!pins`: the board of this place, newest pin first, as records."""

from __future__ import annotations

import asyncio

import recall
from recall.text import collapse, cut, is_blank, words

from .. import queries
from ..commands.pins import read_label
from ..rendering.board_files import iso_instant
from ..rendering.contexts import reach_text
from ..rendering.pin_rules import judged_notes
from ..rendering.pins import beyond_note, row_text
from ..rendering.plain import Record, author_field, excerpt_field, field, frame, record
from .answers import LineAnswer, NotAsked, Question

LINE_PINS = 12  # pins looked at for one message: more do not fit, and each that was not read is one request
LABEL_WIDTH = 60
NOTE_WIDTH = 100
GONE, NOT_READ, NO_TEXT = "(gone)", "(not read)", "(no text)"


async def answer_pins(question: Question) -> LineAnswer:
    """Fold the board of the place of a line, as it stood before that line."""
    line, asking, here = question.line, question.asking, question.here
    given = words(question.words())
    if len(given) > 1 or (given and not given[0].startswith("#")):
        raise NotAsked("pins")
    request = queries.PinsRequest(
        label=read_label(given[0] if given else None),
        before=question.row.sequence,
        working_set=asking.settings(here).pins.limit,
    )
    desk = await asking.open(here)
    board = await queries.pins(desk, request)
    board = await queries.settle(desk, board, request, lambda found: _in_sight(found, line.after))
    sight = _in_sight(board, line.after)
    where = await asyncio.gather(*(queries.where_is(desk, board, pin.sequence) for pin in sight))
    found = {pin.sequence: place for pin, place in zip(sight, where, strict=True)}
    records = [_record(pin, board, *found.get(pin.sequence, ("not read", None))) for pin in board.pins]
    far = reach_text(board.coverage, before=None)
    return LineAnswer(frame("pins", question.listed(records), far, notes=[*question.notes(), *_notes(board)]))


def _notes(board: queries.PinsAnswer) -> list[str]:
    return [f"Note: {note}" for note in (*beyond_note(board), *judged_notes(board.rights))]


def _in_sight(board: queries.PinsAnswer, after: str | None) -> tuple[recall.Pin, ...]:
    """Return the pins that the answer can show: those behind the one that is named."""
    places = [f"^{pin.sequence}" for pin in board.pins]
    start = places.index(after) + 1 if after in places else 0
    return board.pins[start : start + LINE_PINS]


def _record(
    pin: recall.Pin, board: queries.PinsAnswer, where: queries.WhereIs, row: recall.LogMessage | None
) -> Record:
    more = [f"label {field(f'#{pin.label}', LABEL_WIDTH)}"] if pin.label is not None else []
    more.append(f"pinned by {author_field(pin.pinned_by)} at {iso_instant(pin.pinned_at)}")
    if pin.note is not None:
        more.append(f"note {field(pin.note, NOTE_WIDTH)}")
    if pin.sequence in board.working:
        more.append("working set")
    if board.standing(pin) == "last seen":
        more.append("as last seen")
    return record(pin.sequence, None if row is None else row.author, _excerpt(where, row), *more)


def _excerpt(where: queries.WhereIs, row: recall.LogMessage | None) -> str:
    if row is None:
        return GONE if where == "gone" else NOT_READ
    source = row_text(row)
    if is_blank(source):
        return NO_TEXT
    return excerpt_field(cut(collapse(source), recall.EXCERPT_CHARS), source)
