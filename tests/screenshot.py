"""Take the picture of the demo that the README shows: `.venv/bin/python -m tests.screenshot`.

It needs the system's Chromium, and writes `docs/demo.png`, in few colours, so that it is small.
"""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from PIL import Image

from tests.demo_page import open_browser, open_page, running_demo

PICTURE = Path(__file__).parent.parent / "docs" / "demo.png"
WIDTH, HEIGHT = 1080, 1190
COLOURS = 128
REST_MS = 1_000  # until the page has its new width


async def take() -> bytes:
    """Play a short scene in the demo's own room, and return the picture of its end."""
    with running_demo() as address:
        async with open_browser() as browser, open_page(browser, address, width=WIDTH, height=HEIGHT) as page:
            await page.say("!pin #idea for April", to=page.message("The heron is in scope!"))
            await page.run("pins", label="idea")
            await page.run("search", query="cable gland")
            await page.page.get_by_role("button", name="Messages", exact=True).click()
            await page.page.wait_for_timeout(REST_MS)
            await page.show_newest()
            return await page.page.screenshot()


def main() -> None:
    """Write the picture."""
    picture = Image.open(io.BytesIO(asyncio.run(take()))).convert("RGB").quantize(COLOURS)
    PICTURE.parent.mkdir(exist_ok=True)
    picture.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")  # noqa: T201 - what was asked for


if __name__ == "__main__":
    main()
