from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.mirror import (
    LIVE,
    SCHEMA_VERSION,
    Created,
    Deleted,
    Edited,
    Mirror,
    MirrorDown,
    MirrorRefused,
    Place,
    Sought,
    Span,
    Unlisted,
    Withheld,
    find_markers,
)
from recall_bot.mirror.database import MIRROR_RETRY_SECONDS
from recall_bot.mirror.file import MirrorFile
from recall_bot.mirror.spans import below, common, cut, gaps, join
from recall_bot.mirror.upkeep import drop_guild, drop_place, erase_author, keep_from, stored, trim

import recall

ROOM = Place(1, 9, 1)
THREAD = Place(2, 9, 1)


def row(sequence: int, content: str = "text", *, author: str = "ada") -> recall.LogMessage:
    return recall.LogMessage(sequence, "1", None, recall.PersonAuthor(author, author.title()), content)


@dataclass
class Time:
    seconds: float = 1_770_000_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class World:
    mirror: Mirror
    time: Time = field(default_factory=Time)

    async def write(self, *rows: recall.LogMessage, low: int = 0, high: int = LIVE, place: Place = ROOM) -> bool:
        ticket = self.mirror.ticket(place)
        try:
            return await self.mirror.write_page(ticket, rows, low=low, high=high)
        finally:
            self.mirror.settle(ticket)

    async def page(self, before: int | None = None, limit: int = 100, *, place: Place = ROOM) -> list[tuple[int, str]]:
        found = await self.mirror.page(place, before, limit)
        assert found is not None
        return [(each.sequence, each.content) for each in found.rows]


def mirror_at(path: str, time: Time) -> Mirror:
    return Mirror(path, clock=time, now=time, shard_of=lambda guild_id: guild_id % 2)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    time = Time()
    mirror = mirror_at(str(tmp_path / "mirror.sqlite"), time)
    await mirror.new_epoch(1)
    yield World(mirror, time)
    await mirror.close()


async def test_nothing_is_served_that_was_never_read(world: World) -> None:
    assert await world.mirror.page(ROOM, None, 10) is None


async def test_a_page_that_was_read_is_served_without_discord(world: World) -> None:
    assert await world.write(row(40), row(20), low=15)
    found = await world.mirror.page(ROOM, None, 10)
    assert found is not None
    assert [each.sequence for each in found.rows] == [40, 20]
    assert found.low == 15
    assert await world.mirror.page(ROOM, 15, 10) is None
    assert await world.mirror.page(THREAD, None, 10) is None


async def test_nothing_is_stored_before_a_gateway_session_began(tmp_path: Path) -> None:
    world = World(mirror_at(str(tmp_path / "m.sqlite"), Time()))
    assert not await world.write(row(40))
    assert await world.mirror.page(ROOM, None, 10) is None
    await world.mirror.close()


async def test_what_the_gateway_tells_is_in_the_next_answer(world: World) -> None:
    await world.write(row(40), row(20))
    world.mirror.note(Created(1, row(60, "new")))
    world.mirror.note(Edited(1, row(40, "edited")))
    world.mirror.note(Deleted(1, 20))
    assert await world.page() == [(60, "new"), (40, "edited")]


async def test_a_message_that_is_no_row_any_more_can_become_one_again(world: World) -> None:
    await world.write(row(40))
    world.mirror.note(Unlisted(1, 40))
    assert await world.page() == []
    world.mirror.note(Edited(1, row(40, "again")))
    assert await world.page() == [(40, "again")]


async def test_what_happens_while_a_page_is_on_its_way_wins_over_it(world: World) -> None:
    ticket = world.mirror.ticket(ROOM)
    world.mirror.note(Deleted(1, 20))
    world.mirror.note(Edited(1, row(30, "newer")))
    world.mirror.note(Created(1, row(50, "came meanwhile")))
    assert await world.mirror.write_page(ticket, [row(40), row(30, "older"), row(20)], low=0, high=LIVE)
    world.mirror.settle(ticket)
    assert await world.page() == [(50, "came meanwhile"), (40, "text"), (30, "newer")]


async def test_a_page_of_an_older_session_is_not_stored(world: World) -> None:
    ticket = world.mirror.ticket(ROOM)
    await world.mirror.new_epoch(1)
    assert not await world.mirror.write_page(ticket, [row(40)], low=0, high=LIVE)
    world.mirror.settle(ticket)


