"""`recall-bot backfill`, as a process beside a running bot."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from recall_bot.backfill import Progress
from recall_bot.backfill_session import Request, run_backfill
from recall_bot.config import Config
from recall_bot.errors import Refusal, Unavailable
from recall_bot.host import BAD_TOKEN, HostError
from recall_bot.readiness import PORTAL_SWITCH, NotReady
from recall_bot.state import State
from recall_bot.terminal import backfill as command

from tests.beside_the_bot import run, start
from tests.guild_server import GuildServer, serve_guild
from tests.history_server import FIRST_ID
from tests.payloads import ADA, CHANNEL, HIDDEN, SECRET, THREAD, channel, message, thread
from tests.terminals import open_terminal
from tests.test_terminal import recall_bot


def numbered(place: int, total: int) -> list[dict[str, Any]]:
    return [message(place, f"msg {n}", id=str(FIRST_ID + place + (n * 1000 << 22))) for n in range(total)]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[GuildServer]:
    channels = [channel(CHANNEL, "general"), channel(SECRET, "mods", permission_overwrites=[HIDDEN])]
    messages = {CHANNEL: numbered(CHANNEL, 250), THREAD: numbered(THREAD, 3)}
    async with serve_guild(
        monkeypatch, channels=channels, threads=[thread(THREAD, "plan", CHANNEL)], messages=messages
    ) as opened:
        yield opened


def stored(folder: Path) -> int:
    with contextlib.closing(sqlite3.connect(folder / "mirror.sqlite")) as connection:
        ((count,),) = connection.execute("SELECT COUNT(*) FROM rows").fetchall()
    return int(count)


async def test_a_channel_is_read_with_its_threads_and_then_nothing_is_missing(
    server: GuildServer, tmp_path: Path
) -> None:
    for place in (*server.channels, *server.threads):
        held = server.messages.get(int(place["id"]))
        place["last_message_id"] = None if held is None else held[-1]["id"]
    link = f"https://discord.com/channels/1/{CHANNEL}"
    assert await run(server.url, "backfill", link, folder=tmp_path) == (0, "Read 253 messages in 4 requests.\n", "")
    assert stored(tmp_path) == 253
    assert await run(server.url, "backfill", "--all", folder=tmp_path) == (0, "Nothing was missing.\n", "")


async def test_what_cannot_be_read_is_named_and_the_status_tells_how_much_that_was(
    server: GuildServer, tmp_path: Path
) -> None:
    ended = await run(server.url, "backfill", SECRET, CHANNEL, "5", folder=tmp_path)
    assert (ended.status, ended.out) == (1, "Read 253 messages in 4 requests.\n")
    assert ended.err.splitlines() == [
        f"recall-bot: #mods: {Unavailable('no_permission')}",
        "recall-bot: #5: That channel is gone, or nothing that I can find.",
    ]
    ended = await run(server.url, "backfill", SECRET, folder=tmp_path)
    assert (ended.status, ended.out) == (2, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_is_stopped_by_a_signal_and_goes_on_when_it_is_started_again(
    server: GuildServer, tmp_path: Path, number: signal.Signals
) -> None:
    asked = asyncio.Event()

    async def wait(path: str) -> None:
        if server.asked.count(f"GET {path}") == 3:
            asked.set()
            await asyncio.get_running_loop().create_future()

    server.meanwhile = wait
    running = await start(server.url, "backfill", CHANNEL, folder=tmp_path)
    await asked.wait()
    running.stop(number)
    assert await running.ended() == (130, "", "recall-bot: stopped; the same command goes on from here\n")
    assert stored(tmp_path) == 200

    server.meanwhile = None
    server.pages()
    assert (await run(server.url, "backfill", CHANNEL, folder=tmp_path)).status == 0
    assert stored(tmp_path) == 253
    assert server.pages().count(f"GET /channels/{CHANNEL}/messages") == 2


async def test_whoever_is_to_be_forgotten_and_what_is_too_old_are_not_kept(server: GuildServer, tmp_path: Path) -> None:
    state = State(str(tmp_path / "state.sqlite"), now=lambda: 0.0)
    await state.forget_author("77")
    for held in server.messages[CHANNEL][200:]:
        held["author"] = {**held["author"], "id": "77"}
    (tmp_path / "config.toml").write_text("[mirror]\nkeep_messages = 120")
    assert (await run(server.url, "backfill", CHANNEL, folder=tmp_path)).status == 0
    assert stored(tmp_path) == 123
    with contextlib.closing(sqlite3.connect(tmp_path / "mirror.sqlite")) as connection:
        assert connection.execute("SELECT DISTINCT author_id FROM rows").fetchall() == [(str(ADA),)]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("[mirror]\npath = ':memory:'", "There is no mirror to fill"),
        ("[mirror]\nenabled = false", "There is no mirror to fill"),
        ("[state]\npath = '.'", "it says whose messages are not to be stored"),
    ],
)
def test_what_keeps_it_from_its_work_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: str, sentence: str
) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "made.up.token")
    (tmp_path / "config.toml").write_text(config)
    ended = recall_bot("backfill", CHANNEL)
    assert isinstance(ended.exception, Refusal)
    assert sentence in ended.exception.sentence


def test_without_a_token_or_with_a_wrong_configuration_it_does_not_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DISCORD_TOKEN", raising=False)
    ended = recall_bot("backfill", CHANNEL)
    assert (ended.exit_code, "there is no token" in ended.stderr) == (2, True)
    (tmp_path / "config.toml").write_text("[mirrors]")
    ended = recall_bot("backfill", CHANNEL)
    assert (ended.exit_code, "mirrors: unknown key" in ended.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "Name channels, or give --all"),
        (("general",), "'general' is no id of a channel"),
    ],
)
def test_it_says_how_it_is_used(arguments: tuple[str, ...], problem: str) -> None:
    ended = recall_bot("backfill", *arguments)
    assert (ended.exit_code, problem in ended.stderr) == (2, True)


@pytest.mark.parametrize(("behaviour", "sentence"), [({"login_status": 401}, BAD_TOKEN), ({"flags": 0}, PORTAL_SWITCH)])
async def test_a_bot_that_discord_lets_not_read_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, behaviour: dict[str, Any], sentence: str
) -> None:
    async with serve_guild(monkeypatch, **behaviour):
        with pytest.raises((HostError, NotReady)) as caught:
            await run_backfill(Config(), "made.up.token", Request((CHANNEL,)))
    assert str(caught.value) == sentence
    assert not (tmp_path / "mirror.sqlite").exists()


async def test_a_discord_that_fails_while_it_is_asked_what_there_is_ends_it(server: GuildServer) -> None:
    server.answers = {f"/channels/{CHANNEL}": [503]}
    with pytest.raises(Unavailable, match="Discord does not answer"):
        await run_backfill(Config(), "made.up.token", Request((CHANNEL,)))


async def test_a_date_ends_it(server: GuildServer, tmp_path: Path) -> None:
    until = int(server.messages[CHANNEL][200]["id"])
    report = await run_backfill(Config(), "made.up.token", Request((CHANNEL,), floor=until))
    assert (report.messages, report.requests) == (103, 2)


STEP = Progress("general", 2, 7, 12_300, 40_000, FIRST_ID)


def test_a_step_is_one_line_and_names_are_data() -> None:
    assert command.line(STEP) == "#general (2 of 7): 12,300 messages, back to 2017-04-07 20:12 UTC"
    odd = Progress("\x1b[31m[bold]", 1, 1, 5, 0, 0)
    assert command.line(odd) == "#[31m[bold] (1 of 1): 5 messages, to the beginning"


def test_on_a_terminal_a_bar_is_drawn() -> None:
    ours, theirs = open_terminal()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, command.drawing(stream) as advance:
        advance(STEP)
    sent = b""
    with contextlib.suppress(OSError):  # so Linux says that the other side has closed
        while chunk := os.read(ours, 65_536):
            sent += chunk
    os.close(ours)
    assert b"#general (2 of 7): 12,300 messages" in sent


def test_elsewhere_a_line_is_said_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter([0.0, 1.0, 31.0, 31.0, 32.0])
    with command.drawing(clock=lambda: next(seconds)) as advance:
        for _ in range(3):
            advance(STEP)
    (said,) = capsys.readouterr().err.splitlines()
    assert said == f"recall-bot: {command.line(STEP)}; about 40,000 to go"
