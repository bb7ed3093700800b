"""Serve many clients over HTTP, on this machine alone, to whoever holds the token.

What listens on a machine can be asked by anything that runs there, and by any page that a browser there opens. So
the address is the loopback's and no other; each request bears a token, which stands in a file; and the SDK checks
that Host and Origin are this server's own, since a page may have its name lead here. A session that its client ends
takes its turns along; one that is left is ended, and so are its turns.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from ..errors import Refusal
from ..turn_keeping import LEASE_SECONDS
from .room import Room
from .serving import SESSION_HEADER, make_server

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
TOKEN_CHARS: Final = 32  # at least; as hexadecimal digits, 128 bits
SESSIONS: Final = 64  # open at once
BODY_BYTES: Final = 5 * 2**20  # of a request: more than all the summaries that one compile takes
SWEEP_SECONDS: Final = 60.0  # between two looks for turns that were left
STOP_SECONDS: Final = 3  # for what is under way when the server is told to stop

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Scope]]
Send: TypeAlias = Callable[[Scope], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class NoToken(Refusal):
    """Say what is wrong with the token of the server; it is never quoted."""

    template = (
        "{where}: {problem}; a token is one word of at least {least} characters, such as `openssl rand -hex 32` prints."
    )

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        self.least = TOKEN_CHARS


class PortTaken(Refusal):
    """Say that nothing can listen there."""

    template = "Port {port} of this machine cannot be listened on ({problem})."

    def __init__(self, port: int, problem: str) -> None:
        self.port = port
        self.problem = problem


def read_http_token(path: str) -> str:
    """Return the token that a file holds. Raises `NoToken`."""
    if not path:
        raise NoToken("mcp.token_file", "HTTP needs a token, and no file is named")
    try:
        token = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise NoToken(path, "this cannot be read as text") from None
    if len(token) < TOKEN_CHARS or len(token.split()) != 1 or not token.isascii():
        raise NoToken(path, "this holds no token")
    return token


def listen(port: int) -> socket.socket:
    """Return a socket of the loopback interface; port 0: a free one. Raises `PortTaken`."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise PortTaken(port, error.strerror or str(error)) from None


def address_of(listening: socket.socket) -> str:
    """Return the address of a server, as a client takes it."""
    return f"http://{HOST}:{listening.getsockname()[1]}{PATH}"


def make_app(room: Room, token: str, *, port: int) -> App:
    """Return the application that serves a room at a port of the loopback interface."""
    hosts = [f"{HOST}:{port}", f"localhost:{port}"]
    served = make_server(room).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=BODY_BYTES,
        max_sessions=SESSIONS,
        session_idle_timeout=LEASE_SECONDS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    return _Gate(served, token, room.turns.close_of)


class _Gate:
    """Let in who bears the token, and hear of sessions that end."""

    def __init__(self, app: App, token: str, on_ended: Callable[[str], None]) -> None:
        self._app = app
        self._expected = token.encode()
        self._on_ended = on_ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._expected):
            await _unauthorized(send)
            return
        await self._app(scope, receive, send)
        if scope["method"] == "DELETE" and (session := headers.get(SESSION_HEADER.encode())) is not None:
            self._on_ended(session.decode("latin-1"))


async def _unauthorized(send: Send) -> None:
    body = b'{"error": "This server wants its token: Authorization: Bearer TOKEN."}'
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve_http(
    room: Room,
    token: str,
    listening: socket.socket,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, or until `stop` is set."""
    app = make_app(room, token, port=listening.getsockname()[1])
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=STOP_SECONDS,
        server_header=False,
    )
    server = uvicorn.Server(config)
    tasks = [asyncio.create_task(_sweep(room, sleep), name="recall-mcp-sweep")]
    if stop is not None:
        tasks.append(asyncio.create_task(_stop(server, stop), name="recall-mcp-stop"))
    try:
        await server.serve(sockets=[listening])
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _sweep(room: Room, sleep: Callable[[float], Awaitable[None]]) -> None:
    while True:
        await sleep(SWEEP_SECONDS)
        room.turns.sweep()


async def _stop(server: uvicorn.Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True
