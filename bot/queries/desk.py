"""A desk that is open for questions, and the one way in which every query reads it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

import recall

if TYPE_CHECKING:
    from .pin_rules import PinAuthority

DIALECT: Literal["discord"] = "discord"


class LeftOut(recall.Value, frozen=True):
    """Name a place that belongs to the question and was not read, to somebody who may know of it."""

    id: str
    name: str
    reason: str


class MarkerReach(recall.Value, frozen=True):
    """Say that below the walk every row that could be a marker was looked at: how many, and from where up.

    `beginning`: whether that is the beginning of history, and nothing older could be a marker.
    """

    rows: int
    oldest: recall.Sequence
    beginning: bool


class SeenReach(recall.Value, frozen=True):
    """Say that below what was verified, so many marker rows were taken as they were last seen, and when that was."""

    rows: int
    oldest: recall.Sequence
    as_of: str


class AnswerCoverage(recall.Value, frozen=True):
    """Say how far an answer looked: `recall.Coverage`, what was left out, and as of when (null: now).

    A board looks deeper, in two parts. `markers`: what it verified below the walk; null where that is nothing.
    `seen`: what it took from below that, unverified; null where that is nothing.
    """

    rows: int
    oldest: recall.Sequence | None
    beginning: bool
    stopped: str | None
    left_out: tuple[LeftOut, ...] = ()
    as_of: str | None = None
    markers: MarkerReach | None = None
    seen: SeenReach | None = None


class MarkerRows(NamedTuple):
    """Hold the rows of a desk that hold a `!`, newest first, below where a walk ended.

    `verified` is all of them down to `low` (0: the beginning); `seen` are older ones as they were last seen,
    the earliest of them at `as_of` (seconds since 1970).
    """

    verified: tuple[recall.LogMessage, ...]
    low: int
    seen: tuple[recall.LogMessage, ...] = ()
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class OpenDesk:
    """Hold a desk that somebody may ask questions of.

    `conversation`: null for everything the log holds. `left_out`: read after the walk, which may add to it.
    `may_show`: asked for each place (once for each `chat_id` and `parent`) when the answer is made; null where
    everybody may see everything. `read_row`: reads one row of this desk that a walk did not reach, null when it
    is gone; may raise. `read_again`: likewise reads one that was met before as it is now. `markers`: the marker
    rows older than a sequence, at most so many, where they are known without reading the log; null where they
    are not. `address`: reads a message link of this place where a marker takes `^N`. `openings`: the names of the
    desk's threads that are known, by their roots. `is_stored`: whether all of it is read from files, at no cost, which
    may not hold everything. `is_webhook`: whether an author's id is a webhook's, as far as that
    is known. `roles_of`: the roles that an author holds now, none for one who left; null where nobody's roles are
    known. `pin_authority`: the rules on pins and unpins; null where they are not known, and everybody may.
    """

    log: recall.SessionLog
    conversation: recall.Conversation | None = None
    left_out: Sequence[LeftOut] = ()
    as_of: str | None = None
    may_show: Callable[[recall.LogMessage], Awaitable[bool]] | None = None
    read_row: Callable[[int], Awaitable[recall.LogMessage | None]] | None = None
    read_again: Callable[[recall.LogMessage], Awaitable[recall.LogMessage | None]] | None = None
    markers: Callable[[int, int], Awaitable[MarkerRows]] | None = None
    address: Callable[[str], int | None] | None = None
    openings: Callable[[], Mapping[int, str]] | None = None
    is_stored: bool = False
    is_webhook: Callable[[str], bool] | None = None
    roles_of: Callable[[str], Awaitable[frozenset[int]]] | None = None
    pin_authority: PinAuthority | None = None


async def read(
    desk: OpenDesk,
    *,
    scan: int,
    before: int | None = None,
    after: int | None = None,
    ends_at: Callable[[recall.LogMessage], bool] | None = None,
) -> recall.Walk:
    """Walk a desk, then leave out the rows of places that the asker may not see any more."""
    walk = await recall.walk_log(desk.log, scan=scan, before=before, after=after, ends_at=ends_at)
    rows = await showable(desk, walk.rows)
    if len(rows) == len(walk.rows):
        return walk
    coverage = msgspec.structs.replace(walk.coverage, rows=len(rows), oldest=rows[-1].sequence if rows else None)
    return recall.Walk(rows, coverage)


async def showable(desk: OpenDesk, rows: tuple[recall.LogMessage, ...]) -> tuple[recall.LogMessage, ...]:
    """Return the rows whose place may be shown now."""
    if desk.may_show is None:
        return rows
    places: dict[tuple[str | None, int | None], bool] = {}
    for row in rows:
        place = (row.chat_id, row.parent)
        if place not in places:
            places[place] = await desk.may_show(row)
    return rows if all(places.values()) else tuple(row for row in rows if places[row.chat_id, row.parent])


def chronological(desk: OpenDesk, rows: tuple[recall.LogMessage, ...]) -> tuple[recall.LogMessage, ...]:
    """Return the rows that belong to the desk's conversation, oldest first."""
    inside = rows if desk.conversation is None else tuple(row for row in rows if desk.conversation.holds(row))
    return inside[::-1]


def rows_of(rows: Sequence[recall.LogMessage], wanted: set[int]) -> dict[int, recall.LogMessage]:
    """Return those of the rows that are wanted, by sequence."""
    return {row.sequence: row for row in rows if row.sequence in wanted} if wanted else {}


def coverage_of(desk: OpenDesk, coverage: recall.Coverage) -> AnswerCoverage:
    """Say how far a walk over this desk looked, in the words of an answer."""
    return AnswerCoverage(
        coverage.rows, coverage.oldest, coverage.beginning, coverage.stopped, tuple(desk.left_out), desk.as_of
    )
