"""Start the demo as its command does, and use its page as a person does: with a browser, a keyboard and a mouse."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, async_playwright, expect

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MS = 15_000  # for one answer, on a machine that does other things as well
STOP_SECONDS = 20

_OVER = re.compile(r"[^…]$")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#\S+")


def start_demo(*arguments: str) -> subprocess.Popen[str]:
    """Start `recall-bot demo`; no browser is opened."""
    command = [sys.executable, "-m", "recall_bot", "demo", "--no-open", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address_of(demo: subprocess.Popen[str]) -> str:
    """Return the address that a demo prints, as soon as it does."""
    assert demo.stdout is not None
    said = ""
    for line in demo.stdout:
        said += line
        if found := _ADDRESS.search(line):
            return found[0]
    _, complaint = demo.communicate()
    raise AssertionError(f"the demo printed no address: {said}{complaint}")


@contextmanager
def running_demo(*arguments: str) -> Iterator[str]:
    """Run the demo and give its address."""
    with start_demo(*arguments) as demo:
        try:
            yield address_of(demo)
        finally:
            demo.terminate()
            demo.communicate(timeout=STOP_SECONDS)


class DemoPage:
    """Hold the page; every verb waits until the page shows what came of it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._composer = page.locator("#channel-composer-input")
        self._send = page.locator("#send-message")

    @property
    def messages(self) -> Locator:
        """All messages shown, oldest first."""
        return self.page.locator("article.channel-message")

    def message(self, text: str | re.Pattern[str]) -> Locator:
        """The newest message that holds a text."""
        return self.messages.filter(has_text=text).last

    @property
    def answer(self) -> Locator:
        """The newest message of the bot."""
        return self.messages.filter(has=self.page.locator(".message-author", has_text="Recall")).last

    async def open(self, url: str) -> None:
        await self.page.goto(url)
        await expect(self.page.locator("#action-status")).to_have_text("Viewport updated", timeout=PATIENCE_MS)

    async def _rest(self) -> None:
        """Wait until the page says that the last action is over; while one is under way it says `Sending…`."""
        await expect(self.page.locator("#action-status")).to_have_text(_OVER, timeout=PATIENCE_MS)

    async def say(self, text: str, *, to: Locator | None = None) -> None:
        """Type a message and send it, as the answer to another if one is given."""
        if to is not None:
            await to.hover()
            await to.get_by_role("button", name="Reply").click()
        await self._composer.fill(text)
        await self._send.click()
        await expect(self.messages.filter(has_text=text.rsplit(maxsplit=1)[-1]).last).to_be_visible(timeout=PATIENCE_MS)
        await self._rest()

    async def run(self, command: str, **options: str) -> Locator:
        """Pick a command, fill in its options, run it, and return the answer."""
        before = await self.newest_id()
        await self._composer.click()
        await self._composer.press_sequentially(f"/{command}")
        await self.page.locator(".command-popup [role=option]").first.click()
        chip = self.page.locator("[data-command-chip]")
        await expect(chip).to_have_text(f"/{command}")
        for name, value in options.items():
            await self._fill_in(name, value)
        await self._send.click()
        await expect(self.messages.last).not_to_have_attribute("data-message-id", before, timeout=PATIENCE_MS)
        await self._rest()
        return self.answer

    async def _fill_in(self, name: str, value: str) -> None:
        field = self.page.locator(f"input.command-option-input[data-option={name}]")
        if not await field.count():
            await self.page.locator("button.command-ghost").click()
            await self.page.locator(f".command-popup [data-value={name}]").click()
        await field.fill(value)

    async def press(self, label: str) -> None:
        """Press a button of the newest answer, and wait until the answer is another."""
        answer = self.answer
        before = await answer.inner_text()
        await answer.get_by_role("button", name=label).click()
        await expect(answer).not_to_have_text(before, use_inner_text=True, timeout=PATIENCE_MS)
        await self._rest()

    async def refresh(self) -> None:
        await self.page.get_by_role("button", name="Refresh preview").click()
        await self._rest()

    async def show_newest(self) -> None:
        """Scroll to the end, and take the mouse out of the way."""
        await self.messages.last.evaluate("message => message.scrollIntoView({block: 'end'})")
        await self.page.mouse.move(0, 0)

    async def newest_id(self) -> str:
        return await self.messages.last.get_attribute("data-message-id") or ""


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """Start the system's Chromium, headless."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def open_page(browser: Browser, url: str, *, width: int = 1280, height: int = 860) -> AsyncIterator[DemoPage]:
    """Open the demo in a window of its own."""
    page = DemoPage(await browser.new_page(viewport={"width": width, "height": height}))
    try:
        await page.open(url)
        yield page
    finally:
        await page.page.close()
