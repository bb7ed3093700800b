from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import discord
import msgspec
import pytest
import simcord
from recall_bot.commands.recall import FORGOTTEN, HELP
from recall_bot.config import Config, MirrorConfig, StateConfig
from recall_bot.state import STATE_RETRY_SECONDS, NotSaved, State
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle

from tests.asking import ask, configured, quoted
from tests.rights import forbid
from tests.stage import Stage, set_stage


async def told(stage: Stage, part: str, *, who: MemberActor | None = None, where: ChannelHandle | None = None) -> str:
    answer = await ask(stage, f"recall {part}", who=who, where=where)
    assert answer.ephemeral
    return str(answer.content)


def keeper_of(stage: Stage) -> MemberActor:
    role = stage.guild.create_role("keepers", permissions=discord.Permissions(manage_channels=True))
    return stage.guild.add_member(stage.env.create_user("kim"), roles=[role])


@pytest.fixture
def keeper(stage: Stage) -> MemberActor:
    return keeper_of(stage)


async def markers_reacted(stage: Stage, where: ChannelHandle) -> list[str]:
    return stage.reactions(await stage.ada.send(where, "!pin"))


async def test_switching_on_lets_it_act_there_and_off_ends_that(stage: Stage, keeper: MemberActor) -> None:
    assert await markers_reacted(stage, stage.quiet) == []
    assert "Recall is on" in await told(stage, "enable", who=keeper, where=stage.quiet)
    assert await markers_reacted(stage, stage.quiet) == ["📌"]
    assert "Recall is off" in await told(stage, "disable", who=keeper, where=stage.quiet)
    assert await markers_reacted(stage, stage.quiet) == []


async def test_a_command_counts_before_the_configuration(stage: Stage, keeper: MemberActor) -> None:
    assert await markers_reacted(stage, stage.channel) == ["📌"]
    await told(stage, "disable", who=keeper)
    assert await markers_reacted(stage, stage.channel) == []
    assert (await ask(stage, "pins")).embeds  # what is asked for works


@pytest.mark.parametrize("part", ["enable", "disable"])
async def test_who_may_not_manage_the_channel_switches_nothing(stage: Stage, part: str) -> None:
    assert "Manage Channels" in await told(stage, part, where=stage.quiet)
    assert await markers_reacted(stage, stage.quiet) == []
    assert await markers_reacted(stage, stage.channel) == ["📌"]


async def test_what_was_switched_outlasts_a_restart(stage: Stage, keeper: MemberActor) -> None:
    await told(stage, "enable", who=keeper, where=stage.quiet)
    await stage.restart()
    assert await markers_reacted(stage, stage.quiet) == ["📌"]


async def test_nothing_is_said_on_joining_a_guild(stage: Stage) -> None:
    guild = stage.env.create_guild("Elsewhere")
    channel = guild.create_text_channel("general")
    await stage.settle()
    assert stage.ours(channel) == []


async def test_the_status_says_what_is_on_stored_and_missing(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "one")
    before = await told(stage, "status")
    assert "**Unasked:** on" in before
    assert "nothing of this channel" in before
    assert "**Permissions missing here:** none." in before
    await ask(stage, "pins")
    assert "a copy of 1 message of this channel and its threads, since 2026-01-01" in await told(stage, "status")
    await stage.deny(stage.quiet, add_reactions=False, attach_files=False)
    assert "**Permissions missing here:** Attach Files, Add Reactions." in await told(
        stage, "status", where=stage.quiet
    )


async def test_the_status_counts_nothing_to_who_may_not_read_the_history(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "one")
    await ask(stage, "pins", who=stage.ben)
    forbid(stage, stage.ada.id, read_message_history=False)
    await stage.settle()
    assert "Stored" not in await told(stage, "status", who=stage.ada)
    assert "a copy of 1 message" in await told(stage, "status", who=stage.ben)


async def test_the_status_says_so_where_nothing_is_ever_stored(env: simcord.Env) -> None:
    def without(config: Config) -> Config:
        return msgspec.structs.replace(config, mirror=MirrorConfig(enabled=False))

    stage = await set_stage(env, without)
    assert "every question is read from Discord" in await told(stage, "status")


