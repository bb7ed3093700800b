from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    Compilation,
    Coverage,
    LogMessage,
    OverBudget,
    RowRange,
    Summary,
    SummaryRefused,
    Whereabouts,
    compile_context,
    from_wire,
    part_text,
    resolve_range,
    to_wire,
    whereabouts,
    whole_range,
)
from tests.marked import row


def rows_of(*sizes: int) -> tuple[LogMessage, ...]:
    """Rows 10, 20, 30 … of so many characters each."""
    return tuple(row(10 * number, "x" * size) for number, size in enumerate(sizes, 1))


def sum_up(first: int, last: int, size: int = 1) -> Summary:
    return Summary(first, last, "s" * size)


def compiled(
    rows: tuple[LogMessage, ...],
    budget: int,
    *summaries: Summary,
    pins: tuple[tuple[int, int], ...] = (),
    tail: int = 0,
    whole: tuple[tuple[int, int], ...] | None = None,
) -> Compilation:
    return compile_context(rows, budget, summaries=summaries, pins=pins, tail=tail, whole=whole)


def shape(made: Compilation) -> list[int | tuple[int, int]]:
    return [(part.first, part.last) if isinstance(part, Summary) else part.sequence for part in made.parts()]


def test_without_pressure_nothing_is_folded() -> None:
    made = compiled(rows_of(5, 5, 5), 15, sum_up(10, 20))
    assert shape(made) == [10, 20, 30]
    assert (made.total, made.newest, made.pinned) == (15, 30, ())


def test_under_pressure_the_oldest_are_folded_until_the_total_fits() -> None:
    rows, summaries = rows_of(5, 5, 5, 5, 5, 5, 5), (sum_up(10, 20), sum_up(30, 40), sum_up(50, 60))
    assert shape(compiled(rows, 34, *summaries)) == [(10, 20), 30, 40, 50, 60, 70]
    assert shape(compiled(rows, 26, *summaries)) == [(10, 20), 30, 40, 50, 60, 70]
    assert shape(compiled(rows, 25, *summaries)) == [(10, 20), (30, 40), 50, 60, 70]
    assert shape(compiled(rows, 8, *summaries)) == [(10, 20), (30, 40), (50, 60), 70]


def test_what_has_no_summary_stays_raw() -> None:
    assert shape(compiled(rows_of(5, 5, 5, 5, 5), 17, sum_up(20, 30))) == [10, (20, 30), 40, 50]


def test_the_tail_is_the_newest_rows_while_they_fit_and_always_the_newest() -> None:
    rows, summaries = rows_of(5, 5, 5, 5), (sum_up(10, 10), sum_up(20, 20), sum_up(30, 30), sum_up(40, 40))
    with pytest.raises(OverBudget) as refused:
        compiled(rows, 7, *summaries, tail=0)
    assert (refused.value.actual, refused.value.tail) == (8, 5)
    with pytest.raises(OverBudget) as refused:
        compiled(rows, 11, *summaries, tail=10)
    assert (refused.value.actual, refused.value.tail) == (12, 10)
    assert shape(compiled(rows, 12, *summaries, tail=14)) == [(10, 10), (20, 20), 30, 40]


def test_a_summary_that_touches_a_pinned_row_is_left_out_and_its_rows_are_raw() -> None:
    rows = rows_of(5, 5, 5, 5, 5)
    made = compiled(rows, 17, sum_up(10, 20), sum_up(30, 40), pins=((15, 25),))
    assert shape(made) == [10, 20, (30, 40), 50]
    assert made.pinned == (20,)
    with pytest.raises(OverBudget) as refused:
        compiled(rows, 15, sum_up(10, 20), sum_up(30, 40), pins=((15, 25),))
    error = refused.value
    assert (error.budget, error.actual, error.pinned, error.tail, error.uncovered) == (15, 16, 5, 5, 5)
    assert str(error) == "the context comes to 16, 15 are allowed"


def test_a_summary_that_reaches_into_the_tail_is_left_out() -> None:
    rows = rows_of(5, 5, 5, 5)
    assert shape(compiled(rows, 18, sum_up(10, 20), sum_up(30, 40), tail=5)) == [(10, 20), 30, 40]
    with pytest.raises(OverBudget):
        compiled(rows, 10, sum_up(10, 20), sum_up(30, 40), tail=5)


