from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import simcord
from recall_bot.config import Config, StandingsConfig

from tests.asking import answer_of, ask, buttons, configured, history, raw_text, text_of
from tests.inertness import read_line
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


async def test_a_topic_shows_its_supporters_of_the_needed_number_and_where_they_said_so(stage: Stage) -> None:
    [fact] = history(stage, ["the canary held"])
    proposal = await stage.scout.send(stage.channel, "!propose #stage three regions")
    support = await stage.ada.send(stage.channel, f"!support #stage ^{fact} it held")
    print(raw_text(await ask(stage, "standings")))
    print(raw_text(await ask(stage, "standings", show="traces")))
