"""*Unpin from board*, in a message's menu: an `!unpin` line posted for whoever asks, if the message is pinned here.

What people see of a pin in the room is its line. So the menu of a line takes off what that line has pinned.
"""

from __future__ import annotations

import discord
from discord import app_commands

import recall

from .. import queries
from ..answering import Asking, Interaction
from ..errors import Refusal
from ..marker_lines import unpin_line
from ..posting import Asked, post_asked
from ..services import Services

NAME = "Unpin from board"


class NotPinned(Refusal):
    """Say that a message is not on the board of a place."""

    template = "That message is not on the board here, so there is nothing to take off."


class NotFoundPinned(Refusal):
    """Say that a message is not on the board as far as it was read."""

    template = (
        "I found no pin of that message as far back as I read. If there is an older one, "
        "`!unpin ^{target}` takes it off."
    )

    def __init__(self, target: int) -> None:
        self.target = target


class MayNotUnpin(Refusal):
    """Say that the rule here lets others take a pin off, and not whoever asks."""

    template = "The rules here do not let you take that pin off: ask whoever pinned it, or a moderator."


def build(services: Services) -> app_commands.ContextMenu:
    """Return the menu."""

    @app_commands.context_menu(name=NAME)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    async def unpin(interaction: Interaction, message: discord.Message) -> None:
        async def make(asking: Asking) -> Asked:
            pin = await pin_here(asking, message.id, or_line=True)
            by_line = " That is the message which this line had pinned." if pin.sequence != message.id else ""
            return Asked(unpin_line(pin.sequence), "Taken off the board.", by_line)

        await post_asked(interaction, services, make)

    return unpin


async def pin_here(asking: Asking, target: int, *, reach: int = 0, or_line: bool = False) -> recall.Pin:
    """Return the pin of a message on the board of the place where somebody asks, as it stands now.

    `reach`: how often the board reads twice as far. `or_line`: of a message that is not pinned, return the one pin
    that it made. Raises `NotPinned`, or `NotFoundPinned` where the board was not read to its beginning, and
    `MayNotUnpin` where the rule does not let the asker take it off.
    """
    desk = await asking.open(asking.asker.here)
    request = queries.PinsRequest(scan=recall.PIN_SCAN << reach)
    board = await queries.pins(desk, request)
    board = await queries.settle(desk, board, request, lambda found: _pins_of(found, target, or_line=or_line))
    for pin in _pins_of(board, target, or_line=or_line):
        line = unpin_line(pin.sequence)
        if recall.PinEffect.REFUSED in await queries.foreseen(desk, board, [line], asking.asker.author):
            raise MayNotUnpin
        return pin
    markers = board.coverage.markers
    whole = board.coverage.beginning or (markers is not None and markers.beginning)
    if whole and not board.coverage.left_out:
        raise NotPinned
    raise NotFoundPinned(target)


def _pins_of(board: queries.PinsAnswer, target: int, *, or_line: bool) -> list[recall.Pin]:
    made = [pin for pin in board.board if pin.pinned_at == target] if or_line else []
    return [pin for pin in board.board if pin.sequence == target] or (made if len(made) == 1 else [])
