"""R3: the bot was away. The next board is that of a bot that never stopped, and nobody is told of what is past."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import simcord
from recall_bot.config import Config

from tests.asking import ask, configured, history, quoted, text_of
from tests.stage import Stage, set_stage


def mirrored(path: str) -> Callable[[Config], Config]:
    def change(config: Config) -> Config:
        free: Config = configured()(config)
        return msgspec.structs.replace(free, mirror=msgspec.structs.replace(free.mirror, path=path))

    return change


def untold(stage: Stage, text: str) -> int:
    """Let Ben write what the bot is not told of."""
    return int(stage.env.backend.create_message(stage.channel.id, stage.ben.id, text, broadcast=False).id)


@pytest.mark.parametrize("restarts", [True, False], ids=["a restart", "a session that did not resume"])
async def test_r3_after_an_absence_the_board_is_that_of_a_bot_that_never_stopped(
    env: simcord.Env, tmp_path: Path, *, restarts: bool
) -> None:
    stage = await set_stage(env, mirrored(str(tmp_path / "mirror.sqlite")))
    one, two, three, four, five, six = history(stage, ["one", "two", "three", "four", "five", "six"])
    deleted = await stage.ben.send(stage.channel, f"!pin ^{one} #deleted")
    edited = await stage.ben.send(stage.channel, f"!pin ^{two} #before")
    await stage.ben.send(stage.channel, f"!pin ^{three} #taken-off")
    assert quoted(await ask(stage, "pins")) == ["three", "two", "one"]
    said = len(stage.ours())

    env.bot.dispatch("shard_disconnect", 0)
    backend, channel = env.backend, stage.channel.id
    for target, label in ((four, "four"), (five, "five"), (six, "six")):
        untold(stage, f"!pin ^{target} #{label}" + " and much more" * 60)
    untold(stage, f"!unpin ^{three}")
    del backend.messages[channel][deleted.id]
    backend.get_message(channel, edited.id).content = f"!pin ^{two} #after"
    if restarts:
        await stage.restart()
    else:
        env.bot.dispatch("shard_connect", 0)
    await env.advance_time(10)

    board = await ask(stage, "pins")
    assert quoted(board) == ["six", "five", "four", "two"]
    assert "#after" in text_of(board)
    assert "#before" not in text_of(board)
    assert "#taken-off" not in text_of(board)
    assert "#deleted" not in text_of(board)
    assert len(stage.ours()) == said
    assert quoted(await ask(stage, "pins")) == ["six", "five", "four", "two"]
