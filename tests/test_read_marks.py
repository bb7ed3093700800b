from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import recall_bot.state
from recall_bot.state import STATE_VERSION, NotSaved, State

from recall import ReadMark, Viewpoint

HERE = Viewpoint("scout", "general")
FIRST_VERSION = """
    CREATE TABLE switches(
        place INTEGER PRIMARY KEY, guild INTEGER NOT NULL, is_on INTEGER NOT NULL, since INTEGER NOT NULL
    );
    CREATE TABLE forgotten(author TEXT PRIMARY KEY, since INTEGER NOT NULL);
    INSERT INTO switches VALUES (7, 1, 1, 0);
    INSERT INTO forgotten VALUES ('12', 0);
"""


def state_at(path: Path | str, now: float = 0) -> State:
    return State(str(path), now=lambda: now)


async def test_a_mark_is_read_by_another_process_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    assert await state_at(path).read_mark(HERE) is None
    await state_at(path).save_mark(HERE, ReadMark("main", 2**62))
    assert await state_at(path).read_mark(HERE) == ReadMark("main", 2**62)
    assert await state_at(path).read_mark(Viewpoint("scout", "elsewhere")) is None
    assert await state_at(path).read_mark(Viewpoint("another", "general")) is None


@pytest.mark.parametrize("path", ["state.sqlite", ":memory:"])
async def test_a_mark_never_goes_back_on_its_branch_and_gives_way_to_another_branch(path: str) -> None:
    state = state_at(path)
    for sequence in (20, 10):
        await state.save_mark(HERE, ReadMark("main", sequence))
    assert await state.read_mark(HERE) == ReadMark("main", 20)
    await state.save_mark(HERE, ReadMark("fork", 5))
    assert await state.read_mark(HERE) == ReadMark("fork", 5)


async def test_a_mark_past_what_the_file_can_hold_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    state = state_at(tmp_path / "state.sqlite")
    await state.save_mark(HERE, ReadMark("main", 2**64 - 1))
    assert await state.read_mark(HERE) == ReadMark("main", 2**63 - 1)


async def test_the_marks_longest_unmoved_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_bot.state, "READ_MARKS_KEPT", 3)
    path = tmp_path / "state.sqlite"
    views = [Viewpoint("scout", str(number)) for number in range(5)]
    for number, view in enumerate(views):
        await state_at(path, now=number).save_mark(view, ReadMark("main", 1))
    kept = [await state_at(path).read_mark(view) is not None for view in views]
    assert kept == [False, False, True, True, True]


@pytest.mark.parametrize("path", ["state.sqlite", ":memory:"])
async def test_who_is_forgotten_leaves_no_mark(path: str) -> None:
    state = state_at(path)
    await state.save_mark(HERE, ReadMark("main", 1))
    await state.save_mark(Viewpoint("other", "general"), ReadMark("main", 1))
    await state.forget_author("scout")
    assert await state.read_mark(HERE) is None
    assert await state.read_mark(Viewpoint("other", "general")) is not None


async def test_a_file_of_the_first_version_is_brought_up_and_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(FIRST_VERSION)
    connection.close()
    state = state_at(path)
    assert await state.load()
    assert state.switched([7])
    assert state.is_forgotten("12")
    await state.save_mark(HERE, ReadMark("main", 3))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (STATE_VERSION,)
    connection.close()


async def test_a_file_of_a_later_version_is_read_and_stays_of_that_version(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    await state_at(path).switch(7, 1, on=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    state = state_at(path)
    assert await state.load()
    assert state.switched([7])
    assert connection.execute("PRAGMA user_version").fetchone() == (99,)
    connection.close()


async def test_a_file_that_cannot_be_read_has_no_marks_and_takes_none(tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"no database at all, and longer than a header of one would be")
    state = state_at(path)
    assert await state.read_mark(HERE) is None
    assert "met anew" in caplog.text
    with pytest.raises(NotSaved):
        await state.save_mark(HERE, ReadMark("main", 1))
