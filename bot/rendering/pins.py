"""Show a board, and the history of pins and unpins that it is folded from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import recall
from recall.text import collapse, cut, is_blank, shown

from ..queries import PinsAnswer, Standing, WhereIs
from .cards import PLACE_CHARS, Card, Links, counted, named, paged, when
from .coverage import coverage_note
from .inert import fitted, inert, width
from .pin_rules import judged_notes, refused_words
from .spoilers import inert_excerpt, inert_text

PAGE_PINS = 12  # the whole working set, as it is by default
PAGE_EVENTS = 20
ENTRIES_WIDTH = 3_900  # what is left of a card's body is for the line above the entries
EXCERPT_WIDTH = 260  # of a pinned message's excerpt: 120 characters, each of them escaped, and spoiler bars
LABEL_CHARS = 60
NOTE_CHARS = 280
EVENT_NOTE_CHARS = 100
LABELS_NAMED = 10
GAP = "\n\n"

OTHER_PINS = (
    "Not Discord's own pins: this board is read from the !pin and !unpin lines that still stand in the channel. "
    "Delete an !unpin, and what it took off is back; edit an old message into a !pin, and it is an old pin."
)
CUT_SHORT = "What ends in … is cut here; show: export has it whole."
HOW_TO_PIN = (
    "To pin, answer a message with `!pin`, or write `!pin ^ID #label note` with the ID of a message, or its link. "
    "`!unpin ^ID` takes it off again."
)
LOOKS_FURTHER = "**Older** looks twice as far back."
NOT_READ = "*This was not read: it is older than I looked, or not in this channel.*"
GONE = "is gone, or was never in this channel"
NO_TEXT = "*This message has no text.*"
AS_LAST_SEEN = "*The line that pins this could not be read again: here it is as it was last seen.*"

_EFFECTS = {
    (recall.PinAction.PIN, recall.PinEffect.PINNED): "pinned",
    (recall.PinAction.UNPIN, recall.PinEffect.UNPINNED): "unpinned",
    (recall.PinAction.UNPIN, recall.PinEffect.NOTHING): "unpinned, to no effect,",
    (recall.PinAction.PIN, recall.PinEffect.REFUSED): "was refused to pin",
    (recall.PinAction.UNPIN, recall.PinEffect.REFUSED): "was refused to unpin",
}

Found: TypeAlias = Mapping[int, tuple[WhereIs, recall.LogMessage | None]]
"""Where pinned messages are, by sequence; one that is missing here was not read."""


@dataclass(frozen=True, slots=True)
class PinsView:
    """Hold what was asked, as far as it is shown. `page` counts from 0; `goes_on` says how to read on."""

    place: str
    links: Links
    label: str | None = None
    page: int = 0
    goes_on: str | None = None


def board_pages(answer: PinsAnswer, links: Links) -> list[list[recall.Pin]]:
    """Deal the pins of a board out to pages, newest first; the working set has pages of its own.

    Every page fits a card, whatever is found when its pinned messages are looked for.
    """
    pages: list[list[recall.Pin]] = []
    for working in (True, False):
        group = [pin for pin in answer.pins if (pin.sequence in answer.working) is working]
        pages += paged(((pin, _most_width(pin, answer, links)) for pin in group), budget=ENTRIES_WIDTH, most=PAGE_PINS)
    return pages


def board_card(answer: PinsAnswer, view: PinsView, pages: list[list[recall.Pin]], found: Found) -> Card:
    """Make the card of one of the pages that `board_pages` dealt; `found` says where its pinned messages are."""
    if not pages:
        return _card(_empty(answer, view), answer, view, pages=0)
    number = min(view.page, len(pages) - 1)
    page = pages[number]
    before = sum(map(len, pages[:number]))
    working = page[0].sequence in answer.working
    total = sum((pin.sequence in answer.working) is working for pin in answer.pins)
    head = (
        f"**Working set**, {counted(total, 'pin')}: what every agent's context here carries."
        if working
        else f"**Older pins**, {total:,}: on the board, outside of the working set."
    )
    entries = [
        pin_entry(index, pin, answer.standing(pin), *found.get(pin.sequence, ("not read", None)), view.links)
        for index, pin in enumerate(page, before + 1)
    ]
    if number == len(pages) - 1:
        entries += beyond_note(answer)
    short = any(len(pin.note or "") > NOTE_CHARS or len(pin.label or "") > LABEL_CHARS for pin in page)
    return _card(GAP.join([head, *entries]), answer, view, pages=len(pages), short=short)


def beyond_note(answer: PinsAnswer) -> list[str]:
    """Say how many live pins are not shown because a board has a bound; nothing where there are none."""
    if not answer.beyond:
        return []
    return [
        f"{counted(answer.beyond, 'older pin')} more: a board shows {len(answer.pins)}. Ask for one label to see its."
    ]


def pin_entry(  # noqa: PLR0917 - what an entry is made of
    number: int, pin: recall.Pin, standing: Standing, where: WhereIs, row: recall.LogMessage | None, links: Links
) -> str:
    """Write one pin: its label, who pinned it and when, the note, and the pinned message or what became of it."""
    lines = [_head(number, pin, links.to(pin.sequence, row)), *_note(pin.note, NOTE_CHARS)]
    if standing == "last seen":
        lines.append(AS_LAST_SEEN)
    if where == "gone":
        lines.append(f"*The pinned message {GONE}.* `!unpin ^{pin.sequence}` *takes it off the board.*")
    elif row is None:
        lines.append(NOT_READ)
    else:
        lines.append(row_excerpt(row))
    return "\n".join(lines)


def row_excerpt(row: recall.LogMessage) -> str:
    """Quote the start of a pinned message on a line of its own, at most `EXCERPT_WIDTH` wide."""
    source = row_text(row)
    if is_blank(source):
        return NO_TEXT
    start = cut(collapse(source), recall.PIN_EXCERPT_CHARS)
    return "> " + fitted(lambda chars: inert_excerpt(start, source, chars), EXCERPT_WIDTH - 2)


def row_text(row: recall.LogMessage) -> str:
    """Return the text that stands for a row: what was typed, else what is attached."""
    return shown(row.content, row.attached)


def history_events(answer: PinsAnswer, label: str | None) -> list[recall.PinEvent]:
    """Return the pins and unpins of a reach, newest first.

    With a label: those of every message that was pinned under it at some time.
    """
    events = answer.events[::-1]
    if label is None:
        return list(events)
    targets = {event.directive.target for event in events if event.directive.label == label}
    return [event for event in events if event.directive.target in targets]


def event_words(event: recall.PinEvent) -> str:
    """Say what a pin or unpin did."""
    directive = event.directive
    return _EFFECTS.get((directive.action, event.effect), f"{directive.action}: {event.effect}")


def history_pages(answer: PinsAnswer, view: PinsView) -> list[list[str]]:
    """Write the pins and unpins of a reach, newest first, dealt out to pages that fit a card."""
    lines = [event_line(event, answer, view.links) for event in history_events(answer, view.label)]
    return paged(((line, width(line) + 1) for line in lines), budget=ENTRIES_WIDTH, most=PAGE_EVENTS)


def history_card(answer: PinsAnswer, view: PinsView, pages: list[list[str]]) -> Card:
    """Make the card of one of the pages that `history_pages` dealt."""
    if not pages:
        return _card(f"**No pin and no unpin** is in this reach.\n{HOW_TO_PIN}", answer, view, pages=0)
    page = pages[min(view.page, len(pages) - 1)]
    head = f"**History**, {counted(sum(map(len, pages)), 'line')}, newest first."
    return _card("\n".join([head, "", *page]), answer, view, pages=len(pages))


def export_card(answer: PinsAnswer, view: PinsView) -> Card:
    """Make the card that comes with the files of a board."""
    if not answer.pins:
        return _card(_empty(answer, view), answer, view, pages=0)
    head = f"**The whole board**, {counted(len(answer.pins), 'pin')}, with its history, as Markdown and as JSON."
    return _card("\n".join([head, *beyond_note(answer)]), answer, view, pages=0)


def event_line(event: recall.PinEvent, answer: PinsAnswer, links: Links) -> str:
    """Write what somebody did to a pin, when, and what came of it."""
    directive = event.directive
    did = event_words(event)
    line = answer.rows.get(directive.sequence)
    target = answer.rows.get(directive.target)
    said = [
        f"{when(directive.sequence)} {named(directive.author)} [{did}]({links.to(directive.sequence, line)})",
        f"[this message]({links.to(directive.target, target)})",
    ]
    if directive.action is recall.PinAction.PIN:
        said += [*_label(directive.label), *_note(directive.note, EVENT_NOTE_CHARS)]
    return " ".join([*said, refused_words(event, answer)]).rstrip()


def _card(body: str, answer: PinsAnswer, view: PinsView, *, pages: int, short: bool = False) -> Card:
    label = "" if view.label is None else f" {inert(f'#{view.label}', LABEL_CHARS)}"
    foot = [f"Page {min(view.page, pages - 1) + 1} of {pages}."] if pages > 1 else []
    foot += judged_notes(answer.rights)
    foot += [CUT_SHORT] if short else []
    return Card(
        title=f"Pins: {inert(view.place, PLACE_CHARS)}{label}",
        body=body,
        far=coverage_note(answer.coverage, goes_on=view.goes_on),
        foot=" ".join([*foot, OTHER_PINS]),
    )


def _empty(answer: PinsAnswer, view: PinsView) -> str:
    if view.label is None:
        return f"**Nothing is pinned** in this reach.\n{HOW_TO_PIN}"
    said = f"**Nothing is pinned** under #{inert(view.label, LABEL_CHARS)} in this reach."
    if not answer.labels:
        return f"{said}\n{HOW_TO_PIN}"
    known = [f"#{inert(label, LABEL_CHARS)}" for label in answer.labels[:LABELS_NAMED]]
    rest = [f"{len(answer.labels) - LABELS_NAMED:,} more"] if len(answer.labels) > LABELS_NAMED else []
    return f"{said}\nOn the board: {', '.join(known + rest)}."


def _head(number: int, pin: recall.Pin, link: str) -> str:
    said = [f"**{number}**", *_label(pin.label), f"pinned by {named(pin.pinned_by)}", when(pin.pinned_at)]
    return " · ".join([*said, f"[jump]({link})"])


def _label(label: str | None) -> list[str]:
    return [] if label is None else [f"**#{inert(label, LABEL_CHARS)}**"]


def _note(note: str | None, chars: int) -> list[str]:
    return [] if note is None or is_blank(note) else [f"— {inert_text(note, chars)}"]


def _most_width(pin: recall.Pin, answer: PinsAnswer, links: Links) -> int:
    """Return how wide the entry of a pin can become; an excerpt gets all its room where the message is not read yet."""
    row = answer.rows.get(pin.sequence)
    lines = [_head(recall.PIN_SCAN, pin, links.to(pin.sequence, row)), *_note(pin.note, NOTE_CHARS)]
    quoted = EXCERPT_WIDTH if row is None else width(row_excerpt(row))
    doubt = 0 if answer.standing(pin) == "verified" else width(AS_LAST_SEEN) + 1
    return width("\n".join(lines)) + quoted + doubt + len(GAP) + 1
