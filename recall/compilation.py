"""Make the context of a turn fit a budget: fold old rows into summaries, and never drop or cut one.

A long turn compiles its context many times, each time over more rows. The newest rows and the pinned ones
stay as they are; where the rest is too much, summaries that the host has made stand in for the oldest
stretches, as few of them as will do. A summary stands in only where nothing can be lost by it: every row that
it covers is here, and so is every row after it. Anything else is refused, since a prompt with a hole in it
reads as complete.

    compilation = compile_context(rows, 20_000, summaries=summaries, pins=[(412, 415)], tail=6_000)
    compilation.parts()      # rows and summaries in the order to be read
    compilation.newest       # what a read mark moves to, when this is sent
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from itertools import accumulate, compress, takewhile
from typing import NamedTuple, TypeAlias

from recall.errors import OverBudget, SummaryRefused
from recall.log import Coverage
from recall.records import LogMessage, Sequence, Value
from recall.text import is_blank

__all__ = [
    "Compilation",
    "RowRange",
    "Summary",
    "Whereabouts",
    "compile_context",
    "part_text",
    "resolve_range",
    "whereabouts",
    "whole_range",
]


class RowRange(NamedTuple):
    """Name a stretch of the log by its ends, both included; they need not be rows themselves."""

    first: Sequence
    last: Sequence


class Summary(Value, frozen=True):
    """Hold a text that may stand in for the rows from `first` to `last`, both included, as its maker saw them.

    It tells what each of those rows said, so whoever keeps it lets go of it when one is edited or deleted.
    """

    first: Sequence
    last: Sequence
    text: str


Part: TypeAlias = LogMessage | Summary


class Compilation(Value, frozen=True):
    """Hold a context that fits: raw rows and the summaries between them, each in chronological order.

    `pinned` are the rows that are raw because they are pinned, `newest` is the newest row carried (null for
    an empty context), and `total` what it all comes to.
    """

    rows: tuple[LogMessage, ...]
    summaries: tuple[Summary, ...]
    pinned: tuple[Sequence, ...]
    newest: Sequence | None
    total: int

    def parts(self) -> tuple[Part, ...]:
        """Return rows and summaries in the order to be read."""
        parts: list[Part] = [*self.summaries, *self.rows]
        return tuple(sorted(parts, key=lambda part: part.first if isinstance(part, Summary) else part.sequence))


class Whereabouts(StrEnum):
    """Answer where a row is: read and `here`, `gone` from the log, or `not_read`."""

    HERE = "here"
    GONE = "gone"
    NOT_READ = "not_read"


def whole_range(coverage: Coverage, newest: Sequence | None) -> RowRange | None:
    """Return the stretch of a log that a walk has read without a hole; null where it read nothing.

    `newest` is the newest row that the walk read. What is newer may have come since: of it nothing is known.
    """
    if coverage.oldest is None or newest is None:
        return None
    return RowRange(0 if coverage.beginning else coverage.oldest, newest)


def whereabouts(sequence: Sequence, present: Collection[Sequence], whole: Iterable[tuple[int, int]]) -> Whereabouts:
    """Say where a row is, given the rows that are present and the stretches that were read without a hole.

    A row inside such a stretch that is not present is gone: deleted, or not this reader's to see.
    """
    if sequence in present:
        return Whereabouts.HERE
    read = any(first <= sequence <= last for first, last in whole)
    return Whereabouts.GONE if read else Whereabouts.NOT_READ


def resolve_range(wanted: tuple[int, int], present: list[Sequence]) -> RowRange | None:
    """Move the ends of a range inwards to rows that are present (ascending); null where none is left in it."""
    start, stop = bisect_left(present, wanted[0]), bisect_right(present, wanted[1])
    return RowRange(present[start], present[stop - 1]) if start < stop else None


def part_text(part: Part) -> str:
    """Return what a row or a summary puts into a context, unless a host writes it otherwise."""
    if isinstance(part, Summary):
        return part.text
    return part.content if is_blank(part.attached) else f"{part.content}\n{part.attached}"


def compile_context(
    rows: Iterable[LogMessage],
    budget: int,
    *,
    summaries: Iterable[Summary],
    pins: Iterable[tuple[int, int]],
    tail: int,
    measure: Callable[[str], int] = len,
    write: Callable[[Part], str] = part_text,
    whole: Iterable[tuple[int, int]] | None = None,
) -> Compilation:
    """Fit rows into a budget; nothing is dropped, no row is cut, and no summary is used without need.

    Rows may come in any order; of one that came twice the last stands. Raw stay the rows in the ranges that
    `pins` holds, and the `tail`: the newest rows while they come to at most that, the newest always. A summary
    that touches either is left out. The others stand in from the oldest on, until the total fits; of
    summaries that overlap, those that save most. `measure` counts what `write` makes of a row or a summary.

    `whole` are the stretches of the log that the rows were read from without a hole; null: the rows are all
    there is from the oldest of them to the newest. Raises `SummaryRefused` for a summary whose ends are not
    among the rows, or which no such stretch joins to the newest row, whether or not it would be needed; and
    `OverBudget` where the least total is still too much.
    """
    layout = _lay_out(rows, pins, tail, lambda row: measure(write(row)))
    offered = tuple(summaries)
    _refuse_holes(offered, layout.present, whole)
    over = sum(layout.sizes) - budget
    used: tuple[_Fold, ...] = ()
    if over > 0:
        used = _oldest_that_save(_folds(offered, layout, lambda summary: measure(write(summary))), over)
        over -= sum(fold.saves for fold in used)
    covered = [False] * len(layout.rows)
    for fold in used:
        covered[fold.start : fold.stop] = [True] * (fold.stop - fold.start)
    if over > 0:
        raise _over_budget(layout, covered, budget, over)
    return Compilation(
        rows=tuple(row for row, is_covered in zip(layout.rows, covered, strict=True) if not is_covered),
        summaries=tuple(fold.summary for fold in used),
        pinned=tuple(compress(layout.present, layout.pinned)),
        newest=layout.present[-1] if layout.present else None,
        total=budget + over,
    )


class _Layout(NamedTuple):
    """Hold the rows in order, with what each comes to and whether it is pinned, and where the tail starts."""

    rows: list[LogMessage]
    present: list[Sequence]
    sizes: list[int]
    pinned: list[bool]
    tail_start: int


def _lay_out(
    rows: Iterable[LogMessage], pins: Iterable[tuple[int, int]], tail: int, size: Callable[[LogMessage], int]
) -> _Layout:
    ordered = sorted({row.sequence: row for row in rows}.values(), key=lambda row: row.sequence)
    present = [row.sequence for row in ordered]
    sizes = [size(row) for row in ordered]
    edges = [0] * (len(ordered) + 1)
    for pin in pins:
        if (found := resolve_range(pin, present)) is not None:
            edges[bisect_left(present, found.first)] += 1
            edges[bisect_right(present, found.last)] -= 1
    pinned = [depth > 0 for depth in accumulate(edges[:-1])]
    newest_first = accumulate(reversed(sizes))
    kept = max(1, sum(1 for _ in takewhile(lambda reached: reached <= tail, newest_first)))
    return _Layout(ordered, present, sizes, pinned, max(0, len(ordered) - kept))


def _refuse_holes(
    summaries: tuple[Summary, ...], present: list[Sequence], whole: Iterable[tuple[int, int]] | None
) -> None:
    """Let only summaries pass that one stretch without a hole joins to the newest row."""
    if whole is None:
        whole = [(present[0], present[-1])] if present else []
    stretches: list[RowRange] = []
    for first, last in sorted(whole):
        if stretches and first <= stretches[-1].last + 1:
            stretches[-1] = RowRange(stretches[-1].first, max(last, stretches[-1].last))
        else:
            stretches.append(RowRange(first, last))
    here = set(present)
    for summary in summaries:
        first, last = summary.first, summary.last
        end = next((stretch.last for stretch in stretches if stretch.first <= first <= stretch.last), -1)
        if not (first <= last <= end and first in here and last in here):
            raise SummaryRefused(first=first, last=last, hole="range")
        if end < present[-1]:
            raise SummaryRefused(first=first, last=last, hole="tail")


class _Fold(NamedTuple):
    """Hold what a summary would do: the places of the rows it stands in for, half-open, and what that saves."""

    start: int
    stop: int
    saves: int
    summary: Summary


def _folds(summaries: tuple[Summary, ...], layout: _Layout, size: Callable[[Summary], int]) -> list[_Fold]:
    """Return the folds that touch no raw row and save something, by their ends."""
    reached = [0, *accumulate(layout.sizes)]
    raw = [0, *accumulate(layout.pinned)]
    found: list[_Fold] = []
    for summary in summaries:
        start, stop = bisect_left(layout.present, summary.first), bisect_right(layout.present, summary.last)
        if stop <= layout.tail_start and raw[start] == raw[stop]:
            saves = reached[stop] - reached[start] - size(summary)
            if saves > 0:
                found.append(_Fold(start, stop, saves, summary))
    return sorted(found, key=lambda fold: (fold.stop, fold.start, -fold.saves, fold.summary.text))


def _oldest_that_save(folds: list[_Fold], wanted: int) -> tuple[_Fold, ...]:
    """Choose folds that do not overlap and save most, out of as few of the oldest as save what is wanted.

    One pass: `best[n]` is the most that the first n folds can save, and a fold either joins the best of those
    that end before it, or does not.
    """
    stops = [fold.stop for fold in folds]
    best = [0]
    for fold in folds:
        if best[-1] >= wanted:
            break
        best.append(max(best[-1], fold.saves + best[bisect_right(stops, fold.start)]))
    chosen: list[_Fold] = []
    count = len(best) - 1
    while count > 0:
        if best[count] == best[count - 1]:
            count -= 1
        else:
            chosen.append(folds[count - 1])
            count = bisect_right(stops, folds[count - 1].start)
    return tuple(reversed(chosen))


def _over_budget(layout: _Layout, covered: list[bool], budget: int, over: int) -> OverBudget:
    old = list(zip(layout.sizes, layout.pinned, covered, strict=True))[: layout.tail_start]
    return OverBudget(
        budget=budget,
        actual=budget + over,
        pinned=sum(size for size, is_pinned, _ in old if is_pinned),
        tail=sum(layout.sizes[layout.tail_start :]),
        uncovered=sum(size for size, is_pinned, is_covered in old if not (is_pinned or is_covered)),
    )
