from __future__ import annotations

from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.config import Config

from tests.asking import ask, configured, history, text_of
from tests.stage import Stage, set_stage


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
