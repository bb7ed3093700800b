r"""Marker lines: the one grammar that pins and traces are written in.

A marker is a line that starts with `!` and a known word, outside code. People and agents type them into
ordinary messages, so the grammar is narrow on purpose: exactly the word, in lower case, at the start of
a line; everything else is talk. Lines end at `\n` and nowhere else, words are parted by Unicode white
space, and an address is `^N` or `>N`, N being the sequence of a row.

    >>> [marker.words for marker in read_markers("Agreed.\n!pin ^7 #limits", {"pin"})]
    [('^7', '#limits')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from recall.masking import Dialect, code_ranges
from recall.records import SEQUENCE_LIMIT, Sequence
from recall.text import is_blank, words

__all__ = ["MARKER_WORDS", "AddressReader", "PinAction", "TraceKind", "looks_like_marker"]


class PinAction(StrEnum):
    """Name what a pin directive does; the member is the word of its marker."""

    PIN = "pin"
    UNPIN = "unpin"


class TraceKind(StrEnum):
    """Name what a trace does in a deliberation; the member is the word of its marker."""

    PROPOSE = "propose"
    SUPPORT = "support"
    OBJECT = "object"
    REFUTE = "refute"
    EVIDENCE = "evidence"
    QUESTION = "question"
    COMMIT = "commit"


MARKER_WORDS: frozenset[str] = frozenset(PinAction) | frozenset(TraceKind)

AddressReader: TypeAlias = Callable[[str], Sequence | None]
"""What a host reads in place of N where N is no number (a link to a message); null: it is no address."""

_SIGN = "!"
_LINE_END = "\r\n"
_NUMBER = re.compile(r"\+?0*([0-9]{1,20})")  # 2**64 has 20 digits; leading zeros are free
_NEARLY_A_WORD = re.compile(r"([^\W\d_]+)[\W_]*")


class Marker(NamedTuple):
    """Hold one marker line: its word, the words after it, the line from its `!` on, and where that stands."""

    word: str
    words: tuple[str, ...]
    text: str
    offset: int


def read_markers(body: str, known: Collection[str] | None = None, dialect: Dialect = "commonmark") -> Iterator[Marker]:
    """Yield the marker lines of a body in order; `known` are the words that make one (null: any word does).

    A body without a line of that form is not searched for code.
    """
    ranges: Iterator[tuple[int, int]] | None = None
    start = end = 0
    for offset, text in _signed_lines(body):
        word, *rest = words(text[len(_SIGN) :]) or [""]
        if not word or (known is not None and word not in known):
            continue
        if ranges is None:
            ranges = iter(code_ranges(body, dialect))
        while end <= offset:
            start, end = next(ranges, (len(body), len(body) + 1))
        if offset < start:
            yield Marker(word, tuple(rest), text, offset)


def _signed_lines(body: str) -> Iterator[tuple[int, str]]:
    """Yield, for each line that starts with `!`, where that stands and the line from there on."""
    sign = body.find(_SIGN)
    while sign >= 0:
        end = body.find("\n", sign)
        stop = end if end >= 0 else len(body)
        if is_blank(body[body.rfind("\n", 0, sign) + 1 : sign]):
            yield sign, body[sign:stop].rstrip(_LINE_END)
        sign = body.find(_SIGN, stop)


def is_all_markers(body: str, dialect: Dialect = "commonmark", known: Collection[str] = MARKER_WORDS) -> bool:
    """Say whether a body has lines and each that is not blank is a marker, of pins or of traces.

    Whether a marker has what it needs to take effect does not matter here. A host may have other words of its own:
    `known`.
    """
    lines = sum(not is_blank(line) for line in body.split("\n"))
    return lines > 0 and lines == sum(1 for _ in read_markers(body, known, dialect))


def looks_like_marker(body: str, dialect: Dialect = "commonmark") -> bool:
    """Say whether a line outside code is a marker of ours, or was meant to be one.

    Meant: its first word is a known one in another case, or with punctuation after it (`!PIN`, `!pin:`).
    A line that is a marker may still come to nothing; the readers of pins and traces know that.
    """
    return any(meant_word(marker.word) is not None for marker in read_markers(body, dialect=dialect))


def meant_word(word: str) -> str | None:
    """Return the known word that a marker's word is, or was meant to be; null for any other."""
    nearly = _NEARLY_A_WORD.fullmatch(word.lower())
    return nearly[1] if nearly is not None and nearly[1] in MARKER_WORDS else None


def read_address(word: str, sigil: str, address: AddressReader | None = None) -> Sequence | None:
    """Read `^N` or `>N`, whichever `sigil` says; null when the word is none.

    N is ASCII digits that fit 64 bits, one leading `+` tolerated. What is no number is handed to the
    host's `address`, whose answer has to fit 64 bits as well.
    """
    text = word.removeprefix(sigil)
    if not text or text == word:
        return None
    digits = _NUMBER.fullmatch(text)
    number = int(digits[1]) if digits else address(text) if address else None
    return number if number is not None and 0 <= number < SEQUENCE_LIMIT else None


def read_label(word: str) -> str | None:
    """Read `#label`, without its `#`; null when the word is none (a bare `#` is none)."""
    return word[1:] if word.startswith("#") and len(word) > 1 else None
