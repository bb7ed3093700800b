from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from recall_bot.mirror import LIVE, Created, Mirror, MirrorRefused, Place
from recall_bot.mirror.erasing import EraseFailed, Erasure, erase, set_aside_files
from recall_bot.mirror.readonly import MirrorUnreadable, looks_like_mirror, open_read_only
from recall_bot.mirror.upkeep import Erased, drop_all, drop_guild, drop_place, erase_author

import recall

ROOM, THREAD, OTHER, ABROAD = Place(1, 9, 1), Place(2, 9, 1), Place(3, 9, 3), Place(4, 8, 4)
SECRET = "unforgettable-words"


def row(sequence: int, content: str = "text", *, author: str = "ada") -> recall.LogMessage:
    return recall.LogMessage(sequence, "1", None, recall.PersonAuthor(author, author.title()), content)


@dataclass
class Running:
    """A bot's mirror that is open all the while, and its file."""

    mirror: Mirror
    path: Path

    async def write(self, place: Place, rows: Iterable[recall.LogMessage], *, low: int = 0, high: int = LIVE) -> None:
        ticket = self.mirror.ticket(place)
        assert await self.mirror.write_page(ticket, rows, low=low, high=high)
        self.mirror.settle(ticket)

    async def page(self, place: Place, before: int | None = None) -> list[int] | None:
        found = await self.mirror.page(place, before, 100)
        return None if found is None else [each.sequence for each in found.rows]

    async def erase(self, work: Callable[[Mirror], Awaitable[Erased]]) -> Erasure:
        return await erase(self.path, work)

    def bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.path.parent.iterdir())


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    path = tmp_path / "mirror.sqlite"
    mirror = Mirror(str(path), clock=lambda: 0.0, now=lambda: 1_770_000_000.0)
    await mirror.new_epoch()
    running = Running(mirror, path)
    await running.write(ROOM, [row(50, SECRET, author="mallory"), row(40)])
    await running.write(THREAD, [row(51, SECRET, author="mallory")])
    await running.write(OTHER, [row(41)])
    await running.write(ABROAD, [row(42, SECRET)])
    yield running
    await mirror.close()


async def test_an_author_is_erased_under_the_running_bot_which_claims_nothing_of_it(running: Running) -> None:
    erased = await running.erase(functools.partial(erase_author, author_id="mallory"))
    assert erased == (2, 2, True, ())
    assert await running.page(ROOM) == []  # sure of nothing below what is newer than the hole
    assert await running.page(ROOM, 51) is None
    assert await running.page(ROOM, 50) == [40]
    assert await running.page(OTHER) == [41]


async def test_what_is_erased_is_in_no_file(running: Running) -> None:
    await running.erase(functools.partial(erase_author, author_id="mallory"))
    await running.erase(functools.partial(drop_guild, guild_id=8))
    assert SECRET.encode() not in running.bytes()
    assert b"mallory" not in running.bytes()


async def test_a_channel_goes_with_its_threads(running: Running) -> None:
    assert await running.erase(functools.partial(drop_place, place_id=1)) == (3, 2, True, ())
    assert await running.page(ROOM) is None
    assert await running.page(THREAD) is None
    assert await running.page(OTHER) == [41]


async def test_a_guild_goes_with_all_of_it_and_no_other(running: Running) -> None:
    assert await running.erase(functools.partial(drop_guild, guild_id=9)) == (4, 3, True, ())
    assert await running.page(OTHER) is None
    assert await running.page(ABROAD) == [42]


async def test_all_goes(running: Running) -> None:
    assert await running.erase(drop_all) == (5, 4, True, ())
    assert [await running.page(place) for place in (ROOM, THREAD, OTHER, ABROAD)] == [None] * 4
    assert SECRET.encode() not in running.bytes()


async def test_what_was_told_before_and_not_yet_written_is_not_written_after(running: Running) -> None:
    running.mirror._flushing = asyncio.get_running_loop().create_future()  # type: ignore[assignment]
    running.mirror.note(Created(1, row(60, SECRET)))
    await running.erase(drop_all)
    running.mirror._flushing = None
    assert await running.page(ROOM) is None
    await running.mirror.database.checkpoint()
    assert SECRET.encode() not in running.bytes()


