from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
import simcord
from recall_bot.config import Config, IdentityConfig, Snowflake
from recall_bot.desks import PublicElsewhere
from recall_bot.errors import PlaceNotFound, Refusal, Unavailable
from recall_bot.history import Progress
from recall_bot.queries import OpenDesk
from recall_bot.showing import ACCESS_FRESH_SECONDS

import recall
from tests.simcord_shims import archive
from tests.workshop import Workshop, desks_of, open_workshop


@pytest.fixture
async def workshop(env: simcord.Env) -> Workshop:
    return await open_workshop(env)


async def contents(desk: OpenDesk, scan: int = 2048) -> list[str]:
    """Return what a desk says, newest first, in its own conversation."""
    walk = await recall.walk_log(desk.log, scan=scan)
    assert desk.conversation is not None
    return [row.content for row in walk.rows if desk.conversation.holds(row)]


async def open_for_ada(workshop: Workshop, place_id: int, here: int | None = None) -> OpenDesk:
    return await workshop.desks.open(await workshop.place(place_id), await workshop.asker(workshop.ada, here))


async def refused(workshop: Workshop, place_id: int, here: int | None = None) -> Refusal:
    """Return how Ada is refused, having made sure that no history was asked for."""
    place, asker = await workshop.place(place_id), await workshop.asker(workshop.ada, here)
    workshop.requests()
    with pytest.raises(Refusal) as caught:
        await workshop.desks.open(place, asker)
    assert workshop.requests("/messages") == []
    return caught.value


# what is read


async def test_a_channel_is_read_with_its_public_threads(workshop: Workshop) -> None:
    _one, two = workshop.write(workshop.general.id, "one", "two")
    thread = await workshop.thread("limiter", message_id=two)
    await workshop.post_in(thread, "inside")
    await workshop.post_in(workshop.general.id, "three")
    desk = await open_for_ada(workshop, workshop.general.id)

    walk = await recall.walk_log(desk.log, scan=10)
    assert [(row.content, row.parent) for row in walk.rows] == [
        ("three", None),
        ("inside", thread),
        ("", None),  # says that a thread was made
        ("two", None),
        ("one", None),
    ]
    assert walk.coverage.beginning
    assert list(desk.left_out) == []
    assert desk.conversation == recall.Conversation(str(workshop.general.id), "general")


async def test_a_thread_is_read_with_the_message_it_was_started_from(workshop: Workshop) -> None:
    before, starter = workshop.write(workshop.general.id, "before", "starter")
    thread = await workshop.thread("limiter", message_id=starter)
    workshop.write(thread, "one", "two")
    desk = await open_for_ada(workshop, thread)

    assert thread == starter > before
    assert await contents(desk) == ["two", "one", "starter"]
    assert list(desk.left_out) == []


async def test_a_thread_of_no_message_is_read_to_its_beginning(workshop: Workshop) -> None:
    thread = await workshop.thread("limiter")
    workshop.write(thread, "one")
    desk = await open_for_ada(workshop, thread)
    walk = await recall.walk_log(desk.log, scan=10)

    assert [row.content for row in walk.rows] == ["one"]
    assert walk.coverage.beginning


async def test_an_archived_thread_is_read(workshop: Workshop) -> None:
    thread = await workshop.thread("old")
    workshop.write(thread, "still here")
    archive(workshop.env, thread)
    await workshop.settle()
    assert workshop.discord_guild.get_thread(thread) is None

    assert await contents(await open_for_ada(workshop, thread)) == ["still here"]


async def test_a_private_thread_is_a_desk_of_its_own(workshop: Workshop) -> None:
    thread = await workshop.thread("plans", private=True)
    workshop.write(thread, "secret")
    desk = await open_for_ada(workshop, thread)

    assert desk.conversation == recall.Conversation(str(thread), "plans")
    assert await contents(desk) == ["secret"]


async def test_a_forum_has_threads_only_and_a_post_has_its_starter(workshop: Workshop) -> None:
    forum = workshop.guild.create_forum_channel("help")
    post = await workshop.post(forum.id, "a question", "how?")
    await workshop.post_in(post, "like this")

    desk = await open_for_ada(workshop, forum.id)
    walk = await recall.walk_log(desk.log, scan=10)
    assert [(row.sequence == post, row.content, row.parent) for row in walk.rows] == [
        (False, "like this", post),
        (True, "how?", None),
    ]
    assert {row.chat_id for row in walk.rows} == {str(forum.id)}
    assert list(desk.left_out) == []
    assert await contents(await open_for_ada(workshop, post)) == ["like this", "how?"]


