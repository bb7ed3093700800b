from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Any

import discord
import pytest
from discord.ext import commands
from recall_bot.config import Config
from recall_bot.host import BAD_TOKEN, EXIT_FAILED, EXIT_STOPPED, NO_ANSWER, HostError, RecallBot, run, serve
from recall_bot.readiness import PORTAL_SWITCH

from tests.discord_server import DiscordServer, open_server

TOKEN = "made.up.token"
SECONDS = 20  # far more than anything here takes


async def failure(monkeypatch: pytest.MonkeyPatch, **behaviour: Any) -> str:
    """Return the one line that a start against such a server ends with."""
    async with open_server(**behaviour) as server, asyncio.timeout(SECONDS):
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        with pytest.raises(HostError) as caught:
            await serve(Config(), TOKEN)
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def serve_until_ready(server: DiscordServer, number: signal.Signals = signal.SIGTERM) -> None:
    serving = asyncio.create_task(serve(Config(), TOKEN))
    await server.ready.wait()
    os.kill(os.getpid(), number)
    await serving


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    async with open_server() as server, asyncio.timeout(SECONDS):
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        before = asyncio.all_tasks()
        await serve_until_ready(server, number)
        assert {task for task in asyncio.all_tasks() - before if "recall" in task.get_name()} == set()
    assert server.asked[:2] == ["GET /users/@me", "GET /oauth2/applications/@me"]
    assert "IDENTIFY" in server.asked


async def test_a_stop_before_the_login_is_done_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server() as server, asyncio.timeout(SECONDS):
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        stop = asyncio.Event()
        stop.set()
        await serve(Config(), TOKEN, stop=stop)
    assert "IDENTIFY" not in server.asked


async def test_the_second_start_registers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server() as server, asyncio.timeout(SECONDS):
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        await serve_until_ready(server)
        server.asked.clear()
        server.ready.clear()
        await serve_until_ready(server)
    assert [call for call in server.asked if call.startswith("PUT")] == []
    assert "GET /applications/100/commands" in server.asked


async def test_a_bad_token_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await failure(monkeypatch, login_status=401) == BAD_TOKEN


async def test_a_token_that_the_gateway_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await failure(monkeypatch, close_code=4004) == BAD_TOKEN


@pytest.mark.parametrize("behaviour", [{"flags": 0}, {"close_code": 4014}])
async def test_the_switch_in_the_portal_is_named(monkeypatch: pytest.MonkeyPatch, behaviour: Mapping[str, int]) -> None:
    assert await failure(monkeypatch, **behaviour) == PORTAL_SWITCH


async def test_discord_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await failure(monkeypatch, login_status=503) == NO_ANSWER


async def test_discord_that_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await failure(monkeypatch, login_status=403) == "Discord refuses the bot (status 403, code 0)."


async def test_a_gateway_that_closes_for_good_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await failure(monkeypatch, close_code=4010) == "Discord closed the connection (code 4010)."


async def test_discord_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server() as server:
        gone = server.url
    monkeypatch.setattr(discord.http.Route, "BASE", gone)
    with pytest.raises(HostError, match="Discord does not answer"):
        await serve(Config(), TOKEN)


async def test_what_does_not_end_in_time_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Endless(commands.Cog):
        async def cog_unload(self) -> None:
            await asyncio.Event().wait()

    async def setup_hook(self: RecallBot) -> None:
        await self.add_cog(Endless())

    monkeypatch.setattr(RecallBot, "setup_hook", setup_hook)
    monkeypatch.setattr("recall_bot.host.STOP_SECONDS", 0.05)
    async with open_server() as server, asyncio.timeout(SECONDS):
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        await serve_until_ready(server)
    assert "not everything ended within 0.05 s" in caplog.text
    for thread in threading.enumerate():
        if thread.name.startswith("keep-alive"):
            thread.join(SECONDS)
            assert not thread.is_alive()


def test_a_start_without_a_token_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Config(), {}) == EXIT_FAILED
    error = capsys.readouterr().err
    assert error == "recall-bot: DISCORD_TOKEN: there is no token; set DISCORD_TOKEN, or name a file in token_file\n"


def test_the_bot_asks_for_no_more_than_it_needs_and_mentions_nobody() -> None:
    bot = RecallBot(Config())
    assert {name for name, on in bot.intents if on} == {"guilds", "guild_messages", "message_content"}
    allowed = bot.allowed_mentions
    assert allowed is not None
    assert [allowed.everyone, allowed.users, allowed.roles, allowed.replied_user] == [False] * 4


PROGRAM = """
import sys
import discord
from recall_bot.config import Config
from recall_bot.host import run
discord.http.Route.BASE = sys.argv[1]
sys.exit(run(Config(), {"DISCORD_TOKEN": sys.argv[2]}))
"""


async def test_the_process_ends_well_at_sigterm_and_logs_no_token() -> None:
    async with open_server() as server, asyncio.timeout(SECONDS):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, server.url, TOKEN, stderr=asyncio.subprocess.PIPE
        )
        await server.ready.wait()
        process.send_signal(signal.SIGTERM)
        _, log = await process.communicate()
    assert process.returncode == EXIT_STOPPED, log.decode()
    assert TOKEN not in log.decode()
    assert "Traceback" not in log.decode()


async def test_the_process_that_cannot_start_says_so_in_its_last_line() -> None:
    async with open_server(flags=0) as server, asyncio.timeout(SECONDS):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, server.url, TOKEN, stderr=asyncio.subprocess.PIPE
        )
        _, log = await process.communicate()
    assert process.returncode == EXIT_FAILED
    assert log.decode().splitlines()[-1] == f"recall-bot: {PORTAL_SWITCH}"
    assert "Traceback" not in log.decode()
