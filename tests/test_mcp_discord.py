"""The MCP server over Discord itself: the list and the rights of one member bound it, in the same words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import discord
import msgspec
import pytest
from aiohttp import web
from mcp import Client
from recall_bot.__main__ import app
from recall_bot.config import Config, PinsConfig
from recall_bot.mcp_server.discord_source import RIGHTS_FRESH_SECONDS, NoIdentity, NotLetIn, open_discord
from recall_bot.mcp_server.serving import make_server, open_room
from recall_bot.state import State
from typer.testing import CliRunner

from tests.discord_server import BOT as BOT_USER
from tests.discord_server import serve
from tests.guild_server import GuildServer
from tests.history_server import FIRST_ID, respond
from tests.mcp_rooms import call, frames_in, refused, said
from tests.payloads import ADA, BEN, CHANNEL, GUILD, PRIVATE, SECRET, THREAD, channel, message, overwrite, thread, user

BOT = int(str(BOT_USER["id"]))
SHOWN_TO_BOT = overwrite(BOT, member=True, allow=discord.Permissions(view_channel=True))
SHOWN_TO_BEN = overwrite(BEN, member=True, allow=discord.Permissions(view_channel=True))
HIDDEN = overwrite(GUILD, deny=discord.Permissions(view_channel=True))
HOUR = 3_600_000 << 22


@dataclass
class MembersServer(GuildServer):
    """Know more members than the bot."""

    people: dict[int, str] = field(default_factory=lambda: {ADA: "Ada", BEN: "Ben"})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/api/v10").strip("/").split("/")
        if path[:1] == ["guilds"] and path[2:3] == ["members"] and path[3] != str(BOT):
            self.asked.append(f"GET /{'/'.join(path)}")
            name = self.people.get(int(path[3]))
            if name is None:
                return respond({"message": "Unknown Member", "code": 10007}, 404)
            base = {"roles": [], "joined_at": "2020-01-01T00:00:00+00:00", "deaf": False, "mute": False, "flags": 0}
            return respond({"user": user(int(path[3]), name), **base})
        if path[:1] == ["channels"] and path[2:3] == ["messages"] and len(path) > 3:
            held = (each for each in self.messages.get(int(path[1]), []) if each["id"] == path[3])
            found = next(held, None)
            return respond({"message": "Unknown Message", "code": 10008}, 404) if found is None else respond(found)
        return await super().handle(request)


def numbered(place: int, *texts: str) -> list[dict[str, Any]]:
    return [message(place, text, id=str(FIRST_ID + place + n * HOUR)) for n, text in enumerate(texts)]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MembersServer]:
    messages = {
        CHANNEL: numbered(CHANNEL, "limits are per key", "talk"),
        THREAD: numbered(THREAD, "inside a thread"),
        SECRET: numbered(SECRET, "salary"),
        PRIVATE: numbered(PRIVATE, "also salary"),
    }
    made = MembersServer(
        channels=[
            channel(CHANNEL, "general", last_message_id=messages[CHANNEL][-1]["id"]),
            channel(SECRET, "mods", permission_overwrites=[HIDDEN, SHOWN_TO_BOT, SHOWN_TO_BEN]),
            channel(PRIVATE, "leads"),
        ],
        threads=[thread(THREAD, "plan", CHANNEL, last_message_id=messages[THREAD][-1]["id"])],
        messages=messages,
    )
    async with serve(made) as opened:
        monkeypatch.setattr(discord.http.Route, "BASE", opened.url)
        yield opened


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def client_of(
    identity: int, *listed: int, clock: Clock | None = None, pins: PinsConfig | None = None
) -> AsyncIterator[Client]:
    config = Config(mcp=msgspec.structs.replace(Config().mcp, identity=identity), pins=pins or PinsConfig())
    async with (
        open_discord(config, "token", listed, clock=clock or Clock()) as source,
        open_room(config, source, State(":memory:", now=lambda: 0)) as room,
        Client(make_server(room)) as client,
    ):
        yield client


async def test_a_board_is_judged_by_the_rules_and_the_rights_of_this_moment(server: MembersServer) -> None:
    target = FIRST_ID + CHANNEL
    server.messages[CHANNEL] += numbered(CHANNEL, "", "", f"!pin ^{target}", f"!unpin ^{target}")[2:]
    async with client_of(ADA, CHANNEL) as client:
        assert (await call(client, "pins"))["pins"] == []
    async with client_of(ADA, CHANNEL, pins=PinsConfig(unpin="moderators")) as client:
        board = await call(client, "pins")
        assert [pin["id"] for pin in board["pins"]] == [str(target)]
        assert board["rules"] == "moderators"
        assert "The rules here: a pin is taken off by a moderator." in board["text"]


async def test_a_listed_channel_is_read_with_its_threads_and_called_verified(server: MembersServer) -> None:
    async with client_of(ADA, CHANNEL) as client:
        found = await call(client, "search", query="a")
        assert set(said(frames_in(found["text"])["Found messages"])) == {
            "limits are per key",
            "talk",
            "inside a thread",
        }
        assert found["coverage"]["as_of"] is None
        server.messages[CHANNEL] += numbered(CHANNEL, "", "", f"!pin ^{FIRST_ID + CHANNEL}")[2:]
        assert [pin["standing"] for pin in (await call(client, "pins"))["pins"]] == ["verified"]
        opened = await call(client, "open_turn", request=str(FIRST_ID + CHANNEL + HOUR))
        assert opened["viewer"] == str(ADA)
        compiled = await call(client, "compile", turn=opened["turn"])
        assert said(frames_in(compiled["text"])["Messages"])[0] == "limits are per key"
    assert not any("gateway" in line for line in server.asked)


async def test_a_thread_of_a_listed_channel_is_opened_by_its_name_its_id_and_a_link(server: MembersServer) -> None:
    async with client_of(ADA, CHANNEL) as client:
        for named in ("plan", str(THREAD), f"https://discord.com/channels/{GUILD}/{THREAD}"):
            assert (await call(client, "search", query="thread", channel=named))["hits"]


@pytest.mark.parametrize("listed", [(CHANNEL, SECRET), (CHANNEL,)])
async def test_what_the_member_may_not_read_is_as_what_is_not_listed_or_not_there(
    server: MembersServer, listed: tuple[int, ...]
) -> None:
    async with client_of(ADA, *listed) as client:
        told = {
            await refused(client, "search", query="salary", channel=named)
            for named in (str(SECRET), "mods", str(PRIVATE), "leads", "nowhere", "200000000000000099")
        }
    assert len(told) == 1
    assert not any(f"/channels/{place}/messages" in line for line in server.asked for place in (SECRET, PRIVATE))


async def test_the_rights_of_the_member_that_is_configured_count(server: MembersServer) -> None:
    async with client_of(BEN, SECRET) as client:
        assert len((await call(client, "search", query="salary"))["hits"]) == 1


async def test_who_is_no_member_reads_nothing(server: MembersServer) -> None:
    async with client_of(77, CHANNEL) as client:
        assert "is offered here" in await refused(client, "pins")


async def test_a_right_that_is_taken_is_taken_within_half_a_minute(server: MembersServer) -> None:
    clock = Clock()
    async with client_of(ADA, CHANNEL, clock=clock) as client:
        assert (await call(client, "search", query="limits"))["hits"]
        server.channels[0]["permission_overwrites"] = [HIDDEN, SHOWN_TO_BOT]
        clock.now = RIGHTS_FRESH_SECONDS
        assert "is offered here" in await refused(client, "search", query="limits")


async def test_an_archived_thread_of_a_listed_channel_is_found_by_its_id(server: MembersServer) -> None:
    old, hidden = thread(THREAD + 7, "old", CHANNEL), thread(THREAD + 8, "hush", SECRET)
    server.archived = {CHANNEL: [old], SECRET: [hidden]}
    server.messages[THREAD + 7] = numbered(THREAD + 7, "from long ago")
    clock = Clock()
    async with client_of(ADA, CHANNEL, clock=clock) as client:
        assert len((await call(client, "search", query="ago", channel=str(THREAD + 7)))["hits"]) == 1
        assert "is offered here" in await refused(client, "search", query="a", channel=str(THREAD + 8))
        server.channels[0]["permission_overwrites"] = [HIDDEN, SHOWN_TO_BOT]
        clock.now = RIGHTS_FRESH_SECONDS
        assert "is offered here" in await refused(client, "search", query="ago", channel=str(THREAD + 7))


async def test_threads_and_single_messages_are_read_as_before_once_a_guild_was_loaded_anew(
    server: MembersServer,
) -> None:
    old = numbered(THREAD + 7, "from long ago")
    server.archived = {CHANNEL: [thread(THREAD + 7, "old", CHANNEL, last_message_id=old[-1]["id"])]}
    server.messages[THREAD + 7] = old
    pinned = message(CHANNEL, f"!pin ^{FIRST_ID + THREAD}\n!pin ^{FIRST_ID + THREAD + 7}", id=str(FIRST_ID + 9 * HOUR))
    server.messages[CHANNEL].append(pinned)
    server.channels[0]["last_message_id"] = pinned["id"]
    clock = Clock()
    async with client_of(ADA, CHANNEL, clock=clock) as client:
        for round_number in range(3):
            clock.now = round_number * RIGHTS_FRESH_SECONDS
            found = await call(client, "search", query="a", sort="newest")
            assert {"inside a thread", "from long ago"} <= set(said(frames_in(found["text"])["Found messages"]))
            assert found["coverage"]["left_out"] == []
            board = await call(client, "pins")
            assert [pin["where"] for pin in board["pins"]] == ["here", "here"]
            around = await call(client, "read", message=str(FIRST_ID + THREAD), channel="plan")
            assert around["where"] == "here"


async def test_discord_being_down_is_said_and_not_taken_for_nothing(server: MembersServer) -> None:
    async with client_of(ADA, CHANNEL) as client:
        await call(client, "threads")
        server.answers[f"/channels/{CHANNEL}/messages"] = [503]
        assert await refused(client, "pins") == "Discord does not answer right now. Try again in a minute."


async def test_without_an_identity_or_with_a_token_that_is_refused_it_does_not_start(server: MembersServer) -> None:
    with pytest.raises(NoIdentity, match=r"as mcp\.identity"):
        async with open_discord(Config(), "token", [CHANNEL]):
            pass
    server.login_status = 401
    with pytest.raises(NotLetIn, match="Discord refuses the token"):
        async with client_of(ADA, CHANNEL):
            pass


def test_the_command_reads_either_files_or_discord(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "token")
    assert "it reads no files" in CliRunner().invoke(app, ["mcp", "--discord", "x.json"]).output
    assert isinstance(CliRunner().invoke(app, ["mcp", "--discord"]).exception, NoIdentity)