async def test_voice_chat_is_read_and_has_no_threads(workshop: Workshop) -> None:
    voice = workshop.guild.create_voice_channel("lounge")
    workshop.write(voice.id, "hello")
    desk = await open_for_ada(workshop, voice.id)

    assert await contents(desk) == ["hello"]
    assert list(desk.left_out) == []


async def test_our_own_words_are_no_rows_also_under_a_former_id(workshop: Workshop) -> None:
    workshop.write(workshop.general.id, "ada's", "ben's")
    workshop.env.backend.create_message(workshop.general.id, workshop.env.backend.bot_user.id, "ours", broadcast=False)
    former = IdentityConfig(former_ids=frozenset({Snowflake(workshop.ada.id)}))
    desks = desks_of(workshop.env, workshop.recent, msgspec.structs.replace(Config(), identity=former))
    workshop.write(workshop.general.id, "ben's", who=workshop.ben)
    place, asker = await workshop.place(workshop.general.id), await workshop.asker(workshop.ben)

    assert await contents(await desks.open(place, asker)) == ["ben's"]


async def test_a_walk_ends_when_its_seconds_are_over_and_tells_its_progress(workshop: Workshop) -> None:
    workshop.write(workshop.general.id, *(f"m{n}" for n in range(300)))
    now = 0.0
    seen: list[Progress] = []

    def on_progress(progress: Progress) -> None:
        nonlocal now
        now += 10
        seen.append(progress)

    desks = desks_of(workshop.env, workshop.recent, clock=lambda: now)
    asker = await workshop.asker(workshop.ada)
    desk = await desks.open(asker.here, asker, seconds=15, on_progress=on_progress)
    walk = await recall.walk_log(desk.log, scan=2048)

    assert (walk.coverage.rows, walk.coverage.stopped) == (200, "time")
    assert [progress.rows for progress in seen] == [100, 200]


async def test_nothing_is_asked_for_below_the_end_of_a_question(workshop: Workshop) -> None:
    ids = workshop.write(workshop.general.id, *(f"m{n}" for n in range(300)))
    asker = await workshop.asker(workshop.ada)
    desk = await workshop.desks.open(asker.here, asker, after=ids[-5])
    workshop.requests()
    walk = await recall.walk_log(desk.log, scan=2048, after=ids[-5])

    assert len(walk.rows) == 4
    assert len(workshop.requests("/messages")) == 1


# who may open it


async def test_what_the_asker_may_not_view_is_as_if_it_were_not_there(workshop: Workshop) -> None:
    assert isinstance(await refused(workshop, workshop.mods.id), PlaceNotFound)
    with pytest.raises(PlaceNotFound) as caught:
        await workshop.desks.find("nowhere", await workshop.asker(workshop.ada))
    assert caught.value.sentence == (await refused(workshop, workshop.mods.id)).sentence


async def test_what_the_asker_may_view_without_its_history_is_not_read(workshop: Workshop) -> None:
    await workshop.deny(workshop.ada.id, workshop.general.id, read_message_history=False)
    assert isinstance(await refused(workshop, workshop.general.id), PlaceNotFound)


async def test_voice_chat_wants_connect(workshop: Workshop) -> None:
    voice = workshop.guild.create_voice_channel("lounge")
    await workshop.deny(workshop.ada.id, voice.id, connect=False)
    assert isinstance(await refused(workshop, voice.id), PlaceNotFound)


async def test_a_private_thread_of_others_is_as_if_it_were_not_there(workshop: Workshop) -> None:
    thread = await workshop.thread("plans", private=True)
    workshop.env.backend.remove_thread_member(thread, workshop.ada.id)
    assert isinstance(await refused(workshop, thread), PlaceNotFound)


@pytest.mark.parametrize("missing", ["view_channel", "read_message_history"])
async def test_what_the_bot_may_not_read_is_said_only_to_who_may(workshop: Workshop, missing: str) -> None:
    for channel in (workshop.general, workshop.mods):
        await workshop.deny_bot(channel.id, **{missing: False})
    told = await refused(workshop, workshop.general.id)
    assert isinstance(told, Unavailable)
    assert told.kind == "no_permission"
    assert isinstance(await refused(workshop, workshop.mods.id), PlaceNotFound)


async def test_who_stands_in_a_private_thread_without_the_bot_is_told_so(workshop: Workshop) -> None:
    await workshop.deny_bot(workshop.general.id, manage_threads=False)
    thread = await workshop.thread("plans", private=True)
    assert isinstance(await refused(workshop, thread, here=thread), Unavailable)
    assert isinstance(await refused(workshop, thread), PlaceNotFound)


