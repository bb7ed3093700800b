"""Post a marker line for a person, who asked for it by a menu or a form.

The channel is the only log, so what a click means has to stand there as a line: `!pin ^5 #limits` posted by us, as
an answer to that person's interaction. Discord keeps with the message whose interaction it answers, and by that
alone the line is a row of that person, whoever reads it, after any restart and in any export (`shown.own_line`).

    if await acknowledge(interaction, public=False):                     # only then
        line = pin_line(message_id, "limits", "as measured")             # or unpin_line, trace_line
        posted = await post_line(interaction, services, line)
        await tell(interaction, f"Pinned: {posted.jump_url}")

Nothing that was typed can make a second line or another marker of it: it is flattened, written by the library's
own renderer, and posted only if what is read back is that very line. Posting pings nobody, notifies nobody and
unfolds no link. It gets nobody past a closed thread, a missing right, a timeout or slow mode.
"""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Callable
from typing import ClassVar, Final, Literal, TypeAlias

import discord

import recall

from .access import Asker, Place
from .answering import SILENT, UNSENT, Interaction, described
from .errors import Refusal
from .pace import Pace
from .rendering.inert import neutral, width
from .services import Services
from .shown import own_line, shown

LINE_WIDTH: Final = 2_000  # the most that Discord takes for a message
LINES_PER_MINUTE: Final = 10  # for each member; who types is held to about that by Discord (a guess)
WRITERS_REMEMBERED: Final = 10_000  # members whose last line is kept for slow mode
POSTING: Final = "Posting the line…"

NoPosting: TypeAlias = Literal["archived", "locked", "asker", "bot", "pace"]

_SOMEBODY: Final = recall.PersonAuthor(id="0", label="")

_log = logging.getLogger(__name__)


