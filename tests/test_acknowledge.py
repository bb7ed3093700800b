from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.acknowledge import ACKS_PER_MINUTE, EFFECT_EMOJI, NOTHING_EMOJI, acknowledgement
from recall_bot.config import Acknowledge, Config, Snowflake

import recall
from tests.simcord_shims import user_thread
from tests.stage import Stage, set_stage


def mode(acknowledge: Acknowledge) -> Any:
    def configure(config: Config) -> Config:
        return msgspec.structs.replace(config, acknowledge=acknowledge)

    return configure


def row(content: str, reply_to: int | None = None) -> recall.LogMessage:
    author = recall.PersonAuthor(id="1", label="Ada")
    return recall.LogMessage(10, "5", None, author, content, reply_to)


EFFECTS = [
    "!pin",
    "!pin ^3 #limits as measured",
    "text\n!unpin ^3",
    "!propose #plan ship",
    "!refute #plan ^3",
    "! pin ^1",
]
NOTHINGS = ["!unpin", "!Pin ^3", "!pin.", "!refute #plan", "!PIN:", "!unpin x ^3"]
TALK = ["pin", "a !pin in a line", "`!pin`", "```\n!pin\n```", "> !pin ^3", "!pinned", "!help", "!", "wow!", ""]


@pytest.mark.parametrize("content", EFFECTS)
def test_a_marker_that_parses_took_effect(content: str) -> None:
    assert acknowledgement(row(content), "effect") == acknowledgement(row(content), "all") == EFFECT_EMOJI


@pytest.mark.parametrize("content", NOTHINGS)
def test_a_line_that_was_meant_as_a_marker_and_is_nothing_is_marked_when_all_are(content: str) -> None:
    assert acknowledgement(row(content), "effect") is None
    assert acknowledgement(row(content), "all") == NOTHING_EMOJI


@pytest.mark.parametrize("content", TALK)
def test_talk_is_left_alone(content: str) -> None:
    assert acknowledgement(row(content), "all") is None


@pytest.mark.parametrize("content", EFFECTS + NOTHINGS)
def test_off_is_off(content: str) -> None:
    assert acknowledgement(row(content), "off") is None


def test_an_unpin_by_reply_took_effect() -> None:
    assert acknowledgement(row("!unpin", reply_to=3), "effect") == EFFECT_EMOJI


async def test_a_marker_gets_a_reaction_and_an_edit_takes_it_back(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "!pin #limits")
    assert stage.reactions(message) == [EFFECT_EMOJI]
    await stage.ada.edit(message, "pin #limits")
    assert stage.reactions(message) == []
    await stage.ada.edit(message, "still nothing\n!pin")
    assert stage.reactions(message) == [EFFECT_EMOJI]


async def test_agents_and_webhooks_are_acknowledged_as_people_are(stage: Stage) -> None:
    webhook = stage.guild.create_webhook(stage.channel)
    said = [await stage.scout.send(stage.channel, "!pin"), await webhook.send("!pin", username="x")]
    assert [stage.reactions(message) for message in said] == [[EFFECT_EMOJI]] * 2


async def test_a_slip_becomes_a_marker_by_an_edit(env: simcord.Env) -> None:
    stage = await set_stage(env, mode("all"))
    message = await stage.ada.send(stage.channel, "!PIN")
    assert stage.reactions(message) == [NOTHING_EMOJI]
    await stage.ada.edit(message, "!pin")
    assert stage.reactions(message) == [EFFECT_EMOJI]


async def test_a_link_of_this_guild_is_an_address_and_one_of_another_is_none(env: simcord.Env) -> None:
    stage = await set_stage(env, mode("all"))
    link = f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/123"
    there = link.replace(str(stage.guild.id), "9")
    said = [await stage.ada.send(stage.channel, f"!unpin ^{address}") for address in (link, there)]
    assert [stage.reactions(message) for message in said] == [[EFFECT_EMOJI], [NOTHING_EMOJI]]


async def test_what_is_forwarded_is_not_acknowledged(stage: Stage) -> None:
    message = await stage.ada.send(stage.quiet, "!pin #x hello deploy")
    forwarded = await stage.ben.forward(message, stage.channel)
    assert stage.reactions(forwarded) == []


async def test_only_channels_that_are_switched_on_are_watched_and_their_threads(stage: Stage) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "aside")
    handle = next(handle for handle in stage.channel.threads if handle.id == thread.id)
    inside, outside = await stage.ada.send(handle, "!pin"), await stage.ada.send(stage.quiet, "!pin")
    assert (stage.reactions(inside), stage.reactions(outside)) == ([EFFECT_EMOJI], [])


LACKING = ["!propose plan ship", "!support #plan because", "!object ^3 no", "!object >3", "!commit", "!refute #plan"]


@pytest.mark.parametrize("content", LACKING)
def test_a_trace_that_deposits_nothing_took_no_effect(content: str) -> None:
    assert acknowledgement(row(content), "effect") is None
    assert acknowledgement(row(content), "all") == NOTHING_EMOJI


@pytest.mark.parametrize("content", ["!support #plan", "!evidence", "!refute #plan"])
def test_a_trace_takes_the_message_it_answers_as_its_ground(content: str) -> None:
    assert acknowledgement(row(content, reply_to=3), "effect") == EFFECT_EMOJI


