from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import discord
import pytest
from aiohttp import web
from recall_bot.config import Config, MirrorConfig, SearchConfig, StateConfig
from recall_bot.doctor import Finding, diagnose, remote
from recall_bot.doctor import machine as at_home
from recall_bot.mirror import LIVE, SCHEMA_VERSION, Mirror, Place
from recall_bot.readiness import PORTAL_SWITCH
from recall_bot.state import State

import recall
from tests.beside_the_bot import run
from tests.guild_server import GuildServer, serve_guild
from tests.payloads import CHANNEL, FORUM, GUILD, SECRET, channel, overwrite
from tests.small_disks import mount, small_disk

ENVIRON = {"DISCORD_TOKEN": "made.up.token"}
NO_HISTORY = overwrite(GUILD, deny=discord.Permissions(read_message_history=True))
NO_VIEW = overwrite(GUILD, deny=discord.Permissions(view_channel=True))
NO_SENDING = overwrite(GUILD, deny=discord.Permissions(send_messages=True))
NO_CONNECT = overwrite(GUILD, deny=discord.Permissions(connect=True))


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[GuildServer]:
    async with serve_guild(monkeypatch, channels=[channel(CHANNEL, "general")]) as opened:
        yield opened


async def findings(guild_id: int | None = None, environ: dict[str, str] = ENVIRON, **keys: Any) -> dict[str, Finding]:
    """Return what is found with ./config.toml, by check; what is found twice must not be there."""
    found = [finding async for finding in diagnose(None, environ, guild_id=guild_id, **keys)]
    assert len({finding.check for finding in found}) == len(found)
    return {finding.check: finding for finding in found}


def configure(text: str) -> None:
    Path("config.toml").write_text(text)


async def test_where_all_is_well_every_line_says_so(server: GuildServer) -> None:
    found = await findings()
    assert {finding.state for finding in found.values()} == {"ok"}
    assert list(found) == [
        *("configuration", "versions", "expressions", "mirror", "state"),
        *("token", "clock", "login", "intents", "gateway", "guilds"),
    ]
    assert found["login"].found == "as Recall (100)"
    assert found["gateway"].found == "1 shard, 1,000 of 1,000 starts left today"
    assert found["configuration"].found == "the defaults; there is no config.toml here"
    for name in ("Python", "discord.py", "regex", "SQLite"):
        assert name in found["versions"].found
    assert "IDENTIFY" not in server.asked


async def test_nothing_is_made_by_looking(server: GuildServer) -> None:
    await findings(guild_id=GUILD)
    assert list(Path().iterdir()) == []
    assert all(line.startswith("GET ") for line in server.asked)


async def test_a_wrong_configuration_is_all_that_is_looked_at_but_for_the_versions(server: GuildServer) -> None:
    configure("[mirrors]")
    found = await findings()
    assert [(check, finding.state) for check, finding in found.items()] == [
        ("configuration", "wrong"),
        ("versions", "ok"),
    ]
    assert "config.toml: mirrors: unknown key" in found["configuration"].found
    assert server.asked == []


async def test_the_configuration_that_is_read_is_named(server: GuildServer, tmp_path: Path) -> None:
    configure("")
    assert (await findings())["configuration"].found == "config.toml"
    (tmp_path / "other.toml").write_text("")
    environ = {**ENVIRON, "RECALL_CONFIG": "other.toml"}
    assert (await findings(environ=environ))["configuration"].found == "other.toml"


async def test_no_token_ends_it_before_discord(server: GuildServer) -> None:
    found = await findings(environ={})
    assert list(found)[-1] == "token"
    assert found["token"].state == "wrong"
    assert server.asked == []


async def test_a_token_that_discord_refuses_is_named(server: GuildServer) -> None:
    server.login_status = 401
    found = await findings()
    assert (found["login"].state, "intents" in found) == ("wrong", False)
    assert "Discord refuses the token" in found["login"].found


