"""The demo as a person meets it: the real bot, in a real browser."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.demo_page import CHROMIUM, DemoPage, open_browser, open_page, running_demo

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists() and "CI" not in os.environ, reason=f"there is no browser at {CHROMIUM}"),
    pytest.mark.asyncio(loop_scope="module"),  # one page for all of them
]


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with running_demo() as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with open_browser() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(browser: Browser, demo: str) -> AsyncIterator[DemoPage]:
    async with open_page(browser, demo) as page:
        yield page


async def test_a_message_is_typed_and_pinned_by_an_answer_and_stands_on_the_board(page: DemoPage) -> None:
    await page.say("The cormorant is certified as well.")
    await page.say("!pin #birds two of two", to=page.message("The cormorant is certified"))
    await expect(page.message("!pin #birds").get_by_text("📌")).to_be_visible()

    board = await page.run("pins", label="birds")

    await expect(board).to_contain_text("#birds · pinned by Mira Okafor")
    await expect(board).to_contain_text("two of two")
    await expect(board).to_contain_text("The cormorant is certified as well.")
    await expect(board).to_contain_text("Only you can see this")


async def test_standings_show_the_debate_and_how_it_stood_at_a_time(page: DemoPage) -> None:
    now = await page.run("standings")
    await expect(now).to_contain_text("Quorum: #fallback-call is carried.")
    await expect(now).to_contain_text("silenced Scout (app)")

    then = await page.run("standings", at="2026-03-10T14:55")
    await expect(then).to_contain_text("Deadlocked: #fallback-call, #fallback-second are carried.")


async def test_a_search_quotes_what_was_said_and_says_how_far_it_looked(page: DemoPage) -> None:
    answer = await page.run("search", query="limiter rate")

    await expect(answer).to_contain_text("Search: limiter rate")
    await expect(answer).to_contain_text("How the limiter of the gateway behaves")
    await expect(answer).to_contain_text("back to the very first")


async def test_an_expression_is_answered_while_it_runs_in_a_process_of_its_own(page: DemoPage) -> None:
    answer = await page.run("search", query=r"/\d+ disagreements/")

    await expect(answer).to_contain_text("13 disagreements")
    await expect(answer).to_contain_text("is a regular expression")


async def test_the_board_turns_its_pages_in_place(page: DemoPage) -> None:
    board = await page.run("pins")
    await expect(board).to_contain_text("1 · ")
    first = await board.get_attribute("data-message-id")

    await page.press("Next")

    await expect(page.answer).to_contain_text("Page 2 of")
    assert await page.answer.get_attribute("data-message-id") == first

    await page.press("Previous")

    await expect(page.answer).to_contain_text("Page 1 of")


async def test_a_long_message_is_told_by_how_much_it_runs_over(page: DemoPage) -> None:
    await page.say("Tides " * 110 + "wait")
    await page.refresh()

    await expect(page.messages.last).to_contain_text("64 characters over this channel's 600")
