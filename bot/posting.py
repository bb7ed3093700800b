"""Post a marker line for a person, who asked for it by a menu or a form.

The channel is the only log, so what a click means has to stand there as a line: `!pin ^5 #limits` posted by us, as
an answer to that person's interaction. Discord keeps with the message whose interaction it answers, and by that
alone the line is a row of that person, whoever reads it, after any restart and in any export (`shown.own_line`).

    async def make(asking: Asking) -> Asked:                  # reads what it needs; a Refusal is told to the asker
        return Asked(pin_line(message_id, "limits", "as measured"), "Pinned.")     # or unpin_line, trace_line

    await post_asked(interaction, services, make)             # acknowledges, posts, tells

The line is one that `marker_lines` made. Posting it pings nobody, notifies nobody and unfolds no link, and it gets
nobody past a closed thread, a missing right, a timeout or slow mode.
"""

from __future__ import annotations

import asyncio
import logging
import math
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import discord

from .access import Asker, Place
from .answering import (
    SILENT,
    UNSENT,
    Asking,
    Interaction,
    ProgressLine,
    acknowledge,
    described,
    links_of,
    log_failure,
    made,
    tell,
)
from .errors import Refusal, sentence_of
from .forgetting import forget_oldest
from .marker_lines import checked_line
from .pace import Pace
from .places import place_ids
from .services import Services

LINES_PER_MINUTE: Final = 10  # for each member; who types is held to about that by Discord (a guess)
WRITERS_REMEMBERED: Final = 10_000  # members whose last line is kept for slow mode
POSTING: Final = "Posting the line…"

NoPosting: TypeAlias = Literal["archived", "locked", "asker", "unread", "bot", "pace"]

_log = logging.getLogger(__name__)


class MayNotPost(Refusal):
    """Say why no line can be posted here for whoever asks; `why` is which of the reasons it is."""

    sentences: ClassVar[dict[NoPosting, str]] = {
        "archived": "This thread is archived, and I post no line into it. Open it again first.",
        "locked": "This thread is locked, and I post no line into it.",
        "asker": "You may not send messages here now, so I post no line for you.",
        "unread": "You may not read the history here, so I post no line for you.",
        "bot": "I may not send messages here, so I can post no line for you: I need Send Messages, and in threads "
        "Send Messages in Threads.",
        "pace": "You have had many lines posted in the last minute. Wait a moment with the next one.",
    }

    def __init__(self, why: NoPosting) -> None:
        self.why = why

    @property
    def sentence(self) -> str:
        """The sentence of its reason."""
        return self.sentences[self.why]


class SlowMode(Refusal):
    """Say that slow mode holds for lines that are posted for somebody, too."""

    template = "This channel is in slow mode: you can have the next line posted in {seconds} s."

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds


class NotPosted(Refusal):
    """Say that Discord did not take the line."""

    template = "Discord did not take the line, so nothing has changed. Try again in a moment."


