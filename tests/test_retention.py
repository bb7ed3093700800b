from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.config import Config, parse_config
from recall_bot.mirror import LIVE, Mirror, MirrorDown, Place
from recall_bot.mirror.statements import snowflake_at
from recall_bot.mirror.upkeep import TRIM_ROWS, stored
from recall_bot.queries import needed_by_boards
from recall_bot.retention import Retention

import recall

NOW = 1_770_000_000.0
DAY = 86_400
ADA, BEN = recall.PersonAuthor("1", "Ada"), recall.PersonAuthor("2", "Ben")
ROOM, THREAD = Place(100, 9, 100), Place(7, 9, 100)


def row(sequence: int, content: str = "text", *, parent: int | None = None, **more: object) -> recall.LogMessage:
    return recall.LogMessage(sequence, "100", parent, ADA, content, **more)  # type: ignore[arg-type]


def mirror_at(path: str = ":memory:") -> Mirror:
    return Mirror(path, clock=lambda: NOW, now=lambda: NOW)


async def write(mirror: Mirror, rows: Iterable[recall.LogMessage], place: Place = ROOM) -> None:
    ticket = mirror.ticket(place)
    assert await mirror.write_page(ticket, rows, low=0, high=LIVE)
    mirror.settle(ticket)


async def kept(mirror: Mirror) -> list[int]:
    async with mirror.use() as connection:
        found = await connection.execute_fetchall("SELECT id FROM rows ORDER BY id DESC")
    return [id_ for (id_,) in found]


async def swept(config: Config, *pages: tuple[Place, list[recall.LogMessage]]) -> list[int]:
    """Return what is left of some places after a sweep."""
    mirror = mirror_at()
    await mirror.new_epoch()
    for place, rows in pages:
        await write(mirror, rows, place)
    await Retention(mirror, config, now=lambda: NOW).sweep()
    left = await kept(mirror)
    await mirror.close()
    return left


async def test_the_newest_messages_of_each_place_are_kept() -> None:
    config = parse_config("[mirror]\nkeep_messages = 2")
    rooms = [row(n) for n in (50, 40, 30, 20)]
    threads = [row(n, parent=7) for n in (45, 35)]
    assert await swept(config, (ROOM, rooms), (THREAD, threads)) == [50, 45, 40, 35]


async def test_nothing_older_than_so_many_days_is_kept() -> None:
    config = parse_config("[mirror]\nkeep_days = 10")
    old, new = snowflake_at(NOW - 11 * DAY), snowflake_at(NOW - 9 * DAY)
    assert await swept(config, (ROOM, [row(new), row(old)])) == [new]


async def test_no_bound_keeps_everything() -> None:
    config = parse_config("[mirror]\nkeep_messages = 0")
    assert await swept(config, (ROOM, [row(n) for n in (3, 2, 1)])) == [3, 2, 1]


@pytest.mark.parametrize(
    ("table", "left"),
    [("guild.9", 1), ("guild.8", 3), ("channel.100", 1), ("channel.7", 3)],
)
async def test_a_guild_or_a_channel_may_keep_less(table: str, left: int) -> None:
    config = parse_config(f"[{table}.mirror]\nkeep_messages = 1")
    assert len(await swept(config, (ROOM, [row(n) for n in (3, 2, 1)]))) == left


async def test_a_thread_follows_its_channel_unless_it_has_a_table_of_its_own() -> None:
    config = parse_config("[channel.100.mirror]\nkeep_messages = 1\n[channel.7.mirror]\nkeep_messages = 2")
    rows = [row(n, parent=7) for n in (30, 20, 10)]
    assert await swept(config, (THREAD, rows)) == [30, 20]


async def test_what_live_pins_need_is_kept_and_the_rest_of_the_markers_goes() -> None:
    config = parse_config("[mirror]\nkeep_messages = 1")
    rows = [
        row(90),
        row(60, "!unpin ^20"),
        row(50, "!pin ^20"),
        row(40, "!pin ^10 #why"),
        row(30, "wow!"),
        row(20, "was pinned"),
        row(10, "is pinned"),
    ]
    assert await swept(config, (ROOM, rows)) == [90, 40, 10]


@pytest.mark.parametrize("rule", ['unpin = "pinner"', 'unpin = "moderators"', "per_author = 1"])
@pytest.mark.parametrize("table", ["pins", "guild.9.pins", "channel.100.pins", "channel.7.pins"])
async def test_what_was_ever_pinned_is_kept_where_lines_may_be_refused(table: str, rule: str) -> None:
    config = parse_config(f"[mirror]\nkeep_messages = 1\n[{table}]\n{rule}")
    rooms = [row(90), row(60, "!unpin ^20"), row(50, "!pin ^20"), row(30, "wow!"), row(20, "was pinned")]
    assert await swept(config, (ROOM, rooms), (THREAD, [row(25, parent=7)])) == [90, 60, 50, 25, 20]


