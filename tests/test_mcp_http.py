"""`recall-bot mcp --http`: who is let in, and what happens to those who leave."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from recall_bot.mcp_server.http import (
    SWEEP_SECONDS,
    NoToken,
    PortTaken,
    address_of,
    listen,
    read_http_token,
    serve_http,
)
from recall_bot.mcp_server.room import Room
from recall_bot.turn_keeping import LEASE_SECONDS

from tests.exporting import FIRST_ID, message, write
from tests.mcp_rooms import VIEWER, OneRoom, call, frames_in, large, room_over, said

TOKEN = "0123456789abcdef" * 4
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MODES = ("auto", "legacy")


class Clock:
    """Tell the time by which turns are left."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Served:
    """A server that listens, its room, and what it is told of time."""

    address: str
    room: Room
    source: OneRoom
    swept: asyncio.Event
    clock: Clock

    @asynccontextmanager
    async def client(self, mode: str = "auto") -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(headers=BEARER, timeout=20) as http,
            Client(streamable_http_client(self.address, http_client=http), mode=mode) as client,
        ):
            yield client

    async def sweep(self) -> None:
        """Let the server look for turns that were left."""
        self.swept.set()
        while self.swept.is_set():
            await asyncio.sleep(0)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    source, swept, stop, clock = OneRoom(), asyncio.Event(), asyncio.Event(), Clock()
    for text in ("the request", "and more", "limits are per key"):
        source.room.say(text)

    async def sleep(seconds: float) -> None:
        assert seconds == SWEEP_SECONDS
        swept.clear()
        await swept.wait()

    async with room_over(source, clock=clock) as room:
        listening = listen(0)
        opened = Served(address_of(listening), room, source, swept, clock)
        serving = asyncio.create_task(serve_http(room, TOKEN, listening, sleep=sleep, stop=stop))
        yield opened
        stop.set()
        await serving


@pytest.mark.parametrize("mode", MODES)
async def test_many_clients_have_their_turns_at_once(served: Served, mode: str) -> None:
    async def work(viewer: str) -> list[str | None]:
        async with served.client(mode) as client:
            opened = await call(client, "open_turn", viewer=viewer, request="10")
            compiled = [await call(client, "compile", turn=opened["turn"]) for _ in range(3)]
            assert all(one["held"] for one in compiled)
            await call(client, "close_turn", turn=opened["turn"])
            return said(frames_in(compiled[-1]["text"])["Messages"])

    everybody = await asyncio.gather(*(work(str(number)) for number in range(1, 9)))
    assert everybody == [["the request", "and more", "limits are per key"]] * 8
    assert len(served.room.turns) == 0


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_is_cancelled_leaves_the_others_alone(served: Served, mode: str) -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()
    read_before = served.source.room.read_before

    async def slow(before: int | None, limit: int) -> Any:
        waiting.set()
        await go_on.wait()
        return await read_before(before, limit)

    async with served.client(mode) as client:
        turn = (await call(client, "open_turn", viewer=VIEWER, request="10"))["turn"]
        served.source.room.read_before = slow  # type: ignore[method-assign]
        cancelled = asyncio.create_task(call(client, "compile", turn=turn))
        await waiting.wait()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        go_on.set()
        assert (await call(client, "compile", turn=turn))["held"]


async def test_a_session_that_its_client_ends_takes_its_turns_along(served: Served) -> None:
    async with served.client("legacy") as client:
        await call(client, "open_turn", viewer=VIEWER, request="10")
        assert len(served.room.turns) == 1
    assert len(served.room.turns) == 0


async def test_a_turn_whose_client_vanishes_is_closed_and_its_pin_removed(served: Served) -> None:
    async with served.client() as client:
        opened = await call(client, "open_turn", viewer=VIEWER, request="10")
    turn = served.room.turns.find(opened["turn"])
    assert served.room.turns.is_held(turn)
    served.clock.now = LEASE_SECONDS
    await served.sweep()
    assert len(served.room.turns) == 0
    assert not served.room.turns.is_held(turn)


