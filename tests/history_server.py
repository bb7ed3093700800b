"""The history of one channel, served on loopback to discord.py's real HTTP client; records what it is asked.

It keeps the API's word: at most 100 messages a page, newest first, `before` exclusive. `answers` holds what the
next requests get instead: a status, or a function that makes the response.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
import pytest
from aiohttp import web

from tests.payloads import BOT, CHANNEL, channel, make_client, make_guild, message, user

FIRST_ID = 300_000_000_000_000_000

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class HistoryServer:
    """Hold the messages of a channel, oldest first, and every (`before`, `limit`) that was asked for."""

    messages: list[dict[str, Any]]
    channel: discord.TextChannel
    asked: list[tuple[int | None, int]] = field(default_factory=list)
    answers: list[int | Answer | None] = field(default_factory=list)  # null: what there is

    async def handle(self, request: web.Request) -> web.StreamResponse:
        single = request.match_info.get("message_id")
        if single is None:
            before, limit = request.query.get("before"), int(request.query["limit"])
            assert 1 <= limit <= 100
            self.asked.append((None if before is None else int(before), limit))
        answer = self.answers.pop(0) if self.answers else None
        if callable(answer):
            return await answer(request)
        if answer is not None:
            return respond({"message": "no", "code": 0}, answer)
        if single is not None:
            found = [held for held in self.messages if held["id"] == single]
            return respond(found[0]) if found else respond({"message": "Unknown Message", "code": 10008}, 404)
        older = [held for held in self.messages if before is None or int(held["id"]) < int(before)]
        return respond(older[: -limit - 1 : -1])

    @property
    def ids(self) -> list[int]:
        """The ids of the messages, newest first."""
        return [int(held["id"]) for held in reversed(self.messages)]


async def handle_login(_request: web.Request) -> web.StreamResponse:
    return respond(user(BOT, "Recall", bot=True))


def respond(body: object, status: int = 200, **headers: str) -> web.Response:
    return web.Response(body=json.dumps(body), status=status, headers={"Content-Type": "application/json", **headers})


def numbered(total: int, **more: Any) -> list[dict[str, Any]]:
    """Return that many messages, oldest first, a second apart."""
    return [message(CHANNEL, f"msg {n}", id=str(FIRST_ID + (n * 1000 << 22)), **more) for n in range(total)]


@asynccontextmanager
async def serve_history(
    monkeypatch: pytest.MonkeyPatch, messages: Iterable[dict[str, Any]] = (), **options: Any
) -> AsyncIterator[HistoryServer]:
    """Serve on a free port of loopback; `HistoryServer.channel` reads from it."""
    client = make_client(**options)
    place = make_guild(client, channels=[channel(CHANNEL, "general")]).get_channel(CHANNEL)
    assert isinstance(place, discord.TextChannel)
    server = HistoryServer(list(messages), place)
    routes = [
        web.get("/channels/{channel_id}/messages", server.handle),
        web.get("/channels/{channel_id}/messages/{message_id}", server.handle),
    ]
    async with logged_in(monkeypatch, client, routes):
        yield server


@asynccontextmanager
async def logged_in(
    monkeypatch: pytest.MonkeyPatch, client: discord.Client, routes: Iterable[web.RouteDef]
) -> AsyncIterator[None]:
    """Serve routes as Discord on a free port of loopback, with a client that has logged in there by HTTP."""
    application = web.Application()
    application.add_routes([web.get("/users/@me", handle_login), *routes])
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        monkeypatch.setattr(discord.http.Route, "BASE", f"http://{host}:{port}")
        async with client:
            await client.http.static_login("made.up.token")
            yield
    finally:
        await runner.cleanup()
