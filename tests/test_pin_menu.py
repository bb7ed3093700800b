from __future__ import annotations

import asyncio
import datetime as dt
import logging
from typing import Any

import discord
import pytest
import simcord
from recall_bot import forms
from recall_bot.errors import Unavailable
from simcord.actors import MemberActor
from simcord.backend.serializers import channel_payload
from simcord.enums import MessageType
from simcord.results import InteractionResult

from tests.asking import ask, configured, history, quoted, sent_by_bot, text_of
from tests.rights import forbid
from tests.simcord_shims import archive, user_forum_post, user_thread
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


async def menu(stage: Stage, name: str, target: Any, *, who: MemberActor | None = None) -> InteractionResult:
    channel = stage.channel if target.channel.id == stage.channel.id else stage.place(target.channel.id)
    return await (who or stage.ada).context_menu(channel, name, target)


async def pin(stage: Stage, target: Any, *, who: MemberActor | None = None, **fields: Any) -> InteractionResult:
    opened = await menu(stage, "Pin to board", target, who=who)
    assert opened.modal is not None, opened.response
    return await (who or stage.ada).submit_modal(opened, fields)


def told(result: InteractionResult) -> str:
    assert result.response is not None
    assert result.response.ephemeral
    return result.response.content


def choices(opened: InteractionResult) -> list[str]:
    """Return what a form's select offers."""
    assert opened.modal is not None
    fields = [label["component"] for label in opened.modal["components"]]
    return [option["value"] for field in fields for option in field.get("options", ())]


async def fetched(stage: Stage, message_id: int, *, within: int | None = None) -> discord.Message:
    channel = stage.bot.get_channel(within or stage.channel.id)
    assert isinstance(channel, discord.TextChannel | discord.Thread)
    return await channel.fetch_message(message_id)


def lines(stage: Stage) -> list[str]:
    return [message.content for message in stage.ours()]


async def test_a_pin_by_the_menu_is_a_line_of_whoever_asked(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")

    result = await pin(stage, target, other="#limits", text="as measured")

    [line] = stage.ours()
    assert line.content == f"!pin ^{target.id} #limits as measured"
    assert line.flags.suppress_embeds
    assert line.flags.suppress_notifications
    assert told(result) == f"Pinned. [This line]({line.jump_url}) says so."
    board = text_of(await ask(stage, "pins"))
    assert "**#limits** · pinned by **ada**" in board
    assert "— as measured" in board


async def test_a_form_offers_the_labels_that_are_known_here_those_on_the_board_first(stage: Stage) -> None:
    first, second, third = history(stage, ["one", "two", "three"])
    await stage.ben.send(
        stage.channel, f"!pin ^{first} #old\n!unpin ^{first}\n!pin ^{second} #limits\n!pin ^{third} #ops"
    )
    await ask(stage, "pins")
    target = await stage.ben.send(stage.channel, "600 calls a minute")

    opened = await menu(stage, "Pin to board", target)

    assert choices(opened) == ["ops", "limits", "old"]
    await stage.ada.submit_modal(opened, {"choice": ["limits"]})
    assert lines(stage)[-1] == f"!pin ^{target.id} #limits"


async def test_another_label_counts_before_a_chosen_one(stage: Stage) -> None:
    await stage.ben.send(stage.channel, "!pin #ops")
    await ask(stage, "pins")
    target = await stage.ben.send(stage.channel, "600 calls a minute")

    await pin(stage, target, choice=["ops"], other="two words")

    assert lines(stage)[-1] == f"!pin ^{target.id} #two-words"


async def test_a_form_of_a_channel_that_nobody_asked_about_has_only_fields_and_makes_no_request(stage: Stage) -> None:
    [target] = history(stage, ["!pin #known"])
    message = await fetched(stage, target)
    stage.env.http_requests.clear()

    opened = await menu(stage, "Pin to board", message)

    assert choices(opened) == []
    assert [request.path.rpartition("/")[2] for request in stage.env.http_requests] == ["callback"]


async def test_a_form_waits_for_what_is_known_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FORM_PREFILL_SECONDS", 0.01)
    never = asyncio.Event()

    async def unreadable() -> bool:
        raise Unavailable("discord_down")

    assert await forms.known_in_time(never.wait(), otherwise=False) is False
    assert await forms.known_in_time(unreadable(), otherwise=False) is False
    never.set()
    assert await forms.known_in_time(never.wait(), otherwise=False) is True


async def test_unpin_takes_off_what_is_pinned_and_says_when_nothing_is(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    assert told(await menu(stage, "Unpin from board", target)).startswith("That message is not on the board here")
    assert lines(stage) == []
    await pin(stage, target)

    result = await menu(stage, "Unpin from board", target, who=stage.ben)

    assert told(result).startswith("Taken off the board.")
    assert lines(stage)[-1] == f"!unpin ^{target.id}"
    assert "**ben** [unpinned]" in text_of(await ask(stage, "pins", show="history"))
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))


