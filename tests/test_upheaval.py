"""Whatever happens to a guild and to the connection, what is answered and what is claimed is what Discord has.

`--histories N` plays N generated histories (300 by default), `--minutes M` goes on for so long. A history that
fails is made as short as it can be before it is shown; put into `REPLAY`, it is played again.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import TypeAlias

import discord
import msgspec
import pytest
import simcord
from recall_bot import history, single_rows, threads
from recall_bot.access import Asker, Place, is_place
from recall_bot.cog import RecallCog
from recall_bot.config import Config, MirrorConfig, Snowflake
from recall_bot.desks import Desks
from recall_bot.errors import Refusal
from recall_bot.matchers import ExpressionsOff
from recall_bot.mirror import Mirror
from recall_bot.mirror.upkeep import erase_author, keep_from, stored, trim
from recall_bot.queries import OpenDesk, PinsRequest, pins
from recall_bot.recent import Recent

import recall
from tests import simcord_shims
from tests.stage import make_bot, open_world
from tests.truth import (
    ALL,
    check_board,
    check_claims,
    check_deep_board,
    check_search,
    check_standings,
    is_open_to,
    rows_of_desk,
)
from tests.upheaval import Line, Upheaval, Wire
from tests.workshop import desks_of

Step: TypeAlias = tuple[str, int]

REPLAY: list[Step] = []
STEPS = {
    "post": 14, "pin": 14, "pin_twice": 3, "reply": 3, "webhook": 3, "own_line": 4, "system": 1, "edit": 9, "unfurl": 3,
    "delete": 6, "purge": 3, "late": 3,
    "thread": 5, "crowd": 2, "forum_post": 3, "private": 1, "archive": 4, "unarchive": 3,
    "delete_thread": 2, "delete_channel": 1, "rename": 2, "hide": 2, "blindfold": 3, "blink": 2, "race": 8,
    "cut": 1, "lapse": 3, "handshake": 1, "resume": 4, "identify": 3, "restart": 1, "kill": 2, "outage": 2, "erase": 1,
    "trim": 2,
}  # fmt: skip
DURING_A_RACE = (
    "pin", "edit", "delete", "purge", "archive", "delete_thread", "blindfold", "lapse", "resume", "identify",
)  # fmt: skip
LENGTHS = (4, 28)
HISTORIES_IN_A_WORLD = 50


def history_of(seed: int) -> list[Step]:
    random = Random(seed)
    names = random.choices(list(STEPS), weights=list(STEPS.values()), k=random.randint(*LENGTHS))
    return [(name, random.randrange(1_000_000)) for name in names]


class Play:
    """Play histories in one world, and ask after each step."""

    def __init__(self, env: simcord.Env, folder: Path) -> None:
        self.env = env
        self.folder = folder
        self.files = itertools.count()
        self.people = (env.create_user("ada"), env.create_user("scout", bot=True), env.create_user("mallory"))
        self.wire = Wire()
        self.member: discord.Member | None = None

    async def start(self) -> None:
        """Start a bot over an empty mirror."""
        mallory = frozenset({Snowflake(self.people[2].id)})
        mirror = MirrorConfig(path=str(self.folder / "0.sqlite"), never_store=mallory)
        self.config = msgspec.structs.replace(Config(), acknowledge="off", mirror=mirror)
        await self.env.restart_bot(make_bot(self.env, self.config))
        self.line = Line(self.env)
        self.wire.attach(self.env.bot)

    @property
    def cog(self) -> RecallCog:
        cog = self.env.bot.get_cog("Recall")  # type: ignore[attr-defined]
        assert isinstance(cog, RecallCog)
        return cog

    @property
    def mirror(self) -> Mirror:
        mirror = self.cog._gateway._mirror
        assert mirror is not None
        return mirror

    async def play(self, steps: list[Step]) -> None:
        """Play one history in a guild of its own, of which nothing is left in the end."""
        self.world = Upheaval(self.env, self.line, self.people)
        await tick()
        for number, (name, chosen) in enumerate(steps):
            self.env.backend.clock.advance(1.5)
            await self.step(name, chosen)
            await tick()
            await self.ask(chosen + number)
            if self.line.whole:
                await check_claims(self.world, self.mirror)
        self.line.identify()
        self.env.backend.remove_guild(self.world.guild.id)
        await self.env.settle(timeout=30, idle=0.0005)
        assert await stored(self.mirror) == []
        self.env.backend.transcript.clear()
        self.env.http_requests.clear()

    async def step(self, name: str, number: int) -> None:
        if hasattr(self, name):
            await getattr(self, name)(number)
        elif hasattr(self.world, name):
            getattr(self.world, name)(number)
        elif name != "resume" or not self.line.open:
            getattr(self.line, name)()

    async def restart(self, _number: int) -> None:
        """Stop the bot as it is stopped, and start another."""
        await self.env.bot.close()
        await self._begin()

    async def kill(self, _number: int) -> None:
        """End the bot as a killed process ends: the file stays as it was, and nothing else."""
        old = Path(self.config.mirror.path)
        new = self.folder / f"{next(self.files) + 1}.sqlite"
        for suffix in ("", "-wal"):
            if (found := old.with_name(old.name + suffix)).exists():
                shutil.copy(found, new.with_name(new.name + suffix))
        await self.env.bot.close()
        mirror = msgspec.structs.replace(self.config.mirror, path=str(new))
        self.config = msgspec.structs.replace(self.config, mirror=mirror)
        await self._begin()

    async def _begin(self) -> None:
        await self.env.restart_bot(make_bot(self.env, self.config))
        self.line.attach()
        self.wire.attach(self.env.bot)

    async def late(self, number: int) -> None:
        """Let the word that a message came be late: it comes after the word that it was deleted."""
        told = self.world.unborn(number)
        await tick()
        await self.mirror.flush()
        self.env.backend.emit("MESSAGE_CREATE", told)

    async def outage(self, _number: int) -> None:
        """Let an outage of the guild begin or end."""
        if self.line.out:
            self.line.out = False
            self.line.tell_guilds()
        elif self.line.open:
            self.line.tell("GUILD_DELETE", {"id": str(self.world.guild.id), "unavailable": True})
            self.line.out = True

    async def erase(self, number: int) -> None:
        await erase_author(self.mirror, str(self.people[number % 2].id))

    async def trim(self, number: int) -> None:
        if known := await stored(self.mirror):
            place = known[number % len(known)].place
            lowest = await keep_from(self.mirror, place, messages=1 + number % 4, oldest=None)
            await trim(self.mirror, place, keep_from=lowest)

    async def race(self, number: int) -> None:
        """Let something happen while an answer of Discord is on its way."""
        random = Random(number)
        self.wire.hold()
        asking = asyncio.create_task(self._ask_in_vain(number))
        while not (asking.done() or self.wire.holding):
            await asyncio.sleep(0)
        for name in random.choices(DURING_A_RACE, k=random.randint(1, 3)):
            self.env.backend.clock.advance(1.5)
            await self.step(name, random.randrange(1_000_000))
            if random.random() < 0.5:  # else the bot is told of several things in one breath
                await tick()
        self.wire.release()
        await asking

    async def _ask_in_vain(self, number: int) -> None:
        try:
            place = await self.place(number)
            desk = await self.cog.services.desks.open(place, await self.asker(place))
            await pins(desk, PinsRequest(scan=1 + number % 9))
        except (Refusal, recall.ReadError, discord.HTTPException):
            return

    async def place(self, number: int) -> Place:
        general, *others = self.world.channels
        places = [*[general] * 4, *others, *(thread.id for thread in self.world.threads()[:6])]
        chosen = places[number % len(places)]
        guild = self.env.bot.get_guild(self.world.guild.id)
        assert guild is not None
        place = guild.get_channel_or_thread(chosen) or await self.env.bot.fetch_channel(chosen)
        assert is_place(place)
        return place

    async def asker(self, place: Place) -> Asker:
        if self.member is None or self.member.guild is not place.guild:
            self.member = await place.guild.fetch_member(self.world.ada.id)
        return Asker(self.member, place)

    async def ask(self, number: int) -> None:
        """Ask about some place, and compare with what Discord has."""
        try:
            place = await self.place(number // 7)
        except discord.HTTPException:
            return
        if not isinstance(place, discord.Thread) and place.guild.get_channel(place.id) is None:
            return  # nobody was told that it is there
        desk = await self._open(self.cog.services.desks, place)
        rows: list[recall.LogMessage] | None
        if self.line.whole:
            told = is_open_to(self.world, place.id, self.world.ada.id, self.env.backend.bot_user.id)
            assert told == (desk is not None)
            rows = rows_of_desk(self.world, place.id) if told else None
        else:
            rows = await self._read_unheard(place)
        if desk is None or rows is None:
            return
        match number % 5:
            case 0:
                await check_search(desk, rows, number, ExpressionsOff())
            case 1:
                await check_board(desk, rows)
            case 2:
                await check_standings(desk, rows, frozenset({str(self.world.hook)}))
            case _:
                await check_deep_board(desk, rows, 1 + number % 9, rows_of_desk(self.world, place.id))

    async def _open(self, desks: Desks, place: Place) -> OpenDesk | None:
        try:
            return await desks.open(place, await self.asker(place))
        except Refusal:
            return None

    async def _read_unheard(self, place: Place) -> list[recall.LogMessage] | None:
        """Return what the bot reads while it is told nothing; None where something fails.

        Threads that were opened meanwhile are not known then, to no bot. What is read is what there is, and what a bot
        reads that keeps nothing.
        """
        anew = await self._walk(await self._open(desks_of(self.env, Recent(), heard=self.line.whole), place))
        rows = await self._walk(await self._open(self.cog.services.desks, place))
        if anew is not None and rows is not None:
            there = {row.sequence: row for row in rows_of_desk(self.world, place.id)}
            assert rows == anew == [there[row.sequence] for row in rows]
        return rows

    async def _walk(self, desk: OpenDesk | None) -> list[recall.LogMessage] | None:
        if desk is None:
            return None
        try:
            walk = await recall.walk_log(desk.log, scan=ALL)
        except recall.ReadError:
            return None
        return None if desk.left_out or walk.coverage.stopped else list(walk.rows)


async def tick() -> None:
    """Let listeners take in what they were told."""
    for _ in range(3):
        await asyncio.sleep(0)


@asynccontextmanager
async def a_world(folder: Path) -> AsyncIterator[Play]:
    folder.mkdir()
    async with open_world() as env:
        play = Play(env, folder)
        await play.start()
        yield play
    shutil.rmtree(folder)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch, simulated_discord: None) -> Iterator[None]:
    """Make pages so small that a short history has many, and no bound on how many are read for one message."""
    monkeypatch.setattr(history, "MESSAGE_PAGE_SIZE", 3)
    monkeypatch.setattr(threads, "LISTING_PAGE_SIZE", 2)
    monkeypatch.setattr(single_rows, "ROW_LISTINGS", ALL)
    monkeypatch.setattr(single_rows, "ROW_THREADS", ALL)
    undo = [simcord_shims.fix_guild_threads(), simcord_shims.fix_archived_listing()]
    yield
    for mend in undo:
        mend()


async def outcome(steps: list[Step], folder: Path) -> BaseException | None:
    """Return how a history fails in a world of its own."""
    try:
        async with a_world(folder) as play:
            await play.play(steps)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return error
    return None


async def shortest(steps: list[Step], folder: Path) -> list[Step]:
    """Return a history that fails as well, and from which no step can be left out."""
    tries = itertools.count()
    at = 0
    while at < len(steps):
        fewer = steps[:at] + steps[at + 1 :]
        if await outcome(fewer, folder / f"try-{next(tries)}") is not None:
            steps = fewer
        else:
            at += 1
    return steps


async def test_whatever_happens_what_is_said_is_what_discord_has(
    small_pages: None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    histories, minutes = request.config.getoption("histories"), request.config.getoption("minutes")
    until = time.monotonic() + 60 * minutes
    seeds = itertools.count()
    played = 0
    while played < histories or time.monotonic() < until:
        async with a_world(tmp_path / f"world-{played}") as play:
            for seed in itertools.islice(seeds, HISTORIES_IN_A_WORLD):
                try:
                    await play.play(history_of(seed))
                except Exception as error:
                    steps = await shortest(history_of(seed), tmp_path)
                    raise AssertionError(f"history {seed} fails: {steps}") from error
                played += 1


@pytest.mark.skipif(not REPLAY, reason="there is no history to be played again")
async def test_a_history_that_failed_fails_no_more(small_pages: None, tmp_path: Path) -> None:
    async with a_world(tmp_path / "world") as play:
        await play.play(REPLAY)
