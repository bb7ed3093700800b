"""Rooms with rules on pins, in memory and on a stage: whose lines count, and whose rights are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import discord
import msgspec
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.config import Config
from recall_bot.queries import OpenDesk, PinAuthority, PinPolicy, PinsRequest, Powers
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle

import recall
from tests.asking import ask, configured, text_of
from tests.stage import Stage
from tests.watched_folds import RowsLog

ADA, BEN, MOD, HOOK = "1", "2", "3", "4"
THREAD = 77
TARGETS = (10, 11, 12)


def row(sequence: int, author: str, content: str, *, parent: int | None = None) -> recall.LogMessage:
    who = recall.AgentAuthor(author, author) if author == HOOK else recall.PersonAuthor(author, author)
    return recall.LogMessage(sequence, "5", parent, who, content)


class Room:
    """A desk of rows with rules, that records whose rights it was asked for."""

    def __init__(self, policy: PinPolicy, *, owner: str | None = None, pinners: str = "") -> None:
        self.policy = policy
        self.owner = owner
        self.pinners = pinners
        self.asked: list[str | int] = []

    async def powers_of(self, author_id: str) -> Powers:
        self.asked.append(author_id)
        return Powers(moderates=author_id == MOD, pins=not self.policy.by_role or author_id in self.pinners)

    async def owner_of(self, thread_id: int) -> str | None:
        self.asked.append(thread_id)
        return self.owner

    def desk(self, *rows: recall.LogMessage) -> OpenDesk:
        authority = PinAuthority(self.policy, self.powers_of, self.owner_of, lambda row: row.parent)
        newest_first = sorted(rows, key=lambda row: -row.sequence)
        return OpenDesk(log=RowsLog(newest_first), pin_authority=authority)

    async def board(self, *rows: recall.LogMessage) -> tuple[dict[int, str], list[str]]:
        """Return who has pinned what, and what became of each line."""
        answer = await queries.pins(self.desk(*rows), PinsRequest())
        pinned = {pin.sequence: recall.author_id(pin.pinned_by) for pin in answer.pins}
        return pinned, [str(event.effect) for event in answer.events]


def lines(*said: tuple[str, str], first: int = 100) -> list[recall.LogMessage]:
    return [row(sequence, author, content) for sequence, (author, content) in enumerate(said, first)]


AUTHORS = (ADA, BEN, MOD, HOOK)
POLICIES = st.builds(
    PinPolicy,
    unpin=st.sampled_from(("anyone", "pinner", "moderators")),
    by_role=st.booleans(),
    per_author=st.integers(0, 3),
    thread_owner=st.booleans(),
)
MARKERS = st.builds("!{} ^{}".format, st.sampled_from(("pin", "unpin")), st.sampled_from(TARGETS))
SAID = st.lists(
    st.tuples(st.sampled_from(AUTHORS), st.lists(MARKERS, min_size=1, max_size=3), st.sampled_from((None, THREAD)))
)


def log_of(said: list[tuple[str, list[str], int | None]]) -> list[recall.LogMessage]:
    return [
        row(100 + at, author, "\n".join(markers), parent=parent) for at, (author, markers, parent) in enumerate(said)
    ]


def rules(**changed: Any) -> Callable[[Config], Config]:
    def change(config: Config) -> Config:
        free: Config = configured()(config)
        return msgspec.structs.replace(free, pins=msgspec.structs.replace(free.pins, **changed))

    return change


async def board_of(stage: Stage, where: ChannelHandle | None = None) -> str:
    return text_of(await ask(stage, "pins", where=where))


def moderator(stage: Stage, *, name: str = "mod") -> MemberActor:
    role = stage.guild.create_role(f"{name}s", permissions=discord.Permissions(manage_messages=True))
    return stage.guild.add_member(stage.env.create_user(name), roles=[role])