async def test_a_trace_is_acknowledged_by_the_rules_of_its_place_and_where_its_author_votes(env: simcord.Env) -> None:
    def configure(config: Config) -> Config:
        rules = msgspec.structs.replace(config.standings, voters="agents", require_grounded=False)
        return msgspec.structs.replace(config, acknowledge="all", standings=rules)

    stage = await set_stage(env, configure)
    webhook = stage.guild.create_webhook(stage.channel)

    said = [
        await stage.scout.send(stage.channel, "!support #plan why not"),
        await stage.ada.send(stage.channel, "!support #plan why not"),
        await stage.ada.send(stage.channel, "!object >3 no"),
        await webhook.send("!propose #plan ship", username="x"),
    ]

    assert [stage.reactions(m) for m in said] == [[EFFECT_EMOJI], [NOTHING_EMOJI], [EFFECT_EMOJI], [NOTHING_EMOJI]]


async def test_who_holds_a_voting_role_is_acknowledged(env: simcord.Env) -> None:
    stage = await set_stage(env)
    role = stage.guild.create_role("voters")
    cleo = stage.guild.add_member(env.create_user("cleo"), roles=[role])
    rules = msgspec.structs.replace(stage.config.standings, voters="role", roles=frozenset({Snowflake(role.id)}))
    stage.config = msgspec.structs.replace(stage.config, acknowledge="all", standings=rules)
    await stage.restart()

    said = [await who.send(stage.channel, "!propose #plan ship") for who in (cleo, stage.ada)]

    assert [stage.reactions(message) for message in said] == [[EFFECT_EMOJI], [NOTHING_EMOJI]]


async def test_off_puts_no_reaction(env: simcord.Env) -> None:
    stage = await set_stage(env, mode("off"))
    message = await stage.ada.send(stage.channel, "!pin")
    assert stage.reactions(message) == []
    assert [r.path for r in env.http_requests if "reactions" in r.path] == []


async def test_the_surplus_of_a_minute_is_dropped_and_not_made_up_for(stage: Stage) -> None:
    said = [await stage.ada.send(stage.channel, "!pin") for _ in range(ACKS_PER_MINUTE + 3)]
    await stage.env.advance_time(120)
    await stage.touch(said[-1])
    assert [len(stage.reactions(message)) for message in said] == [1] * ACKS_PER_MINUTE + [0] * 3
    assert stage.reactions(await stage.ada.send(stage.channel, "!pin")) == [EFFECT_EMOJI]


async def test_an_update_that_is_no_edit_does_not_bring_back_what_a_moderator_took(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "!pin")
    stage.env.backend.clear_reactions(stage.channel.id, message.id)
    await stage.touch(message)
    assert stage.reactions(message) == []


async def test_a_preview_on_a_line_from_before_the_start_brings_nothing(stage: Stage) -> None:
    message = await stage.ada.send(stage.quiet, "x")
    message = await stage.ada.send(stage.channel, "!pin")
    stage.env.backend.clear_reactions(stage.channel.id, message.id)
    await stage.restart()
    await stage.touch(message)
    assert stage.reactions(message) == []


async def test_an_edit_of_a_line_from_before_the_start_is_seen(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "nothing")
    await stage.restart()
    await stage.ada.edit(message, "!pin")
    assert stage.reactions(message) == [EFFECT_EMOJI]


@pytest.mark.parametrize("right", ["add_reactions", "view_channel", "read_message_history"])
async def test_nothing_is_tried_where_the_bot_may_not_react(stage: Stage, right: str) -> None:
    await stage.deny(stage.channel, **{right: False})
    await stage.ada.send(stage.channel, "!pin")
    assert [r.path for r in stage.env.http_requests if "reactions" in r.path] == []


async def test_a_refusal_is_one_line_of_ids(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.env.inject_error("PUT", "/channels/*/messages/*/reactions/*", status=403, code=90001)
    message = await stage.ada.send(stage.channel, "!pin #secret")
    lines = [record.getMessage() for record in caplog.records if record.name == "recall_bot.acknowledge"]
    assert lines == [f"reaction refused: message={message.id} (Forbidden 403 90001)"]


async def test_an_edit_while_the_reaction_is_under_way_is_seen(stage: Stage) -> None:
    request, edited = stage.bot.http.request, asyncio.Event()

    async def slow(route: Any, **options: Any) -> Any:
        if route.method == "PUT":
            await stage.env.external_wait(edited.wait(), reason="Discord is slow")
        return await request(route, **options)

    stage.bot.http.request = slow  # type: ignore[method-assign]
    message = await stage.ada.send(stage.channel, "!pin")
    await stage.ada.edit(message, "no longer")
    edited.set()
    await stage.settle()
    assert stage.reactions(message) == []
    assert [r.method for r in stage.env.http_requests if "reactions" in r.path] == ["PUT", "DELETE"]


async def test_a_message_deleted_while_the_reaction_is_under_way_is_forgotten(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.env.inject_error("PUT", "/channels/*/messages/*/reactions/*", status=404, code=10008)
    message = await stage.ada.send(stage.channel, "!pin")
    await stage.ada.delete(message)
    assert [record for record in caplog.records if record.name.startswith("recall_bot")] == []
