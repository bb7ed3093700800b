from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.config import Config, MirrorConfig, Snowflake, parse_config
from recall_bot.mirror.file import MirrorFile
from recall_bot.queries import Electorate, StandingsRequest, room_standings
from recall_bot.roles import ROLES_FRESH_SECONDS
from simcord.backend import serializers

import recall
from tests.asking import answer_of, ask, buttons, configured, history, sent_by_bot, text_of
from tests.inertness import read_line
from tests.stage import Stage, set_stage
from tests.workshop import HIDE


def counting(**changes: Any) -> Any:
    """Return a change of the configuration for `set_stage`."""

    def change(config: Config) -> Config:
        config = configured()(config)
        return msgspec.structs.replace(config, standings=msgspec.structs.replace(config.standings, **changes))

    return change


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, counting())


def link(stage: Stage, message_id: int) -> str:
    return f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/{message_id}"


async def test_a_topic_shows_its_supporters_of_the_needed_number_and_where_they_said_so(stage: Stage) -> None:
    [fact] = history(stage, ["the canary held"])
    proposal = await stage.scout.send(stage.channel, "!propose #stage three regions")
    support = await stage.ada.send(stage.channel, f"!support #stage ^{fact} it held")

    shown = text_of(answer := await ask(stage, "standings"))

    assert answer.ephemeral
    assert "**Quorum: #stage is carried.**" in shown
    assert "**#stage** · 2 of 2 supporters · **carried** · weight 1,400\n" in shown
    scout, ada = link(stage, proposal.id), link(stage, support.id)
    assert f"supported by **scout** (app) [1]({scout}), **ada** [1]({ada})\n" in shown
    assert "I looked at all 3 messages, back to the very first" in shown
    assert "Everyone votes; 2 supporters carry a topic; the newest 500 messages count" in shown


def posted_for(stage: Stage, author_id: int, content: str, **more: Any) -> int:
    """Put a message there that claims to have been asked for by ada."""
    user = dict(serializers.user_payload(stage.env.backend.users[stage.ada.id]))
    metadata = {"id": str(stage.env.backend.snowflake()), "type": 2, "user": user, "authorizing_integration_owners": {}}
    create = stage.env.backend.create_message
    return create(stage.channel.id, author_id, content, interaction_metadata=metadata, **more).id


async def effects(stage: Stage, **options: Any) -> list[str]:
    """Return what the lines came to, newest first."""
    shown = text_of(await ask(stage, "standings", show="traces", **options))
    return [line.partition("): ")[2] or line for line in shown.split("\n") if line.startswith("<t:")]


async def test_a_line_that_we_posted_for_somebody_is_theirs_and_a_forged_one_is_not(stage: Stage) -> None:
    us = stage.env.backend.bot_user.id
    posted_for(stage, us, "!propose #real it is asked for")
    posted_for(stage, us, "Here is what I found.\n!propose #forged it is quoted")
    posted_for(stage, us, "!propose #forged  two spaces are not how we write it")
    stage.env.backend.create_message(stage.channel.id, us, "!propose #forged nobody asked")
    posted_for(stage, stage.scout.id, "!propose #scout another bot copies it")
    posted_for(stage, stage.ben.id, "!propose #ben a person cannot claim it")
    await stage.settle()

    shown = text_of(await ask(stage, "standings"))

    assert "#forged" not in shown
    named = [line.partition(" [1]")[0] for line in shown.split("\n") if line.startswith("supported by")]
    assert named == ["supported by **ada**", "supported by **scout** (app)", "supported by **ben**"]


async def test_a_quoted_line_and_one_in_code_count_for_nothing(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "> !propose #a\n`!propose #b`\n```\n!propose #c\n```\nI say !propose #d")
    await ask(stage, "search", query="propose", public=True)

    shown = text_of(await ask(stage, "standings"))

    assert "No topic is on the floor" in shown
    assert "`!propose #topic text` puts an option on the floor" in shown


async def test_an_edit_that_adds_a_trace_counts_and_one_that_takes_it_out_takes_it_back(stage: Stage) -> None:
    message = await stage.ada.send(stage.channel, "thinking")
    assert "No topic" in text_of(await ask(stage, "standings"))

    await stage.ada.edit(message, "!propose #late")
    assert "**#late** · 1 of 2" in text_of(await ask(stage, "standings"))

    await stage.ada.edit(message, "never mind")
    assert "No topic" in text_of(await ask(stage, "standings"))


