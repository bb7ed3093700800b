from __future__ import annotations

import discord
import pytest
import simcord
from recall_bot.paging import NOT_READABLE, NOT_YOURS
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from tests.asking import answer_of, ask, buttons, configured, history, quoted, text_of
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


async def test_pages_are_turned_both_ways(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(25)])
    first = await ask(stage, "search", query="limiter", sort="newest")
    shown = quoted(first)
    assert buttons(first) == {"Previous": False, "Next": True}

    second = answer_of(await stage.ada.click(first, label="Next"))
    assert quoted(second) == [f"limiter {number}" for number in range(14, 4, -1)]
    assert buttons(second) == {"Previous": True, "Next": True}

    third = answer_of(await stage.ada.click(second, label="Next"))
    assert quoted(third) == [f"limiter {number}" for number in range(4, -1, -1)]
    assert buttons(third) == {"Previous": True, "Next": False}
    assert "Hits 21 to 25" in text_of(third)

    second = answer_of(await stage.ada.click(third, label="Previous"))
    assert quoted(answer_of(await stage.ada.click(second, label="Previous"))) == shown


async def test_an_answer_that_fits_one_page_has_no_buttons(stage: Stage) -> None:
    history(stage, ["limiter"])

    assert not buttons(await ask(stage, "search", query="limiter"))


async def test_pages_of_an_answer_are_turned_by_the_process_that_follows(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(15)])
    found = await ask(stage, "search", query="limiter", sort="newest")
    for number in range(13):
        await stage.ada.send(stage.channel, f"!pin #p{number}")
    board = await ask(stage, "pins", public=True)

    await stage.restart()

    assert quoted(answer_of(await stage.ada.click(found, label="Next")))[-1] == "limiter 0"
    assert "**Older pins**, 1" in text_of(answer_of(await stage.ada.click(board, label="Next")))


async def test_only_the_asker_turns_pages_and_others_are_told_kindly(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(15)])
    answer = await ask(stage, "search", query="limiter", public=True)
    before = text_of(answer)

    told = answer_of(await stage.ben.click(answer, label="Next"))

    assert told.ephemeral
    assert told.content == NOT_YOURS
    assert text_of(answer) == before
    assert quoted(answer_of(await stage.ada.click(answer, label="Next")))


async def test_access_is_asked_for_again_when_a_page_is_turned(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(15)], stage.quiet)
    answer = await ask(stage, "search", query="limiter", place="quiet")
    before = text_of(answer)
    deny = discord.Permissions(view_channel=True).value
    overwrite = Overwrite(stage.ada.id, OverwriteType.MEMBER, allow=0, deny=deny)
    stage.env.backend.set_overwrite(stage.quiet.id, overwrite)
    await stage.settle()

    result = await stage.ada.click(answer, label="Next")

    [told] = result.followups
    assert told.ephemeral
    assert "no channel or thread by that name" in told.content
    assert text_of(answer) == before


async def test_an_answer_whose_question_is_lost_says_so(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(15)])
    answer = await ask(stage, "search", query="limiter", public=True)
    stored = stage.env.backend.get_message(stage.channel.id, answer.id)
    for url in (None, "https://discord.com/channels/1/2?recall=AAAA"):
        stored.embeds[0]["url"] = url
        told = answer_of(await stage.ada.click(answer, label="Next"))
        assert (told.content, told.ephemeral) == (NOT_READABLE, True)
    stored.embeds.clear()
    assert answer_of(await stage.ada.click(answer, label="Next")).content == NOT_READABLE


async def test_a_question_that_is_forged_to_be_somebody_elses_is_still_answered_to_the_presser_alone(
    stage: Stage,
) -> None:
    history(stage, [f"limiter {number}" for number in range(15)])
    mine = await ask(stage, "search", query="limiter", public=True)
    theirs = await ask(stage, "search", query="limiter", public=True, who=stage.ben)
    stored = stage.env.backend.get_message(stage.channel.id, mine.id)
    stored.embeds[0]["url"] = theirs.embeds[0].url

    assert answer_of(await stage.ada.click(mine, label="Next")).content == NOT_YOURS


async def test_the_buttons_go_with_the_cog(stage: Stage) -> None:
    history(stage, [f"limiter {number}" for number in range(15)])
    answer = await ask(stage, "search", query="limiter")

    await stage.bot.remove_cog("Recall")

    assert not (await stage.ada.click(answer, label="Next")).acknowledged


async def test_messages_deleted_meanwhile_leave_a_page_that_says_there_is_no_more(stage: Stage) -> None:
    sequences = history(stage, [f"limiter {number}" for number in range(15)])
    answer = await ask(stage, "search", query="limiter")
    for sequence in sequences[:8]:
        stage.env.backend.delete_message(stage.channel.id, sequence)

    answer = answer_of(await stage.ada.click(answer, label="Next"))

    assert "There are no more hits in this reach." in text_of(answer)
    assert buttons(answer) == {"Previous": True, "Next": False}
