from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest
import simcord
from recall_bot import queries
from recall_bot.access import Asker
from simcord.builders import ChannelHandle

import recall
from tests.asking import answer_of, ask, buttons, configured, history, quoted, raw_text, sent_by_bot, text_of
from tests.simcord_shims import user_thread
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


async def test_an_answer_is_seen_by_the_asker_alone_unless_it_is_asked_for_in_public(stage: Stage) -> None:
    history(stage, ["the rate limiter"])

    private = await ask(stage, "search", query="limiter")
    public = await ask(stage, "search", query="limiter", public=True)

    assert private.ephemeral
    assert not public.ephemeral
    assert quoted(private) == quoted(public) == ["the rate limiter"]


async def test_an_answer_names_who_wrote_when_and_where_to_read_on(stage: Stage) -> None:
    [sequence] = history(stage, ["the rate limiter"])

    answer = await ask(stage, "search", query="limiter")

    link = f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/{sequence}"
    assert f"**ada** · <t:1764547200:f> · [jump]({link})" in text_of(answer)
    assert answer.embeds[0].title == "Search: limiter"


async def test_s1_a_window_without_a_hit_is_not_mistaken_for_the_answer(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(scan=100))
    history(stage, ["the needle" if number == 250 - 180 else f"hay {number}" for number in range(250)])

    answer = await ask(stage, "search", query="needle")

    assert "No match in the newest 100 messages" in text_of(answer).replace("**", "")
    assert "I looked at the newest 100 messages, back to <t:1764556200:f>; what is older was not read." in text_of(
        answer
    )
    assert buttons(answer) == {"Newer": False, "Older": True}

    older = answer_of(await stage.ada.click(answer, label="Older"))

    assert quoted(older) == ["the needle"]
    assert "100 messages before <t:1764556200:f>" in text_of(older)
    assert buttons(older) == {"Newer": True, "Older": True}

    oldest = answer_of(await stage.ada.click(older, label="Older"))

    assert "50 messages before" in text_of(oldest)
    assert "back to the very first" in text_of(oldest)
    assert buttons(oldest) == {"Newer": True, "Older": False}
    assert quoted(answer_of(await stage.ada.click(oldest, label="Newer"))) == ["the needle"]


async def test_s1_with_a_bound_of_one_exactly_one_message_is_fetched_and_reported(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(scan=1))
    history(stage, ["needle", "hay", "hay"])

    answer = await ask(stage, "search", query="needle")

    [request] = [r for r in stage.env.http_requests if r.method == "GET" and r.path.endswith("/messages")]
    assert request.params["limit"] in {1, "1"}
    assert "I looked at the newest message, back to <t:1764547320:f>; what is older was not read." in text_of(answer)
    answer = answer_of(await stage.ada.click(answer, label="Older"))
    assert "I looked at 1 message before" in text_of(answer)
    assert quoted(answer_of(await stage.ada.click(answer, label="Older"))) == ["needle"]


async def test_s2_forwarded_text_is_found_marked_as_forwarded_and_does_nothing(stage: Stage) -> None:
    source = await stage.ben.send(stage.quiet, "!pin #x hello deploy")
    await stage.ben.forward(source, stage.channel)

    answer = await ask(stage, "search", query="deploy")

    assert "*forwarded*" in text_of(answer)
    assert len(quoted(answer)) == 1
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("/[/", "That expression is not valid: "),
        ("x" * 201, "A query has at most 200 characters, this one has 201."),
        ("   ", "Type what to look for"),
    ],
)
async def test_s3_a_query_that_cannot_be_searched_for_is_refused_in_one_sentence(
    stage: Stage, query: str, sentence: str
) -> None:
    history(stage, ["a [ b"])

    answer = await ask(stage, "search", query=query)

    assert answer.content.startswith(sentence)
    assert "\n" not in answer.content
    assert not answer.embeds


async def test_s3_a_bad_expression_is_told_where_it_is_bad(stage: Stage) -> None:
    assert "at character" in (await ask(stage, "search", query="/ab[/")).content


@pytest.mark.parametrize(("query", "found"), [("//", "see // here"), ("/x/i", "or /x/i too"), (r"/\//", "see // here")])
async def test_s3_what_is_no_expression_is_searched_for_as_text_and_nothing_else_is(
    stage: Stage, query: str, found: str
) -> None:
    history(stage, ["see // here" if query != "/x/i" else "or /x/i too", "none"])

    answer = await ask(stage, "search", query=query)

    assert quoted(answer) == [found]
    assert ("is a regular expression" in text_of(answer)) is (query == r"/\//")


