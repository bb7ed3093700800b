"""Find the channel and the author that somebody means by what they typed.

A place is given by its id, a link into it, its markup or its name; an author by an id, a mention or a name. A
name counts when it is exactly one's: letter for letter, or else whatever its case. Only what the asker may
read is ever compared, so a name that is found, or found twice, tells nothing of anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import discord

from recall.text import strip

from .access import Asker, Place, is_place
from .errors import AuthorNotFound, PlaceNotFound, Refusal, Unavailable
from .failures import wrapped_errors
from .links import SNOWFLAKE_DIGITS, read_link, read_snowflake
from .recent import Recent
from .shown import flatten_name

EVERYWHERE = "everywhere"  # what `in` holds for all that the asker may read

_CHANNEL = re.compile(r"<#([0-9]{1,20})>")
_USER = re.compile(r"<@!?([0-9]{1,20})>")


class PlaceAmbiguous(Refusal):
    """Say that several channels that the asker can read have that name."""

    template = "More than one channel or thread that you can read has that name: pick one from the list."


def is_everywhere(text: str | None) -> bool:
    """Say whether a text means all that the asker may read; a channel of that name is meant by `#everywhere`."""
    return text is not None and strip(text).lower() == EVERYWHERE


async def find_place(text: str, asker: Asker) -> Place:
    """Return the place that a text means: an id, a link, a mention, or a name with or without `#`.

    Raises `PlaceNotFound` for one that does not exist or that the asker may not read, `PlaceAmbiguous` for a
    name of several. Only an id that is not known here costs a request: it may be an archived thread's.
    """
    text = strip(text)
    number = _place_id(text, asker)
    if number is not None:
        channel = asker.guild.get_channel_or_thread(number) or await _fetch(asker.guild, number)
        if is_place(channel) and await asker.may_read(channel):
            return channel
    readable = [place for place in _named(text, asker) if await asker.may_read(place)]
    exact = [place for place in readable if flatten_name(place.name) == _name(text)]
    found = exact or readable
    if not found:
        raise PlaceNotFound
    if len(found) > 1:
        raise PlaceAmbiguous
    return found[0]


def known_place(text: str | None, asker: Asker) -> Place | None:
    """Return the place that a text means without asking Discord; where there is no text, the asker's own.

    None where it is not known, not readable, or not one.
    """
    text = strip(text or "")
    if not text:
        return asker.here
    number = _place_id(text, asker)
    channel = None if number is None else asker.guild.get_channel_or_thread(number)
    found = [channel] if is_place(channel) else _named(text, asker)
    readable = [place for place in found if asker.may_complete(place)]
    return readable[0] if len(readable) == 1 else None


def find_author(text: str, asker: Asker, places: Iterable[Place], recent: Recent) -> str:
    """Return the id of the author that a text means: an id, a mention, or a name that is exactly one author's.

    Known are who wrote in what was read of the places last, and the members of the guild that discord.py holds.
    Raises `AuthorNotFound`.
    """
    text = strip(text)
    mention = _USER.fullmatch(text)
    number = read_snowflake(mention[1] if mention is not None else text)
    if number is not None and (mention is not None or len(text) >= SNOWFLAKE_DIGITS):
        return str(number)
    known: set[tuple[str, str]] = set()
    for place in places:
        if asker.may_complete(place):
            known.update((author.label, author.id) for author in recent.authors(place.id))
    for member in asker.guild.members:
        names = (member.display_name, member.global_name, member.name)
        known.update((flatten_name(name), str(member.id)) for name in names if name)
    name = flatten_name(text.removeprefix("@"))
    found = {author_id for label, author_id in known if label == name}
    found = found or {author_id for label, author_id in known if label.lower() == name.lower()}
    if len(found) != 1:
        raise AuthorNotFound
    return found.pop()


def _place_id(text: str, asker: Asker) -> int | None:
    """Return the id that a text holds: bare, as markup, or in a link into this guild."""
    if (link := read_link(text)) is not None:
        return link.channel_id if link.guild_id == asker.guild.id else None
    if (markup := _CHANNEL.fullmatch(text)) is not None:
        return read_snowflake(markup[1])
    return read_snowflake(text) if len(text) >= SNOWFLAKE_DIGITS else None


def _name(text: str) -> str:
    return flatten_name(text.removeprefix("#"))


def _named(text: str, asker: Asker) -> list[Place]:
    """Return the channels and known threads of that name, whatever its case and whoever may read them."""
    name = _name(text).lower()
    everything = (*asker.guild.channels, *asker.guild.threads)
    return [place for place in everything if is_place(place) and flatten_name(place.name).lower() == name]


async def _fetch(guild: discord.Guild, channel_id: int) -> object:
    """Return the channel of an id that is not known here; None when this guild has none."""
    try:
        with wrapped_errors():
            return await guild.fetch_channel(channel_id)
    except Unavailable as failure:
        if isinstance(failure.__cause__, discord.Forbidden | discord.NotFound | discord.InvalidData):
            return None
        raise
