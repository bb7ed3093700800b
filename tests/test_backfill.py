from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import discord
import pytest
from recall_bot.backfill import PAGE_PAUSE_SECONDS, RETRY_SECONDS, Backfill, MirrorBusy, Progress, Report, targets_of
from recall_bot.errors import Unavailable
from recall_bot.mirror import LIVE, Deleted, Edited, Mirror, Place, Sought, find_markers
from recall_bot.mirror.database import Database
from recall_bot.mirror.filling import BACKFILL_SHARD, Filling
from recall_bot.mirror.upkeep import erase_author, stored
from recall_bot.rest import find_place, load_guild, signed_in
from recall_bot.rows import Identity

import recall
from tests.guild_server import GuildServer, serve_guild
from tests.history_server import FIRST_ID
from tests.payloads import ADA, CHANNEL, FORUM, GUILD, HIDDEN, SECRET, THREAD, channel, message, thread, user

BEN = 4_000


def numbered(
    place: int, total: int, *, first: int = FIRST_ID, text: str = "msg {}", **more: Any
) -> list[dict[str, Any]]:
    return [message(place, text.format(n), id=str(first + (n * 1000 << 22)), **more) for n in range(total)]


@dataclass
class Time:
    """Seconds that pass only while somebody sleeps."""

    seconds: float = 1_770_000_000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


@dataclass
class Room:
    """A guild at Discord, and a mirror file."""

    server: GuildServer
    path: Path
    time: Time = field(default_factory=Time)
    progress: list[Progress] = field(default_factory=list)

    async def backfill(self, *places: int, **options: Any) -> Report:
        database = Database(str(self.path), clock=self.time)
        try:
            async with signed_in("made.up.token") as client:
                found = [await find_place(client, place) for place in places or (CHANNEL,)]
                targets = [target for place in found if place is not None for target in await targets_of(place)]
                backfill = Backfill(
                    Filling(database, now=self.time),
                    identity=Identity(100),
                    sleep=self.time.sleep,
                    clock=self.time,
                    now=self.time,
                    on_progress=self.progress.append,
                    **options,
                )
                return await backfill.run(targets)
        finally:
            await database.close()

    def rows(self, place: int = CHANNEL) -> list[int]:
        with sqlite3.connect(self.path) as connection:
            found = connection.execute("SELECT id FROM rows WHERE place = ? ORDER BY id DESC", (place,)).fetchall()
        connection.close()
        return [id_ for (id_,) in found]

    def spans(self, place: int = CHANNEL) -> list[tuple[int, int]]:
        with sqlite3.connect(self.path) as connection:
            found = connection.execute("SELECT low, high FROM spans WHERE place = ? ORDER BY low", (place,)).fetchall()
        connection.close()
        return found

    def ids(self, place: int = CHANNEL) -> list[int]:
        return [int(each["id"]) for each in reversed(self.server.messages[place])]


@pytest.fixture
async def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Room]:
    channels = [channel(CHANNEL, "general")]
    async with serve_guild(monkeypatch, channels=channels, messages={CHANNEL: numbered(CHANNEL, 250)}) as server:
        yield Room(server, tmp_path / "mirror.sqlite")


def mirror_of(room: Room, shard: int = 0) -> Mirror:
    return Mirror(str(room.path), clock=room.time, now=room.time, shard_of=lambda _: shard)


async def test_a_channel_is_read_to_its_beginning_in_the_fewest_requests(room: Room) -> None:
    report = await room.backfill()
    assert (report.places, report.messages, report.requests, report.unread) == (1, 250, 3, [])
    assert room.rows() == room.ids()
    assert room.spans() == [(0, room.ids()[0] + 1)]
    assert len(room.server.pages()) == 3


async def test_what_is_whole_is_not_read_again_unless_asked_for(room: Room) -> None:
    await room.backfill()
    room.server.pages()
    room.server.messages[CHANNEL] += numbered(CHANNEL, 3, first=room.ids()[0] + 1, text="later {}")
    report = await room.backfill()
    assert (report.messages, len(room.server.pages())) == (100, 1)
    assert room.rows() == room.ids()
    await room.backfill(again=True)
    assert len(room.server.pages()) == 3


async def test_a_channel_of_which_discord_tells_that_nothing_is_new_costs_no_request(room: Room) -> None:
    room.server.channels[0]["last_message_id"] = str(room.ids()[0])
    await room.backfill()
    room.server.pages()
    assert (await room.backfill()).requests == 0
    assert room.server.pages() == []


