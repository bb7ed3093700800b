"""Show where each topic of a desk stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

import recall

from .desk import DIALECT, AnswerCoverage, OpenDesk, chronological, coverage_of, read

STANDINGS_WINDOW_ROWS = 500  # 30, the library's default, is minutes in a busy room

Voters: TypeAlias = Literal["everyone", "agents", "people"]


@dataclass(frozen=True, slots=True)
class StandingsRequest:
    """Ask where each topic stood `at` a sequence (null: at the newest row). The policy's window counts rows."""

    policy: recall.QuorumPolicy = field(default_factory=lambda: recall.QuorumPolicy(window=STANDINGS_WINDOW_ROWS))
    voters: Voters = "everyone"
    at: int | None = None
    scan: int = recall.SCAN_LIMIT


@dataclass(frozen=True, slots=True)
class StandingsAnswer:
    """Hold the topics on the floor, the state of the room, the names behind the ids, and how far it looked."""

    standings: tuple[recall.TopicStanding, ...]
    consensus: recall.Consensus
    names: Mapping[str, str]
    coverage: AnswerCoverage


def _is_person(author: recall.Author) -> bool:
    return isinstance(author, recall.PersonAuthor)


def _is_agent(author: recall.Author) -> bool:
    return isinstance(author, recall.AgentAuthor)


_ELIGIBLE: Mapping[Voters, Callable[[recall.Author], bool]] = {
    "everyone": lambda author: _is_person(author) or _is_agent(author),
    "agents": _is_agent,
    "people": _is_person,
}


async def room_standings(desk: OpenDesk, request: StandingsRequest) -> StandingsAnswer:
    """Fold the standings of a desk; raises `recall.PolicyError` and `recall.ReadError`.

    Snowflakes are not consecutive, so the authored rows are numbered 1, 2, 3 … before the fold, which counts
    the window in rows. A cite or target that is none of these rows grounds and silences nothing.
    """
    before = None if request.at is None else request.at + 1
    walk = await read(desk, scan=request.scan, before=before)
    rows = tuple(row for row in chronological(desk, walk.rows) if not isinstance(row.author, recall.SystemAuthor))
    number = {row.sequence: index for index, row in enumerate(rows, 1)}
    traces = tuple(
        msgspec.structs.replace(
            trace,
            sequence=number[trace.sequence],
            target=None if trace.target is None else number.get(trace.target),
            cites=tuple(number[cite] for cite in trace.cites if cite in number),
        )
        for trace in recall.read_traces(rows, dialect=DIALECT)
    )
    found = recall.standings(traces, len(rows), request.policy, eligible=_ELIGIBLE[request.voters])
    names = {recall.author_id(row.author): recall.author_label(row.author) for row in rows}
    return StandingsAnswer(found, recall.consensus(found, request.policy), names, coverage_of(desk, walk.coverage))
