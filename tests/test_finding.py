from __future__ import annotations

from contextlib import suppress
from typing import Any

import discord
import pytest
import simcord
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot import completing
from recall_bot.access import Asker, Place, is_place
from recall_bot.errors import AuthorNotFound, PlaceNotFound, Refusal, Unavailable
from recall_bot.finding import PlaceAmbiguous, find_author, find_place, known_place
from recall_bot.links import Link, read_link, read_snowflake
from recall_bot.recent import Recent

import recall
from tests.payloads import (
    ADA,
    BEN,
    BOT,
    CHANNEL,
    FORUM,
    GUILD,
    HIDDEN,
    PRIVATE,
    SCOUT,
    SECRET,
    THREAD,
    channel,
    make_guild,
    make_member,
    overwrite,
    thread,
)
from tests.simcord_shims import archive
from tests.workshop import Workshop, open_workshop

CATEGORY, SPICY, SILENT = SECRET + 40, SECRET + 41, SECRET + 42


def guild_with(*more: dict[str, Any]) -> discord.Guild:
    mute_bot = overwrite(BOT, member=True, deny=discord.Permissions(read_message_history=True))
    return make_guild(
        channels=[
            channel(CHANNEL, "general", parent_id=str(CATEGORY)),
            channel(SECRET, "layoffs-q3", permission_overwrites=[HIDDEN]),
            channel(FORUM, "help", 15),
            channel(CATEGORY, "Workshop", 4),
            channel(SPICY, "spicy", nsfw=True),
            channel(SILENT, "silent", permission_overwrites=[mute_bot]),
            *more,
        ],
        threads=[
            thread(THREAD, "The Limiter", CHANNEL),
            thread(PRIVATE, "plans", CHANNEL, 12),
            thread(PRIVATE + 9, "leak", SECRET),
        ],
    )


def asker_in(guild: discord.Guild, here: int = CHANNEL) -> Asker:
    place = guild.get_channel_or_thread(here)
    assert is_place(place)
    return Asker(make_member(guild), place)


async def found(text: str, guild: discord.Guild | None = None, here: int = CHANNEL) -> int:
    return (await find_place(text, asker_in(guild or guild_with(), here))).id


# links and ids


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://discord.com/channels/1/2/3", Link(1, 2, 3)),
        ("https://ptb.discord.com/channels/1/2", Link(1, 2)),
        ("https://canary.discordapp.com/channels/1/2/3/", Link(1, 2, 3)),
        ("https://discord.com/channels/@me/2/3", None),
        ("https://discord.com/channels/1/2/3?x", None),
        ("https://discord.com.evil/channels/1/2/3", None),
        ("http://discord.com/channels/1/2/3", None),
        (" https://discord.com/channels/1/2/3", None),
        ("https://discord.com/channels/1/0/3", None),
        (f"https://discord.com/channels/1/2/{2**64}", None),
        ("https://discord.com/channels/1/٢/3", None),
    ],
)
def test_a_link_names_its_ids(text: str, link: Link | None) -> None:
    assert read_link(text) == link


@pytest.mark.parametrize("text", ["", "0", "-1", "+1", "1_0", "١", "²", " 1", str(2**64), "9" * 5_000])
def test_what_is_not_plain_digits_is_no_id(text: str) -> None:
    assert read_snowflake(text) is None


def test_plain_digits_are_an_id() -> None:
    assert read_snowflake("0017") == 17
    assert read_snowflake(str(2**64 - 1)) == 2**64 - 1


# places


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (str(CHANNEL), CHANNEL),
        (f" <#{CHANNEL}> ", CHANNEL),
        (f"https://discord.com/channels/{GUILD}/{CHANNEL}", CHANNEL),
        (f"https://discord.com/channels/{GUILD}/{THREAD}/5", THREAD),
        ("general", CHANNEL),
        ("#general", CHANNEL),
        ("#GENERAL", CHANNEL),
        ("The Limiter", THREAD),
        ("#the limiter", THREAD),
        ("help", FORUM),
        ("silent", SILENT),  # that the bot may not read it is said when it is opened
    ],
)
async def test_a_place_is_found_by_id_link_markup_or_name(text: str, place: int) -> None:
    assert await found(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#",
        "nowhere",
        "gener",
        "layoffs-q3",
        f"{SECRET}",
        f"<#{SECRET}>",
        f"https://discord.com/channels/{GUILD}/{SECRET}/5",
        f"https://discord.com/channels/{GUILD + 1}/{CHANNEL}/5",
        "leak",
        f"{PRIVATE + 9}",
        "Workshop",
        f"{CATEGORY}",
        "spicy",
        f"<#{SPICY}>",
    ],
)
async def test_what_the_asker_may_not_read_is_found_as_little_as_what_is_not_there(text: str) -> None:
    with pytest.raises(PlaceNotFound) as caught:  # a request would fail: nobody has logged in
        await found(text)
    assert caught.value.sentence == PlaceNotFound().sentence