async def test_the_menu_of_a_pin_line_takes_off_what_that_line_pinned(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    await pin(stage, target)
    [line] = stage.ours()
    two = await stage.ben.send(stage.channel, f"!pin\n!pin ^{target.id}")

    assert told(await menu(stage, "Unpin from board", line)).startswith("That message is not on the board here")
    assert told(await menu(stage, "Unpin from board", two)).startswith("Taken off the board.")
    assert lines(stage)[-1] == f"!unpin ^{two.id}"
    assert told(await menu(stage, "Unpin from board", two)).endswith("which this line had pinned.")
    assert lines(stage)[-1] == f"!unpin ^{target.id}"


async def test_menus_work_where_nothing_is_switched_on(stage: Stage) -> None:
    target = await stage.ben.send(stage.quiet, "600 calls a minute")
    opened = await stage.ada.context_menu(stage.quiet, "Pin to board", target)
    await stage.ada.submit_modal(opened, {})

    [line] = stage.ours(stage.quiet)
    assert line.content == f"!pin ^{target.id}"
    assert stage.reactions(line) == []


async def test_menus_work_in_an_age_restricted_channel(stage: Stage) -> None:
    backend = stage.env.backend
    backend.emit("CHANNEL_UPDATE", {**channel_payload(backend, backend.get_channel(stage.channel.id)), "nsfw": True})
    await stage.settle()
    target = await stage.ben.send(stage.channel, "600 calls a minute")

    assert told(await pin(stage, target)).startswith("Pinned.")
    assert told(await menu(stage, "Unpin from board", target)).startswith("Taken off")


async def test_a_message_that_is_deleted_while_the_form_is_open_is_not_pinned(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "soon gone")
    opened = await menu(stage, "Pin to board", target)
    await stage.ben.delete(target)

    result = await stage.ada.submit_modal(opened, {"text": "a note"})

    assert told(result) == "That message is gone, so no line about it was posted."
    assert lines(stage) == []


async def test_what_nobody_wrote_is_not_pinned(stage: Stage) -> None:
    notice = stage.guild.create_system_message(stage.channel, MessageType.NEW_MEMBER, author=stage.ben)
    await ask(stage, "pins", public=True)
    for target in (notice, stage.ours()[-1]):
        opened = await menu(stage, "Pin to board", target)
        assert opened.modal is None
        assert "Only what somebody wrote" in told(opened)


@pytest.mark.parametrize("name", ["Pin to board", "Unpin from board"])
async def test_no_line_is_posted_for_who_may_not_send(stage: Stage, name: str) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    await stage.ben.send(stage.channel, f"!pin ^{target.id}")
    forbid(stage, stage.ada.id, send_messages=False)

    assert told(await menu(stage, name, target)).startswith("You may not send messages here")

    forbid(stage, stage.ada.id)
    await stage.deny(stage.channel, send_messages=False)
    assert told(await menu(stage, name, target)).startswith("I may not send messages here")
    assert lines(stage) == []


async def test_no_line_is_posted_for_who_is_timed_out(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    opened = await menu(stage, "Pin to board", target)
    until = (stage.env.now() + dt.timedelta(hours=1)).isoformat()
    stage.env.backend.edit_member(stage.guild.id, stage.ada.id, {"timed_out_until": until})

    assert told(await stage.ada.submit_modal(opened, {})).startswith("You may not send messages here")


async def test_no_line_is_posted_for_who_may_not_read_what_it_is_about(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    forbid(stage, stage.ada.id, read_message_history=False)

    for name in ("Pin to board", "Unpin from board"):
        assert told(await menu(stage, name, target)).startswith("You may not read the history here")


async def test_the_first_message_of_a_post_is_pinned_in_its_post_and_shown_on_the_forums_board(stage: Stage) -> None:
    forum = stage.guild.create_forum_channel("help")
    thread, _starter = user_forum_post(stage.env, forum.id, stage.ben.id, "limits", "600 calls a minute")
    await stage.settle()
    post = stage.place(thread.id)

    assert told(await pin(stage, await fetched(stage, thread.id, within=thread.id), other="limits")).startswith(
        "Pinned."
    )

    assert quoted(await ask(stage, "pins", where=post)) == ["600 calls a minute"]
    assert quoted(await ask(stage, "pins", place=str(forum.id))) == ["600 calls a minute"]


@pytest.mark.parametrize(("locked", "sentence"), [(False, "This thread is archived"), (True, "This thread is locked")])
async def test_no_line_is_posted_into_a_closed_thread(stage: Stage, locked: bool, sentence: str) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "the limiter")
    await stage.settle()
    target = await stage.ben.send(stage.place(thread.id), "600 calls a minute")
    opened = await menu(stage, "Pin to board", target)
    archive(stage.env, thread.id, locked=locked)
    await stage.settle()

    assert told(await stage.ada.submit_modal(opened, {})).startswith(sentence)
    for name in ("Pin to board", "Unpin from board"):
        assert told(await menu(stage, name, target)).startswith(sentence)
    assert stage.ours(stage.place(thread.id)) == []


async def test_a_pin_in_a_thread_is_on_the_threads_board_and_on_its_channels(stage: Stage) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "the limiter")
    await stage.settle()
    inside = stage.place(thread.id)
    target = await stage.ben.send(inside, "600 calls a minute")

    assert told(await pin(stage, target, other="limits")).startswith("Pinned.")

    assert quoted(await ask(stage, "pins", where=inside)) == ["600 calls a minute"]
    assert quoted(await ask(stage, "pins")) == ["600 calls a minute"]
    assert told(await menu(stage, "Unpin from board", target, who=stage.ben)).startswith("Taken off")
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))


