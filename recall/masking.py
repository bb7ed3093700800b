r"""Which text of a message is code, so that nothing quoted acts.

A marker inside a code block is an example, not an order. Every grammar here asks this one scanner, and
none has a scanner of its own. It reads two dialects: `commonmark`, blocks and spans by columns from the
left margin (lists and quotes are not recognised), and `discord`, what the Discord client shows as code
or as a quotation.

Ranges are half-open, in characters, ascending, and not merged where they touch. Both dialects take time
in proportion to the body, whatever was typed.

    >>> code_ranges("say `a`\n```\nb\n```")
    ((4, 7), (8, 17))
    >>> code_ranges("> quoted\nnot quoted", "discord")
    ((0, 9),)
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Literal, TypeAlias

__all__ = ["Dialect", "code_ranges"]

Dialect: TypeAlias = Literal["commonmark", "discord"]
Span: TypeAlias = tuple[int, int]

_TICKS = re.compile("`+")
_ESCAPE_OR_TICKS = re.compile(r"\\.|`+", re.DOTALL)

# What kind of line stands at a position; carriage returns at its end are ignored. Repeats are possessive
# wherever they could otherwise be tried again, so that no line costs more than its length.
_LINE = re.compile(
    r"""
      (?P<blank>     [ \t]*+ \r*+ $)
    | (?P<indented>  [ ]{4} | [ ]{0,3}\t)
    | [ ]{0,3}+ (?:
        (?P<fence>     `{3,}+ (?= [^`\n]*+ $) | ~{3,}+)
      | (?P<heading>   [#]{1,6}+ (?: [ \t] | \r*+ $))
      | (?P<rule>      (?: (?: -[ \t]*+ ){3,} | (?: _[ \t]*+ ){3,} | (?: [*][ \t]*+ ){3,} ) \r*+ $)
      | (?P<underline> (?: =++ | -++ ) [ \t]*+ \r*+ $)
      )
    """,
    re.MULTILINE | re.VERBOSE,
)
_CLOSING_FENCE = re.compile(r"[ ]{0,3}+(`{3,}+|~{3,}+)[ \t]*+\r*+$", re.MULTILINE)

# Where a rule of the client may fit. An escaped character other than these two opens nothing anyway.
_DISCORD = re.compile(
    r"""
      (?P<escape>    \\[\\`] )
    | (?P<quotation> ^[ ]*+ (?: >>>[ ] [\s\S]*+ | >[ ][^\n]*+ (?: \n[ ]*+>[ ][^\n]*+ )* \n?+ ) )
    | (?P<tick>      ` )
    """,
    re.MULTILINE | re.VERBOSE,
)
_DISCORD_FENCE = "```"
_DISCORD_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]++\n")
_NOT_LINE_END = re.compile(r"[^\n]")


def code_ranges(body: str, dialect: Dialect = "commonmark") -> tuple[Span, ...]:
    """Return the ranges of `body` that are code; in the dialect `discord` also those that are quoted.

    `commonmark`: the range of a fence or an indented block holds its final line end; spans pair inside
    the block that their opener stands in. `discord`: the client's rules, from left to right, the first
    that fits; no tilde fences, no indented code. A code range holds its backticks in both.
    """
    return tuple(_discord(body) if dialect == "discord" else _commonmark(body))


class _Runs:
    """Know where every run of backticks stands, so that none is scanned again for each opener before it."""

    def __init__(self, body: str) -> None:
        self._ends: list[int] = []
        self._starts: dict[int, list[int]] = {}  # by length
        for run in _TICKS.finditer(body):
            self._ends.append(run.end())
            self._starts.setdefault(run.end() - run.start(), []).append(run.start())

    def end_of(self, at: int) -> int:
        """Return the end of the run in which a backtick stands."""
        return self._ends[bisect_right(self._ends, at)]

    def end_of_next(self, length: int, at: int) -> int | None:
        """Return the end of the first whole run of exactly `length` at or after `at`."""
        starts = self._starts.get(length, [])
        index = bisect_left(starts, at)
        return starts[index] + length if index < len(starts) else None


def _commonmark(body: str) -> list[Span]:
    """Return the ranges of the dialect `commonmark`: one pass over the lines, one over each block's inside."""
    if not any(sign in body for sign in ("`", "~~~", "\t", "    ")):
        return []  # nothing here can open code
    ranges: list[Span] = []
    runs = _Runs(body)
    at = inside = 0  # inside: where the block in which spans pair began
    paragraph = False
    while at < len(body):
        kind, mark = _line(body, at)
        end = _next_line(body, at)
        if kind == "text" or (kind == "indented" and paragraph):
            paragraph = True
            at = end
            continue
        ranges += _spans(body, runs, inside, at)
        if kind == "fence":
            end = _fence_end(body, end, mark)
            ranges.append((at, end))
        elif kind == "indented":
            end = _indented_end(body, end)
            ranges.append((at, end))
        elif kind == "heading":
            ranges += _spans(body, runs, at, end)
        paragraph = kind == "underline" and not paragraph  # with nothing above it, it is a paragraph's text
        at = inside = end
    return ranges + _spans(body, runs, inside, len(body))


def _line(body: str, at: int) -> tuple[str, str]:
    """Return the kind of the line that starts at a position, and what marks it as one."""
    found = _LINE.match(body, at)
    if found is None or found.lastgroup is None:
        return "text", ""
    return found.lastgroup, found[found.lastgroup]


def _next_line(body: str, at: int) -> int:
    return body.find("\n", at) + 1 or len(body)


def _fence_end(body: str, at: int, opener: str) -> int:
    """Return where the fence ends whose content starts at `at`: after its closing line, or with the body."""
    while at < len(body):
        closing = _CLOSING_FENCE.match(body, at)
        at = _next_line(body, at)
        if closing is not None and closing[1].startswith(opener):
            break
    return at


def _indented_end(body: str, at: int) -> int:
    """Return where the indented block ends whose first line ends at `at`: after its last line not blank."""
    end = at
    while at < len(body):
        kind, _ = _line(body, at)
        at = _next_line(body, at)
        if kind == "indented":
            end = at
        elif kind != "blank":
            break
    return end


def _spans(body: str, runs: _Runs, at: int, end: int) -> list[Span]:
    """Return the inline spans of the dialect `commonmark` between two positions."""
    spans: list[Span] = []
    while (found := _ESCAPE_OR_TICKS.search(body, at, end)) is not None:
        start, at = found.span()
        if body[start] == "\\":
            continue
        closed = runs.end_of_next(at - start, at)
        if closed is not None and closed <= end:
            spans.append((start, closed))
            at = closed
    return spans


def _discord(body: str) -> list[Span]:
    """Return the ranges of the dialect `discord`."""
    if "`" not in body and "> " not in body:
        return []
    ranges: list[Span] = []
    runs = _Runs(body)
    at = 0
    while (found := _DISCORD.search(body, at)) is not None:
        start, at = found.span()
        if found.lastgroup == "quotation":
            ranges.append((start, at))
        elif found.lastgroup == "tick":
            run_end = runs.end_of(start)
            closed = _discord_code_end(body, runs, start, run_end)
            if closed is not None:
                ranges.append((start, closed))
            at = closed or run_end  # what does not fit at the start of a run fits nowhere in it
    return ranges


def _discord_code_end(body: str, runs: _Runs, start: int, end: int) -> int | None:
    """Return where the code ends that is opened by the backticks from `start` to `end`, null if it is none."""
    if end - start >= len(_DISCORD_FENCE):
        content = start + len(_DISCORD_FENCE)
        language = _DISCORD_LANGUAGE.match(body, content)
        for begin in (language.end(), content) if language else (content,):
            first = _NOT_LINE_END.search(body, begin)
            closing = body.find(_DISCORD_FENCE, first.end()) if first else -1
            if closing >= 0:
                return closing + len(_DISCORD_FENCE)
    # A run gives up its backticks one by one. All runs together have no more of them than the body has characters.
    lengths = range(end - start, 0, -1)
    return next((closed for length in lengths if (closed := runs.end_of_next(length, end)) is not None), None)
