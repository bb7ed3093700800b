"""Run the bot in its simulated Discord, serve the page, and end when told to.

The page is served on the loopback interface only, and its address holds the key to the session. Whatever the
machine shows of it (the terminal, a browser's command line) is for whoever started the demo.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import webbrowser
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import simcord

from ..config import (
    IN_MEMORY,
    ChannelsConfig,
    Config,
    MirrorConfig,
    NoticesConfig,
    SearchConfig,
    Snowflake,
    StandingsConfig,
    StateConfig,
)
from ..host import RecallBot
from .exported import read_exports
from .room import read_room
from .simulation import LiveClock, channel_of, simulated, viewers_of
from .world import Room

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
AFTER_ROOM = timedelta(minutes=5)  # between the newest message and the moment the demo opens in
NOTICE_SETTLE_SECONDS = 1  # the page waits for what follows from a message, so a second shows the notice with it
NOTICE_COOLDOWN_SECONDS = 10  # trying it twice is what a demo is for

TRY_ROOM = """\
  /pins                                     the board, newest pin first
  /pins label:decision                      only what was decided
  /standings                                how the last debate stands, and what was decided
  /standings at:2026-03-10T14:55            how it stood while two options were carried
  /search query:limiter rate                words in any order
  /search query:"false alert"               this and nothing looser
  /search query:/\\d+ disagreements/         an expression
"""
TRY_EXPORT = """\
  /search query:…                           words, "a phrase", or /an expression/
  /pins                                     the board, once something is pinned
"""
TRY_LINES = """\
  !pin #idea                                as the answer to a message pins that message
  a message of more than 600 characters     is told by how much it runs over
"""


class DemoError(Exception):
    """Say in one line, to whoever started the demo, why it does not run."""


async def serve(exports: Sequence[Path], *, open_browser: bool, port: int | None) -> None:
    """Serve the demo until SIGTERM or SIGINT, or until it is ended in the page.

    Raises `DemoError`, or `ExportError` for a file that is no export.
    """
    stop = asyncio.Event()
    with suppress(NotImplementedError):  # Windows, where Ctrl-C cancels this task instead
        for number in STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("discord.client").setLevel(logging.ERROR)  # it warns of voice, which nobody here speaks
    room = read_exports(exports) if exports else read_room()
    try:
        async with open_demo(room, port=port) as (_, preview):
            say(welcome(room, preview.url, own_room=not exports))
            if open_browser and has_display():
                await asyncio.to_thread(webbrowser.open, preview.url)
            await _first(preview.wait_closed(), stop.wait())
    except simcord.SetupError as error:
        raise DemoError(_explained(error, port)) from error


@asynccontextmanager
async def open_demo(room: Room, *, port: int | None = None) -> AsyncIterator[tuple[simcord.Env, simcord.Preview]]:
    """Run the real bot in a room, and serve a page of the place that it shows."""
    clock = LiveClock(room.ends_at + AFTER_ROOM)
    bot = RecallBot(demo_config(room), cog={"now": clock.now}, shard_count=1)
    async with simulated(room, bot, clock=clock) as env:
        viewers = viewers_of(env, room)
        async with env.preview(channel_of(env, room), viewers=viewers, layout="channel", port=port) as preview:
            yield env, preview


def demo_config(room: Room) -> Config:
    """Return the configuration for a room: the defaults, switched on everywhere, and quick enough to watch."""
    return Config(
        channels=ChannelsConfig(enabled=frozenset(Snowflake(place.id) for place in room.places)),
        notices=NoticesConfig(settle_seconds=NOTICE_SETTLE_SECONDS, cooldown_seconds=NOTICE_COOLDOWN_SECONDS),
        search=SearchConfig(cooldown_seconds=0),
        standings=StandingsConfig(window=room.window),
        mirror=MirrorConfig(path=IN_MEMORY),
        state=StateConfig(path=IN_MEMORY),
    )


def welcome(room: Room, url: str, *, own_room: bool) -> str:
    """Return what is said at the start: what is shown, where, and what to try."""
    threads = sum(place.parent_id is not None for place in room.places)
    parts = [_counted(len(list(room.posts)), "message"), _counted(len(room.places) - threads, "channel")]
    if threads:
        parts.append(_counted(threads, "thread"))
    messages, *places = parts
    lines = [f"#{room.shown.name} of {room.guild_name}, simulated here: {messages} in {' and '.join(places)}."]
    lines += (f"Note: {note}." for note in room.notes)
    lines += ["", f"  {url}", "", "Try in the page:", (TRY_ROOM if own_room else TRY_EXPORT) + TRY_LINES]
    lines.append("The address is the key to this session. Ctrl-C ends it.")
    return "\n".join(lines)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def say(text: str) -> None:
    """Print to standard output at once, also where it is a pipe."""
    print(text, flush=True)  # noqa: T201 - this is what the command prints


def has_display() -> bool:
    """Say whether a browser can show itself: without a display, Python may start one that takes the terminal."""
    return sys.platform in {"win32", "darwin"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _explained(error: simcord.SetupError, port: int | None) -> str:
    cause = error.__cause__
    if isinstance(cause, OSError):
        return f"port {port} cannot be served on ({os.strerror(cause.errno or 0)}); leave --port out to take a free one"
    return f"the simulation refuses: {error}"


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of several, and let go of the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