async def test_a_restricted_place_is_found_from_a_restricted_one() -> None:
    assert await found("spicy", here=SPICY) == SPICY


async def test_a_name_of_several_is_theirs_whose_case_it_has() -> None:
    guild = guild_with(channel(70, "General", 2), channel(71, "GENERAL", 2))
    assert await found("General", guild) == 70
    with pytest.raises(PlaceAmbiguous):
        await found("gEneral", guild)


async def test_a_name_that_only_hidden_channels_share_is_not_ambiguous() -> None:
    guild = guild_with(channel(70, "general", permission_overwrites=[HIDDEN]))
    assert await found("general", guild) == CHANNEL


async def test_a_channel_whose_name_is_a_number_is_found_by_it() -> None:
    assert await found("2024", guild_with(channel(70, "2024"))) == 70


@pytest.mark.parametrize(
    ("text", "place"),
    [(None, CHANNEL), (" ", CHANNEL), ("help", FORUM), (f"{THREAD}", THREAD)]
    + [(text, None) for text in ("gen", "layoffs-q3", f"{SECRET}", f"{SECRET + 9999}", "plans", "silent", "spicy")],
)
def test_a_completion_knows_only_places_that_it_need_not_ask_for(text: str | None, place: int | None) -> None:
    known = known_place(text, asker_in(guild_with()))
    assert (known and known.id) == place


@pytest.fixture
async def workshop(env: simcord.Env) -> Workshop:
    return await open_workshop(env)


async def test_an_archived_thread_is_found_by_its_id_with_one_request(workshop: Workshop) -> None:
    thread_id = await workshop.thread("old")
    archive(workshop.env, thread_id)
    await workshop.settle()
    asker = await workshop.asker(workshop.ada)
    workshop.requests()

    assert (await workshop.desks.find(str(thread_id), asker)).id == thread_id
    assert len(workshop.requests()) == 1


async def test_an_archived_thread_of_a_hidden_channel_is_not_found(workshop: Workshop) -> None:
    hidden = workshop.env.backend.create_thread(workshop.mods.id, "old", workshop.ben.id)
    archive(workshop.env, hidden.id)
    await workshop.settle()
    with pytest.raises(PlaceNotFound):
        await workshop.desks.find(str(hidden.id), await workshop.asker(workshop.ada))
    assert (await workshop.desks.find(str(hidden.id), await workshop.asker(workshop.ben))).id == hidden.id


async def test_an_id_of_nothing_or_of_another_guild_is_not_found(workshop: Workshop) -> None:
    elsewhere = workshop.env.create_guild("Elsewhere").create_text_channel("general")
    asker = await workshop.asker(workshop.ada)
    for channel_id in (elsewhere.id, 123_456_789_012_345_678):
        with pytest.raises(PlaceNotFound):
            await workshop.desks.find(str(channel_id), asker)


async def test_discord_that_does_not_answer_is_not_taken_for_nothing_there(workshop: Workshop) -> None:
    asker = await workshop.asker(workshop.ada)
    workshop.env.inject_error("GET", "*/channels/*", status=503)
    with pytest.raises(Unavailable):
        await workshop.desks.find("123456789012345678", asker)


async def test_a_private_thread_is_found_by_who_is_in_it(workshop: Workshop) -> None:
    thread_id = await workshop.thread("plans", private=True)
    eve = workshop.guild.add_member(workshop.env.create_user("eve"))
    for text in ("plans", str(thread_id)):
        assert (await workshop.desks.find(text, await workshop.asker(workshop.ada))).id == thread_id
        with pytest.raises(PlaceNotFound):
            await workshop.desks.find(text, await workshop.asker(eve))


