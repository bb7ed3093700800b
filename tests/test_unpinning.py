from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.config import Config
from recall_bot.unpinning import ALREADY_OFF, press
from simcord.actors import MemberActor
from simcord.results import InteractionResult, ResponseMessage

from tests.asking import answer_of, ask, buttons, configured, history, quoted, text_of
from tests.rights import forbid
from tests.simcord_shims import user_thread
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


def unmirrored(config: Config) -> Config:
    return msgspec.structs.replace(config, mirror=msgspec.structs.replace(config.mirror, enabled=False))


async def pinned(stage: Stage, *texts: str) -> list[int]:
    targets = history(stage, list(texts))
    for target in targets:
        await stage.ben.send(stage.channel, f"!pin ^{target} #limits")
    return targets


def offered(answer: ResponseMessage) -> dict[str, dict[str, Any]]:
    """Return what the select under a board offers, by value."""
    found = [part for row in answer.components for part in row["components"] if part.get("options")]
    return {option["value"]: option for part in found for option in part["options"]}


async def unpin(
    stage: Stage, board: ResponseMessage, target: int, *, who: MemberActor | None = None
) -> InteractionResult:
    return await (who or stage.ada).select(board.message, [str(target)], custom_id="recall:unpin")


def lines(stage: Stage) -> list[str]:
    return [message.content for message in stage.ours() if message.content]


async def test_a_board_offers_the_pins_of_its_page_and_is_shown_anew_without_the_one_taken_off(stage: Stage) -> None:
    first, second = await pinned(stage, "600 calls a minute", "||the ending||")
    board = await ask(stage, "pins")
    assert [(o["label"], o.get("description")) for o in offered(board).values()] == [
        ("1 · #limits · pinned by ben", "(hidden by a spoiler)"),
        ("2 · #limits · pinned by ben", "600 calls a minute"),
    ]

    result = await unpin(stage, board, first)

    assert lines(stage) == [f"!unpin ^{first}"]
    assert not result.followups[1:]
    shown = answer_of(result)
    assert list(offered(shown)) == [str(second)]
    assert "1 pin" in text_of(shown)
    assert "**ada** [unpinned]" in text_of(await ask(stage, "pins", show="history"))


async def test_the_last_pin_taken_off_leaves_an_empty_board_without_a_select(stage: Stage) -> None:
    [target] = await pinned(stage, "600 calls a minute")
    shown = answer_of(await unpin(stage, await ask(stage, "pins"), target))
    assert "Nothing is pinned" in text_of(shown)
    assert offered(shown) == {}


async def test_whoever_is_second_is_told_so_and_sees_the_board_as_it_is(stage: Stage) -> None:
    first, _second = await pinned(stage, "one", "two")
    mine, theirs = await ask(stage, "pins"), await ask(stage, "pins", who=stage.ben)
    await unpin(stage, mine, first)

    result = await unpin(stage, theirs, first, who=stage.ben)

    assert result.followups[-1].content == ALREADY_OFF
    assert result.followups[-1].ephemeral
    assert quoted(answer_of(result)) == ["two"]
    assert lines(stage) == [f"!unpin ^{first}"]


