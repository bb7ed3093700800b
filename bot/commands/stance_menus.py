"""*Support* and *Object*, in a message's menu: a form for the topic and the reason, and a line posted for the asker.

The message is the ground of a support, and the target of an objection: nobody types an id. An objection needs a ground
as well, by default, and whoever points at none points at the message itself. A topic is taken as it is
written; one that is nearly that of the floor is another topic, and whoever wrote it is told.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable, Iterator

import discord
from discord import app_commands

import recall

from .. import queries
from ..access import Asker
from ..answering import Asking, Interaction
from ..deliberation import standings_request
from ..errors import Refusal
from ..forms import Choice, Filled, FormKind, Words, known_in_time, make_form, open_form
from ..marker_lines import trace_line
from ..places import place_ids
from ..posting import Asked, post_asked
from ..rendering.cards import counted
from ..rendering.inert import inert
from ..services import Services
from .pin_menu import message_here

SUPPORT = Words(
    title="Support",
    choose="Topic",
    other="Another topic",
    other_hint="One word, taken as you write it",
    text="Why this message speaks for it",
)
OBJECT = Words(
    title="Object",
    choose="Topic",
    other="Another topic",
    other_hint="You may leave it empty: an objection is to the message",
    text="Why this message is wrong",
)
TOPIC_CHARS = 60  # of a topic that is spoken of
NO_VOICE = {
    "agents": "Here only agents have a voice, so it adds no support.",
    "role": "Here you hold no role that has a voice, so it adds no support.",
}


_SOMEBODY = recall.PersonAuthor("0", "")


class NoTopic(Refusal):
    """Say that a support needs a topic."""

    template = "A support needs a topic: choose one, or write one."


def build_support(services: Services) -> app_commands.ContextMenu:
    """Return the menu *Support*."""
    return _menu(services, "support", SUPPORT)


def build_object(services: Services) -> app_commands.ContextMenu:
    """Return the menu *Object*."""
    return _menu(services, "object", OBJECT)


def _menu(services: Services, kind: FormKind, words: Words) -> app_commands.ContextMenu:
    @app_commands.context_menu(name=words.title)
    @app_commands.guild_only()
    @app_commands.allowed_installs(guilds=True, users=False)
    async def stand(interaction: Interaction, message: discord.Message) -> None:
        async def make(asker: Asker) -> discord.ui.Modal:
            floor = await known_in_time(_floor(services, asker), None)
            choices = [] if floor is None else list(_choices(floor, message.id))
            return make_form(kind, message.id, words, choices or map(Choice, _read_lately(services, asker)))

        await open_form(interaction, services, message, make)

    return stand


async def supported(interaction: Interaction, services: Services, given: Filled) -> None:
    """Support a topic, on the ground of the message that a form is about."""

    async def make(asking: Asking) -> Asked:
        line = trace_line(recall.TraceKind.SUPPORT, given.name, cite=given.message_id, text=given.text)
        topic = _trace_of(line).topic
        if topic is None:
            raise NoTopic
        desk = await message_here(asking, given.message_id)
        beside = [*_voice(asking), *await _nearly(asking, desk, topic)]
        return Asked(line, f"Supported {_named(topic)}.", " ".join(beside))

    await post_asked(interaction, services, make)


async def objected(interaction: Interaction, services: Services, given: Filled) -> None:
    """Object to the message that a form is about."""

    async def make(asking: Asking) -> Asked:
        line = _objection(given)
        topic = _trace_of(line).topic
        desk = await message_here(asking, given.message_id)
        beside = [] if topic is None else await _nearly(asking, desk, topic)
        return Asked(line, "Objected.", " ".join(beside))

    await post_asked(interaction, services, make)


def _objection(given: Filled) -> str:
    """Write an objection to the message of a form, on the grounds that its text points at, or else on the message."""
    line = trace_line(recall.TraceKind.OBJECT, given.name, target=given.message_id, text=given.text)
    if _trace_of(line).cites:
        return line
    kind, message = recall.TraceKind.OBJECT, given.message_id
    return trace_line(kind, given.name, target=message, cite=message, text=given.text)


def resembling(topic: str, floor: Iterable[str]) -> list[str]:
    """Return the topics that differ from one only in case or in trailing punctuation; none where it is among them."""
    known = list(floor)
    return [] if topic in known else [other for other in known if _gist(other) == _gist(topic)]


def _gist(topic: str) -> str:
    """Return a topic without what people get wrong in it; all of one that is nothing else."""
    end = len(topic)
    while end and unicodedata.category(topic[end - 1])[0] == "P":
        end -= 1
    return (topic[:end] or topic).casefold()


async def _floor(services: Services, asker: Asker) -> queries.StandingsAnswer | None:
    """Return where the topics stand as far as the mirror knows."""
    desk = services.desks.known(asker.here, asker)
    if desk is None:
        return None
    request = standings_request(services.config, asker.guild.id, place_ids(asker.here))
    return await queries.room_standings(desk, dataclasses.replace(request, commits=0))


def _choices(floor: queries.StandingsAnswer, message_id: int) -> Iterator[Choice]:
    """Yield the topics on the floor with their counts, those that the message speaks of first."""
    here = {outcome.trace.topic for outcome in floor.traces if outcome.trace.sequence == message_id}
    for report in sorted(floor.topics, key=lambda report: report.topic not in here):
        yield Choice(report.topic, _counts(report))


def _counts(report: queries.TopicReport) -> str:
    said = [f"{len(report.supporters)} of {report.needed} supporters"]
    said += [f"{len(report.silenced)} silenced"] if report.silenced else []
    said += [counted(len(report.refutations), "refutation")] if report.refutations else []
    said += [report.state] if report.state != "open" else []
    return ", ".join(said)


def _read_lately(services: Services, asker: Asker) -> tuple[str, ...]:
    return services.recent.topics(asker.here.id) if asker.may_complete(asker.here) else ()


async def _nearly(asking: Asking, desk: queries.OpenDesk, topic: str) -> list[str]:
    """Say which topic of the floor is written a little differently; nothing where that cannot be known now."""
    here = asking.asker.here
    request = standings_request(asking.services.config, here.guild.id, place_ids(here))
    try:
        floor = (await queries.room_standings(desk, dataclasses.replace(request, commits=0))).floor
    except (Refusal, recall.RecallError):
        return []
    return [
        f"On the floor is {_named(other)}, written a little differently: that is another topic."
        for other in resembling(topic, floor)[:1]
    ]


def _voice(asking: Asking) -> list[str]:
    """Say when whoever supports has no voice here."""
    member, here = asking.asker.member, asking.asker.here
    electorate = standings_request(asking.services.config, here.guild.id, place_ids(here)).electorate
    heard = electorate.has_voice(asking.asker.author, is_webhook=False, roles=[role.id for role in member.roles])
    return [] if heard else [NO_VOICE[electorate.voters]]


def _trace_of(line: str) -> recall.Trace:
    (trace,) = recall.resolve_traces(line, None, author=_SOMEBODY, sequence=0, dialect=queries.DIALECT)
    return trace


def _named(topic: str) -> str:
    return inert(f"#{topic}", TOPIC_CHARS)