async def test_the_switch_in_the_portal_is_named(server: GuildServer) -> None:
    server.flags = 0
    found = await findings()
    assert (found["intents"].state, found["intents"].advice) == ("wrong", PORTAL_SWITCH)
    assert found["guilds"].state == "ok"


async def test_a_discord_that_is_not_there_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord.http.Route, "BASE", "http://127.0.0.1:1")  # nothing listens below port 1024
    found = await findings()
    assert found["clock"].state == "note"
    assert (found["login"].state, "Discord does not answer" in found["login"].found) == ("wrong", True)


async def test_a_discord_that_fails_half_way_is_said_to(server: GuildServer) -> None:
    server.answers = {"/users/@me/guilds": [503]}
    found = await findings()
    assert list(found)[-1] == "discord"
    assert found["discord"].state == "wrong"


@pytest.mark.parametrize(("off", "words"), [(3600, "s ahead of"), (-45, "s behind")])
async def test_a_clock_that_is_off_is_told_by_how_much(server: GuildServer, off: int, words: str) -> None:
    finding = await remote.clock(lambda: time.time() + off)
    assert (finding.state, words in finding.found) == ("wrong", True)
    seconds = int(finding.found.removeprefix("it is ").split(" ")[0].replace(",", ""))
    assert abs(seconds - abs(off)) <= 2


async def test_an_answer_without_a_date_is_no_reason_to_stop(server: GuildServer) -> None:
    async def dateless(_request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"Date": "soon"})

    server.answers = {"/gateway": [dateless]}
    assert (await remote.clock()).state == "note"


async def test_starts_that_are_used_up_are_wrong(server: GuildServer) -> None:
    server.starts_left = 0
    found = await findings()
    assert (found["gateway"].state, found["gateway"].found) == ("wrong", "1 shard, 0 of 1,000 starts left today")


async def test_ids_of_the_configuration_that_lead_nowhere_are_named(server: GuildServer) -> None:
    configure(f"[channels]\nenabled = [{CHANNEL}, 5]\n[mirror]\nprewarm = [6]\n[sync]\nguilds = [{GUILD}, 7]")
    found = await findings()
    wrong = {check: finding.found for check, finding in found.items() if finding.state == "wrong"}
    assert wrong == {
        "sync.guilds": "it is not in guild 7",
        "channels.enabled": "5 is no channel that it may see",
        "mirror.prewarm": "6 is no channel that it may see",
    }


async def test_each_channel_of_a_guild_says_what_the_bot_lacks_there(server: GuildServer) -> None:
    server.channels += [
        channel(CHANNEL + 10, "blind", permission_overwrites=[NO_VIEW]),
        channel(CHANNEL + 11, "half", permission_overwrites=[NO_HISTORY]),
        channel(CHANNEL + 12, "stage", kind=2, permission_overwrites=[NO_CONNECT]),
        channel(CHANNEL + 13, "mute", permission_overwrites=[NO_SENDING]),
        channel(CHANNEL + 14, "switched", permission_overwrites=[NO_SENDING]),
        channel(CHANNEL + 15, "off", permission_overwrites=[NO_SENDING]),
        channel(FORUM, "ideas", kind=15),
        channel(SECRET, "rooms", kind=4),
    ]
    configure(f"[channels]\nenabled = [{CHANNEL + 13}, {CHANNEL + 15}]")
    state = State("state.sqlite", now=lambda: 0.0)
    await state.switch(CHANNEL + 14, GUILD, on=True)
    await state.switch(CHANNEL + 15, GUILD, on=False)
    found = {name: finding for name, finding in (await findings(GUILD)).items() if name.startswith("#")}
    assert {name: finding.state for name, finding in found.items()} == {
        "#general": "ok",
        "#blind": "note",
        "#half": "wrong",
        "#stage": "wrong",
        "#mute": "wrong",
        "#switched": "wrong",
        "#off": "ok",
        "#ideas": "ok",
    }
    assert found["#half"].found == "it lacks Read Message History, so questions about it are refused"
    assert found["#stage"].found == "it lacks Connect, so questions about it are refused"
    assert "Send Messages" in found["#mute"].found
    assert found["#mute"].found.endswith("and is to act here unasked")