async def test_a_deleted_evidence_message_takes_what_rests_on_it_with_it(env: simcord.Env) -> None:
    stage = await set_stage(env, counting(require_evidential=True))
    [fact] = history(stage, ["the fact"])
    evidence = await stage.ben.send(stage.channel, f"!evidence #stage ^{fact}")
    await stage.scout.send(stage.channel, "!propose #stage")
    await stage.ada.send(stage.channel, f"!support #stage ^{evidence.id} it holds")
    assert "2 of 2 supporters" in text_of(await ask(stage, "standings"))

    await stage.ben.delete(evidence)

    assert "1 of 2 supporters" in text_of(await ask(stage, "standings"))
    shown = text_of(await ask(stage, "standings", show="traces"))
    assert "nothing: what it cites is not here, so it rests on nothing. Cites *(gone)*." in shown


async def test_at_takes_a_message_its_link_or_a_time_and_shows_what_stood_then(stage: Stage) -> None:
    proposal, talk, _, _ = history(stage, ["!propose #stage", "talk", "talk", "!propose #stage too"])
    assert "2 of 2 supporters" in text_of(await ask(stage, "standings"))

    for at in (str(proposal), link(stage, talk), "2025-12-01T00:02"):
        shown = text_of(await ask(stage, "standings", at=at))
        assert "1 of 2 supporters" in shown
        assert "As of <t:" in shown
        assert "before <t:" in shown
    assert "(read as UTC)" in text_of(await ask(stage, "standings", at="2025-12-01T00:01"))
    assert "That is no time I can read" in (await ask(stage, "standings", at="soon")).content


async def test_a_decision_is_shown_with_who_carried_it_after_its_window_has_gone(env: simcord.Env) -> None:
    stage = await set_stage(env, counting(window=3))
    await stage.scout.send(stage.channel, "!propose #stage")
    await stage.ada.send(stage.channel, "!propose #stage")
    commit = await stage.ben.send(stage.channel, "!commit #stage")
    history_after = [await stage.ben.send(stage.channel, "talk") for _ in range(5)]

    shown = text_of(await ask(stage, "standings"))

    assert history_after
    assert "Deliberating: nothing is carried." in shown
    assert "**Decisions**, 1 in this reach, newest first:" in shown
    assert f"**#stage** [recorded]({link(stage, commit.id)}) by **ben**" in shown
    assert "carried by **scout** (app), **ada**." in shown


async def test_a_topic_is_asked_for_and_completed_and_an_unknown_one_is_answered_with_the_known(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "!propose #stage\n!propose #skip")
    await ask(stage, "standings")

    assert "**#skip**" not in text_of(await ask(stage, "standings", topic="#stage"))
    assert "#nothing is not on the floor in this reach.\nOn the floor: #stage, #skip." in text_of(
        await ask(stage, "standings", topic="nothing")
    )
    choices = await stage.ada.autocomplete(stage.channel, "standings", "topic", "st")
    assert [(choice["name"], choice["value"]) for choice in choices] == [("#stage", "stage")]
    assert "at most 300 characters" in (await ask(stage, "standings", topic="x" * 301)).content


async def test_export_gives_everything_as_markdown_and_as_json(stage: Stage) -> None:
    [fact, gone] = history(stage, ["**600** calls", "deleted"])
    stage.env.backend.delete_message(stage.channel.id, gone)
    await stage.scout.send(stage.channel, "!propose #stage")
    await stage.ada.send(stage.channel, f"!support #stage ^{fact} ^{gone} as ||measured||")
    await stage.ben.send(stage.channel, f"!refute #stage ^{fact}\n!question #stage why?\n!commit #stage\n!commit")

    answer = await ask(stage, "standings", show="export")
    files = {attachment.filename: await attachment.read() for attachment in answer.attachments}

    markdown = files[f"standings-{stage.channel.id}.md"].decode()
    assert markdown.startswith("# Standings: \\#general\n\n**Quorum: #stage is carried.**\n")
    assert "## #stage\n\n2 of 2 supporters, carried, weight 1400.\n" in markdown
    assert f"{gone} (gone)" in markdown
    assert "||measured||" in markdown
    assert "nothing: it names no topic" in markdown
    wire = json.loads(files[f"standings-{stage.channel.id}.json"])
    assert [topic["topic"] for topic in wire["topics"]] == ["stage"]
    assert wire["topics"][0]["refutations"][0]["cites"] == [str(fact)]
    assert [outcome["effect"] for outcome in wire["traces"]] == [
        *("counts", "counts", "refutes", "stands", "records", "no_topic"),
    ]
    assert (wire["gone"], wire["not_read"]) == ([str(gone)], [])
    assert recall.from_wire(recall.TraceOutcome, wire["traces"][0]).effect is recall.TraceEffect.COUNTS