async def test_an_answer_as_large_as_they_come_is_whole(served: Served) -> None:
    for number in range(97):
        served.source.room.say(f"{number} " + "x" * 3_900)
    async with served.client() as client:
        opened = await call(client, "open_turn", viewer=VIEWER, window=4_096)
        assert len((await large(client, opened["turn"]))["rows"]) == 100


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
TAKES = {"Accept": "application/json, text/event-stream"}


async def status(served: Served, headers: dict[str, str], *, method: str = "POST", path: str = "/mcp") -> int:
    async with httpx2.AsyncClient(timeout=20) as http:
        address = served.address.removesuffix("/mcp") + path
        answer = await http.request(method, address, json=HELLO, headers={**TAKES, **headers})
        assert TOKEN not in answer.text
        return int(answer.status_code)


async def test_who_bears_no_token_or_comes_by_another_name_is_not_let_in(served: Served) -> None:
    assert await status(served, BEARER) == 200
    assert await status(served, {"Authorization": f"bearer {TOKEN}"}) == 200  # a scheme has no case
    for given in (None, TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}0", "Bearer", "Bearer \x7f"):
        assert await status(served, {} if given is None else {"Authorization": given}) == 401, given
    for host in ("evil.example", "127.0.0.1", "127.0.0.1.evil.example:80", "localhost:1"):
        assert await status(served, {**BEARER, "Host": host}) == 421, host
    for origin in ("https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"):
        assert await status(served, {**BEARER, "Origin": origin}) == 403, origin
    assert await status(served, {**BEARER, "Origin": served.address.removesuffix("/mcp")}) == 200


async def test_nothing_is_told_to_who_bears_no_token_by_any_way(served: Served) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS", "PUT"):
        for path in ("/mcp", "/", "/mcp/", "/openapi.json"):
            assert await status(served, {}, method=method, path=path) == 401
    assert await status(served, BEARER, path="/") == 404


async def test_a_body_beyond_all_measure_is_refused(served: Served) -> None:
    async with httpx2.AsyncClient(timeout=20) as http:
        answer = await http.post(served.address, content=b" " * (6 * 2**20), headers={**TAKES, **BEARER})
    assert answer.status_code == 413


async def test_neither_words_nor_the_token_are_logged(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with served.client("legacy") as client:
        await call(client, "search", query="secretive")
        await client.call_tool("search", {"query": "secretive", "wrong": "secretive"})
    await status(served, {"Authorization": f"Bearer {TOKEN[:-1]}"})
    assert TOKEN[:-1] not in caplog.text
    assert "secretive" not in caplog.text
    assert "limits are per key" not in caplog.text


def test_it_listens_on_the_loopback_interface_alone() -> None:
    with contextlib.closing(listen(0)) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        with pytest.raises(PortTaken, match="cannot be listened on"):
            listen(listening.getsockname()[1])


@pytest.mark.parametrize("content", ["", "short", "two words " * 9, "\u00e4" * 40])
def test_a_file_that_holds_no_token_is_not_quoted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content, "utf-8")
    with pytest.raises(NoToken) as refused:
        read_http_token(str(path))
    assert "this holds no token" in refused.value.sentence
    assert not content or content.strip() not in refused.value.sentence


def test_no_file_no_http(tmp_path: Path) -> None:
    with pytest.raises(NoToken, match="no file is named"):
        read_http_token("")
    with pytest.raises(NoToken, match="cannot be read"):
        read_http_token(str(tmp_path))


async def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    write(tmp_path / "general.json", [message(0, "Limits are per key.")])
    (tmp_path / "token").write_text(f"{TOKEN}\n", "utf-8")
    (tmp_path / "config.toml").write_text('[mcp]\ntoken_file = "token"\n', "utf-8")
    command = [sys.executable, "-m", "recall_bot", "mcp", "--http", "--port", "0", "general.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = await asyncio.to_thread(process.stderr.readline)
        address = line.partition("serving at ")[2].partition(";")[0]
        async with (
            httpx2.AsyncClient(headers=BEARER, timeout=20) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            assert (await call(client, "read", message=str(FIRST_ID)))["where"] == "here"
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = await asyncio.to_thread(process.communicate, timeout=20)
        assert time.monotonic() - begun < 10
        assert "Traceback" not in errors
    finally:
        process.kill()
