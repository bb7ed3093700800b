"""`/pins`: the board of a channel, folded from the `!pin` and `!unpin` lines that still stand in it."""

from __future__ import annotations

import asyncio
import io
import unicodedata
from typing import Any, Literal

import discord
import msgspec
from discord import app_commands

import recall
from recall.text import collapse

from .. import queries
from ..access import Place
from ..answering import Answer, Asking, Interaction, acknowledge, completed, links_of, place_name, respond, turn_pairs
from ..errors import Refusal
from ..marker_lines import unpin_line
from ..posting import may_be_posted_in
from ..questions import LABEL_CHARS, REACH_DOUBLINGS, PinsQuestion
from ..rendering.board_files import board_json, board_markdown
from ..rendering.coverage import can_go_on
from ..rendering.pins import (
    LOOKS_FURTHER,
    Found,
    PinsView,
    board_card,
    board_pages,
    export_card,
    history_card,
    history_pages,
)
from ..rendering.unpinning import UnpinChoice, unpin_choices
from ..services import Services

EXPORT_LOOKUPS = 25  # pinned messages outside of the reach that are fetched for a file, one request each
HELP = "Show what is pinned here with !pin lines (not Discord's own pins)"


class LabelTooLong(Refusal):
    """Say that no label of that length can be asked for."""

    template = "A label that is asked for has at most {limit} characters."

    def __init__(self) -> None:
        self.limit = LABEL_CHARS