async def test_the_help_explains_and_fits(stage: Stage) -> None:
    assert await told(stage, "help") == HELP
    assert len(HELP) <= 2_000
    assert not any(line.startswith("!") for line in HELP.splitlines())


def stored_texts(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def test_who_asks_to_be_forgotten_is_erased_and_not_stored_again(env: simcord.Env, tmp_path: Path) -> None:
    stage = await set_stage(env, configured())
    await stage.ben.send(stage.channel, "unforgettable-words")
    await stage.ada.send(stage.channel, "other words")
    await ask(stage, "search", query="words")
    assert b"unforgettable-words" in stored_texts(tmp_path)

    assert await told(stage, "forget-me", who=stage.ben) == FORGOTTEN
    await stage.ben.send(stage.channel, "unforgettable-words again")
    await stage.settle()
    found = await ask(stage, "search", query="words")
    assert "unforgettable-words again" in quoted(found)
    assert b"unforgettable-words" not in stored_texts(tmp_path)
    await stage.restart()
    await ask(stage, "search", query="words")
    assert b"unforgettable-words" not in stored_texts(tmp_path)


async def test_a_change_that_cannot_be_saved_is_refused_and_not_made(stage: Stage, keeper: MemberActor) -> None:
    path = Path(stage.config.state.path)
    path.unlink(missing_ok=True)
    path.mkdir()
    assert "could not write that down" in await told(stage, "enable", who=keeper, where=stage.quiet)
    assert await markers_reacted(stage, stage.quiet) == []


async def test_who_is_to_be_forgotten_is_not_stored_either_where_the_bot_starts_while_that_cannot_be_read(
    env: simcord.Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bot.state.BUSY_SECONDS", 0.0)
    stage = await set_stage(env, configured())
    await told(stage, "forget-me", who=stage.ben)
    with closing(sqlite3.connect(tmp_path / "state.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        await stage.restart()
        await stage.ben.send(stage.channel, "unforgettable-words")
        answer = await ask(stage, "search", query="unforgettable-words")
        assert quoted(answer)  # from Discord
        assert b"unforgettable-words" not in stored_texts(tmp_path)
        other.rollback()

    await env.advance_time(STATE_RETRY_SECONDS)
    await stage.ada.send(stage.channel, "ordinary-words")
    await ask(stage, "search", query="words")
    assert b"unforgettable-words" not in stored_texts(tmp_path)
    assert b"ordinary-words" in stored_texts(tmp_path)


async def test_a_state_that_cannot_be_read_starts_with_the_configuration(tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"no database " * 1_000)
    state = State(str(path), now=lambda: 0)
    await state.load()
    assert state.switched([1]) is None
    assert len(caplog.records) == 1
    with pytest.raises(NotSaved):
        await state.switch(1, 2, on=True)
    assert state.switched([1]) is None


async def test_the_state_is_its_owners_alone_and_holds_no_text(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    state = State(str(path), now=lambda: 7)
    await state.switch(1, 2, on=True)
    await state.forget_author("3")
    assert path.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM switches").fetchall() == [(1, 2, 1, 7)]
        assert connection.execute("SELECT * FROM forgotten").fetchall() == [("3", 7)]
    connection.close()


@pytest.mark.parametrize(("ids", "on"), [((5, 1), True), ((1,), True), ((6, 4), None), ((7, 1), False)])
async def test_the_nearest_switch_counts(tmp_path: Path, ids: Iterable[int], on: bool | None) -> None:
    state = State(str(tmp_path / "state.sqlite"), now=lambda: 0)
    await state.switch(1, 2, on=True)
    await state.switch(7, 2, on=False)
    again = State(str(tmp_path / "state.sqlite"), now=lambda: 0)
    await again.load()
    assert again.switched(ids) is on


async def test_a_guild_that_is_left_is_forgotten(tmp_path: Path) -> None:
    state = State(str(tmp_path / "state.sqlite"), now=lambda: 0)
    await state.switch(1, 2, on=True)
    await state.switch(3, 4, on=True)
    await state.forget_guild(2)
    again = State(str(tmp_path / "state.sqlite"), now=lambda: 0)
    await again.load()
    assert (again.switched([1]), again.switched([3])) == (None, True)


def test_the_state_is_configured() -> None:
    assert Config().state == StateConfig("state.sqlite")