async def test_what_is_read_again_is_stored_and_claimed_again(running: Running) -> None:
    await running.erase(drop_all)
    await running.write(ROOM, [row(70), row(40)])
    assert await running.page(ROOM) == [70, 40]


async def test_pages_that_were_split_keep_no_copy_of_what_is_erased(running: Running) -> None:
    texts = {n: f"{SECRET} {n} " + "x" * (n * 37 % 700) for n in range(3_100, 100, -1)}
    authors = {n: "mallory" if n % 7 == 0 else "ada" for n in texts}
    for high in range(3_100, 100, -100):
        rows = [row(n, texts[n], author=authors[n]) for n in range(high, high - 100, -1)]
        await running.write(OTHER, rows, low=high - 99, high=LIVE if high == 3_100 else high + 1)
    erased = await running.erase(functools.partial(erase_author, author_id="mallory"))
    assert erased.clean
    assert erased.rows == 2 + sum(author == "mallory" for author in authors.values())
    found = running.bytes()
    assert not any(texts[n].encode() in found for n in texts if authors[n] == "mallory")
    assert texts[3_000 - 1].encode() in found


async def test_somebody_who_reads_what_is_older_is_waited_for_and_then_named(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bot.mirror.schema.BUSY_SECONDS", 0.02)
    reader = open_read_only(running.path)
    reader.execute("SELECT COUNT(*) FROM rows").fetchall()
    erased = await running.erase(drop_all)
    assert (erased.rows, erased.clean) == (5, False)
    reader.close()
    assert await running.erase(drop_all) == (0, 0, True, ())
    assert SECRET.encode() not in running.bytes()


async def test_a_file_that_is_locked_is_left_as_it_is(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_bot.mirror.schema.BUSY_SECONDS", 0.02)
    other = sqlite3.connect(running.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(EraseFailed, match=r"Nothing was erased: .*\(database is locked\)"):
        await running.erase(drop_all)
    other.rollback()
    other.close()
    assert await running.page(ROOM) == [50, 40]


async def test_files_that_were_set_aside_are_named(running: Running) -> None:
    aside = running.path.with_name("mirror.sqlite.broken-20260101T000000000000")
    aside.write_bytes(b"x")
    assert (await running.erase(drop_all)).set_aside == (aside,)
    assert set_aside_files(running.path) == (aside,)


@pytest.mark.parametrize("content", [b"", b"this is no database" * 100, None])
async def test_a_file_that_is_no_mirror_is_refused_and_stays_where_it_is(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mirror.sqlite"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE theirs(id)")
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(MirrorUnreadable, match=r"cannot be read as a mirror"):
        await erase(path, drop_all)
    assert path.read_bytes() == before
    assert looks_like_mirror(path) == (content is None)


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(MirrorRefused):
        await erase(path, drop_all)


async def test_no_file_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(MirrorUnreadable, match="there is no such file"):
        await erase(tmp_path / "mirror.sqlite", drop_all)
    assert list(tmp_path.iterdir()) == []
    assert not looks_like_mirror(tmp_path)


async def test_a_mirror_is_read_where_nothing_can_be_written(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    await running.mirror.close()
    real = sqlite3.connect

    def refusing(address: str, **options: object) -> sqlite3.Connection:
        if "mode=ro" in address:  # root may write to any folder, so the folder's answer is given here
            raise sqlite3.OperationalError("unable to open database file")
        return real(address, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", refusing)
    connection = open_read_only(running.path)
    assert connection.execute("SELECT COUNT(*) FROM rows").fetchone() == (5,)
    connection.close()
    assert [each.name for each in running.path.parent.iterdir()] == ["mirror.sqlite"]


async def test_a_reader_changes_nothing(running: Running) -> None:
    connection = open_read_only(running.path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM rows")
    connection.close()
