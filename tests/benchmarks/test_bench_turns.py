"""What a turn costs: its context against the three folds it is made of, and a compile under pressure.

pytest -p benchmark tests/benchmarks
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from recall_bot.contexts import context_document
from recall_bot.queries import ContextRequest, OpenDesk, PinsRequest, StandingsRequest, pins, room_standings

from recall import (
    PIN_LIMIT,
    THREAD_INDEX_LIMIT,
    THREAD_INDEX_SCAN,
    AgentAuthor,
    Compilation,
    Conversation,
    InitializedSession,
    LogMessage,
    SessionPage,
    SessionQuery,
    Summary,
    TeamBriefing,
    compile_context,
    fold_pins,
    fold_session,
    fold_thread_index,
    frame_context,
    initialize_session_with_context,
    parse_frames,
)
from tests.watched_folds import run

DESK = Conversation(desk_id="engineering", desk_name="Engineering")
QUERY = SessionQuery(DESK)
BRIEFING = TeamBriefing(AgentAuthor("scout", "Scout"), DESK)

ROUNDS = 30


class PagedLog:
    """A log in memory that finds a page at once, so that what is measured is the reading."""

    def __init__(self, rows: tuple[LogMessage, ...]) -> None:
        self._rows = rows[::-1]
        self._places = {row.sequence: place for place, row in enumerate(self._rows)}

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        start = 0 if before is None else self._places[before] + 1
        page = self._rows[start : start + limit]
        more = start + limit < len(self._rows)
        return SessionPage(page, page[-1].sequence if more else None)


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def three_folds(rows: tuple[LogMessage, ...]) -> tuple[object, ...]:
    newest_first = rows[::-1]
    return (
        fold_session(newest_first, QUERY),
        fold_thread_index(filter(DESK.holds, rows[-THREAD_INDEX_SCAN:]), THREAD_INDEX_LIMIT),
        fold_pins(filter(DESK.holds, rows), PIN_LIMIT),
    )


def test_a_context_over_2048_rows_costs_at_most_three_times_its_three_folds(
    rows: tuple[LogMessage, ...], benchmark: BenchmarkFixture
) -> None:
    log = PagedLog(rows)

    def context() -> InitializedSession:
        session = run(initialize_session_with_context(log, QUERY, BRIEFING))
        assert isinstance(session, InitializedSession)
        session.briefing.system_text()
        frame_context(session.context, "0123456789abcdef")
        return session

    session = context()
    assert (session.history, session.context.threads, session.context.pins) == three_folds(rows)
    assert session.coverage.rows == 2_048
    before = seconds(lambda: three_folds(rows))
    benchmark(context)
    best: float = benchmark.stats.stats.min  # type: ignore[union-attr] # the fixture has just run
    times = best / min(before, seconds(lambda: three_folds(rows)))
    benchmark.extra_info["times_the_three_folds"] = round(times, 2)
    assert times <= 3


def test_a_context_as_the_host_writes_it_costs_at_most_three_times_its_folds(
    rows: tuple[LogMessage, ...], benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop
) -> None:
    """Boards reach further than a walk and standings are judged: what a host folds is counted beside the three."""
    desk, viewer = OpenDesk(PagedLog(rows), DESK), AgentAuthor("scout", "Scout")
    asked = ContextRequest(viewer, standings=StandingsRequest())

    def folds() -> object:
        answers = (pins(desk, PinsRequest()), room_standings(desk, StandingsRequest()))
        return three_folds(rows), *map(loop.run_until_complete, answers)

    def context() -> str:
        return loop.run_until_complete(context_document(desk, asked, nonce="0123456789abcdef")).text

    assert parse_frames(context(), "0123456789abcdef")
    before = seconds(folds)
    benchmark(context)
    best: float = benchmark.stats.stats.min  # type: ignore[union-attr] # the fixture has just run
    times = best / min(before, seconds(folds))
    benchmark.extra_info["times_its_folds"] = round(times, 2)
    assert times <= 3


def compiled(rows: tuple[LogMessage, ...], measure: Callable[[str], int] = len) -> Compilation:
    """Compile under a pressure that folds everything which may be."""
    summaries = [
        Summary(chunk[0].sequence, chunk[-1].sequence, "talk")
        for chunk in (rows[start : start + 10] for start in range(0, len(rows) - 20, 10))
    ]
    pins = [(rows[place].sequence, rows[place + 2].sequence) for place in range(5, len(rows) - 20, 100)]
    return compile_context(rows, len(rows) * 30, summaries=summaries, pins=pins, tail=1_000, measure=measure)


def test_a_compile_of_2000_rows_under_pressure_goes_over_them_once(rows: tuple[LogMessage, ...]) -> None:
    measured: list[str] = []

    def measure(text: str) -> int:
        measured.append(text)
        return len(text)

    made = compiled(rows[:2_000], measure)
    assert len(made.summaries) > 100
    assert len(measured) <= 2_000 + 198, "each row once, each summary once"


@pytest.mark.parametrize("factor", [8])
def test_a_compile_under_pressure_costs_as_its_rows_do(
    rows: tuple[LogMessage, ...], benchmark: BenchmarkFixture, factor: int
) -> None:
    few = seconds(lambda: compiled(rows[: 2_000 // factor]))
    benchmark(lambda: compiled(rows[:2_000]))
    best: float = benchmark.stats.stats.min  # type: ignore[union-attr] # the fixture has just run
    benchmark.extra_info["times_for_eight_times_the_rows"] = round(best / few, 2)
    assert best / few <= 2 * factor
