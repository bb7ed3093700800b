"""Discord on loopback, as far as a bot needs it to log in, connect and register commands; records what it is asked.

For what simcord replaces and so cannot show: the real HTTP client and the real gateway connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import WSMsgType, web

BOT = {"id": "100", "username": "Recall", "discriminator": "0", "avatar": None, "bot": True}
MESSAGE_CONTENT_LIMITED = 1 << 19


ServerT = TypeVar("ServerT", bound="DiscordServer")


@dataclass
class DiscordServer:
    """Hold how Discord is to behave, and what it was asked."""

    login_status: int = 200
    flags: int = MESSAGE_CONTENT_LIMITED
    close_code: int | None = None  # of the gateway, instead of READY
    commands: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/api/v10")
        if path == "/gateway-socket/":
            return await self._gateway(request)
        self.asked.append(f"{request.method} {path}")
        if path == "/users/@me" and self.login_status != 200:
            return _json({"message": "no", "code": 0}, self.login_status)
        if path.endswith("/commands") and request.method == "PUT":
            self.commands = [
                {"description": "", **command, "id": str(i), "application_id": "100", "version": "1"}
                for i, command in enumerate(await request.json(), start=1)
            ]
        limits = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        gateway = self.url.replace("http", "ws", 1).replace("/api/v10", "/gateway-socket/")
        answers: dict[str, Any] = {
            "/users/@me": BOT,
            "/oauth2/applications/@me": _application(self.flags),
            "/applications/100/commands": self.commands,
            "/gateway/bot": {"url": gateway, "shards": 1, "session_start_limit": limits},
        }
        return _json(answers[path], 200)

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": 45_000}})
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            if json.loads(message.data)["op"] != 2:  # anything but IDENTIFY
                continue
            self.asked.append("IDENTIFY")
            if self.close_code is not None:
                await socket.close(code=self.close_code)
                break
            application = {"id": "100", "flags": self.flags}
            hello = {"v": 10, "user": BOT, "guilds": [], "session_id": "s", "application": application}
            hello["resume_gateway_url"] = str(request.url.with_scheme("ws").with_query(None))
            await socket.send_json({"op": 0, "t": "READY", "s": 1, "d": {**hello, "shard": [0, 1]}})
            self.ready.set()
        return socket


def _json(body: object, status: int) -> web.Response:
    return web.Response(body=json.dumps(body), status=status, headers={"Content-Type": "application/json"})


def _application(flags: int) -> dict[str, Any]:
    return {
        "id": "100",
        "name": "Recall",
        "icon": None,
        "description": "",
        "summary": "",
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "team": None,
        "owner": BOT,
    }


@asynccontextmanager
async def open_server(**behaviour: Any) -> AsyncIterator[DiscordServer]:
    """Serve on a free port of loopback until the block ends."""
    async with serve(DiscordServer(**behaviour)) as server:
        yield server


@asynccontextmanager
async def serve(server: ServerT) -> AsyncIterator[ServerT]:
    """Serve what a server answers on a free port of loopback until the block ends."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}/api/v10"
        yield server
    finally:
        await runner.cleanup()
