"""A whole guild on loopback, for what reads it by REST alone: its channels, threads, messages and rights.

It keeps the API's word where that matters here: pages of at most 100, newest first, `before` exclusive, an empty
page where Read Message History is missing, the `Date` header. `answers` holds, by path, what the next requests
get instead: a status, or a function that makes the response.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
import pytest
from aiohttp import web

from tests.discord_server import BOT, DiscordServer, serve
from tests.history_server import respond
from tests.payloads import GUILD, OWNER, READER, role

Answer: TypeAlias = int | Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class GuildServer(DiscordServer):
    """Hold one guild: `channels` and active `threads` are payloads, `messages` those of each place, oldest first."""

    channels: list[dict[str, Any]] = field(default_factory=list)
    threads: list[dict[str, Any]] = field(default_factory=list)
    archived: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    messages: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    joined: bool = True
    starts_left: int = 1000
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    meanwhile: Callable[[str], Awaitable[object]] | None = None  # done while a page of messages is on its way

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/api/v10")
        if waiting := self.answers.get(path):
            self.asked.append(f"{request.method} {path}")
            answer = waiting.pop(0)
            return respond({"message": "no", "code": 0}, answer) if isinstance(answer, int) else await answer(request)
        body = self._answer(path, request)
        if body is None:
            return await super().handle(request)
        self.asked.append(f"{request.method} {path}")
        if self.meanwhile is not None and path.endswith("/messages"):
            await self.meanwhile(path)
        return respond({"message": "Unknown Channel", "code": 10003}, 404) if body == [None] else respond(body)

    def pages(self) -> list[str]:
        """Return the requests for messages so far, and forget all requests."""
        made = [line for line in self.asked if line.endswith("/messages")]
        self.asked.clear()
        return made

    def _answer(self, path: str, request: web.Request) -> Any:
        guild = {
            "id": str(GUILD),
            "name": "Workshop",
            "owner_id": str(OWNER),
            "roles": [role(GUILD, "@everyone", READER)],
        }
        member = {"user": BOT, "roles": [], "joined_at": "2020-01-01T00:00:00+00:00", "deaf": False, "mute": False}
        match path.strip("/").split("/"):
            case ["users", "@me", "guilds"]:
                return [guild] if self.joined else []
            case ["guilds", _]:
                return {**guild, "emojis": [], "features": []}
            case ["guilds", _, "channels"]:
                return self.channels
            case ["guilds", _, "threads", "active"]:
                return {"threads": self.threads, "members": []}
            case ["guilds", _, "members", _]:
                return {**member, "flags": 0}
            case ["gateway", "bot"]:
                limits = {"total": 1000, "remaining": self.starts_left, "reset_after": 0, "max_concurrency": 1}
                return {"url": "ws://127.0.0.1:1", "shards": 1, "session_start_limit": limits}
            case ["gateway"]:
                return {"url": "ws://127.0.0.1:1"}
            case ["channels", number]:
                everywhere = [
                    *self.channels,
                    *self.threads,
                    *(each for some in self.archived.values() for each in some),
                ]
                return next((each for each in everywhere if each["id"] == number), [None])
            case ["channels", number, "threads", "archived", "public"]:
                return {"threads": self.archived.get(int(number), []), "members": [], "has_more": False}
            case ["channels", number, "messages"]:
                before, limit = request.query.get("before"), int(request.query["limit"])
                assert 1 <= limit <= 100
                held = self.messages.get(int(number), [])
                return [each for each in held if before is None or int(each["id"]) < int(before)][: -limit - 1 : -1]
        return None


@asynccontextmanager
async def serve_guild(monkeypatch: pytest.MonkeyPatch, **behaviour: Any) -> AsyncIterator[GuildServer]:
    """Serve a guild on a free port of loopback, to which discord.py's real HTTP client speaks."""
    async with serve(GuildServer(**behaviour)) as server:
        monkeypatch.setattr(discord.http.Route, "BASE", server.url)
        yield server