async def test_a_guild_that_the_bot_is_not_in_is_named(server: GuildServer) -> None:
    found = await findings(guild_id=12345)
    assert (found["guild"].state, found["guild"].found) == ("wrong", "it is not in guild 12345")


async def test_no_guild_at_all_is_wrong(server: GuildServer) -> None:
    server.joined = False
    assert (await findings())["guilds"].state == "wrong"


# The machine


@pytest.fixture
async def mirrored(tmp_path: Path) -> Path:
    path = tmp_path / "mirror.sqlite"
    mirror = Mirror(str(path), clock=lambda: 0.0, now=lambda: 1.0)
    await mirror.new_epoch()
    ticket = mirror.ticket(Place(1, 9, 1))
    rows = [recall.LogMessage(n, "1", None, recall.PersonAuthor("1", "Ada"), "x" * 200) for n in range(300, 0, -1)]
    await mirror.write_page(ticket, rows, low=0, high=LIVE)
    mirror.settle(ticket)
    await mirror.close()
    return path


def mirror_findings(path: Path | str = "mirror.sqlite", **keys: Any) -> list[Finding]:
    return list(at_home.mirror(Config(mirror=MirrorConfig(path=str(path), **keys))))


def states(found: list[Finding]) -> list[str]:
    return [finding.state for finding in found]


async def test_a_healthy_mirror_says_how_large_it_is(mirrored: Path) -> None:
    (found,) = mirror_findings(mirrored)
    assert found.state == "ok"
    assert found.found.startswith(f"{mirrored}: version {SCHEMA_VERSION}, 0.")
    assert found.found.endswith(" MiB, 300 messages of 1 channels and threads")


async def test_a_mirror_that_is_off_or_in_memory_or_not_there_is_no_fault(tmp_path: Path) -> None:
    assert states(mirror_findings(enabled=False)) == ["note"]
    assert states(mirror_findings(":memory:")) == ["note"]
    assert states(mirror_findings(tmp_path / "m.sqlite")) == ["ok"]
    assert states(mirror_findings(tmp_path / "nowhere" / "m.sqlite")) == ["wrong"]


async def test_a_mirror_that_others_may_read_is_wrong(mirrored: Path) -> None:
    mirrored.chmod(0o644)
    found = mirror_findings(mirrored)
    assert states(found) == ["ok", "wrong"]
    assert found[1].advice == f"chmod 600 {mirrored}"


async def test_a_damaged_mirror_is_wrong(mirrored: Path) -> None:
    content = bytearray(mirrored.read_bytes())
    content[20_000:40_000] = b"\xff" * 20_000
    mirrored.write_bytes(content)
    (found,) = mirror_findings(mirrored)
    assert (found.state, "is damaged" in found.found) == ("wrong", True)


