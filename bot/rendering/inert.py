r"""Make text of the log inert, so that quoting it is all that quoting it does.

What somebody wrote is shown inside answers of ours. It must stay on its line, look like itself, and do nothing:
no mention, link, heading, list, emoji, timestamp or command comes of it, nothing in it is invisible, and
letters that run from right to left do not reorder what we wrote around them.

    >>> inert("**@everyone** [click](https://example.org)")
    '\\*\\*\\@everyone\\*\\* \\[click\\](https\\://example.org)'

The order is always the same: neutralise, cut between grapheme clusters, escape, and only then measure. A backslash
before punctuation is Discord's own way to say "as it stands", and its clients show the text without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from recall.text import collapse, cut

ISOLATE, END_ISOLATE = "\u2068", "\u2069"  # FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE
CLUSTER_MARKS = 8  # combining marks on one letter; scripts in use need four, more of them paint over other lines
REPLACEMENT = "\ufffd"
EMOJI_JOINER = "\u200d"

_JOINERS = f"\u200c{EMOJI_JOINER}"
_VARIATIONS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)"  # a flag such as Scotland's is spelt in tags
    "|[\x00-\x1f\x7f-\x9f]"  # controls
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # every character with the property Bidi_Control
    "|[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0]"  # ignorable
    "|[\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_STRAY = re.compile(
    f"[{_JOINERS}{_VARIATIONS}]{{2,}}"
    f"|(?<![^\x00-\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f])"  # they join letters and emoji, none in ASCII
    f"|(?:^|(?<=\\s))[{_VARIATIONS}]"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_MARKUP = re.compile(r"([\\*_~`|\[\]<>#:@&])")
_LINE_START = re.compile(r"^([0-9]*)([-+=.)])")  # lists, and what a renderer of CommonMark takes for a heading


def width(text: str) -> int:
    """Return the length of a text as Discord may count it at most: in UTF-16 units.

    Its limits are given in characters; whether the server counts code points is not documented.
    """
    return len(text) + sum(char > "\uffff" for char in text)


def neutral(text: str) -> str:
    """Return a text on one line, without what cannot be seen and what reorders; nothing is escaped yet.

    Joiners and variation selectors stay where a script or an emoji needs them.
    """
    return collapse(visible(collapse(text)))


def visible(text: str) -> str:
    """Return a text without what cannot be seen and what reorders, its white space as it is."""
    if text.isascii() and text.isprintable():
        return text
    text = _SURROGATES.sub(REPLACEMENT, text)
    text = _UNSEEN.sub(lambda found: found["flag"] or "", text)
    return _fewer_marks(_STRAY.sub(_first_if_needed, text))


def _first_if_needed(found: re.Match[str]) -> str:
    """Keep one selector of several, and an emoji's selector with the joiner to the next emoji."""
    run, before, after = found[0], found.string[: found.start()][-1:], found.string[found.end() :][:1]
    if run[0] in _JOINERS or not before or before.isspace():
        return ""
    return run if run[1:] == EMOJI_JOINER and after > "\x7f" else run[0]


def _fewer_marks(text: str) -> str:
    if text.isascii():
        return text
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        if marks <= CLUSTER_MARKS:
            kept.append(char)
    return "".join(kept)


def escaped(text: str) -> str:
    """Return a neutral line with every character escaped that Discord, or CommonMark, reads as markup."""
    return _LINE_START.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", text))


def isolated(text: str) -> str:
    """Return a line that holds letters running from right to left in an isolate, any other as it is."""
    return f"{ISOLATE}{text}{END_ISOLATE}" if _RIGHT_TO_LEFT.search(text) else text


def inert(text: str, chars: int | None = None) -> str:
    """Return a name or another short text for a place where markup counts; `chars` of it, then `…`.

    The result may have more than twice as many characters: measure it with `width`. Text that may hold
    spoilers goes through `spoilers`.
    """
    line = neutral(text)
    return isolated(escaped(line if chars is None else cut(line, chars)))


def plain(text: str, limit: int) -> str:
    """Return a text for a place where no markup counts, such as a choice's name; at most `limit` wide."""
    line = neutral(text)
    return fitted(lambda chars: isolated(cut(line, chars)), limit)


def fitted(make: Callable[[int], str], limit: int) -> str:
    """Return what `make` makes of the most characters of its text so that the result is at most `limit` wide."""
    chars = limit
    made = make(chars)
    while width(made) > limit and chars > 0:
        chars -= max(1, (width(made) - limit) // 4)  # at most four units come of one character
        made = make(max(chars, 0))
    return made if width(made) <= limit else ""
