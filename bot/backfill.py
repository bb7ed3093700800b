"""Read whole channels into the mirror, newest message first, beside a bot that may be running.

One page is read, one page is written, and then others get their turn: whoever reads with the same token, and
whoever uses the same file. What an earlier run or the bot has left whole is passed over, so a backfill can be
stopped at any moment and goes on where it was.

    backfill = Backfill(Filling(database, now=time.time), identity=identity)
    report = await backfill.run(await targets_of(channel))
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import discord

import recall

from .access import Place, Readable, known_right
from .errors import Refusal, Unavailable, UnavailableKind
from .links import SNOWFLAKE_BOUND
from .mirror import LIVE, MirrorDown, Span
from .mirror import Place as MirrorPlace
from .mirror.filling import Filling
from .pages import MESSAGE_PAGE_SIZE, DiscordPages, Page, mirror_place
from .rows import Identity
from .threads import ThreadLists

PAGE_PAUSE_SECONDS: Final = 0.2  # after each page, so that a question about the same channel gets its turn (a guess)
BUSY_SECONDS: Final = 0.25  # a page that takes longer to write had to wait for others: so long we let them be
RETRY_SECONDS: Final = (5.0, 15.0, 60.0)  # waits before another try where Discord or the file fails
UNKNOWN_EXPECTED: Final = MESSAGE_PAGE_SIZE  # messages of a channel of which nothing is known: at least one page
PASSING: Final[frozenset[UnavailableKind]] = frozenset({"rate_limited", "discord_down"})  # worth another try

_T = TypeVar("_T")


class MirrorBusy(Refusal):
    """Say that the mirror file could not be written for a while."""

    template = "The mirror file cannot be written ({cause}). Try again: what was read until now is kept."

    def __init__(self, cause: BaseException | None) -> None:
        self.cause = cause or "it is in use"


@dataclass(frozen=True, slots=True)
class Target:
    """Name a channel or thread to read. `bound`: exclusive, of its messages' ids; `expected`: how many there are."""

    channel: Readable
    desk_id: int
    bound: int
    expected: int = UNKNOWN_EXPECTED


@dataclass(frozen=True, slots=True)
class Progress:
    """Say how far a run has come: which of its places is read, and down to where.

    `messages` came until now, and about `remaining` are still to come, a guess from how old what came is.
    """

    place: str
    number: int
    places: int
    messages: int
    remaining: int
    reached: int


@dataclass(slots=True)
class Report:
    """Hold what a run did. `unread`: the names of places that could not be read, with the reason."""

    places: int = 0
    messages: int = 0
    requests: int = 0
    unread: list[tuple[str, Refusal]] = field(default_factory=list)


async def targets_of(place: Place) -> list[Target]:
    """Return what there is to read of a channel with its public threads, or of a thread.

    One request for each hundred archived threads; raises `Unavailable`.
    """
    if isinstance(place, discord.Thread):
        return [_thread_target(place, place.id if place.is_private() else place.parent_id)]
    targets = [] if isinstance(place, discord.ForumChannel) else [Target(place, place.id, _bound(place))]
    if isinstance(place, discord.TextChannel | discord.ForumChannel):
        threads = ThreadLists().of(place)
        while threads.complete_above > 0:
            await threads.list_below(threads.complete_above)
        found = sorted((reach.thread for reach in threads.reaches()), key=lambda thread: -thread.id)
        targets += [_thread_target(thread, place.id) for thread in found]
    return targets


