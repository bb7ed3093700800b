from __future__ import annotations

from typing import Any

import discord
import pytest
import simcord
from recall_bot.access import Asker, Place, age_allows, is_place, known_right, may_read
from recall_bot.errors import PlaceNotFound

from tests.payloads import (
    ADA,
    BOT,
    CHANNEL,
    FORUM,
    GUILD,
    HIDDEN,
    OWNER,
    PRIVATE,
    SECRET,
    THREAD,
    channel,
    make_guild,
    make_member,
    overwrite,
    role,
    thread,
)
from tests.workshop import Workshop, open_workshop

VIEW, HISTORY, CONNECT = (
    discord.Permissions(**{name: True}) for name in ("view_channel", "read_message_history", "connect")
)
MOD, ADMIN = 501, 502
VOICE, STAGE = SECRET + 50, SECRET + 51


def guild_with(*overwrites: dict[str, object], **more: object) -> discord.Guild:
    """Return a guild in which a channel of each kind has these overwrites."""
    same: Any = {"permission_overwrites": list(overwrites), **more}
    return make_guild(
        channels=[
            channel(CHANNEL, "general", **same),
            channel(FORUM, "help", 15, **same),
            channel(VOICE, "lounge", 2, **same),
            channel(STAGE, "stage", 13, **same),
        ],
        threads=[
            thread(THREAD, "open", CHANNEL),
            thread(PRIVATE, "closed", CHANNEL, 12),
            thread(PRIVATE + 9, "orphan", 5),
        ],
        roles=[
            role(MOD, "mods", discord.Permissions(manage_threads=True)),
            role(ADMIN, "admins", discord.Permissions(administrator=True)),
        ],
    )


def place(guild: discord.Guild, place_id: int) -> Place:
    found = guild.get_channel_or_thread(place_id)
    assert is_place(found)
    return found


def rights(guild: discord.Guild, member: discord.Member) -> dict[int, bool | None]:
    places = (CHANNEL, FORUM, VOICE, STAGE, THREAD, PRIVATE)
    return {place_id: known_right(place(guild, place_id), member) for place_id in places}


ALL = dict.fromkeys((CHANNEL, FORUM, VOICE, STAGE, THREAD, PRIVATE), True)
NONE = dict.fromkeys(ALL, False)


def test_everybody_reads_what_is_open_and_a_private_thread_wants_its_members() -> None:
    guild = guild_with()
    assert rights(guild, make_member(guild)) == {**ALL, PRIVATE: None}


@pytest.mark.parametrize("missing", [VIEW, HISTORY])
@pytest.mark.parametrize("target", [GUILD, ADA])
def test_who_may_not_view_or_read_history_reads_nothing(missing: discord.Permissions, target: int) -> None:
    guild = guild_with(overwrite(target, member=target == ADA, deny=missing))
    assert rights(guild, make_member(guild)) == NONE


def test_voice_and_stage_chat_want_connect_too() -> None:
    guild = guild_with(overwrite(GUILD, deny=CONNECT))
    assert rights(guild, make_member(guild)) == {**ALL, PRIVATE: None, VOICE: False, STAGE: False}


def test_a_role_or_a_member_may_be_let_in() -> None:
    guild = guild_with(HIDDEN, overwrite(MOD, allow=VIEW), overwrite(ADA, member=True, allow=VIEW))
    assert rights(guild, make_member(guild, ADA)) == {**ALL, PRIVATE: None}
    assert rights(guild, make_member(guild, 9, roles=[MOD])) == ALL
    assert rights(guild, make_member(guild, 9)) == NONE


def test_the_owner_and_administrators_read_everything() -> None:
    guild = guild_with(HIDDEN)
    assert rights(guild, make_member(guild, OWNER)) == rights(guild, make_member(guild, 9, roles=[ADMIN])) == ALL


def test_manage_threads_opens_private_threads_only_where_the_channel_is_open() -> None:
    guild = guild_with(HIDDEN)
    assert rights(guild, make_member(guild, 9, roles=[MOD])) == NONE


def test_a_timed_out_member_still_reads() -> None:
    guild = guild_with()
    member = make_member(guild)
    member.timed_out_until = discord.utils.utcnow().replace(year=9000)
    assert known_right(place(guild, CHANNEL), member)


async def test_a_thread_whose_channel_is_not_known_is_read_by_nobody() -> None:
    guild = guild_with()
    assert not await may_read(place(guild, PRIVATE + 9), make_member(guild, OWNER))


