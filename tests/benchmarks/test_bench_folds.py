"""What the folds over markers cost: few rows carry any, and the others must cost next to nothing.

    pytest -p benchmark tests/benchmarks

The suite leaves the plugin out; the word `benchmark` after `-p` brings it back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recall import LogMessage, fold_pins, pin_history, read_traces
from recall.masking import Dialect

Ratio = Callable[[Callable[[], object]], float]

DIALECTS: tuple[Dialect, ...] = ("commonmark", "discord")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_board_costs_at_most_three_times_the_baseline(
    ratio: Ratio, rows: tuple[LogMessage, ...], dialect: Dialect
) -> None:
    assert len(fold_pins(rows, dialect=dialect)) == 12
    assert ratio(lambda: fold_pins(rows, dialect=dialect)) <= 3


def test_a_history_of_pins_costs_at_most_three_times_the_baseline(ratio: Ratio, rows: tuple[LogMessage, ...]) -> None:
    assert ratio(lambda: pin_history(rows, dialect="discord")) <= 3


def test_reading_traces_costs_at_most_three_times_the_baseline(ratio: Ratio, rows: tuple[LogMessage, ...]) -> None:
    assert ratio(lambda: read_traces(rows, dialect="discord")) <= 3
