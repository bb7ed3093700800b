"""What the mirror costs: taking rows in against SQLite alone, and questions against how much is mirrored.

    pytest -p benchmark tests/benchmarks/test_bench_mirror.py

Rows taken in are measured in processor time: SQLite has a thread of its own, and on a busy machine two wait for each
other. Two channels are mirrored, one of 10,000 messages and one of 700,000 (430 MB), each in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from recall_bot.mirror import LIVE, Created, Mirror, Place
from recall_bot.mirror.schema import connect

import recall
from tests.benchmarks.mirrored import made_rows, write

FEW, MANY = 10_000, 700_000
TIMES_SIZE = 1.2
TIMES_FOLD = 5
TIMES_EXECUTEMANY = 2
INGESTED = 20_000
AT_ONCE = 4_000  # events noted before they are written, as many as a busy second brings and fewer than are kept
ROUNDS = 5
PLACE = Place(7, 1, 7, "general", "general")
NEWEST = 1_400_000_000_000_000_000
INSERT = "INSERT INTO rows(place, id, author_id, epoch, marker, row) VALUES (?, ?, ?, ?, ?, ?)"

Figures: TypeAlias = dict[str, float]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Figures]:
    """Hold what was measured over each mirror."""
    folder = tmp_path_factory.mktemp("mirrors")
    return {count: measured(count, folder / f"{count}.sqlite") for count in (FEW, MANY)}


def measured(count: int, path: Path) -> Figures:
    command = [sys.executable, "-m", "tests.benchmarks.mirrored", str(count), str(path)]
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    found: Figures = json.loads(ended.stdout)
    return found


def report(benchmark: BenchmarkFixture, **extra: Any) -> None:
    benchmark.extra_info |= extra
    benchmark.pedantic(lambda: None, rounds=1)  # type: ignore[no-untyped-call] # measured elsewhere; this carries it


def test_a_search_costs_the_same_whatever_is_mirrored(benchmark: BenchmarkFixture, figures: dict[int, Figures]) -> None:
    few, many = figures[FEW], figures[MANY]
    report(benchmark, seconds=many["search"], outside_the_fold=many["search"] - many["search alone"])

    assert many["rows"] == few["rows"] == recall.SEARCH_SCAN
    assert many["search"] <= TIMES_SIZE * few["search"]


def test_a_board_of_seven_thousand_markers_costs_a_few_times_its_fold(
    benchmark: BenchmarkFixture, figures: dict[int, Figures]
) -> None:
    many = figures[MANY]
    report(benchmark, seconds=many["board"], fold_alone=many["board alone"])

    assert many["markers"] >= MANY // 100 - recall.PIN_SCAN // 100 - 1
    assert many["board"] <= TIMES_FOLD * many["board alone"]


def test_what_is_mirrored_costs_no_request_and_hardly_any_memory(
    benchmark: BenchmarkFixture, figures: dict[int, Figures]
) -> None:
    few, many = figures[FEW], figures[MANY]
    report(benchmark, resident=many["resident"], times_the_smaller=many["resident"] / few["resident"])

    assert few["requests"] == many["requests"] == 0
    assert many["resident"] <= TIMES_SIZE * few["resident"]


def test_taking_rows_in_costs_at_most_twice_what_sqlite_does(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    rows = tuple(made_rows(INGESTED, PLACE.id, NEWEST))[::-1]
    bare = min(asyncio.run(inserted(rows, tmp_path / f"bare-{turn}.sqlite")) for turn in range(ROUNDS))
    ours = min(asyncio.run(ingested(rows, tmp_path / f"ours-{turn}.sqlite")) for turn in range(ROUNDS))
    again = min(asyncio.run(inserted(rows, tmp_path / f"again-{turn}.sqlite")) for turn in range(ROUNDS))
    report(benchmark, rows_per_second=round(INGESTED / ours), times_executemany=round(ours / min(bare, again), 2))

    assert ours <= TIMES_EXECUTEMANY * min(bare, again)


async def ingested(rows: tuple[recall.LogMessage, ...], path: Path) -> float:
    """Return the seconds of work that it takes to note rows as the gateway tells them, and to write them."""
    mirror = Mirror(str(path), clock=time.monotonic, now=time.time)
    await mirror.new_epoch()
    await write(mirror, PLACE, (), 0, LIVE)
    begun = time.process_time()
    left = iter(rows)
    while some := tuple(islice(left, AT_ONCE)):
        for row in some:
            mirror.note(Created(PLACE.id, row))
        await mirror.flush()
    took = time.process_time() - begun
    assert count_of(path) == len(rows)
    await mirror.close()
    return took


async def inserted(rows: tuple[recall.LogMessage, ...], path: Path) -> float:
    """Return the seconds that SQLite alone takes for the same values, in the same tables and as many transactions."""
    connection = await connect(str(path))
    await connection.close()
    values = [
        (PLACE.id, row.sequence, recall.author_id(row.author), 1, "!" in row.content, msgspec.msgpack.encode(row))
        for row in rows
    ]
    with sqlite3.connect(path) as bare:
        bare.execute("PRAGMA synchronous = NORMAL")
        left = iter(values)
        begun = time.process_time()
        while some := tuple(islice(left, AT_ONCE)):
            bare.executemany(INSERT, some)
            bare.commit()
        took = time.process_time() - begun
    bare.close()
    assert count_of(path) == len(rows)
    return took


def count_of(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        ((count,),) = connection.execute("SELECT COUNT(*) FROM rows")
    connection.close()
    return int(count)