def test_of_summaries_that_overlap_those_that_save_most_stand_in() -> None:
    rows = rows_of(5, 5, 5, 5, 5)
    overlapping = (sum_up(10, 20), sum_up(20, 40), sum_up(10, 40), sum_up(30, 40))
    assert shape(compiled(rows, 17, *overlapping)) == [(10, 20), 30, 40, 50]
    assert shape(compiled(rows, 6, *overlapping)) == [(10, 40), 50]


def test_a_summary_that_saves_nothing_is_not_used() -> None:
    rows = rows_of(5, 5, 5)
    assert shape(compiled(rows, 11, sum_up(10, 10, 5), sum_up(20, 20))) == [10, (20, 20), 30]


@pytest.mark.parametrize(
    ("summary", "whole", "hole"),
    [
        (sum_up(15, 30), None, "range"),
        (sum_up(10, 25), None, "range"),
        (sum_up(30, 20), None, "range"),
        (sum_up(10, 30), ((10, 20), (25, 50)), "range"),
        (sum_up(10, 30), ((20, 50),), "range"),
        (sum_up(10, 30), (), "range"),
        (sum_up(10, 20), ((10, 30), (45, 50)), "tail"),
        (sum_up(10, 20), ((10, 49),), "tail"),
    ],
)
@pytest.mark.parametrize("budget", [10, 100])
def test_a_summary_with_a_hole_in_its_range_or_behind_it_is_refused_needed_or_not(
    summary: Summary, whole: tuple[tuple[int, int], ...] | None, hole: str, budget: int
) -> None:
    with pytest.raises(SummaryRefused) as refused:
        compiled(rows_of(5, 5, 5, 5, 5), budget, summary, whole=whole)
    assert (refused.value.first, refused.value.last, refused.value.hole) == (summary.first, summary.last, hole)


def test_stretches_that_touch_or_overlap_are_one_and_what_was_deleted_inside_is_no_hole() -> None:
    whole = ((31, 50), (0, 22), (20, 30))
    assert shape(compiled(rows_of(5, 5, 5, 5, 5), 20, sum_up(10, 30), whole=whole)) == [(10, 30), 40, 50]
    gone = (*rows_of(5, 5, 5, 5, 5)[:1], *rows_of(5, 5, 5, 5, 5)[2:])
    assert shape(compiled(gone, 12, sum_up(10, 30), whole=whole)) == [(10, 30), 40, 50]


def test_nothing_is_made_of_nothing() -> None:
    assert compiled((), 0, pins=((1, 2),)) == Compilation((), (), (), None, 0)
    with pytest.raises(SummaryRefused):
        compiled((), 0, sum_up(1, 2))
    with pytest.raises(OverBudget):
        compiled((), -1)


def test_each_row_is_measured_once_and_each_summary_at_most_once() -> None:
    measured: list[str] = []

    def measure(text: str) -> int:
        measured.append(text)
        return len(text)

    rows = tuple(row(number, f"row {number}") for number in range(200))
    summaries = tuple(Summary(first, first + 9, f"s{first}") for first in range(0, 190, 10))
    compile_context(rows, 600, summaries=summaries, pins=(), tail=60, measure=measure)
    assert len(measured) == len(set(measured)) == 200 + 19


def test_what_is_written_of_a_row_is_what_is_measured() -> None:
    rows = (LogMessage(1, "desk", None, row(1, "").author, "text", attached="plan.pdf"), row(2, "a\nb"))
    assert [part_text(part) for part in rows] == ["text\nplan.pdf", "a\nb"]
    assert compiled(rows, 100).total == 13 + 3
    made = compile_context(rows, 100, summaries=(), pins=(), tail=0, measure=len, write=lambda _: "1234567")
    assert made.total == 14


def test_a_compilation_has_a_wire_form() -> None:
    made = compiled(rows_of(5, 5, 5), 8, sum_up(10, 20), pins=((30, 30),))
    wire = to_wire(made, string_ids=True)
    assert from_wire(Compilation, wire) == made
    assert (wire["pinned"], wire["newest"], wire["summaries"][0]["first"]) == (["30"], "30", "10")


def test_a_row_is_here_gone_or_not_read() -> None:
    walked = whole_range(Coverage(rows=3, oldest=20, beginning=False, stopped="bound"), 50)
    assert walked == (20, 50)
    present = {20, 30, 50}
    assert whereabouts(30, present, (RowRange(20, 50),)) is Whereabouts.HERE
    assert whereabouts(40, present, (RowRange(20, 50),)) is Whereabouts.GONE
    assert whereabouts(10, present, (RowRange(20, 50),)) is Whereabouts.NOT_READ
    assert whereabouts(60, present, (RowRange(20, 50),)) is Whereabouts.NOT_READ
    assert whole_range(Coverage(rows=3, oldest=20, beginning=True, stopped=None), 50) == (0, 50)
    assert whole_range(Coverage(rows=0, oldest=None, beginning=True, stopped=None), None) is None


