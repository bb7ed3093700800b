"""The bot may die at any moment: its mirror opens again, and what it answers is what Discord has."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import sqlite3
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import discord
import pytest
from recall_bot.queries import OpenDesk, PinsRequest, pins

import recall
from tests.history_server import FIRST_ID, HistoryServer, numbered, serve_history
from tests.ingesting import Keeper, Told, ingest, mirror_at
from tests.payloads import ADA, CHANNEL, SCOUT, make_client, message, user

KILLS = 50
STATEMENTS = 40  # before each of so many it is killed once: they write the pages of the first question, and more
HISTORY = 150  # messages at the beginning: two pages
STEPS = 40  # told to each process before it is killed, or while
SECONDS = 60  # far more than a step takes
TEXTS = (
    "!pin #a",
    "!pin ^{} #b since then",
    "!unpin ^{}",
    "!unpin ^{}\n!pin ^{}",
    "nothing of note",
    "a word about ^{}",
)


class Scene:
    """Change what the server has, at random and repeatably, and say what the gateway would tell."""

    def __init__(self, server: HistoryServer, random: Random) -> None:
        self.server = server
        self.random = random
        self._next = FIRST_ID + (10_000_000 << 22)

    def happen(self) -> Told:
        """Let one thing happen."""
        kind = self.random.choices(("post", "edit", "delete", "ask"), (6, 4, 5, 2))[0]
        held = self.server.messages
        if kind == "ask":
            return Told("asked", self.random.choice((5, 100, 150, 1_000)))
        if kind == "delete":
            return Told("deleted", int(held.pop(self._some())["id"]))
        if kind == "edit":
            at = self._some()
            held[at] = {**held[at], "content": self._text(), "edited_timestamp": "2026-02-01T00:00:00+00:00"}
            return Told("edited", held[at])
        self._next += 1000 << 22
        author = self.random.choice((user(ADA, "Ada"), user(SCOUT, "Scout", bot=True)))
        made = message(CHANNEL, self._text(), id=str(self._next), author=author)
        held.append(made)
        return Told("created", made)

    def _some(self) -> int:
        """Return the place of a message: mostly a new one."""
        return -1 - min(int(self.random.expovariate(1 / 40)), len(self.server.messages) - 1)

    def _text(self) -> str:
        target = self.server.messages[self._some()]["id"]
        return self.random.choice(TEXTS).replace("{}", target)


async def killed_at(count: int, scene: Scene, path: Path) -> None:
    """Let a process keep the mirror, and kill it as soon as it has taken in so many of the things it is told."""
    context = multiprocessing.get_context("forkserver")
    ours, its = context.Pipe()
    process = context.Process(target=ingest, args=(its, discord.http.Route.BASE, path), daemon=True)
    await asyncio.to_thread(process.start)
    its.close()
    for _ in range(STEPS):
        ours.send(scene.happen())
    for _ in range(count):
        assert await asyncio.to_thread(ours.poll, SECONDS)
        ours.recv_bytes()
    process.kill()
    await asyncio.to_thread(process.join)
    ours.close()
    assert process.exitcode == -9
    process.close()


async def answers(keeper: Keeper) -> tuple[recall.Walk, object]:
    """Return what is read of the channel, and its board."""
    walk = await keeper.rows()

    class Held:
        async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
            older = [row for row in walk.rows if before is None or row.sequence < before]
            return recall.SessionPage(tuple(older[:limit]), older[limit - 1].sequence if len(older) > limit else None)

    board = await pins(OpenDesk(log=Held()), PinsRequest())
    return walk, (board.board, board.events)


async def test_fifty_times_killed_in_the_midst_the_mirror_opens_and_answers_what_discord_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(20_261_201)
    path = tmp_path / "mirror.sqlite"
    multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.ingesting"])
    async with serve_history(monkeypatch, numbered(HISTORY)) as server:
        scene = Scene(server, random)
        for kill in range(KILLS):
            await killed_at(random.randrange(STEPS + 1), scene, path)
            if kill % 2:  # what happens while nobody listens
                scene.happen()
            await assert_it_answers_what_discord_has(server, path)


async def assert_it_answers_what_discord_has(server: HistoryServer, path: Path) -> None:
    """Open a mirror as the bot does when it starts, and compare with what is read without one."""
    mirror = mirror_at(path)
    async with make_client() as client:
        await client.http.static_login("made.up.token")
        keeper = Keeper(client, mirror)
        await mirror.new_epoch()

        found = await answers(keeper)
        assert found == await answers(Keeper(client, None))
        assert found[0].coverage.beginning
        server.asked.clear()
        assert await answers(keeper) == found
        assert server.asked == []
    await mirror.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def killed_before_statement(count: int, scene: Scene, path: Path) -> None:
    """Let a process keep the mirror, and be killed before a statement: in the midst of what belongs together."""
    context = multiprocessing.get_context("forkserver")
    ours, its = context.Pipe()
    process = context.Process(target=ingest, args=(its, discord.http.Route.BASE, path, count), daemon=True)
    await asyncio.to_thread(process.start)
    its.close()
    with contextlib.suppress(ConnectionError):
        for told in (Told("asked", 1_000), *(scene.happen() for _ in range(STEPS))):
            ours.send(told)
    await asyncio.to_thread(half_closed, ours)
    await asyncio.to_thread(process.join)
    assert process.exitcode == -9
    process.close()


def half_closed(pipe: Connection) -> None:
    """Read what a process says until it has taken in all of what it was told, or is no more; close the pipe."""
    with pipe, contextlib.suppress(EOFError, ConnectionError):
        for _ in range(STEPS + 1):
            assert pipe.poll(SECONDS)
            pipe.recv_bytes()


def missing_from(path: Path, ids: set[int]) -> set[int]:
    """Return which of these messages have no row, although the file says of where they stand that it is whole."""
    with closing(sqlite3.connect(path)) as connection:
        spans = connection.execute("SELECT low, high FROM spans").fetchall()
        rows = {id_ for (id_,) in connection.execute("SELECT id FROM rows")}
    return {id_ for id_ in ids - rows if any(low <= id_ < high for low, high in spans)}


async def test_killed_within_a_transaction_the_file_says_nothing_that_it_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mirror.sqlite"
    multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.ingesting"])
    async with serve_history(monkeypatch, numbered(HISTORY)) as server:
        scene = Scene(server, Random(20_261_202))
        old = {int(each["id"]) for each in server.messages}
        for count in range(STATEMENTS):
            await killed_before_statement(count, scene, path)
            assert missing_from(path, old & {int(each["id"]) for each in server.messages}) == set()
            await assert_it_answers_what_discord_has(server, path)
