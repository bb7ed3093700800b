"""Offer the pins of a board's page to be taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import recall
from recall.text import is_blank

from ..queries import PinsAnswer
from .inert import plain
from .pins import PinsView, row_text

OPTION_WIDTH: Final = 100  # the most of an option's label and of its description
SPOILED: Final = "(hidden by a spoiler)"


@dataclass(frozen=True, slots=True)
class UnpinChoice:
    """Hold a pin that can be taken off: the pinned message, and how it is named."""

    target: int
    name: str
    about: str


def unpin_choices(answer: PinsAnswer, view: PinsView, pages: Sequence[Sequence[recall.Pin]]) -> tuple[UnpinChoice, ...]:
    """Return the pins of the page that is shown, numbered as they are there."""
    if not pages:
        return ()
    number = min(view.page, len(pages) - 1)
    before = sum(map(len, pages[:number]))
    return tuple(
        UnpinChoice(pin.sequence, _name(index, pin), _about(pin, answer))
        for index, pin in enumerate(pages[number], before + 1)
    )


def _name(number: int, pin: recall.Pin) -> str:
    return plain(" · ".join(_said(number, pin)), OPTION_WIDTH)


def _said(number: int, pin: recall.Pin) -> Iterator[str]:
    yield str(number)
    if pin.label is not None:
        yield f"#{pin.label}"
    yield f"pinned by {recall.author_label(pin.pinned_by)}"


def _about(pin: recall.Pin, answer: PinsAnswer) -> str:
    """Return the start of the pinned message; an option can hide nothing, so a spoiler is left out."""
    row = answer.rows.get(pin.sequence)
    text = "" if row is None else row_text(row)
    if "||" in text:
        return SPOILED
    return "" if is_blank(text) else plain(text[: 4 * OPTION_WIDTH], OPTION_WIDTH)
