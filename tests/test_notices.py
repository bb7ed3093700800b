from __future__ import annotations

import asyncio
import logging
from typing import Any

import discord
import msgspec
import pytest
import simcord
from recall_bot.config import Config, parse_config
from recall_bot.notices import LENGTH_EMOJI, NOTICES_PER_MINUTE, notice_text
from recall_bot.sections import NoticesConfig
from simcord.builders import ChannelHandle

from tests.simcord_shims import user_thread
from tests.stage import Stage, set_stage

SETTLE_SECONDS = 5
COOLDOWN_SECONDS = 300


def notices(**keys: Any) -> Any:
    """Return what changes a configuration's notices."""

    def configure(config: Config) -> Config:
        return msgspec.structs.replace(config, notices=NoticesConfig(**keys))

    return configure


async def still(stage: Stage) -> None:
    await stage.env.advance_time(SETTLE_SECONDS)


def said(stage: Stage, channel: ChannelHandle | None = None) -> list[str]:
    return [message.content for message in stage.ours(channel)]


@pytest.mark.parametrize(
    ("content", "notice"),
    [
        ("x" * 600, []),
        ("x" * 601, ["1 character over this channel's 600"]),
        ("x" * 650, ["50 characters over this channel's 600"]),
        ("x" * 599 + "👩‍👩‍👧", ["4 characters over this channel's 600"]),  # five code points
    ],
)
async def test_what_counts_is_code_points_above_the_budget(stage: Stage, content: str, notice: list[str]) -> None:
    await stage.ada.send(stage.channel, content)
    await still(stage)
    assert said(stage) == notice


