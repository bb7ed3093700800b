from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.errors import Unavailable
from recall_bot.history import HistoryLog, Progress
from recall_bot.pages import Reads
from recall_bot.roots import ThreadLog, read_message
from recall_bot.rows import Identity

import recall
from tests.history_server import HistoryServer, numbered, respond, serve_history
from tests.payloads import BOT, GUILD, OWNER, user

US = Identity(BOT)


def log_of(server: HistoryServer, **options: Any) -> HistoryLog:
    return HistoryLog(Reads(identity=lambda: US).pages(server.channel, desk_id=server.channel.id), **options)


def without(messages: list[dict[str, Any]], *indices: int) -> list[dict[str, Any]]:
    """Make some of the messages ours, so that they are no rows."""
    ours = user(BOT, "Recall", bot=True)
    return [{**held, "author": ours} if index in indices else held for index, held in enumerate(messages)]


# how many requests


@pytest.mark.parametrize("scan", [1, 7, 99, 100, 101, 250, 511, 512, 513, 1000, 2048])
async def test_a_walk_costs_no_more_requests_than_its_rows_fill_pages(
    monkeypatch: pytest.MonkeyPatch, scan: int
) -> None:
    async with serve_history(monkeypatch, numbered(2_300)) as server:
        walk = await recall.walk_log(log_of(server), scan=scan)

        assert [row.sequence for row in walk.rows] == server.ids[:scan]
        assert walk.coverage == recall.Coverage(scan, server.ids[scan - 1], beginning=False, stopped="bound")
        assert len(server.asked) == math.ceil(scan / 100)


async def test_a_bound_of_one_fetches_one_message_and_reports_one(monkeypatch: pytest.MonkeyPatch) -> None:  # S1
    async with serve_history(monkeypatch, numbered(250)) as server:
        walk = await recall.walk_log(log_of(server), scan=1)

        assert server.asked == [(None, 1)]
        assert walk.coverage == recall.Coverage(1, server.ids[0], beginning=False, stopped="bound")


async def test_where_a_walk_ended_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:  # S1
    async with serve_history(monkeypatch, numbered(250)) as server:
        first = await recall.walk_log(log_of(server), scan=100)
        second = await recall.walk_log(log_of(server), scan=100, before=first.coverage.oldest)

        assert [row.sequence for row in first.rows + second.rows] == server.ids[:200]
        assert server.asked == [(None, 100), (server.ids[99], 100)]


async def test_what_came_too_much_is_served_without_another_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, numbered(1_000)) as server:
        log = log_of(server)
        first = await log.read_before(None, 512)
        second = await log.read_before(first.next_before, 88)

        assert len(server.asked) == 6
        assert [row.sequence for row in first.messages + second.messages] == server.ids[:600]


async def test_another_walk_over_the_same_log_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, numbered(150)) as server:
        log = log_of(server)
        for _ in range(2):
            walk = await recall.walk_log(log, scan=2048)
            assert [row.sequence for row in walk.rows] == server.ids
        page = await log.read_before(server.ids[20], 5)
        assert [row.sequence for row in page.messages] == server.ids[21:26]


@pytest.mark.parametrize("newer", [0, 1, 99, 100, 101, 250])
async def test_nothing_is_fetched_in_vain_below_the_end_of_a_question(
    monkeypatch: pytest.MonkeyPatch, newer: int
) -> None:
    async with serve_history(monkeypatch, numbered(900)) as server:
        after = server.ids[newer]
        walk = await recall.walk_log(log_of(server, after=after), scan=2048, after=after)

        assert [row.sequence for row in walk.rows] == server.ids[:newer]
        assert walk.coverage.stopped is None
        assert len(server.asked) == newer // 100 + 1


async def test_an_end_among_our_own_words_is_not_taken_for_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, without(numbered(300), *range(150, 300))) as server:
        after = server.ids[50]
        walk = await recall.walk_log(log_of(server, after=after), scan=2048, after=after)

        assert walk.coverage == recall.Coverage(0, None, beginning=False, stopped=None)


# the beginning


@pytest.mark.parametrize("total", [0, 1, 99, 100, 101, 200, 512, 600])
async def test_a_walk_ends_at_the_beginning_of_history(monkeypatch: pytest.MonkeyPatch, total: int) -> None:
    async with serve_history(monkeypatch, numbered(total)) as server:
        walk = await recall.walk_log(log_of(server), scan=2048)

        oldest = server.ids[-1] if total else None
        assert walk.coverage == recall.Coverage(total, oldest, beginning=True, stopped=None)
        assert len(server.asked) == total // 100 + 1


