"""Offer choices while somebody types: channels, authors and labels, of what they may read and what is known.

Nothing is fetched, nothing fails, and nothing is offered that the asker could not read just now. Discord takes
at most 25 choices with names and values of at most 100 characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

import discord
from discord import app_commands

import recall
from recall.text import cut, is_blank, strip

from .access import Asker, Place, is_place
from .finding import EVERYWHERE
from .recent import Recent
from .shown import flatten_name

CHOICES: Final = 25
CHOICE_CHARS: Final = 100
EVERYWHERE_NAME: Final = "everywhere you can read"


def places(text: str, asker: Asker, *, everywhere: bool = False) -> list[app_commands.Choice[str]]:
    """Return the channels and threads that a text may mean, best first, or all with the asker's own first.

    `everywhere`: whether all that the asker may read can be meant too, and is offered before them.
    """
    guild = asker.guild
    known = {str(place.id): place for place in (*guild.channels, *guild.threads) if is_place(place)}
    typed = strip(text).removeprefix("#")
    if is_blank(typed):
        found: Iterable[str] = sorted(known, key=lambda key: known[key].id != asker.here.id)
    else:
        directory = (recall.Desk(key, flatten_name(place.name), _detail(place)) for key, place in known.items())
        found = (hit.id for hit in recall.desks(recall.TextPattern(typed), directory, len(known)))
    readable = (known[key] for key in found if asker.may_complete(known[key]))
    all_of_them = [(EVERYWHERE_NAME, EVERYWHERE)] if everywhere and EVERYWHERE.startswith(strip(text).lower()) else []
    return _choices(chain(all_of_them, ((_place_name(place), str(place.id)) for place in readable)))


def authors(text: str, asker: Asker, within: Iterable[Place], recent: Recent) -> list[app_commands.Choice[str]]:
    """Return the authors last read in some places that a text may mean; people and agents, best first."""
    known = [author for place in within if asker.may_complete(place) for author in recent.authors(place.id)]
    typed = strip(text).removeprefix("@")
    if is_blank(typed):
        return _choices((author.label, author.id) for author in known)
    pattern = recall.TextPattern(typed)
    agents = (recall.Agent(who.id, who.label) for who in known if isinstance(who, recall.AgentAuthor))
    people = (recall.Person(who.id, who.label) for who in known if isinstance(who, recall.PersonAuthor))
    hits = [*recall.people(pattern, people, CHOICES), *recall.agents(pattern, agents, CHOICES)]
    hits.sort(key=lambda hit: (-hit.score, hit.offset, len(hit.label)))
    return _choices((hit.label, hit.id) for hit in hits)


def labels(text: str, asker: Asker, place: Place | None, recent: Recent) -> list[app_commands.Choice[str]]:
    """Return the labels last read in a place that a text may mean, best first; `#` is optional."""
    if place is None or not asker.may_complete(place):
        return []
    return _tagged(text, recent.labels(place.id))


def topics(text: str, asker: Asker, place: Place | None, recent: Recent) -> list[app_commands.Choice[str]]:
    """Return the topics last read in a place that a text may mean, best first; `#` is optional."""
    if place is None or not asker.may_complete(place):
        return []
    return _tagged(text, recent.topics(place.id))


def _tagged(text: str, known: tuple[str, ...]) -> list[app_commands.Choice[str]]:
    """Return the known words, written with a `#`, that a text may mean; all of them for none."""
    typed = strip(text).removeprefix("#")
    if not is_blank(typed):
        candidates = (recall.Candidate(word, word) for word in known)
        known = tuple(hit.id for hit in recall.rank(recall.TextPattern(typed), candidates, CHOICES))
    return _choices((f"#{word}", word) for word in known)


def _choices(found: Iterable[tuple[str, str]]) -> list[app_commands.Choice[str]]:
    """Return the first choices that Discord takes, each value once."""
    return [app_commands.Choice(name=name, value=value) for name, value in islice(_fitting(found), CHOICES)]


def _fitting(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for name, value in found:
        if value and len(value) <= CHOICE_CHARS and value not in seen and not is_blank(name):
            seen.add(value)
            yield cut(name, CHOICE_CHARS - 1), value


def _place_name(place: Place) -> str:
    name = f"#{flatten_name(place.name)}"
    if isinstance(place, discord.Thread) and place.parent is not None:
        return f"{name} (in #{flatten_name(place.parent.name)})"
    return name


def _detail(place: Place) -> str | None:
    """Return what else a place can be found by: a thread's channel, or a channel's category."""
    if isinstance(place, discord.Thread):
        return None if place.parent is None else place.parent.name
    return None if place.category is None else place.category.name
