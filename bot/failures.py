"""Wrap what a request to Discord may raise, once, in what a user can be told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord

from .errors import Unavailable, UnavailableKind

REQUEST_FAILURES = (discord.DiscordException, aiohttp.ClientError, OSError)
"""What a request to Discord may end in."""

UNREADABLE_ANSWERS = (ValueError, LookupError, TypeError, AttributeError)
"""What discord.py ends in over an answer that is no JSON, or not of the documented form."""


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


@contextmanager
def wrapped_answers() -> Iterator[None]:
    """Do as `wrapped_errors`, also for answers that nobody can read; only discord.py's code may run inside.

    A proxy's page with status 200, or half a message: for whoever asks, that is Discord being down.
    """
    with wrapped_errors():
        try:
            yield
        except UNREADABLE_ANSWERS as error:
            raise Unavailable("discord_down") from error
