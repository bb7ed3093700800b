"""A process that keeps a mirror of one channel, told of messages through a pipe, until it is killed.

It runs the real gateway, mirror and HTTP client. What it is sent is a `Told`; after each it says so with one byte.
It can also be killed from within, before a statement of a number: there it is in the midst of a transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple

import discord
from recall_bot.gateway import Gateway
from recall_bot.history import HistoryLog
from recall_bot.mirror import Mirror
from recall_bot.pages import Reads
from recall_bot.rows import Identity
from recall_bot.threads import ThreadLists

import recall
from tests.payloads import BOT, CHANNEL, channel, make_client, make_guild


class Told(NamedTuple):
    """What happens: a message was posted or changed (its payload), or deleted; or somebody asks for so many rows."""

    what: Literal["created", "edited", "deleted", "asked"]
    payload: dict[str, Any] | int


class Keeper:
    """Hold one channel with its mirror, as the bot does; `mirror` None reads everything from Discord."""

    def __init__(self, client: discord.Client, mirror: Mirror | None) -> None:
        if client.get_channel(CHANNEL) is None:
            make_guild(client, channels=[channel(CHANNEL, "general")])
        place = client.get_channel(CHANNEL)
        assert isinstance(place, discord.TextChannel)
        self.channel = place
        self.reads = Reads(identity=self.identity, find_guild=client.get_guild, mirror=mirror)
        lists = ThreadLists(self.reads.bounds)
        self.gateway = Gateway(mirror, lists, identity=self.identity, find_guild=client.get_guild)

    @staticmethod
    def identity() -> Identity:
        return Identity(BOT, ())

    async def rows(self, scan: int = recall.SCAN_LIMIT) -> recall.Walk:
        """Walk the channel as every question does."""
        log = HistoryLog(self.reads.pages(self.channel, desk_id=CHANNEL))
        return await recall.walk_log(log, scan=scan)

    async def take(self, told: Told) -> None:
        match told:
            case Told("asked", int(scan)):
                await self.rows(scan)
            case Told("deleted", int(message_id)):
                self.gateway.deleted(CHANNEL, [message_id])
            case Told(what, dict(payload)):
                data: Any = payload
                message = discord.Message(state=self.channel._state, channel=self.channel, data=data)
                (self.gateway.created if what == "created" else self.gateway.edited)(message)


def mirror_at(path: Path) -> Mirror:
    return Mirror(str(path), clock=time.monotonic, now=time.time)


def ingest(pipe: Connection, base: str, path: Path, statements: int | None = None) -> None:
    """Take in whatever comes through a pipe, until that ends or so many statements were begun; then be killed."""
    discord.http.Route.BASE = base
    asyncio.run(_ingest(pipe, path, statements))


async def _ingest(pipe: Connection, path: Path, statements: int | None) -> None:
    client = make_client()
    async with client:
        await client.http.static_login("made.up.token")
        mirror = mirror_at(path)
        keeper = Keeper(client, mirror)
        await mirror.new_epoch()
        if statements is not None:
            async with mirror.use() as connection:
                await connection.set_trace_callback(_killer(statements))
        while True:
            try:
                told = await asyncio.to_thread(pipe.recv)
            except EOFError:
                os.kill(os.getpid(), signal.SIGKILL)
            await keeper.take(told)
            with contextlib.suppress(BrokenPipeError):
                pipe.send_bytes(b".")


def _killer(statements: int) -> Callable[[str], None]:
    """Return what is called before each statement, and kills this process at the last of so many."""
    left = itertools.count(statements, -1)

    def count(_statement: str) -> None:
        if next(left) <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return count