class Posts:
    """Hold what is known of lines posted for somebody: who had the last one when, and whose turn it is in a desk.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._minute = Pace(LINES_PER_MINUTE, clock=clock)
        self._last: dict[tuple[int, int], float] = {}
        self._turns: weakref.WeakValueDictionary[int, asyncio.Lock] = weakref.WeakValueDictionary()

    def turn(self, desk_id: int) -> asyncio.Lock:
        """Return what is held from reading a board until the line is posted: whoever is second reads the first's."""
        turn = self._turns.get(desk_id)
        if turn is None:
            turn = self._turns[desk_id] = asyncio.Lock()
        return turn

    def admit(self, place_id: int, member_id: int, *, slow_seconds: int) -> None:
        """Count a line that is about to be posted; raises `SlowMode` or `MayNotPost` when it has to wait."""
        writer, now = (place_id, member_id), self._clock()
        wait = self._last.get(writer, -math.inf) + slow_seconds - now
        if wait > 0:
            raise SlowMode(math.ceil(wait))
        if not self._minute.admit(member_id):
            raise MayNotPost("pace")
        self._last.pop(writer, None)
        self._last[writer] = now
        forget_oldest(self._last, WRITERS_REMEMBERED)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold a line to be posted, and what its asker is told when it stands, with what is to be said beside."""

    line: str
    told: str
    beside: str = ""


def check_may_post(interaction: Interaction) -> Place:
    """Return the place where a line would be posted for whoever asks; raises `MayNotPost` where none may be.

    Of the asker's rights, Discord's own account of this interaction is taken. Raises `PlaceNotFound` outside the
    channels of a guild.
    """
    asker = Asker.of(interaction)
    here = asker.here
    why = _closed(here)
    if why is not None:
        raise MayNotPost(why)
    if not _may_send(here, interaction.permissions) or asker.member.is_timed_out():
        raise MayNotPost("asker")
    if asker.known_right(here) is False:
        raise MayNotPost("unread")
    if not _may_send(here, interaction.app_permissions) or not may_be_posted_in(here):
        raise MayNotPost("bot")
    return here


def may_be_posted_in(place: Place, member: discord.Member | None = None) -> bool:
    """Say whether lines can be posted in a place for a member, or for anybody, as far as that is known here."""
    if _closed(place) is not None or not _may_send(place, place.permissions_for(place.guild.me)):
        return False
    return member is None or _may_send(place, place.permissions_for(member))


def _closed(place: Place) -> NoPosting | None:
    if not isinstance(place, discord.Thread):
        return None
    return "locked" if place.locked else "archived" if place.archived else None


async def post_line(interaction: Interaction, services: Services, line: str) -> discord.Message:
    """Post a marker line, of the functions above, for whoever asks; the interaction is acknowledged, for them alone.

    Raises `MayNotPost`, `SlowMode` and `NotPosted`, and then nothing was posted. What is read after this knows of it.
    """
    here = check_may_post(interaction)  # again: reading what was needed for the line may have taken minutes
    rights = interaction.permissions
    free = rights.manage_messages or rights.manage_channels or rights.bypass_slowmode
    slow_seconds: int = 0 if free else getattr(here, "slowmode_delay", 0)
    services.posts.admit(here.id, interaction.user.id, slow_seconds=slow_seconds)
    try:
        if interaction.message is None:  # while the first answer waits for its text, whatever is sent becomes it
            await interaction.edit_original_response(content=POSTING, allowed_mentions=SILENT)
        posted = await interaction.followup.send(
            checked_line(line), wait=True, silent=True, suppress_embeds=True, allowed_mentions=SILENT
        )
    except UNSENT as error:
        _log.warning("a line for interaction %s could not be posted: %s", interaction.id, described(error))
        raise MayNotPost("bot") if isinstance(error, discord.Forbidden) else NotPosted from error
    services.desks.note(here, posted)
    return posted


async def post_asked(interaction: Interaction, services: Services, make: Callable[[Asking], Awaitable[Asked]]) -> None:
    """Acknowledge, make a line, post it and tell the asker, or say in one sentence why not.

    Nobody else's line comes between what `make` reads and the line. Raises nothing but `CancelledError`.
    """
    if not await acknowledge(interaction, public=False):
        return
    progress = ProgressLine(interaction, now=services.now)

    async def post(asking: Asking) -> str:
        asked = await make(asking)
        await progress.close()
        posted = await post_line(interaction, services, asked.line)
        link = links_of(asking.asker.here).to(posted.id)  # the answer that came does not know its guild
        return f"{asked.told} [This line]({link}) says so. {asked.beside}".rstrip()

    try:
        here = check_may_post(interaction)
        async with services.posts.turn(place_ids(here)[-1]):
            told = await made(interaction, services, post, progress, public=False, cooldown=False)
    except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
        log_failure(interaction, error)
        told = sentence_of(error)
    await progress.close()
    await tell(interaction, told)


def _may_send(here: Place, rights: discord.Permissions) -> bool:
    return rights.send_messages_in_threads if isinstance(here, discord.Thread) else rights.send_messages
