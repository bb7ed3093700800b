"""A state file that cannot be used: what it holds is not lost, and nothing is stored of whom it may name."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import recall_bot.state
from recall_bot.state import STATE_RETRY_SECONDS, STATE_VERSION, NotSaved, State

from tests.small_disks import mount, small_disk


class Time:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(recall_bot.state, "BUSY_SECONDS", 0.0)
    caplog.set_level(logging.INFO, logger="recall_bot.state")
    return caplog


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.rollback()


async def filled(path: Path, time: Time) -> State:
    state = State(str(path), now=time)
    await state.switch(7, 1, on=True)
    await state.forget_author("12")
    return state


def knows_all(state: State) -> bool:
    return state.switched([7]) is True and state.is_forgotten("12") and not state.is_forgotten("13")


async def test_while_a_file_is_locked_nobody_is_stored_and_once_it_is_free_it_is_read(
    tmp_path: Path, time: Time, log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.sqlite"
    await filled(path, time)
    state = State(str(path), now=time)

    with locked(path):
        assert not await state.load()
        time.seconds = STATE_RETRY_SECONDS
        await state.recover()
        assert state.is_forgotten("12")
        assert state.is_forgotten("13")
        assert state.switched([7]) is None
    await state.recover()
    assert state.is_forgotten("13")  # it is not time yet
    time.seconds *= 2
    await asyncio.gather(state.recover(), state.recover())

    assert knows_all(state)
    failed, again = (record.getMessage() for record in log.records)
    assert failed.startswith("the state file cannot be read (database is locked)")
    assert again == "the state file is in use again"


async def test_a_change_that_is_saved_brings_back_what_could_not_be_read(
    tmp_path: Path, time: Time, log: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.sqlite"
    await filled(path, time)
    state = State(str(path), now=time)
    with locked(path):
        assert not await state.load()
        with pytest.raises(NotSaved):
            await state.switch(8, 1, on=True)

    await state.switch(8, 1, on=False)

    assert knows_all(state)
    assert state.switched([8]) is False


async def test_a_broken_file_is_left_as_it_is(tmp_path: Path, time: Time, log: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    before = path.read_bytes()
    state = State(str(path), now=time)

    assert not await state.load()
    with pytest.raises(NotSaved):
        await state.forget_author("12")

    assert state.is_forgotten("13")
    assert path.read_bytes() == before
    assert [record.exc_info for record in log.records] == [None, None]


async def test_a_file_of_a_later_version_is_read_and_stays_of_that_version(tmp_path: Path, time: Time) -> None:
    path = tmp_path / "state.sqlite"
    await filled(path, time)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {STATE_VERSION + 1}")
    state = State(str(path), now=time)

    assert await state.load()
    await state.switch(8, 1, on=True)

    assert knows_all(state)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (STATE_VERSION + 1,)


async def test_to_read_a_file_changes_nothing(tmp_path: Path, time: Time) -> None:
    state = State(str(tmp_path / "folder" / "state.sqlite"), now=time)
    assert await state.load()
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "empty.sqlite").touch()
    assert await State(str(tmp_path / "empty.sqlite"), now=time).load()
    assert (tmp_path / "empty.sqlite").read_bytes() == b""


@pytest.mark.parametrize("made_anew", [False, True])
async def test_what_was_in_a_file_that_is_deleted_is_written_anew_with_the_next_change(
    tmp_path: Path, time: Time, made_anew: bool
) -> None:
    path = tmp_path / "state.sqlite"
    state = await filled(path, time)
    path.unlink()
    if made_anew:  # by another process, which reads its marks there
        await State(str(path), now=time)._write()

    await state.switch(8, 1, on=True)

    anew = State(str(path), now=time)
    assert await anew.load()
    assert knows_all(anew)
    assert anew.switched([8]) is True


async def test_what_was_taken_back_does_not_return_from_memory(tmp_path: Path, time: Time) -> None:
    path = tmp_path / "state.sqlite"
    state = await filled(path, time)
    path.unlink()

    await state.forget_guild(1)

    anew = State(str(path), now=time)
    assert await anew.load()
    assert anew.switched([7]) is None
    assert anew.is_forgotten("12")


async def test_on_a_read_only_disk_it_is_read_and_a_change_is_refused(
    tmp_path: Path, time: Time, log: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "small", "1m") as disk:
        await filled(disk / "state.sqlite", time)
        mount("-o", "remount,ro", str(disk))
        state = State(str(disk / "state.sqlite"), now=time)

        assert await state.load()
        with pytest.raises(NotSaved):
            await state.switch(7, 1, on=False)

        assert knows_all(state)
        assert len(log.records) == 1
