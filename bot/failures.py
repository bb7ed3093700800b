"""Wrap what a request to Discord may raise, once, in what a user can be told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord

from .errors import Unavailable, UnavailableKind

REQUEST_FAILURES = (discord.DiscordException, aiohttp.ClientError, OSError)
"""What a request to Discord may end in."""


def unavailable_kind(error: Exception) -> UnavailableKind:
    """Return what a user can be told about a failed request."""
    match error:
        case discord.Forbidden():
            return "no_permission"
        case discord.NotFound():
            return "gone"
        case discord.RateLimited() | discord.HTTPException(status=429):
            return "rate_limited"
    return "discord_down"


@contextmanager
def wrapped_errors() -> Iterator[None]:
    """Turn every failure of a request to Discord into `Unavailable`, once; its cause is kept."""
    try:
        yield
    except REQUEST_FAILURES as error:
        raise Unavailable(unavailable_kind(error)) from error