async def test_a_late_create_does_not_bring_a_deleted_message_back(world: World) -> None:
    await world.write(row(40))
    world.mirror.note(Deleted(1, 50))
    await world.mirror.flush()
    world.mirror.note(Created(1, row(50)))
    assert await world.page() == [(40, "text")]


async def test_an_edit_that_comes_in_one_breath_after_a_deletion_keeps_nothing(world: World) -> None:
    await world.write(row(50), row(40))
    world.mirror.note(Deleted(1, 50))
    world.mirror.note(Edited(1, row(50, "edited")))
    assert await world.page() == [(40, "text")]


async def test_a_new_session_verifies_nothing_that_an_older_one_did(world: World) -> None:
    await world.write(row(40))
    await world.mirror.new_epoch(1)
    assert await world.mirror.page(ROOM, None, 10) is None
    await world.write(row(50), row(40, "edited while away"), low=30)
    assert await world.page() == [(50, "text"), (40, "edited while away")]


async def test_another_shards_session_ends_nothing_here(world: World) -> None:
    await world.write(row(40))
    await world.mirror.new_epoch(0)
    assert await world.page() == [(40, "text")]


async def test_a_silent_gateway_serves_nothing_until_it_has_resumed(world: World) -> None:
    await world.write(row(40))
    world.mirror.claims.suspend(1)
    assert await world.mirror.page(ROOM, None, 10) is None
    world.mirror.claims.resume(1)
    assert await world.page() == [(40, "text")]


async def test_a_withheld_message_leaves_a_hole_and_not_a_lie(world: World) -> None:
    await world.write(row(60), row(40))
    world.mirror.note(Withheld(1, 50))
    assert await world.page() == [(60, "text")]
    assert await world.mirror.page(ROOM, 51, 10) is None
    assert await world.page(50) == [(40, "text")]


async def test_markers_of_several_places_come_newest_first(world: World) -> None:
    await world.write(row(40, "!pin"), row(30, "plain"), row(10, "well!"))
    await world.write(row(20, "!unpin ^3"), place=THREAD)
    both = Sought([ROOM, THREAD], 0, [])
    found = await find_markers(world.mirror, lambda: both, before=LIVE, limit=10)
    assert [each.sequence for each in found.sure] == [40, 20, 10]
    assert (found.low, found.seen, found.as_of) == (0, (), None)
    few = await find_markers(world.mirror, lambda: both, before=LIVE, limit=2)
    assert [each.sequence for each in few.sure] == [40, 20]
    assert few.low == 20
    part = await find_markers(world.mirror, lambda: Sought([ROOM], 20, [ROOM]), before=40, limit=10)
    assert (part.sure, part.low) == ((), 20)
    assert [each.sequence for each in part.seen] == [10]


async def test_a_threads_root_is_a_marker_of_it_only_where_it_is_known(world: World) -> None:
    await world.write(row(40, "!pin"), place=THREAD)
    sought = Sought([THREAD], 0, [THREAD], (ROOM, 20))
    found = await find_markers(world.mirror, lambda: sought, before=LIVE, limit=10)
    assert ([each.sequence for each in found.sure], found.low) == ([40], 21)
    await world.write(row(20, "!pin"), low=20, high=21)
    found = await find_markers(world.mirror, lambda: sought, before=LIVE, limit=10)
    assert ([each.sequence for each in found.sure], found.low) == ([40, 20], 0)
    await world.mirror.new_epoch(1)
    found = await find_markers(world.mirror, lambda: sought._replace(low=LIVE), before=41, limit=10)
    assert ([each.sequence for each in found.seen], found.low) == ([40, 20], 41)


async def test_a_restart_verifies_nothing_and_still_shows_what_was_last_seen(world: World, tmp_path: Path) -> None:
    await world.write(row(40, "!pin"), row(30))
    world.time.seconds += 60
    await world.mirror.close()
    again = mirror_at(str(tmp_path / "mirror.sqlite"), world.time)
    world.time.seconds += 1_000
    await again.new_epoch(1)
    assert await again.page(ROOM, None, 10) is None
    seen = await find_markers(again, lambda: Sought([ROOM], LIVE, [ROOM]), before=LIVE, limit=10)
    assert [each.sequence for each in seen.seen] == [40]
    assert seen.as_of == 1_770_000_060
    await again.close()


async def test_erasing_an_author_leaves_nothing_and_claims_nothing_of_it(world: World, tmp_path: Path) -> None:
    await world.write(row(50, "unforgettable-words", author="mallory"), row(40))
    assert await erase_author(world.mirror, "mallory") == (1, 1)
    assert await world.mirror.page(ROOM, 51, 10) is None
    assert await world.page(50) == [(40, "text")]
    assert b"unforgettable-words" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


