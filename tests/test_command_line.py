"""The command line as a process: its statuses, its streams, and who reads them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.exporting import ADA, FIRST_ID, export, message, spelled, write
from tests.terminals import open_terminal

RECALL_BOT = (sys.executable, "-m", "recall_bot")


def start(
    *arguments: object, environ: dict[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RECALL_BOT, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, **(environ or {})},
    )


def run(*arguments: object, **environ: str) -> tuple[int, str, str]:
    """Run the command line; returns its status, and what it wrote to standard output and standard error."""
    process = start(*arguments, environ=environ)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


@pytest.fixture
def room(tmp_path: Path) -> Path:
    messages = [message(number, f"limiter {number} größer 日本", ADA) for number in range(3_000)]
    return write(tmp_path / "room.json", [*messages, message(3_000, f"!pin ^{FIRST_ID} #limits")])


def test_found_is_0_and_nothing_found_is_1(room: Path) -> None:
    assert run("search", room, "limiter 7", "--limit", 1)[0] == 0
    assert run("pins", room)[0::2] == (0, "")
    status, out, err = run("search", room, "zebra")
    assert (status, err) == (1, "")
    assert out.startswith("Nothing found.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", "gone.json", "x"], r"gone\.json: cannot be read \(No such file or directory\)"),
        (["pins", "broken.json"], r"broken\.json: is not JSON, at line 1, column 1"),
        (["overrun", "empty"], r"empty: holds no \.json file"),
        (["search", "room.json", "/(/"], r"That expression is not valid: .*, at character \d+\."),
        (["search", "room.json", "x" * 201], r"A query has at most 200 characters, this one has 201\."),
        (["search", "room.json", "x", "--before", "soon"], r"That is no time I can read: .*"),
        (["search", "room.json", "x", "--from", "nobody"], r"Nobody who wrote in these files is called 'nobody': .*"),
        (["pins", "room.json", "--in", "elsewhere"], r"These files hold no channel or thread .*#engineering.*"),
        (["run", "--config", "gone.toml"], r".*gone\.toml.*"),
        (["demo", "gone.json", "--no-open"], r"gone\.json: cannot be read .*"),
    ],
)
def test_what_cannot_be_done_is_2_and_one_line_on_standard_error(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_bytes(b"\x7fELF\x02\x01")
    (tmp_path / "empty").mkdir()

    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert re.fullmatch(f"recall-bot: {sentence}\n", err), err


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "x"],
        ["pins"],
        ["frobnicate"],
        ["search", "a.json", "x", "--sort", "worst"],
        ["pins", "a", "--scan", "0"],
    ],
)
def test_what_cannot_be_understood_is_2_as_well(arguments: list[str]) -> None:
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert "recall-bot" in err


def test_a_name_that_is_no_text_is_said_all_the_same(tmp_path: Path) -> None:
    process = subprocess.run(
        [*RECALL_BOT, "pins", os.fsencode(tmp_path) + b"/\xff\x1b[31m.json"], capture_output=True, check=False
    )

    assert process.returncode == 2
    assert b"cannot be read" in process.stderr
    assert b"\x1b" not in process.stderr
    assert process.stderr.count(b"\n") == 1


def test_help_names_every_command_and_the_version_is_told() -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(f"  {command} " in out for command in ("run", "demo", "search", "pins", "standings", "overrun"))
    assert re.fullmatch(r"recall-bot \d+\.\d+\.\d+\n", run("--version")[1])


def test_a_file_that_breaks_off_is_told_of_beside_an_answer(tmp_path: Path) -> None:
    data = spelled(export([message(0, "limiter"), message(1, "last")]))
    path = tmp_path / "room.json"
    path.write_bytes(data[: data.index(b'"last"')])

    for query, status in (("limiter", 0), ("zebra", 1)):
        code, out, err = run("search", path, query)
        assert code == status
        assert out
        assert err == f"recall-bot: {path}: breaks off after 1 whole message\n"


def test_colour_is_for_a_terminal_only(room: Path) -> None:
    piped = run("pins", room, FORCE_COLOR="1", TTY_COMPATIBLE="1", TERM="xterm-256color")
    assert "\x1b" not in piped[1] + piped[2]

    assert b"\x1b[1;36m#limits" in on_a_terminal("pins", room)
    assert b"\x1b" not in on_a_terminal("pins", room, NO_COLOR="1", TERM="dumb")


def on_a_terminal(*arguments: object, **environ: str) -> bytes:
    """What a terminal is sent."""
    ours, theirs = open_terminal()
    process = start(*arguments, environ={"TERM": "xterm-256color", **environ}, stdout=theirs)
    os.close(theirs)
    sent = b""
    try:
        while chunk := os.read(ours, 65_536):
            sent += chunk
    except OSError:  # so Linux says that the other side has closed
        pass
    os.close(ours)
    process.communicate(timeout=30)
    return sent


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_who_has_read_enough_is_no_error(room: Path, form: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    process = start("search", room, "limiter", "--limit", 3_000, *form, stdout=writer)
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)

    _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, "")


def test_nobody_who_reads_at_all_is_no_error(room: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start("pins", room, stdout=writer)
    os.close(writer)

    _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, "")


def test_a_terminal_that_cannot_show_a_script_shows_the_rest(room: Path) -> None:
    status, out, _ = run("search", room, "limiter 77", "--limit", 1, PYTHONIOENCODING="ascii")

    assert status == 0
    assert r"limiter 77 gr\xf6\xdfer \u65e5\u672c" in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_an_interrupt_is_neither_nothing_found_nor_a_traceback(tmp_path: Path) -> None:
    endless = tmp_path / "endless.json"
    os.mkfifo(endless)
    process = start("search", endless, "x")
    with endless.open("wb"):  # opens once the other side reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (130, "", "")
