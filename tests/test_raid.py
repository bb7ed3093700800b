"""Fifty accounts shout five thousand marker lines within a minute, all over a channel and its threads.

The bot keeps its pace as in the channel alone, and a moderator finds what was pinned before.
"""

from __future__ import annotations

from collections import Counter

from recall_bot.acknowledge import ACKS_PER_MINUTE
from recall_bot.notices import NOTICES_PER_MINUTE

from tests.asking import ask, text_of
from tests.simcord_shims import user_thread
from tests.stage import Stage

ACCOUNTS = 50
LINES = 5_000
AT_ONCE = 100
SHOUTED = ("!pin #raid", "!pin ^{} #raid", "!unpin ^{}", "!propose #raid now", "!PIN", "!pin " + "x" * 900)


async def test_a_raid_over_threads_costs_no_more_than_one_of_their_channel(stage: Stage) -> None:
    env, channel = stage.env, stage.channel.id
    [kept] = [env.backend.create_message(channel, stage.ada.id, "!pin #kept the plan").id]
    await env.advance_time(60)
    await ask(stage, "pins", who=stage.ben)  # the channel is mirrored from now on
    places = [channel, *(user_thread(env, channel, stage.ada.id, f"aside {number}").id for number in range(20))]
    raiders = [stage.guild.add_member(env.create_user(f"raider{n}", bot=n % 5 == 0)) for n in range(ACCOUNTS)]
    await stage.settle()
    env.http_requests.clear()

    last = kept
    for number in range(LINES):
        text = SHOUTED[number % len(SHOUTED)].replace("{}", str(last))
        last = env.backend.create_message(places[number % len(places)], raiders[number % ACCOUNTS].id, text).id
        if number % AT_ONCE == AT_ONCE - 1:
            await env.advance_time(60 * AT_ONCE / LINES)
        if number == LINES // 2:
            before = len(env.http_requests)
            board = await ask(stage, "pins", who=stage.ben, label="kept")
            del env.http_requests[before:]
    raid = Counter(f"{request.method} {request.path.rsplit('/', 1)[-1]}" for request in env.http_requests)

    assert sum(raid.values()) <= ACKS_PER_MINUTE + NOTICES_PER_MINUTE == 13
    assert raid == {"PUT @me": ACKS_PER_MINUTE, "POST messages": NOTICES_PER_MINUTE}
    assert "the plan" in text_of(board)
