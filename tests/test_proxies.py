"""Webhook proxies: a message is deleted within seconds, and a webhook posts it again under its author's name."""

from __future__ import annotations

import logging

import discord
import msgspec
import pytest
import simcord
from recall_bot.acknowledge import EFFECT_EMOJI
from recall_bot.config import Config
from recall_bot.notices import LENGTH_EMOJI

from tests.asking import ask, configured, text_of
from tests.stage import Stage, set_stage

SETTLE_SECONDS = 5
TEXT = "!pin #plan\n" + "x" * 700


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="recall_bot")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what an operator was warned of."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("recall_bot") and record.levelno > logging.INFO
    ]


async def proxied(stage: Stage, text: str, *, after_seconds: float, first: str = "delete") -> discord.Message:
    """Let ada say something that a proxy takes away and posts again, in either order; returns what stands."""
    webhook = stage.guild.create_webhook(stage.channel)
    original = await stage.ada.send(stage.channel, text)
    await stage.env.advance_time(after_seconds)
    if first == "delete":
        await stage.ada.delete(original)
    copy = await webhook.send(text, username="ada")
    if first == "post":
        await stage.ada.delete(original)
    await stage.env.advance_time(2 * SETTLE_SECONDS)
    return copy


@pytest.mark.parametrize("after_seconds", [0.5, 4, 8])
@pytest.mark.parametrize("first", ["delete", "post"])
async def test_what_a_proxy_posts_again_is_one_pin_one_notice_and_one_reaction(
    stage: Stage, caplog: pytest.LogCaptureFixture, after_seconds: float, first: str
) -> None:
    copy = await proxied(stage, TEXT, after_seconds=after_seconds, first=first)

    (notice,) = stage.ours()
    assert notice.reference is not None
    assert notice.reference.message_id == copy.id
    assert stage.reactions(copy) == [EFFECT_EMOJI]
    board = text_of(await ask(stage, "pins"))
    assert board.count("jump") == 1
    assert f"/{copy.id}" in board.replace(")", " ")
    history = text_of(await ask(stage, "pins", show="history"))
    assert "1 line" in history
    assert told(caplog) == []


async def test_a_proxy_quicker_than_the_reaction_leaves_no_error(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.env.inject_error("PUT", "/channels/*/messages/*/reactions/*", status=404, code=10008)
    copy = await proxied(stage, "!pin #plan the plan", after_seconds=0.1)

    assert told(caplog) == []
    assert stage.reactions(copy) == [EFFECT_EMOJI]


async def test_a_proxy_quicker_than_the_notice_leaves_no_error(
    env: simcord.Env, caplog: pytest.LogCaptureFixture
) -> None:
    def by_reaction(config: Config) -> Config:
        free: Config = configured()(config)
        return msgspec.structs.replace(free, notices=msgspec.structs.replace(free.notices, mode="reaction"))

    stage = await set_stage(env, by_reaction)
    env.inject_error("PUT", "/channels/*/messages/*/reactions/*", status=404, code=10008)
    original = await stage.ada.send(stage.channel, "x" * 700)
    await env.advance_time(SETTLE_SECONDS)
    await stage.ada.delete(original)
    copy = await stage.guild.create_webhook(stage.channel).send("x" * 700, username="ada")
    await env.advance_time(SETTLE_SECONDS)

    assert stage.reactions(copy) == [LENGTH_EMOJI]
    assert told(caplog) == []