# authors


def recent_with(*authors: recall.Author, place: int = CHANNEL) -> Recent:
    recent = Recent()
    recent.remember(place, [recall.LogMessage(n, "1", None, author, "") for n, author in enumerate(authors)])
    return recent


ADA_WROTE = recall.PersonAuthor(str(ADA), "Ada")
SCOUT_WROTE = recall.AgentAuthor(str(SCOUT), "Scout")


def author(text: str, recent: Recent, place_id: int = CHANNEL, here: int = CHANNEL) -> str:
    guild = guild_with()
    place = guild.get_channel_or_thread(place_id)
    assert is_place(place)
    return find_author(text, asker_in(guild, here), [place], recent)


@pytest.mark.parametrize("text", [str(ADA), f"<@{ADA}>", f" <@!{ADA}> ", "Ada", "@Ada", "ada"])
def test_an_author_is_found_by_id_mention_or_name(text: str) -> None:
    assert author(text, recent_with(ADA_WROTE, SCOUT_WROTE)) == str(ADA)


def test_an_id_is_taken_as_it_is_though_nobody_known_has_it() -> None:
    assert author("123456789012345678", Recent()) == "123456789012345678"


def test_a_name_is_somebodys_only_when_it_is_exactly_one_authors() -> None:
    other = recall.PersonAuthor(str(BEN), "Ada")
    with pytest.raises(AuthorNotFound):
        author("Ada", recent_with(ADA_WROTE, other))
    shouting = recall.PersonAuthor(str(BEN), "ADA")
    assert author("ADA", recent_with(ADA_WROTE, shouting)) == str(BEN)
    with pytest.raises(AuthorNotFound):
        author("aDa", recent_with(ADA_WROTE, shouting))


def test_a_webhook_is_found_by_each_name_it_used() -> None:
    recent = recent_with(recall.AgentAuthor("77", "Build"), recall.AgentAuthor("77", "Deploy"))
    assert author("Build", recent) == author("deploy", recent) == "77"


def test_members_that_are_known_are_found_though_they_did_not_write() -> None:
    assert author("Recall", Recent()) == author("recall", Recent()) == str(BOT)


@pytest.mark.parametrize("text", ["", "@", "Ad", "nobody", "<@>", "12", "\x00"])
def test_nobody_is_found_by_anything_else(text: str) -> None:
    with pytest.raises(AuthorNotFound):
        author(text, recent_with(ADA_WROTE))


def test_who_wrote_where_the_asker_may_not_read_is_not_known() -> None:
    with pytest.raises(AuthorNotFound):
        author("Ada", recent_with(ADA_WROTE, place=SECRET), place_id=SECRET)


# completions


def names(choices: list[discord.app_commands.Choice[str]]) -> list[str]:
    return [choice.name for choice in choices]


def test_without_a_text_all_places_are_offered_and_the_own_first() -> None:
    asker = asker_in(guild_with(), THREAD)
    assert names(completing.places("", asker)) == ["#The Limiter (in #general)", "#general", "#help"]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("gen", ["#general", "#The Limiter (in #general)"]),
        ("#gen", ["#general", "#The Limiter (in #general)"]),
        ("limiter", ["#The Limiter (in #general)"]),
        ("workshop", ["#general"]),
        ("layoffs", []),
        ("plans", []),
        ("leak", []),
        ("spicy", []),
        ("silent", []),
        (str(SECRET), []),
    ],
)
def test_places_are_completed_by_what_the_asker_may_read(text: str, offered: list[str]) -> None:
    assert names(completing.places(text, asker_in(guild_with()))) == offered


def test_no_more_than_discord_takes_is_offered() -> None:
    channels = [channel(1000 + n, f"room-{n}-{'x' * 150}") for n in range(60)]
    choices = completing.places("room", asker_in(guild_with(*channels)))
    assert len(choices) == 25
    assert all(1 <= len(choice.name) <= 100 and 1 <= len(choice.value) <= 100 for choice in choices)


