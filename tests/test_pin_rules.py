"""Who pins and who takes off, under each rule, with the ways around it."""

from __future__ import annotations

from typing import Any

import pytest
import simcord
from hypothesis import given
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.acknowledge import EFFECT_EMOJI
from recall_bot.queries import AUTHORS_ASKED, PinPolicy, PinsRequest, needed_by_boards
from recall_bot.sections import Snowflake

import recall
from tests.asking import ask, text_of
from tests.pin_rooms import (
    ADA,
    AUTHORS,
    BEN,
    HOOK,
    MOD,
    POLICIES,
    SAID,
    THREAD,
    Room,
    board_of,
    lines,
    log_of,
    moderator,
    row,
    rules,
)
from tests.simcord_shims import user_forum_post, user_thread
from tests.stage import set_stage


async def test_by_default_everybody_pins_and_takes_off_and_nobody_is_asked_for() -> None:
    room = Room(PinPolicy())
    assert await room.board(*lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"))) == ({}, ["pinned", "unpinned"])
    assert room.asked == []


async def test_the_pinner_and_a_moderator_take_off_and_nobody_else() -> None:
    room = Room(PinPolicy("pinner"))
    said = lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"), (ADA, "!pin ^11"), (ADA, "!unpin ^11"), (MOD, "!unpin ^10"))
    assert await room.board(*said[:2]) == ({10: ADA}, ["pinned", "refused"])
    assert await room.board(*said) == ({}, ["pinned", "refused", "pinned", "unpinned", "unpinned"])
    assert ADA not in room.asked


async def test_nobody_becomes_the_pinner_by_pinning_again() -> None:
    said = lines((ADA, "!pin ^10 #a"), (BEN, "!pin ^10 #b"), (BEN, "!unpin ^10"))
    for rule in ("pinner", "moderators"):
        assert await Room(PinPolicy(rule)).board(*said) == ({10: ADA}, ["pinned", "refused", "refused"])


async def test_under_the_moderators_rule_a_pinner_may_pin_again_and_not_take_off() -> None:
    said = lines((ADA, "!pin ^10 #a"), (ADA, "!pin ^10 #b"), (ADA, "!unpin ^10"))
    assert await Room(PinPolicy("moderators")).board(*said) == ({10: ADA}, ["pinned", "pinned", "refused"])
    taken = [*said, *lines((MOD, "!unpin ^10"), (BEN, "!pin ^10"), first=110)]
    assert (await Room(PinPolicy("moderators")).board(*taken))[0] == {10: BEN}


async def test_an_unpin_of_what_is_not_pinned_is_nothing_to_anybody() -> None:
    room = Room(PinPolicy("moderators"))
    assert await room.board(*lines((BEN, "!unpin ^10"))) == ({}, ["nothing"])
    assert room.asked == []


async def test_an_edit_into_an_unpin_is_judged_as_any_unpin() -> None:
    before = lines((BEN, "a word"), (ADA, "!pin ^10"), first=100)
    edited = [*before, row(102, BEN, "!unpin ^10")]
    assert (await Room(PinPolicy("pinner")).board(*edited))[0] == {10: ADA}


async def test_only_roles_that_may_pin_do_so_and_moderators() -> None:
    said = lines((ADA, "!pin ^10"), (BEN, "!pin ^11"), (MOD, "!pin ^12"), (HOOK, "!pin ^13"))
    room = Room(PinPolicy(by_role=True), pinners=ADA)
    assert await room.board(*said) == ({12: MOD, 10: ADA}, ["pinned", "refused", "pinned", "refused"])


async def test_whoever_may_not_pin_still_takes_off_where_everybody_may() -> None:
    said = lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"))
    assert (await Room(PinPolicy(by_role=True), pinners=ADA).board(*said))[0] == {}


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([(ADA, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!pin ^12")], {10: ADA, 11: ADA}),
        ([(ADA, "!pin ^10\n!pin ^11\n!pin ^12")], {10: ADA, 11: ADA}),  # as many in one message
        ([(ADA, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!pin ^10 #again")], {10: ADA, 11: ADA}),
        ([(ADA, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!unpin ^10"), (ADA, "!pin ^12")], {11: ADA, 12: ADA}),
        ([(ADA, "!pin ^10"), (ADA, "!pin ^11"), (BEN, "!pin ^10"), (ADA, "!pin ^12")], {10: BEN, 11: ADA, 12: ADA}),
        ([(ADA, "!pin ^10"), (ADA, "!pin ^11"), (BEN, "!pin ^12"), (ADA, "!pin ^12")], {10: ADA, 11: ADA, 12: BEN}),
    ],
)
async def test_an_author_has_as_many_live_pins_as_one_may_have(said: Any, left: dict[int, str]) -> None:
    assert (await Room(PinPolicy(per_author=2)).board(*lines(*said)))[0] == left


async def test_who_opened_a_thread_moderates_what_is_pinned_there_from_there_and_nothing_else() -> None:
    rules = PinPolicy("moderators", thread_owner=True)
    inside = row(100, BEN, "!pin ^10", parent=THREAD)
    outside = row(101, BEN, "!pin ^11")
    said = (
        inside,
        outside,
        row(110, ADA, "!unpin ^10\n!unpin ^11", parent=THREAD),
        row(111, ADA, "!unpin ^11"),
    )
    assert (await Room(rules, owner=ADA).board(*said))[0] == {11: BEN}
    assert (await Room(rules, owner=BEN).board(*said))[0] == {10: BEN, 11: BEN}
    assert (await Room(rules, owner=None).board(*said))[0] == {10: BEN, 11: BEN}
    assert (await Room(rules, owner=ADA).board(inside, row(110, ADA, "!unpin ^10")))[0] == {10: BEN}
    without = PinPolicy("moderators")
    assert (await Room(without, owner=ADA).board(*said))[0] == {10: BEN, 11: BEN}


async def test_no_more_than_so_many_are_asked_for_those_who_decided_last_first() -> None:
    said = [row(100, "9", "!pin ^10")]
    said += [row(200 + number, str(1_000 + number), "!unpin ^10") for number in range(2 * AUTHORS_ASKED)]
    room = Room(PinPolicy("pinner"))
    answer = await queries.pins(room.desk(*said), PinsRequest())
    assert len(room.asked) == AUTHORS_ASKED
    assert room.asked[0] == str(1_000 + 2 * AUTHORS_ASKED - 1)
    assert answer.rights.unasked == AUTHORS_ASKED
    assert [pin.sequence for pin in answer.pins] == [10]


async def test_what_was_pinned_stays_stored_where_not_everybody_may_take_it_off() -> None:
    said = [row(10, ADA, "the plan"), *lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"))]
    old = {each.sequence for each in said}
    assert needed_by_boards(said, old) == frozenset()
    assert needed_by_boards(said, old, narrowed=True) == {10, 100, 101}


# properties


@given(POLICIES, SAID, st.sampled_from((*AUTHORS, None)))
async def test_whatever_the_rules_the_board_is_what_was_not_refused(
    policy: PinPolicy, said: list[tuple[str, list[str], int | None]], owner: str | None
) -> None:
    rows = log_of(said)
    answer = await queries.pins(Room(policy, owner=owner, pinners=ADA).desk(*rows), PinsRequest())
    again = await queries.pins(Room(policy, owner=owner, pinners=ADA).desk(*rows), PinsRequest())
    assert answer.pins == again.pins
    live: dict[int, str] = {}
    for event in answer.events:
        directive, author = event.directive, recall.author_id(event.directive.author)
        if event.effect is recall.PinEffect.REFUSED:
            assert policy.narrows
            continue
        before = live.pop(directive.target, None)
        if directive.action is recall.PinAction.PIN:
            live[directive.target] = author
        if before not in {None, author} and policy.unpin != "anyone":
            assert author == MOD or (policy.thread_owner and author == owner)
        if policy.per_author:
            assert list(live.values()).count(author) <= policy.per_author or author == before
    assert {pin.sequence: recall.author_id(pin.pinned_by) for pin in answer.pins} == live


@given(SAID)
async def test_where_everybody_may_the_board_is_that_of_no_rule(said: list[tuple[str, list[str], int | None]]) -> None:
    rows = log_of(said)
    ruled = await queries.pins(Room(PinPolicy(thread_owner=True)).desk(*rows), PinsRequest())
    assert ruled.pins == recall.fold_pins(rows, len(rows) * 3, dialect="discord")


# in the room


async def test_a_moderator_who_is_none_any_more_has_taken_nothing_off(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators"))
    target = await stage.ada.send(stage.channel, "the plan")
    await stage.ada.send(stage.channel, f"!pin ^{target.id}")
    mod = moderator(stage)
    await stage.settle()
    await mod.send(stage.channel, f"!unpin ^{target.id}")
    assert "Nothing is pinned" in await board_of(stage)

    env.backend.edit_member(stage.guild.id, mod.id, {"role_ids": []})
    await env.advance_time(6)
    shown = await board_of(stage)
    assert "the plan" in shown
    assert "The rules here: a pin is taken off by a moderator." in shown


async def test_a_moderator_who_left_is_a_plain_member_and_so_is_a_webhook_of_their_name(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="pinner"))
    target = await stage.ada.send(stage.channel, "the plan")
    await stage.ada.send(stage.channel, f"!pin ^{target.id}")
    webhook = stage.guild.create_webhook(stage.channel)
    await webhook.send(f"!unpin ^{target.id}", username="ada")
    mod = moderator(stage)
    await mod.send(stage.channel, f"!unpin ^{target.id}")
    env.backend.remove_member(stage.guild.id, mod.id)
    await env.advance_time(6)

    assert "the plan" in await board_of(stage)
    history = text_of(await ask(stage, "pins", show="history"))
    assert history.count("was refused to unpin") == 2


async def test_the_owner_of_a_post_takes_off_what_is_pinned_in_it(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators", thread_owner=True))
    forum = stage.guild.create_forum_channel("ideas")
    thread, starter = user_forum_post(env, forum.id, stage.ada.id, "one", "!pin #first the idea")
    await stage.settle()
    post = next(handle for handle in forum.threads if handle.id == thread.id)
    assert "the idea" in await board_of(stage, post)
    await stage.ben.send(post, f"!unpin ^{starter.id}")
    assert "the idea" in await board_of(stage, post)
    await stage.ada.send(post, f"!unpin ^{starter.id}")
    assert "Nothing is pinned" in await board_of(stage, post)


async def test_the_owner_of_a_thread_is_nobody_in_the_channel(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators", thread_owner=True))
    thread = user_thread(env, stage.channel.id, stage.ada.id, "aside")
    inside = next(handle for handle in stage.channel.threads if handle.id == thread.id)
    target = await stage.ben.send(stage.channel, "the plan")
    await stage.ben.send(stage.channel, f"!pin ^{target.id}")
    await stage.ada.send(inside, f"!unpin ^{target.id}")
    assert "the plan" in await board_of(stage)


async def test_roles_that_may_pin_are_those_of_this_moment(env: simcord.Env) -> None:
    chosen: list[Snowflake] = [Snowflake(1)]
    stage = await set_stage(env, rules(pin=frozenset(chosen)))
    assert stage.config.pins.pin == {1}
    target = await stage.ada.send(stage.channel, "the plan")
    said = await stage.ada.send(stage.channel, f"!pin ^{target.id}")
    assert stage.reactions(said) == []
    assert "Nothing is pinned" in await board_of(stage)


async def test_a_marker_is_acknowledged_where_its_author_may_whatever_is_pinned(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="pinner"))
    mod = moderator(stage)
    await stage.settle()
    plain = await stage.ada.send(stage.channel, "!pin")
    off = await stage.ada.send(stage.channel, f"!unpin ^{plain.id}")
    moderated = await mod.send(stage.channel, f"!unpin ^{plain.id}")
    assert [stage.reactions(said) for said in (plain, off, moderated)] == [[], [], [EFFECT_EMOJI]]
