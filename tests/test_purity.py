"""What `recall` promises: it opens, prints, waits for and remembers nothing, and the same rows give the same value."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "recall").glob("*.py"))
ROWS = ROOT / "tests/data/rows-2048.jsonl"

# What a builtin may do that a fold may not: reach outside, run text, or differ from one process to the next.
FORBIDDEN = {
    "__import__",
    "breakpoint",
    "compile",
    "delattr",
    "eval",
    "exec",
    "float",
    "globals",
    "hash",
    "id",
    "input",
    "locals",
    "open",
    "print",
    "round",
    "setattr",
}


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text("utf-8")))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_builtin_is_called_that_reaches_outside_or_differs_between_processes(path: Path) -> None:
    called = {node.func.id for node in nodes_of(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}

    assert called & FORBIDDEN == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_of_a_module_is_assigned_from_within_a_function(path: Path) -> None:
    assert [node for node in nodes_of(path) if isinstance(node, ast.Global)] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_scores_and_weights_are_integers(path: Path) -> None:
    divisions = [node.lineno for node in nodes_of(path) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]

    assert divisions == []


def fold_everything(hash_seed: str) -> dict[str, object]:
    """Run every fold in a process of its own; say what it reached outside for, and a digest of its values."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.watched_folds", str(ROWS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_folds_reach_for_nothing_and_give_the_same_values_in_every_process() -> None:
    first, second = fold_everything("1"), fold_everything("2")

    assert first["events"] == []
    assert first["seen"] == ["open"]
    assert first == second
