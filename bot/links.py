"""Read ids, and the links that hold them, as people paste them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import recall

SNOWFLAKE_BOUND: Final = 2**63  # exclusive; ids are that small until 2084, and Discord takes no larger one
SNOWFLAKE_DIGITS: Final = 15  # the shortest id, of the first days of 2015; a shorter number means something else

_SNOWFLAKE_EPOCH_MS: Final = 1_420_070_400_000  # 2015-01-01T00:00Z, where Discord's ids begin to count
_SNOWFLAKE_SHIFT: Final = 22  # bits below the milliseconds

_LINK = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com"
    r"/channels/(?P<guild>[0-9]{1,20})/(?P<channel>[0-9]{1,20})(?:/(?P<message>[0-9]{1,20}))?/?"
)


@dataclass(frozen=True, slots=True)
class Link:
    """Hold the ids that a link names; `message_id` is None for a link to a channel."""

    guild_id: int
    channel_id: int
    message_id: int | None = None


def read_link(text: str) -> Link | None:
    """Return what a link names; None for text that is not a link to a guild's channel and nothing else."""
    match = _LINK.fullmatch(text)
    if match is None:
        return None
    ids = [int(match[name]) for name in ("guild", "channel", "message") if match[name] is not None]
    return Link(*ids) if all(0 < number < recall.SEQUENCE_LIMIT for number in ids) else None


def seconds_of(snowflake: int) -> int:
    """Return when an id was made, in seconds since 1970."""
    return ((snowflake >> _SNOWFLAKE_SHIFT) + _SNOWFLAKE_EPOCH_MS) // 1000


def read_snowflake(text: str) -> int | None:
    """Return an id of digits alone; None for anything else, also for digits of other scripts."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(recall.SEQUENCE_LIMIT))):
        return None
    return number if 0 < (number := int(text)) < recall.SEQUENCE_LIMIT else None
