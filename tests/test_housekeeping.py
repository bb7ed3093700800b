"""What is done for the mirror unasked: channels read at start, rows that are too old, and the end of both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.cog import RecallCog
from recall_bot.config import Config, MirrorConfig, Snowflake
from recall_bot.housekeeping import REWRITE_SECONDS, SWEEP_SECONDS, Housekeeping
from recall_bot.mirror import LIVE, Mirror, Place
from recall_bot.services import Walks

import recall
from tests.asking import ask, configured, history, quoted, text_of
from tests.simcord_shims import user_thread
from tests.stage import Stage, set_stage


def mirroring(**keys: Any) -> Callable[[Config], Config]:
    """Return a change of the configuration; `prewarm` is the channel that is switched on."""

    def change(config: Config) -> Config:
        asked: Config = configured()(config)
        mirror = MirrorConfig(prewarm=tuple(config.channels.enabled), **keys)
        return msgspec.structs.replace(asked, mirror=mirror)

    return change


def pages(stage: Stage) -> list[str]:
    """Return the requests for messages so far, and forget all requests."""
    made = [r.path for r in stage.env.http_requests if r.method == "GET" and r.path.endswith("/messages")]
    stage.env.http_requests.clear()
    return made


async def test_the_first_question_about_a_channel_that_was_read_at_start_costs_no_request(env: simcord.Env) -> None:
    stage = await set_stage(env, mirroring())
    thread = user_thread(env, stage.channel.id, stage.ada.id, "plan")
    await stage.settle()
    history(stage, [f"message {n}" for n in range(230)])
    env.backend.create_message(thread.id, stage.ben.id, "the needle", broadcast=False)
    await stage.restart()
    await ended()
    assert pages(stage)

    assert quoted(await ask(stage, "search", query="needle")) == ["the needle"]
    assert "all 232 messages, back to the very first" in text_of(await ask(stage, "search", query="message 1"))
    assert pages(stage) == []


async def test_a_new_session_reads_the_channel_again(env: simcord.Env) -> None:
    stage = await set_stage(env, mirroring())
    history(stage, ["hello"])
    await stage.restart()
    await ended()
    pages(stage)
    guild = stage.bot.get_guild(stage.guild.id)
    for event, *about in (("shard_connect", 0), ("guild_available", guild), ("shard_ready", 0), ("ready",)):
        stage.bot.dispatch(event, *about)
    await stage.settle()
    await ended()
    assert len(pages(stage)) == 1


async def test_a_channel_that_cannot_be_read_is_logged_and_the_next_one_read(
    env: simcord.Env, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await set_stage(env)
    history(stage, ["hello"])
    await stage.deny(stage.quiet, view_channel=False)
    pages(stage)
    mirror = MirrorConfig(prewarm=(Snowflake(7), Snowflake(stage.quiet.id), Snowflake(stage.channel.id)))
    stage.config = msgspec.structs.replace(stage.config, mirror=mirror)
    with caplog.at_level(logging.INFO, logger="recall_bot.prewarm"):
        await stage.restart()
        await ended()
    assert caplog.messages == [
        "prewarm: channel=7 is not there, or I may not read it",
        f"prewarm: channel={stage.quiet.id} is not there, or I may not read it",
        f"prewarm: channel={stage.channel.id} rows=1 ended=beginning",
    ]
    assert [path.split("/")[-2] for path in pages(stage)] == [str(stage.channel.id)]


async def test_a_failure_at_discord_ends_the_reading_of_one_channel(
    env: simcord.Env, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await set_stage(env, mirroring())
    history(stage, ["hello"])
    env.inject_error("GET", "/channels/*/messages")
    with caplog.at_level(logging.INFO, logger="recall_bot.prewarm"):
        await stage.restart()
        await ended()
    assert caplog.messages[-1:] == [f"prewarm: channel={stage.channel.id} rows=0 ended=discord_down"]


async def test_what_is_old_is_gone_after_the_next_sweep(env: simcord.Env) -> None:
    stage = await set_stage(env, mirroring(keep_messages=2))
    history(stage, [f"message {n}" for n in range(5)])
    await stage.restart()
    await ended()
    housekeeping = stage.cog._housekeeping
    assert housekeeping is not None
    housekeeping._sweep()
    await ended()
    async with housekeeping._mirror.use() as connection:
        ((count,),) = await connection.execute_fetchall("SELECT COUNT(*) FROM rows")
    assert count == 2
    pages(stage)
    assert "all 5 messages" in text_of(await ask(stage, "search", query="message"))
    assert len(pages(stage)) == 1


async def test_unloading_ends_it_all(env: simcord.Env) -> None:
    stage = await set_stage(env, mirroring())
    history(stage, ["hello"])
    await stage.restart()
    housekeeping = stage.cog._housekeeping
    assert housekeeping is not None
    await stage.bot.remove_cog("Recall")
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("recall")] == []
    assert housekeeping._timer is not None
    assert housekeeping._timer.cancelled()  # type: ignore[attr-defined]


async def test_a_bot_that_is_ready_already_begins_when_it_is_loaded(env: simcord.Env) -> None:
    stage = await set_stage(env)
    history(stage, ["hello"])
    await stage.bot.remove_cog("Recall")
    pages(stage)
    timed: dict[str, Any] = stage.bot._cog_options
    await stage.bot.add_cog(RecallCog(stage.bot, mirroring()(stage.config), **timed))
    await ended()
    assert len(pages(stage)) == 1


async def test_whoever_asks_goes_first() -> None:
    walks = Walks(guild_walks=2, clock=lambda: 0.0)
    async with walks.admit(1, 1), walks.admit(1, 2):
        waiting = asyncio.create_task(walks.quiet())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
    await walks.quiet()


@dataclass
class Alarm:
    """A timer that rings when the test says so."""

    set: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    cancelled: int = 0

    def __call__(self, seconds: float, call: Callable[[], None]) -> Alarm:
        self.set.append((seconds, call))
        return self

    def cancel(self) -> None:
        self.cancelled += 1


@dataclass
class Chore:
    """Work that notes how often it was begun, and may wait, or fail."""

    begun: int = 0
    failure: Exception | None = None
    wait: asyncio.Event | None = None

    async def run(self) -> int:
        self.begun += 1
        if self.failure is not None:
            raise self.failure
        if self.wait is not None:
            await self.wait.wait()
        return 0

    sweep = run


async def nobody() -> None:
    """Be quiet at once."""


def housekeeping(
    mirror: Any = None, *, sweep: Chore, prewarm: Chore, clock: Any = lambda: 0.0
) -> tuple[Housekeeping, Alarm]:
    alarm = Alarm()
    chores: Any = (sweep, prewarm)
    return Housekeeping(mirror, *chores, quiet=nobody, clock=clock, later=alarm), alarm


async def ended() -> None:
    """Let what was begun come to its end."""
    while running := [task for task in asyncio.all_tasks() if task.get_name().startswith("recall-")]:
        await asyncio.gather(*running)


async def test_a_sweep_follows_the_other_and_none_begins_while_one_runs() -> None:
    sweep = Chore(wait=asyncio.Event())
    keeping, alarm = housekeeping(sweep=sweep, prewarm=Chore())
    keeping.begin()
    await asyncio.sleep(0)
    assert [seconds for seconds, _ in alarm.set] == [SWEEP_SECONDS]
    alarm.set[-1][1]()
    await asyncio.sleep(0)
    assert (sweep.begun, len(alarm.set)) == (1, 2)
    assert sweep.wait is not None
    sweep.wait.set()
    await ended()
    alarm.set[-1][1]()
    await ended()
    assert sweep.begun == 2
    await keeping.close()


async def test_a_session_that_begins_while_channels_are_read_has_them_read_once_more() -> None:
    prewarm = Chore(wait=asyncio.Event())
    keeping, _ = housekeeping(sweep=Chore(), prewarm=prewarm)
    for _ in range(3):
        keeping.begin()
        await asyncio.sleep(0)
    assert prewarm.begun == 1
    assert prewarm.wait is not None
    prewarm.wait.set()
    await ended()
    assert prewarm.begun == 2
    await keeping.close()
    await keeping.close()


async def test_a_chore_that_fails_is_heard_of(caplog: pytest.LogCaptureFixture) -> None:
    keeping, _ = housekeeping(sweep=Chore(failure=ZeroDivisionError()), prewarm=Chore())
    keeping.begin()
    await asyncio.gather(
        *(task for task in asyncio.all_tasks() if "recall-" in task.get_name()), return_exceptions=True
    )
    assert [record.getMessage() for record in caplog.records] == ["retention ended early"]
    await keeping.close()


async def test_once_a_day_nothing_is_left_in_the_file_that_is_not_in_its_tables(tmp_path: Path) -> None:
    """Pages that were split keep copies of what has moved; only rewriting the file takes these away."""
    path = tmp_path / "mirror.sqlite"
    time = [0.0]
    mirror = Mirror(str(path), clock=lambda: time[0], now=lambda: time[0])
    await mirror.new_epoch()
    place, author = Place(1, 9, 1), recall.PersonAuthor("1", "Ada")
    texts = {n: f"unforgettable {n} " + "x" * (n * 37 % 700) for n in range(3_000, 0, -1)}
    for high in range(3_000, 0, -100):
        ticket = mirror.ticket(place)
        rows = [recall.LogMessage(n, "1", None, author, texts[n]) for n in range(high, high - 100, -1)]
        await mirror.write_page(ticket, rows, low=high - 99, high=LIVE if high == 3_000 else high + 1)
        mirror.settle(ticket)
    async with mirror.use() as connection:
        await connection.execute("DELETE FROM rows WHERE id % 7 = 0")
    await mirror.database.checkpoint()
    deleted = [f"unforgettable {n} ".encode() for n in range(7, 3_000, 7)]
    assert any(text in path.read_bytes() for text in deleted), "SQLite has learnt to overwrite them: rewrite no more"

    keeping, _ = housekeeping(mirror, sweep=Chore(), prewarm=Chore(), clock=lambda: time[0])
    keeping.begin()
    await ended()
    assert any(text in path.read_bytes() for text in deleted)
    time[0] = REWRITE_SECONDS
    keeping.begin()
    await ended()
    found = path.read_bytes()
    assert not any(text in found for text in deleted)
    assert b"unforgettable 8 " in found
    await keeping.close()
    await mirror.close()
