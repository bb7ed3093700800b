"""Say who has a voice in a room: everyone, its agents, its people, or whoever holds a role now.

A webhook is an agent by its id, whatever it calls itself, and anybody may be behind it: it has a voice only where
it is listed. Roles are those of this moment, also where the standing is one of last week.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import recall

from ..errors import Refusal
from .desk import OpenDesk

VOTERS_ASKED = 100  # authors whose roles are asked for one answer, one request each where they are not known

Voters: TypeAlias = Literal["everyone", "agents", "people", "role"]

_VOICED = frozenset({recall.TraceKind.PROPOSE, recall.TraceKind.SUPPORT, recall.TraceKind.REFUTE})


class RolesUnknown(Refusal):
    """Say that voting by role cannot be counted where nobody's roles are known."""

    template = "Here nobody's roles are known: count everyone, agents or people."


@dataclass(frozen=True, slots=True)
class Electorate:
    """Say who votes; `roles` matter for `role` alone, `webhooks` are those that vote wherever agents or roles do."""

    voters: Voters = "everyone"
    roles: frozenset[int] = frozenset()
    webhooks: frozenset[str] = frozenset()

    def has_voice(self, author: recall.Author, *, is_webhook: bool, roles: Iterable[int] = ()) -> bool:
        """Say whether an author's proposals, supports and refutations count."""
        if not isinstance(author, recall.PersonAuthor | recall.AgentAuthor):
            return False
        if is_webhook:
            return self.voters != "people" and author.id in self.webhooks
        if self.voters == "role":
            return not self.roles.isdisjoint(roles)
        return self.voters == "everyone" or isinstance(author, recall.AgentAuthor) == (self.voters == "agents")

    def admits(self, trace: recall.Trace, *, is_webhook: bool, roles: Iterable[int] = ()) -> bool:
        """Say whether the author of a trace may deposit it: who has no voice may still object, ask and tell."""
        return trace.kind not in _VOICED or self.has_voice(trace.author, is_webhook=is_webhook, roles=roles)


async def eligible_in(
    desk: OpenDesk, electorate: Electorate, traces: Iterable[recall.Trace]
) -> tuple[Callable[[recall.Author], bool], int]:
    """Return who among the authors of traces has a voice, and of how many nobody asked the roles: these have none.

    Raises `RolesUnknown`, or `Unavailable` where Discord does not say now.
    """
    authors = {recall.author_id(trace.author): trace.author for trace in traces if trace.kind in _VOICED}
    webhooks = {author_id for author_id in authors if desk.is_webhook is not None and desk.is_webhook(author_id)}
    roles: dict[str, frozenset[int]] = {}
    unasked = 0
    if electorate.voters == "role":
        if desk.roles_of is None:
            raise RolesUnknown
        asked = [author_id for author_id in reversed(authors) if author_id not in webhooks]
        unasked = len(asked[VOTERS_ASKED:])
        asked = asked[:VOTERS_ASKED]
        roles = dict(zip(asked, await asyncio.gather(*map(desk.roles_of, asked)), strict=True))

    def eligible(author: recall.Author) -> bool:
        author_id = recall.author_id(author)
        return electorate.has_voice(author, is_webhook=author_id in webhooks, roles=roles.get(author_id, ()))

    return eligible, unasked
