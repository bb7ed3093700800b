"""Ask for the standings of a place as it is configured: one function for every surface.

request = standings_request(config, guild_id, (thread_id, channel_id), topic="store")
answer = await queries.room_standings(desk, request)
"""

from __future__ import annotations

from collections.abc import Iterable

import recall

from .config import Config, StandingsConfig
from .queries import Electorate, StandingsRequest


def standings_request(
    config: Config,
    guild_id: int | None,
    place_ids: Iterable[int],
    *,
    at: int | None = None,
    topic: str | None = None,
    scan: int | None = None,
) -> StandingsRequest:
    """Return the question after the standings of a place, given as a thread and its parent, or a channel alone.

    `scan`: messages that are read at most; null for as many as a reader reads, and the whole window in any case.
    """
    section = config.settings(guild_id=guild_id, channel_ids=place_ids).standings
    scan = scan or max(recall.SCAN_LIMIT, section.window + 1)
    return StandingsRequest(policy_of(section), electorate_of(section), at, topic, scan)


def policy_of(section: StandingsConfig) -> recall.QuorumPolicy:
    """Return the policy that is configured."""
    return recall.QuorumPolicy(
        threshold=section.threshold,
        window=section.window,
        require_grounded=section.require_grounded,
        refutation_cap=section.refutation_cap or None,
        require_evidential=section.require_evidential,
    )


def electorate_of(section: StandingsConfig) -> Electorate:
    """Return who is configured to vote."""
    return Electorate(section.voters, frozenset(section.roles), frozenset(map(str, section.webhooks)))
