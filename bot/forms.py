"""Forms that a message's menu opens: a choice of what is known, a field for something else, a field for a text.

A form has to be the first answer within three seconds, so what there is to choose from is what the mirror knows
within `FORM_PREFILL_SECONDS`; when that is nothing, there are only the fields.

Nothing is remembered of an open form, which may be left open for ever. Its id says what it is for and which message
it is about, and `filled` reads what comes back. That comes from a client: it is bounded here, and asked like any
question anew.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

import discord

import recall
from recall.text import is_blank

from .access import Asker
from .answering import UNSENT, Interaction, described, log_failure, tell
from .errors import Refusal, sentence_of
from .links import SNOWFLAKE_BOUND
from .posting import check_may_post
from .rendering.inert import plain, width
from .services import Services

FORM_PREFILL_SECONDS: Final = 1.5  # half of what Discord waits for the form; the rest is for sending it
FORM_CHOICES: Final = 25  # the most that a select holds
CHOICE_WIDTH: Final = 100  # the most of an option's label, of its description, and of its value
NAME_CHARS: Final = 100  # of another label or topic
TEXT_CHARS: Final = 1_000  # of a note; the line has 2,000 with everything else

FormKind: TypeAlias = Literal["pin", "support", "object"]

_FORM_ID: Final = "recall:form:"
_ID: Final = re.compile(rf"{_FORM_ID}(?P<kind>{'|'.join(get_args(FormKind))}):(?P<message>[0-9]{{1,19}})")
_CHOICE, _OTHER, _TEXT = "choice", "other", "text"

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class NotWritten(Refusal):
    """Say that a message is nothing that a line could be about."""

    template = "Only what somebody wrote can be marked: this is a notice of Discord's, or an answer of mine."


@dataclass(frozen=True, slots=True)
class Choice:
    """Hold one thing to choose: what is written for it, and what is said of it."""

    value: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """Hold what a form says: its title, and the names of its fields with a word on each."""

    title: str
    choose: str
    other: str
    other_hint: str
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """Hold what somebody filled in: of a form of which kind, about which message."""

    kind: FormKind
    message_id: int
    choice: str
    other: str
    text: str

    @property
    def name(self) -> str:
        """The label or topic: what was typed, else what was chosen, else blank."""
        return self.choice if is_blank(self.other) else self.other


def make_form(kind: FormKind, message_id: int, words: Words, choices: Iterable[Choice]) -> discord.ui.Modal:
    """Return a form about a message; without choices it has no select.

    It is stopped before it is sent, so the client keeps nothing of it: `filled` reads whatever comes of it.
    """
    form = discord.ui.Modal(title=words.title, custom_id=f"{_FORM_ID}{kind}:{message_id}")
    options = list(islice(_options(choices), FORM_CHOICES))
    if options:
        select: discord.ui.Select[discord.ui.Modal] = discord.ui.Select(
            custom_id=_CHOICE, options=options, min_values=0, max_values=1, required=False
        )
        form.add_item(discord.ui.Label(text=words.choose, component=select))
    other = words.other if options else words.choose
    form.add_item(_field(_OTHER, other, words.other_hint, NAME_CHARS))
    form.add_item(_field(_TEXT, words.text, "On one line; you may leave it empty", TEXT_CHARS))
    form.stop()
    return form


def _options(choices: Iterable[Choice]) -> Iterable[discord.SelectOption]:
    """Yield the choices that Discord takes, each once."""
    seen: set[str] = set()
    for choice in choices:
        name = plain(f"#{choice.value}", CHOICE_WIDTH)
        if 0 < width(choice.value) <= CHOICE_WIDTH and choice.value not in seen and name:
            seen.add(choice.value)
            about = plain(choice.about, CHOICE_WIDTH) or None
            yield discord.SelectOption(label=name, value=choice.value, description=about)


def _field(custom_id: str, name: str, hint: str, chars: int) -> discord.ui.Label[discord.ui.Modal]:
    field: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
        custom_id=custom_id, required=False, max_length=chars
    )
    return discord.ui.Label(text=name, description=hint, component=field)


def filled(interaction: Interaction) -> Filled | None:
    """Return what was filled in; None for anything but a form of ours."""
    data: Any = interaction.data
    if interaction.type is not discord.InteractionType.modal_submit or not isinstance(data, dict):
        return None
    found = _ID.fullmatch(str(data.get("custom_id")))
    if found is None or not 0 < int(found["message"]) < SNOWFLAKE_BOUND:
        return None
    given = dict(_given(data.get("components")))
    kind: Any = found["kind"]
    return Filled(
        kind,
        int(found["message"]),
        given.get(_CHOICE, "")[:CHOICE_WIDTH],
        given.get(_OTHER, "")[:NAME_CHARS],
        given.get(_TEXT, "")[:TEXT_CHARS],
    )


def _given(components: Any) -> Iterator[tuple[str, str]]:
    """Yield what each field of a form holds, by its id."""
    for part in components if isinstance(components, list) else ():
        inner = part.get("component", part) if isinstance(part, dict) else None
        if isinstance(inner, dict):
            values = inner.get("values") or [inner.get("value")]
            yield str(inner.get("custom_id")), values[0] if isinstance(values[0], str) else ""


def check_written(row: recall.LogMessage | None) -> None:
    """Raise `NotWritten` unless somebody wrote a message."""
    if row is None or isinstance(row.author, recall.SystemAuthor):
        raise NotWritten


async def open_form(
    interaction: Interaction,
    services: Services,
    message: discord.Message,
    make: Callable[[Asker], Awaitable[discord.ui.Modal]],
) -> None:
    """Show a form about a message, or say in one sentence why not. Raises nothing but `CancelledError`."""
    try:
        check_may_post(interaction)
        check_written(services.desks.row_of(message))
        form = await make(Asker.of(interaction))
    except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
        log_failure(interaction, error)
        await tell(interaction, sentence_of(error))
        return
    try:
        await interaction.response.send_modal(form)
    except UNSENT as error:
        _log.warning("no form for interaction %s: %s", interaction.id, described(error))


async def known_in_time(asking: Coroutine[Any, Any, _T], otherwise: _T) -> _T:
    """Return what is known within `FORM_PREFILL_SECONDS`, else something else: a form does without."""
    try:
        async with asyncio.timeout(FORM_PREFILL_SECONDS):
            return await asking
    except (TimeoutError, Refusal, recall.RecallError) as error:
        _log.debug("a form opens without choices: %s", described(error))
        return otherwise
