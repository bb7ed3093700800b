from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from datetime import timedelta

import pytest
import simcord
from recall_bot import paging
from recall_bot.answering import PROGRESS_SECONDS
from recall_bot.commands import pins, search
from recall_bot.desks import Desks
from recall_bot.errors import UNEXPECTED, Unavailable
from recall_bot.services import Services

import recall
from tests.asking import answer_of, ask, buttons, configured, history, quoted, sent_by_bot, text_of
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


def install(stage: Stage, services: Services) -> None:
    """Let the commands work with these services, without registering them anew."""
    for build in (search.build, pins.build):
        command = build(services)
        stage.bot.tree.add_command(command, override=True)


class Clock:
    """Be a clock that goes on by so many seconds each time it is read."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


def slowed(stage: Stage, clock: Clock) -> Services:
    """Return services for which each look at the clock takes time."""
    services = stage.cog.services
    desks = Desks(stage.bot, stage.config, services.recent, clock=clock)
    start = services.now()
    return dataclasses.replace(services, desks=desks, now=lambda: start + timedelta(seconds=clock.now))


def failures(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_r2_the_question_is_acknowledged_before_anything_is_read(stage: Stage) -> None:
    history(stage, ["limiter"])

    await ask(stage, "search", query="limiter")

    paths = [request.path for request in stage.env.http_requests]
    acknowledged = next(number for number, path in enumerate(paths) if path.endswith("/callback"))
    read = next(number for number, path in enumerate(paths) if path.endswith("/messages"))
    assert acknowledged < read


async def test_r2_a_long_walk_is_answered_in_part_within_the_life_of_its_interaction(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(2000)])
    clock = Clock(100)
    install(stage, slowed(stage, clock))

    answer = await ask(stage, "search", query="limiter", sort="newest")

    assert len(quoted(answer)) == 10
    assert "then the time for one answer was up" in text_of(answer)
    assert buttons(answer)["Older"]
    assert clock.now < 15 * 60 + 200


async def test_r2_how_far_the_reading_has_come_is_said_while_it_lasts_and_then_replaced(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(400)])
    install(stage, slowed(stage, Clock(PROGRESS_SECONDS)))

    answer = await ask(stage, "search", query="limiter", public=True)

    said = [body for body in sent_by_bot(stage) if str(body.get("content") or "").startswith("Reading… ")]
    assert said
    assert "messages so far, back to <t:" in said[0]["content"]
    assert all(body["allowed_mentions"] == {"parse": []} for body in said)
    assert not answer.content
    assert answer.embeds


async def test_r2_a_quick_answer_comes_without_a_word_on_progress(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(400)])

    await ask(stage, "search", query="limiter")

    assert not [body for body in sent_by_bot(stage) if str(body.get("content") or "").startswith("Reading… ")]


async def test_r2_an_interaction_that_is_gone_is_one_line_in_the_log_and_nothing_is_read(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    history(stage, ["limiter"])
    stage.env.inject_error("POST", "/interactions/*/*/callback", status=404, code=10062)

    await stage.ada.slash(stage.channel, "search", query="limiter")

    [line] = failures(caplog)
    assert "could not be acknowledged: NotFound 404 10062" in line.getMessage()
    assert line.exc_info is None
    assert not [request for request in stage.env.http_requests if request.path.endswith("/messages")]


async def test_an_answer_that_cannot_be_shown_any_more_is_one_line_in_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    history(stage, ["limiter"])
    stage.env.inject_error("PATCH", "/webhooks/*/*/messages/@original", status=401, code=50027, times=5)

    await stage.ada.slash(stage.channel, "search", query="limiter")

    [line] = failures(caplog)
    assert "could not be shown: HTTPException 401 50027" in line.getMessage()
    assert line.exc_info is None


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (403, 50001, "I may not read the history of that channel"),
        (404, 10003, "That channel is gone"),
        (429, 0, "slow down"),
        (500, 0, "Discord does not answer"),
    ],
)
async def test_a_history_that_cannot_be_read_is_told_in_one_sentence(
    stage: Stage, caplog: pytest.LogCaptureFixture, status: int, code: int, sentence: str
) -> None:
    history(stage, ["limiter"])
    stage.env.inject_error("GET", "/channels/*/messages", status=status, code=code)

    answer = await ask(stage, "pins")

    assert sentence in answer.content
    assert "\n" not in answer.content
    assert all(record.exc_info is None for record in caplog.records)


class BrokenMatcher:
    """Fail as nobody foresaw, in words that quote a message."""

    async def search(
        self, rows: Sequence[recall.LogMessage], query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        raise RuntimeError(f"no idea what to do with {rows[0].content}")


async def test_an_error_nobody_foresaw_is_a_sentence_for_the_asker_and_a_line_without_text_for_the_operator(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    history(stage, ["my password is swordfish"])
    install(stage, dataclasses.replace(stage.cog.services, matcher=BrokenMatcher()))

    answer = await ask(stage, "search", query="/password/")

    assert answer.content == UNEXPECTED
    [line] = failures(caplog)
    assert "RuntimeError" in line.getMessage()
    assert f"channel={stage.channel.id}" in line.getMessage()
    assert "search:" in line.getMessage()
    assert "swordfish" not in caplog.text
    assert line.exc_info is None


async def test_a_member_asks_one_question_after_another_and_not_faster_than_the_cooldown(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(cooldown_seconds=3))
    history(stage, [f"limiter {number}" for number in range(15)])

    answer = await ask(stage, "search", query="limiter")
    refused = await ask(stage, "search", query="limiter")

    assert refused.content == "One question at a time, please: ask again in 3 s."
    assert quoted(await ask(stage, "search", query="limiter", who=stage.ben))
    assert quoted(answer_of(await stage.ada.click(answer, label="Next")))
    await env.advance_time(3)
    assert quoted(await ask(stage, "search", query="limiter"))


async def test_while_a_walk_is_under_way_its_member_waits_and_past_the_cap_of_the_guild_everybody(
    env: simcord.Env,
) -> None:
    stage = await set_stage(env, configured(guild_walks=2))
    walks, guild = stage.cog.services.walks, stage.guild.id
    history(stage, [f"limiter {number}" for number in range(15)])
    answer = await ask(stage, "search", query="limiter")

    async with walks.admit(guild, stage.ada.id):
        assert "One question at a time" in (await ask(stage, "pins")).content
        pressed = await stage.ada.click(answer, label="Next")
        assert ["One question at a time" in told.content for told in pressed.followups] == [True]
        assert (await ask(stage, "pins", who=stage.ben)).embeds
        async with walks.admit(guild, 1):
            assert "One question at a time" in (await ask(stage, "pins", who=stage.ben)).content
    assert (await ask(stage, "pins")).embeds


async def test_progress_under_a_page_that_then_fails_is_taken_back(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(400)])
    answer = await ask(stage, "search", query="limiter")
    before = text_of(answer)
    stage.env.inject_error("GET", "/guilds/*/members/*", status=500, times=9)
    stage.bot.add_dynamic_items(paging.build(slowed(stage, Clock(PROGRESS_SECONDS))))

    result = await stage.ada.click(answer, label="Next")

    assert [told.content for told in result.followups] == [Unavailable("discord_down").sentence]
    assert text_of(answer) == before