async def test_s3_an_expression_is_said_to_be_one_with_the_way_to_search_literally(stage: Stage) -> None:
    history(stage, ["it is in /etc/nginx/ here", "ETC/NGINX", "etc/nginx"])

    answer = await ask(stage, "search", query="/etc/nginx/")

    assert quoted(answer) == ["etc/nginx", "it is in /etc/nginx/ here"]
    assert 'put it in quotes: "/etc/nginx/"' in text_of(answer)
    assert "upper and lower case differ" in text_of(answer)
    assert quoted(await ask(stage, "search", query='"/etc/nginx/"')) == ["it is in /etc/nginx/ here"]


async def test_s3_a_hostile_expression_is_stopped_and_pins_are_answered_meanwhile(stage: Stage) -> None:
    history(stage, ["a" * 26 + "!", "!pin #still here"])
    services, guild = stage.cog.services, stage.bot.get_guild(stage.guild.id)
    assert guild is not None
    channel = guild.get_channel(stage.channel.id)
    assert isinstance(channel, discord.TextChannel)
    asker = Asker(await guild.fetch_member(stage.ada.id), channel)
    desk = await services.desks.open(channel, asker)
    request = queries.SearchRequest("/(a|a)+$/")

    searching = asyncio.create_task(queries.search(desk, request, matcher=services.matcher, asker="1"))
    await asyncio.sleep(0)
    board = await queries.pins(await services.desks.open(channel, asker), queries.PinsRequest())

    assert [pin.label for pin in board.pins] == ["still"]
    assert not searching.done()
    with pytest.raises(recall.PatternTimeout):
        await searching


async def test_s5_words_match_in_any_order_and_a_phrase_only_in_its_own(stage: Stage) -> None:
    history(stage, ["the rate limiter resets"])

    assert quoted(await ask(stage, "search", query="limiter rate")) == ["the rate limiter resets"]
    assert "No match" in text_of(await ask(stage, "search", query='"limiter rate"'))
    assert "No match" in text_of(await ask(stage, "search", query='"limiter rate"', loose=True))


async def test_loose_hits_come_when_nothing_better_is_there_and_are_said_to_be_loose(stage: Stage) -> None:
    history(stage, ["limes in mint"])

    answer = await ask(stage, "search", query="limint")

    assert "These are loose" in text_of(answer)
    assert "*loose*" in text_of(answer)


async def test_loose_hits_come_with_better_ones_only_when_they_are_asked_for(stage: Stage) -> None:
    history(stage, ["limes in mint", "limint"])

    assert quoted(await ask(stage, "search", query="limint")) == ["limint"]
    loose = await ask(stage, "search", query="limint", loose=True)
    assert quoted(loose) == ["limint", "limes in mint"]
    assert "Loose hits were asked for" in text_of(loose)


async def test_what_narrows_a_search_is_obeyed_and_said(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(6)])

    answer = await ask(
        stage,
        "search",
        query="limiter",
        author=str(stage.ben.id),
        after="2025-12-01T00:02",
        before="2025-12-01T00:05Z",
        sort="newest",
    )

    assert quoted(answer) == ["limiter 3"]
    shown = text_of(answer)
    assert "In **#general**, from ben, since <t:1764547320:f>, before <t:1764547500:f>, newest first." in shown
    assert "Times without an offset were read as UTC." in shown
    assert "as far as was asked" in shown


async def test_a_time_with_an_offset_needs_no_word_on_utc(stage: Stage) -> None:
    history(stage, ["limiter"])

    assert "UTC" not in text_of(await ask(stage, "search", query="limiter", after="2025-11-30T00:00+02:00"))
    assert "UTC" not in text_of(await ask(stage, "search", query="limiter", after="60d"))


@pytest.mark.parametrize("option", ["before", "after"])
async def test_a_time_that_is_none_is_refused(stage: Stage, option: str) -> None:
    typed: dict[str, Any] = {option: "tomorrow"}

    assert "That is no time I can read" in (await ask(stage, "search", query="x", **typed)).content