def test_a_range_moves_inwards_to_the_rows_that_are_left() -> None:
    assert resolve_range((15, 45), [10, 20, 30, 40, 50]) == (20, 40)
    assert resolve_range((20, 40), [10, 20, 30, 40, 50]) == (20, 40)
    assert resolve_range((21, 29), [10, 20, 30]) is None
    assert resolve_range((40, 20), [10, 20, 30, 40]) is None


class Case(NamedTuple):
    """Rows 1, 2, 3 … of these sizes, ranges of which there are summaries, pinned ranges, and the limits."""

    sizes: list[int]
    summed: list[tuple[int, int]]
    pins: list[tuple[int, int]]
    budget: int
    tail: int

    @property
    def rows(self) -> tuple[LogMessage, ...]:
        return tuple(row(number, "x" * size) for number, size in enumerate(self.sizes, 1))

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return tuple(Summary(first, last, "s" * (first % 3)) for first, last in self.summed if last <= len(self.sizes))

    @property
    def pinned(self) -> list[int]:
        return [n for n in range(1, len(self.sizes) + 1) if any(first <= n <= last for first, last in self.pins)]

    @property
    def raw(self) -> set[int]:
        """The rows that no summary may stand in for: pinned ones and the tail."""
        count = len(self.sizes)
        fitting = [n for n in range(1, count + 1) if sum(self.sizes[n - 1 :]) <= self.tail]
        return {*self.pinned, *fitting, *([count] if count else [])}

    def totals(self) -> dict[tuple[Summary, ...], int]:
        """What it comes to with each choice of summaries that may stand in together."""
        totals = {}
        for count in range(len(self.summaries) + 1):
            for chosen in combinations(self.summaries, count):
                covered = covered_by(chosen)
                if len(covered) == len(set(covered)) and not self.raw & set(covered):
                    left = sum(size for number, size in enumerate(self.sizes, 1) if number not in covered)
                    totals[chosen] = left + sum(len(summary.text) for summary in chosen)
        return totals

    def compile(self, order: random.Random | None = None) -> Compilation:
        rows, summaries = list(self.rows), list(self.summaries)
        if order is not None:
            rows = order.sample(rows, len(rows)) + order.sample(rows, len(rows) // 2)
            order.shuffle(summaries)
        return compile_context(rows, self.budget, summaries=summaries, pins=self.pins, tail=self.tail)


def covered_by(summaries: Iterable[Summary]) -> list[int]:
    return [number for summary in summaries for number in range(summary.first, summary.last + 1)]


ranges = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)).map(lambda at: (at[0], at[0] + at[1])), max_size=5)
cases = st.builds(
    Case,
    sizes=st.lists(st.integers(0, 9), max_size=9),
    summed=ranges,
    pins=ranges,
    budget=st.integers(-1, 60),
    tail=st.integers(-1, 30),
)


@given(cases, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=500)
def test_a_context_is_refused_only_where_no_choice_of_summaries_fits(case: Case, order: random.Random) -> None:
    least = min(case.totals().values())
    if least <= case.budget:
        assert case.compile(order) == case.compile()
        return
    with pytest.raises(OverBudget) as refused:
        case.compile(order)
    assert refused.value.actual == least


@given(cases)
@settings(deadline=None, max_examples=500)
def test_a_compilation_holds_every_row_once_and_folds_no_more_and_no_newer_than_it_must(case: Case) -> None:
    totals = case.totals()
    if min(totals.values()) > case.budget:
        return
    made = case.compile()
    held = [found.sequence for found in made.rows]
    assert list(made.rows) == [found for found in case.rows if found.sequence in held], "raw rows are whole"
    assert sorted(held + covered_by(made.summaries)) == list(range(1, len(case.sizes) + 1)), "every row is there once"
    assert case.raw <= set(held)
    assert list(made.pinned) == case.pinned
    assert made.newest == (len(case.sizes) or None)
    assert made.total == sum(len(part_text(part)) for part in made.parts()) <= case.budget
    if made.summaries:
        newest = max(summary.last for summary in made.summaries)
        older = [size for chosen, size in totals.items() if all(summary.last < newest for summary in chosen)]
        assert min(older) > case.budget, "no choice among older rows would have done"
