"""`/standings`: where the topics of a channel stand, what was decided, and what every line came to."""

from __future__ import annotations

import asyncio
import io
from typing import Any, Literal

import discord
import msgspec
from discord import app_commands

from recall.text import is_blank

from .. import queries
from ..access import Place
from ..answering import Answer, Asking, Interaction, acknowledge, completed, links_of, place_name, respond, turn_pairs
from ..deliberation import standings_request
from ..places import place_ids
from ..questions import REACH_DOUBLINGS, StandingsQuestion
from ..rendering.coverage import can_go_on
from ..rendering.pins import Found
from ..rendering.standings import (
    LOOKS_FURTHER,
    StandingsView,
    export_card,
    standing_pages,
    standings_card,
    trace_pages,
    traces_card,
)
from ..rendering.standings_files import named_messages, standings_json, standings_markdown
from ..services import Services
from ..times import parse_at
from .pins import EXPORT_LOOKUPS, read_label

HELP = "Show where each topic under deliberation stands here, and what was decided"


def build(services: Services) -> app_commands.Command[Any, ..., Any]:
    """Return the command."""

    @app_commands.command(name="standings", description=HELP)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.rename(place="in")
    @app_commands.describe(
        place="Channel or thread: an ID, link, mention or name; without it, the one you are in",
        topic="Only this topic; the # is optional",
        at="As of a message (ID or link), a date or time (UTC unless it says), or a span back such as 3d",
        show="Where topics stand, what every deliberation line came to, or all of it as files",
        public="Show the answer to everybody here",
    )
    async def standings(
        interaction: Interaction,
        *,
        place: str | None = None,
        topic: str | None = None,
        at: str | None = None,
        show: Literal["standings", "traces", "export"] = "standings",
        public: bool = False,
    ) -> None:
        if not await acknowledge(interaction, public=public):
            return
        upper = interaction.id

        async def make(asking: Asking) -> Answer:
            wanted = read_label(topic)
            bound = None if at is None or is_blank(at) else parse_at(at, services.now())
            found = await asking.place(place)
            question = StandingsQuestion(
                asker=asking.asker.member.id,
                place=found.id,
                upper=upper,
                show="traces" if show == "traces" else "standings",
                topic=wanted,
                at=None if bound is None else bound.sequence,
                assumed_utc=bound is not None and bound.assumed_utc,
            )
            return await (export if show == "export" else answer)(asking, question, found)

        await respond(interaction, services, make, public=public)

    @standings.autocomplete("topic")
    async def complete_topic(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        within = getattr(interaction.namespace, "in", None)
        return completed(interaction, lambda asker: services.desks.complete_topic(text, asker, within))

    @standings.autocomplete("place")
    async def complete_place(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        return completed(interaction, lambda asker: services.desks.complete_in(text, asker))

    return standings


async def answer(asking: Asking, question: StandingsQuestion, place: Place | None = None) -> Answer:
    """Fold the standings that a question asks for; access is asked for anew."""
    place = place or await asking.place(str(question.place))
    desk, request, found = await _folded(asking, question, place)
    further = can_go_on(found.coverage) and question.reach < REACH_DOUBLINGS
    view = _view(question, place, request, LOOKS_FURTHER if further else None)
    traces = question.show == "traces"
    pages = (trace_pages if traces else standing_pages)(found, view)
    page = max(0, min(question.page, len(pages) - 1))
    named = {ref: None for entry in (pages[page] if pages else ()) for ref in entry.refs}
    where = await _look_for(desk, found, [ref for ref in named if not found.grounds(ref)])
    return Answer(
        (traces_card if traces else standings_card)(found, view, pages, where),
        msgspec.structs.replace(question, page=page),
        turn_pairs(previous=page > 0, following=page + 1 < len(pages), newer=question.reach > 0, older=further),
    )


async def export(asking: Asking, question: StandingsQuestion, place: Place) -> Answer:
    """Write the standings that a question asks for, and every line behind them, into two files."""
    desk, request, found = await _folded(asking, question, place)
    view = _view(question, place, request, None)
    unread = [ref for ref in named_messages(found) if not found.grounds(ref)][:EXPORT_LOOKUPS]
    where = await _look_for(desk, found, unread)
    files = [
        discord.File(io.BytesIO(standings_markdown(found, view, where).encode()), f"standings-{place.id}.md"),
        discord.File(io.BytesIO(standings_json(found, where)), f"standings-{place.id}.json"),
    ]
    return Answer(export_card(found, view), files=files)


async def _folded(
    asking: Asking, question: StandingsQuestion, place: Place
) -> tuple[queries.OpenDesk, queries.StandingsRequest, queries.StandingsAnswer]:
    desk = await asking.open(place)
    at = question.upper - 1 if question.at is None else min(question.at, question.upper - 1)
    config = asking.services.config
    request = standings_request(config, place.guild.id, place_ids(place), at=at, topic=question.topic)
    request = queries.widened(request, question.reach)
    return desk, request, await queries.room_standings(desk, request)


def _view(
    question: StandingsQuestion, place: Place, request: queries.StandingsRequest, goes_on: str | None
) -> StandingsView:
    return StandingsView(
        place_name(place),
        links_of(place),
        request.electorate,
        question.topic,
        question.at,
        question.assumed_utc,
        question.page,
        goes_on,
    )


async def _look_for(desk: queries.OpenDesk, answer: queries.StandingsAnswer, named: list[int]) -> Found:
    """Say where messages are that lines name and that the reach does not hold; at most one request for each."""
    where = await asyncio.gather(*(queries.where_named(desk, answer, sequence) for sequence in named))
    return dict(zip(named, where, strict=True))
