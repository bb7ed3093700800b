"""The request/response pairs that say what the library answers, every one of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.replay import answer, same

VECTORS = Path(__file__).parent / "data" / "vectors"
PAIRS = {
    f"{file.stem}:{number}": json.loads(line)
    for file in sorted(VECTORS.glob("*.jsonl"))
    for number, line in enumerate(file.read_text("utf-8").split("\n"), 1)
    if line
}


def test_no_pair_is_missing() -> None:
    assert Counter(name.partition(":")[0] for name in PAIRS) == {
        "code_ranges": 122,
        "directives": 77,
        "discord_directives": 230,
        "fold_pins": 28,
        "parse_pattern": 7,
        "pinboard": 2,
        "project": 16,
        "rank": 10,
        "regex_source": 7,
        "score": 48,
        "score_regex": 24,
        "search": 25,
        "search_threads": 2,
        "standings": 35,
        "threads": 10,
        "traces": 68,
        "validate_page": 7,
    }
    assert len(PAIRS) == 718


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_a_pair_is_answered_as_it_says(pair: dict[str, Any]) -> None:
    got = json.loads(json.dumps(answer(pair["request"])))

    assert same(got, pair["response"]), f"{got!r} is not {pair['response']!r}"
