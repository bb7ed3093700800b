"""The ways around a rule on pins: edits, deletions, repeating, other people's names, rights that are gone."""

from __future__ import annotations

import dataclasses
import json

import pytest
import simcord
from hypothesis import given
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.acknowledge import EFFECT_EMOJI
from recall_bot.pin_powers import policy_of
from recall_bot.queries import (
    MarkerRows,
    OpenDesk,
    PinAuthority,
    PinPolicy,
    PinsRequest,
    Powers,
    known_labels,
    needed_by_boards,
)
from recall_bot.sections import PinsConfig, Snowflake

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
from tests.rights import forbid
from tests.simcord_shims import user_thread
from tests.stage import set_stage
from tests.watched_folds import RowsLog


async def test_a_deleted_unpin_pins_again_and_a_refused_one_leaves_nothing_to_delete() -> None:
    said = lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"), (ADA, "!unpin ^10"))
    room = Room(PinPolicy("pinner"))
    assert (await room.board(*said))[0] == {}
    assert (await room.board(*said[:2]))[0] == (await room.board(*said[:1]))[0] == {10: ADA}


async def test_a_pin_over_the_bound_is_not_made_good_by_edits_and_waits_for_room() -> None:
    room = Room(PinPolicy(per_author=1))
    three_in_one = lines((ADA, "!pin ^10"), (ADA, "!pin ^11\n!pin ^12"))
    assert (await room.board(*three_in_one))[0] == {10: ADA}
    older_edited = [row(99, ADA, "!pin ^12"), *three_in_one]
    assert (await room.board(*older_edited))[0] == {12: ADA}
    first_gone = three_in_one[1:]
    assert (await room.board(*first_gone))[0] == {11: ADA}


