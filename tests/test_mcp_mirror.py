"""The MCP server over a mirror, while a bot writes it: the list decides, and nothing stored is called verified."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from recall_bot.config import Config, PinsConfig
from recall_bot.mcp_server.serving import instructions, make_server, open_room
from recall_bot.mcp_server.sources import FileSource
from recall_bot.mirror import Created
from recall_bot.state import State

from tests.mcp_rooms import VIEWER, call, frames_in, refused, said, server
from tests.test_mirror_reading import GENERAL, IDEAS, MODS, PLAN, POST, Bot, at, bot, row

__all__ = ["bot"]  # a fixture


@asynccontextmanager
async def client_of(path: Path, *listed: int, config: Config | None = None) -> AsyncIterator[Client]:
    source = FileSource.of_mirror(path, listed)
    async with (
        open_room(config or Config(), source, State(":memory:", now=lambda: 0)) as room,
        Client(make_server(room)) as client,
    ):
        yield client


@pytest.fixture
async def mirrored(bot: Bot) -> Bot:
    await bot.write(row(at(0), "limits are per key"), row(at(1), f"!pin ^{at(0)} #limits"))
    await bot.write(row(at(2), "inside a thread", PLAN), place=PLAN)
    await bot.write(row(at(3), "salary", MODS), place=MODS)
    await bot.write(row(POST, "a post", POST), place=POST)
    return bot


async def test_by_default_nothing_is_offered(mirrored: Bot) -> None:
    async with client_of(mirrored.path) as client:
        for arguments in ({}, {"channel": "general"}, {"channel": str(GENERAL)}):
            assert (await refused(client, "pins", **arguments)).startswith("No channel is offered: whoever runs this")
    assert instructions(FileSource.of_mirror(mirrored.path, [])).endswith("Channels offered: none.")


async def test_a_listed_channel_comes_with_its_public_threads_and_alone(mirrored: Bot) -> None:
    async with client_of(mirrored.path, GENERAL) as client:
        found = await call(client, "search", query="a")
        assert set(said(frames_in(found["text"])["Found messages"])) >= {"limits are per key", "inside a thread"}
        assert (await call(client, "search", query="thread", channel="plan"))["hits"]
        told = {
            await refused(client, "search", query="salary", channel=named)
            for named in ("mods", str(MODS), "nowhere", "999", f"https://discord.com/channels/901/{MODS}")
        }
        assert told == {f"No single channel or thread of that name or ID is offered here; there is {GENERAL}."}


async def test_a_thread_can_be_listed_by_itself(mirrored: Bot) -> None:
    async with client_of(mirrored.path, PLAN, IDEAS) as client:
        found = await call(client, "search", query="thread", channel=str(PLAN))
        assert len(found["hits"]) == 1
        assert "is offered here" in await refused(client, "pins", channel="general")
        assert (await call(client, "threads", channel="ideas"))["coverage"]["rows"] == 1


async def test_what_is_stored_is_told_as_of_when_and_never_called_verified(mirrored: Bot) -> None:
    async with client_of(mirrored.path, GENERAL) as client:
        for tool, arguments in (
            ("search", {"query": "limits"}),
            ("pins", {}),
            ("standings", {}),
            ("threads", {}),
            ("read", {"message": str(at(0))}),
            ("context", {"viewer": VIEWER}),
        ):
            found = await call(client, tool, **arguments)
            assert found["coverage"]["as_of"].startswith("2026-"), tool
            assert "As of" in found["text"]
            assert "verified" not in json.dumps(found)


async def test_a_file_knows_no_roles_and_a_board_of_one_says_so_where_rules_are_configured(mirrored: Bot) -> None:
    ruled = Config(pins=PinsConfig(unpin="moderators"))
    for config, told in ((Config(), False), (ruled, True)):
        async with client_of(mirrored.path, GENERAL, config=config) as client:
            board = await call(client, "pins")
        assert board["rules"] == "anyone"
        assert ("Nobody's roles are known here" in board["text"]) is told


async def test_what_the_bot_hears_meanwhile_is_in_the_next_answer_of_an_open_turn(mirrored: Bot) -> None:
    async with client_of(mirrored.path, GENERAL) as client:
        opened = await call(client, "open_turn", viewer=VIEWER, request=str(at(0)))
        mirrored.mirror.note(Created(GENERAL, row(at(9), "late")))
        await mirrored.mirror.flush()
        compiled = await call(client, "compile", turn=opened["turn"])
        assert said(frames_in(compiled["text"])["Messages"])[-1] == "late"
        assert compiled["pinned"][0] == str(at(0))


async def test_a_message_in_a_stretch_that_was_not_read_is_not_called_gone(bot: Bot) -> None:
    await bot.write(row(at(0), "before the gap"), high=at(5))
    await bot.write(row(at(60), "after the gap"), low=at(50))
    async with client_of(bot.path, GENERAL) as client:
        assert (await call(client, "read", message=str(at(30))))["where"] == "not_read"
        await bot.write(row(at(61), f"!pin ^{at(30)}"), low=at(55))
        assert [pin["where"] for pin in (await call(client, "pins"))["pins"]] == ["not_read"]
        opened = await call(client, "open_turn", viewer=VIEWER, window=9)
        summary = {"first": str(at(0)), "last": str(at(61)), "text": "all of it"}
        assert "cannot stand in" in await refused(client, "compile", turn=opened["turn"], summaries=[summary])


async def test_a_mirror_that_is_gone_is_said_to_be_and_may_come_back(mirrored: Bot) -> None:
    async with client_of(mirrored.path, GENERAL) as client:
        away = mirrored.path.with_suffix(".away")
        await mirrored.mirror.close()
        mirrored.path.rename(away)
        assert "there is no such file" in await refused(client, "pins")
        away.rename(mirrored.path)
        assert (await call(client, "pins"))["pins"]


async def test_without_a_path_the_mirror_of_the_configuration_is_read_and_its_list_and_viewer_count(
    mirrored: Bot, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(f"[mcp]\nchannels = [{GENERAL}]\nidentity = 5\n", "utf-8")
    async with Client(server(folder=tmp_path)) as client:
        opened = await call(client, "open_turn", request=str(at(0)))
        assert (opened["viewer"], opened["channel"], opened["held"]) == ("5", str(GENERAL), True)
        assert "is offered here" in await refused(client, "pins", channel="mods")


async def test_nothing_is_written_to_the_mirror(mirrored: Bot) -> None:
    with sqlite3.connect(mirrored.path) as connection:
        before = list(connection.iterdump())
    connection.close()
    async with client_of(mirrored.path, GENERAL) as client:
        turn = (await call(client, "open_turn", viewer=VIEWER, request=str(at(0))))["turn"]
        await call(client, "compile", turn=turn)
    with sqlite3.connect(mirrored.path) as connection:
        assert list(connection.iterdump()) == before
    connection.close()