async def test_a_run_that_was_stopped_goes_on_where_it_was(room: Room) -> None:
    waiting = asyncio.Event()

    async def stop_at_the_third(path: str) -> None:
        if room.server.asked.count(f"GET {path}") == 3:
            waiting.set()
            await asyncio.get_running_loop().create_future()

    room.server.channels[0]["last_message_id"] = str(room.ids()[0])
    room.server.meanwhile = stop_at_the_third
    running = asyncio.create_task(room.backfill())
    await waiting.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert room.rows() == room.ids()[:200]
    room.server.meanwhile = None
    room.server.pages()

    assert (await room.backfill()).messages == 50
    assert len(room.server.pages()) == 1
    assert room.rows() == room.ids()


async def test_nothing_is_read_for_what_is_older_than_the_date(room: Room) -> None:
    report = await room.backfill(floor=room.ids()[120])
    assert report.messages == 200
    assert room.spans() == [(room.ids()[199], room.ids()[0] + 1)]


async def test_threads_are_read_with_their_channel_and_forums_by_their_posts_alone(room: Room) -> None:
    room.server.channels.append(channel(FORUM, "ideas", kind=15))
    room.server.threads = [thread(THREAD, "plan", CHANNEL), thread(THREAD + 50, "post", FORUM)]
    room.server.archived = {CHANNEL: [thread(THREAD + 60, "old", CHANNEL, thread_metadata=ARCHIVED)]}
    for place in (THREAD, THREAD + 50, THREAD + 60):
        room.server.messages[place] = numbered(place, 2, first=FIRST_ID + place)
    report = await room.backfill(CHANNEL, FORUM)
    assert (report.places, report.messages) == (4, 256)
    assert room.rows(THREAD + 60) == room.ids(THREAD + 60)
    with sqlite3.connect(room.path) as connection:
        places = connection.execute("SELECT id, desk_id, name, desk_name FROM places ORDER BY id").fetchall()
    connection.close()
    assert places == [
        (CHANNEL, CHANNEL, "general", "general"),
        (THREAD, CHANNEL, "plan", "general"),
        (THREAD + 50, FORUM, "post", "ideas"),
        (THREAD + 60, CHANNEL, "old", "general"),
    ]


ARCHIVED = {
    "archived": True,
    "auto_archive_duration": 1440,
    "archive_timestamp": "2026-01-01T00:00:00+00:00",
    "locked": False,
}


async def test_a_channel_that_may_not_be_read_is_named_and_not_asked_for(room: Room) -> None:
    room.server.channels.append(channel(SECRET, "mods", permission_overwrites=[HIDDEN]))
    report = await room.backfill(SECRET, CHANNEL)
    assert [(name, str(why)) for name, why in report.unread] == [("mods", str(Unavailable("no_permission")))]
    assert (report.places, report.messages) == (1, 250)
    assert f"GET /channels/{SECRET}/messages" not in room.server.asked


async def test_a_place_that_is_gone_meanwhile_does_not_end_the_others(room: Room) -> None:
    room.server.threads = [thread(THREAD, "plan", CHANNEL)]
    room.server.answers = {f"/channels/{THREAD}/messages": [404]}
    report = await room.backfill()
    assert [(name, str(why)) for name, why in report.unread] == [("plan", str(Unavailable("gone")))]
    assert report.places == 1


async def test_discord_that_fails_for_a_while_is_waited_for(room: Room) -> None:
    room.server.answers = {f"/channels/{CHANNEL}/messages": [503, 503]}
    assert (await room.backfill()).messages == 250
    assert room.time.slept[:2] == list(RETRY_SECONDS[:2])


async def test_discord_that_fails_for_long_ends_it_and_what_came_is_kept(room: Room) -> None:
    await room.backfill(floor=room.ids()[120])
    room.server.answers = {f"/channels/{CHANNEL}/messages": [503] * 9}
    with pytest.raises(Unavailable) as caught:
        await room.backfill()
    assert caught.value.kind == "discord_down"
    assert room.rows() == room.ids()[:200]


