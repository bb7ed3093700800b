"""Answer whoever asks, the same way for every command and every button.

Acknowledge first, because Discord waits three seconds; then ask for a place to walk; say how far the reading has
come when it takes long; show the answer, or in one sentence why there is none. Nothing that is sent here pings
anybody: each request says so itself, whatever the client we are loaded into has for a default.

What fails is told to the asker in a sentence and to the operator in one line with ids. Message text stays out of
the log, so of an error that nobody foresaw the line has the type and the places in the code, not its words.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

import aiohttp
import discord
from discord import app_commands

import recall
from recall.text import is_blank

from .access import Asker, Place
from .config import Settings
from .errors import Refusal, sentence_of
from .history import Progress
from .queries import OpenDesk
from .questions import AnyQuestion, Turn, question_url
from .rendering.cards import Card, Links, counted
from .rendering.embeds import card_embed
from .rendering.unpinning import UnpinChoice
from .services import Services
from .views import answer_view

PROGRESS_SECONDS: Final = 2.0  # between two lines on how far the reading has come; the first comes as late

SILENT: Final = discord.AllowedMentions.none()
UNSENT: Final = (discord.HTTPException, discord.InteractionResponded, aiohttp.ClientError, OSError)
"""What a request to Discord can end in; the interaction may be gone (10062), or its fifteen minutes over."""

Interaction: TypeAlias = discord.Interaction[Any]
Made = TypeVar("Made")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asking:
    """Hold who asks, how the answer will be seen, and whom to tell how far the reading is."""

    services: Services
    asker: Asker
    public: bool
    on_progress: Callable[[Progress], None]

    async def open(self, place: Place, *, after: int | None = None) -> OpenDesk:
        """Open a place for the asker, to be read down to `after`; raises what `Desks.open` does."""
        return await self.services.desks.open(
            place, self.asker, public=self.public, after=after, on_progress=self.on_progress
        )

    async def open_everywhere(self, *, after: int | None = None) -> OpenDesk:
        """Open all that the asker may read, to be searched; raises what `Desks.open_everywhere` does."""
        return await self.services.desks.open_everywhere(
            self.asker, public=self.public, after=after, on_progress=self.on_progress
        )

    async def place(self, text: str | None) -> Place:
        """Return the place that a text means, where the question is asked for none; raises what `Desks.find` does."""
        here = self.asker.here
        if text is None or is_blank(text) or text == str(here.id):
            return here
        return await self.services.desks.find(text, self.asker)

    def settings(self, place: Place) -> Settings:
        """Return what is configured for a place."""
        return settings_of(self.services, place)


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what is shown: a card, the question it answers, and the buttons under it (False: greyed out).

    `unpins`: the pins offered to be taken off. `told`: a sentence for whoever asked, beside the answer.
    """

    card: Card
    question: AnyQuestion | None = None
    turns: tuple[tuple[Turn, bool], ...] = ()
    files: Sequence[discord.File] = ()
    unpins: tuple[UnpinChoice, ...] = ()
    told: str = ""


def turn_pairs(*, previous: bool, following: bool, newer: bool, older: bool) -> tuple[tuple[Turn, bool], ...]:
    """Return the buttons of an answer, each with whether it leads on; a pair of which neither does is left out."""
    pages = ((Turn.PREVIOUS, previous), (Turn.NEXT, following)) if previous or following else ()
    reaches = ((Turn.NEWER, newer), (Turn.OLDER, older)) if newer or older else ()
    return pages + reaches


def completed(
    interaction: Interaction, choices: Callable[[Asker], list[app_commands.Choice[str]]]
) -> list[app_commands.Choice[str]]:
    """Return the choices for whoever is typing; none where they cannot ask."""
    try:
        return choices(Asker.of(interaction))
    except Refusal:
        return []


async def acknowledge(interaction: Interaction, *, public: bool) -> bool:
    """Tell Discord that an answer will come; says whether that went through, and logs it when it did not."""
    try:
        await interaction.response.defer(ephemeral=not public, thinking=interaction.message is None)
    except UNSENT as error:
        _log.warning("interaction %s could not be acknowledged: %s", interaction.id, described(error))
        return False
    return True


async def respond(
    interaction: Interaction,
    services: Services,
    make: Callable[[Asking], Awaitable[Answer]],
    *,
    public: bool,
    cooldown: bool = True,
) -> None:
    """Make an answer and show it in place of the acknowledgement; raises nothing but `CancelledError`.

    A press of a button that comes to nothing leaves the answer it stands under as it is.
    """
    progress = ProgressLine(interaction, now=services.now)
    try:
        answer = await made(interaction, services, make, progress, public=public, cooldown=cooldown)
    except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
        log_failure(interaction, error)
        await progress.close(take_back=interaction.message is not None)
        await tell(interaction, sentence_of(error))
        return
    await progress.close()
    await _show(interaction, answer)


