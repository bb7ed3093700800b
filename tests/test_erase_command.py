from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from recall_bot.__main__ import app
from recall_bot.errors import Refusal
from recall_bot.mirror import LIVE, Mirror, Place
from recall_bot.mirror.upkeep import stored
from recall_bot.terminal.erase import EraseWhat, NoMirror
from typer.testing import CliRunner, Result

import recall

PLACES = (Place(1, 9, 1), Place(2, 9, 1), Place(3, 9, 3), Place(4, 8, 4))


def mirror_at(path: Path) -> Mirror:
    return Mirror(str(path), clock=lambda: 0.0, now=lambda: 1_770_000_000.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    async def fill(mirror: Mirror) -> None:
        await mirror.new_epoch()
        for place in PLACES:
            ticket = mirror.ticket(place)
            rows = [
                recall.LogMessage(place.id * 10 + 1, "1", None, recall.PersonAuthor("7", "Mallory"), "secret-words"),
                recall.LogMessage(place.id * 10, "1", None, recall.PersonAuthor("8", "Ada"), "other words"),
            ]
            assert await mirror.write_page(ticket, rows, low=0, high=LIVE)
            mirror.settle(ticket)
        await mirror.close()

    path = tmp_path / "mirror.sqlite"
    asyncio.run(fill(mirror_at(path)))
    return path


def left(path: Path) -> dict[int, int]:
    async def count(mirror: Mirror) -> dict[int, int]:
        found = {each.place.id: each.rows for each in await stored(mirror)}
        await mirror.close()
        return found

    return asyncio.run(count(mirror_at(path)))


def erase(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["erase", *map(str, arguments)])


@pytest.mark.parametrize(
    ("option", "said", "rows"),
    [
        (("--user", 7), "Erased 4 messages of 4 channels and threads.", {1: 1, 2: 1, 3: 1, 4: 1}),
        (("--channel", 1), "Erased 4 messages of 2 channels and threads.", {3: 2, 4: 2}),
        (("--channel", 2), "Erased 2 messages of 1 channel or thread.", {1: 2, 3: 2, 4: 2}),
        (("--guild", 9), "Erased 6 messages of 3 channels and threads.", {4: 2}),
        (("--all",), "Erased 8 messages of 4 channels and threads.", {}),
    ],
)
def test_what_is_named_goes_and_nothing_else(
    path: Path, option: tuple[object, ...], said: str, rows: dict[int, int]
) -> None:
    done = erase(*option, "--mirror", path)
    assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, said, "")
    assert left(path) == rows


def test_what_was_erased_is_in_no_byte_of_the_files(path: Path) -> None:
    assert b"secret-words" in path.read_bytes()
    assert erase("--user", 7, "--mirror", path).exit_code == 0
    assert b"secret-words" not in b"".join(each.read_bytes() for each in path.parent.iterdir())


def test_nothing_to_erase_is_1(path: Path) -> None:
    assert erase("--user", 5, "--mirror", path).exit_code == 1
    assert left(path) == {1: 2, 2: 2, 3: 2, 4: 2}


@pytest.mark.parametrize("options", [(), ("--all", "--user", 7), ("--guild", 9, "--channel", 1)])
def test_what_to_erase_is_said_exactly_once(path: Path, options: tuple[object, ...]) -> None:
    done = erase(*options, "--mirror", path)
    assert isinstance(done.exception, EraseWhat)
    assert left(path) == {1: 2, 2: 2, 3: 2, 4: 2}


def test_the_configured_mirror_is_the_one(path: Path, tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text('[mirror]\npath = "mirror.sqlite"\n')
    assert erase("--all", "--config", config).exit_code == 0
    assert left(path) == {}


def test_without_a_file_there_is_nothing_to_erase_from(tmp_path: Path) -> None:
    done = erase("--all", "--mirror", tmp_path / "none.sqlite")
    assert isinstance(done.exception, NoMirror)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    config = tmp_path / "broken.toml"
    config.write_text("nonsense = 1\n")
    done = erase("--all", "--config", config)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_a_file_that_is_no_mirror_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    path.write_bytes(b"secret-words " * 1_000)
    done = erase("--all", "--mirror", path)
    assert isinstance(done.exception, Refusal)
    assert path.read_bytes() == b"secret-words " * 1_000
