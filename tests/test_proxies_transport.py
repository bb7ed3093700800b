"""Reactions to messages that a proxy has taken away, through discord.py's real HTTP client on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import discord
import msgspec
import pytest
from aiohttp import web
from recall_bot.acknowledge import Acknowledgements
from recall_bot.config import Config
from recall_bot.notices import Notices
from recall_bot.rows import Identity, row_of

import recall
from tests.history_server import logged_in, respond
from tests.payloads import BOT, CHANNEL, channel, make_client, make_guild, make_message, role, user

REACTOR = 100_000_000_000_000_042
WEBHOOK = user(987_654_321_012_345_678, "Ada", bot=True)


@dataclass
class ReactionServer:
    """Hold which messages stand, and every reaction that was put or taken back, with the status it was answered by."""

    place: discord.TextChannel
    standing: set[int] = field(default_factory=set)
    asked: list[tuple[str, int, int]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        message_id = int(request.match_info["message_id"])
        status = 204 if message_id in self.standing else 404
        self.asked.append((request.method, message_id, status))
        return (
            web.Response(status=204) if status == 204 else respond({"message": "Unknown Message", "code": 10008}, 404)
        )


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ReactionServer]:
    async with serve(monkeypatch) as opened:
        yield opened


@asynccontextmanager
async def serve(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ReactionServer]:
    client = make_client()
    rights = role(REACTOR, "reacts", discord.Permissions(add_reactions=True))
    guild = make_guild(client, channels=[channel(CHANNEL, "general")], roles=[rights], bot_roles=[REACTOR])
    place = guild.get_channel(CHANNEL)
    assert isinstance(place, discord.TextChannel)
    made = ReactionServer(place)
    path = "/channels/{channel_id}/messages/{message_id}/reactions/{rest:.*}"
    async with logged_in(monkeypatch, client, [web.route("*", path, made.handle)]):
        yield made


def written(server: ReactionServer, text: str, *, stands: bool, **more: Any) -> tuple[discord.Message, Any]:
    message = make_message(server.place, text, **more)
    if stands:
        server.standing.add(message.id)
    row = row_of(message, identity=Identity(BOT))
    assert isinstance(row, recall.LogMessage)
    return message, row


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("recall_bot")]


async def test_a_marker_that_a_proxy_took_away_is_let_go_of_and_its_copy_is_acknowledged(
    server: ReactionServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    acknowledgements = Acknowledgements(Config(), clock=lambda: 0.0)
    original = written(server, "!pin #plan ship", stands=False)
    copy = written(server, "!pin #plan ship", stands=True, webhook_id=WEBHOOK["id"], author=WEBHOOK)

    for message, row in (original, copy):
        await acknowledgements.look(message, row)
    acknowledgements.deleted([original[0].id])

    assert server.asked == [("PUT", original[0].id, 404), ("PUT", copy[0].id, 204)]
    assert told(caplog) == []


async def test_a_notice_of_a_message_that_a_proxy_took_away_is_dropped_and_its_copy_has_one(
    server: ReactionServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config = Config(notices=msgspec.structs.replace(Config().notices, mode="reaction"))

    async def still(_seconds: float) -> None:
        """Wait for nothing."""

    notices = Notices(config, sleep=still, clock=lambda: 0.0)
    original = written(server, "x" * 700, stands=False)
    copy = written(server, "x" * 700, stands=True, webhook_id=WEBHOOK["id"], author=WEBHOOK)
    for message, row in (original, copy):
        notices.created(message, row)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name().startswith("recall-notice")))
    notices.deleted([original[0].id])

    assert server.asked == [("PUT", original[0].id, 404), ("PUT", copy[0].id, 204)]
    assert [line for line in told(caplog) if not line.startswith("notice: ")] == []