async def made(
    interaction: Interaction,
    services: Services,
    make: Callable[[Asking], Awaitable[Made]],
    progress: ProgressLine,
    *,
    public: bool,
    cooldown: bool,
) -> Made:
    """Return what `make` makes once there is a place to walk; raises `Busy` where there is none."""
    asker = Asker.of(interaction)
    seconds = settings_of(services, asker.here).search.cooldown_seconds if cooldown else 0
    async with services.walks.admit(asker.guild.id, asker.member.id, cooldown_seconds=seconds):
        return await make(Asking(services, asker, public, progress.take))


def settings_of(services: Services, place: Place) -> Settings:
    """Return what is configured for a place, its channel and its guild."""
    ids = (place.id, place.parent_id) if isinstance(place, discord.Thread) else (place.id,)
    return services.config.settings(guild_id=place.guild.id, channel_ids=ids)


def place_name(place: Place) -> str:
    """Return the name of a place as it is spoken of."""
    return f"#{place.name}"


def links_of(place: Place) -> Links:
    """Make the links into a place. A thread's first message stands in its channel, but in a forum in the thread."""
    if not isinstance(place, discord.Thread):
        return Links(place.guild.id, place.id)
    in_channel = isinstance(place.parent, discord.TextChannel) and not place.is_private()
    return Links(place.guild.id, place.id, thread_root_in=place.parent_id if in_channel else place.id)


async def _show(interaction: Interaction, answer: Answer) -> None:
    guild_id = interaction.guild_id or 0
    url = None if answer.question is None else question_url(answer.question, guild_id)
    try:
        await interaction.edit_original_response(
            content=None,
            embeds=[card_embed(answer.card, url)],
            attachments=answer.files,
            view=answer_view(answer.turns, answer.unpins) if url is not None else None,
            allowed_mentions=SILENT,
        )
    except UNSENT as error:
        _log.warning("the answer to interaction %s could not be shown: %s", interaction.id, described(error))
        return
    if answer.told:
        await tell(interaction, answer.told)


async def tell(interaction: Interaction, sentence: str) -> None:
    """Say one sentence: in place of an acknowledged command, or beside the answer whose button was pressed."""
    try:
        if not interaction.response.is_done():
            await interaction.response.send_message(sentence, ephemeral=True, allowed_mentions=SILENT)
        elif interaction.message is None:
            await interaction.edit_original_response(
                content=sentence, embeds=[], attachments=[], view=None, allowed_mentions=SILENT
            )
        else:
            await interaction.followup.send(sentence, ephemeral=True, allowed_mentions=SILENT)
    except UNSENT as error:
        _log.warning("interaction %s could not be answered: %s", interaction.id, described(error))


class ProgressLine:
    """Say above an answer that is on its way how far the reading has come, every `PROGRESS_SECONDS` at most.

    Discord is told while the reading goes on, by one request at a time; `close` waits for the last.
    """

    def __init__(self, interaction: Interaction, *, now: Callable[[], datetime]) -> None:
        self._interaction = interaction
        self._now = now
        self._said_at = now()
        self._said = False
        self._telling: asyncio.Task[None] | None = None

    def take(self, progress: Progress) -> None:
        """Take note of how far a walk is, and say so when it is time."""
        now = self._now()
        if now - self._said_at < timedelta(seconds=PROGRESS_SECONDS) or self._telling is not None:
            return
        self._said_at, self._said = now, True
        line = f"Reading… {counted(progress.rows, 'message')} so far, back to <t:{int(progress.oldest.timestamp())}:f>."
        self._telling = asyncio.create_task(self._tell(line), name=f"recall-progress-{self._interaction.id}")
        self._telling.add_done_callback(self._told)

    async def close(self, *, take_back: bool = False) -> None:
        """Wait until nothing more of this will be said; `take_back` removes what was, where no answer replaces it."""
        if self._telling is not None:
            await asyncio.wait({self._telling})
        if take_back and self._said:
            await self._tell(None)

    async def _tell(self, line: str | None) -> None:
        try:
            await self._interaction.edit_original_response(content=line, allowed_mentions=SILENT)
        except UNSENT as error:
            _log.warning("progress of interaction %s could not be shown: %s", self._interaction.id, described(error))

    def _told(self, _task: asyncio.Task[None]) -> None:
        self._telling = None


def log_failure(interaction: Interaction, error: Exception) -> None:
    """Log, in one line, why there is no answer."""
    where = f"interaction={interaction.id} guild={interaction.guild_id} channel={interaction.channel_id}"
    foreseen = error.__cause__ if isinstance(error, recall.ReadError) else error
    if isinstance(foreseen, Refusal | recall.PatternError):
        _log.info("no answer: %s (%s)", described(foreseen), where)
        return
    _log.error("no answer: %s (%s) at %s", described(error), where, code_places(error))


def described(error: BaseException) -> str:
    """Name an error by its type, and by Discord's status and code: never by its words, which may quote a message."""
    name = type(error).__name__
    return f"{name} {error.status} {error.code}" if isinstance(error, discord.HTTPException) else name


def code_places(error: BaseException) -> str:
    """Return where in the code an error came from, innermost last, its causes included."""
    frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    cause = error.__cause__
    return " > ".join(frames) + (f", caused by {described(cause)} at {code_places(cause)}" if cause else "")
