"""A search of all that somebody may read: one log, newest first, with nothing else in it."""

from __future__ import annotations

import discord
import msgspec
import pytest
import simcord
from recall_bot.config import Config
from recall_bot.desks import PublicElsewhere
from recall_bot.everywhere import SEARCH_CHANNELS
from recall_bot.queries import OpenDesk
from simcord.actors import MemberActor

import recall
from tests.asking import answer_of, ask, buttons, configured, history, quoted, text_of
from tests.simcord_shims import archive, user_thread
from tests.stage import Stage, set_stage
from tests.workshop import Workshop, open_workshop


@pytest.fixture
async def workshop(env: simcord.Env) -> Workshop:
    return await open_workshop(env)


async def everywhere(workshop: Workshop, who: MemberActor | None = None, here: int | None = None) -> OpenDesk:
    return await workshop.desks.open_everywhere(await workshop.asker(who or workshop.ada, here))


async def contents(desk: OpenDesk, scan: int = 2048) -> list[str]:
    walk = await recall.walk_log(desk.log, scan=scan)
    assert desk.may_show is not None
    return [row.content for row in walk.rows if row.content and await desk.may_show(row)]


async def test_all_that_both_may_read_is_one_log_newest_first(workshop: Workshop) -> None:
    side = workshop.guild.create_text_channel("side")
    forum = workshop.guild.create_forum_channel("help")
    workshop.write(workshop.general.id, "one")
    await workshop.post(forum.id, "a question", "two")
    thread = await workshop.thread("aside")
    await workshop.post_in(thread, "three")
    workshop.write(workshop.mods.id, "secret", who=workshop.ben)
    await workshop.post_in(side.id, "four")
    archive(workshop.env, thread)
    await workshop.post_in(workshop.general.id, "five")
    await workshop.settle()

    assert await contents(await everywhere(workshop)) == ["five", "four", "three", "two", "one"]
    assert "secret" in await contents(await everywhere(workshop, workshop.ben))


async def test_where_a_walk_ended_the_next_one_goes_on(workshop: Workshop) -> None:
    side = workshop.guild.create_text_channel("side")
    await workshop.settle()
    for number in range(30):
        workshop.write(workshop.general.id if number % 3 else side.id, str(number))
    desk = await everywhere(workshop)

    found: list[str] = []
    before = None
    while True:
        walk = await recall.walk_log(desk.log, scan=7, before=before)
        found += [row.content for row in walk.rows]
        if walk.coverage.beginning:
            break
        before = walk.coverage.oldest
    assert found == [str(number) for number in reversed(range(30))]


async def test_a_channel_that_has_nothing_new_enough_is_not_read(workshop: Workshop) -> None:
    quiet = [workshop.guild.create_voice_channel(f"quiet {number}") for number in range(10)]
    await workshop.settle()
    for channel in quiet:
        await workshop.post_in(channel.id, "long ago")
    for _ in range(3):
        await workshop.post_in(workshop.general.id, *["now"] * 100)
    workshop.requests()

    assert set(await contents(await everywhere(workshop), scan=200)) == {"now"}
    read = {line.split("/")[2] for line in workshop.requests("/messages")}
    assert not read & {str(channel.id) for channel in quiet[:-SEARCH_CHANNELS]}


async def test_private_threads_are_read_by_their_members_alone(workshop: Workshop) -> None:
    thread = await workshop.thread("cabal", private=True)
    await workshop.post_in(thread, "between us")

    assert await contents(await everywhere(workshop)) == ["between us"]
    env = workshop.env
    stranger = workshop.guild.add_member(env.create_user("eve"))
    workshop.requests()
    assert await contents(await everywhere(workshop, stranger)) == []
    assert workshop.requests(f"/channels/{thread}/messages") == []


async def test_age_restricted_channels_are_read_only_from_age_restricted_ones(workshop: Workshop) -> None:
    adult = workshop.guild.create_text_channel("adult")
    workshop.write(adult.id, "not for everybody")
    await workshop.restrict(adult.id)

    assert await contents(await everywhere(workshop)) == []
    assert await contents(await everywhere(workshop, here=adult.id)) == ["not for everybody"]


