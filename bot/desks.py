"""Open a channel or thread for one asker: what they may read of it, read from Discord on demand.

    asker = Asker.of(interaction)
    place = await desks.find(text, asker)            # or asker.here
    desk = await desks.open(place, asker)
    answer = await queries.search(desk, …)

Access is asked twice: before the read, of what is known of the asker then, and again when rows are to be
shown, of the member as Discord has them at that moment. A channel that the asker may not read is refused in
the words used for one that does not exist.

A channel or forum is read with its public threads, a thread with the message it was started from. What could
not be read is named in `OpenDesk.left_out`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Final

import discord
from discord import app_commands

import recall

from . import completing, finding
from .access import Asker, Place, is_place, may_read
from .boards import DeskMarkers
from .config import PinsConfig
from .errors import PlaceNotFound, Refusal, Unavailable
from .everywhere import known_places, places_for
from .history import HistoryLog, Progress, loop_time
from .links import read_link
from .merging import MergedDesk, MergedLog
from .pages import Reads
from .pin_powers import PinPowers
from .queries import MarkerRows, OpenDesk
from .recent import Recent, RememberingLog
from .roles import Roles
from .roots import ThreadLog
from .rows import row_of
from .showing import Showing
from .shown import flatten_name
from .single_rows import SingleRows, channel_of_root
from .threads import ThreadList, ThreadLists

WALK_SECONDS: Final = 13 * 60  # an interaction lives 15 minutes; the rest is for the answer


class PublicElsewhere(Refusal):
    """Say that everybody may read a public answer, so it is about nothing but the place where it stands."""

    template = "A public answer can only be about the channel it stands in: leave out `public`, or `in`."


class Desks:
    """Open, find and complete the places that somebody may read.

    `clock` counts seconds and never goes back. `pin_rules` returns what is configured for pins in a place.
    """

    def __init__(
        self,
        reads: Reads,
        lists: ThreadLists,
        recent: Recent,
        *,
        clock: Callable[[], float] = loop_time,
        pin_rules: Callable[[Place], PinsConfig] = lambda _: PinsConfig(),
    ) -> None:
        self._reads = reads
        self._lists = lists
        self._recent = recent
        self._clock = clock
        self._roles = Roles(clock=clock)
        self._pin_powers = PinPowers(self._roles, pin_rules)

    async def open(
        self,
        place: Place,
        asker: Asker,
        *,
        public: bool = False,
        after: int | None = None,
        seconds: float = WALK_SECONDS,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> OpenDesk:
        """Return a place as a desk that queries can be asked of; reading it ends after `seconds`.

        `after`: where the question ends, if it does; nothing is fetched in vain below it.
        Raises `PublicElsewhere` for a public answer about another place than the one it stands in,
        `PlaceNotFound` where the asker may not read, `Unavailable` where they may and the bot may not.
        """
        if public and place.id != asker.here.id:
            raise PublicElsewhere
        right = asker.known_right(place)
        if right is False:
            raise PlaceNotFound
        if not await may_read(place, asker.guild.me):
            raise Unavailable("no_permission") if right or place.id == asker.here.id else PlaceNotFound
        if not await asker.may_read(place):
            raise PlaceNotFound
        is_webhook = self._reads.identity().webhooks.__contains__
        threads = self._threads_of(place)
        deadline = self._clock() + seconds
        history = self.history(place, threads, after=after, deadline=deadline, on_progress=on_progress)
        single = SingleRows(self._reads, place, threads, desk_id=_desk_id(place))
        log: recall.SessionLog = history
        if channel_of_root(place) is not None:
            log = ThreadLog(history, place.id, functools.partial(single.read, place.id))
        return OpenDesk(
            log=RememberingLog(log, self._recent, place.id),
            conversation=_conversation(place),
            left_out=history.left_out,
            may_show=Showing(self._reads, lambda _row: place, asker, self._clock).may_show,
            read_row=single.read,
            read_again=single.read_again,
            markers=self._markers_of(place, threads),
            address=functools.partial(message_address, place),
            is_webhook=is_webhook,
            pin_authority=self._pin_powers.authority(place, is_webhook),
            roles_of=functools.partial(self._roles.of, place.guild),
            openings=None if threads is None else functools.partial(_openings, threads),
        )

    async def open_everywhere(
        self,
        asker: Asker,
        *,
        public: bool = False,
        after: int | None = None,
        seconds: float = WALK_SECONDS,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> OpenDesk:
        """Return all that an asker may read as one desk, to be searched; see `open` and `everywhere`.

        Raises `PublicElsewhere` for a public answer: what one may read is not what everybody here may.
        """
        if public:
            raise PublicElsewhere
        places = await places_for(asker)
        deadline = self._clock() + seconds
        desks = []
        for place in places:
            threads = self._threads_of(place)
            history = self.history(place, threads, after=after, deadline=deadline)
            desks.append(MergedDesk(place, RememberingLog(history, self._recent, place.id), history, threads))
        log = MergedLog(desks, after=after, on_progress=on_progress)
        by_id = {str(place.id): place for place in places}
        return OpenDesk(
            log=log,
            left_out=log.left_out,
            may_show=Showing(self._reads, lambda row: by_id.get(row.chat_id or ""), asker, self._clock).may_show,
            is_webhook=self._reads.identity().webhooks.__contains__,
        )

    def known(self, place: Place, asker: Asker) -> OpenDesk | None:
        """Return a place as a desk of what the mirror is sure of, for forms: no history is asked for.

        None where the asker may not read it, as far as that is known.
        """
        if not asker.may_complete(place):
            return None
        threads = self._threads_of(place)
        is_webhook = self._reads.identity().webhooks.__contains__
        history = self.history(place, None if threads is None else threads.known(), only_known=True)
        log: recall.SessionLog = history
        if channel_of_root(place) is not None:
            log = ThreadLog(history, place.id, _no_row)
        return OpenDesk(
            log=log,
            conversation=_conversation(place),
            left_out=history.left_out,
            markers=self._markers_of(place, threads),
            address=functools.partial(message_address, place),
            is_webhook=is_webhook,
            pin_authority=self._pin_powers.authority(place, is_webhook),
            roles_of=functools.partial(self._roles.of, place.guild),
        )

    def row_of(self, message: discord.Message) -> recall.LogMessage | None:
        """Return the row of a message; None for one that is no row."""
        return row_of(message, identity=self._reads.identity())

    def note(self, place: Place, message: discord.Message) -> None:
        """Know at once of a message of our own that was just posted in a place."""
        if not isinstance(place, discord.ForumChannel):
            self._reads.note(place, message)

    async def find(self, text: str, asker: Asker) -> Place:
        """Return the place that a text means, see `finding.find_place`."""
        return await finding.find_place(text, asker)

    def author(self, text: str, asker: Asker, place: Place | None) -> str:
        """Return the id of the author that a text means in a place, see `finding.find_author`; None: everywhere."""
        places = known_places(asker) if place is None else [place]
        return finding.find_author(text, asker, places, self._recent)

    def complete_in(self, text: str, asker: Asker, *, everywhere: bool = False) -> list[app_commands.Choice[str]]:
        """Return the places that an unfinished text may mean; the values are ids. `everywhere` may be one of them."""
        return completing.places(text, asker, everywhere=everywhere)

    def complete_from(self, text: str, asker: Asker, within: str | None = None) -> list[app_commands.Choice[str]]:
        """Return the authors that an unfinished text may mean; `within` is what `in` holds. The values are ids."""
        if finding.is_everywhere(within):
            return completing.authors(text, asker, known_places(asker), self._recent)
        place = finding.known_place(within, asker)
        return completing.authors(text, asker, [] if place is None else [place], self._recent)

    def complete_label(self, text: str, asker: Asker, within: str | None = None) -> list[app_commands.Choice[str]]:
        """Return the labels that an unfinished text may mean; `within` is what `in` holds."""
        return completing.labels(text, asker, finding.known_place(within, asker), self._recent)

    def complete_topic(self, text: str, asker: Asker, within: str | None = None) -> list[app_commands.Choice[str]]:
        """Return the topics that an unfinished text may mean; `within` is what `in` holds."""
        return completing.topics(text, asker, finding.known_place(within, asker), self._recent)

    def _markers_of(
        self, place: Place, threads: ThreadList | None
    ) -> Callable[[int, int], Awaitable[MarkerRows]] | None:
        if self._reads.mirror is None:
            return None
        return DeskMarkers(self._reads, self._reads.mirror, place, threads, desk_id=_desk_id(place)).below

    def _threads_of(self, place: Place) -> ThreadList | None:
        return self._lists.of(place) if isinstance(place, discord.TextChannel | discord.ForumChannel) else None

    def history(
        self,
        place: Place,
        threads: ThreadList | None = None,
        *,
        after: int | None = None,
        deadline: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        only_known: bool = False,
    ) -> HistoryLog:
        """Return the history of a place for whoever need not be asked what they may read; see `HistoryLog`.

        `threads`: its list of threads, None for the one that is known. `only_known`: no request is made.
        """
        desk_id, pages = _desk_id(place), self._reads.known_pages if only_known else self._reads.pages
        return HistoryLog(
            None if isinstance(place, discord.ForumChannel) else pages(place, desk_id=desk_id),
            threads=threads or self._threads_of(place),
            open_thread=functools.partial(pages, desk_id=desk_id),
            after=after,
            deadline=deadline,
            clock=self._clock,
            on_progress=on_progress,
            newest=lambda: (place.last_message_id or 0) if self._lists.hears(place.guild) else None,
        )


async def _no_row() -> None:
    """Be the root of a thread where it may not be asked for."""


def _openings(threads: ThreadList) -> dict[int, str]:
    return {thread.id: flatten_name(thread.name) for thread, _ in threads.reaches()}


def _desk_id(place: Place) -> int:
    return place.parent_id if isinstance(place, discord.Thread) and not place.is_private() else place.id


def _conversation(place: Place) -> recall.Conversation:
    if isinstance(place, discord.Thread) and not place.is_private():
        name = place.parent.name if place.parent is not None else place.name
        return recall.Conversation(str(place.parent_id), name, place.id)
    return recall.Conversation(str(place.id), place.name)


def address_reader(channel: object) -> recall.AddressReader | None:
    """Return what reads message links in markers of a channel, as its board does; None where no board can be."""
    return functools.partial(message_address, channel) if is_place(channel) else None


def message_address(place: Place, text: str) -> int | None:
    """Return the message that a link names, where a marker takes `^N`: one of this channel or of a thread.

    Threads are not told apart by their channel: whether one is known here changes with time, and what a marker
    means must not.
    """
    link = read_link(text)
    if link is None or link.guild_id != place.guild.id or link.message_id is None:
        return None
    own = {place.id, place.parent_id} if isinstance(place, discord.Thread) else {place.id}
    return link.message_id if link.channel_id in own or place.guild.get_channel(link.channel_id) is None else None