def complete_authors(text: str, recent: Recent, here: int = CHANNEL, place_id: int = CHANNEL) -> list[str]:
    guild = guild_with()
    place = guild.get_channel_or_thread(place_id)
    return names(completing.authors(text, asker_in(guild, here), [place] if is_place(place) else [], recent))


def test_authors_are_completed_people_and_agents_alike() -> None:
    recent = recent_with(recall.PersonAuthor("3", "Scofield"), ADA_WROTE, SCOUT_WROTE)
    assert complete_authors("", recent) == ["Scout", "Ada", "Scofield"]
    assert complete_authors("sco", recent) == ["Scout", "Scofield"]
    assert complete_authors("@ada", recent) == ["Ada"]
    assert complete_authors("zzz", recent) == []


@pytest.mark.parametrize("place", [SECRET, PRIVATE, SPICY, SILENT])
def test_nobody_and_nothing_is_completed_of_a_place_that_may_not_be_read(place: int) -> None:
    recent = recent_with(ADA_WROTE, place=place)
    recent.remember(place, [recall.LogMessage(1, "1", None, ADA_WROTE, "!pin #ops")])
    guild = guild_with()
    found = guild.get_channel_or_thread(place)
    assert is_place(found)
    assert complete_authors("", recent, place_id=place) == []
    assert completing.labels("", asker_in(guild), found, recent) == []


def test_in_a_private_thread_its_own_authors_are_completed() -> None:
    assert complete_authors("", recent_with(ADA_WROTE, place=PRIVATE), here=PRIVATE, place_id=PRIVATE) == ["Ada"]


def test_labels_are_completed_with_or_without_their_sign() -> None:
    recent, asker = Recent(), asker_in(guild_with())
    bodies = ["!pin #decision a", "!pin #ops b", f"!pin #{'x' * 100} c"]
    recent.remember(CHANNEL, [recall.LogMessage(n, "1", None, ADA_WROTE, body) for n, body in enumerate(bodies)])

    def complete(text: str) -> list[tuple[str, str]]:
        return [(choice.name, choice.value) for choice in completing.labels(text, asker, asker.here, recent)]

    assert complete("")[1:] == [("#ops", "ops"), ("#decision", "decision")]
    assert len(complete("")[0][0]) == 100
    assert complete("#dec") == complete("dec") == [("#decision", "decision")]


HARD = st.text(max_size=40) | st.text(alphabet="#@<>!&`*/[(\\ \n\x00a1", max_size=20)


@settings(deadline=None, max_examples=100)
@given(HARD, HARD, HARD)
def test_completing_never_fails_whatever_is_typed_and_whoever_is_called_how(typed: str, name: str, within: str) -> None:
    guild = guild_with(channel(1000, name), channel(1001, name * 9, 2))
    asker = asker_in(guild)
    recent = recent_with(recall.PersonAuthor("1", name), recall.AgentAuthor("2", name))
    recent.remember(CHANNEL, [recall.LogMessage(9, "1", None, ADA_WROTE, f"!pin #{name}")])
    place: Place | None = known_place(within, asker)
    for where in (place, asker.here):
        for choices in (
            completing.places(typed, asker),
            completing.authors(typed, asker, [] if where is None else [where], recent),
            completing.labels(typed, asker, where, recent),
        ):
            assert len(choices) <= 25
            assert all(1 <= len(choice.name) <= 100 and 1 <= len(choice.value) <= 100 for choice in choices)


@settings(deadline=None, max_examples=100)
@given(HARD)
async def test_finding_ends_in_a_place_an_author_or_a_refusal(text: str) -> None:
    guild = guild_with()
    asker = asker_in(guild)
    with suppress(Refusal):
        assert is_place(await find_place(text, asker))
    with suppress(Refusal):
        assert find_author(text, asker, [asker.here], recent_with(ADA_WROTE))


async def test_completing_asks_discord_for_nothing(workshop: Workshop) -> None:
    await workshop.thread("plans", private=True)
    await workshop.thread("open")
    asker = await workshop.asker(workshop.ada)
    workshop.requests()
    desks = workshop.desks

    assert names(desks.complete_in("", asker)) == ["#general", "#open (in #general)"]
    assert desks.complete_from("a", asker, "123456789012345678") == []
    assert desks.complete_label("a", asker, "mods") == []
    assert workshop.requests() == []