class Backfill:
    """Read places into a mirror. `floor`: nothing is read for older messages; `again`: also what is whole already.

    `withholds` says of an author whether their messages are not to be stored.
    `sleep` and `clock` count seconds, `now` gives seconds since 1970. `on_progress` is called after each page.
    """

    def __init__(
        self,
        filling: Filling,
        *,
        identity: Identity,
        withholds: Callable[[str], bool] = lambda _author_id: False,
        floor: int = 0,
        again: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._filling = filling
        self._identity = identity
        self._withholds = withholds
        self._floor = floor
        self._again = again
        self._sleep = sleep
        self._clock = clock
        self._now = now
        self._on_progress = on_progress
        self._position = (0, 0)
        self._ahead = 0
        self.report = Report()

    async def run(self, targets: Sequence[Target]) -> Report:
        """Read the targets one after another; one that cannot be read is named in the report.

        May be cancelled at any time. Raises `Unavailable` where Discord fails for long, `MirrorBusy` where the
        file does; what came until then is stored.
        """
        try:
            for index, target in enumerate(targets):
                self._ahead = sum(later.expected for later in targets[index + 1 :])
                self._position = (index + 1, len(targets))
                try:
                    await self._read(target)
                except Unavailable as failure:
                    if failure.kind in PASSING:
                        raise
                    self.report.unread.append((target.channel.name, failure))
                else:
                    self.report.places += 1
        except MirrorDown as failure:
            raise MirrorBusy(failure.__cause__) from failure
        finally:
            with contextlib.suppress(MirrorDown):
                await self._filling.end()
        return self.report

    async def _read(self, target: Target) -> None:
        """Read what is missing of a place."""
        channel = target.channel
        if known_right(channel, channel.guild.me) is False:
            raise Unavailable("no_permission")
        place = mirror_place(channel, target.desk_id)
        whole = Span(self._floor, LIVE if target.bound >= SNOWFLAKE_BOUND else target.bound)
        gaps = [whole] if self._again else await self._patiently(partial(self._filling.missing, place, whole))
        pages = DiscordPages(channel, identity=self._identity)
        oldest = max(self._floor, channel.id)  # nothing can be older than its channel
        messages = ids = 0
        for index, gap in enumerate(gaps):
            deeper = sum(below.high - max(below.low, oldest) for below in gaps[index + 1 :])
            before = None if gap.high == whole.high else gap.high
            while before is None or before > gap.low:
                asked_at = self._now()
                page = await self._patiently(partial(pages.read, before, MESSAGE_PAGE_SIZE))
                span = Span(page.low, _high(page, target) if before is None else before)
                waited = await self._write(place, page, span, asked_at)
                messages += page.messages
                ids += span.high - max(span.low, oldest)
                left = max(0, page.low - max(gap.low, oldest)) + deeper
                self._tell(channel.name, messages * left // max(1, ids), page.low)
                before = page.low
                await self._sleep(PAGE_PAUSE_SECONDS + (waited if waited > BUSY_SECONDS else 0))

    async def _write(self, place: MirrorPlace, page: Page, span: Span, asked_at: float) -> float:
        """Store a page; returns the seconds that took."""
        begun = self._clock()
        withheld = [row.sequence for row in page.rows if self._withholds(recall.author_id(row.author))]
        rows = [row for row in page.rows if row.sequence not in withheld]
        await self._patiently(partial(self._filling.write, place, rows, span, asked_at=asked_at, withheld=withheld))
        self.report.requests += 1
        self.report.messages += page.messages
        return self._clock() - begun

    def _tell(self, name: str, left: int, reached: int) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(name, *self._position, self.report.messages, left + self._ahead, reached))

    async def _patiently(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do what may fail for a while, and try again after some time; the last failure is raised."""
        for seconds in RETRY_SECONDS:
            try:
                return await work()
            except Unavailable as failure:
                if failure.kind not in PASSING:
                    raise
            except MirrorDown:
                pass  # the file is in use, or the disk is full
            await self._sleep(seconds)
        return await work()


def _thread_target(thread: discord.Thread, desk_id: int) -> Target:
    return Target(thread, desk_id, _bound(thread), thread.message_count or 1)


def _bound(channel: Readable) -> int:
    """Return an exclusive bound on the ids of a channel's messages, as far as Discord has told of the newest."""
    last = channel.last_message_id
    return SNOWFLAKE_BOUND if last is None else last + 1


def _high(page: Page, target: Target) -> int:
    """Return how far up the newest page of a place reaches: what came after it was asked for is not in it."""
    newest = page.rows[0].sequence + 1 if page.rows else 1
    return newest if target.bound >= SNOWFLAKE_BOUND else max(newest, target.bound)