async def test_another_channel_is_searched_by_its_name_and_an_unknown_one_is_not_told_from_a_forbidden_one(
    stage: Stage,
) -> None:
    history(stage, ["quiet limiter"], stage.quiet)
    secret = stage.guild.create_text_channel(
        "mods", overwrites={stage.guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    )
    history(stage, ["salary limiter"], secret)

    found = await ask(stage, "search", query="limiter", place="#quiet")
    forbidden = await ask(stage, "search", query="salary", place="mods")
    by_id = await ask(stage, "search", query="salary", place=str(secret.id))
    unknown = await ask(stage, "search", query="salary", place="nowhere")

    assert quoted(found) == ["quiet limiter"]
    assert "In **#quiet**" in text_of(found)
    assert forbidden.content == unknown.content == by_id.content != ""


async def test_a_public_answer_is_only_about_the_channel_it_stands_in(stage: Stage) -> None:
    history(stage, ["quiet limiter"], stage.quiet)

    answer = await ask(stage, "search", query="limiter", place="#quiet", public=True)

    assert "public answer can only be about the channel it stands in" in answer.content
    assert not answer.embeds


async def test_a3_the_name_of_a_secret_channel_is_neither_found_nor_shown(stage: Stage) -> None:
    secret = stage.guild.create_text_channel(
        "layoffs-q3", overwrites={stage.guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    )
    history(stage, [f"it is all in <#{secret.id}> now"])

    assert "No match" in text_of(await ask(stage, "search", query="layoffs"))
    answer = await ask(stage, "search", query="all")
    assert quoted(answer) == [f"it is all in #channel-{secret.id} now"]


async def test_completions_are_offered_of_what_is_known_and_may_be_read(stage: Stage) -> None:
    stage.guild.create_text_channel(
        "generals-only", overwrites={stage.guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    )
    history(stage, ["!pin #limits x"])
    await ask(stage, "pins")

    places = await stage.ada.autocomplete(stage.channel, "search", "in", "gene", query="x")
    authors = await stage.ada.autocomplete(stage.channel, "search", "from", "ad", query="x")
    labels = await stage.ada.autocomplete(stage.channel, "pins", "label", "#li")

    assert [choice["value"] for choice in places] == [str(stage.channel.id)]
    assert [choice["value"] for choice in authors] == [str(stage.ada.id)]
    assert [choice["value"] for choice in labels] == ["limits"]


async def test_a2_an_answer_says_itself_that_it_pings_nobody(stage: Stage) -> None:
    history(stage, ["limiter @everyone <@&1> <@2> @here" for _ in range(30)])

    for public in (False, True):
        answer = await ask(stage, "search", query="limiter", public=public)
        await stage.ada.click(answer, label="Next")
        await ask(stage, "search", query="/[/", public=public)

    bodies = sent_by_bot(stage)
    assert len(bodies) >= 6
    assert all(body["allowed_mentions"] == {"parse": []} for body in bodies)
    assert all(not message.mentions and not message.mention_everyone for message in stage.ours())


async def test_excerpts_are_inert_and_spoilers_stay_hidden(stage: Stage) -> None:
    history(stage, ["# limiter [x](https://example.org) <@2>", "the ||limiter is the killer||"])

    answer = await ask(stage, "search", query="limiter", sort="newest")

    assert "> the ||limiter is the killer||\n" in raw_text(answer) + "\n"
    assert r"> \# limiter \[x\](https\://example.org) \@user-2" in raw_text(answer)


async def test_a_message_sent_while_the_question_is_asked_is_not_part_of_the_answer(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(25)])
    answer = await ask(stage, "search", query="limiter", sort="newest", public=True)
    await stage.ben.send(stage.channel, "limiter as well")

    following = answer_of(await stage.ada.click(answer, label="Next"))

    assert quoted(following) == [f"limiter {number}" for number in range(14, 4, -1)]
    first = answer_of(await stage.ada.click(following, label="Previous"))
    assert quoted(first) == [f"limiter {number}" for number in range(24, 14, -1)]


async def test_inside_a_thread_that_thread_is_searched_with_the_message_it_was_started_from(stage: Stage) -> None:
    [root, _] = history(stage, ["limiter, anyone?", "limiter outside"])
    thread = user_thread(stage.env, stage.channel.id, stage.ada.id, "limits", message_id=root)
    await stage.settle()
    inside = stage.env.backend.create_message(thread.id, stage.ben.id, "limiter inside")
    await stage.settle()
    handle = ChannelHandle(stage.env, stage.guild, thread)

    answer = await ask(stage, "search", query="limiter", where=handle)

    assert quoted(answer) == ["limiter inside", "limiter, anyone?"]
    links = f"https://discord.com/channels/{stage.guild.id}"
    assert f"{links}/{thread.id}/{inside.id}" in text_of(answer)
    assert f"{links}/{stage.channel.id}/{root}" in text_of(answer)
