"""What every benchmark measures against: lower-casing each row once, in the same run on the same machine."""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from recall import LogMessage, from_wire

ROWS = Path(__file__).parent.parent / "data" / "rows-2048.jsonl"
BASELINE_ROUNDS = 200


@pytest.fixture(scope="session")
def rows() -> tuple[LogMessage, ...]:
    """Hold the newest 2,048 rows of a busy log, oldest first."""
    lines = ROWS.read_text("utf-8").splitlines()
    return tuple(from_wire(LogMessage, json.loads(line)) for line in lines)


@pytest.fixture
def ratio(rows: tuple[LogMessage, ...], benchmark: BenchmarkFixture) -> Callable[[Callable[[], object]], float]:
    """Return a function that measures work and says how many times the baseline it costs, best against best.

    The baseline is measured on both sides of the work, so that a machine that slows down slows both.
    """

    def baseline() -> float:
        query = "limiter"
        return min(
            timeit.repeat(lambda: [query in row.content.lower() for row in rows], number=1, repeat=BASELINE_ROUNDS)
        )

    def measure(work: Callable[[], object]) -> float:
        before = baseline()
        benchmark(work)
        best: float = benchmark.stats.stats.min  # type: ignore[union-attr] # the fixture has just run
        times = best / min(before, baseline())
        benchmark.extra_info["times_the_baseline"] = round(times, 2)
        return times

    return measure
