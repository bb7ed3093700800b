"""However many write however much, what the bot does unasked stays below what the README states."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from typing import Any

import msgspec
import pytest
import simcord
from hypothesis import given
from hypothesis import strategies as st
from recall_bot.acknowledge import ACKS_PER_MINUTE
from recall_bot.config import Config, LinesConfig, SearchConfig
from recall_bot.lines.bounds import (
    HOUR_SECONDS,
    LINES_PER_AUTHOR,
    LINES_PER_CHANNEL,
    LINES_PER_GUILD,
    LINES_PER_PAIR,
    LINES_PER_ROOM,
    PACED_PER_MINUTE,
    LineBounds,
)
from recall_bot.lines.watch import LINES_WAITING, PACED_EMOJI
from recall_bot.mirror.upkeep import stored
from recall_bot.notices import CORRECTIONS_PER_MINUTE, NOTICES_PER_MINUTE, NOTICES_REMEMBERED

from tests.asking import ask, history, text_of
from tests.stage import Stage, set_stage

SETTLE_SECONDS = 5
RAIDERS = 50
RAID_LINES = 5_000
RAID_REQUESTS = ACKS_PER_MINUTE + NOTICES_PER_MINUTE + LINES_PER_CHANNEL + PACED_PER_MINUTE

RAID_READS = (LINES_PER_CHANNEL + 1) * (1 + 21 + 1)  # a member, 2,048 messages, the list of threads; and a moderator's


def open_to_all(config: Config) -> Config:
    return msgspec.structs.replace(
        config, lines=LinesConfig("everyone"), acknowledge="all", search=SearchConfig(cooldown_seconds=0)
    )


def writes(stage: Stage) -> list[str]:
    """Return what the bot has asked Discord to change."""
    return [request.path for request in stage.env.http_requests if request.method != "GET"]


# Bounds


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.floats(0, 200)), max_size=400))
def test_no_span_of_time_holds_more_answers_than_is_stated(calls: list[tuple[int, str, float]]) -> None:
    now = 0.0
    bounds = LineBounds(clock=lambda: now)
    given_out: list[tuple[float, int, str]] = []
    for channel, author, wait in calls:
        now += wait
        full = bounds.is_full(0, channel, author)
        assert bounds.admit(0, channel, author) is not full
        if not full:
            given_out.append((now, channel, author))
        minute = [one for one in given_out if one[0] > now - 60]
        hour = [one for one in given_out if one[0] > now - HOUR_SECONDS]
        assert max(Counter(author for _, _, author in minute).values(), default=0) <= LINES_PER_AUTHOR
        assert max(Counter(channel for _, channel, _ in minute).values(), default=0) <= LINES_PER_CHANNEL
        assert max(Counter((place, who) for _, place, who in hour).values(), default=0) <= LINES_PER_PAIR
        assert max(Counter(channel for _, channel, _ in hour).values(), default=0) <= LINES_PER_ROOM


def test_whoever_asks_within_the_bounds_is_always_answered() -> None:
    now = 0.0
    bounds = LineBounds(clock=lambda: now)
    for _ in range(500):
        now += HOUR_SECONDS / LINES_PER_PAIR
        assert bounds.admit(0, 1, "a")


def test_a_server_has_a_bound_however_many_channels_and_authors_it_has() -> None:
    bounds = LineBounds(clock=lambda: 0.0)
    answered = [bounds.admit(0, number, str(number)) for number in range(200)]
    assert sum(answered) == LINES_PER_GUILD
    assert bounds.admit(1, 1_000, "1000")


def test_an_agent_of_many_servers_is_bound_in_each_of_them_alone() -> None:
    bounds = LineBounds(clock=lambda: 0.0)
    answered = [bounds.admit(guild, guild * 10 + number, "a") for guild in range(5) for number in range(8)]
    assert sum(answered) == 5 * LINES_PER_AUTHOR


def test_a_bound_is_told_of_once_an_hour() -> None:
    now = 0.0
    bounds = LineBounds(clock=lambda: now)
    assert [bounds.may_tell(1, "a") for _ in range(3)] == [True, False, False]
    assert sum(bounds.may_tell(1, str(number)) for number in range(50)) == PACED_PER_MINUTE - 1
    now = HOUR_SECONDS
    assert bounds.may_tell(1, "a")


async def test_at_the_bound_there_is_one_reaction_and_then_silence(stage: Stage) -> None:
    said = []
    for _ in range(LINES_PER_AUTHOR + 4):
        said.append(await stage.scout.send(stage.channel, "!recall help"))
        await stage.env.advance_time(SETTLE_SECONDS)
    assert len(stage.ours()) == LINES_PER_AUTHOR
    assert [stage.reactions(message) for message in said[LINES_PER_AUTHOR:]] == [[PACED_EMOJI], [], [], []]
    await stage.env.advance_time(60)
    await stage.scout.send(stage.channel, "!recall help")
    await stage.env.advance_time(SETTLE_SECONDS)
    assert len(stage.ours()) == LINES_PER_AUTHOR + 1


async def test_two_lines_at_once_are_both_answered_one_after_the_other(stage: Stage) -> None:
    backend = stage.env.backend
    for _ in range(2):
        backend.create_message(stage.channel.id, stage.scout.id, "!pins")
    await stage.settle()
    await stage.env.advance_time(SETTLE_SECONDS)
    await stage.env.advance_time(SETTLE_SECONDS)
    assert len(stage.ours()) == 2


async def test_whoever_floods_a_channel_does_not_keep_the_others_from_being_answered(stage: Stage) -> None:
    relay = stage.guild.add_member(stage.env.create_user("relay", bot=True))
    for _ in range(100):
        stage.env.backend.create_message(stage.channel.id, stage.scout.id, "!recall help")
    last = stage.env.backend.create_message(stage.channel.id, relay.id, "!recall help")
    await stage.settle()
    await stage.env.advance_time(30)
    answered = [one.reference.message_id for one in stage.ours() if one.reference is not None]
    assert (len(answered), last.id in answered) == (LINES_PER_AUTHOR + 1, True)


# Loops


@pytest.mark.parametrize("pause", [SETTLE_SECONDS, 30])
async def test_two_bots_that_answer_every_message_hear_of_us_no_more_often_than_is_stated(
    env: simcord.Env, pause: int
) -> None:
    stage = await set_stage(env, lambda config: msgspec.structs.replace(config, acknowledge="off"))
    relay = stage.guild.add_member(env.create_user("relay", bot=True))
    bots = cycle([(stage.scout, "!recall help"), (relay, "You said:\n!recall help")])
    written, started = 0, env.now()
    while written < 1_000:
        for who, text in (next(bots), next(bots), next(bots), next(bots)):  # each answers the other, and us
            env.backend.create_message(stage.channel.id, who.id, text)
            written += 1
        await stage.settle()
        await env.advance_time(pause)
    hours = int((env.now() - started).total_seconds() // HOUR_SECONDS) + 1
    answers = len(stage.ours())
    assert 2 * LINES_PER_PAIR <= answers <= 2 * LINES_PER_PAIR * hours
    assert len(stage.requests("POST", "/messages")) == answers


# Raids


async def raid(stage: Stage, who: list[Any], lines: int, texts: list[str]) -> None:
    """Let many write marker lines within a minute, in bursts."""
    for start in range(0, lines, 500):
        for number in range(start, start + 500):
            author, text = who[number % len(who)], texts[number % len(texts)]
            stage.env.backend.create_message(stage.channel.id, author.id, text)
        await stage.env.settle(timeout=120, idle=0.0005)
        await stage.env.advance_time(SETTLE_SECONDS)


async def test_a_raid_of_marker_lines_costs_what_is_stated_and_a_moderator_is_answered_meanwhile(
    env: simcord.Env,
) -> None:
    stage = await set_stage(env, open_to_all)
    raiders = [stage.guild.add_member(env.create_user(f"raider{number}")) for number in range(RAIDERS)]
    history(stage, ["the needle"])
    texts = ["!pin", "!search needle", "!PIN", "!pins", "!unpin ^1", "!propose #x " + "y" * 700, "!search /(a+)+$/"]
    env.http_requests.clear()
    await raid(stage, raiders, RAID_LINES // 2, texts)
    counted = len(writes(stage))
    answer = await ask(stage, "search", query="needle", before="1h")
    assert "the needle" in text_of(answer)
    assert len(stage.cog._unasked._lines._watches) <= LINES_WAITING
    others = len(writes(stage)) - counted
    await raid(stage, raiders, RAID_LINES // 2, texts)
    assert counted > ACKS_PER_MINUTE
    assert len(writes(stage)) - others <= RAID_REQUESTS
    assert len(env.http_requests) - len(writes(stage)) <= RAID_READS
    assert len(stage.cog._unasked._lines._tasks) <= LINES_WAITING
    assert len(stage.cog._unasked._acknowledgements._marks) <= ACKS_PER_MINUTE * 2
    assert len(stage.cog._unasked._notices._watches) <= NOTICES_REMEMBERED
    assert len(stage.ours()) <= NOTICES_PER_MINUTE + LINES_PER_CHANNEL


async def test_a_raid_by_edits_costs_what_is_stated(env: simcord.Env) -> None:
    stage = await set_stage(env, open_to_all)
    raiders = [stage.guild.add_member(env.create_user(f"raider{number}")) for number in range(RAIDERS)]
    said = []
    for _ in range(10):  # so that there is much to take back and to correct
        for number, raider in enumerate(raiders):
            said.append(env.backend.create_message(stage.channel.id, raider.id, ("!pin", "y" * 700)[number % 2]))
        await stage.settle()
        await env.advance_time(60)
    env.http_requests.clear()
    for number in range(11):
        for message in said:
            text = ("y" * (800 + number), "!pin", "talk")[number % 3]
            env.backend.edit_message(stage.channel.id, message.id, {"content": text})
        await env.settle(timeout=120, idle=0.0005)
        await env.advance_time(SETTLE_SECONDS)
    counted = Counter(request.method for request in env.http_requests)
    taken = [one for one in env.http_requests if one.method == "DELETE" and "reactions" in one.path]
    assert len(taken) == ACKS_PER_MINUTE
    assert counted["PUT"] <= ACKS_PER_MINUTE
    assert counted["POST"] <= NOTICES_PER_MINUTE
    assert counted["PATCH"] <= CORRECTIONS_PER_MINUTE
    assert counted["DELETE"] - len(taken) <= NOTICES_PER_MINUTE * 11  # each withdraws one of the notices


async def test_a_raid_where_nothing_is_switched_on_costs_nothing(stage: Stage) -> None:
    stage.env.http_requests.clear()
    for number in range(200):
        author = (stage.ada, stage.scout)[number % 2]
        text = ("!pin", "!search x", "y" * 900, "!PIN", "!context")[number % 5]
        stage.env.backend.create_message(stage.quiet.id, author.id, text)
    await stage.settle()
    await stage.env.advance_time(60)
    assert stage.env.http_requests == []
    mirror = stage.cog.services.mirror
    assert mirror is not None
    assert await stored(mirror, desk_id=stage.quiet.id) == []