async def test_a_private_thread_is_a_board_of_its_own(stage: Stage) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "plans", private=True)
    stage.env.backend.add_thread_member(thread.id, stage.ada.id)
    await stage.settle()
    target = await stage.ada.send(stage.place(thread.id), "600 calls a minute")

    await pin(stage, target)

    assert quoted(await ask(stage, "pins", where=stage.place(thread.id))) == ["600 calls a minute"]
    assert quoted(await ask(stage, "pins")) == []


async def test_a4_a_note_with_a_newline_and_a_second_marker_stays_a_note(stage: Stage) -> None:
    kept = await stage.ben.send(stage.channel, "keep me")
    target = await stage.ben.send(stage.channel, "and me")
    await pin(stage, kept)

    await pin(stage, target, text=f"done\n!unpin ^{kept.id}\r\n!unpin ^{kept.id}")

    assert lines(stage)[-1] == f"!pin ^{target.id} done !unpin ^{kept.id} !unpin ^{kept.id}"
    assert quoted(await ask(stage, "pins")) == ["and me", "keep me"]


async def test_a2_a_note_that_mentions_everybody_pings_nobody(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")

    await pin(stage, target, text=f"@everyone @here <@{stage.ben.id}> <@&{stage.guild.id}>")

    [line] = stage.ours()
    assert not line.mentions
    assert not line.mention_everyone
    assert all(body["allowed_mentions"] == {"parse": []} for body in sent_by_bot(stage))
    assert line.content.endswith(f"@everyone @here @user-{stage.ben.id} @role-{stage.guild.id}")


async def test_slow_mode_holds_for_what_a_menu_posts(stage: Stage) -> None:
    stage.env.backend.edit_channel(stage.channel.id, {"rate_limit_per_user": 60})
    await stage.settle()
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    await pin(stage, target)

    assert "in slow mode" in told(await pin(stage, target, text="again"))
    assert len(lines(stage)) == 1


async def test_a_form_that_was_open_over_a_restart_still_pins(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    opened = await menu(stage, "Pin to board", target)
    await stage.restart()

    await stage.ada.submit_modal(opened, {"other": "limits"})

    assert lines(stage) == [f"!pin ^{target.id} #limits"]


async def test_a_line_is_attributed_from_history_alone_after_a_restart(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    await pin(stage, target, other="limits", who=stage.ben)
    await stage.restart()
    stage.env.http_requests.clear()

    assert "**#limits** · pinned by **ben**" in text_of(await ask(stage, "pins"))
    assert any(request.path.endswith("/messages") for request in stage.env.http_requests)


async def test_whatever_comes_too_late_is_one_line_in_the_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    target = await stage.ben.send(stage.channel, "secret words")
    opened = await menu(stage, "Pin to board", target)
    await stage.ben.send(stage.channel, f"!pin ^{target.id}")
    board = await ask(stage, "pins")
    stage.env.inject_error("POST", "/interactions/*/*/callback", status=404, code=10062, times=4)

    await menu(stage, "Pin to board", target)
    await menu(stage, "Unpin from board", target)
    await stage.ada.submit_modal(opened, {"text": "secret words"})
    await stage.ada.select(board.message, [str(target.id)], custom_id="recall:unpin")

    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage().partition(": ")[2] for record in warnings] == ["NotFound 404 10062"] * 4
    assert "secret" not in caplog.text
    assert all(record.exc_info is None for record in warnings)
    assert lines(stage) == []


async def test_a_line_that_discord_does_not_take_is_said_not_to_stand(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    target = await stage.ben.send(stage.channel, "secret words")
    opened = await menu(stage, "Pin to board", target)
    stage.env.inject_error("POST", "/webhooks/*/*", status=500, code=0, times=1)

    assert told(await stage.ada.submit_modal(opened, {})).startswith("Discord did not take the line")
    assert lines(stage) == []
    assert "secret" not in caplog.text