async def test_a_right_that_is_lost_while_it_is_read_hides_that_channel_and_no_other(workshop: Workshop) -> None:
    side = workshop.guild.create_text_channel("side")
    workshop.write(workshop.general.id, "one")
    workshop.write(side.id, "two")
    desk = await everywhere(workshop)
    walk = await recall.walk_log(desk.log, scan=10)
    await workshop.deny(workshop.ada.id, side.id, view_channel=False)
    assert desk.may_show is not None
    assert [row.content for row in walk.rows if await desk.may_show(row)] == ["one"]


async def test_a_channel_that_the_bot_may_not_read_is_no_part_of_it(workshop: Workshop) -> None:
    side = workshop.guild.create_text_channel("side")
    workshop.write(workshop.general.id, "one")
    workshop.write(side.id, "two")
    await workshop.settle()
    await workshop.deny_bot(side.id, read_message_history=False)
    desk = await everywhere(workshop)
    assert await contents(desk) == ["one"]
    assert desk.left_out == []


async def test_a_public_answer_is_never_about_everything(workshop: Workshop) -> None:
    asker = await workshop.asker(workshop.ada)
    with pytest.raises(PublicElsewhere):
        await workshop.desks.open_everywhere(asker, public=True)


# the command


async def test_the_command_searches_everywhere_and_says_where_each_hit_stands(env: simcord.Env) -> None:
    stage = await set_stage(env, configured())
    hidden = stage.guild.create_text_channel(
        "hidden", overwrites={stage.guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    )
    [one] = history(stage, ["a needle here"])
    history(stage, ["a needle there"], stage.quiet)
    env.backend.create_message(hidden.id, stage.ben.id, "a needle nowhere")
    thread = user_thread(env, stage.channel.id, stage.ada.id, "aside")
    env.backend.create_message(thread.id, stage.ada.id, "a needle aside")
    await stage.settle()

    answer = await ask(stage, "search", query="needle", place="Everywhere", sort="newest")

    assert quoted(answer) == ["a needle aside", "a needle there", "a needle here"]
    shown = text_of(answer)
    assert "In every channel that you can read, newest first." in shown.replace("**", "")
    assert f"<#{stage.quiet.id}>" in shown
    assert f"<#{thread.id}>" in shown
    assert f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/{one}" in shown
    assert "I looked at all 4 messages" in shown  # three, and one that says that a thread was made
    refused = await ask(stage, "search", query="needle", place="everywhere", public=True)
    assert "A public answer can only be about the channel it stands in" in text_of(refused)


async def test_older_goes_on_everywhere_after_a_restart(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(scan=20))
    history(stage, ["needle one", *["hay"] * 15])
    history(stage, ["needle two", *["hay"] * 15], stage.quiet)

    answer = await ask(stage, "search", query="needle", place="everywhere")
    assert quoted(answer) == []
    assert buttons(answer)["Older"]
    await stage.restart()
    assert quoted(answer_of(await stage.ada.click(answer, label="Older"))) == ["needle two", "needle one"]


async def test_everywhere_is_offered_while_somebody_types(stage: Stage) -> None:
    for typed in ("", "eve", "Every"):
        first = (await stage.ada.autocomplete(stage.channel, "search", "in", typed, query="x"))[0]
        assert (first["name"], first["value"]) == ("everywhere", "everywhere")
    assert "everywhere" not in [c["value"] for c in await stage.ada.autocomplete(stage.channel, "pins", "in", "")]


async def test_a_channel_of_that_name_is_reached_by_its_mention(env: simcord.Env) -> None:
    stage = await set_stage(env, configured())
    named = stage.guild.create_text_channel("everywhere")
    history(stage, ["a needle"], named)
    history(stage, ["a needle too"])
    await stage.settle()
    for text in (f"<#{named.id}>", str(named.id), "#everywhere"):
        assert quoted(await ask(stage, "search", query="needle", place=text)) == ["a needle"]


async def test_over_a_mirror_it_costs_no_request(env: simcord.Env) -> None:
    def mirrored(config: Config) -> Config:
        free: Config = configured()(config)
        return msgspec.structs.replace(free, mirror=msgspec.structs.replace(free.mirror, path=":memory:"))

    stage = await set_stage(env, mirrored)
    history(stage, ["a needle"], stage.quiet)
    await ask(stage, "search", query="needle", place="everywhere")
    env.http_requests.clear()
    assert quoted(await ask(stage, "search", query="needle", place="everywhere")) == ["a needle"]
    assert [
        request.path for request in env.http_requests if "/messages" in request.path and request.method == "GET"
    ] == []
