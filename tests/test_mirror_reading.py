"""A mirror file, read by the command line beside the bot that writes it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recall_bot import queries
from recall_bot.held import PlaceUnknown, find_place
from recall_bot.mirror import LIVE, Created, Deleted, Mirror, MirrorRefused, Place, Withheld
from recall_bot.mirror.database import Database
from recall_bot.mirror.file import GAPS, NOT_STORED, MirrorFile
from recall_bot.mirror.filling import Filling
from recall_bot.mirror.reading import NOT_MIRRORED
from recall_bot.mirror.readonly import MirrorUnreadable
from recall_bot.mirror.spans import Span
from recall_bot.mirror.statements import snowflake_at
from recall_bot.mirror.upkeep import trim
from recall_bot.queries import AnswerCoverage, LeftOut, OpenDesk

import recall
from tests.test_command_line import run, start

NOON = 1_770_000_000
GUILD, GENERAL, PLAN, IDEAS, POST, MODS = 900, 100, 101, 200, 201, 300
ADA, SCOUT = recall.PersonAuthor("7000000000000001", "Ada"), recall.AgentAuthor("7000000000000002", "Scout")
PLACES = {
    GENERAL: Place(GENERAL, GUILD, GENERAL, "general", "general"),
    PLAN: Place(PLAN, GUILD, GENERAL, "plan", "general"),
    POST: Place(POST, GUILD, IDEAS, "a post", "ideas"),
    MODS: Place(MODS, 901, MODS, "mods", "mods"),
}


def at(seconds: int) -> int:
    """Return an id of so many seconds after noon."""
    return snowflake_at(NOON + seconds)


def row(sequence: int, content: str = "text", place: int = GENERAL, **more: Any) -> recall.LogMessage:
    desk_id = PLACES[place].desk_id
    parent = None if place in {desk_id, sequence} else place
    return recall.LogMessage(sequence, str(desk_id), parent, more.pop("author", ADA), content, **more)


@dataclass
class Bot:
    """A mirror that a bot has open, in a time of its own."""

    mirror: Mirror
    path: Path
    seconds: float = NOON

    def now(self) -> float:
        return self.seconds

    async def write(
        self,
        *rows: recall.LogMessage,
        place: int = GENERAL,
        low: int = 0,
        high: int = LIVE,
        withheld: Iterable[int] = (),
    ) -> None:
        ticket = self.mirror.ticket(PLACES[place])
        assert await self.mirror.write_page(ticket, rows, low=low, high=high, withheld=withheld)
        self.mirror.settle(ticket)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    path = tmp_path / "mirror.sqlite"
    opened = Bot(Mirror(str(path), clock=lambda: 0.0, now=lambda: opened.seconds), path)
    await opened.mirror.new_epoch()
    yield opened
    await opened.mirror.close()


async def answer(desk: OpenDesk) -> tuple[list[str], AnswerCoverage]:
    """Return every text of a desk, newest first, and how far that was."""
    walk = await queries.desk.read(desk, scan=10**9)
    return [row.content for row in walk.rows], queries.desk.coverage_of(desk, walk.coverage)


async def asked(bot: Bot, place: str | None = None) -> tuple[list[str], AnswerCoverage]:
    mirror = MirrorFile(bot.path)
    try:
        return await answer(mirror.open(None if place is None else find_place(place, mirror.desks)))
    finally:
        mirror.close()


async def furnish(bot: Bot) -> None:
    await bot.write(row(at(60), "later"), row(PLAN, "the root"))
    await bot.write(row(at(30), "in the thread", PLAN), place=PLAN)
    await bot.write(row(at(45), "in the post", POST), row(POST, "the post itself", POST), place=POST)
    await bot.write(row(at(50), "elsewhere", MODS), place=MODS)


async def test_a_desk_is_a_channel_with_its_threads_newest_first(bot: Bot) -> None:
    await furnish(bot)
    texts, coverage = await asked(bot, "#general")
    assert texts == ["later", "in the thread", "the root"]
    assert coverage == AnswerCoverage(3, PLAN, beginning=True, stopped=None, as_of="2026-02-02T02:41:00Z")
    assert (await asked(bot, "ideas"))[0] == ["in the post", "the post itself"]
    assert (await asked(bot))[0] == [
        "later",
        "elsewhere",
        "in the post",
        "in the thread",
        "the post itself",
        "the root",
    ]


async def test_a_thread_is_itself_and_the_message_it_began_with(bot: Bot) -> None:
    await furnish(bot)
    assert (await asked(bot, "plan"))[0] == ["in the thread", "the root"]
    assert (await asked(bot, "a post"))[0] == ["in the post", "the post itself"]


async def test_places_are_found_as_in_exports(bot: Bot) -> None:
    await furnish(bot)
    mirror = MirrorFile(bot.path)
    assert [(desk.id, desk.name, [thread.name for thread in desk.threads]) for desk in mirror.desks] == [
        ("100", "general", ["plan"]),
        ("200", "ideas", ["a post"]),
        ("300", "mods", []),
    ]
    assert find_place("https://discord.com/channels/900/101", mirror.desks) == "101"
    with pytest.raises(PlaceUnknown, match=r"#general \(100\)"):
        find_place("kitchen", mirror.desks)
    with pytest.raises(PlaceUnknown):
        mirror.open("5")
    assert mirror.authors() == {(ADA.id, "Ada")}
    mirror.close()


async def test_what_the_bot_writes_meanwhile_is_in_the_next_answer(bot: Bot) -> None:
    await bot.write(row(at(1), "one"))
    mirror = MirrorFile(bot.path)
    desk = mirror.open("100")
    bot.mirror.note(Created(GENERAL, row(at(2), "two")))
    await bot.mirror.flush()
    assert (await answer(desk))[0] == ["two", "one"]
    bot.mirror.note(Deleted(GENERAL, at(1)))
    await bot.mirror.flush()
    assert (await answer(desk))[0] == ["two"]
    mirror.close()


async def test_names_of_channels_are_those_of_the_file_and_of_roles_there_are_none(bot: Bot) -> None:
    await bot.write(row(at(1), f"see <#{PLAN}>, <#55> and <@&66>"), row(PLAN))
    await bot.write(row(at(2), "x", PLAN), place=PLAN)
    assert (await asked(bot, "100"))[0][1] == "see #plan, #channel-55 and @role-66"


async def test_a_channel_that_was_not_read_to_its_beginning_says_so(bot: Bot) -> None:
    await bot.write(row(at(9), "new"), low=at(5))
    texts, coverage = await asked(bot, "100")
    assert (texts, coverage.beginning, coverage.stopped, coverage.left_out) == (["new"], False, NOT_MIRRORED, ())


async def test_a_gap_is_named_and_what_stands_below_it_is_read_all_the_same(bot: Bot) -> None:
    await bot.write(row(at(9), "new"), low=at(8))
    await bot.write(row(at(2), "old"), low=0, high=at(5))
    texts, coverage = await asked(bot, "100")
    assert texts == ["new", "old"]
    assert coverage.left_out == (LeftOut("100", "general", GAPS),)


async def test_messages_that_are_not_to_be_stored_are_said_to_be_missing(bot: Bot) -> None:
    await bot.write(row(at(9), "new"))
    bot.mirror.note(Withheld(GENERAL, at(10)))
    await bot.mirror.flush()
    assert (await asked(bot, "100"))[1].left_out == (LeftOut("100", "general", NOT_STORED),)


async def test_as_of_is_the_end_of_a_session_that_ended(bot: Bot) -> None:
    await bot.write(row(at(9), "new"))
    bot.seconds += 500
    await bot.mirror.close()
    assert (await asked(bot, "100"))[1].as_of == "2026-02-02T02:48:20Z"


async def test_as_of_is_the_newest_message_of_a_guild_while_the_session_lasts(bot: Bot) -> None:
    await bot.write(row(at(9), "new"))
    await bot.write(row(at(500), "x", PLAN), place=PLAN)
    await bot.write(row(at(900), "x", MODS), place=MODS)  # another guild may be in an outage
    assert (await asked(bot, "100"))[1].as_of == "2026-02-02T02:48:20Z"
    assert (await asked(bot, "mods"))[1].as_of == "2026-02-02T02:55:00Z"


async def test_as_of_is_the_earliest_of_all_that_is_shown(bot: Bot) -> None:
    await bot.write(row(at(9), "old"), low=0)
    bot.seconds += 100
    await bot.mirror.new_epoch()
    await bot.write(row(at(1_000), "new"), low=at(200))
    assert (await asked(bot, "100"))[1].as_of == "2026-02-02T02:40:09Z"


async def test_a_backfill_is_as_of_its_beginning(bot: Bot) -> None:
    database = Database(str(bot.path), clock=lambda: 0.0)
    filling = Filling(database, now=lambda: NOON + 50)
    await filling.write(PLACES[GENERAL], [row(at(9), "new")], Span(0, at(10)), asked_at=NOON + 50)
    assert (await asked(bot, "100"))[1].as_of == "2026-02-02T02:40:50Z"
    await filling.end()
    await database.close()
    assert (await asked(bot, "100"))[1].as_of == "2026-02-02T02:40:50Z"


async def test_what_was_spared_for_its_pins_is_as_old_as_the_place_may_be(bot: Bot) -> None:
    await bot.write(row(at(9), "new"), row(at(2), "!pin"))
    bot.seconds += 100
    await trim(bot.mirror, PLACES[GENERAL], keep_from=at(5), spare=[at(2)])
    await bot.write(row(at(3), "x"), low=at(3), high=at(4))
    await trim(bot.mirror, PLACES[GENERAL], keep_from=at(5), spare=[at(2)])
    texts, coverage = await asked(bot, "100")
    assert (texts, coverage.stopped) == (["new", "!pin"], NOT_MIRRORED)
    assert coverage.as_of == "2026-02-02T02:40:00Z"


async def test_links_into_the_desk_and_unknown_threads_are_addresses_and_others_are_not(bot: Bot) -> None:
    await furnish(bot)
    mirror = MirrorFile(bot.path)
    address = mirror.open("100").address
    assert address is not None
    link = "https://discord.com/channels/{}/{}/5".format
    assert [address(link(*ids)) for ids in ((900, 100), (900, 101), (900, 12345), (900, 200), (901, 100))] == [
        *(5, 5, 5),
        *(None, None),
    ]
    assert address("^5") is None
    mirror.close()


async def test_the_board_of_the_bot_and_that_of_the_file_are_one(bot: Bot) -> None:
    await bot.write(
        row(at(4), f"!unpin ^{at(2)}"), row(at(3), f"!pin ^{at(1)} #limits"), row(at(2), "!pin"), row(at(1), "600")
    )
    mirror = MirrorFile(bot.path)
    found = await queries.pins(mirror.open("100"), queries.PinsRequest(scan=mirror.most_rows))
    assert [(pin.sequence, pin.label, pin.excerpt) for pin in found.pins] == [(at(1), "limits", "600")]
    row_of = mirror.open("100").read_row
    assert row_of is not None
    assert (await row_of(at(1))) == row(at(1), "600")
    assert (await row_of(at(7))) is None
    mirror.close()


async def test_a_file_without_names_calls_places_by_their_ids(bot: Bot) -> None:
    await furnish(bot)
    async with bot.mirror.use() as connection:
        await connection.execute("UPDATE places SET name = '', desk_name = ''")
    mirror = MirrorFile(bot.path)
    assert [desk.name for desk in mirror.desks] == ["channel-100", "channel-200", "channel-300"]
    mirror.close()


# On the command line


async def told(*arguments: object, **environ: str) -> tuple[int, str, str]:
    """Run a command while the bot lives on."""
    return await asyncio.to_thread(run, *arguments, **environ)


async def test_the_reading_commands_take_a_mirror_while_the_bot_runs(bot: Bot) -> None:
    await furnish(bot)
    await bot.write(
        row(at(70), "!propose #ship it", author=SCOUT), row(at(60), "x" * 700), row(PLAN, f"!pin ^{PLAN} #root")
    )

    status, out, err = await told("search", bot.path, "thread", "--from", "Ada", "--in", "100")
    assert (status, err) == (0, "")
    assert "in the thread" in out
    assert "#plan" in out
    assert out.splitlines()[-1].endswith("As of 2026-02-02T02:41:10Z.")

    status, out, err = await told("pins", bot.path, "--in", "general", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert [pin["label"] for pin in found["pins"]] == ["root"]
    assert (found["coverage"]["beginning"], found["coverage"]["as_of"]) == (True, "2026-02-02T02:41:10Z")

    assert (await told("pins", bot.path, "--in", "plan", "--show", "export"))[0] == 0
    assert (await told("standings", bot.path, "--in", "general"))[0] == 0
    status, out, _ = await told("overrun", bot.path)
    assert (status, out.split()[0]) == (0, "100")


async def test_several_channels_are_named_and_an_empty_file_is_said_to_be(bot: Bot) -> None:
    assert (await told("pins", bot.path))[::2] == (2, "recall-bot: These files hold no channel.\n")
    assert (await told("search", bot.path, "x"))[0] == 1
    await furnish(bot)
    status, _, err = await told("standings", bot.path)
    assert status == 2
    assert "--in: #general (100), #ideas (200), #mods (300)" in err


async def test_a_mirror_is_asked_by_itself(bot: Bot, tmp_path: Path) -> None:
    (tmp_path / "room.json").write_text("{}")
    status, out, err = await told("search", bot.path, tmp_path / "room.json", "x")
    assert (status, out) == (2, "")
    assert err.endswith("mirror.sqlite is a mirror: give it alone, without other files.\n")
    status, _, err = await told("search", bot.path, "x", "--self", "5")
    assert (status, "a mirror knows who Recall was" in err) == (2, True)


@pytest.mark.parametrize("newer", [True, False])
def test_a_file_that_is_no_mirror_of_ours_is_one_sentence(tmp_path: Path, newer: bool) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs(id)")
        connection.execute(f"PRAGMA user_version = {99 if newer else 0}")
    connection.close()
    with pytest.raises(MirrorRefused if newer else MirrorUnreadable):
        MirrorFile(path)
    status, out, err = run("search", path, "x")
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert ("newer version" if newer else "it holds something else") in err


async def test_a_damaged_file_is_one_sentence(bot: Bot) -> None:
    await bot.write(*(row(at(n), "x" * 300) for n in range(500, 0, -1)))
    await bot.mirror.close()
    content = bytearray(bot.path.read_bytes())
    content[20_000:60_000] = b"\xff" * 40_000
    bot.path.write_bytes(content)
    status, out, err = await told("search", bot.path, "xyz")
    assert (status, out) == (2, "")
    assert "cannot be read as a mirror" in err


async def test_reading_leaves_no_text_behind_and_keeps_nobody_from_writing(bot: Bot) -> None:
    await furnish(bot)
    reader = start("search", bot.path, "thread")
    while reader.poll() is None:
        await bot.write(row(at(61), "again"), low=at(61), high=LIVE)
        await asyncio.sleep(0.01)
    reader.communicate()
    await bot.mirror.close()
    run("search", bot.path, "thread")
    journal = bot.path.with_name("mirror.sqlite-wal")
    assert not journal.exists() or journal.stat().st_size == 0