class MayNotPost(Refusal):
    """Say why no line can be posted here for whoever asks; `why` is which of the reasons it is."""

    sentences: ClassVar[dict[NoPosting, str]] = {
        "archived": "This thread is archived, and I post no line into it. Open it again first.",
        "locked": "This thread is locked, and I post no line into it.",
        "asker": "You may not send messages here now, so I post no line for you.",
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


class NotALine(Refusal):
    """Say that what was typed makes no marker line."""

    template = "That cannot be written as one marker line. Leave signs and markup out of it."


class LineTooLong(Refusal):
    """Say that a line would be longer than a message may be."""

    template = "That makes a line of more than {limit:,} characters. Shorten it."

    def __init__(self) -> None:
        self.limit = LINE_WIDTH


class NotPosted(Refusal):
    """Say that Discord did not take the line."""

    template = "Discord did not take the line, so nothing has changed. Try again in a moment."


class LinePace:
    """Remember when a member last had a line posted, so that menus get nobody past slow mode.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._minute = Pace(LINES_PER_MINUTE, clock=clock)
        self._last: dict[tuple[int, int], float] = {}

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
        while len(self._last) > WRITERS_REMEMBERED:
            del self._last[next(iter(self._last))]


def typed(text: str) -> str:
    """Return what was typed into a form on one line, in Unicode NFC, without what cannot be seen.

    Markup for mentions becomes what a client shows, by id: the line then reads the same whatever somebody is called.
    """
    return unicodedata.normalize("NFC", neutral(shown(text)))


def pin_line(target: int, label: str = "", note: str = "") -> str:
    """Write the line that pins a message; `label` and `note` are as typed, and blank for none.

    The label's `#` is optional, white space in it becomes a hyphen. Raises `NotALine` and `LineTooLong`.
    """
    label = typed(typed(label).removeprefix("#"))
    pin = recall.PinDirective(recall.PinAction.PIN, label or None, typed(note) or None, 0, target, _SOMEBODY)
    return _pin_line(pin)


def unpin_line(target: int) -> str:
    """Write the line that takes a pin off the board."""
    return _pin_line(recall.PinDirective(recall.PinAction.UNPIN, None, None, 0, target, _SOMEBODY))


def trace_line(
    kind: recall.TraceKind, topic: str = "", *, target: int | None = None, cite: int | None = None, text: str = ""
) -> str:
    """Write the line of a trace; `topic` and `text` are as typed, and blank for none.

    The topic's `#` is optional, white space in it becomes a hyphen. Signs in the text mean what they mean when typed:
    `^7` is one cite more. Raises `NotALine` and `LineTooLong`.
    """
    topic = typed(typed(topic).removeprefix("#")).replace(" ", "-")
    said = [f"#{topic}"] if topic else []
    said += [] if target is None else [f">{target}"]
    said += [] if cite is None else [f"^{cite}"]
    read = recall.resolve_traces(
        " ".join([f"!{kind}", *said, typed(text)]), None, author=_SOMEBODY, sequence=0, dialect="discord"
    )
    if len(read) != 1:
        raise NotALine
    (trace,) = read
    meant = (kind, topic or trace.topic, trace.target if target is None else target)
    if (trace.kind, trace.topic, trace.target) != meant or (cite is not None and trace.cites[:1] != (cite,)):
        raise NotALine
    return _checked(recall.render_trace(trace))


def check_may_post(interaction: Interaction) -> Place:
    """Return the place where a line would be posted for whoever asks; raises `MayNotPost` where none may be.

    Of the asker's rights, Discord's own account of this interaction is taken. Raises `PlaceNotFound` outside the
    channels of a guild.
    """
    asker = Asker.of(interaction)
    here, bot = asker.here, asker.guild.me
    if isinstance(here, discord.Thread):
        if here.locked:
            raise MayNotPost("locked")
        if here.archived:
            raise MayNotPost("archived")
    if not _may_send(here, interaction.permissions) or asker.member.is_timed_out():
        raise MayNotPost("asker")
    if not _may_send(here, interaction.app_permissions) or not _may_send(here, here.permissions_for(bot)):
        raise MayNotPost("bot")
    return here


async def post_line(interaction: Interaction, services: Services, line: str) -> discord.Message:
    """Post a marker line, of the functions above, for whoever asks; the interaction is acknowledged, for them alone.

    Raises `MayNotPost`, `SlowMode` and `NotPosted`, and then nothing was posted. What is read after this knows of it.
    """
    here = check_may_post(interaction)  # again: reading what was needed for the line may have taken minutes
    rights = interaction.permissions
    free = rights.manage_messages or rights.manage_channels or rights.bypass_slowmode
    slow_seconds: int = 0 if free else getattr(here, "slowmode_delay", 0)
    services.lines_posted.admit(here.id, interaction.user.id, slow_seconds=slow_seconds)
    try:
        if interaction.message is None:  # while the first answer waits for its text, whatever is sent becomes it
            await interaction.edit_original_response(content=POSTING, allowed_mentions=SILENT)
        posted = await interaction.followup.send(
            _checked(line), wait=True, silent=True, suppress_embeds=True, allowed_mentions=SILENT
        )
    except UNSENT as error:
        _log.warning("a line for interaction %s could not be posted: %s", interaction.id, described(error))
        raise MayNotPost("bot") if isinstance(error, discord.Forbidden) else NotPosted from error
    services.desks.note(here, posted)
    return posted


def _pin_line(pin: recall.PinDirective) -> str:
    line = _checked(recall.render_directive(pin))
    (read,) = recall.read_directives(line, author=_SOMEBODY, sequence=0, dialect="discord")
    if (read.action, read.target) != (pin.action, pin.target) or (pin.label is not None and read.label is None):
        raise NotALine
    return line


def _checked(line: str) -> str:
    """Return a line if it is one, and will be the row of whoever it is posted for."""
    if width(line) > LINE_WIDTH:
        raise LineTooLong
    if shown(line) != line or own_line(line, bare=True, invoker=_SOMEBODY) is None:
        raise NotALine
    return line


def _may_send(here: Place, rights: discord.Permissions) -> bool:
    return rights.send_messages_in_threads if isinstance(here, discord.Thread) else rights.send_messages
