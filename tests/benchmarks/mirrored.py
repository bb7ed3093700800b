"""Ask questions of a channel of which so many messages are mirrored, in a process of its own; see `test_bench_mirror`.

    python -m tests.benchmarks.mirrored ROWS FILE

Prints one JSON object: seconds (the best of some rounds), counts, and the memory that the process holds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import timeit
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import discord
import msgspec
from recall_bot import queries
from recall_bot.config import Config
from recall_bot.desks import Desks
from recall_bot.matchers import ExpressionsOff
from recall_bot.mirror import LIVE, Mirror, Place
from recall_bot.queries import BOARD_LIMIT, OpenDesk, PinsRequest, SearchRequest
from recall_bot.recent import Recent
from recall_bot.state import State
from recall_bot.threads import ThreadLists
from recall_bot.wiring import connected_shards, make_reads

import recall
from tests import simcord_shims
from tests.stage import open_world
from tests.workshop import Workshop, open_workshop

ROWS = Path(__file__).parent.parent / "data" / "rows-2048.jsonl"
ROUNDS = 15
PAGE_ROWS = 10_000  # rows written at once while the mirror is filled
SECONDS_APART = 60
MARKER_EVERY = 100  # 1 % of the rows pin something


def made_rows(count: int, place_id: int, newest: int) -> Iterator[recall.LogMessage]:
    """Make rows of a busy channel, newest first, one a minute; every hundredth pins the one before it."""
    lines = ROWS.read_text("utf-8").splitlines()
    corpus = [recall.from_wire(recall.LogMessage, json.loads(line)) for line in lines]
    step = SECONDS_APART * 1000 << 22
    for at in range(count):
        row = corpus[-1 - at % len(corpus)]
        sequence = newest - at * step
        marker = f"!pin #decision ^{sequence - step} since then: {row.content[:40]}".replace("\n", " ")
        content = marker if at % MARKER_EVERY == 0 else row.content.replace("!", ".")
        yield msgspec.structs.replace(row, sequence=sequence, chat_id=str(place_id), parent=None, content=content)


async def fill(mirror: Mirror, place: Place, rows: Iterator[recall.LogMessage]) -> None:
    """Write the whole history of a place, newest first."""
    high = LIVE
    while page := tuple(islice(rows, PAGE_ROWS)):
        low = page[-1].sequence
        await write(mirror, place, page, low, high)
        high = low
    await write(mirror, place, (), 0, high)


async def write(mirror: Mirror, place: Place, rows: Sequence[recall.LogMessage], low: int, high: int) -> None:
    ticket = mirror.ticket(place)
    if not await mirror.write_page(ticket, rows, low=low, high=high):
        raise RuntimeError("the page was not written")
    mirror.settle(ticket)


async def best(work: Callable[[], Awaitable[object]]) -> float:
    """Return the fewest seconds that work took."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begun)
    return min(times)


def resident() -> int:
    """Return how many bytes of memory this process holds."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


async def desk_of(workshop: Workshop, mirror: Mirror, state: State) -> Callable[[], Awaitable[OpenDesk]]:
    """Return what opens the general channel for a member, as a command does."""
    bot = workshop.env.bot
    reads = make_reads(bot, Config(), mirror, state, clock=time.monotonic)
    lists = ThreadLists(reads.bounds, hears=lambda shard: shard in connected_shards(bot))
    desks = Desks(reads, lists, Recent(), clock=time.monotonic)
    asker = await workshop.asker(workshop.ada)
    place = await workshop.place(workshop.general.id)

    async def opened() -> OpenDesk:
        return await desks.open(place, asker)

    return opened


async def measure(count: int, path: Path) -> dict[str, float]:
    """Mirror so many rows, then search the newest 2,048 of them and show the board of them all."""
    async with open_world() as env:
        workshop = await open_workshop(env)
        mirror = Mirror(str(path), clock=time.monotonic, now=time.time)
        await mirror.new_epoch()
        general = workshop.general.id
        newest = discord.utils.time_snowflake(env.now()) - (1 << 40)
        place = Place(general, workshop.guild.id, general, "general", "general")
        await fill(mirror, place, made_rows(count, general, newest))
        opened = await desk_of(workshop, mirror, State(":memory:", now=time.time))
        searching, board = SearchRequest("limiter bucket", limit=10), PinsRequest()

        async def search() -> queries.SearchAnswer:
            return await queries.search(await opened(), searching, matcher=ExpressionsOff(), asker="1")

        async def pins() -> queries.PinsAnswer:
            return await queries.pins(await opened(), board)

        found, shown = await search(), await pins()
        env.http_requests.clear()
        figures = {
            "search": await best(search),
            "board": await best(pins),
            "requests": sum("/messages" in request.path for request in env.http_requests),
            "resident": resident(),
            "rows": found.coverage.rows,
            "pins": len(shown.board),
            "markers": sum(coverage.rows for coverage in [shown.coverage.markers] if coverage),
        }
        await mirror.close()
    return figures | {f"{name} alone": seconds for name, seconds in folds(count, general, newest).items()}


def folds(count: int, place_id: int, newest: int) -> dict[str, float]:
    """Measure what the library does of it, over rows that are in memory already."""
    rows: list[recall.LogMessage] = []
    markers: list[recall.LogMessage] = []
    for row in made_rows(count, place_id, newest):
        if len(rows) < recall.SEARCH_SCAN:
            rows.append(row)
        if "!" in row.content:
            markers.append(row)
    query = recall.SearchQuery(recall.parse_query("limiter bucket").pattern)
    between = [row for row in rows if "!" not in row.content]
    board = sorted([*markers, *between], key=lambda row: row.sequence)

    def fold() -> object:
        return recall.fold_pins(board, BOARD_LIMIT, dialect="discord"), recall.pin_history(board, dialect="discord")

    return {
        "search": min(timeit.repeat(lambda: recall.search_rows(rows, query), number=1, repeat=ROUNDS)),
        "board": min(timeit.repeat(fold, number=1, repeat=ROUNDS)),
    }


if __name__ == "__main__":
    simcord_shims.fast_settle()
    simcord_shims.fix_app_flags()
    sys.stdout.write(json.dumps(asyncio.run(measure(int(sys.argv[1]), Path(sys.argv[2])))) + "\n")
