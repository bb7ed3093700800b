"""`recall-bot mcp` as a process: over standard input and output, on files and on a mirror that a bot writes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client
from recall_bot.__main__ import app
from recall_bot.state import State
from typer.testing import CliRunner

from recall import ReadMark, Viewpoint
from tests.exporting import CHANNEL_ID, FIRST_ID, SCOUT, large_export, message, thread, write
from tests.mcp_rooms import call, frames_in, large, refused, said, server

SECONDS = 1_000 << 22


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "room"
    folder.mkdir()
    messages = [message(0, "Limits are per key."), message(1 * SECONDS, f"!pin ^{FIRST_ID} #limits", SCOUT)]
    write(folder / "engineering.json", messages)
    write(folder / "thread.json", [message(2 * SECONDS, "in a thread")], place=thread("resets", CHANNEL_ID + 100))
    return folder


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_drives_a_turn_over_standard_input_and_output(
    room: Path, tmp_path: Path, mode: str
) -> None:
    async with Client(server(room, folder=tmp_path), mode=mode) as client:
        found = await asyncio.gather(*(call(client, "search", query="limits") for _ in range(8)))
        assert {tuple(hit["id"] for hit in one["hits"]) for one in found} == {(str(FIRST_ID), str(FIRST_ID + SECONDS))}
        opened = await call(client, "open_turn", viewer=SCOUT["id"], request=str(FIRST_ID), channel=str(CHANNEL_ID))
        compiled = await call(client, "compile", turn=opened["turn"])
        assert said(frames_in(compiled["text"])["Messages"])[0] == "Limits are per key."
        assert (await call(client, "read", message=str(FIRST_ID + 2 * SECONDS), channel="resets"))["where"] == "here"
    kept = await State(str(tmp_path / "state.sqlite"), now=lambda: 0).read_mark(Viewpoint(SCOUT["id"], str(CHANNEL_ID)))
    assert kept == ReadMark("main", FIRST_ID + 2 * SECONDS)


async def test_a_call_that_is_cancelled_leaves_the_others_alone(tmp_path: Path) -> None:
    large_export(tmp_path / "large.json", 20_000)
    async with Client(server("large.json", folder=tmp_path)) as client:
        slow = asyncio.create_task(call(client, "search", query="/(a|a)+(b|b)+$/"))
        await call(client, "threads")
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await call(client, "pins"))["coverage"]["rows"] > 0


async def test_an_answer_as_large_as_they_come_is_whole(tmp_path: Path) -> None:
    write(tmp_path / "long.json", [message(number * SECONDS, f"{number} " + "x" * 3_900) for number in range(100)])
    async with Client(server("long.json", folder=tmp_path)) as client:
        opened = await call(client, "open_turn", viewer="5", window=4_096)
        compiled = await large(client, opened["turn"])
        assert len(compiled["rows"]) == 100
        assert compiled["characters"] > 390_000


def test_standard_output_carries_the_protocol_and_nothing_else(room: Path, tmp_path: Path) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _hello()},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "/k.y/"}},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "search", "arguments": {}}},
        "this is no JSON",
    ]
    sent = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    process = start(room, tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(sent)
    process.stdin.flush()
    answers: dict[int, Any] = {}
    while len(answers) < 3:
        wire = json.loads(process.stdout.readline())
        assert wire["jsonrpc"] == "2.0"
        if "id" in wire:
            answers[wire["id"]] = wire
    rest, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Limits are per key" in json.dumps(answers[2])
    assert answers[3]["result"]["isError"]
    assert "Limits" not in errors
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())


def test_a_client_that_vanishes_in_the_middle_of_a_call_ends_the_server(room: Path, tmp_path: Path) -> None:
    process = start(room, tmp_path)
    assert process.stdin is not None
    for line in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _hello()},
        _search(2, {"query": "/k.y/"}),
    ):
        process.stdin.write(json.dumps(line) + "\n")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in errors


def start(room: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "recall_bot", "mcp", str(room)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _search(number: int, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": "search", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _hello() -> dict[str, Any]:
    client = mcp_types.Implementation(name="a client of another make", version="1")
    params = mcp_types.InitializeRequestParams(
        protocol_version="2025-06-18", capabilities=mcp_types.ClientCapabilities(), client_info=client
    )
    return params.model_dump(by_alias=True, exclude_none=True)


async def test_of_export_files_a_list_offers_what_it_names(room: Path, tmp_path: Path) -> None:
    write(tmp_path / "other.json", [message(9 * SECONDS, "secret")], place=_other())
    both = (room, tmp_path / "other.json")
    async with Client(server(*both, "--channel", CHANNEL_ID, folder=tmp_path)) as client:
        assert (await call(client, "threads"))["coverage"]["rows"] == 3
        told = await refused(client, "search", query="secret", channel=str(CHANNEL_ID + 7))
        assert told == await refused(client, "search", query="secret", channel=str(CHANNEL_ID + 8))
        assert "secret-channel" not in told
        assert await refused(client, "search", query="secret", channel="secret-channel") == told
    async with Client(server(*both, folder=tmp_path)) as client:
        assert (await refused(client, "pins")).startswith(f"Say which channel: {CHANNEL_ID}, {CHANNEL_ID + 7}.")
        assert len((await call(client, "search", query="secret", channel="secret-channel"))["hits"]) == 1


def _other() -> dict[str, Any]:
    from tests.exporting import channel  # noqa: PLC0415

    return channel("secret-channel", CHANNEL_ID + 7)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "mirror.sqlite cannot be read as a mirror: there is no such file"),
        (("nowhere.json",), "nowhere.json"),
        (("--channel", "general"), "'general' is no id of a channel"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    result = CliRunner().invoke(app, ["mcp", *arguments])
    assert result.exit_code != 0
    assert sentence in str(result.exception) + result.output


def test_where_the_sdk_is_not_installed_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bot.terminal.mcp.find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["mcp", "x.json"])
    assert str(result.exception) == "This needs the MCP SDK, which is not installed: pip install 'recall-bot[mcp]'."