async def test_a_deleted_message_is_in_no_page_of_the_file(world: World, tmp_path: Path) -> None:
    await world.write(row(50, "unforgettable-words"), row(40))
    world.mirror.note(Deleted(1, 50))
    assert await world.page() == [(40, "text")]
    assert b"unforgettable-words" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


async def test_a_channel_goes_with_its_threads_and_a_guild_with_all(world: World) -> None:
    await world.write(row(40))
    await world.write(row(41), place=THREAD)
    await world.write(row(42), place=Place(3, 9, 3))
    await drop_place(world.mirror, 1)
    assert [each.place.id for each in await stored(world.mirror)] == [3]
    await drop_guild(world.mirror, 9)
    assert await stored(world.mirror) == []
    assert await world.mirror.page(Place(3, 9, 3), None, 10) is None


async def test_trimming_keeps_the_newest_and_what_is_spared(world: World) -> None:
    await world.write(row(50), row(40), row(30), row(20))
    lowest = await keep_from(world.mirror, ROOM, messages=2, oldest=None)
    assert lowest == 40
    assert await trim(world.mirror, ROOM, keep_from=lowest, spare=[20]) == 1
    assert await world.page() == [(50, "text"), (40, "text")]
    assert await world.mirror.page(ROOM, 40, 10) is None
    assert [each.rows for each in await stored(world.mirror, desk_id=1)] == [3]


async def test_the_file_is_its_owners_alone(world: World, tmp_path: Path) -> None:
    await world.write(row(40))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


async def test_a_file_that_is_deleted_under_us_costs_only_what_it_held(world: World, tmp_path: Path) -> None:
    await world.write(row(40))
    for path in tmp_path.iterdir():
        path.unlink()
    assert await world.mirror.page(ROOM, None, 10) is None
    await world.write(row(40))
    assert await world.page() == [(40, "text")]


async def test_a_broken_file_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    world = World(mirror_at(str(path), Time()))
    await world.mirror.new_epoch(1)
    assert await world.write(row(40))
    assert await world.page() == [(40, "text")]
    await world.mirror.close()
    assert len(list(tmp_path.glob("mirror.sqlite.broken-*"))) == 1