async def test_every_topic_and_every_line_of_a_full_floor_is_reached_by_paging_within_every_limit(stage: Stage) -> None:
    [fact] = history(stage, ["the fact"])
    for number in range(12):
        topic = f"#t{number}*_" + "*" * 70
        body = f"!propose {topic} " + "*" * 900 + f"\n!refute {topic}x ^{fact} ^{fact + 1} ^{fact + 2} ^7 ^8 ^9"
        stage.env.backend.create_message(stage.channel.id, (stage.ada, stage.ben)[number % 2].id, body)
        stage.env.backend.create_message(stage.channel.id, stage.scout.id, f"!support {topic} ^{fact}")
    await stage.settle()

    for show, count in (("standings", 12), ("traces", 36)):
        answer, found = await ask(stage, "standings", show=show), 0
        while True:
            body = answer.embeds[0].description or ""
            found += body.count("supporters") if show == "standings" else body.count("\n> ")
            assert all(not read_line(line[2:]).active for line in body.split("\n") if line.startswith("> "))
            if not buttons(answer).get("Next"):
                break
            answer = answer_of(await stage.ada.click(answer, label="Next"))
        assert found == count
        assert len(body) <= 4096


async def test_standings_look_further_back_when_asked_to(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "SCAN_LIMIT", 20)
    stage.config = counting(window=2)(stage.config)
    await stage.restart()
    history(stage, ["!propose #early", "!propose #early", "!commit #early", *(f"hay {n}" for n in range(40))])

    answer = await ask(stage, "standings")
    assert "Older looks twice as far back" in text_of(answer).replace("**", "")
    for _ in range(2):
        answer = answer_of(await stage.ada.click(answer, label="Older"))

    assert "#early recorded" in re.sub(r"\*|\[|\]\([^)]*\)", "", text_of(answer))
    assert buttons(answer) == {"Newer": True, "Older": False}


async def test_a_webhook_is_one_voter_under_all_its_names_and_only_where_it_is_listed(env: simcord.Env) -> None:
    stage = await set_stage(env, counting(threshold=1))
    webhook = stage.guild.create_webhook(stage.channel)
    for name in ("one", "two"):
        await webhook.send("!propose #hook", username=name)
    assert "No topic" in text_of(await ask(stage, "standings"))
    assert "its author does not vote here" in text_of(await ask(stage, "standings", show="traces"))

    for clean in (False, True):
        stage.config = counting(webhooks=frozenset({Snowflake(webhook.id)}) if not clean else frozenset())(stage.config)
        await stage.restart()
        shown = text_of(await ask(stage, "standings"))
        assert ("1 of 1 supporters" in shown) is not clean


async def test_those_who_hold_a_role_now_vote_where_the_role_does(stage: Stage) -> None:
    role = stage.guild.create_role("voters")
    cleo = stage.guild.add_member(stage.env.create_user("cleo"), roles=[role])
    for who in (cleo, stage.ada, stage.scout):
        await who.send(stage.channel, "!propose #stage")
    stage.config = counting(voters="role", roles=frozenset({Snowflake(role.id)}))(stage.config)
    await stage.restart()

    shown = text_of(await ask(stage, "standings"))
    assert "1 of 2 supporters" in shown
    assert "Who holds a voting role votes" in shown
    asked = [request.path for request in stage.env.http_requests if "/members/" in request.path]
    await ask(stage, "standings", show="traces")
    again = [request.path for request in stage.env.http_requests if "/members/" in request.path]
    assert len([path for path in again if not path.endswith(str(stage.ada.id))]) == len(
        [path for path in asked if not path.endswith(str(stage.ada.id))]
    ), "what is known of roles is not asked again"

    await stage.env.advance_time(ROLES_FRESH_SECONDS)
    stage.env.http_requests.clear()
    await ask(stage, "standings")
    assert [r.path for r in stage.env.http_requests if r.path.endswith(f"/members/{cleo.id}")], "roles may have changed"

    stage.guild.remove_member(cleo)
    await stage.restart()
    assert "No topic" in text_of(await ask(stage, "standings"))