def build(services: Services) -> app_commands.Command[Any, ..., Any]:
    """Return the command."""

    @app_commands.command(name="pins", description=HELP)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.rename(place="in")
    @app_commands.describe(
        label="Only what is pinned under this label; the # is optional",
        place="Channel or thread: an ID, link, mention or name; without it, the one you are in",
        show="The board, every pin and unpin behind it, or the whole board as files",
        public="Show the answer to everybody here",
    )
    async def pins(
        interaction: Interaction,
        *,
        label: str | None = None,
        place: str | None = None,
        show: Literal["board", "history", "export"] = "board",
        public: bool = False,
    ) -> None:
        if not await acknowledge(interaction, public=public):
            return
        upper = interaction.id

        async def make(asking: Asking) -> Answer:
            wanted = read_label(label)
            found = await asking.place(place)
            question = PinsQuestion(
                asker=asking.asker.member.id,
                place=found.id,
                upper=upper,
                show="history" if show == "history" else "board",
                label=wanted,
            )
            return await (export if show == "export" else answer)(asking, question, found)

        await respond(interaction, services, make, public=public)

    @pins.autocomplete("label")
    async def complete_label(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        within = getattr(interaction.namespace, "in", None)
        return completed(interaction, lambda asker: services.desks.complete_label(text, asker, within))

    @pins.autocomplete("place")
    async def complete_place(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        return completed(interaction, lambda asker: services.desks.complete_in(text, asker))

    return pins


def read_label(text: str | None) -> str | None:
    """Return the label that was asked for, without its `#`; null for none. Raises `LabelTooLong`."""
    label = collapse(unicodedata.normalize("NFC", text or "")).removeprefix("#")
    if len(label) > LABEL_CHARS:
        raise LabelTooLong
    return label or None


async def answer(asking: Asking, question: PinsQuestion, place: Place | None = None) -> Answer:
    """Fold the board that a question asks for, or its history; access is asked for anew."""
    place = place or await asking.place(str(question.place))
    desk, board, request = await _folded(asking, question, place)
    further = can_go_on(board.coverage) and question.reach < REACH_DOUBLINGS
    view = PinsView(
        place_name(place), links_of(place), question.label, question.page, LOOKS_FURTHER if further else None
    )
    unpins: tuple[UnpinChoice, ...] = ()
    if question.show == "history":
        lines = history_pages(board, view)
        pages = len(lines)
        card = history_card(board, view, lines)
    else:
        board = await queries.settle(desk, board, request, lambda found: _in_sight(found, view))
        dealt = board_pages(board, view.links)
        pages = len(dealt)
        card = board_card(board, view, dealt, await _look_for(desk, board, _page(dealt, view)))
        if _offers_unpin(asking, place):
            unpins = await _allowed(asking, desk, board, unpin_choices(board, view, dealt))
    page = max(0, min(question.page, pages - 1))
    return Answer(
        card,
        msgspec.structs.replace(question, page=page),
        turn_pairs(previous=page > 0, following=page + 1 < pages, newer=question.reach > 0, older=further),
        unpins=unpins,
    )


async def _allowed(
    asking: Asking, desk: queries.OpenDesk, board: queries.PinsAnswer, choices: tuple[UnpinChoice, ...]
) -> tuple[UnpinChoice, ...]:
    """Return the pins that whoever asks may take off; all of them under a public board, for others may press there."""
    if asking.public or not board.rights.policy.narrows:
        return choices
    lines = [unpin_line(choice.target) for choice in choices]
    effects = await queries.foreseen(desk, board, lines, asking.asker.author)
    return tuple(
        choice for choice, effect in zip(choices, effects, strict=True) if effect is not recall.PinEffect.REFUSED
    )


def _offers_unpin(asking: Asking, place: Place) -> bool:
    """Say whether pins can be taken off here: lines are posted where the board is shown, and by nobody who may not.

    Under a public board others may press, and are judged then.
    """
    asker = asking.asker
    return place.id == asker.here.id and may_be_posted_in(place, None if asking.public else asker.member)


async def export(asking: Asking, question: PinsQuestion, place: Place) -> Answer:
    """Write the board that a question asks for into two files."""
    desk, board, request = await _folded(asking, question, place)
    view = PinsView(place_name(place), links_of(place), question.label)
    board = await queries.settle(desk, board, request, lambda found: (*_working(found), *found.pins))
    unread = [pin for pin in board.pins if pin.sequence not in board.rows][:EXPORT_LOOKUPS]
    read = [pin for pin in board.pins if pin.sequence in board.rows]
    found = await _look_for(desk, board, read + unread)
    files = [
        discord.File(io.BytesIO(board_markdown(board, view, found).encode()), f"pins-{place.id}.md"),
        discord.File(io.BytesIO(board_json(board, found, question.label)), f"pins-{place.id}.json"),
    ]
    return Answer(export_card(board, view), files=files)


async def _folded(
    asking: Asking, question: PinsQuestion, place: Place
) -> tuple[queries.OpenDesk, queries.PinsAnswer, queries.PinsRequest]:
    desk = await asking.open(place)
    request = queries.PinsRequest(
        label=question.label,
        before=question.upper,
        scan=recall.PIN_SCAN << question.reach,
        working_set=asking.settings(place).pins.limit,
    )
    return desk, await queries.pins(desk, request), request


def _working(board: queries.PinsAnswer) -> list[recall.Pin]:
    """Return the working set, on which it depends under which heading any other pin stands."""
    return [pin for pin in board.board if pin.sequence in board.working]


def _in_sight(board: queries.PinsAnswer, view: PinsView) -> list[recall.Pin]:
    """Return what has to be right on a page: the working set, and what is shown."""
    return [*_working(board), *_page(board_pages(board, view.links), view)]


def _page(dealt: list[list[recall.Pin]], view: PinsView) -> list[recall.Pin]:
    return dealt[min(view.page, len(dealt) - 1)] if dealt else []


async def _look_for(desk: queries.OpenDesk, board: queries.PinsAnswer, pins: list[recall.Pin]) -> Found:
    """Say where the pinned messages of a page are; at most one request for each that was not read."""
    where = await asyncio.gather(*(queries.where_is(desk, board, pin.sequence) for pin in pins))
    return {pin.sequence: found for pin, found in zip(pins, where, strict=True)}