async def test_a_file_that_is_replaced_by_garbage_under_us_is_set_aside_and_begun_anew(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mirror.sqlite"
    await world.write(row(40, "a secret"))
    await world.mirror.database.checkpoint()
    (tmp_path / "garbage").write_bytes(b"this is no database, whatever its name says" * 1_000)
    (tmp_path / "garbage").replace(path)

    assert await world.mirror.page(ROOM, None, 10) is None
    await world.write(row(40, "a secret"))

    assert await world.page() == [(40, "a secret")]
    assert sum("set aside" in record.getMessage() for record in caplog.records) == 1
    assert "secret" not in caplog.text


async def test_a_file_that_is_overwritten_in_place_never_answers_wrongly_and_is_begun_anew(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mirror.sqlite"
    await world.write(*[row(number, f"a secret {number}") for number in range(400, 0, -1)])
    await world.mirror.database.checkpoint()
    path.write_bytes(b"this is no database, whatever its name says" * 10_000)

    for number in range(401, 404):  # SQLite notices no sooner than it reads what it does not remember
        with contextlib.suppress(MirrorDown):
            found = await world.mirror.page(ROOM, None, 500)
            assert found is None or all(each.content == f"a secret {each.sequence}" for each in found.rows)
        with contextlib.suppress(MirrorDown):
            await world.write(row(number, f"a secret {number}"), low=number)
    await world.mirror.close()
    again = World(mirror_at(str(path), world.time))
    await again.mirror.new_epoch(1)
    await again.write(row(40))

    assert await again.page() == [(40, "text")]
    await again.mirror.close()
    assert sum("set aside" in record.getMessage() for record in caplog.records) == 1
    assert "secret" not in caplog.text


async def test_a_newer_file_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    mirror = mirror_at(str(path), Time())
    with pytest.raises(MirrorRefused, match="newer version"):
        await mirror.flush()
    await mirror.database.close()
    assert path.read_bytes() == before


async def test_a_file_of_the_first_version_is_brought_up_to_date_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    world = World(mirror_at(str(path), Time()))
    await world.mirror.new_epoch(1)
    await world.write(row(40))
    await world.mirror.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE webhooks")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with MirrorFile(path) as file:
        desk = file.open(None)
        assert desk.is_webhook is not None
        assert not desk.is_webhook("author")

    world = World(mirror_at(str(path), Time()))
    await world.mirror.new_epoch(1)
    world.mirror.database.webhooks.add(recall.author_id(row(50).author))
    assert await world.write(row(50), low=50)
    await world.mirror.close()

    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("SELECT id FROM webhooks").fetchall() == [(recall.author_id(row(50).author),)]
        assert connection.execute("SELECT COUNT(*) FROM rows").fetchone() == (2,)
    connection.close()


async def test_a_webhook_of_which_nothing_is_stored_any_more_is_forgotten(world: World, tmp_path: Path) -> None:
    author = recall.author_id(row(40).author)
    world.mirror.database.webhooks.add(author)
    await world.write(row(40))

    await erase_author(world.mirror, author)

    with sqlite3.connect(tmp_path / "mirror.sqlite") as connection:
        assert connection.execute("SELECT id FROM webhooks").fetchall() == []
    connection.close()


async def test_a_locked_file_is_given_up_and_taken_again_by_itself(world: World, tmp_path: Path) -> None:
    await world.write(row(40))
    other = sqlite3.connect(tmp_path / "mirror.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(MirrorDown):
            await world.mirror.page(ROOM, None, 10)
        world.mirror.note(Created(1, row(50)))
        with pytest.raises(MirrorDown):
            await world.mirror.page(ROOM, None, 10)
    finally:
        other.rollback()
        other.close()
    world.time.seconds += MIRROR_RETRY_SECONDS + 1
    assert await world.mirror.page(ROOM, None, 10) is None
    await world.write(row(50), row(40))
    assert await world.page() == [(50, "text"), (40, "text")]


async def test_a_reader_that_is_cancelled_takes_nothing_with_it(world: World) -> None:
    await world.write(row(40))
    world.mirror.note(Created(1, row(50)))
    task = asyncio.create_task(world.mirror.page(ROOM, None, 10))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await world.page() == [(50, "text"), (40, "text")]


async def test_a_deletion_reaches_what_another_process_has_stored(world: World, tmp_path: Path) -> None:
    await world.mirror.flush()
    other = World(Mirror(str(tmp_path / "mirror.sqlite"), clock=Time(), now=Time(), shard_of=lambda _: -1))
    await other.mirror.new_epoch(-1)
    await other.write(row(40, "!pin"), row(30, "!pin"), place=THREAD)
    await other.mirror.close()
    world.mirror.note(Deleted(2, 40))
    world.mirror.note(Edited(2, row(30, "!unpin ^3")))
    await world.mirror.flush()
    seen = await find_markers(world.mirror, lambda: Sought([THREAD], LIVE, [THREAD]), before=LIVE, limit=10)
    assert [(each.sequence, each.content) for each in seen.seen] == [(30, "!unpin ^3")]


async def test_memory_is_a_mirror_too() -> None:
    world = World(mirror_at(":memory:", Time()))
    await world.mirror.new_epoch(1)
    await world.write(row(40))
    assert await world.page() == [(40, "text")]
    await world.mirror.close()
    await world.mirror.close()


SPANS = st.lists(st.builds(Span, st.integers(0, 30), st.integers(0, 30)), max_size=6)


def ids(spans: list[Span]) -> set[int]:
    return {each for span in spans for each in range(span.low, span.high)}


@given(SPANS)
def test_joined_spans_cover_the_same_ids_and_part_nothing(spans: list[Span]) -> None:
    joined = join(spans)
    assert ids(joined) == ids(spans)
    assert all(left.high < right.low for left, right in pairwise(joined))


@given(SPANS, st.integers(0, 30), st.integers(0, 30))
def test_a_cut_takes_the_hole_and_nothing_else(spans: list[Span], low: int, high: int) -> None:
    assert ids(cut(spans, Span(low, high))) == ids(spans) - set(range(low, high))


@given(SPANS, SPANS)
def test_what_is_common_is_in_both_and_nothing_else(spans: list[Span], others: list[Span]) -> None:
    assert ids(common(join(spans), join(others))) == ids(spans) & ids(others)


@given(SPANS, st.integers(0, 30), st.integers(0, 30), st.integers(0, 3))
def test_gaps_are_what_no_span_covers(spans: list[Span], low: int, high: int, least: int) -> None:
    found = gaps(spans, Span(low, high), least=least)
    uncovered = set(range(low, high)) - ids(spans)
    assert ids(found) <= uncovered
    assert uncovered - ids(found) == {
        each for gap in gaps(spans, Span(low, high)) if gap.high - gap.low < least for each in ids([gap])
    }
    assert all(gap.high - gap.low >= max(1, least) for gap in found)


@given(SPANS, st.integers(1, 31))
def test_below_finds_the_span_that_holds_the_id_before(spans: list[Span], before: int) -> None:
    found = below(join(spans), before)
    assert (found is not None) == (before - 1 in ids(spans))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["post", "edit", "delete", "read", "older", "race", "reconnect", "lapse", "resume", "erase"]),
        st.integers(0, 30),
    ),
    max_size=25,
)