async def test_an_age_restricted_channel_is_read_only_from_one(workshop: Workshop) -> None:
    spicy, other = (workshop.guild.create_text_channel(name) for name in ("spicy", "other"))
    for channel in (spicy, other):
        await workshop.restrict(channel.id)
    workshop.write(spicy.id, "hot")

    assert isinstance(await refused(workshop, spicy.id), PlaceNotFound)
    assert await contents(await open_for_ada(workshop, spicy.id, here=spicy.id)) == ["hot"]
    assert await contents(await open_for_ada(workshop, spicy.id, here=other.id)) == ["hot"]


async def test_a_public_answer_is_about_the_place_it_stands_in(workshop: Workshop) -> None:
    other = workshop.guild.create_text_channel("other")
    thread = await workshop.thread("limiter")
    for place_id, here in (
        (other.id, workshop.general.id),
        (thread, workshop.general.id),
        (workshop.general.id, thread),
    ):
        place, asker = await workshop.place(place_id), await workshop.asker(workshop.ada, here)
        with pytest.raises(PublicElsewhere):
            await workshop.desks.open(place, asker, public=True)
    asker = await workshop.asker(workshop.ada, thread)
    assert await contents(await workshop.desks.open(asker.here, asker, public=True)) == []


# whether it may still be shown


Change = Callable[[Workshop], object]


async def shown_after(workshop: Workshop, who: str, place_id: int, change: Change) -> bool:
    """Say whether a row that was read may be shown after something has changed."""
    workshop.write(place_id, "a row")
    asker = await workshop.asker(getattr(workshop, who))
    desk = await workshop.desks.open(await workshop.place(place_id), asker)
    (row, *_rest) = (await recall.walk_log(desk.log, scan=9)).rows
    change(workshop)
    await workshop.settle()
    assert desk.may_show is not None
    return await desk.may_show(row)


async def test_a_role_that_is_taken_away_meanwhile_shows_nothing(workshop: Workshop) -> None:
    def demote(workshop: Workshop) -> None:
        workshop.env.backend.edit_member(workshop.guild.id, workshop.ben.id, {"role_ids": []})

    assert await shown_after(workshop, "ben", workshop.mods.id, lambda _workshop: None)
    assert not await shown_after(workshop, "ben", workshop.mods.id, demote)


async def test_who_has_left_meanwhile_is_shown_nothing(workshop: Workshop) -> None:
    def leave(workshop: Workshop) -> None:
        workshop.guild.remove_member(workshop.ada)

    assert not await shown_after(workshop, "ada", workshop.general.id, leave)


async def test_a_channel_that_is_deleted_meanwhile_shows_nothing(workshop: Workshop) -> None:
    def delete(workshop: Workshop) -> None:
        workshop.env.backend.delete_channel(workshop.general.id)

    assert not await shown_after(workshop, "ada", workshop.general.id, delete)


async def test_a_private_thread_that_was_left_meanwhile_shows_nothing(workshop: Workshop) -> None:
    thread = await workshop.thread("plans", private=True)

    def leave(workshop: Workshop) -> None:
        workshop.env.backend.remove_thread_member(thread, workshop.ada.id)

    assert await shown_after(workshop, "ada", thread, lambda _workshop: None)
    assert not await shown_after(workshop, "ada", thread, leave)


async def test_a_thread_that_is_archived_meanwhile_is_shown(workshop: Workshop) -> None:
    thread = await workshop.thread("limiter")
    assert await shown_after(workshop, "ada", thread, lambda workshop: archive(workshop.env, thread))


async def test_a_channel_hidden_from_the_bot_meanwhile_shows_nothing(workshop: Workshop) -> None:
    place, asker = await workshop.place(workshop.general.id), await workshop.asker(workshop.ada)
    workshop.write(workshop.general.id, "a row")
    desk = await workshop.desks.open(place, asker)
    (row,) = (await recall.walk_log(desk.log, scan=9)).rows
    await workshop.deny_bot(workshop.general.id, view_channel=False)
    assert desk.may_show is not None
    assert not await desk.may_show(row)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_rights_that_cannot_be_asked_are_an_error_and_not_an_empty_answer(
    workshop: Workshop, status: int
) -> None:
    workshop.write(workshop.general.id, "a row")
    desk = await open_for_ada(workshop, workshop.general.id)
    (row,) = (await recall.walk_log(desk.log, scan=9)).rows
    workshop.env.inject_error("GET", "*/members/*", status=status)
    assert desk.may_show is not None
    with pytest.raises(Unavailable):
        await desk.may_show(row)