async def test_an_empty_page_without_the_right_to_read_history_is_not_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_history(monkeypatch) as server:
        withdraw_history(server.channel)
        with pytest.raises(recall.ReadError) as caught:
            await recall.walk_log(log_of(server), scan=10)

    assert isinstance(caught.value.__cause__, Unavailable)
    assert caught.value.__cause__.kind == "no_permission"


async def test_a_right_that_is_lost_on_the_way_ends_the_walk_with_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_history(monkeypatch, numbered(300)) as server:

        async def lose(_request: object) -> Any:
            withdraw_history(server.channel)
            return respond([])

        server.answers = [None, lose]
        walk = await recall.walk_log(log_of(server), scan=2048)

        assert walk.coverage == recall.Coverage(100, server.ids[99], beginning=False, stopped="no_permission")


def withdraw_history(channel: discord.TextChannel) -> None:
    everyone = channel.guild.get_role(GUILD)
    assert everyone is not None
    everyone._permissions &= ~discord.Permissions(read_message_history=True).value


@pytest.mark.parametrize("before", [0, 1])
async def test_before_the_first_message_there_could_be_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    async with serve_history(monkeypatch, numbered(3)) as server:
        assert await log_of(server).read_before(before, 10) == recall.SessionPage(())
        assert await log_of(server).read_before(None, 0) == recall.SessionPage(())
        assert server.asked == []


async def test_a_bound_above_every_message_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, numbered(3)) as server:
        page = await log_of(server).read_before(2**64 - 1, 10)

        assert [row.sequence for row in page.messages] == server.ids
        assert server.asked == [(None, 10)]


# what is no row


async def test_pages_without_a_row_are_read_past(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = without(numbered(451), *range(1, 451))
    async with serve_history(monkeypatch, messages) as server:
        walk = await recall.walk_log(log_of(server), scan=1)

        assert [row.content for row in walk.rows] == ["msg 0"]
        assert server.asked[0] == (None, 1)
        assert {limit for _before, limit in server.asked[1:]} == {100}


async def test_a_channel_with_nothing_but_our_own_words_is_read_to_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_history(monkeypatch, without(numbered(200), *range(200))) as server:
        walk = await recall.walk_log(log_of(server), scan=2048)

        assert walk.coverage == recall.Coverage(0, None, beginning=True, stopped=None)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 700), st.integers(1, 9), st.integers(1, 600), st.lists(st.integers(1, 520), max_size=4))
async def test_whatever_is_asked_the_log_keeps_its_contract(
    total: int, nth: int, scan: int, limits: Sequence[int]
) -> None:
    messages = without(numbered(total), *range(0, total, nth))
    expected = [int(messages[index]["id"]) for index in range(total - 1, -1, -1) if index % nth]
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with serve_history(monkeypatch, messages) as server:
            walk = await recall.walk_log(log_of(server), scan=scan)
            assert [row.sequence for row in walk.rows] == expected[:scan]

            log, cursor, seen = log_of(server), None, set[int]()
            for limit in limits:
                page = await log.read_before(cursor, limit)
                recall.validate_page(page, before=cursor, requested=limit, seen=seen)
                if page.next_before is None:
                    assert sorted(seen, reverse=True) == expected
                    break
                assert len(page.messages) == limit
                cursor = page.next_before


# hosts that err


@pytest.mark.parametrize("scan", [100, 2048])
async def test_a_page_that_comes_twice_is_an_error(monkeypatch: pytest.MonkeyPatch, scan: int) -> None:
    async with serve_history(monkeypatch, without(numbered(300), *range(200, 300))) as server:

        async def newest(request: Any) -> Any:
            return respond(server.messages[: -int(request.query["limit"]) - 1 : -1])

        server.answers = [newest] * 9
        with pytest.raises(recall.CursorDidNotAdvance):
            await recall.walk_log(log_of(server), scan=scan)
        assert len(server.asked) == 2


# progress and time


async def test_progress_says_how_many_rows_and_how_far_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Progress] = []
    async with serve_history(monkeypatch, without(numbered(250), 249)) as server:
        await recall.walk_log(log_of(server, on_progress=seen.append), scan=130)

        assert [progress.rows for progress in seen] == [99, 129, 130]
        assert seen[-1].oldest < seen[0].oldest
        assert seen[0].oldest == discord.utils.snowflake_time(server.ids[99])
        assert datetime(2015, 1, 1, tzinfo=UTC) < seen[-1].oldest