async def test_an_unpin_stays_as_long_as_its_pin_does() -> None:
    """The thread is quiet, so its old pin is kept; the channel is busy, and the unpin stands there."""
    config = parse_config("[mirror]\nkeep_messages = 1")
    rooms = [row(90), row(60, "!unpin ^20")]
    assert await swept(config, (ROOM, rooms), (THREAD, [row(20, "!pin", parent=7)])) == [90, 60, 20]


async def test_a_pin_that_stands_in_its_thread_alone_is_live_on_the_threads_board() -> None:
    config = parse_config("[mirror]\nkeep_messages = 1")
    rooms = [row(90), row(80, "!unpin ^20")]
    threads = [row(70, parent=7), row(20, "!pin", parent=7)]
    assert await swept(config, (ROOM, rooms), (THREAD, threads)) == [90, 80, 70, 20]


async def test_what_went_is_not_claimed_and_what_stayed_is() -> None:
    mirror = mirror_at()
    await mirror.new_epoch()
    await write(mirror, [row(n) for n in (40, 30, 20, 10)])
    retention = Retention(mirror, parse_config("[mirror]\nkeep_messages = 2"), now=lambda: NOW)
    assert await retention.sweep() == 2
    page = await mirror.page(ROOM, None, 10)
    assert page is not None
    assert ([each.sequence for each in page.rows], page.low) == ([40, 30], 30)
    assert await mirror.page(ROOM, 30, 10) is None
    assert await retention.sweep() == 0
    await mirror.close()


async def test_a_large_place_is_trimmed_in_several_transactions() -> None:
    mirror = mirror_at()
    await mirror.new_epoch()
    await write(mirror, [row(n) for n in range(2 * TRIM_ROWS + 11, 0, -1)])
    used = mirror.database.use
    transactions = 0

    def counted() -> object:
        nonlocal transactions
        transactions += 1
        return used()

    mirror.database.use = counted  # type: ignore[method-assign,assignment]
    retention = Retention(mirror, parse_config("[mirror]\nkeep_messages = 10"), now=lambda: NOW)
    assert await retention.sweep() == 2 * TRIM_ROWS + 1
    assert transactions > 3
    assert [each.rows for each in await stored(mirror)] == [10]
    await mirror.close()


async def test_a_mirror_that_fails_is_said_to(tmp_path: Path) -> None:
    mirror = mirror_at(str(tmp_path))
    with pytest.raises(MirrorDown):
        await Retention(mirror, Config(), now=lambda: NOW).sweep()


LINES = st.sampled_from(["!pin ^{}", "!unpin ^{}", "!pin ^{} #a", "!pin", "text", "!pin ^{}\n!unpin ^{}", "well!"])


@st.composite
def desks(draw: st.DrawFn) -> list[recall.LogMessage]:
    """Return the rows of a channel with two threads, oldest first."""
    rows = []
    for sequence in range(10, 10 + draw(st.integers(1, 25))):
        line = draw(LINES)
        while "{}" in line:
            line = line.replace("{}", str(draw(st.integers(10, 35))), 1)
        rows.append(row(sequence, line, parent=draw(st.sampled_from([None, None, 11, 12]))))
    return rows


def boards(rows: Iterable[recall.LogMessage]) -> list[tuple[recall.Pin, ...]]:
    """Return the board of the desk, and those of its threads."""
    ordered = sorted(rows, key=lambda each: each.sequence)
    inside = [[each for each in ordered if thread in (each.parent, each.sequence)] for thread in (11, 12)]
    return [recall.fold_pins(some, 250, dialect="discord") for some in (ordered, *inside)]


@settings(max_examples=300, deadline=None)
@given(desks(), st.randoms(use_true_random=False))
def test_every_board_is_the_same_when_the_old_rows_have_gone(
    rows: list[recall.LogMessage], chance: random.Random
) -> None:
    bounds = {parent: chance.randint(10, 36) for parent in (None, 11, 12)}
    old = {each.sequence for each in rows if each.sequence < bounds[each.parent]}
    needed = needed_by_boards([each for each in rows if "!" in each.content], old, threads=(11, 12))
    left = [each for each in rows if each.sequence not in old or each.sequence in needed]
    assert boards(left) == boards(rows)