async def test_rights_are_asked_once_for_an_answer_and_again_when_that_is_old(workshop: Workshop) -> None:
    now = 0.0
    desks = desks_of(workshop.env, workshop.recent, clock=lambda: now)
    (sequence,) = workshop.write(workshop.general.id, "a row")
    asker = await workshop.asker(workshop.ada)
    desk = await desks.open(asker.here, asker)
    (row,) = (await recall.walk_log(desk.log, scan=9)).rows
    assert row.sequence == sequence
    assert desk.may_show is not None
    workshop.requests()
    for _ in range(3):
        assert await desk.may_show(row)
    assert len(workshop.requests("/members/")) == 1
    now += ACCESS_FRESH_SECONDS
    assert await desk.may_show(row)
    assert len(workshop.requests("/members/")) == 1


# single rows and addresses


async def read_row(desk: OpenDesk, sequence: int) -> str | None:
    assert desk.read_row is not None
    row = await desk.read_row(sequence)
    return None if row is None else row.content


async def test_a_row_is_read_from_the_channel_or_from_a_thread_of_it(workshop: Workshop) -> None:
    (in_channel,) = workshop.write(workshop.general.id, "in the channel")
    thread = await workshop.thread("limiter", message_id=in_channel)
    (in_thread,) = (workshop.env.backend.create_message(thread, workshop.ada.id, "in the thread").id,)
    await workshop.settle()
    desk = await open_for_ada(workshop, workshop.general.id)

    assert await read_row(desk, in_channel) == "in the channel"
    assert await read_row(desk, in_thread) == "in the thread"
    assert await read_row(desk, in_thread + 1) is None
    assert await read_row(desk, 5) is None
    in_its_thread = await open_for_ada(workshop, thread)
    assert await read_row(in_its_thread, in_channel) == "in the channel"


async def test_a_row_of_a_forum_is_read_from_its_post(workshop: Workshop) -> None:
    forum = workshop.guild.create_forum_channel("help")
    post = await workshop.post(forum.id, "a question", "how?")
    assert await read_row(await open_for_ada(workshop, forum.id), post) == "how?"
    assert await read_row(await open_for_ada(workshop, post), post) == "how?"


async def test_a_row_that_cannot_be_read_is_not_gone(workshop: Workshop) -> None:
    (sequence,) = workshop.write(workshop.general.id, "here")
    desk = await open_for_ada(workshop, workshop.general.id)
    workshop.env.inject_error("GET", "*/messages/*", status=503)
    with pytest.raises(Unavailable):
        await read_row(desk, sequence)


async def test_a_row_that_could_stand_in_too_many_threads_is_not_looked_for_and_not_gone(workshop: Workshop) -> None:
    (first,) = workshop.write(workshop.general.id, "first")
    threads = [await workshop.thread(f"t{n}") for n in range(6)]
    (later,) = workshop.write(workshop.general.id, "later")
    for thread in threads:
        workshop.env.backend.create_message(thread, workshop.ada.id, "x")
    await workshop.settle()
    desk = await open_for_ada(workshop, workshop.general.id)
    workshop.requests()

    assert await read_row(desk, first) == "first"
    assert await read_row(desk, later) == "later"
    with pytest.raises(Unavailable):
        await read_row(desk, later + 1)
    assert len(workshop.requests("/messages/")) == 3


async def test_a_link_into_this_place_or_a_thread_is_an_address(workshop: Workshop) -> None:
    desk = await open_for_ada(workshop, workshop.general.id)
    guild, channel, mods = workshop.guild.id, workshop.general.id, workshop.mods.id

    def address(text: str) -> int | None:
        assert desk.address is not None
        return desk.address(text)

    assert address(f"https://discord.com/channels/{guild}/{channel}/77") == 77
    assert address(f"https://ptb.discord.com/channels/{guild}/{channel + 99}/77") == 77
    assert address(f"https://discord.com/channels/{guild}/{mods}/77") is None
    assert address(f"https://discord.com/channels/9/{channel}/77") is None
    assert address(f"https://discord.com/channels/{guild}/{channel}") is None
    assert address("77") is None


async def test_a_thread_takes_links_to_the_message_it_was_started_from(workshop: Workshop) -> None:
    thread = await workshop.thread("limiter")
    desk = await open_for_ada(workshop, thread)
    assert desk.address is not None
    assert desk.address(f"https://discord.com/channels/{workshop.guild.id}/{workshop.general.id}/77") == 77


async def test_what_is_read_of_a_desk_is_known_to_completions(workshop: Workshop) -> None:
    workshop.write(workshop.general.id, "!pin #ops note")
    await contents(await open_for_ada(workshop, workshop.general.id))
    assert workshop.recent.labels(workshop.general.id) == ("ops",)
    assert [author.label for author in workshop.recent.authors(workshop.general.id)] == ["ada"]
