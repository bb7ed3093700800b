"""`recall-bot erase`, beside a running bot."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from recall_bot.errors import Refusal
from recall_bot.mirror import LIVE, Mirror, Place
from recall_bot.terminal.erase import EraseWhat, NoMirror
from typer.testing import Result

import recall
from tests.beside_the_bot import run
from tests.test_terminal import recall_bot

ADA, BEN = recall.PersonAuthor("7000000000000001", "Ada"), recall.PersonAuthor("7000000000000002", "Ben")
GENERAL, PLAN, MODS = Place(100, 9, 100), Place(101, 9, 100), Place(300, 8, 300)
SECRET = "unforgettable-words"


@dataclass
class Bot:
    """A mirror that is open in a loop of its own."""

    mirror: Mirror
    runner: asyncio.Runner

    def knows(self, place: Place) -> bool:
        page = self.runner.run(self.mirror.page(place, None, 10))
        return page is not None and len(page.rows) == 1


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    mirror = Mirror(str(tmp_path / "mirror.sqlite"), clock=lambda: 0.0, now=lambda: 1.0)

    async def fill() -> None:
        await mirror.new_epoch()
        for place, author in ((GENERAL, ADA), (PLAN, BEN), (MODS, BEN)):
            ticket = mirror.ticket(place)
            row = recall.LogMessage(place.id + 1_000, str(place.desk_id), None, author, f"{SECRET} of {place.id}")
            assert await mirror.write_page(ticket, [row], low=0, high=LIVE)
            mirror.settle(ticket)

    with asyncio.Runner() as runner:
        runner.run(fill())
        yield Bot(mirror, runner)
        runner.run(mirror.close())


def erase(*arguments: object) -> Result:
    return recall_bot("erase", *arguments)


def told(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr


def texts(folder: Path) -> set[int]:
    """Return of which places the secret is still in some file."""
    found = b"".join(path.read_bytes() for path in folder.iterdir())
    return {place.id for place in (GENERAL, PLAN, MODS) if f"{SECRET} of {place.id}".encode() in found}


@pytest.mark.parametrize(
    ("arguments", "said", "left"),
    [
        (["--user", BEN.id], "Erased 2 messages of 2 channels and threads.\n", {100}),
        (["--user", f"<@{ADA.id}>"], "Erased 1 message of 1 channel or thread.\n", {101, 300}),
        (["--guild", "9"], "Erased 2 messages of 2 channels and threads.\n", {300}),
        (["--channel", "https://discord.com/channels/9/100"], "Erased 2 messages of 2 channels and threads.\n", {300}),
        (["--channel", "101"], "Erased 1 message of 1 channel or thread.\n", {100, 300}),
        (["--all"], "Erased 3 messages of 3 channels and threads.\n", set()),
    ],
)
def test_it_says_how_much_it_erased_and_nothing_of_it_is_left_in_the_files(
    bot: Bot, tmp_path: Path, arguments: list[str], said: str, left: set[int]
) -> None:
    assert told(erase(*arguments)) == (0, said, "")
    assert texts(tmp_path) == left
    assert {place.id for place in (GENERAL, PLAN, MODS) if bot.knows(place)} == left
    assert told(erase(*arguments)) == (1, "Nothing of that is stored.\n", "")


def test_it_can_be_read_by_programs(bot: Bot, tmp_path: Path) -> None:
    ended = erase("--all", "--json")
    assert json.loads(ended.stdout) == {"messages": 3, "places": 3, "clean": True}


def test_broken_mirrors_that_were_set_aside_are_named_and_go_with_all(bot: Bot, tmp_path: Path) -> None:
    aside = tmp_path / "mirror.sqlite.broken-1"
    aside.write_bytes(b"x")
    ended = erase("--guild", "9")
    assert "is a broken mirror that was set aside, and may still hold it: delete it" in ended.stderr
    ended = erase("--all")
    assert "deleted " in ended.stderr
    assert not aside.exists()


def test_somebody_who_reads_keeps_it_from_being_overwritten_and_the_status_says_so(
    bot: Bot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bot.mirror.schema.BUSY_SECONDS", 0.02)
    reader = sqlite3.connect(tmp_path / "mirror.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM rows").fetchall()
    ended = erase("--all")
    assert (ended.exit_code, ended.stdout) == (2, "Erased 3 messages of 3 channels and threads.\n")
    assert "not yet overwritten in the file" in ended.stderr
    reader.rollback()
    reader.close()
    assert erase("--all").exit_code == 1
    assert texts(tmp_path) == set()


def test_without_a_file_there_is_nothing_to_erase_from(tmp_path: Path) -> None:
    for path in (tmp_path / "none.sqlite", ":memory:"):
        ended = erase("--all", "--mirror", path)
        assert isinstance(ended.exception, NoMirror)
        assert ended.exception.sentence == f"There is no mirror file at {path}; nothing is stored there."
    assert list(tmp_path.iterdir()) == []


def test_the_mirror_that_is_named_comes_before_the_one_that_is_configured(bot: Bot, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[mirror]\npath = "elsewhere.sqlite"')
    assert isinstance(erase("--all", "--config", "other.toml").exception, NoMirror)
    assert erase("--guild", 8, "--config", "other.toml", "--mirror", "mirror.sqlite").exit_code == 0
    assert texts(tmp_path) == {100, 101}


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("nonsense = 1")
    ended = erase("--all", "--config", "broken.toml")
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)


def test_a_mirror_that_is_switched_off_is_erased_from_all_the_same(bot: Bot, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[mirror]\nenabled = false")
    assert erase("--all").exit_code == 0


@pytest.mark.parametrize("arguments", [(), ("--all", "--user", 7), ("--guild", 9, "--channel", 1)])
def test_what_to_erase_is_said_exactly_once(bot: Bot, tmp_path: Path, arguments: tuple[object, ...]) -> None:
    assert isinstance(erase(*arguments).exception, EraseWhat)
    assert texts(tmp_path) == {100, 101, 300}


@pytest.mark.parametrize("arguments", [("--user", "ada"), ("--channel", "#general"), ("--guild", "")])
def test_what_is_no_id_is_refused(bot: Bot, tmp_path: Path, arguments: tuple[str, str]) -> None:
    ended = erase(*arguments)
    assert (ended.exit_code, f"{arguments[1]!r} is no id" in ended.stderr) == (2, True)
    assert texts(tmp_path) == {100, 101, 300}


def test_a_file_that_is_no_mirror_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mirror.sqlite").write_bytes(b"no database" * 100)
    ended = erase("--all")
    assert isinstance(ended.exception, Refusal)
    assert "mirror.sqlite cannot be read as a mirror" in ended.exception.sentence


async def test_as_a_process_it_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mirror.sqlite").write_bytes(b"no database" * 100)
    ended = await run("", "erase", "--all", folder=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
