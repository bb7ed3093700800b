"""A channel and its threads as one log, over discord.py's real HTTP client: what is asked, and what fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from recall_bot import threads
from recall_bot.bounds import HISTORY_CONCURRENT_READS
from recall_bot.history import DESK_THREADS_OPENED, TOO_MANY_THREADS

import recall
from tests.desk_server import Desk, DeskServer, serve_desk
from tests.history_server import respond
from tests.payloads import CHANNEL


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DeskServer]:
    async with serve_desk(monkeypatch) as opened:
        yield opened


def contents(walk: recall.Walk) -> list[str]:
    return [row.content for row in walk.rows]


async def test_threads_are_merged_by_the_time_of_each_message(server: DeskServer) -> None:
    for minute in (0, 10, 20):
        server.say(CHANNEL, minute, f"at {minute}")
    for number, minute in enumerate((5, 15)):
        server.archive(number, minute)

    walk = await Desk(server).walk()

    assert contents(walk) == ["at 20", "in thread 1", "at 10", "in thread 0", "at 0"]
    assert walk.coverage.beginning
    assert sorted(server.take()) == sorted(["archived", f"messages {CHANNEL}", *opened(server)])


def opened(server: DeskServer) -> list[str]:
    return [f"messages {each['id']}" for each in server.archived]


async def test_no_request_is_made_for_a_thread_whose_last_message_is_older_than_the_walk(server: DeskServer) -> None:
    for minute in range(150):
        server.say(CHANNEL, 1_000 + minute, "new")
    old, new = server.archive(0, 1), server.archive(1, 1_100.5)

    walk = await Desk(server).walk(scan=100)

    assert contents(walk).count("in thread 1") == 1
    asked = server.take()
    assert f"messages {new}" in asked
    assert f"messages {old}" not in asked
    assert asked.count(f"messages {CHANNEL}") == 1


async def test_of_ten_threads_one_that_is_refused_is_left_out_named_and_not_asked_again(
    server: DeskServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made = [server.archive(number, 10 * number + 1) for number in range(10)]
    server.refused.add(made[4])
    desk = Desk(server)

    walk = await desk.walk()
    assert contents(walk) == [f"in thread {number}" for number in reversed(range(10)) if number != 4]
    assert desk.left_out == [("thread 4", "no_permission")]
    assert walk.coverage.beginning
    assert [record for record in caplog.records if record.exc_info] == []
    server.take()

    assert contents(await desk.walk()) == contents(walk)
    assert desk.left_out == [("thread 4", "no_permission")]
    assert f"messages {made[4]}" not in server.take()


async def test_a_thread_that_is_gone_while_it_is_read_is_named_once_and_is_no_part_of_the_next(
    server: DeskServer,
) -> None:
    server.say(CHANNEL, 0, "here")
    server.gone.add(server.archive(0, 1))
    desk = Desk(server)

    assert contents(await desk.walk()) == ["here"]
    assert desk.left_out == [("thread 0", "gone")]
    server.archived.clear()
    assert contents(await desk.walk()) == ["here"]
    assert desk.left_out == []


async def test_threads_archived_at_one_instant_are_all_found_across_the_pages_of_their_list(
    server: DeskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LISTING_PAGE_SIZE", 3)
    for number in range(7):
        server.archive(number, number + 1, at=20 if number in {3, 4} else None)

    walk = await Desk(server).walk()

    assert contents(walk) == [f"in thread {number}" for number in reversed(range(7))]
    assert len(server.take()) <= 7 + 4 + 1  # a page of each thread, the list's pages, the channel


def html() -> web.StreamResponse:
    return web.Response(text="<html>at work</html>", content_type="text/html")


@pytest.mark.parametrize(
    ("answer", "reason", "asked_again"),
    [
        (lambda: respond({"message": "Missing Access", "code": 50001}, 403), "no_permission", False),
        (lambda: respond({"message": "no", "code": 0}, 503), "discord_down", True),
        (lambda: respond({"message": "no", "code": 0}, 429), "rate_limited", True),
        (lambda: respond([]), "discord_down", True),
        (html, "discord_down", True),
    ],
)
async def test_a_list_of_threads_that_fails_leaves_the_channel_and_says_that_its_archive_is_left_out(
    server: DeskServer,
    caplog: pytest.LogCaptureFixture,
    answer: Callable[[], web.StreamResponse],
    reason: str,
    asked_again: bool,
) -> None:
    server.say(CHANNEL, 0, "here")
    server.archive(0, 1)
    server.listing = answer
    desk = Desk(server)

    for is_first in (True, False):
        assert contents(await desk.walk()) == ["here"]
        assert desk.left_out == [("archived threads", reason)]
        assert server.take().count("archived") == (is_first or asked_again)
    assert [record for record in caplog.records if record.exc_info] == []

    if asked_again:
        server.listing = None
        assert contents(await desk.walk()) == ["in thread 0", "here"]
        assert desk.left_out == []


async def test_a_list_of_threads_that_stands_still_ends_the_walk_and_says_so(
    server: DeskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LISTING_PAGE_SIZE", 3)
    for number in range(3):
        server.archive(number, number + 1)
    server.listing = lambda: respond({"threads": server.archived, "members": [], "has_more": True})
    desk = Desk(server)

    for _ in range(2):
        with pytest.raises(recall.CursorDidNotAdvance, match="is not before the cursor"):
            await desk.walk()

    assert server.take().count("archived") == 4


async def test_more_threads_than_a_question_may_open_are_named(
    server: DeskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(DESK_THREADS_OPENED + 3):
        server.archive(number, number + 1)
    desk = Desk(server)

    walk = await desk.walk()

    assert len(walk.rows) == DESK_THREADS_OPENED
    assert desk.left_out == [(f"thread {number}", TOO_MANY_THREADS) for number in (2, 1, 0)]


async def test_a_page_of_one_too_many_loses_and_doubles_nothing(server: DeskServer) -> None:
    server.page_size = 101
    for minute in range(350):
        server.say(CHANNEL, minute, str(minute))

    walk = await Desk(server).walk()

    assert contents(walk) == [str(minute) for minute in reversed(range(350))]


async def test_what_is_posted_and_deleted_during_a_walk_doubles_and_shifts_nothing(server: DeskServer) -> None:
    for minute in range(250):
        server.say(CHANNEL, minute, str(minute))
    real = server._page

    def busy(place_id: int, request: object) -> object:
        page = real(place_id, request)  # type: ignore[arg-type]
        server.say(CHANNEL, 1_000 + len(server.asked), "newer")
        del server.messages[CHANNEL][0]
        return page

    server._page = busy  # type: ignore[method-assign,assignment]

    walk = await Desk(server).walk()

    assert contents(walk) == [str(minute) for minute in reversed(range(2, 250))]


async def test_two_who_ask_at_once_share_one_walk(server: DeskServer) -> None:
    for minute in range(250):
        server.say(CHANNEL, minute, str(minute))
    desk = Desk(server)

    one, two = await asyncio.gather(desk.walk(), desk.walk())

    assert one == two
    assert server.take().count(f"messages {CHANNEL}") == 3


async def test_a_guild_has_no_more_than_so_many_requests_under_way(server: DeskServer) -> None:
    made = [server.archive(number, number + 1) for number in range(3 * HISTORY_CONCURRENT_READS)]
    server.gate = asyncio.Event()
    desk = Desk(server)
    await desk.lists.of(desk.channel).list_below(1)
    listed = {reach.thread.id: reach.thread for reach in desk.lists.of(desk.channel).reaches()}
    pages = [desk.reads.pages(listed[thread_id], desk_id=CHANNEL) for thread_id in made]

    reading = [asyncio.create_task(page.read(None, 100)) for page in pages]
    while server.under_way < HISTORY_CONCURRENT_READS:
        await asyncio.sleep(0)
    server.gate.set()
    await asyncio.gather(*reading)

    assert server.most == HISTORY_CONCURRENT_READS
