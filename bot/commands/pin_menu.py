"""*Pin to board*, in a message's menu: a form for label and note, and a `!pin` line posted for whoever fills it in."""

from __future__ import annotations

import discord
from discord import app_commands

import recall

from .. import queries
from ..access import Asker
from ..answering import Asking, Interaction
from ..errors import Refusal
from ..forms import Choice, Filled, Words, known_in_time, make_form, open_form
from ..marker_lines import pin_line
from ..posting import Asked, post_asked
from ..services import Services

NAME = "Pin to board"
WORDS = Words(
    title=NAME,
    choose="Label",
    other="Another label",
    other_hint="One word; you may leave it empty",
    text="Note",
)


class MayNotPin(Refusal):
    """Say that the rule here does not let whoever asks pin a message."""

    template = "The rules here do not let you pin that message."


class MessageGone(Refusal):
    """Say that there is no such message any more."""

    template = "That message is gone, so no line about it was posted."


def build(services: Services) -> app_commands.ContextMenu:
    """Return the menu."""

    @app_commands.context_menu(name=NAME)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    async def pin(interaction: Interaction, message: discord.Message) -> None:
        async def make(asker: Asker) -> discord.ui.Modal:
            labels = await known_in_time(_labels(services, asker), ())
            known = dict.fromkeys([*labels, *_read_lately(services, asker)])
            return make_form("pin", message.id, WORDS, map(Choice, known))

        await open_form(interaction, services, message, make)

    return pin


async def submitted(interaction: Interaction, services: Services, given: Filled) -> None:
    """Pin the message that a form is about."""

    async def make(asking: Asking) -> Asked:
        line = pin_line(given.message_id, given.name, given.text)
        desk = await message_here(asking, given.message_id)
        rules = desk.pin_authority
        if rules is not None and rules.policy.narrows:  # else anybody may, and nothing has to be read for it
            board = await queries.pins(desk, queries.PinsRequest())
            if recall.PinEffect.REFUSED in await queries.foreseen(desk, board, [line], asking.asker.author):
                raise MayNotPin
        return Asked(line, "Pinned.")

    await post_asked(interaction, services, make)


async def message_here(asking: Asking, message_id: int) -> queries.OpenDesk:
    """Return the desk that somebody asks in, with that message still in it. Raises `MessageGone`."""
    desk = await asking.open(asking.asker.here)
    if desk.read_row is None or await desk.read_row(message_id) is None:
        raise MessageGone
    return desk


async def _labels(services: Services, asker: Asker) -> tuple[str, ...]:
    desk = services.desks.known(asker.here, asker)
    return () if desk is None else await queries.known_labels(desk)


def _read_lately(services: Services, asker: Asker) -> tuple[str, ...]:
    return services.recent.labels(asker.here.id) if asker.may_complete(asker.here) else ()
