"""Read the times that people type into a question, as places in the log.

    2024-05-01   2024-05-01T18:30   2024-05-01T18:30:15+02:00   2024-05-01Z
    3d                              a span back from now, in m, h, d or w
    1234567890123456789             the id of a message

A message's id holds the instant it was sent, to the millisecond, so an instant is a place in the log.
`before` leaves the instant out and `after` takes it in. Both return exclusive bounds, as
`recall.SearchQuery` wants them. A time without an offset is UTC, and `Bound.assumed_utc` tells it, because an
answer has to say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from .errors import Refusal
from .links import SNOWFLAKE_BOUND, SNOWFLAKE_DIGITS, read_link, read_snowflake

FIRST_INSTANT: Final = datetime(2015, 1, 1)  # noqa: DTZ001 - UTC; reckoned without zones, which end at year 9999
SNOWFLAKE_SHIFT: Final = 22  # bits below the milliseconds
LAST_BOUND: Final = SNOWFLAKE_BOUND - 1

_TIME = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?"
    r"(?P<offset>[Zz]|(?P<sign>[+-])(?P<off_hour>[0-9]{2}):(?P<off_minute>[0-9]{2}))?"
)
_SPAN = re.compile(r"(?P<count>[0-9]{1,9})(?P<unit>[mhdw])")
_UNIT_MINUTES = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_MINUTE_MS = 60_000
_DAY_MINUTES = 24 * 60


class BadTime(Refusal):
    """Say that something typed as a time is none."""

    template = (
        "That is no time I can read: write a date such as 2024-05-01 or 2024-05-01T18:30+02:00, "
        "a span back such as 3d (m, h, d or w), or a message id."
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """Hold an exclusive bound in the log, and whether it was made of a time that named no offset."""

    sequence: int
    assumed_utc: bool = False


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def parse_before(text: str, now: datetime) -> Bound:
    """Return the bound below which rows are older than a time; the time itself is left out. Raises `BadTime`."""
    number, assumed_utc = _first_sequence(text, now)
    return Bound(number, assumed_utc)


def parse_after(text: str, now: datetime) -> Bound:
    """Return the bound above which rows are as new as a time, the time itself included. Raises `BadTime`."""
    number, assumed_utc = _first_sequence(text, now)
    return Bound(max(0, number - 1), assumed_utc)


def parse_at(text: str, now: datetime) -> Bound:
    """Return the newest sequence that there was at a time, or with a message, given by its ID or its link.

    The message itself is included, the instant of a time is not. Raises `BadTime`.
    """
    text = text.strip()
    link = read_link(text)
    message = link.message_id if link is not None else read_snowflake(text)
    if message is not None and (link is not None or len(text) >= SNOWFLAKE_DIGITS):
        return Bound(min(message, LAST_BOUND))
    number, assumed_utc = _first_sequence(text, now)
    return Bound(max(0, number - 1), assumed_utc)


def _first_sequence(text: str, now: datetime) -> tuple[int, bool]:
    """Return the lowest sequence that a time can have, and whether UTC was assumed. `now` knows its zone."""
    text = text.strip()
    if (span := _SPAN.fullmatch(text)) is not None:
        back = int(span["count"]) * _UNIT_MINUTES[span["unit"]] * _MINUTE_MS
        return _sequence(_milliseconds(now.replace(tzinfo=None) - (now.utcoffset() or timedelta())) - back), False
    if (time := _TIME.fullmatch(text)) is not None:
        return _sequence(_instant(time)), time["offset"] is None
    number = read_snowflake(text)
    if number is None or len(text) < SNOWFLAKE_DIGITS:
        raise BadTime
    return min(number, LAST_BOUND), False


def _instant(time: re.Match[str]) -> int:
    """Return a written time in milliseconds since `FIRST_INSTANT`."""
    parts = [int(time[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")]
    try:
        local = datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - the offset is taken off below
    except ValueError:
        raise BadTime from None
    if time["sign"] is None:
        return _milliseconds(local)
    hours, minutes = int(time["off_hour"]), int(time["off_minute"])
    if minutes >= 60 or hours * 60 + minutes >= _DAY_MINUTES:  # noqa: PLR2004 - minutes of an hour
        raise BadTime
    offset = (hours * 60 + minutes) * _MINUTE_MS
    return _milliseconds(local) - (offset if time["sign"] == "+" else -offset)


def _milliseconds(utc: datetime) -> int:
    return (utc - FIRST_INSTANT) // timedelta(milliseconds=1)


def _sequence(milliseconds: int) -> int:
    """Return the lowest sequence of an instant, within the bounds of what can be asked for."""
    return min(max(0, milliseconds << SNOWFLAKE_SHIFT), LAST_BOUND)