class Discord:
    """The channel as it is, and a mirror that is told of it as long as the gateway speaks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: dict[int, recall.LogMessage] = {}
        self.next = 1
        self.told = True

    def change(self, kind: str, number: int) -> None:
        alive = sorted(self.rows)
        if kind == "post":
            self.rows[self.next] = row(self.next, f"{number}", author=f"author-{number % 3}")
            self._tell(Created(1, self.rows[self.next]))
            self.next += 1
        elif alive and kind == "edit":
            chosen = alive[number % len(alive)]
            self.rows[chosen] = row(chosen, f"edited {number}", author=recall.author_id(self.rows[chosen].author))
            self._tell(Edited(1, self.rows[chosen]))
        elif alive:
            chosen = alive[number % len(alive)]
            del self.rows[chosen]
            self._tell(Deleted(1, chosen))

    def _tell(self, event: Created | Edited | Deleted) -> None:
        if self.told:
            self.world.mirror.note(event)

    def below(self, before: int | None, limit: int) -> list[recall.LogMessage]:
        known = sorted((each for each in self.rows if before is None or each < before), reverse=True)
        return [self.rows[each] for each in known[:limit]]

    async def read(self, before: int | None, size: int, race: int | None = None) -> None:
        ticket = self.world.mirror.ticket(ROOM)
        page = self.below(before, size)
        if race is not None:
            self.change(["post", "edit", "delete"][race % 3], race)
        low = page[-1].sequence if len(page) == size else 0
        await self.world.mirror.write_page(ticket, page, low=low, high=LIVE if before is None else before)
        self.world.mirror.settle(ticket)


async def play(steps: list[tuple[str, int]]) -> None:
    world = World(mirror_at(":memory:", Time()))
    discord = Discord(world)
    await world.mirror.new_epoch(1)
    for kind, number in steps:
        if kind in {"post", "edit", "delete"}:
            discord.change(kind, number)
        elif kind in {"read", "race"}:
            await discord.read(None, 1 + number % 5, number if kind == "race" else None)
        elif kind == "older":
            await discord.read(max(1, discord.next - number), 1 + number % 4)
        elif kind == "lapse":
            discord.told = False
            world.mirror.claims.suspend(1)
        elif kind == "erase":
            await erase_author(world.mirror, f"author-{number % 3}")
        elif discord.told or kind == "reconnect":  # a session can only resume without a gap when nothing was missed
            discord.told = True
            await world.mirror.new_epoch(1)
        for before in (None, max(1, discord.next - number)):
            served = await world.mirror.page(ROOM, before, 3)
            if served is not None:
                truth = [each for each in discord.below(before, 3) if each.sequence >= served.low]
                assert list(served.rows) == truth
    await world.mirror.close()


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_what_is_served_is_what_discord_would_say(steps: list[tuple[str, int]]) -> None:
    asyncio.run(play(steps))


def test_the_example_file_of_another_process_is_readable_while_it_is_written(tmp_path: Path) -> None:
    async def both() -> None:
        world = World(mirror_at(str(tmp_path / "m.sqlite"), Time()))
        await world.mirror.new_epoch(1)
        await world.write(row(40))
        reader = sqlite3.connect(f"file:{tmp_path / 'm.sqlite'}?mode=ro", uri=True)
        assert reader.execute("SELECT COUNT(*) FROM rows").fetchone() == (1,)
        reader.close()
        await world.mirror.close()

    asyncio.run(both())
    assert [path.name for path in tmp_path.iterdir()] == ["m.sqlite"]


def test_a_process_that_does_not_close_its_mirror_ends_all_the_same(tmp_path: Path) -> None:
    program = """
import asyncio, sys, time
from recall_bot.mirror import Mirror
async def main():
    mirror = Mirror(sys.argv[1], clock=time.monotonic, now=time.time)
    await mirror.new_epoch()
    raise SystemExit(3)
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "m.sqlite")], timeout=30, check=False)
    assert ended.returncode == 3
