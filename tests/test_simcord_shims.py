"""Each gap that a shim mends, shown as it is without it: a test that fails here says that its shim can go."""

from __future__ import annotations

import discord
import pytest
import simcord

from tests.simcord_shims import epoch, fix_app_flags, fix_history_after, seed, user_forum_post, user_thread
from tests.stage import open_world


async def forwards(env: simcord.Env, channel_id: int) -> list[int]:
    channel = await env.bot.fetch_channel(channel_id)
    assert isinstance(channel, discord.TextChannel)
    return [message.id async for message in channel.history(limit=None, oldest_first=True)]


async def test_simcord_reads_history_forwards_from_the_wrong_end() -> None:
    async with open_world() as env:
        channel = env.create_guild("Workshop").create_text_channel("general")
        ids = seed(env, channel.id, [env.create_user("ada").id], 120, epoch(2025), 1)
        assert await forwards(env, channel.id) == ids[-100:]
        undo = fix_history_after()
        assert await forwards(env, channel.id) == ids
        undo()


async def test_simcord_gives_an_application_no_flags() -> None:
    async with open_world() as env:
        assert env.bot.application_flags.value == 0
    undo = fix_app_flags()
    async with open_world() as env:
        assert env.bot.application_flags.gateway_message_content_limited
    undo()


def test_simcord_waits_50_ms_for_a_bot_that_runs() -> None:
    assert (simcord.env.Env._settle_internal.__kwdefaults__ or {})["idle"] == 0.05


async def test_simcord_gives_no_message_a_time_of_its_own() -> None:
    async with open_world() as env:
        channel = env.create_guild("Workshop").create_text_channel("general")
        ada = env.create_user("ada").id
        with pytest.raises(TypeError):
            env.backend.create_message(channel.id, ada, "x", timestamp=epoch(2025))  # type: ignore[call-arg]
        (past,) = seed(env, channel.id, [ada], 1, epoch(2025), 1)
        now = env.backend.create_message(channel.id, ada, "x", broadcast=False)
        assert discord.utils.snowflake_time(past).year == 2025
        assert discord.utils.snowflake_time(now.id) == env.now()


async def test_simcord_starts_a_forum_post_with_a_message_of_another_id() -> None:
    async with open_world() as env:
        forum = env.create_guild("Workshop").create_forum_channel("ideas")
        handle = await env.bot.fetch_channel(forum.id)
        assert isinstance(handle, discord.ForumChannel)
        thread, message = await handle.create_thread(name="theirs", content="x")
        assert thread.id != message.id
        post, starter = user_forum_post(env, forum.id, env.create_user("ada").id, "mended", "x")
        assert post.id == starter.id


async def test_simcord_lets_no_member_start_a_thread() -> None:
    async with open_world() as env:
        guild = env.create_guild("Workshop")
        ada = guild.add_member(env.create_user("ada"))
        assert not hasattr(ada, "create_thread")
        thread = user_thread(env, guild.create_text_channel("general").id, ada.id, "aside", private=True, archived=True)
        assert (thread.owner_id, thread.type) == (ada.id, discord.ChannelType.private_thread.value)
