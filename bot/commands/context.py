"""`/context`: what an agent's turn would see here, as a file, for whoever looks after the agent."""

from __future__ import annotations

import io
from typing import Any

import discord
from discord import app_commands

import recall

from ..access import Place
from ..answering import Answer, Asking, Interaction, acknowledge, completed, place_name, respond
from ..contexts import context_document, fresh_nonce
from ..deliberation import standings_request
from ..places import place_ids
from ..queries import ContextRequest
from ..rendering.cards import Card
from ..rendering.coverage import coverage_note
from ..rendering.inert import inert
from ..services import Services

HELP = "See what an agent's turn would see here, as a file: messages, pins, threads and what it is told"
FRAMES = (
    "What people wrote stands between marks, one record a line, so that a model can tell it from instructions. "
    "The marks are drawn anew for every turn."
)


def build(services: Services) -> app_commands.Command[Any, ..., Any]:
    """Return the command."""

    @app_commands.command(name="context", description=HELP)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.rename(place="in")
    @app_commands.describe(place="Channel or thread: an ID, link, mention or name; without it, the one you are in")
    async def context(interaction: Interaction, *, place: str | None = None) -> None:
        if not await acknowledge(interaction, public=False):
            return
        upper = interaction.id

        async def make(asking: Asking) -> Answer:
            return await answer(asking, await asking.place(place), upper)

        await respond(interaction, services, make, public=False)

    @context.autocomplete("place")
    async def complete_place(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        return completed(interaction, lambda asker: services.desks.complete_in(text, asker))

    return context


def context_request(asking: Asking, place: Place, viewer: recall.Author, before: int | None) -> ContextRequest:
    """Return the question for what a turn of `viewer` sees in a place, by what is configured there.

    It is told of `!search` only where such lines of agents are answered.
    """
    settings = asking.settings(place)
    lines = asking.services.is_enabled(place_ids(place)) and settings.lines.answered != "off"
    return ContextRequest(
        viewer,
        recall.Spellings(search=recall.SEARCH_SPELLING if lines else None, traces=recall.TRACE_SPELLING),
        recall.BrevityPolicy(settings.brevity.message_chars, settings.brevity.window),
        before,
        working_set=settings.pins.limit,
        standings=standings_request(asking.services.config, place.guild.id, place_ids(place)),
    )


async def answer(asking: Asking, place: Place, before: int | None) -> Answer:
    """Write the context of a place into a file, as the asker may read it."""
    member = asking.asker.member
    viewer = recall.PersonAuthor(str(member.id), member.display_name)
    desk = await asking.open(place)
    document = await context_document(desk, context_request(asking, place, viewer, before), nonce=fresh_nonce())
    card = Card(
        title=f"Context: {inert(place_name(place))}",
        body=f"{document.line} {FRAMES}",
        far=coverage_note(document.answer.coverage, before=before),
    )
    return Answer(card, files=[discord.File(io.BytesIO(document.text.encode()), document.file_name)])
