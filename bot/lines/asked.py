"""Read the lines by which an agent asks: markers like any other, one to a message.

    !search [from:WHO] [before:TIME] [after:TIME] [sort:newest] [loose:yes] QUERY [after ^ID]
    !pins [#label] [after ^ID]
    !standings [#topic] [after ^ID | after #topic]
    !context
    !recall help

The first such line of a message is answered; how many others there are is told, because an answer to each would let
one message cause many. Options of a search stand before the query and end at the first word that is none; a value
with spaces stands in quotes. What ends in `after ^ID` is a query only in quotes.

    >>> line = read_line('!search from:"Ada L" sort:newest rate  limiter after ^12')
    >>> line.options, line.query, line.after
    ({'from': 'Ada L', 'sort': 'newest'}, 'rate  limiter', '^12')
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from recall.markers import Marker, is_all_markers, read_markers
from recall.text import WHITE_SPACE, strip

from ..queries import DIALECT

LINE_WORDS = frozenset({"search", "pins", "standings", "context", "recall"})
"""The words that ask; `recall` does so only before `help`."""

OPTIONS = ("from", "before", "after", "sort", "loose", "in")
"""What may stand before a query. `in` is read to be refused: a line reads the place where it stands."""

_SPACE = f"[{re.escape(WHITE_SPACE)}]"
_WORD = f"[^{re.escape(WHITE_SPACE)}]"
_OPTION = re.compile(rf'(?P<key>{"|".join(OPTIONS)}):(?:"(?P<quoted>[^"]*)"|(?P<bare>(?!"){_WORD}+))(?={_SPACE}|$)')
_AFTER = re.compile(rf"(?:^|{_SPACE})after{_SPACE}+(?P<place>\^[0-9]+)$")
_AFTER_TOPIC = re.compile(rf"(?:^|{_SPACE})after{_SPACE}+(?P<place>(?:\^|\\?#){_WORD}+)$")


@dataclass(frozen=True, slots=True)
class AskedLine:
    """Hold one question. `after`: the record to go on behind, with its sign; `others`: further lines of the message.

    `query` is the rest: of `!search` as it was typed, of the others their words.
    """

    word: str
    query: str
    options: Mapping[str, str] = field(default_factory=dict)
    after: str | None = None
    others: int = 0


def read_line(content: str) -> AskedLine | None:
    """Return the first line of a message's text, as it was sent, that asks something; None where none does."""
    found = _asking(unicodedata.normalize("NFC", content))
    if not found:
        return None
    first = found[0]
    rest = strip(strip(first.text[1:])[len(first.word) :])
    place = (_AFTER_TOPIC if first.word == "standings" else _AFTER).search(rest)
    if place is not None:
        rest = strip(rest[: place.start()])
    options: dict[str, str] = {}
    while first.word == "search" and (option := _OPTION.match(rest)) is not None:
        options.setdefault(option["key"], option["quoted"] if option["bare"] is None else option["bare"])
        rest = strip(rest[option.end() :])
    return AskedLine(first.word, rest, options, None if place is None else place["place"], len(found) - 1)


def only_asks(content: str) -> bool:
    """Say whether a text holds nothing but lines that ask."""
    return "!" in content and is_all_markers(content, DIALECT, LINE_WORDS)


def _asking(content: str) -> list[Marker]:
    return [
        marker
        for marker in read_markers(content, LINE_WORDS, DIALECT)
        if marker.word != "recall" or marker.words == ("help",)
    ]