async def pressed_at_once(
    stage: Stage, board: ResponseMessage, presses: list[tuple[MemberActor, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let several people use a select at the same time, which the people of simcord cannot."""
    kept: list[tuple[Any, list[str]]] = []

    async def keep(interaction: Any, _services: Any, chosen: list[str]) -> None:
        kept.append((interaction, chosen))

    monkeypatch.setattr("recall_bot.unpinning.press", keep)
    for who, target in presses:
        await unpin(stage, board, target, who=who)
    await asyncio.gather(*(press(interaction, stage.cog.services, chosen) for interaction, chosen in kept))
    await stage.settle()


async def test_of_two_at_the_very_same_time_one_posts_a_line(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _second = await pinned(stage, "one", "two")
    board = await ask(stage, "pins", public=True)

    await pressed_at_once(stage, board, [(stage.ada, first), (stage.ben, first)], monkeypatch)

    assert lines(stage) == [f"!unpin ^{first}"]
    assert quoted(await ask(stage, "pins")) == ["two"]


@pytest.mark.parametrize("seed", range(4))
async def test_however_people_unpin_at_once_the_board_is_right_and_no_line_is_in_vain(
    stage: Stage, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    texts = ["one", "two", "three"]
    targets = await pinned(stage, *texts)
    board = await ask(stage, "pins", public=True)
    people = [stage.ada, stage.ben, *(stage.guild.add_member(stage.env.create_user(name)) for name in ("cat", "dan"))]
    chosen = [(who, chance.choice(targets)) for who in people]

    await pressed_at_once(stage, board, chosen, monkeypatch)

    off = {target for _, target in chosen}
    assert sorted(lines(stage)) == sorted(f"!unpin ^{target}" for target in off)
    left = [text for text, target in zip(texts, targets, strict=True) if target not in off]
    assert quoted(await ask(stage, "pins")) == left[::-1]
    assert "to no effect" not in text_of(await ask(stage, "pins", show="history"))


async def test_under_a_public_board_everybody_is_judged_on_their_own_rights(stage: Stage) -> None:
    first, _second = await pinned(stage, "one", "two")
    board = await ask(stage, "pins", public=True)
    forbid(stage, stage.ada.id, send_messages=False)

    refused = await unpin(stage, board, first)
    assert refused.followups[-1].content.startswith("You may not send messages here")
    assert quoted(board) == ["two", "one"]
    allowed = await unpin(stage, board, first, who=stage.ben)

    assert lines(stage) == [f"!unpin ^{first}"]
    assert quoted(answer_of(allowed)) == ["two"]
    assert "**ben** [unpinned]" in text_of(await ask(stage, "pins", show="history"))


async def test_pages_of_a_public_board_stay_those_of_whoever_asked_after_somebody_else_took_a_pin_off(
    stage: Stage,
) -> None:
    targets = await pinned(stage, *(f"target {number}." for number in range(14)))
    board = await ask(stage, "pins", public=True)

    shown = answer_of(await unpin(stage, board, targets[-1], who=stage.ben))

    assert buttons(shown)["Next"]
    refused = await stage.ben.click(shown.message, label="Next")
    assert "Only whoever asked" in answer_of(refused).content
    assert quoted(answer_of(await stage.ada.click(shown.message, label="Next"))) == ["target 0."]


async def test_a_board_of_another_place_and_one_for_who_may_not_write_offer_nothing(stage: Stage) -> None:
    await pinned(stage, "one")
    assert offered(await ask(stage, "pins", where=stage.quiet, place=str(stage.channel.id))) == {}
    assert offered(await ask(stage, "pins", show="history")) == {}
    assert offered(await ask(stage, "pins")) != {}
    forbid(stage, stage.ada.id, send_messages=False)
    assert offered(await ask(stage, "pins")) == {}
    forbid(stage, stage.ada.id)
    await stage.deny(stage.channel, send_messages=False)
    assert offered(await ask(stage, "pins")) == {}


async def test_a_select_works_on_after_a_restart(stage: Stage) -> None:
    first, _second = await pinned(stage, "one", "two")
    board = await ask(stage, "pins")
    await stage.restart()

    shown = answer_of(await unpin(stage, board, first))

    assert quoted(shown) == ["two"]
    assert lines(stage) == [f"!unpin ^{first}"]


async def test_a_board_that_cannot_be_read_any_more_posts_nothing(stage: Stage) -> None:
    [target] = await pinned(stage, "one")
    board = await ask(stage, "pins", public=True)
    stored = stage.env.backend.get_message(stage.channel.id, board.id)
    stored.embeds[0]["url"] = "https://discord.com/channels/1/2?recall=AAAA"

    result = await unpin(stage, board, target)

    assert "ask again" in answer_of(result).content
    assert lines(stage) == []


async def test_without_a_mirror_the_board_shown_anew_knows_of_its_line(env: simcord.Env) -> None:
    stage = await set_stage(env, unmirrored)
    first, _second = await pinned(stage, "one", "two")

    assert quoted(answer_of(await unpin(stage, await ask(stage, "pins"), first))) == ["two"]


async def test_a_threads_board_takes_off_what_the_thread_pinned(stage: Stage) -> None:
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "the limiter")
    await stage.settle()
    inside = stage.place(thread.id)
    target = await stage.ben.send(inside, "600 calls a minute")
    await stage.ben.send(inside, f"!pin ^{target.id}")

    shown = answer_of(await unpin(stage, await ask(stage, "pins", where=inside), target.id))

    assert "Nothing is pinned" in text_of(shown)
    assert [message.content for message in stage.ours(inside)] == [f"!unpin ^{target.id}"]


def the_pinners_rule(config: Config) -> Config:
    """Let only who pinned a message take it off, or pin it again."""
    changed: Config = configured()(config)
    return msgspec.structs.replace(changed, pins=msgspec.structs.replace(changed.pins, unpin="pinner"))


async def test_a_select_offers_what_the_rule_lets_its_asker_take_off(env: simcord.Env) -> None:
    stage = await set_stage(env, the_pinners_rule)
    theirs, mine = await pinned(stage, "theirs", "mine")
    await stage.ben.send(stage.channel, f"!unpin ^{mine}")
    await stage.ada.send(stage.channel, f"!pin ^{mine}")

    assert list(offered(await ask(stage, "pins"))) == [str(mine)]
    assert list(offered(await ask(stage, "pins", who=stage.ben))) == [str(theirs)]
    public = await ask(stage, "pins", public=True)
    assert list(offered(public)) == [str(mine), str(theirs)]

    refused = await unpin(stage, public, theirs)
    assert refused.followups[-1].content.startswith("The rules here do not let you take that pin off")
    assert lines(stage) == []
    await unpin(stage, public, mine)
    assert lines(stage) == [f"!unpin ^{mine}"]


async def test_menus_post_no_line_that_the_rule_would_refuse(env: simcord.Env) -> None:
    stage = await set_stage(env, the_pinners_rule)
    target = await stage.ben.send(stage.channel, "600 calls a minute")
    await stage.ben.send(stage.channel, f"!pin ^{target.id}")

    opened = await stage.ada.context_menu(stage.channel, "Pin to board", target)
    again = await stage.ada.submit_modal(opened, {})
    off = await stage.ada.context_menu(stage.channel, "Unpin from board", target)

    assert answer_of(again).content == "The rules here do not let you pin that message."
    assert answer_of(off).content.startswith("The rules here do not let you take that pin off")
    assert lines(stage) == []
    await stage.ben.context_menu(stage.channel, "Unpin from board", target)
    assert lines(stage) == [f"!unpin ^{target.id}"]
