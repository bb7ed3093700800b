"""Message and channel links, and the markup that a client makes of a channel."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINK = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com"
    r"/channels/(?P<guild>[0-9]{1,20})/(?P<channel>[0-9]{1,20})(?:/(?P<message>[0-9]{1,20}))?/?"
)
SNOWFLAKE_LIMIT = 2**64  # exclusive


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
    return Link(*ids) if all(0 < number < SNOWFLAKE_LIMIT for number in ids) else None


def read_snowflake(text: str) -> int | None:
    """Return an id of digits alone; None for anything else, also for digits of other scripts."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(SNOWFLAKE_LIMIT))):
        return None
    return number if 0 < (number := int(text)) < SNOWFLAKE_LIMIT else None