async def test_a_notice_is_a_silent_reply_that_pings_nobody_and_outlives_its_message(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, f"@everyone {stage.ben.mention} " + "x" * 700)
    await still(stage)
    (sent,) = stage.requests("POST", "/messages")
    assert sent["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert sent["flags"] == discord.MessageFlags(suppress_notifications=True).value
    assert sent["message_reference"]["message_id"] == message.id
    assert sent["message_reference"]["fail_if_not_exists"] is False
    assert stage.ours()[0].mentions == []


async def test_mentions_count_as_they_are_shown(stage: Stage) -> None:
    await stage.ada.send(stage.channel, stage.ben.mention + "x" * 600)
    await still(stage)
    assert said(stage) == [notice_text(len("@ben"), 600)]


async def test_an_agent_that_streams_by_editing_is_answered_once_on_the_settled_text(stage: Stage) -> None:
    message = await stage.scout.send(stage.channel, "…")
    for length in (300, 650, 900):
        await stage.env.advance_time(SETTLE_SECONDS - 1)
        await stage.scout.edit(message, "x" * (length - 23) + "\n!pin #plan ship Friday")
    assert said(stage) == []
    await still(stage)
    assert said(stage) == ["300 characters over this channel's 600"]
    await stage.scout.edit(message, "x" * 500)
    await still(stage)
    assert said(stage) == []
    await stage.scout.edit(message, "x" * 800)
    await still(stage)
    assert said(stage) == []


async def test_an_update_that_is_no_edit_neither_restarts_the_wait_nor_withdraws(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    await stage.env.advance_time(SETTLE_SECONDS - 1)
    await stage.touch(message)
    await stage.env.advance_time(1)
    assert len(said(stage)) == 1
    await stage.touch(message)
    await still(stage)
    assert len(said(stage)) == 1


async def test_a_notice_is_corrected_when_the_text_grows(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    await stage.ada.edit(message, "x" * 850)
    await still(stage)
    assert said(stage) == ["250 characters over this channel's 600"]
    (edit,) = stage.requests("PATCH", f"/{stage.ours()[0].id}")
    assert edit["allowed_mentions"] == {"parse": []}


async def test_five_long_messages_in_a_row_get_one_notice(stage: Stage) -> None:
    for _ in range(5):
        await stage.scout.send(stage.channel, "x" * 1900)
    await still(stage)
    assert said(stage) == ["1300 characters over this channel's 600"]


async def test_the_cooldown_is_one_authors_in_one_channel_and_ends(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "x" * 700)
    await stage.ben.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == 2
    await stage.env.advance_time(COOLDOWN_SECONDS - SETTLE_SECONDS - 1)
    await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == 2
    await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == 3


async def test_a_webhook_is_one_author_whatever_names_it_uses(stage: Stage) -> None:
    webhook = stage.guild.create_webhook(stage.channel)
    await webhook.send("x" * 700, username="one")
    await webhook.send("x" * 700, username="two")
    await still(stage)
    assert len(said(stage)) == 1


async def test_a_channel_gets_so_many_notices_a_minute_and_the_surplus_is_dropped(stage: Stage) -> None:
    authors = [stage.guild.add_member(stage.env.create_user(f"author{n}")) for n in range(NOTICES_PER_MINUTE + 2)]
    for author in authors:
        await author.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == NOTICES_PER_MINUTE
    await stage.env.advance_time(120)
    assert len(said(stage)) == NOTICES_PER_MINUTE
    await authors[-1].send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == NOTICES_PER_MINUTE + 1


async def test_a_message_deleted_before_it_was_still_is_not_answered(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    await stage.ada.delete(message)
    await still(stage)
    assert stage.requests("POST", "/messages") == []


@pytest.mark.parametrize("bulk", [False, True])
async def test_a_notice_goes_with_its_message(stage: Stage, bulk: bool) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    other = await stage.ben.send(stage.channel, "y")
    await still(stage)
    if bulk:
        stage.env.backend.bulk_delete_messages(stage.channel.id, [message.id, other.id])
        await stage.settle()
    else:
        await stage.ada.delete(message)
    assert said(stage) == []


async def test_a_message_deleted_while_its_notice_is_being_sent_leaves_none(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    request, deleted = stage.bot.http.request, asyncio.Event()

    async def slow(route: Any, **options: Any) -> Any:
        if route.method == "POST":
            await stage.env.external_wait(deleted.wait(), reason="Discord is slow")
        return await request(route, **options)

    stage.bot.http.request = slow  # type: ignore[method-assign]
    await still(stage)
    await stage.ada.delete(message)
    deleted.set()
    await stage.settle()
    assert len(stage.requests("POST", "/messages")) == 1
    assert said(stage) == []


async def test_a_notice_that_a_moderator_deleted_is_not_written_again(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    stage.env.backend.delete_message(stage.channel.id, stage.ours()[0].id)
    await stage.ada.edit(message, "x" * 800)
    await still(stage)
    await stage.ada.edit(message, "short")
    assert said(stage) == []


async def test_nothing_happens_in_a_channel_that_is_not_switched_on(stage: Stage) -> None:
    await stage.ada.send(stage.quiet, "x" * 1900)
    await still(stage)
    assert said(stage, stage.quiet) == []


async def test_threads_follow_their_channel(stage: Stage) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "aside")
    handle = next(handle for handle in stage.channel.threads if handle.id == thread.id)
    await stage.ada.send(handle, "x" * 700)
    await still(stage)
    assert said(stage, handle) == ["100 characters over this channel's 600"]


async def test_a_channel_has_its_own_budget_and_mode(env: simcord.Env) -> None:
    def configure(config: Config) -> Config:
        (channel,) = config.channels.enabled
        return parse_config(
            f"""
            channels.enabled = [{channel}]
            [channel.{channel}.brevity]
            message_chars = 10
            """
        )

    stage = await set_stage(env, configure)
    await stage.ada.send(stage.channel, "x" * 13)
    await still(stage)
    assert said(stage) == ["3 characters over this channel's 10"]


async def test_a_reaction_can_say_it_and_is_taken_back(env: simcord.Env) -> None:
    stage = await set_stage(env, notices(mode="reaction"))
    message = await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert (said(stage), stage.reactions(message)) == ([], [LENGTH_EMOJI])
    await stage.ada.edit(message, "x" * 800)
    await still(stage)
    assert stage.reactions(message) == [LENGTH_EMOJI]
    await stage.ada.edit(message, "short")
    assert stage.reactions(message) == []


async def test_a_message_with_a_reaction_may_be_deleted(env: simcord.Env) -> None:
    stage = await set_stage(env, notices(mode="reaction"))
    message = await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    await stage.ada.delete(message)
    await still(stage)


async def test_off_is_silence(env: simcord.Env) -> None:
    stage = await set_stage(env, notices(mode="off"))
    message = await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert (said(stage), stage.reactions(message)) == ([], [])


async def test_what_was_posted_while_away_is_never_answered(stage: Stage) -> None:
    stage.bot.dispatch("shard_disconnect", 0)
    missed = await stage.ada.send(stage.channel, "x" * 700)  # told of by RESUME
    stage.bot.dispatch("shard_resumed", 0)
    await still(stage)
    await stage.ada.edit(missed, "x" * 800)
    await still(stage)
    assert said(stage) == []
    await stage.ben.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == 1


async def test_a_new_session_answers_what_is_posted_in_it(stage: Stage) -> None:
    stage.bot.dispatch("shard_disconnect", 0)
    stage.bot.dispatch("shard_connect", 0)
    await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert len(said(stage)) == 1


async def test_a_message_from_before_the_start_is_not_answered_when_it_is_edited(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "short")
    await stage.restart()
    await stage.ada.edit(message, "x" * 700)
    await still(stage)
    assert said(stage) == []


async def test_our_own_messages_and_direct_ones_are_not_answered(stage: Stage) -> None:
    stage.env.backend.create_message(stage.channel.id, stage.env.backend.bot_user.id, "x" * 700)
    await stage.ada.send_dm("x" * 700)
    await still(stage)
    assert stage.requests("POST", "/messages") == []


@pytest.mark.parametrize("right", ["send_messages", "view_channel", "read_message_history"])
async def test_nothing_is_tried_where_the_bot_may_not_answer(stage: Stage, right: str) -> None:
    await stage.deny(stage.channel, **{right: False})
    await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    assert stage.requests("POST", "/messages") == []


async def test_a_refusal_is_one_line_of_ids(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.env.inject_error("POST", "/channels/*/messages", status=400, code=20028)
    message = await stage.ada.send(stage.channel, "secret" * 200)
    await still(stage)
    lines = [record.getMessage() for record in caplog.records if record.name == "recall_bot.notices"]
    assert lines == [f"notice refused: message={message.id} (HTTPException 400 20028)"]


async def test_an_error_nobody_foresaw_is_one_line_without_its_words(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(route: Any, **options: Any) -> Any:
        raise LookupError("secret")

    message = await stage.ada.send(stage.channel, "x" * 700)
    stage.bot.http.request = broken  # type: ignore[method-assign]
    await still(stage)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "recall_bot.notices"]
    assert line.startswith(f"notice failed: message={message.id} (LookupError) at _tend:")
    assert "secret" not in caplog.text


async def test_a_channel_that_is_deleted_takes_its_waits_with_it(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "x" * 700)
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "aside")
    handle = next(handle for handle in stage.channel.threads if handle.id == thread.id)
    await stage.ada.send(handle, "x" * 700)
    assert len(waits()) == 2
    stage.env.backend.delete_channel(handle.id)
    await stage.settle()
    assert len(waits()) == 1
    stage.env.backend.delete_channel(stage.channel.id)
    await stage.settle()
    assert waits() == []


async def test_unloading_cancels_every_wait_and_leaves_what_stands(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "x" * 700)
    await still(stage)
    message = await stage.ben.send(stage.channel, "x" * 700)
    assert waits() == [f"recall-notice-{message.id}"]
    await stage.bot.remove_cog("Recall")
    assert waits() == []
    await still(stage)
    assert len(said(stage)) == 1


async def test_the_log_has_ids_and_counts_only(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="recall_bot")
    await stage.ada.send(stage.channel, "secret " * 100)
    await still(stage)
    assert len(said(stage)) == 1
    assert "secret" not in caplog.text


def waits() -> list[str]:
    return sorted(t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("recall-notice-"))
