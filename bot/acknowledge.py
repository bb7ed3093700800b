"""Show who writes a marker that it counted, with a reaction: 📌 it took effect, ❔ it is nothing.

*Took effect* means that it parses and that its author may; no history is read for it, so `!unpin ^5` counts
where 5 was never pinned, and where the rules of a place make it hang on who pinned what, there is no reaction. Of
a deliberation line it means that it lacks nothing which it needs here (a topic, a cite), and that its author votes
here, where that matters; whether what it names is there is not looked at. The reaction follows the text: an edit
that adds a marker brings it, one that takes the marker out takes it back. At most `ACKS_PER_MINUTE` for each
channel, and as many are taken back; the surplus is dropped, and looked at again when its text changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import discord

import recall

from .access import is_place
from .answering import described
from .deliberation import electorate_of, policy_of
from .failures import REQUEST_FAILURES
from .forgetting import forget_oldest
from .pace import Pace
from .pin_powers import policy_of as rules_of
from .pin_powers import powers_in
from .places import channel_of, may_react, place_ids
from .queries import DIALECT, Powers, foretold
from .rows import webhook_of

if TYPE_CHECKING:
    from .config import Acknowledge, Config

ACKS_PER_MINUTE = 10  # for each channel
ACKS_REMEMBERED = 10_000  # messages whose reaction is ours; of older ones Discord's own account is taken
EFFECT_EMOJI = "📌"
NOTHING_EMOJI = "❔"

_log = logging.getLogger(__name__)


def lacks_nothing(trace: recall.Trace) -> bool:
    """Say whether a trace deposits under the default rules, whoever wrote it."""
    return recall.trace_lack(trace, recall.QuorumPolicy()) is None


def trace_rule(config: Config, message: discord.Message) -> Callable[[recall.Trace], bool]:
    """Return which traces of a message deposit where it stands, by what is configured there and who wrote it."""
    guild_id = None if message.guild is None else message.guild.id
    section = config.settings(guild_id=guild_id, channel_ids=place_ids(message.channel)).standings
    policy, electorate = policy_of(section), electorate_of(section)
    member, hook = message.author, webhook_of(message) is not None

    def deposits(trace: recall.Trace) -> bool:
        roles: list[int] = []
        if isinstance(member, discord.Member) and recall.author_id(trace.author) == str(member.id):
            roles = [role.id for role in member.roles]  # not ours, where we posted it for somebody
        return recall.trace_lack(trace, policy) is None and electorate.admits(trace, is_webhook=hook, roles=roles)

    return deposits


def pin_rule(config: Config, message: discord.Message) -> Callable[[recall.PinDirective], bool | None]:
    """Return which pins and unpins of a message take effect where it stands; null for what hangs on the history.

    By its author's roles as the message came with them: those of a person for whom we posted a line did not.
    """
    guild_id = None if message.guild is None else message.guild.id
    section = config.settings(guild_id=guild_id, channel_ids=place_ids(message.channel)).pins
    policy, powers = rules_of(section), Powers(pins=not section.pin)
    place, author = message.channel, message.author
    known = not isinstance(author, discord.Member) or author.id != getattr(author.guild.me, "id", None)
    if isinstance(author, discord.Member) and is_place(place):
        powers = powers_in(place, author, section)
    return lambda directive: foretold(policy, powers, directive) if known or not policy.narrows else None


def always(_directive: recall.PinDirective) -> bool:
    """Say that a pin or unpin takes effect, as under the default rules."""
    return True


def acknowledgement(
    row: recall.LogMessage,
    mode: Acknowledge,
    *,
    address: recall.AddressReader | None = None,
    deposits: Callable[[recall.Trace], bool] = lacks_nothing,
    acts: Callable[[recall.PinDirective], bool | None] = always,
) -> str | None:
    """Return the reaction that a row deserves, null for none.

    `address` reads message links in markers, `deposits` says which traces do anything here, and `acts` which pins and
    unpins do; null for one of which that is not known.
    """
    if mode == "off" or "!" not in row.content:
        return None
    directives = recall.read_directives(
        row.content,
        author=row.author,
        sequence=row.sequence,
        dialect=DIALECT,
        reply_to=row.reply_to,
        address=address,
    )
    acted = [acts(directive) for directive in directives]
    if True in acted:
        return EFFECT_EMOJI
    if any(map(deposits, recall.read_traces((row,), dialect=DIALECT, address=address))):
        return EFFECT_EMOJI
    if None in acted:
        return None
    return NOTHING_EMOJI if mode == "all" and recall.looks_like_marker(row.content, DIALECT) else None


@dataclass(slots=True, eq=False)
class _Mark:
    """Hold which reaction a message should have of us, and which it has."""

    wanted: str | None
    has: str | None = None
    busy: bool = False


class Acknowledgements:
    """Put reactions on marker lines, and take them back. Call it for the messages of enabled channels only.

    `clock` counts seconds and never goes back (`time.monotonic`).
    """

    def __init__(self, config: Config, *, clock: Callable[[], float]) -> None:
        self._config = config
        self._mode = config.acknowledge
        self._pace = Pace(ACKS_PER_MINUTE, clock=clock)
        self._taken_back = Pace(ACKS_PER_MINUTE, clock=clock)
        self._marks: dict[int, _Mark] = {}

    async def look(
        self, message: discord.Message, row: recall.LogMessage, *, address: recall.AddressReader | None = None
    ) -> None:
        """Look at a message that was posted or edited, and make its reaction what its text deserves."""
        if self._mode == "off":
            return
        deposits, acts = trace_rule(self._config, message), pin_rule(self._config, message)
        wanted = acknowledgement(row, self._mode, address=address, deposits=deposits, acts=acts)
        mark = self._marks.get(message.id)
        if mark is None:
            mark = _Mark(wanted, has=_own_reaction(message))
            if mark.has == wanted:
                return
            self._marks[message.id] = mark
            forget_oldest(self._marks, ACKS_REMEMBERED)
        mark.wanted = wanted
        if not mark.busy:
            await self._settle(message, mark)

    def deleted(self, message_ids: Iterable[int]) -> None:
        """Forget messages that are gone."""
        for message_id in message_ids:
            self._marks.pop(message_id, None)

    async def _settle(self, message: discord.Message, mark: _Mark) -> None:
        """Change the reaction until it is the wanted one; texts that arrive meanwhile are seen."""
        mark.busy = True
        try:
            while mark.has != mark.wanted:
                wanted = mark.wanted
                if mark.has is not None and message.guild is not None:
                    if not self._taken_back.admit(channel_of(message.channel)):
                        return
                    emoji, mark.has = mark.has, None
                    await message.remove_reaction(emoji, message.guild.me)
                elif wanted is not None:
                    if not may_react(message.channel) or not self._pace.admit(channel_of(message.channel)):
                        return
                    await message.add_reaction(wanted)
                    mark.has = wanted
        except discord.NotFound:
            self._marks.pop(message.id, None)  # deleted meanwhile
        except REQUEST_FAILURES as error:
            _log.warning("reaction refused: message=%d (%s)", message.id, described(error))
        finally:
            mark.busy = False
            if mark.has is None and self._marks.get(message.id) is mark:
                del self._marks[message.id]


def _own_reaction(message: discord.Message) -> str | None:
    """Return which of our reactions Discord says is on a message."""
    mine = {str(reaction.emoji) for reaction in message.reactions if reaction.me}
    return next((emoji for emoji in (EFFECT_EMOJI, NOTHING_EMOJI) if emoji in mine), None)