async def test_taking_over_anothers_pin_counts_as_ones_own() -> None:
    room = Room(PinPolicy(per_author=1))
    said = lines((BEN, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!pin ^10"))
    assert (await room.board(*said))[0] == {10: BEN, 11: ADA}


async def test_a_webhook_is_its_id_and_takes_off_its_own_alone() -> None:
    room = Room(PinPolicy("pinner"))
    said = lines((ADA, "!pin ^10"), (HOOK, "!pin ^11"), (HOOK, "!unpin ^10"), (HOOK, "!unpin ^11"))
    assert await room.board(*said) == ({10: ADA}, ["pinned", "pinned", "refused", "unpinned"])


@pytest.mark.parametrize("is_member", [True, False])
async def test_who_opened_a_thread_and_left_the_server_owns_nothing_there(*, is_member: bool) -> None:
    async def powers_of(_author: str) -> Powers:
        return Powers(is_member=is_member)

    async def owner_of(_thread: int) -> str | None:
        return ADA

    said = [row(100, BEN, "!pin ^10", parent=THREAD), row(101, ADA, "!unpin ^10", parent=THREAD)]
    authority = PinAuthority(PinPolicy("pinner", thread_owner=True), powers_of, owner_of, lambda row: row.parent)
    desk = OpenDesk(log=RowsLog(said[::-1]), pin_authority=authority)
    assert len((await queries.pins(desk, PinsRequest())).pins) == (0 if is_member else 1)


@pytest.mark.parametrize(
    ("policy", "said", "why"),
    [
        (PinPolicy(by_role=True), [(BEN, "!pin ^10")], "no role"),
        (PinPolicy("pinner"), [(ADA, "!pin ^10"), (BEN, "!unpin ^10")], "not the pinner"),
        (PinPolicy("pinner"), [(ADA, "!pin ^10"), (BEN, "!pin ^10 #mine")], "not the pinner"),
        (PinPolicy("moderators"), [(ADA, "!pin ^10"), (ADA, "!unpin ^10")], "not a moderator"),
        (PinPolicy(per_author=1), [(ADA, "!pin ^10"), (ADA, "!pin ^11")], "too many"),
    ],
)
async def test_every_refusal_says_which_rule_it_was(policy: PinPolicy, said: list[tuple[str, str]], why: str) -> None:
    answer = await queries.pins(Room(policy).desk(*lines(*said)), PinsRequest())
    refused = [event.directive for event in answer.events if event.effect is recall.PinEffect.REFUSED]
    assert [str(answer.refused[directive]) for directive in refused] == [why]
    assert list(answer.refused) == refused


async def test_what_is_let_go_of_never_makes_room_for_a_pin_that_was_over_the_bound() -> None:
    said = lines((ADA, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!unpin ^10"))
    room = Room(PinPolicy(per_author=1))
    before = (await room.board(*said))[0]
    needed = needed_by_boards(said, {100, 101, 102}, narrowed=True)
    assert (await room.board(*(each for each in said if each.sequence in needed)))[0] == before == {}


@given(POLICIES, SAID, st.sampled_from((*AUTHORS, None)), st.integers(0, 10))
async def test_a_longer_log_judges_its_beginning_as_before(
    policy: PinPolicy, said: list[tuple[str, list[str], int | None]], owner: str | None, cut: int
) -> None:
    room = Room(policy, owner=owner, pinners=ADA)
    rows = log_of(said)
    whole = await queries.pins(room.desk(*rows), PinsRequest())
    part = await queries.pins(room.desk(*rows[:cut]), PinsRequest())
    assert whole.events[: len(part.events)] == part.events
    assert part.refused.items() <= whole.refused.items()


@given(POLICIES, SAID, st.sampled_from((*AUTHORS, None)))
async def test_nobody_gains_by_a_line_that_was_refused(
    policy: PinPolicy, said: list[tuple[str, list[str], int | None]], owner: str | None
) -> None:
    room = Room(policy, owner=owner, pinners=ADA)
    rows = log_of([(author, [marker], where) for author, markers, where in said for marker in markers])
    answer = await queries.pins(room.desk(*rows), PinsRequest())
    refused = {directive.sequence for directive in answer.refused}
    without = await queries.pins(room.desk(*(each for each in rows if each.sequence not in refused)), PinsRequest())
    assert without.pins == answer.pins
    assert without.refused == {}


def test_a_place_without_rules_of_its_own_narrows_nothing() -> None:
    assert not policy_of(PinsConfig()).narrows


async def test_the_owner_of_a_private_thread_takes_off_what_is_pinned_in_it(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators", thread_owner=True))
    thread = user_thread(env, stage.channel.id, stage.ada.id, "aside", private=True)
    for who in (stage.ben.id, env.backend.bot_user.id):
        env.backend.add_thread_member(thread.id, who)
    await stage.settle()
    inside = stage.place(thread.id)
    target = await stage.ben.send(inside, "the plan")
    await stage.ben.send(inside, f"!pin ^{target.id}")
    await stage.ben.send(inside, f"!unpin ^{target.id}")
    assert "the plan" in await board_of(stage, inside)
    await stage.ada.send(inside, f"!unpin ^{target.id}")
    assert "Nothing is pinned" in await board_of(stage, inside)


async def test_an_owner_takes_off_from_their_thread_what_stands_there_and_the_channel_knows(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators", thread_owner=True))
    thread = user_thread(env, stage.channel.id, stage.ada.id, "aside")
    await stage.settle()
    inside = stage.place(thread.id)
    target = await stage.ben.send(inside, "the plan")
    await stage.ben.send(inside, f"!pin ^{target.id}")
    await stage.ada.send(stage.channel, f"!unpin ^{target.id}")
    assert "the plan" in await board_of(stage)
    await stage.ada.send(inside, f"!unpin ^{target.id}")
    assert "Nothing is pinned" in await board_of(stage)


async def test_history_and_files_say_what_was_refused_and_why(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="pinner"))
    target = await stage.ada.send(stage.channel, "the plan")
    await stage.ada.send(stage.channel, f"!pin ^{target.id} #plan")
    await stage.ben.send(stage.channel, f"!unpin ^{target.id}")
    assert "(it is another's pin, and they are no moderator)" in text_of(await ask(stage, "pins", show="history"))

    exported = await ask(stage, "pins", show="export")
    markdown, wire = [await attachment.read() for attachment in exported.attachments]
    assert "was refused to unpin" in markdown.decode()
    assert "(it is another's pin, and they are no moderator)" in markdown.decode()
    history = json.loads(wire)["history"]
    assert [(event["effect"], event["why"]) for event in history] == [("refused", "not the pinner"), ("pinned", None)]


async def test_a_moderator_of_another_channel_is_none_here(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="moderators"))
    mod = moderator(stage)
    await stage.settle()
    target = await stage.ada.send(stage.channel, "the plan")
    await stage.ada.send(stage.channel, f"!pin ^{target.id}")
    await mod.send(stage.channel, f"!unpin ^{target.id}")
    assert "Nothing is pinned" in await board_of(stage)

    forbid(stage, mod.id, manage_messages=False)
    await env.advance_time(6)
    assert "the plan" in await board_of(stage)


async def test_a_role_that_may_pin_counts_for_as_long_as_it_is_held(env: simcord.Env) -> None:
    stage = await set_stage(env, rules())
    pinners = stage.guild.create_role("pinners")
    pinner = stage.guild.add_member(env.create_user("pia"), roles=[pinners])
    stage.config = rules(pin=frozenset({Snowflake(pinners.id)}))(stage.config)
    await stage.restart()
    webhook = stage.guild.create_webhook(stage.channel)
    target = await stage.ada.send(stage.channel, "the plan")
    theirs = await pinner.send(stage.channel, f"!pin ^{target.id} #held")
    refused = await stage.ada.send(stage.channel, f"!pin ^{target.id} #not-held")
    copied = await webhook.send(f"!pin ^{target.id} #copied", username="pia")
    assert [stage.reactions(line) for line in (theirs, refused, copied)] == [[EFFECT_EMOJI], [], []]
    assert "**#held** · pinned by **pia**" in await board_of(stage)
    history = text_of(await ask(stage, "pins", show="history"))
    assert history.count("(their roles do not pin here)") == 2

    env.backend.edit_member(stage.guild.id, pinner.id, {"role_ids": []})
    await env.advance_time(6)
    assert "Nothing is pinned" in await board_of(stage)


async def test_the_status_of_a_channel_names_the_rules_there(env: simcord.Env) -> None:
    stage = await set_stage(env, rules(unpin="pinner", per_author=3))
    status = text_of(await ask(stage, "recall status"))
    assert "**Pins:** The rules here: a pin is taken off by whoever pinned it, or by a moderator; one author" in status


async def test_whoever_edits_an_older_message_into_a_pin_has_pinned_first() -> None:
    room = Room(PinPolicy("pinner"))
    said = [row(99, BEN, "!pin ^10"), *lines((ADA, "!pin ^10"), (BEN, "!unpin ^10"))]
    assert await room.board(*said) == ({}, ["pinned", "refused", "unpinned"])
    assert (await Room(PinPolicy("moderators")).board(*said))[0] == {10: BEN}


async def test_a_refused_pin_suggests_no_label() -> None:
    said = lines((ADA, "!pin ^10 #plan"), (BEN, "!pin ^10 #mine"), (BEN, "!pin ^11 #other"))

    async def markers(_before: int, _limit: int) -> MarkerRows:
        return MarkerRows(tuple(said[::-1]), 0)

    desk = dataclasses.replace(Room(PinPolicy("pinner")).desk(*said), markers=markers)
    assert await known_labels(desk) == ("other", "plan")
    assert await known_labels(dataclasses.replace(desk, pin_authority=None)) == ("other", "mine", "plan")


async def test_pinning_the_same_again_at_the_bound_changes_it_and_takes_no_more_room() -> None:
    said = lines((ADA, "!pin ^10"), (ADA, "!pin ^11"), (ADA, "!pin ^10 #again"), (ADA, "!pin ^12"))
    room = Room(PinPolicy(per_author=2))
    assert await room.board(*said) == ({10: ADA, 11: ADA}, ["pinned", "pinned", "pinned", "refused"])
    assert await room.board(*said, *lines((ADA, "!unpin ^10\n!pin ^12"), first=110)) == (
        {11: ADA, 12: ADA},
        ["pinned", "pinned", "pinned", "refused", "unpinned", "pinned"],
    )


def told_apart(
    policy: PinPolicy, said: list[tuple[str, list[str], int | None]], owner: str | None
) -> list[tuple[str, bool]]:
    """State the rules anew, plainly: of each line, whose it is and whether it counts. Ada's role may pin."""
    live: dict[str, tuple[str, int | None]] = {}
    verdicts = []
    for author, thread, line in ((author, thread, line) for author, markers, thread in said for line in markers):
        word, target = line.split()
        pinner, stood_in = live.get(target, (None, thread))
        moderates = author == MOD or (
            policy.thread_owner and author == owner and thread is not None and stood_in == thread
        )
        others = [pin for pin, (held_by, _) in live.items() if held_by == author and pin != target]
        wrong = [
            word == "!pin" and policy.by_role and author != ADA and not moderates,
            word == "!pin" and policy.per_author > 0 and len(others) >= policy.per_author,
            policy.unpin != "anyone" and pinner not in {None, author} and not moderates,
            policy.unpin == "moderators" and pinner == author and word == "!unpin" and not moderates,
        ]
        verdicts.append((author, not any(wrong)))
        if not any(wrong):
            live.pop(target, None)
            if word == "!pin":
                live[target] = (author, thread)
    return verdicts


@given(POLICIES, SAID, st.sampled_from((*AUTHORS, None)))
async def test_the_rules_are_these_and_no_others(
    policy: PinPolicy, said: list[tuple[str, list[str], int | None]], owner: str | None
) -> None:
    answer = await queries.pins(Room(policy, owner=owner, pinners=ADA).desk(*log_of(said)), PinsRequest())
    judged = [
        (recall.author_id(event.directive.author), event.effect is not recall.PinEffect.REFUSED)
        for event in answer.events
    ]
    assert judged == told_apart(policy, said, owner)
