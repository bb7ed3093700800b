"""One contract, `recall.SessionLog`, for every log that a question is asked of: history, mirror, exports.

Each is made to hold the same channel: rows whose ids have gaps, some of them in a thread.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recall_bot.exports import ExportLog
from recall_bot.exports.desks import BEGINS_LATE
from recall_bot.history import HistoryLog
from recall_bot.mirror import LIVE, Mirror, Place
from recall_bot.mirror.reading import NOT_MIRRORED, MirrorLog, Stretch
from recall_bot.mirror.readonly import open_read_only
from recall_bot.pages import Reads
from recall_bot.recent import Recent, RememberingLog
from recall_bot.roots import ThreadLog
from recall_bot.rows import Identity

import recall
from tests.history_server import numbered, serve_history
from tests.payloads import ADA, BOT, CHANNEL, GUILD

ROWS = 730  # more than one page of a walk, and no whole number of anybody's pages


@dataclass
class Held:
    """A log, and the ids that it holds, newest first; `opened` counts what it asked of whatever is behind it."""

    log: recall.SessionLog
    ids: list[int]
    opened: Callable[[], int]


Opener = Callable[[pytest.MonkeyPatch, Path, int, AsyncExitStack], Awaitable[Held]]


def row(sequence: int, parent: int | None = None) -> recall.LogMessage:
    return recall.LogMessage(sequence, str(CHANNEL), parent, recall.PersonAuthor(str(ADA), "Ada"), f"msg {sequence}")


def sequences(total: int) -> list[int]:
    """Return that many ids with gaps between them, newest first."""
    return [1_000 + number * 7 + number % 3 for number in range(total)][::-1]


async def mirror_of(path: str, total: int, stack: AsyncExitStack) -> Mirror:
    """Return a mirror that holds a channel and a thread of it, which are read to their beginnings."""
    mirror = Mirror(path, clock=lambda: 0.0, now=lambda: 1_770_000_000.0)
    stack.push_async_callback(mirror.close)
    await mirror.new_epoch()
    for place in (CHANNEL, 77):
        ticket = mirror.ticket(Place(place, GUILD, CHANNEL))
        thread = 77 if place == 77 else None
        rows = [row(id_, thread) for id_ in sequences(total) if (id_ % 5 == 0) == (place == 77)]
        assert await mirror.write_page(ticket, rows, low=0, high=LIVE)
        mirror.settle(ticket)
    return mirror


async def open_history(monkeypatch: pytest.MonkeyPatch, _path: Path, total: int, stack: AsyncExitStack) -> Held:
    server = await stack.enter_async_context(serve_history(monkeypatch, numbered(total)))
    pages = Reads(identity=lambda: Identity(BOT)).pages(server.channel, desk_id=CHANNEL)
    return Held(HistoryLog(pages), server.ids, lambda: len(server.asked))


async def open_mirrored_history(monkeypatch: pytest.MonkeyPatch, path: Path, total: int, stack: AsyncExitStack) -> Held:
    server = await stack.enter_async_context(serve_history(monkeypatch, numbered(total)))
    mirror = Mirror(str(path / "m.sqlite"), clock=lambda: 0.0, now=lambda: 1_770_000_000.0)
    stack.push_async_callback(mirror.close)
    await mirror.new_epoch()
    pages = Reads(identity=lambda: Identity(BOT), mirror=mirror).pages(server.channel, desk_id=CHANNEL)
    await recall.walk_log(HistoryLog(pages), scan=total // 2 or 1)
    server.asked.clear()
    return Held(HistoryLog(pages), server.ids, lambda: len(server.asked))


async def open_mirror(_monkeypatch: pytest.MonkeyPatch, path: Path, total: int, stack: AsyncExitStack) -> Held:
    await mirror_of(str(path / "m.sqlite"), total, stack)
    connection = open_read_only(path / "m.sqlite")
    stack.callback(connection.close)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    log = MirrorLog(connection, [Stretch(77), Stretch(CHANNEL)], path=path)
    return Held(log, sequences(total), lambda: len(asked))


async def open_part_of_mirror(_monkeypatch: pytest.MonkeyPatch, path: Path, total: int, stack: AsyncExitStack) -> Held:
    await mirror_of(str(path / "m.sqlite"), total, stack)
    connection = open_read_only(path / "m.sqlite")
    stack.callback(connection.close)
    low, high = 1_500, 4_000
    stretches = [Stretch(77, low, high), Stretch(CHANNEL, low, high)]
    log = MirrorLog(connection, stretches, path=path, begins_late=NOT_MIRRORED)
    return Held(log, [id_ for id_ in sequences(total) if low <= id_ < high], lambda: 0)


async def open_exports(_monkeypatch: pytest.MonkeyPatch, _path: Path, total: int, _stack: AsyncExitStack) -> Held:
    ids = sequences(total)
    return Held(ExportLog(tuple(map(row, ids))), ids, lambda: 0)


async def open_late_exports(_monkeypatch: pytest.MonkeyPatch, _path: Path, total: int, _stack: AsyncExitStack) -> Held:
    ids = sequences(total)
    return Held(ExportLog(tuple(map(row, ids)), begins_late=BEGINS_LATE), ids, lambda: 0)


async def open_thread(_monkeypatch: pytest.MonkeyPatch, _path: Path, total: int, _stack: AsyncExitStack) -> Held:
    """A thread whose root stands elsewhere, as its channel's history is read."""

    async def read_root() -> recall.LogMessage:
        return row(5)

    log = ThreadLog(ExportLog(tuple(map(row, sequences(total)))), 5, read_root)
    return Held(log, [*sequences(total), 5], lambda: 0)


