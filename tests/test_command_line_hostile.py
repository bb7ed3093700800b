"""The command line among hostile things: expressions, texts, and streams that are full, closed, mute or odd."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest
from recall_bot.__main__ import app
from typer.testing import CliRunner

from tests.exporting import ADA, FIRST_ID, SCOUT, channel, message, user, write
from tests.terminals import open_terminal

SLOW = "/(?:(?:ab)+)+(?:(?:ab)*)*$|(b+)+$/"
COMMAND = (sys.executable, "-m", "recall_bot")
PLAIN = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR", "TERM"}}


def recall_bot(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end, its output read as UTF-8."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=PLAIN | environ,
        timeout=60,
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    messages = [message(number, f"row {number}") for number in range(250)]
    messages[70] = message(70, "the rate limiter resets")  # the 180th from the end
    messages[90] = message(90, "b" * 2_000 + " " + "a" * 26 + "!", SCOUT)
    messages[100] = message(100, f"!pin ^{FIRST_ID + 70} #limits", SCOUT)
    messages[110] = message(110, "!support #ship it is done")
    return write(tmp_path_factory.mktemp("room") / "engineering.json", messages)


# What is asked


def test_a_window_is_not_mistaken_for_the_whole(room: Path) -> None:
    def coverage(scan: int, status: int, *more: str) -> dict[str, Any]:
        arguments = ["search", str(room), "rate limiter", "--scan", str(scan), "--json", *more]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == status
        found: dict[str, Any] = json.loads(done.stdout)["coverage"]
        return found

    first = coverage(100, 1)
    assert (first["rows"], first["beginning"], first["stopped"]) == (100, False, "bound")
    assert coverage(100, 0, "--before", first["oldest"])["rows"] == 100
    assert coverage(1, 1)["rows"] == 1
    said = CliRunner().invoke(app, ["search", str(room), "rate limiter", "--scan", "100"]).stdout
    assert said == (
        "Nothing found.\nI looked at the newest 100 messages, back to 2024-02-05 09:46 UTC; "
        "what is older was not read. As of 2026-03-02T00:00:00Z.\n"
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("/[/", "That expression is not valid: unterminated character set, at character 2.\n"),
        ("/(?:(?:(?:a{99}){99}){99}){99}/", "I stopped that expression: it "),  # a slow machine runs out of time first
        ("/(?R)?a|b(?R)/", "I stopped that expression: it "),
    ],
)
def test_an_expression_of_a_stranger_is_bounded(room: Path, query: str, said: str) -> None:
    done = recall_bot("search", room, query)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"recall-bot: {said}")


@pytest.mark.parametrize(
    ("query", "status", "is_expression"),
    [("//", 1, False), ("/x/i", 1, False), ("/a/b/", 1, True), ("/(?:)/", 0, True)],
)
def test_an_expression_never_becomes_a_text(room: Path, query: str, status: int, is_expression: bool) -> None:
    done = CliRunner().invoke(app, ["search", str(room), query, "--limit", "250"])

    assert (done.exit_code, "this was a regular expression" in done.stderr) == (status, is_expression)


def test_an_expression_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    slow = write(tmp_path / "slow.json", [message(1, "b" * 5_000 + "ab" * 40 + "!")])

    done = recall_bot("search", slow, SLOW)

    said = "recall-bot: I stopped that expression: it takes longer than one search may take.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_words_are_found_in_any_order_and_a_phrase_as_it_stands(room: Path) -> None:
    assert CliRunner().invoke(app, ["search", str(room), "limiter rate"]).exit_code == 0
    assert CliRunner().invoke(app, ["search", str(room), '"limiter rate"']).exit_code == 1


# What it prints to


def shut(room: Path, streams: dict[str, int | IO[str]], *arguments: str) -> tuple[int, str]:
    """Run a search with these streams; returns its status and what it said on the other one."""
    both: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(
        [*COMMAND, "search", str(room), "limiter", *arguments],
        **(both | streams),
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    return done.returncode, (done.stdout or "") + (done.stderr or "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_full_disk_is_said_in_one_line(room: Path, form: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        assert shut(room, {"stdout": full}, *form) == (2, "recall-bot: cannot go on (No space left on device)\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_nobody_to_tell_is_no_other_failure(room: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert shut(room, {"stderr": full}, "--in", "nowhere") == (2, "")


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor in a shell")
@pytest.mark.parametrize(
    ("closed", "form"),
    [(">&-", ""), (">&-", "--json"), ("2>&-", "--in nowhere"), ("<&- >&- 2>&-", ""), ("<&- >&- 2>&-", "--in nowhere")],
)
def test_a_stream_that_was_closed_is_missed_by_nobody(room: Path, closed: str, form: str) -> None:
    command = f'"$0" -m recall_bot search "$1" limiter {form} {closed}'

    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(room)], capture_output=True, check=False, timeout=60
    )

    assert done.returncode == (2 if "nowhere" in form else 0)
    assert b"Traceback" not in done.stdout + done.stderr


def test_whoever_listens_no_more_to_what_is_said_still_gets_the_answer(room: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    status, answer = shut(room, {"stderr": writing}, "--before", "2030-01-01")  # an offset is assumed, and said

    os.close(writing)
    assert (status, answer.splitlines()[1]) == (0, "  the rate limiter resets")


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_terminal_without_utf_8_gets_escapes_and_json_is_utf_8(tmp_path: Path, environ: dict[str, str]) -> None:
    file = write(tmp_path / "a.json", [message(1, "limiter 日本 🙂", user(1, "ñ", "Ñandú"))])
    environ = PLAIN | environ

    def printed(*more: str) -> tuple[int, bytes]:
        command = [*COMMAND, "search", str(file), "limiter", *more]
        done = subprocess.run(command, capture_output=True, check=False, env=environ, timeout=60)
        return done.returncode, done.stdout

    status, text = printed()
    assert status == 0
    assert b"\\u65e5\\u672c \\U0001f642" in text
    assert json.loads(printed("--json")[1])["hits"][0]["excerpt"] == "limiter 日本 🙂"


def on_terminal(*arguments: object) -> str:
    """What a terminal is sent."""
    ours, theirs = open_terminal()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=theirs, stderr=theirs, env=PLAIN | {"TERM": "xterm-256color"}
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # Linux reports the end of a terminal like this
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    process.wait(60)
    return seen.decode()


EVIL = "\x1b[31m\x9b2J\u202e\u2066[bold red]:smile:[/] \x07\r\x1b]0;t\x07 @x"


def test_nothing_in_a_log_is_obeyed_by_a_terminal(tmp_path: Path) -> None:
    eve = user(1, "e", f"Eve{EVIL}")
    file = write(
        tmp_path / "evil.json",
        [
            message(1, f"limiter {EVIL}", eve),
            message(2, f"!pin ^{FIRST_ID + 1} #x{EVIL}", eve),
            message(3, f"!support #t{EVIL}", eve),
            message(4, "y" * 700, {**ADA, "nickname": EVIL}),
        ],
        place=channel(f"general{EVIL}"),
    )

    for arguments in (
        ("search", file, "limiter"),
        ("search", file, "limiter", "--in", "nowhere"),
        ("pins", file),
        ("pins", file, "--show", "history"),
        ("pins", file, "--show", "export"),
        ("pins", file, "--json"),
        ("standings", file, "--threshold", "1", "--no-require-grounded"),
        ("overrun", file),
    ):
        seen = on_terminal(*arguments)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", seen)  # what colours our own text
        assert "[bold red]:smile:[/]" in shown.replace("\\", ""), arguments
        assert not set(shown.replace("\r\n", "")) & set("\x1b\x9b\x07\r\u202e\u2066"), arguments
        assert "\x1b[31m" not in seen, arguments


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_at_once_and_quietly(tmp_path: Path) -> None:
    slow = write(tmp_path / "slow.json", [message(1, "b" * 5_000 + "ab" * 40 + "!")])
    process = subprocess.Popen(
        [*COMMAND, "search", str(slow), SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if workers.exists():
        until = time.monotonic() + 30
        while not workers.read_text() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
    else:
        time.sleep(0.5)

    os.killpg(process.pid, signal.SIGINT)
    begun = time.monotonic()
    out, error = process.communicate(timeout=30)

    assert process.returncode == 130
    assert (out, error) == (b"", b"")
    assert time.monotonic() - begun < 1.5