async def test_at_its_deadline_a_walk_ends_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:  # R2
    now = 0.0
    async with serve_history(monkeypatch, numbered(2_000)) as server:

        async def slow(request: Any) -> Any:
            nonlocal now
            now += 4
            limit, before = int(request.query["limit"]), int(request.query.get("before", 2**63))
            return respond([held for held in server.messages if int(held["id"]) < before][: -limit - 1 : -1])

        server.answers = [slow] * 20
        log = log_of(server, deadline=14.0, clock=lambda: now)
        walk = await recall.walk_log(log, scan=2048)

        assert walk.coverage == recall.Coverage(400, server.ids[399], beginning=False, stopped="time")
        assert now == 16


async def test_a_deadline_that_has_passed_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, numbered(3)) as server:
        walk = await recall.walk_log(log_of(server, deadline=5.0, clock=lambda: 5.0), scan=10)

        assert walk.coverage == recall.Coverage(0, None, beginning=False, stopped="time")
        assert server.asked == []


# single messages


async def test_one_message_is_read_as_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_history(monkeypatch, without(numbered(3), 1)) as server:
        newest, ours, _oldest = server.ids

        async def read(sequence: int) -> recall.LogMessage | None:
            return await read_message(server.channel, sequence, identity=US, seconds=5)

        found = await read(newest)
        assert found is not None
        assert found.content == "msg 2"
        assert await read(ours) is None
        assert await read(5) is None
        assert await read(0) is None
        assert await read(2**63) is None


@pytest.mark.parametrize(("status", "kind"), [(403, "no_permission"), (404, "gone"), (503, "discord_down")])
async def test_a_message_that_cannot_be_read_is_not_called_gone(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: str
) -> None:
    async with serve_history(monkeypatch, numbered(1)) as server:
        server.answers = [status]
        with pytest.raises(Unavailable) as caught:
            await read_message(server.channel, server.ids[0], identity=US, seconds=5)

    assert caught.value.kind == kind


# a thread and the message it was started from


def rows(*sequences: int) -> list[recall.LogMessage]:
    author = recall.PersonAuthor(str(OWNER), "Ada")
    return [recall.LogMessage(n, "1", None if n == 10 else 10, author, "") for n in sequences]


class Held:
    """A log of rows held in memory, given oldest first."""

    def __init__(self, *sequences: int) -> None:
        self.rows = rows(*sequences)[::-1]

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        older = [row for row in self.rows if before is None or row.sequence < before]
        page = tuple(older[:limit])
        return recall.SessionPage(page, page[-1].sequence if len(older) > limit else None)


class Root:
    """Answers with the root of a thread, or fails, and counts how often it is asked."""

    def __init__(self, answer: recall.LogMessage | Unavailable | None) -> None:
        self.answer = answer
        self.asked = 0

    async def read(self) -> recall.LogMessage | None:
        self.asked += 1
        if isinstance(self.answer, Unavailable):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("scan", range(1, 7))
@pytest.mark.parametrize("replies", range(5))
async def test_a_thread_is_read_down_to_the_message_it_was_started_from(replies: int, scan: int) -> None:
    root = Root(rows(10)[0])
    walk = await recall.walk_log(ThreadLog(Held(*range(11, 11 + replies)), 10, root.read), scan=scan)

    whole = list(range(10 + replies, 9, -1))
    assert [row.sequence for row in walk.rows] == whole[:scan]
    assert walk.coverage.beginning == (scan >= len(whole))
    assert root.asked == int(scan >= len(whole))


async def test_a_thread_of_no_message_has_only_its_own() -> None:
    walk = await recall.walk_log(ThreadLog(Held(11, 12), 10, Root(None).read), scan=9)
    assert walk.coverage == recall.Coverage(2, 11, beginning=True, stopped=None)


async def test_a_root_that_cannot_be_read_ends_the_walk_above_it() -> None:
    root = Root(Unavailable("discord_down"))
    walk = await recall.walk_log(ThreadLog(Held(11, 12), 10, root.read), scan=9)
    assert walk.coverage == recall.Coverage(2, 11, beginning=False, stopped="discord_down")


async def test_nothing_is_older_than_the_root() -> None:
    root = Root(rows(10)[0])
    assert await ThreadLog(Held(11), 10, root.read).read_before(10, 5) == recall.SessionPage(())
    assert root.asked == 0