async def open_remembered(monkeypatch: pytest.MonkeyPatch, path: Path, total: int, stack: AsyncExitStack) -> Held:
    held = await open_exports(monkeypatch, path, total, stack)
    return Held(RememberingLog(held.log, Recent(), CHANNEL), held.ids, held.opened)


WHOLE: dict[str, Opener] = {
    "history": open_history,
    "history through a mirror": open_mirrored_history,
    "mirror": open_mirror,
    "exports": open_exports,
    "thread with a root elsewhere": open_thread,
    "remembered": open_remembered,
}
LATE: dict[str, Opener] = {"part of a mirror": open_part_of_mirror, "exports from a date on": open_late_exports}


@pytest.fixture(params=[*WHOLE, *LATE])
async def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Held]:
    async with AsyncExitStack() as stack:
        yield await (WHOLE | LATE)[request.param](monkeypatch, tmp_path, ROWS, stack)


@pytest.fixture(params=WHOLE)
async def whole(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Held]:
    async with AsyncExitStack() as stack:
        yield await WHOLE[request.param](monkeypatch, tmp_path, ROWS, stack)


def ids_of(page: recall.SessionPage) -> list[int]:
    return [row.sequence for row in page.messages]


async def test_the_newest_rows_come_first(held: Held) -> None:
    page = await held.log.read_before(None, 10)
    assert ids_of(page) == held.ids[:10]
    assert page.next_before is not None
    assert held.ids[10] < page.next_before <= held.ids[9]


@pytest.mark.parametrize("limit", [1, 99, 100, 101, 512])
async def test_cursors_lead_through_every_row_once(held: Held, limit: int) -> None:
    found: list[int] = []
    before = None
    while len(found) < len(held.ids) if limit > 1 else len(found) < 30:
        page = await held.log.read_before(before, limit)
        recall.validate_page(page, before=before, requested=limit, seen=set(found))
        found += ids_of(page)
        before = page.next_before
    assert found == held.ids[: len(found)]


async def test_any_cursor_may_be_asked_for_also_one_that_is_no_row(held: Held) -> None:
    chance = random.Random(3)
    for _ in range(12):
        edge = chance.randrange(held.ids[-1], held.ids[0] + 9)
        page = await held.log.read_before(edge, 7)
        assert ids_of(page) == [id_ for id_ in held.ids if id_ < edge][:7], edge


async def test_asking_anew_begins_anew(held: Held) -> None:
    first = await held.log.read_before(None, 300)
    await held.log.read_before(first.next_before, 5)
    assert ids_of(await held.log.read_before(None, 300)) == ids_of(first)


async def test_a_limit_of_none_reads_nothing(held: Held) -> None:
    before = held.opened()
    assert await held.log.read_before(None, 0) == recall.SessionPage(())
    assert held.opened() == before


async def test_below_everything_there_is_nothing(whole: Held) -> None:
    assert await whole.log.read_before(1, 10) == recall.SessionPage(())


async def test_at_the_beginning_there_is_no_further_cursor(whole: Held) -> None:
    walk = await recall.walk_log(whole.log, scan=ROWS + 2)
    assert [row.sequence for row in walk.rows] == whole.ids
    assert walk.coverage == recall.Coverage(len(whole.ids), whole.ids[-1], beginning=True, stopped=None)


@pytest.mark.parametrize("name", LATE)
async def test_a_log_that_does_not_begin_where_its_channel_does_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    async with AsyncExitStack() as stack:
        held = await LATE[name](monkeypatch, tmp_path, ROWS, stack)
        walk = await recall.walk_log(held.log, scan=ROWS + 2)
    assert [row.sequence for row in walk.rows] == held.ids
    assert not walk.coverage.beginning
    assert walk.coverage.stopped in {BEGINS_LATE, NOT_MIRRORED}


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "thread with a root elsewhere"])
async def test_an_empty_log_is_at_its_beginning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    async with AsyncExitStack() as stack:
        held = await WHOLE[name](monkeypatch, tmp_path, 0, stack)
        assert await held.log.read_before(None, 10) == recall.SessionPage(())


async def test_a_file_that_breaks_ends_a_walk_with_what_is_wrong(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        await mirror_of(str(tmp_path / "m.sqlite"), 3, stack)
        connection = open_read_only(tmp_path / "m.sqlite")
        log: Any = MirrorLog(connection, [Stretch(CHANNEL)], path=tmp_path / "m.sqlite")
        with sqlite3.connect(tmp_path / "m.sqlite") as other:
            other.execute("UPDATE rows SET row = x'00'")
        other.close()
        with pytest.raises(recall.ReadError) as caught:
            await recall.walk_log(log, scan=10)
        assert str(caught.value.__cause__).endswith("m.sqlite cannot be read as a mirror: a row is damaged.")
        connection.close()
