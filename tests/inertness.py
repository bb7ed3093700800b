"""Read a rendered line as Discord's clients would, and say what in it is more than plain text.

An independent reading: it takes escapes off left to right and looks at what is left unescaped.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

ISOLATES = {"\u2068": 1, "\u2069": -1}
ACTIVE = set("*_~`|[]<>#:@&\\")


@dataclass(frozen=True)
class Reading:
    """Hold what a reader sees, which of it is behind a spoiler, and the unescaped markup that is left."""

    text: str
    hidden: str
    active: str
    balanced: bool


def read_line(rendered: str) -> Reading:
    text: list[str] = []
    hidden: list[str] = []
    active: list[str] = []
    inside = False
    bars = at = 0
    while at < len(rendered):
        char = rendered[at]
        if char == "\\" and at + 1 < len(rendered) and not (rendered[at + 1].isalnum() or rendered[at + 1].isspace()):
            char, at = rendered[at + 1], at + 2
        elif rendered.startswith("||", at):
            inside, bars, at = not inside, bars + 1, at + 2
            continue
        else:
            at += 1
            if char in ACTIVE:
                active.append(char)
        if char not in ISOLATES:
            text.append(char)
            if inside:
                hidden.append(char)
    return Reading("".join(text), "".join(hidden), "".join(active), bars % 2 == 0)


def is_contained(rendered: str) -> bool:
    """Say whether letters of either direction stay where they are put: what runs right to left is isolated."""
    depth = 0
    for char in rendered:
        depth += ISOLATES.get(char, 0)
        if depth < 0:
            return False
        if unicodedata.bidirectional(char) in {"R", "AL", "AN"} and not depth:
            return False
    return depth == 0