async def test_what_is_no_mirror_or_a_newer_one_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "m.sqlite").write_bytes(b"no database")
    assert states(mirror_findings(tmp_path / "m.sqlite")) == ["wrong"]
    with closing(sqlite3.connect(tmp_path / "newer.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    (found,) = mirror_findings(tmp_path / "newer.sqlite")
    assert (found.state, "newer version" in found.found) == ("wrong", True)


@pytest.mark.parametrize("name", ["mirror", "state"])
async def test_a_file_that_is_only_locked_is_not_to_be_deleted(
    mirrored: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("recall_bot.mirror.readonly.BUSY_SECONDS", 0.0)
    monkeypatch.setattr(at_home, "LOCKED_SECONDS", 0.0)
    path = mirrored.with_name(f"{name}.sqlite")
    if name == "state":
        await State(str(path), now=lambda: 0.0).switch(1, 9, on=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE another(it)")
        config = Config(mirror=MirrorConfig(path=str(path)), state=StateConfig(path=str(path)))
        (found,) = getattr(at_home, name)(config)
        other.rollback()
    assert (found.state, found.found) == ("wrong", f"{path} is locked by another process")
    assert "Do not delete it" in found.advice


async def test_a_state_file_that_cannot_be_written_is_wrong(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "1m") as disk:
        path = disk / "state.sqlite"
        config = Config(state=StateConfig(path=str(path)))
        await State(str(path), now=lambda: 0.0).switch(1, 9, on=True)
        mount("-o", "remount,ro", str(disk))
        found = list(at_home.state(config))
        assert [each.state for each in found] == ["wrong", "ok"]
        assert found[0].found == f"{path} cannot be written to"
        assert states(list(at_home.state(Config(state=StateConfig(path=str(disk / "none.sqlite")))))) == ["wrong"]


async def test_a_broken_mirror_that_was_set_aside_is_named(mirrored: Path) -> None:
    mirrored.with_name("mirror.sqlite.broken-1").write_bytes(b"")
    assert states(mirror_findings(mirrored)) == ["ok", "note"]


async def test_a_full_disk_and_a_folder_that_cannot_be_written_to_are_wrong(
    mirrored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = type(shutil.disk_usage(mirrored))(100, 100, 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert states(mirror_findings(mirrored)) == ["ok", "wrong", "wrong"]


async def test_the_state_file_says_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    config = Config(state=StateConfig(path=str(path)))
    assert states(list(at_home.state(config))) == ["ok"]
    state = State(str(path), now=lambda: 0.0)
    await state.switch(1, 9, on=True)
    await state.forget_author("7")
    (found,) = at_home.state(config)
    assert found.found.endswith("1 switched on by command, 1 authors not to be stored")
    path.write_bytes(b"no database" * 100)
    assert states(list(at_home.state(config))) == ["wrong"]
    assert states(list(at_home.state(Config(state=StateConfig(path=":memory:"))))) == ["note"]


async def test_expressions_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await at_home.expressions(Config())).state == "ok"
    assert (await at_home.expressions(Config(search=SearchConfig(expressions="off")))).state == "note"
    monkeypatch.setattr("recall_bot.doctor.machine.Matcher", Unbounded)
    assert (await at_home.expressions(Config())).state == "wrong"


class Unbounded:
    """A matcher where the system cannot bound a process."""

    def __init__(self, **_: object) -> None: ...

    async def __aenter__(self) -> Unbounded:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def search(self, *_: object, asker: str) -> None:
        raise recall.RegexUnsupported


async def test_an_old_sqlite_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 30, 0))
    assert at_home.versions().state == "wrong"


# The command


async def test_the_command_prints_a_line_for_each_and_ends_with_0_where_all_is_well(
    server: GuildServer, tmp_path: Path
) -> None:
    ended = await run(server.url, "doctor", "--guild", GUILD, folder=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "ok    configuration: the defaults; there is no config.toml here."
    assert lines[-1] == "ok    #general: it may read here."


async def test_the_command_ends_with_1_where_something_is_wrong(server: GuildServer, tmp_path: Path) -> None:
    server.flags = 0
    ended = await run(server.url, "doctor", "--json", folder=tmp_path)
    assert ended.status == 1
    found = {finding["check"]: finding for finding in json.loads(ended.out)["findings"]}
    assert found["intents"]["state"] == "wrong"
    assert found["login"] == {"check": "login", "state": "ok", "found": "as Recall (100)", "advice": None}


async def test_the_command_refuses_a_guild_that_is_no_id(tmp_path: Path) -> None:
    assert (await run("", "doctor", "--guild", "workshop", folder=tmp_path)).status == 2


async def test_the_token_is_printed_nowhere(server: GuildServer, tmp_path: Path) -> None:
    ended = await run(server.url, "doctor", folder=tmp_path, token="very.secret.token")
    assert "very.secret" not in ended.out + ended.err
    assert os.environ.get("DISCORD_TOKEN") != "very.secret.token"
