"""The demo's rooms, its own and those of exports, and how it starts and ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import discord
import pytest
import simcord
from recall_bot.demo import install_command, run_demo
from recall_bot.demo.exported import DIRECT_MESSAGES_ID, PLACE_POSTS, read_exports
from recall_bot.demo.room import RoomError, parse_room, read_room
from recall_bot.demo.session import open_demo
from recall_bot.demo.simulation import channel_of, viewers_of
from recall_bot.demo.world import Post, Room

import recall
from tests.demo_page import STOP_SECONDS, address_of, start_demo

LONG_CHARS = recall.BrevityPolicy().message_chars


def scripts_of(room: Room) -> set[str]:
    letters = {char for post in room.posts for char in post.content if char.isalpha()}
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}


def bodies(room: Room, *, kinds: set[str]) -> list[Post]:
    speakers = {speaker.id for speaker in room.speakers if speaker.kind in kinds}
    return [post for post in room.posts if post.author_id in speakers]


class TestOwnRoom:
    room = read_room()

    def test_it_holds_three_hundred_messages_over_several_days_by_a_dozen_speakers(self) -> None:
        assert len(self.room.shown.posts) >= 300
        assert len({post.sent_at.date() for post in self.room.posts}) >= 5
        assert len({post.author_id for post in self.room.shown.posts}) >= 12

    def test_people_bots_and_webhooks_speak_in_it(self) -> None:
        assert all(len(bodies(self.room, kinds={kind})) > 5 for kind in ("person", "bot", "webhook"))

    def test_it_is_written_in_more_scripts_than_latin(self) -> None:
        assert {"LATIN", "GREEK", "ARABIC", "HIRAGANA", "CJK"} <= scripts_of(self.room)

    def test_ids_are_unique_and_in_the_order_of_the_times(self) -> None:
        for place in self.room.places:
            ids = [post.id for post in place.posts]
            assert ids == sorted(set(ids))
        assert len({post.id for post in self.room.posts}) == len(list(self.room.posts))

    def test_a_thread_begins_from_a_message_of_its_channel_and_another_is_announced_there(self) -> None:
        threads = [place for place in self.room.places if place.kind == "thread"]
        known = {post.id for post in self.room.shown.posts}
        announced = {post.points_at for post in self.room.shown.posts if post.type == 18}
        assert {thread.id in known for thread in threads} == {True, False}
        assert {thread.id for thread in threads} - known == announced
        assert all(thread.parent_id == self.room.shown_id for thread in threads)

    def test_its_board_fills_more_than_the_working_set_and_something_was_unpinned(self) -> None:
        rows = [
            recall.LogMessage(post.id, "1", None, recall.PersonAuthor("1", "A"), post.content, post.points_at)
            for post in self.room.shown.posts
        ]
        events = recall.pin_history(rows, dialect="discord")
        pins = recall.fold_pins(rows, 250, dialect="discord")
        assert len(pins) > recall.PIN_LIMIT
        assert "unpinned" in {event.effect for event in events}
        assert any(pin.excerpt is None for pin in pins), "one pinned message is gone"
        assert recall.read_traces(rows, dialect="discord")

    def test_markers_stand_in_code_and_quotations_too(self) -> None:
        bodies = [post.content for post in self.room.posts]
        assert any("```\n!pin ^" in body for body in bodies)
        assert any("\n> !unpin ^" in body for body in bodies)

    def test_some_messages_are_too_long(self) -> None:
        assert sum(len(post.content) > LONG_CHARS for post in self.room.posts) >= 4

    @pytest.mark.parametrize(
        ("transcript", "line"),
        [
            ("nonsense", 1),
            ("[speakers]\nada | ghost | Ada", 2),
            ("[speakers]\nada | person | Ada\n[channel x]\n== 2026-01-01\n09:00 bob: hi", 5),
            ("[speakers]\nada | person | Ada\n[channel x]\n== 2026-01-01\n09:00 ada: see {gone}", 5),
            ("[speakers]\nada | person | Ada\n[channel x]\n== 2026-01-01\n09:00 ada: a\n08:00 ada: b", 6),
        ],
    )
    def test_a_slip_of_the_pen_names_its_line(self, transcript: str, line: int) -> None:
        with pytest.raises(RoomError) as caught:
            parse_room(transcript)
        assert caught.value.line == line


def shown_by(answer: simcord.InteractionResult) -> str:
    assert answer.response is not None
    return str(answer.response.message.embeds[0].to_dict())


def unescaped(text: str) -> str:
    return re.sub(r"\\+([^\w\s\\])", r"\1", text)


def newest(channel: simcord.ChannelHandle) -> discord.Message:
    assert channel.last_message is not None
    return channel.last_message


def at(minute: int) -> int:
    return discord.utils.time_snowflake(datetime(2021, 5, 3, 9, minute, tzinfo=UTC))


def exported(number: int, author: dict[str, Any], content: str, **more: Any) -> dict[str, Any]:
    return {"id": str(number), "type": "Default", "content": content, "author": author, **more}


ADA: dict[str, Any] = {"id": "111111111111111111", "name": "ada", "nickname": "Ada", "isBot": False}
BUILD: dict[str, Any] = {"id": "222222222222222222", "name": "build", "nickname": "Build", "isBot": True}
CHANNEL: dict[str, Any] = {"id": "333333333333333333", "type": "GuildTextChat", "name": "general"}
THREAD: dict[str, Any] = {
    "id": str(at(1)),
    "type": "GuildPublicThread",
    "categoryId": CHANNEL["id"],
    "category": "general",
    "name": "t",
}
GUILD: dict[str, Any] = {"id": "444444444444444444", "name": "Somewhere"}


def write(folder: Path, name: str, channel: dict[str, Any], messages: list[dict[str, Any]], **more: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({"guild": GUILD, "channel": channel, "messages": messages, **more}), "utf-8")
    return path


class TestExportedRoom:
    def test_authors_dates_and_ids_are_those_of_the_files(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            "general.json",
            CHANNEL,
            [
                exported(at(1), ADA, "Morning"),
                exported(at(2), BUILD, "214 passed", type="Reply", reference={"messageId": str(at(1))}),
                exported(at(3), ADA | {"nickname": "Ada!"}, "", forwardedMessage={"content": "hello deploy"}),
                exported(at(4), BUILD | {"nickname": "Nightly"}, "done", interaction={"user": ADA}),
                exported(at(5), ADA, "Started a thread.", type="ThreadCreated", reference={"channelId": THREAD["id"]}),
            ],
        )
        write(tmp_path, "thread.json", THREAD, [exported(at(6), ADA, "inside")])

        room = read_exports([tmp_path])

        assert room.guild_id == int(GUILD["id"])
        assert [(place.kind, place.id) for place in room.places] == [
            ("channel", int(CHANNEL["id"])),
            ("thread", at(1)),
        ]
        posts = room.shown.posts
        assert [post.id for post in posts] == [at(minute) for minute in range(1, 6)]
        assert posts[0].sent_at == datetime(2021, 5, 3, 9, 1, tzinfo=UTC)
        assert [post.author_id for post in posts[:2]] == [int(ADA["id"]), int(BUILD["id"])]
        assert posts[1].points_at == at(1)
        assert posts[2].forward is not None
        assert posts[2].name is None, "a person has one name"
        assert (posts[3].name, posts[3].invoker_id) == ("Nightly", int(ADA["id"]))
        assert (posts[4].content, posts[4].points_at) == ("", at(1))
        assert [viewer.name for viewer in room.viewers] == ["You", "Ada"]
        assert room.ends_at == datetime(2021, 5, 3, 9, 6, tzinfo=UTC)

    def test_of_a_message_exported_twice_the_later_export_counts(self, tmp_path: Path) -> None:
        write(tmp_path, "a.json", CHANNEL, [exported(at(1), ADA, "new")], exportedAt="2024-01-02T00:00:00+00:00")
        write(tmp_path, "b.json", CHANNEL, [exported(at(1), ADA, "old")], exportedAt="2024-01-01T00:00:00+00:00")

        assert [post.content for post in read_exports([tmp_path]).posts] == ["new"]

    def test_of_a_large_channel_the_newest_messages_are_shown_and_it_says_so(self, tmp_path: Path) -> None:
        messages = [exported(at(1) + number, ADA, "hi") for number in range(PLACE_POSTS + 5)]

        room = read_exports([write(tmp_path, "general.json", CHANNEL, messages)])

        assert len(room.shown.posts) == PLACE_POSTS
        assert room.shown.posts[-1].id == int(messages[-1]["id"])
        assert room.notes == (f"of #general the newest {PLACE_POSTS:,} of {len(messages):,} messages are shown",)

    def test_a_thread_whose_channel_is_missing_gets_one(self, tmp_path: Path) -> None:
        room = read_exports([write(tmp_path, "t.json", THREAD, [exported(at(2), ADA, "inside")])])

        assert [(place.kind, place.name) for place in room.places] == [("channel", "general"), ("thread", "t")]
        assert room.shown.kind == "thread"

    async def test_a_post_of_a_forum_gets_a_forum_and_is_shown(self, tmp_path: Path) -> None:
        room = read_exports([write(tmp_path, "t.json", THREAD, [exported(at(1), ADA, "the first message")])])
        assert [place.kind for place in room.places] == ["forum", "thread"]

        async with open_demo(room) as (env, _):
            answer = await viewers_of(env, room)[0].slash(channel_of(env, room), "search", query="first")

        assert "the first message" in shown_by(answer)

    def test_direct_messages_get_a_guild(self, tmp_path: Path) -> None:
        channel = {"id": "5", "type": "DirectTextChat", "name": "Ada"}
        path = write(tmp_path, "dm.json", channel, [exported(at(1), ADA, "hi")], guild={"id": "0", "name": ""})

        assert read_exports([path]).guild_id == DIRECT_MESSAGES_ID

    async def test_the_bot_answers_in_an_exported_room_as_anywhere(self, tmp_path: Path) -> None:
        private = {"id": "7", "type": "GuildPrivateThread", "categoryId": CHANNEL["id"], "name": "p"}
        write(
            tmp_path,
            "general.json",
            CHANNEL,
            [
                exported(at(1), ADA, "Morning <@222222222222222222>", mentions=[BUILD]),
                exported(at(2), BUILD, "", embeds=[{"title": "214 passed", "fields": [{"name": "a", "value": "b"}]}]),
                exported(at(3), ADA, "", attachments=[{"fileName": "log.txt"}]),
                exported(at(4), ADA, "Pinned a message.", type="ChannelPinnedMessage", reference={"messageId": "1"}),
                exported(at(5), ADA, "", type="Forgotten"),
                exported(at(6), {}, "who", forwardedMessage={"content": "deploy"}, reference={"type": "Forward"}),
                exported(at(7), BUILD, "asked", interaction={"user": ADA}),
                exported(at(8), ADA, f"!pin ^{at(1)} #hello first"),
            ],
        )
        write(tmp_path, "private.json", private, [exported(at(9), ADA, "inside")])
        room = read_exports([tmp_path])

        async with open_demo(room) as (env, preview):
            you = viewers_of(env, room)[0]
            answer = await you.slash(channel_of(env, room), "pins")
            page = await preview.snapshot()

        assert "first" in shown_by(answer)
        assert len(page["timeline"]) == 9, "eight messages and the answer"
        assert [diagnostic["code"] for diagnostic in page["diagnostics"]] == ["message-type-unknown"]


class TestSession:
    async def test_the_bot_finds_the_room_s_history_and_its_times(self) -> None:
        room = read_room()
        async with open_demo(room) as (env, _):
            mira = viewers_of(env, room)[0]
            answer = await mira.slash(channel_of(env, room), "search", query="limiter", after="2h")
            assert "bucket down to 3" in shown_by(answer)

    async def test_a_debate_of_agents_and_people_is_shown_right_at_each_step(self) -> None:
        room = read_room()
        steps = {
            "!propose #fallback-call": ("Deliberating: nothing is carried.", {"fallback-call": 1}),
            "!propose #fallback-second": (
                "Deliberating: nothing is carried.",
                {"fallback-call": 1, "fallback-second": 1},
            ),
            "!support #fallback-second": (
                "Quorum: #fallback-second is carried.",
                {"fallback-call": 1, "fallback-second": 2},
            ),
            "!support #fallback-call": (
                "Deadlocked: #fallback-call, #fallback-second are carried.",
                {"fallback-call": 2, "fallback-second": 2},
            ),
            "!object >": ("Quorum: #fallback-call is carried.", {"fallback-call": 2, "fallback-second": 1}),
            "!commit #fallback-call": (
                "Quorum: #fallback-call is carried.",
                {"fallback-call": 2, "fallback-second": 1},
            ),
        }
        debate = [post for post in room.shown.posts if post.sent_at.date() == room.ends_at.date()]
        async with open_demo(room) as (env, _):
            mira, channel = viewers_of(env, room)[0], channel_of(env, room)
            for start, (state, supporters) in steps.items():
                [post] = [post for post in debate if post.content.startswith(start)]
                answer = await mira.slash(channel, "standings", at=str(post.id))
                shown = unescaped(shown_by(answer))
                assert f"**{state}**" in shown
                assert supporters == {
                    topic: int(count)
                    for topic, count in re.findall(r"\*\*#([\w-]+)\*\* · (\d+) of 2 supporters", shown)
                }
                assert ("**#fallback-call** [recorded]" in shown) == start.startswith("!commit")
            now = unescaped(shown_by(await mira.slash(channel, "standings")))
            lines = unescaped(shown_by(await mira.slash(channel, "standings", show="traces")))

        assert "silenced **Scout** (app)" in now
        assert re.findall(r"\*\*#([\w-]+)\*\* \[recorded\]", now) == ["fallback-call", "leak", "delay", "store"]
        assert "silences its author on #fallback-second" in lines
        speakers = {speaker.id: speaker.kind for speaker in room.speakers}
        voices = {post.author_id for post in debate if re.match(r"!(?!pin)", post.content)}
        assert sorted(speakers[voice] for voice in voices) == ["bot"] * 3 + ["person"] * 2

    async def test_the_page_waits_for_what_follows_from_a_message(self) -> None:
        room = read_room()
        async with open_demo(room) as (env, _):
            channel = channel_of(env, room)
            sent = await viewers_of(env, room)[0].send(channel, "x" * 700)
            notice = newest(channel)
            assert notice.content == "100 characters over this channel's 600"
            assert notice.reference is not None
            assert notice.reference.message_id == sent.id
            assert discord.utils.snowflake_time(notice.id) > sent.created_at > room.ends_at

    async def test_nothing_is_said_of_what_the_room_held_before_the_bot_came(self) -> None:
        room = read_room()
        async with open_demo(room) as (env, _):
            assert newest(channel_of(env, room)).id == room.shown.posts[-1].id

    def test_it_starts_says_its_address_once_and_ends_cleanly_on_either_signal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with start_demo() as demo:
                address = address_of(demo)
                demo.send_signal(number)
                said, complaints = demo.communicate(timeout=STOP_SECONDS)
            assert (demo.returncode, complaints) == (0, "")
            assert address not in said

    def test_a_port_that_is_in_use_is_one_line(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken, start_demo("--port", str(taken.getsockname()[1])) as demo:
            said, complaints = demo.communicate(timeout=STOP_SECONDS)
        assert (demo.returncode, said, len(complaints.splitlines())) == (2, "", 1)
        assert "cannot be served on" in complaints

    def test_a_file_that_is_no_export_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "broken.json"
        path.write_text("{]", "utf-8")

        assert run_demo([path], open_browser=False, port=None) == 2
        said = capsys.readouterr()
        assert (said.out, len(said.err.splitlines())) == ("", 1)
        assert str(path) in said.err

    def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "simcord", None)

        assert run_demo([], open_browser=False, port=None) == 2
        said = capsys.readouterr()
        assert said.err == f"recall-bot: the demo needs a few more packages: {install_command()}\n"

    def test_the_command_installs_what_the_extra_names(self) -> None:
        assert install_command().endswith("-m pip install 'simcord[preview]==3.2.1'")
