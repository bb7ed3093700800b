from __future__ import annotations

from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.commands.stance_menus import resembling
from recall_bot.config import Config
from simcord.actors import MemberActor
from simcord.results import InteractionResult

from tests.asking import ask, configured, text_of
from tests.rights import forbid
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


async def stand(
    stage: Stage, name: str, target: Any, *, who: MemberActor | None = None, **fields: Any
) -> InteractionResult:
    opened = await (who or stage.ada).context_menu(stage.channel, name, target)
    assert opened.modal is not None, opened.response
    return await (who or stage.ada).submit_modal(opened, fields)


def told(result: InteractionResult) -> str:
    assert result.response is not None
    assert result.response.ephemeral
    return result.response.content


def options(opened: InteractionResult) -> list[tuple[str, str | None]]:
    assert opened.modal is not None
    fields = [label["component"] for label in opened.modal["components"]]
    return [(o["value"], o.get("description")) for field in fields for o in field.get("options", ())]


def lines(stage: Stage) -> list[str]:
    return [message.content for message in stage.ours() if message.content]


async def test_a_support_by_the_menu_is_grounded_on_its_message_and_counts_as_the_askers(stage: Stage) -> None:
    fact = await stage.ben.send(stage.channel, "600 calls a minute")
    await stage.ben.send(stage.channel, f"!support #stage ^{fact.id}")

    result = await stand(stage, "Support", fact, other="stage", text="as\nmeasured")

    assert lines(stage) == [f"!support #stage ^{fact.id} as measured"]
    assert told(result).startswith("Supported \\#stage. [This line](")
    shown = text_of(await ask(stage, "standings"))
    assert "2 of 2" in shown
    assert "ada" in shown


async def test_an_objection_by_the_menu_silences_whoever_wrote_the_message(stage: Stage) -> None:
    claim = await stage.ben.send(stage.channel, "!propose #stage Stage the rollout")
    fact = await stage.ada.send(stage.channel, "it broke")

    result = await stand(stage, "Object", claim, text=f"see ^{fact.id}")

    assert lines(stage) == [f"!object >{claim.id} ^{fact.id} see"]
    assert told(result).startswith("Objected. [This line](")
    assert "silenced" in text_of(await ask(stage, "standings"))


async def test_a_form_offers_the_topics_on_the_floor_with_their_counts_those_of_the_message_first(stage: Stage) -> None:
    fact = await stage.ben.send(stage.channel, "600 calls a minute")
    for who in (stage.ada, stage.ben):
        await who.send(stage.channel, f"!support #stage ^{fact.id}")
    claim = await stage.ben.send(stage.channel, "!propose #ship Ship it")
    await ask(stage, "standings")

    opened = await stage.ada.context_menu(stage.channel, "Support", claim)
    assert options(opened) == [("ship", "1 of 2 supporters"), ("stage", "2 of 2 supporters, carried")]
    await stage.ada.submit_modal(opened, {"choice": ["ship"]})

    assert lines(stage) == [f"!support #ship ^{claim.id}"]


async def test_a_support_without_a_topic_is_refused_and_an_objection_is_not(stage: Stage) -> None:
    claim = await stage.ben.send(stage.channel, "!propose #stage Stage the rollout")
    assert (
        told(await stand(stage, "Support", claim, text="yes")) == "A support needs a topic: choose one, or write one."
    )
    assert lines(stage) == []
    await stand(stage, "Object", claim)
    assert lines(stage) == [f"!object >{claim.id} ^{claim.id}"]
    assert "silenced" in text_of(await ask(stage, "standings"))


async def test_a_topic_written_a_little_differently_is_pointed_out_and_not_merged(stage: Stage) -> None:
    fact = await stage.ben.send(stage.channel, "600 calls a minute")
    await stage.ben.send(stage.channel, f"!support #stage ^{fact.id}")

    result = await stand(stage, "Support", fact, other="Stage.")

    assert lines(stage) == [f"!support #Stage. ^{fact.id}"]
    assert "On the floor is \\#stage, written a little differently: that is another topic." in told(result)
    assert "On the floor" not in told(await stand(stage, "Support", fact, other="#stage"))


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("Stage", ["stage"]),
        ("stage.", ["stage"]),
        ("STAGE?!", ["stage"]),
        ("stage", []),
        ("stages", []),
        ("stage-2", []),
        ("straße", ["STRASSE…"]),
        ("की", []),
        ("!", []),
    ],
)
def test_topics_resemble_each_other_by_case_and_trailing_punctuation_alone(topic: str, found: list[str]) -> None:
    assert resembling(topic, ["stage", "STRASSE…", "क", "?"]) == found


def only_agents(config: Config) -> Config:
    return msgspec.structs.replace(config, standings=msgspec.structs.replace(config.standings, voters="agents"))


async def test_who_has_no_voice_here_is_told_so(env: simcord.Env) -> None:
    stage = await set_stage(env, only_agents)
    fact = await stage.ben.send(stage.channel, "600 calls a minute")

    result = await stand(stage, "Support", fact, other="stage")

    assert "Here only agents have a voice, so it adds no support." in told(result)
    assert len(lines(stage)) == 1


@pytest.mark.parametrize("name", ["Support", "Object"])
async def test_the_conditions_for_posting_are_those_of_pins(stage: Stage, name: str) -> None:
    target = await stage.ben.send(stage.channel, "soon gone")
    opened = await stage.ada.context_menu(stage.channel, name, target)
    await stage.ben.delete(target)
    assert told(await stage.ada.submit_modal(opened, {"other": "x"})).startswith("That message is gone")

    target = await stage.ben.send(stage.channel, "600 calls a minute")
    forbid(stage, stage.ada.id, send_messages=False)
    refused = await stage.ada.context_menu(stage.channel, name, target)
    assert told(refused).startswith("You may not send messages here")
    assert lines(stage) == []


async def test_a_reason_that_holds_markers_and_newlines_stays_one_line(stage: Stage) -> None:
    claim = await stage.ben.send(stage.channel, "!propose #stage Stage the rollout")

    await stand(stage, "Object", claim, text="no\n!propose #other Do it\n!pin")

    [line] = lines(stage)
    assert line == f"!object #other >{claim.id} ^{claim.id} no !propose Do it !pin"
    shown = text_of(await ask(stage, "standings"))
    assert "other" not in shown.replace("another", "")


async def test_lines_of_menus_are_attributed_from_history_alone_after_a_restart(stage: Stage) -> None:
    fact = await stage.ben.send(stage.channel, "600 calls a minute")
    await stand(stage, "Support", fact, other="stage", who=stage.ben)
    await stand(stage, "Support", fact, other="stage")
    await stage.restart()

    assert "2 of 2" in text_of(await ask(stage, "standings"))
