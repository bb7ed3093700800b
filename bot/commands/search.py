"""`/search`: look through a channel's history itself, as far as is asked, and say how far that was."""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

import msgspec
from discord import app_commands

import recall
from recall.text import collapse, cut, is_blank, strip

from .. import queries
from ..access import Place
from ..answering import Answer, Asking, Interaction, acknowledge, completed, links_of, place_name, respond, turn_pairs
from ..errors import Refusal
from ..finding import is_everywhere
from ..questions import EVERYWHERE_ID, NAME_CHARS, SearchQuestion
from ..rendering.cards import Links
from ..rendering.coverage import can_go_on
from ..rendering.search import SearchView, search_card
from ..services import Services
from ..times import parse_after, parse_before

HELP = 'Search this channel\'s history: words in any order, a "phrase", or a /regular expression/'


class NothingAsked(Refusal):
    """Say that a query holds nothing to look for."""

    template = "Type what to look for: words, a phrase in quotes, or a regular expression between slashes."


class Typed(msgspec.Struct, frozen=True):
    """Hold what was typed into the command's options."""

    query: str
    place: str | None
    author: str | None
    before: str | None
    after: str | None
    order: Literal["best", "newest"]
    loose: bool


def build(services: Services) -> app_commands.Command[Any, ..., Any]:
    """Return the command."""

    @app_commands.command(name="search", description=HELP)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.rename(place="in", author="from")
    @app_commands.describe(
        query="What to look for; /…/ is a regular expression, quotes keep a phrase together",
        place="Channel or thread: an ID, link, mention or name, or everywhere; without it, the one you are in",
        author="Who wrote it: an ID, mention or name",
        before="Only older than: a date or time (UTC unless it says), a span back such as 3d, or a message ID",
        after="Only as new as: a date or time (UTC unless it says), a span back such as 3d, or a message ID",
        sort="Best matches first, or the newest",
        loose="Also take messages that have the letters in this order with others between them",
        public="Show the answer to everybody here",
    )
    async def search(
        interaction: Interaction,
        *,
        query: str,
        place: str | None = None,
        author: str | None = None,
        before: str | None = None,
        after: str | None = None,
        sort: Literal["best", "newest"] = "best",
        loose: bool = False,
        public: bool = False,
    ) -> None:
        if not await acknowledge(interaction, public=public):
            return
        typed = Typed(query, place, author, before, after, sort, loose)
        upper = interaction.id

        async def make(asking: Asking) -> Answer:
            return await answer(asking, *await first_question(asking, typed, upper=upper))

        await respond(interaction, services, make, public=public)

    @search.autocomplete("place")
    async def complete_place(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        return completed(interaction, lambda asker: services.desks.complete_in(text, asker, everywhere=True))

    @search.autocomplete("author")
    async def complete_author(interaction: Interaction, text: str) -> list[app_commands.Choice[str]]:
        within = getattr(interaction.namespace, "in", None)
        return completed(interaction, lambda asker: services.desks.complete_from(text, asker, within))

    return search


async def first_question(asking: Asking, typed: Typed, *, upper: int) -> tuple[SearchQuestion, Place | None]:
    """Read what was typed, and return the place that is meant, None for everywhere.

    Raises `Refusal`, or `recall.PatternTooLong`, before anything is read of the history.
    """
    text = strip(unicodedata.normalize("NFC", typed.query))
    if is_blank(text):
        raise NothingAsked
    recall.parse_query(text)
    place = None if is_everywhere(typed.place) else await asking.place(typed.place)
    desks, now = asking.services.desks, asking.services.now()
    before = None if typed.before is None else parse_before(typed.before, now)
    after = None if typed.after is None else parse_after(typed.after, now)
    question = SearchQuestion(
        asker=asking.asker.member.id,
        place=EVERYWHERE_ID if place is None else place.id,
        upper=upper,
        text=text,
        author=None if typed.author is None else desks.author(typed.author, asking.asker, place),
        author_name=cut(collapse(typed.author or ""), NAME_CHARS - 1),
        before=None if before is None else before.sequence,
        after=None if after is None else after.sequence,
        order=typed.order,
        loose=typed.loose,
        assumed_utc=any(bound is not None and bound.assumed_utc for bound in (before, after)),
    )
    return question, place


async def answer(asking: Asking, question: SearchQuestion, place: Place | None = None) -> Answer:
    """Search for what a question asks; access is asked for anew, whenever it was asked first."""
    if question.place == EVERYWHERE_ID:
        desk, name, links = await asking.open_everywhere(after=question.after), None, Links(asking.asker.guild.id, 0)
    else:
        place = place or await asking.place(str(question.place))
        desk, name, links = await asking.open(place, after=question.after), place_name(place), links_of(place)
    edge = question.edges[-1] if question.edges else question.before
    request = queries.SearchRequest(
        question.text,
        author_id=question.author,
        before=question.upper if edge is None else min(edge, question.upper),
        after=question.after,
        order=question.order,
        loose=question.loose,
        offset=question.page * queries.SEARCH_PAGE_HITS,
        scan=asking.settings(place or asking.asker.here).search.scan,
    )
    found = await queries.search(desk, request, matcher=asking.services.matcher, asker=str(asking.asker.member.id))
    view = SearchView(
        text=question.text,
        place=name,
        links=links,
        author=_author_name(question, found),
        before=question.before,
        after=question.after,
        order=question.order,
        loose=question.loose,
        assumed_utc=question.assumed_utc,
        edge=edge,
        page=question.page,
    )
    older = can_go_on(found.coverage)
    return Answer(
        search_card(found, view),
        msgspec.structs.replace(question, oldest=found.coverage.oldest if older else None),
        turn_pairs(previous=question.page > 0, following=found.more, newer=bool(question.edges), older=older),
    )


def _author_name(question: SearchQuestion, found: queries.SearchAnswer) -> str | None:
    """Return how to name the author that was asked for: as their rows do, else as it was typed."""
    if question.author is None:
        return None
    return recall.author_label(found.hits[0].author) if found.hits else question.author_name or question.author
