r"""Write a text of anybody's inside double quotes, so that nothing in it is hidden and nothing ends the quotation.

What stands in a prompt is read by a model that cannot see where our words end and another's begin, unless
that is written down. So a quotation stays on its line, and what cannot be seen, or reorders what can, is
written out: a line end as `\n`, any other such character as `\u{200b}`. Nothing is lost by it: `unquoted`
gives back exactly the text that was quoted.

    >>> print(quoted('say "hi"\n' + chr(0x200B)))
    "say \"hi\"\n\u{200b}"

Joiners inside emoji and Persian words are written out as well. They have no look of their own, and a run of
them can spell what no reader of the room saw.
"""

from __future__ import annotations

import re

from recall.text import cut

__all__ = ["quoted", "unquoted", "written_out"]

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG = {short[1]: char for char, short in _SHORT.items()}

# Not a category of `unicodedata`, which differs between versions of Python: the same text is quoted alike on all.
_UNSEEN = re.compile(
    r'[\\"'
    "\x00-\x1f\x7f-\x9f"  # controls
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"  # selectors, and marks for annotations
    "\ud800-\udfff"  # halves of a pair, which no encoding takes
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WRITTEN = re.compile(r'\\(?:u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}|([\\"nrt]))')


def _write(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{{{ord(found[0]):x}}}"


def _read(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _LONG[found[2]]


def written_out(text: str, chars: int | None = None) -> str:
    """Return a text on one line of printable characters, as it stands between quotes.

    Cut, with `…`, where that has more than `chars` characters: it is the result that is bounded, since one
    character may be written with ten.
    """
    written = _UNSEEN.sub(_write, text)
    if chars is None or len(written) <= chars:
        return written
    room, kept = chars, 0
    for char in text:
        room -= len(_UNSEEN.sub(_write, char))
        if room < 0:
            break
        kept += 1
    return _UNSEEN.sub(_write, cut(text, kept))


def quoted(text: str, chars: int | None = None) -> str:
    """Return `written_out` between double quotes."""
    return f'"{written_out(text, chars)}"'


def unquoted(written: str) -> str:
    """Return the text that `written_out` was given, where it was not cut."""
    return _WRITTEN.sub(_read, written)
