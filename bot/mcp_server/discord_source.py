"""Read from Discord itself, with the bot's token and without a gateway: what is listed, and a member may read.

Nothing is told to a server without a gateway. So a guild with its channels, roles and active threads is loaded anew
when that is older than `RIGHTS_FRESH_SECONDS`, and one question is read at a time, by the rights it began with. The
member whose rights count is asked for at each question, and again before rows are shown. A channel that is not
listed, one that the member may not read and one that does not exist are spoken of in the same words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Final

import discord

from ..access import Asker, Place, is_place
from ..config import IN_MEMORY, Config
from ..desks import Desks
from ..errors import PlaceNotFound, Refusal, Unavailable
from ..failures import wrapped_answers
from ..host import HostError
from ..links import read_link, read_snowflake
from ..pin_powers import sections_in
from ..places import place_ids
from ..readiness import NotReady, check_content_access
from ..recent import Recent
from ..rest import find_place, load_guild, signed_in
from ..shown import flatten_name
from ..state import State
from ..threads import ThreadLists
from ..wiring import make_reads
from .sources import NotOffered, OpenPlace

RIGHTS_FRESH_SECONDS: Final = 30.0  # four requests for a guild, at most this often (a guess)
QUESTION_SECONDS: Final = 45.0  # for the reading of one question; clients give up after a minute


class NoIdentity(Refusal):
    """Say that it is not known whose rights count."""

    template = "Over Discord a server reads with somebody's rights: give the id of that user as mcp.identity."


class NotLetIn(Refusal):
    """Say why Discord does not let the bot in."""

    template = "{why}"

    def __init__(self, why: str) -> None:
        self.why = why


class DiscordSource:
    """Offer the listed channels to a member; see the module. `clock` counts seconds and never goes back."""

    def __init__(
        self, client: discord.Client, config: Config, listed: Collection[int], *, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._identity = config.mcp.identity
        self._listed = frozenset(listed)
        self._clock = clock
        self._lock = asyncio.Lock()
        self._loaded: dict[int, float] = {}
        reads = make_reads(client, config, None, State(IN_MEMORY, now=time.time), clock=clock)
        lists = ThreadLists(reads.bounds, hears=lambda _: False)
        self._desks = Desks(reads, lists, Recent(), clock=clock, pin_rules=sections_in(config))

    def offered(self) -> Sequence[str]:
        """See `Source`."""
        return tuple(map(str, sorted(self._listed)))

    @asynccontextmanager
    async def open(self, channel: str | None, *, after: int | None = None) -> AsyncIterator[OpenPlace]:
        """See `Source`. Raises `NotOffered` and `Unavailable`."""
        async with self._lock:
            place = await self._find(channel)
            member = await self._member(place.guild)
            try:
                desk = await self._desks.open(place, Asker(member, place), after=after, seconds=QUESTION_SECONDS)
            except PlaceNotFound:
                raise NotOffered(self.offered()) from None
            yield OpenPlace(str(place.id), place.guild.id, place_ids(place), desk, live=True)

    async def _find(self, text: str | None) -> Place:
        if text is None:
            if len(self._listed) != 1:
                raise NotOffered(self.offered(), asked=False)
            text = self.offered()[0]
        places = await self._places()
        link = read_link(text.strip())
        number = link.channel_id if link is not None else read_snowflake(text.strip().removeprefix("<#").strip(">"))
        if number is None:
            wanted = flatten_name(text.removeprefix("#")).casefold()
            found = [place for place in places if flatten_name(place.name).casefold() == wanted]
            place = found[0] if len(found) == 1 else None
        else:
            place = next((place for place in places if place.id == number), None)
            if place is None and not any(guild.get_channel(number) for guild in self._client.guilds):
                place = await self._archived(number)  # no list of threads holds it
        if place is None or not self._is_listed(place):
            raise NotOffered(self.offered())
        return place

    async def _places(self) -> list[Place]:
        """Return the listed channels that there are, and their threads that are known."""
        found: list[Place] = []
        for place_id in sorted(self._listed):
            place = await self._fetched(place_id)
            if place is not None:
                found.append(place)
        guilds = {place.guild.id: place.guild for place in found}
        threads = [thread for guild in guilds.values() for thread in guild.threads if self._is_listed(thread)]
        return [*found, *(thread for thread in threads if thread.id not in self._listed)]

    async def _fetched(self, place_id: int) -> Place | None:
        """Return a listed channel with the rights that count there now; None where there is none."""
        guild = self._guild_of(place_id)
        if guild is None:
            return await self._archived(place_id)
        await self._refresh(guild.id)
        guild = self._guild_of(place_id)
        known = None if guild is None else guild.get_channel_or_thread(place_id)
        return known if is_place(known) else None

    async def _archived(self, place_id: int) -> Place | None:
        """Return a channel or thread that no loaded guild knows, None where there is none for us."""
        before = {guild.id for guild in self._client.guilds}
        try:
            place = await find_place(self._client, place_id)
            if place is not None and place.guild.id not in before:
                self._loaded[place.guild.id] = self._clock()
            elif place is not None and await self._refresh(place.guild.id):
                place = await find_place(self._client, place_id)
        except Unavailable as failure:
            if isinstance(failure.__cause__, discord.Forbidden | discord.NotFound | discord.InvalidData):
                return None
            raise
        return place

    def _guild_of(self, place_id: int) -> discord.Guild | None:
        return next((guild for guild in self._client.guilds if guild.get_channel_or_thread(place_id)), None)

    async def _refresh(self, guild_id: int) -> bool:
        """Load a guild anew where what is known of it has grown old; says whether it was."""
        if self._clock() - self._loaded.get(guild_id, float("-inf")) < RIGHTS_FRESH_SECONDS:
            return False
        await load_guild(self._client, guild_id)
        self._loaded[guild_id] = self._clock()
        return True

    def _is_listed(self, place: Place) -> bool:
        """Say whether a channel is listed, or is a public thread of one that is."""
        if place.id in self._listed:
            return True
        return isinstance(place, discord.Thread) and not place.is_private() and place.parent_id in self._listed

    async def _member(self, guild: discord.Guild) -> discord.Member:
        """Return the member whose rights count, as they are now. Raises `NotOffered` where they are none."""
        try:
            with wrapped_answers():
                return await guild.fetch_member(self._identity)
        except Unavailable as failure:
            if isinstance(failure.__cause__, discord.NotFound):
                raise NotOffered(self.offered()) from None
            raise


@asynccontextmanager
async def open_discord(
    config: Config, token: str, listed: Collection[int], *, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[DiscordSource]:
    """Log in and offer what is listed. Raises `NoIdentity` and `NotLetIn`."""
    if not config.mcp.identity:
        raise NoIdentity
    try:
        async with signed_in(token) as client:
            check_content_access(client)
            yield DiscordSource(client, config, listed, clock=clock)
    except (HostError, NotReady) as error:
        raise NotLetIn(str(error)) from error
