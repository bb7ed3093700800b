"""What a question to a large export costs: against reading and decoding the file once, and against its size.

    pytest -p benchmark tests/benchmarks/test_bench_exports.py

The file is made here: 120,000 messages, about 95 MB.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from recall_bot.__main__ import app
from recall_bot.exports.reading import read_file

from tests.exporting import large_export

MESSAGES = 120_000
ROUNDS = 5
TIMES_DECODING = 3
TIMES_SIZE = 4

QUESTIONS = {
    "pins": ("pins",),
    "a word": ("search", "limiter"),
    "several words": ("search", "limiter bucket"),
    "a phrase": ("search", '"rollback canary"'),
    "a word that is nowhere": ("search", "zqxjkv"),
    "newest first": ("search", "limiter", "--sort", "newest"),
}

WEIGH = """
import sys
from recall_bot.__main__ import app
import recall_bot.matcher

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

before = peak()
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(peak() - before, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_export(tmp_path_factory.mktemp("large") / "engineering.json", MESSAGES)


def fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def ask(question: tuple[str, ...], path: Path) -> None:
    """Run a command in this process, its output thrown away."""
    command, *rest = question
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.TextIOWrapper(io.BytesIO())):
        app([command, str(path), *rest], standalone_mode=False)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_takes_at_most_three_times_the_decoding(large: Path, question: tuple[str, ...]) -> None:
    assert len(read_file(large).document.messages) == MESSAGES

    decoding = fastest(lambda: read_file(large))
    asking = fastest(lambda: ask(question, large))

    print(f"decoding {decoding:.3f} s, {question} {asking:.3f} s, {asking / decoding:.2f} times")  # noqa: T201 - with -s
    assert asking <= TIMES_DECODING * decoding


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("question", [QUESTIONS["pins"], QUESTIONS["a word"]], ids=["pins", "search"])
def test_a_question_takes_at_most_four_times_the_size_in_memory(large: Path, question: tuple[str, ...]) -> None:
    command, *rest = question

    done = subprocess.run(
        [sys.executable, "-c", WEIGH, command, str(large), *rest], capture_output=True, text=True, check=True
    )

    grown, size = int(done.stderr.split()[-1]), large.stat().st_size
    print(f"{command}: {grown / 1e6:.0f} MB for a file of {size / 1e6:.0f} MB, {grown / size:.2f} times")  # noqa: T201
    assert grown <= TIMES_SIZE * size
