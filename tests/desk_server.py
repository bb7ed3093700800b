"""A channel with its public threads, served on loopback to discord.py's real HTTP client; records what it is asked.

It keeps the API's word: at most 100 messages a page, newest first, `before` exclusive; archived threads newest
archived first, `before` an instant, exclusive. `refused` holds the ids of places that answer 403, `gone` 404.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import discord
import pytest
from aiohttp import web
from recall_bot.history import HistoryLog
from recall_bot.pages import Reads
from recall_bot.rows import Identity
from recall_bot.threads import ThreadLists

import recall
from tests.history_server import FIRST_ID, logged_in, respond
from tests.payloads import ADA, BOT, CHANNEL, channel, make_client, make_guild, message, thread, user


def id_at(minute: float) -> int:
    """Return the id of a message sent at a minute."""
    return FIRST_ID + (int(minute * 60_000) << 22)


def instant(message_id: int) -> datetime:
    return discord.utils.snowflake_time(message_id).astimezone(UTC)


@dataclass
class DeskServer:
    """Hold messages by place, oldest first, and threads; `most` is how many requests were under way at once."""

    guild: discord.Guild | None = None
    messages: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    archived: list[dict[str, Any]] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    page_size: int = 100
    under_way: int = 0
    most: int = 0
    gate: asyncio.Event | None = None
    listing: Callable[[], web.StreamResponse] | None = None  # answers every request for archived threads

    def say(self, place_id: int, minute: float, text: str) -> None:
        said = message(place_id, text, id=str(id_at(minute)), author=user(ADA, "Ada"))
        self.messages.setdefault(place_id, []).append(said)
        self.messages[place_id].sort(key=lambda each: int(each["id"]))

    def archive(self, number: int, minute: float, *, at: float | None = None) -> int:
        """Make an archived thread whose one message was sent at a minute; returns its id."""
        thread_id = id_at(minute) - 1
        self.say(thread_id, minute, f"in thread {number}")
        when = instant(id_at(minute if at is None else at)).isoformat()
        metadata = {"archived": True, "auto_archive_duration": 60, "archive_timestamp": when, "locked": False}
        made = thread(thread_id, f"thread {number}", CHANNEL, thread_metadata=metadata)
        self.archived.append({**made, "last_message_id": str(id_at(minute))})
        return thread_id

    async def handle_messages(self, request: web.Request) -> web.StreamResponse:
        place_id = int(request.match_info["place_id"])
        self.asked.append(f"messages {place_id}")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._page(place_id, request)
        finally:
            self.under_way -= 1

    def _page(self, place_id: int, request: web.Request) -> web.StreamResponse:
        if place_id in self.refused:
            return respond({"message": "Missing Access", "code": 50001}, 403)
        if place_id in self.gone:
            return respond({"message": "Unknown Channel", "code": 10003}, 404)
        before = int(request.query.get("before", 2**63))
        older = [each for each in self.messages.get(place_id, []) if int(each["id"]) < before]
        limit = max(int(request.query["limit"]), self.page_size if self.page_size > 100 else 0)
        return respond(older[: -limit - 1 : -1])

    async def handle_archived(self, request: web.Request) -> web.StreamResponse:
        self.asked.append("archived")
        if self.listing is not None:
            return self.listing()
        limit, before = int(request.query["limit"]), request.query.get("before")
        newest = sorted(self.archived, key=lambda each: each["thread_metadata"]["archive_timestamp"], reverse=True)
        older = [
            each
            for each in newest
            if before is None
            or datetime.fromisoformat(each["thread_metadata"]["archive_timestamp"]) < datetime.fromisoformat(before)
        ]
        return respond({"threads": older[:limit], "members": [], "has_more": len(older) > limit})

    def take(self) -> list[str]:
        """Return what was asked so far, and forget it."""
        asked, self.asked = self.asked, []
        return asked


class Desk:
    """Ask a served channel, as every question does, without a mirror."""

    def __init__(self, server: DeskServer) -> None:
        assert server.guild is not None
        found = server.guild.get_channel(CHANNEL)
        assert isinstance(found, discord.TextChannel)
        self.channel = found
        self.reads = Reads(identity=lambda: Identity(BOT))
        self.lists = ThreadLists(self.reads.bounds)
        self.left_out: list[tuple[str, str]] = []

    async def walk(self, scan: int = 2_048) -> recall.Walk:
        log = HistoryLog(
            self.reads.pages(self.channel, desk_id=CHANNEL),
            threads=self.lists.of(self.channel),
            open_thread=lambda opened: self.reads.pages(opened, desk_id=CHANNEL),
        )
        walk = await recall.walk_log(log, scan=scan)
        self.left_out = [(left.name, left.reason) for left in log.left_out]
        return walk


@asynccontextmanager
async def serve_desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DeskServer]:
    client = make_client()
    server = DeskServer(make_guild(client, channels=[channel(CHANNEL, "general")]))
    routes = [
        web.get("/channels/{place_id}/messages", server.handle_messages),
        web.get("/channels/{place_id}/threads/archived/public", server.handle_archived),
    ]
    async with logged_in(monkeypatch, client, routes):
        yield server
