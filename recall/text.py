r"""White space, one line, and cuts that keep together what a reader sees as one character.

Every grammar and excerpt here goes by Unicode's `White_Space` property. Python's `str.split` and
`str.strip` also eat U+001C to U+001F, which are none, so this module has its own.

    >>> collapse("a\u3000 b\n")
    'a b'
    >>> cut("needle in a haystack", 6)
    'needle…'
"""

from __future__ import annotations

import re

import regex

__all__ = [
    "ELLIPSIS",
    "WHITE_SPACE",
    "collapse",
    "cut",
    "excerpt",
    "is_blank",
    "shown",
    "strip",
    "strip_start",
    "words",
]

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Every character with Unicode's `White_Space` property, the whole list (PropList.txt)."""

ELLIPSIS = "…"

_RUNS = re.compile(f"[{re.escape(WHITE_SPACE)}]+")
_CLUSTERS = regex.compile(r"\X")
_SURE_EDGE = regex.compile(  # reversed: the last character before which a cluster surely starts (UAX 29)
    r"(?rV1)(?<!\p{GCB=Prepend})[\p{GCB=Other}--\p{ExtPict}--\p{InCB=Consonant}]"
)


def strip(text: str) -> str:
    """Return `text` without white space at either end."""
    return text.strip(WHITE_SPACE)


def strip_start(text: str) -> str:
    """Return `text` without white space at its start."""
    return text.lstrip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    """Say whether `text` holds nothing but white space."""
    return not text.strip(WHITE_SPACE)


def shown(content: str, attached: str) -> str:
    """Return the text that stands for a row where it is quoted: its content, or what is attached to a blank one."""
    return attached if is_blank(content) else content


def words(text: str) -> list[str]:
    """Split `text` at runs of white space; an empty list for a blank text."""
    if "\x1c" in text or "\x1d" in text or "\x1e" in text or "\x1f" in text:
        return [word for word in _RUNS.split(text) if word]  # str.split takes these four for white space
    return text.split()


def collapse(text: str) -> str:
    """Return `text` on one line: trimmed, each run of white space one space."""
    line = text.replace("\n", " ")
    if line.isprintable() and "  " not in line:  # nearly always, and three times faster: a space alone is printable
        return line.strip(" ")
    return " ".join(words(text))


def _edges(text: str, start: int, end: int) -> tuple[int, int]:
    """Move a cut inward, to the edges of the grapheme clusters that it would part.

    Nothing is left, and both edges are `start`, when the cut lies inside one cluster.
    """
    if text.isascii():  # on one line every ASCII character is a cluster of its own
        return start, end
    sure = _SURE_EDGE.search(text, 0, start + 1)
    first = last = None
    for cluster in _CLUSTERS.finditer(text, sure.start() if sure else 0):
        if first is None and cluster.start() >= start:
            first = last = cluster.start()
        if cluster.end() > end:
            break
        if first is not None:
            last = cluster.end()
    if first is None or last is None or first > end:
        return start, start
    return first, last


def cut(line: str, chars: int) -> str:
    """Return the whole line when it has at most `chars` characters, else its head and `…`."""
    if len(line) <= chars:
        return line
    return line[: _edges(line, 0, chars)[1]] + ELLIPSIS


def excerpt(line: str, offset: int, *, chars: int, lead: int) -> str:
    """Return `chars` characters of a line around `offset`, `…` at each end that was cut.

    It starts `lead` characters before the offset, or earlier where it would not be full otherwise.
    """
    if len(line) <= chars:
        return line
    start = min(max(0, offset - lead), len(line) - chars)
    first, last = _edges(line, start, start + chars)
    head = ELLIPSIS if first > 0 else ""
    tail = ELLIPSIS if last < len(line) else ""
    return head + line[first:last] + tail