async def test_a_channel_may_have_rules_of_its_own(stage: Stage) -> None:
    rules = parse_config(f"[channel.{stage.channel.id}.standings]\nthreshold = 1\nvoters = 'people'")
    stage.config = msgspec.structs.replace(stage.config, channel=rules.channel)
    await stage.restart()
    for channel in (stage.channel, stage.quiet):
        await stage.ada.send(channel, "!propose #mine")
        await stage.scout.send(channel, "!propose #its")

    here, there = [text_of(await ask(stage, "standings", where=where)) for where in (stage.channel, stage.quiet)]

    assert "Quorum: #mine is carried" in here
    assert "#its" not in here
    assert "Deliberating" in there
    assert "#its" in there


async def test_the_mirror_and_discord_give_the_same_standings(env: simcord.Env) -> None:
    stage = await set_stage(env, counting())
    webhook = stage.guild.create_webhook(stage.channel)
    facts = history(stage, ["one", "two", "three"])
    proposal = await stage.scout.send(stage.channel, f"!propose #a ^{facts[0]}")
    await webhook.send(f"!support #a ^{facts[1]}", username="x")
    support = await stage.ada.send(stage.channel, f"!support #a ^{facts[1]}\n!propose #b")
    await stage.ben.send(stage.channel, f"!object >{support.id} ^{facts[2]} no", reply_to=proposal)
    last = await stage.ben.send(stage.channel, "!commit #a")

    async def answers() -> list[str]:
        asked = [await ask(stage, "standings", show=show, at=str(at)) for show in SHOWS for at in (last.id, support.id)]
        return [text_of(answer) for answer in asked]

    first = await answers()
    env.http_requests.clear()
    second = await answers()
    assert not [request for request in env.http_requests if "/messages" in request.path and request.method == "GET"]
    stage.config = msgspec.structs.replace(stage.config, mirror=MirrorConfig(enabled=False))
    await stage.restart()
    bare = await answers()

    assert first == second == bare
    assert "supported by" in first[0]


SHOWS = ("standings", "traces")


async def test_who_may_not_read_a_channel_learns_nothing_of_its_standings(stage: Stage) -> None:
    secret = stage.guild.create_text_channel("secret", overwrites={stage.guild.default_role: HIDE})
    stage.env.backend.create_message(secret.id, stage.ben.id, "!propose #layoffs")
    await stage.settle()

    hidden = await ask(stage, "standings", place=str(secret.id))
    nowhere = await ask(stage, "standings", place="nowhere")

    assert hidden.content == nowhere.content
    assert await stage.ada.autocomplete(stage.channel, "standings", "topic", "lay") == []
    elsewhere = await ask(stage, "standings", place=str(stage.quiet.id), public=True)
    assert "A public answer can only be about the channel" in elsewhere.content


async def test_a2_standings_ping_nobody_by_any_path(stage: Stage) -> None:
    [fact] = history(stage, ["@everyone"])
    for number in range(15):
        text = f"!propose #@here{number} @everyone <@&1>\n!support #@here{number} ^{fact} <@2>"
        stage.env.backend.create_message(stage.channel.id, stage.ada.id, text)
    await stage.settle()

    for show in (*SHOWS, "export"):
        answer = await ask(stage, "standings", show=show, public=True)
        if buttons(answer):
            await stage.ada.click(answer, label="Next")

    bodies = sent_by_bot(stage)
    assert len(bodies) >= 4
    assert all(body["allowed_mentions"] == {"parse": []} for body in bodies)
    assert all(not message.mentions and not message.mention_everyone for message in stage.ours())


async def test_a_mirror_asked_by_itself_knows_whose_lines_count(stage: Stage) -> None:
    webhook = stage.guild.create_webhook(stage.channel)
    await webhook.send("!propose #hook", username="x")
    await stage.ada.send(stage.channel, "!propose #mine")
    shown = text_of(await ask(stage, "standings"))
    await stage.bot.close()

    with MirrorFile(Path(stage.config.mirror.path)) as mirror:
        desk = mirror.open(str(stage.channel.id))
        answer = await room_standings(desk, StandingsRequest())
        listed = StandingsRequest(electorate=Electorate(webhooks=frozenset({str(webhook.id)})))
        listening = await room_standings(desk, listed)

    assert "#mine" in shown
    assert answer.floor == ("mine",)
    assert listening.floor == ("hook", "mine")
