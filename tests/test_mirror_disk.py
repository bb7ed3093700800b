"""A disk that is full, and one that turns read-only: the answers come from Discord, and the mirror comes back."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest
import simcord
from recall_bot.config import Config
from recall_bot.desks import Desks
from recall_bot.mirror import Mirror
from recall_bot.mirror.database import MIRROR_RETRY_SECONDS
from recall_bot.recent import Recent
from recall_bot.state import State
from recall_bot.threads import ThreadLists
from recall_bot.wiring import connected_shards, make_reads

import recall
from tests.small_disks import mount, small_disk
from tests.workshop import Workshop, open_workshop

MESSAGES = 400


class Told:
    """Ask the general channel with a mirror on a disk, and keep what was logged."""

    def __init__(self, workshop: Workshop, path: Path, log: pytest.LogCaptureFixture) -> None:
        self.workshop = workshop
        self.now = 0.0
        self.log = log
        self.mirror = Mirror(str(path), clock=lambda: self.now, now=time.time)
        bot = workshop.env.bot
        reads = make_reads(bot, Config(), self.mirror, State(":memory:", now=time.time), clock=time.monotonic)
        lists = ThreadLists(reads.bounds, hears=lambda shard: shard in connected_shards(bot))
        self.desks = Desks(reads, lists, Recent(), clock=time.monotonic)

    async def ask(self) -> tuple[list[str], int]:
        """Return what the channel says, and how many pages of it Discord was asked for."""
        self.workshop.requests()
        place = await self.workshop.place(self.workshop.general.id)
        desk = await self.desks.open(place, await self.workshop.asker(self.workshop.ada))
        walk = await recall.walk_log(desk.log, scan=2 * MESSAGES)
        return [row.content for row in walk.rows], len(self.workshop.requests("/messages"))

    def lines(self) -> list[str]:
        """Return what was said of the mirror, and forget it."""
        said = [record.getMessage() for record in self.log.records if record.name.startswith("recall_bot.mirror")]
        self.log.clear()
        return said


@pytest.fixture
async def workshop(env: simcord.Env) -> Workshop:
    workshop = await open_workshop(env)
    await workshop.post_in(workshop.general.id, *[f"{number} " + "x" * 1_500 for number in range(MESSAGES)])
    return workshop


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="recall_bot.mirror")
    return caplog


async def test_on_a_full_disk_the_answer_comes_from_discord_and_the_mirror_comes_back_with_the_room(
    workshop: Workshop, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    expected = [f"{number} " + "x" * 1_500 for number in reversed(range(MESSAGES))]
    with small_disk(tmp_path / "small", "400k") as disk:
        told = Told(workshop, disk / "mirror.sqlite", log)
        await told.mirror.new_epoch()
        for _ in range(2):
            said, _ = await told.ask()
            assert said == expected
        [line] = told.lines()
        assert "the mirror cannot be used (database or disk is full)" in line
        assert "questions are answered from Discord" in line

        mount("-o", "remount,size=16m", str(disk))
        told.now += MIRROR_RETRY_SECONDS
        assert (await told.ask())[0] == expected
        assert await told.ask() == (expected, 0)
        assert told.lines() == ["the mirror is in use again"]
        await told.mirror.close()


async def test_on_a_disk_that_turns_read_only_the_answer_comes_from_discord(
    workshop: Workshop, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "small", "16m") as disk:
        told = Told(workshop, disk / "mirror.sqlite", log)
        await told.mirror.new_epoch()
        await told.ask()
        said, pages = await told.ask()
        assert pages == 0
        await told.mirror.database.checkpoint()
        # What is open for writing keeps a disk from turning read-only: the file is closed, as by a fault it would be.
        await told.mirror.database._drop()
        mount("-o", "remount,ro", str(disk))
        for _ in range(2):
            answered, pages = await told.ask()
            assert answered == said
            assert pages
        assert len(told.lines()) == 1

        mount("-o", "remount,rw", str(disk))
        told.now += MIRROR_RETRY_SECONDS
        assert (await told.ask())[0] == said
        assert await told.ask() == (said, 0)
        assert told.lines() == ["the mirror is in use again"]
        await told.mirror.close()


async def test_in_a_folder_that_is_read_only_from_the_start_the_bot_answers_all_the_same(
    workshop: Workshop, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "small", "1m") as disk:
        mount("-o", "remount,ro", str(disk))
        told = Told(workshop, disk / "mirror.sqlite", log)
        await told.mirror.new_epoch()
        assert len((await told.ask())[0]) == MESSAGES
        assert len(told.lines()) == 1
        await asyncio.wait_for(told.mirror.close(), 5)