@pytest.mark.parametrize(("target", "source", "allowed"), [(0, 0, True), (0, 1, True), (1, 0, False), (1, 1, True)])
def test_what_is_age_restricted_is_read_only_from_what_is(target: int, source: int, allowed: bool) -> None:
    guild = make_guild(channels=[channel(10, "t", nsfw=bool(target)), channel(11, "s", nsfw=bool(source))])
    asker = Asker(make_member(guild), place(guild, 11))
    assert age_allows(place(guild, 10), place(guild, 11)) == allowed
    assert asker.known_right(place(guild, 10)) == allowed
    assert asker.known_right(place(guild, 11))


def test_a_thread_is_as_age_restricted_as_its_channel() -> None:
    guild = make_guild(
        channels=[channel(10, "t", nsfw=True), channel(11, "s")], threads=[thread(12, "x", 10), thread(13, "y", 10)]
    )
    assert not age_allows(place(guild, 12), place(guild, 11))
    assert age_allows(place(guild, 12), place(guild, 13))


def test_another_guilds_channel_is_nobodys_here() -> None:
    guild, other = guild_with(), guild_with()
    other.id = 7
    assert Asker(make_member(guild, OWNER), place(guild, CHANNEL)).known_right(place(other, CHANNEL)) is False


def test_completions_know_a_private_thread_only_from_inside_or_for_its_moderators() -> None:
    guild = guild_with()
    outside, inside = place(guild, CHANNEL), place(guild, PRIVATE)
    ada, mod = make_member(guild), make_member(guild, 9, roles=[MOD])
    assert not Asker(ada, outside).may_complete(inside)
    assert Asker(ada, inside).may_complete(inside)
    assert Asker(mod, outside).may_complete(inside)


def test_what_the_bot_may_not_read_is_not_completed() -> None:
    guild = guild_with(overwrite(BOT, member=True, deny=HISTORY))
    assert not Asker(make_member(guild, OWNER), place(guild, THREAD)).may_complete(place(guild, CHANNEL))


@pytest.fixture
async def workshop(env: simcord.Env) -> Workshop:
    return await open_workshop(env)


async def test_a_private_thread_is_read_by_its_members_and_by_who_manages_threads(workshop: Workshop) -> None:
    thread = await workshop.place(await workshop.thread("plans", private=True))
    eve = workshop.guild.add_member(workshop.env.create_user("eve"))
    ada, ben, outsider = [(await workshop.asker(who)).member for who in (workshop.ada, workshop.ben, eve)]

    assert await may_read(thread, ada)  # she opened it
    assert await may_read(thread, ben)
    assert not await may_read(thread, outsider)

    workshop.env.backend.add_thread_member(thread.id, eve.id)
    workshop.env.backend.remove_thread_member(thread.id, workshop.ada.id)
    assert await may_read(thread, outsider)
    assert not await may_read(thread, ada)


@pytest.mark.parametrize("status", [403, 404, 429, 500, 503])
async def test_a_membership_that_cannot_be_asked_is_none(workshop: Workshop, status: int) -> None:
    thread = await workshop.place(await workshop.thread("plans", private=True))
    ada = (await workshop.asker(workshop.ada)).member
    workshop.env.inject_error("GET", "*/thread-members/*", status=status)
    assert not await may_read(thread, ada)
    assert await may_read(thread, ada)


async def test_only_a_private_thread_costs_a_request(workshop: Workshop) -> None:
    ada = (await workshop.asker(workshop.ada)).member
    thread = await workshop.place(await workshop.thread("open"))
    general = await workshop.place(workshop.general.id)
    workshop.requests()
    assert await may_read(general, ada)
    assert await may_read(thread, ada)
    assert workshop.requests() == []


async def test_who_asks_is_taken_from_the_interaction(workshop: Workshop) -> None:
    asked: list[Asker | PlaceNotFound] = []
    tree = discord.app_commands.CommandTree(workshop.env.bot)

    @tree.command(description="Ask")
    async def ask(interaction: discord.Interaction) -> None:
        try:
            asked.append(Asker.of(interaction))
        except PlaceNotFound as refusal:
            asked.append(refusal)
        await interaction.response.send_message("heard", ephemeral=True)

    await tree.sync()
    thread_id = await workshop.thread("open")
    (thread,) = workshop.general.threads
    await workshop.ada.slash(workshop.general, "ask")
    await workshop.ada.slash(thread, "ask")
    await workshop.env.create_user("zoe").slash("ask")

    in_channel, in_thread, in_direct_messages = asked
    assert isinstance(in_channel, Asker)
    assert isinstance(in_thread, Asker)
    assert (in_channel.member.id, in_channel.here.id) == (workshop.ada.id, workshop.general.id)
    assert in_thread.here.id == thread_id
    assert isinstance(in_direct_messages, PlaceNotFound)
