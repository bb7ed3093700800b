"""Say how far an answer looked, in one or two sentences: how many messages, back to when, and why no further.

"Nothing found" is never all that is said. A window that was mistaken for the whole log is worse than no answer,
so every answer names its window, and where a question can go on from.
"""

from __future__ import annotations

from collections.abc import Callable

from ..queries import AnswerCoverage, LeftOut, MarkerReach, SeenReach
from .cards import counted, when
from .inert import inert

GOES_ON = "**Older** goes on from there."
LEFT_OUT_NAMED = 3  # places named one by one before the rest is only counted
LEFT_OUT_CHARS = 40

_STOPPED = {
    "bound": "what is older was not read",
    "time": "then the time for one answer was up",
    "rate_limited": "then Discord asked me to slow down",
    "discord_down": "then Discord stopped answering",
    "no_permission": "then I was not allowed to read on",
    "gone": "then the channel was gone",
    "date range": "the files go no further back",
    "not mirrored": "what is older was not mirrored",
}
_STOPPED_UNKNOWN = "then reading ended early"


def coverage_note(
    coverage: AnswerCoverage,
    *,
    before: int | None = None,
    goes_on: str | None = None,
    instant: Callable[[int], str] = when,
    quote: Callable[[str, int], str] = inert,
) -> str:
    """Return the sentences on an answer's reach.

    `before`: where the window begins, null for the newest message. `goes_on`: what the button does that reads on,
    null where there is none. `instant` writes when a message was sent, `quote` what others
    have named, at most so many characters of it.
    """
    said = [_reach(coverage, before, instant)]
    if goes_on is not None:
        said.append(goes_on)
    if coverage.seen is not None:
        said.append(_seen(coverage.seen))
    if coverage.left_out:
        said.append(_left_out(coverage.left_out, quote))
    if coverage.as_of is not None:
        said.append(f"As of {quote(coverage.as_of, LEFT_OUT_CHARS)}.")
    return " ".join(said)


def _seen(seen: SeenReach) -> str:
    """Say what was taken from below the reach, and what of it is not known."""
    return (
        f"Below that I know {counted(seen.rows, 'line')} as last seen {inert(seen.as_of, LEFT_OUT_CHARS)}, and not "
        "what was pinned, unpinned, edited or deleted down there since."
    )


def can_go_on(coverage: AnswerCoverage) -> bool:
    """Say whether there may be older messages that a question could go on to."""
    if coverage.markers is not None and coverage.markers.beginning:
        return False
    return coverage.oldest is not None and coverage.stopped is not None and not coverage.beginning


def looked_at(coverage: AnswerCoverage, before: int | None, instant: Callable[[int], str] = when) -> str:
    """Name the window: `the newest 100 messages`, `all 100 messages`, or `100 messages before` an instant."""
    if before is None:
        if coverage.beginning and coverage.rows != 1:
            return f"all {counted(coverage.rows, 'message')}"
        return f"the newest {counted(coverage.rows, 'message')}" if coverage.rows != 1 else "the newest message"
    return f"{counted(coverage.rows, 'message')} before {instant(before)}"


def _reach(coverage: AnswerCoverage, before: int | None, instant: Callable[[int], str]) -> str:
    if coverage.oldest is None:
        if coverage.stopped is not None:
            return f"I read nothing{_because(coverage.stopped, '; ')}."
        return "There is no message here to read." if before is None else "There is no older message to read."
    back, window = instant(coverage.oldest), looked_at(coverage, before, instant)
    if coverage.beginning:
        return f"I looked at {window}, back to the very first, {back}."
    if coverage.markers is not None:
        return f"I looked at {window}, back to {back}, and {_marked(coverage.markers, instant)}."
    if coverage.stopped is None:
        return f"I looked at {window}, back to {back}, as far as was asked."
    return f"I looked at {window}, back to {back}{_because(coverage.stopped, '; ')}."


def _marked(markers: MarkerReach, instant: Callable[[int], str]) -> str:
    """Say what was looked at below a walk: only what can be a marker, but every such message."""
    back = "to the very first message" if markers.beginning else f"to {instant(markers.oldest)}"
    return f"below that at all that hold a `!` ({markers.rows:,}), back {back}"


def stop_words(stopped: str | None) -> str:
    """Say why a walk ended before the beginning."""
    return _STOPPED.get(stopped or "", _STOPPED_UNKNOWN)


def _because(stopped: str, glue: str) -> str:
    return glue + stop_words(stopped)


def _left_out(places: tuple[LeftOut, ...], quote: Callable[[str, int], str]) -> str:
    named = [f"{quote(place.name, LEFT_OUT_CHARS)} ({quote(place.reason, LEFT_OUT_CHARS)})" for place in places]
    if len(named) > LEFT_OUT_NAMED:
        named[LEFT_OUT_NAMED:] = [f"{len(named) - LEFT_OUT_NAMED:,} more"]
    return f"Left out: {', '.join(named)}."
