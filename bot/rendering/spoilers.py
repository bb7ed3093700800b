"""Keep hidden what its author hid: text between `||` and `||`, also where a quotation starts in the middle of it.

An excerpt is cut out of a message, so its bars may be outside of the cut. The whole message is read for them,
the excerpt is found in it, and what was hidden there is hidden here, between bars of our own that always pair.

    >>> inert_excerpt("…ler is the b…", "The ||killer is the butler||, of course.")
    '…||ler is the b||…'

Bars are read as a client reads them: left to right, escapes and code first, no further than the end of a
quotation. Where the two could disagree, more is hidden, never less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import recall
from recall.text import ELLIPSIS, WHITE_SPACE, collapse, cut, is_blank

from .inert import escaped, inert, isolated, visible

BAR = "||"

_SHOWN, _HIDDEN, _BAR = range(3)
_WORDS = re.compile(f"[^{re.escape(WHITE_SPACE)}]+")
_ESCAPE_OR_BAR = re.compile(r"\\[^A-Za-z0-9\s]|\|\|")
_QUOTE_SIGNS = re.compile(r"^[ >]*> ", re.MULTILINE)


def inert_text(text: str, chars: int | None = None) -> str:
    """Return a whole text that may hold spoilers, inert and on one line; `chars` characters of it, then `…`."""
    if BAR not in text:
        return inert(text, chars)
    return _rendered(*_one_line(text), chars)


def inert_excerpt(excerpt: str, source: str, chars: int | None = None) -> str:
    """Return an excerpt of `source`, inert, with everything hidden that was hidden there.

    An excerpt is what `recall.excerpt` or `recall.cut` made of the collapsed source. Where it may have come from
    more than one place, what is hidden in any of them is hidden; where from none, all of it is.
    """
    if BAR not in source:
        return inert(excerpt, chars)
    line, marks = _one_line(source)
    hidden = bytearray(len(excerpt))
    found = False
    for start, end in _cores(excerpt):
        core = excerpt[start:end]
        at = line.find(core)
        while at >= 0:
            found = True
            hidden[start:end] = bytearray(map(max, hidden[start:end], marks[at : at + len(core)]))
            at = line.find(core, at + 1)
    return _rendered(excerpt, hidden if found else bytearray([_HIDDEN]) * len(excerpt), chars)


def spoiler_ranges(body: str) -> list[tuple[int, int]]:
    """Return the half-open ranges of a body that are hidden, bars included, ascending."""
    return list(_ranges(body, 0)) if body.count(BAR) > 1 else []


def _ranges(body: str, offset: int, *, quoted: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a stretch that starts at `offset` of its body."""
    at = 0
    for start, end in [*recall.code_ranges(body, "discord"), (len(body), len(body))]:
        while at < start:
            sign = _ESCAPE_OR_BAR.search(body, at, start)
            if sign is None:
                break
            at = sign.end()
            if sign[0] != BAR:
                continue
            close = body.find(BAR, at + 1)  # at least one character is between them
            if close < 0:
                break
            at = close + len(BAR)
            yield offset + sign.start(), offset + at
        if at > start:
            continue  # a spoiler closed inside: that was no code, and what follows its close is read as text
        at = end
        if not quoted and body[start : start + 1] in {" ", ">"}:
            inside = _QUOTE_SIGNS.sub(lambda signs: " " * len(signs[0]), body[start:end])
            yield from _ranges(inside, offset + start, quoted=True)


def _one_line(body: str) -> tuple[str, bytearray]:
    """Collapse a body as `recall.collapse` does, and say of each character whether it is shown."""
    marks = bytearray(len(body))
    for start, end in spoiler_ranges(body):
        marks[start:end] = bytearray([_HIDDEN]) * (end - start)
        marks[start : start + len(BAR)] = marks[end - len(BAR) : end] = bytearray([_BAR]) * len(BAR)
    words = list(_WORDS.finditer(body))
    line = bytearray()
    for number, word in enumerate(words):
        if number:
            line.append(marks[word.start() - 1])
        line += marks[word.start() : word.end()]
    return collapse(body), line


def _cores(excerpt: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of an excerpt that may be the source's own text: with or without `…` at its ends."""
    starts = (0, 1) if excerpt.startswith(ELLIPSIS) else (0,)
    ends = (len(excerpt), len(excerpt) - 1) if excerpt.endswith(ELLIPSIS) else (len(excerpt),)
    return ((start, end) for start in starts for end in ends if start < end)


def _rendered(line: str, marks: bytearray, chars: int | None) -> str:
    """Write a line of at most `chars` characters, what is hidden between bars of our own."""
    kept = [(char, mark == _HIDDEN) for char, mark in zip(line, marks, strict=True) if mark != _BAR]
    runs = [(visible("".join(char for char, _ in run)), hidden) for hidden, run in groupby(kept, lambda pair: pair[1])]
    whole = "".join(text for text, _ in runs)
    short = whole if chars is None else cut(whole, chars)
    left = len(whole) if short == whole else len(short) - len(ELLIPSIS)
    made = []
    for text, hidden in runs:
        made.append(_hidden(text[:left]) if hidden else escaped(text[:left]))
        left -= len(text[:left])
    return isolated("".join(made).strip() + (ELLIPSIS if short != whole else ""))


def _hidden(text: str) -> str:
    """Write a stretch between bars. A bar of its own at its end would pair with ours, so a space parts them."""
    if is_blank(text):
        return text
    made = escaped(text)
    return f"{BAR}{made} {BAR}" if made.endswith("|") else f"{BAR}{made}{BAR}"