async def test_a_file_that_is_in_use_is_waited_for_and_then_named(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bot.mirror.schema.BUSY_SECONDS", 0.02)
    await room.backfill(floor=room.ids()[120])
    other = sqlite3.connect(room.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(MirrorBusy, match=r"The mirror file cannot be written \(database is locked\)"):
            await room.backfill()
    finally:
        other.rollback()
        other.close()
    assert (await room.backfill()).messages == 150
    assert room.rows() == room.ids()


async def test_others_get_their_turn_after_each_page(room: Room) -> None:
    await room.backfill()
    assert room.time.slept == [PAGE_PAUSE_SECONDS] * 3


async def test_progress_tells_how_much_may_be_left(room: Room) -> None:
    room.server.threads = [thread(THREAD, "plan", CHANNEL, message_count=40)]
    await room.backfill()
    told = [(step.place, step.number, step.places, step.messages, step.reached) for step in room.progress]
    assert told == [
        ("general", 1, 2, 100, room.ids()[99]),
        ("general", 1, 2, 200, room.ids()[199]),
        ("general", 1, 2, 250, 0),
        ("plan", 2, 2, 250, 0),
    ]
    assert [step.remaining for step in room.progress[-2:]] == [40, 0]
    assert room.progress[0].remaining > room.progress[1].remaining > 40


async def test_what_is_not_to_be_stored_is_not_and_is_not_asked_for_again(room: Room) -> None:
    for held in room.server.messages[CHANNEL][::10]:
        held["author"] = user(BEN, "Ben")
    room.server.channels[0]["last_message_id"] = str(room.ids()[0])
    await room.backfill(withholds=str(BEN).__eq__)
    kept = [int(held["id"]) for held in reversed(room.server.messages[CHANNEL]) if held["author"]["id"] != str(BEN)]
    assert room.rows() == kept
    room.server.pages()
    assert (await room.backfill(withholds=str(BEN).__eq__)).requests == 0


async def test_a_backfill_is_seen_as_of_its_beginning_and_never_as_verified(room: Room) -> None:
    room.server.messages[CHANNEL][100]["content"] = "!pin"
    await room.backfill()
    mirror = mirror_of(room)
    await mirror.new_epoch(0)
    place = Place(CHANNEL, GUILD, CHANNEL)
    assert await mirror.page(place, None, 10) is None
    seen = await find_markers(mirror, lambda: Sought([place], LIVE, [place]), before=LIVE, limit=10)
    assert [row.content for row in seen.seen] == ["!pin"]
    assert seen.as_of == 1_770_000_000
    await mirror.close()


async def test_what_the_bot_was_told_while_a_page_was_on_its_way_wins_over_it(room: Room) -> None:
    mirror = mirror_of(room)
    await mirror.new_epoch(0)
    gone, edited = room.ids()[10], room.ids()[20]
    ada = recall.PersonAuthor(str(ADA), "Ada")

    async def tell(_path: str) -> None:
        mirror.note(Deleted(CHANNEL, gone))
        mirror.note(Edited(CHANNEL, recall.LogMessage(edited, str(CHANNEL), None, ada, "edited")))
        await mirror.flush()

    room.server.meanwhile = tell
    await room.backfill()
    assert gone not in room.rows()
    assert edited not in room.rows()  # nothing of it was there to be amended, and the page is older
    assert set(room.ids()) - set(room.rows()) == {gone, edited}
    await mirror.close()


async def test_the_bots_claims_stand_through_a_backfill_and_its_rows_are_true(room: Room) -> None:
    mirror = mirror_of(room)
    await mirror.new_epoch(0)
    place = Place(CHANNEL, GUILD, CHANNEL)
    ticket = mirror.ticket(place)
    ada = recall.PersonAuthor(str(ADA), "Ada")
    rows = [recall.LogMessage(id_, str(CHANNEL), None, ada, "as the bot read it") for id_ in room.ids()[:50]]
    assert await mirror.write_page(ticket, rows, low=rows[-1].sequence, high=LIVE)
    mirror.settle(ticket)

    await room.backfill(again=True)

    page = await mirror.page(place, None, 100)
    assert page is not None
    assert [row.sequence for row in page.rows] == room.ids()[:50]
    assert CHANNEL in mirror.claims.places
    assert [each.rows for each in await stored(mirror)] == [250]
    await mirror.close()


async def test_what_is_erased_beside_a_backfill_is_not_claimed_by_it(room: Room) -> None:
    room.server.messages[CHANNEL][5]["author"] = user(BEN, "Ben")
    room.server.channels[0]["last_message_id"] = str(room.ids()[0])
    await room.backfill()
    mirror = mirror_of(room, BACKFILL_SHARD)
    assert await erase_author(mirror, str(BEN)) == (1, 1)
    await mirror.close()
    hole = room.ids()[-6]
    assert room.spans() == [(0, hole), (hole + 1, room.ids()[0] + 1)]
    room.server.pages()
    assert (await room.backfill()).requests == 0  # one message is not worth a request


async def test_a_guild_that_is_fetched_in_discord_py_s_public_way_has_no_channels(room: Room) -> None:
    """The day it has, `load_guild` needs nothing private any more."""
    async with signed_in("made.up.token") as client:
        fetched = await client.fetch_guild(GUILD)
        assert list(fetched.channels) == []
        assert fetched.get_member(100) is None
        loaded = await load_guild(client, GUILD)
        assert [place.name for place in loaded.channels] == ["general"]
        assert loaded.me is not None
        assert isinstance(loaded.get_channel(CHANNEL), discord.TextChannel)
