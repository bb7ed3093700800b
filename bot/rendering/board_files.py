"""Write a whole board and its history as files: Markdown for people, JSON for programs. Nothing is cut in either."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

import recall
from recall.text import collapse, cut, is_blank

from ..links import seconds_of
from ..queries import PinsAnswer, Standing, WhereIs
from .coverage import coverage_note
from .inert import inert
from .pin_rules import judged_notes, refused_words
from .pins import GONE, OTHER_PINS, Found, PinsView, beyond_note, event_words, history_events, row_text
from .spoilers import inert_excerpt, inert_text


def board_json(answer: PinsAnswer, found: Found, label: str | None = None) -> bytes:
    """Return `{"pins": […], "coverage": {…}, …}` in wire form, ids as strings; the first two as the command line does.

    `history` holds every pin and unpin still in the log, newest first, with what became of it and, where that is
    `refused`, `why`; with a label, those of what was pinned under it. `beyond` counts live pins over the bound of a
    board. `gone` and `not_read` name the pinned messages that are so; `last_seen` names those whose line could not be
    read again, so that the pin is as it was last seen.
    """
    where = {pin.sequence: found.get(pin.sequence, ("not read", None)) for pin in answer.pins}
    wire = {
        "pins": [recall.to_wire(_excerpted(pin, where[pin.sequence][1]), string_ids=True) for pin in answer.pins],
        "coverage": recall.to_wire(answer.coverage, string_ids=True),
        "beyond": answer.beyond,
        "gone": [str(sequence) for sequence, (at, _) in where.items() if at == "gone"],
        "not_read": [str(sequence) for sequence, (at, _) in where.items() if at == "not read"],
        "history": [_event_wire(event, answer) for event in history_events(answer, label)],
        "last_seen": [str(pin.sequence) for pin in answer.pins if answer.standing(pin) == "last seen"],
    }
    return msgspec.json.format(msgspec.json.encode(wire), indent=2) + b"\n"


def _event_wire(event: recall.PinEvent, answer: PinsAnswer) -> dict[str, object]:
    why = answer.refused.get(event.directive) if event.effect is recall.PinEffect.REFUSED else None
    return {**recall.to_wire(event, string_ids=True), "why": None if why is None else str(why)}


def _excerpted(pin: recall.Pin, row: recall.LogMessage | None) -> recall.Pin:
    if row is None:
        return pin
    return msgspec.structs.replace(pin, excerpt=cut(collapse(row_text(row)), recall.PIN_EXCERPT_CHARS) or None)


def board_markdown(answer: PinsAnswer, view: PinsView, found: Found) -> str:
    """Return a board as a Markdown document, newest pin first; what people wrote is escaped in it."""
    label = "" if view.label is None else f" {inert(f'#{view.label}')}"
    parts = [
        f"# Pins: {inert(view.place)}{label}",
        coverage_note(answer.coverage, instant=iso_instant),
        *judged_notes(answer.rights),
        OTHER_PINS.replace("!", "\\!"),
    ]
    for heading, working in (("Working set", True), ("Older pins", False)):
        pins = [pin for pin in answer.pins if (pin.sequence in answer.working) is working]
        if pins:
            parts.append(f"## {heading}")
            parts += [
                _entry(pin, view, answer.standing(pin), *found.get(pin.sequence, ("not read", None))) for pin in pins
            ]
    parts += beyond_note(answer)
    if not answer.pins:
        parts.append("Nothing is pinned.")
    if events := history_events(answer, view.label):
        parts += ["## History", "\n".join(_event(event, answer, view) for event in events)]
    return "\n\n".join(parts) + "\n"


def _event(event: recall.PinEvent, answer: PinsAnswer, view: PinsView) -> str:
    directive = event.directive
    label = "" if directive.label is None else f" **#{inert(directive.label)}**"
    note = "" if directive.note is None else f" — {inert_text(directive.note)}"
    author = inert(recall.author_label(directive.author)) or inert(recall.author_id(directive.author))
    line = view.links.to(directive.sequence, answer.rows.get(directive.sequence))
    target = view.links.to(directive.target, answer.rows.get(directive.target))
    said = f"- {iso_instant(directive.sequence)} {author} {event_words(event)} <{target}>"
    return f"{said}{label}{note} {refused_words(event, answer)}".rstrip() + f" (<{line}>)"


def iso_instant(sequence: int) -> str:
    """Return the instant of a message, in UTC, to the second."""
    return datetime.fromtimestamp(seconds_of(sequence), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _entry(pin: recall.Pin, view: PinsView, standing: Standing, where: WhereIs, row: recall.LogMessage | None) -> str:
    label = "" if pin.label is None else f"**#{inert(pin.label)}** "
    author = inert(recall.author_label(pin.pinned_by)) or inert(recall.author_id(pin.pinned_by))
    lines = [f"- {label}pinned by {author}, {iso_instant(pin.pinned_at)}: <{view.links.to(pin.sequence, row)}>"]
    if pin.note is not None:
        lines.append(f"  — {inert_text(pin.note)}")
    if standing == "last seen":
        lines.append("  *(the line that pins this could not be read again: it is as it was last seen)*")
    if where == "gone":
        lines.append(f"  *(the pinned message {GONE}; `!unpin ^{pin.sequence}` takes it off the board)*")
    elif row is None:
        lines.append("  *(the pinned message was not read)*")
    elif not is_blank(row_text(row)):
        lines += ["", f"  > {inert_excerpt(cut(collapse(row_text(row)), recall.PIN_EXCERPT_CHARS), row_text(row))}"]
    return "\n".join(lines)
