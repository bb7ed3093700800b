"""What Discord's transport can do to a walk, through discord.py's real HTTP client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest
from aiohttp import web
from recall_bot.errors import Unavailable, UnavailableKind
from recall_bot.failures import unavailable_kind, wrapped_errors
from recall_bot.history import HistoryLog
from recall_bot.pages import Reads
from recall_bot.rows import Identity

import recall
from tests.history_server import HistoryServer, numbered, respond, serve_history
from tests.payloads import BOT

SLOWED = {"message": "You are being rate limited.", "retry_after": 0.001, "global": False}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HistoryServer]:
    async with serve_history(monkeypatch, numbered(450)) as opened:
        yield opened


async def walk(server: HistoryServer, **options: Any) -> recall.Walk:
    pages = Reads(identity=lambda: Identity(BOT)).pages(server.channel, desk_id=server.channel.id)
    return await recall.walk_log(HistoryLog(pages, **options), scan=2048)


async def refused_with(server: HistoryServer) -> UnavailableKind:
    """Return the kind of failure that a walk begins with."""
    with pytest.raises(recall.ReadError) as caught:
        await walk(server)
    failure = caught.value.__cause__
    assert isinstance(failure, Unavailable)
    assert failure.__cause__ is not None
    return failure.kind


async def reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def half_a_page(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'[{"id":')
    assert request.transport is not None
    request.transport.abort()
    return response


async def banned(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=429, text="<html>banned</html>", content_type="text/html")


async def slowed(_request: web.Request) -> web.StreamResponse:
    return respond(SLOWED, 429, Via="1.1 google")


async def slowed_for_long(_request: web.Request) -> web.StreamResponse:
    return respond({**SLOWED, "retry_after": 3600.0}, 429, Via="1.1 google")


async def half_a_document(_request: web.Request) -> web.StreamResponse:
    return web.Response(text='[{"id": "1", ', content_type="application/json", charset=None)


async def a_page_of_html(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>at work</html>", content_type="text/html")


async def no_page(_request: web.Request) -> web.StreamResponse:
    return respond({"message": "not a page"})


async def no_messages(_request: web.Request) -> web.StreamResponse:
    return respond([{"id": "1"}])


async def never(_request: web.Request) -> web.StreamResponse:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


FAILURES: list[tuple[list[Any], UnavailableKind]] = [
    ([403], "no_permission"),
    ([404], "gone"),
    ([429], "rate_limited"),  # without `Via`: discord.py does not wait
    ([banned], "rate_limited"),
    ([503], "discord_down"),
    ([501], "discord_down"),
    ([400], "discord_down"),
    ([reset, reset], "discord_down"),  # aiohttp asks a second time on a fresh connection
    ([half_a_page], "discord_down"),
    ([half_a_document], "discord_down"),
    ([a_page_of_html], "discord_down"),
    ([no_page], "discord_down"),
    ([no_messages], "discord_down"),
]


@pytest.mark.parametrize(("answers", "kind"), FAILURES)
async def test_a_walk_that_fails_at_once_says_of_which_kind(
    server: HistoryServer, answers: list[Any], kind: UnavailableKind
) -> None:
    server.answers = list(answers)
    assert await refused_with(server) == kind


@pytest.mark.parametrize(("answers", "kind"), FAILURES)
async def test_a_walk_that_fails_later_ends_with_what_it_has_and_asks_no_more(
    server: HistoryServer, answers: list[Any], kind: UnavailableKind
) -> None:
    server.answers = [None, None, *answers]
    found = await walk(server)

    assert [row.sequence for row in found.rows] == server.ids[:200]
    assert found.coverage == recall.Coverage(200, server.ids[199], beginning=False, stopped=kind)
    assert len(server.asked) == 2 + len(answers)


async def test_a_short_rate_limit_is_waited_for(server: HistoryServer) -> None:
    server.answers = [slowed, None, slowed, slowed]
    found = await walk(server)

    assert [row.sequence for row in found.rows] == server.ids
    assert found.coverage.beginning


async def test_a_rate_limit_beyond_patience_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, numbered(3), max_ratelimit_timeout=30.0) as server:
        server.answers = [slowed_for_long]
        assert await refused_with(server) == "rate_limited"


@pytest.mark.parametrize("answer", [never, slowed_for_long, 500, 502])
async def test_the_deadline_ends_a_request_that_does_not(server: HistoryServer, answer: Any) -> None:  # R2
    server.answers = [None, answer]
    clock = iter([0.0, 0.0]).__next__

    found = await walk(server, deadline=0.05, clock=clock)

    assert found.coverage == recall.Coverage(100, server.ids[99], beginning=False, stopped="time")


async def test_a_server_that_is_not_there_is_down(server: HistoryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord.http.Route, "BASE", "http://127.0.0.1:1")  # nothing listens below port 1024
    assert await refused_with(server) == "discord_down"


async def test_a_cancelled_walk_is_cancelled_and_not_a_failure(server: HistoryServer) -> None:
    server.answers = [never]
    task = asyncio.create_task(walk(server))
    while not server.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_log_line_of_a_failure_has_ids_and_no_text(
    server: HistoryServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [None, 403]
    with caplog.at_level(logging.INFO, logger="recall_bot"):
        await walk(server)

    (line,) = caplog.messages
    assert line == f"history of {server.channel.id}: no_permission (Forbidden, 403)"


@pytest.mark.parametrize("error", [aiohttp.ServerDisconnectedError(), TimeoutError(), OSError(), aiohttp.ClientError()])
def test_what_the_network_raises_means_that_discord_is_down(error: Exception) -> None:
    assert unavailable_kind(error) == "discord_down"
    with pytest.raises(Unavailable) as caught, wrapped_errors():
        raise error
    assert caught.value.__cause__ is error


def test_a_mistake_of_ours_is_not_called_discords() -> None:
    with pytest.raises(KeyError), wrapped_errors():
        raise KeyError
