"""Pick an agent, a person or a desk by a few typed characters.

Each picker ranks a snapshot that the caller already holds, so completing a name reads nothing. A query of
nothing but white space picks nothing; listing everybody is the caller's own.

    >>> agents(parse_pattern("sc"), (Agent("7", "Scout"), Agent("9", "Critic", detail="scores drafts")))[0].id
    '7'
"""

from __future__ import annotations

from collections.abc import Iterable

from recall.patterns import SearchPattern
from recall.ranking import SELECT_LIMIT, Candidate, CompiledPattern, Hit, rank
from recall.records import Value

__all__ = ["Agent", "Desk", "Person", "agents", "desks", "people"]


class Agent(Value, frozen=True):
    """Be a bot or webhook on the roster; a `retired` one is never offered."""

    id: str
    label: str
    detail: str | None = None
    retired: bool = False


class Person(Value, frozen=True):
    """Be a human member."""

    id: str
    label: str


class Desk(Value, frozen=True):
    """Be a channel with its threads; `detail` is its topic."""

    id: str
    label: str
    detail: str | None = None


def agents(
    pattern: SearchPattern | CompiledPattern, roster: Iterable[Agent], limit: int = SELECT_LIMIT
) -> tuple[Hit, ...]:
    """Return the best `limit` agents of a roster that are not retired."""
    serving = (Candidate(agent.id, agent.label, agent.detail) for agent in roster if not agent.retired)
    return rank(pattern, _once(serving), limit)


def people(
    pattern: SearchPattern | CompiledPattern, roster: Iterable[Person], limit: int = SELECT_LIMIT
) -> tuple[Hit, ...]:
    """Return the best `limit` people of a roster."""
    return rank(pattern, _once(Candidate(person.id, person.label) for person in roster), limit)


def desks(
    pattern: SearchPattern | CompiledPattern, directory: Iterable[Desk], limit: int = SELECT_LIMIT
) -> tuple[Hit, ...]:
    """Return the best `limit` desks; one named for the query stands before one whose topic mentions it."""
    return rank(pattern, _once(Candidate(desk.id, desk.label, desk.detail) for desk in directory), limit)


def _once(candidates: Iterable[Candidate]) -> Iterable[Candidate]:
    """Return each id's first candidate, in the order given."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.id, candidate)
    return first.values()
