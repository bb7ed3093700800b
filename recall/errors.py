"""Every way in which `recall` can fail, one class for each broken promise.

    RecallError
    ├── PageError                  a log broke the contract of its port; its author must act
    │   ├── PageTooLarge
    │   ├── EmptyPageCursor
    │   ├── DuplicateSequence
    │   ├── PageOutOfRange
    │   ├── PageNotDescending
    │   ├── CursorDidNotAdvance
    │   └── CursorAfterOldest
    ├── ReadError                  the host could not read; its cause is `__cause__`
    ├── WalkStopped                a port must stop early; the walk turns it into a partial result
    ├── PatternError               who typed the query must act
    │   ├── PatternTooLong
    │   ├── InvalidPattern
    │   ├── RegexUnsupported
    │   └── PatternTimeout
    ├── PolicyError                who configured the policy must act
    │   ├── ZeroQuorumThreshold
    │   ├── ZeroQuorumWindow
    │   └── ZeroRefutationCap
    ├── FrameError                 who frames, or reads a frame, must act
    │   ├── UnusableNonce
    │   ├── UnusableField
    │   └── BrokenFrame
    └── CompilationError           who asked for the context must act
        ├── SummaryRefused
        └── OverBudget

Errors carry fields, not formatted text; `str(error)` is one lower-case sentence made of them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

__all__ = [
    "BrokenFrame",
    "CompilationError",
    "CursorAfterOldest",
    "CursorDidNotAdvance",
    "DuplicateSequence",
    "EmptyPageCursor",
    "FrameError",
    "InvalidPattern",
    "OverBudget",
    "PageError",
    "PageNotDescending",
    "PageOutOfRange",
    "PageTooLarge",
    "PatternError",
    "PatternTimeout",
    "PatternTooLong",
    "PolicyError",
    "ReadError",
    "RecallError",
    "RegexUnsupported",
    "SummaryRefused",
    "UnusableField",
    "UnusableNonce",
    "WalkStopped",
    "ZeroQuorumThreshold",
    "ZeroQuorumWindow",
    "ZeroRefutationCap",
]


class RecallError(Exception):
    """Be the root of everything this library raises on purpose."""

    message: ClassVar[str] = "recall failed"

    def __str__(self) -> str:
        return self.message.format(**vars(self))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), vars(self).copy())


def _rebuild(kind: type[RecallError], fields: dict[str, object]) -> RecallError:
    """Make an error again from its fields (a worker process hands its own over by pickle)."""
    error = kind.__new__(kind)
    vars(error).update(fields)
    return error


class PageError(RecallError):
    """Say that a page of a log broke the contract of `SessionLog`."""


class PageTooLarge(PageError):
    """Say that a page held more rows than were asked for."""

    message = "a page of {actual} rows came where {requested} were asked for"

    def __init__(self, *, requested: int, actual: int) -> None:
        self.requested = requested
        self.actual = actual


class EmptyPageCursor(PageError):
    """Say that a page without rows named a next page."""

    message = "an empty page names {next_before} as the next cursor"

    def __init__(self, *, next_before: int) -> None:
        self.next_before = next_before


class DuplicateSequence(PageError):
    """Say that one sequence came twice in a walk."""

    message = "sequence {sequence} came twice in one walk"

    def __init__(self, *, sequence: int) -> None:
        self.sequence = sequence


class PageOutOfRange(PageError):
    """Say that a row is not older than the cursor of its page."""

    message = "sequence {sequence} is not before {before}"

    def __init__(self, *, sequence: int, before: int) -> None:
        self.sequence = sequence
        self.before = before


class PageNotDescending(PageError):
    """Say that a page is not ordered newest first."""

    message = "sequence {next} follows {previous} in a page that must descend"

    def __init__(self, *, previous: int, next: int) -> None:  # noqa: A002 - the field's name on the wire
        self.previous = previous
        self.next = next


class CursorDidNotAdvance(PageError):
    """Say that the cursor of the next page is not older than that of this one."""

    message = "the next cursor {next_before} is not before the cursor {before}"

    def __init__(self, *, before: int, next_before: int) -> None:
        self.before = before
        self.next_before = next_before


class CursorAfterOldest(PageError):
    """Say that the cursor of the next page would read rows of this page again."""

    message = "the next cursor {next_before} is after the oldest row {oldest}"

    def __init__(self, *, next_before: int, oldest: int) -> None:
        self.next_before = next_before
        self.oldest = oldest


class ReadError(RecallError):
    """Say that the host could not read its log; the host's exception is `__cause__`."""

    message = "the log could not be read"


class WalkStopped(RecallError):
    """Let a port end a walk early: what was read until then is the result, `reason` its coverage's."""

    message = "the walk was stopped: {reason}"

    def __init__(self, reason: str) -> None:
        self.reason = reason


class PatternError(RecallError):
    """Say that a query cannot be searched for as it was typed."""


class PatternTooLong(PatternError):
    """Say that a query has more characters than a pattern may have."""

    message = "the query has {chars} characters, {limit} are allowed"

    def __init__(self, *, chars: int, limit: int) -> None:
        self.chars = chars
        self.limit = limit


class InvalidPattern(PatternError):
    """Say that a regular expression does not compile, why, and where (a character index, if known)."""

    message = "the expression is invalid: {reason}"

    def __init__(self, *, reason: str, position: int | None) -> None:
        self.reason = reason
        self.position = position


class RegexUnsupported(PatternError):
    """Say that the host has switched regular expressions off."""

    message = "regular expressions are switched off here"


class PatternTimeout(PatternError):
    """Say that a regular expression ran out of its `time` or its `memory`."""

    message = "the expression ran out of {limit}"

    def __init__(self, limit: Literal["time", "memory"]) -> None:
        self.limit = limit


class PolicyError(RecallError):
    """Say that a quorum policy can never carry anything."""


class ZeroQuorumThreshold(PolicyError):
    """Say that a policy asks for no supporter."""

    message = "a quorum of zero supporters carries everything"


class ZeroQuorumWindow(PolicyError):
    """Say that a policy looks at no sequence."""

    message = "a window of zero sequences sees nothing"


class ZeroRefutationCap(PolicyError):
    """Say that a policy caps every topic from the start."""

    message = "a refutation cap of zero carries nothing"


class FrameError(RecallError):
    """Say that a frame around recalled text could not be made or read."""


class UnusableNonce(FrameError):
    """Say that a nonce is none that contents could be kept from forging (it is not repeated: it is a secret)."""

    message = "a nonce is {least} to {most} lower-case hexadecimal digits, not these {chars} characters"

    def __init__(self, *, chars: int, least: int, most: int) -> None:
        self.chars = chars
        self.least = least
        self.most = most


class UnusableField(FrameError):
    """Say that a record has a field whose name is no plain word, or has one twice."""

    message = "a record cannot have the field {name!r}"

    def __init__(self, *, name: str) -> None:
        self.name = name


class BrokenFrame(FrameError):
    """Say that a text is not as frames are written, and at which of its lines (the first is 1)."""

    message = "line {line} is not as a frame is written"

    def __init__(self, *, line: int) -> None:
        self.line = line


class CompilationError(RecallError):
    """Say that no context can be made as it was asked for."""


class SummaryRefused(CompilationError):
    """Say that a summary would hide rows: there is a hole in its own `range`, or in the `tail` after it."""

    message = "the summary of {first} to {last} has a hole in its {hole}"

    def __init__(self, *, first: int, last: int, hole: Literal["range", "tail"]) -> None:
        self.first = first
        self.last = last
        self.hole = hole


class OverBudget(CompilationError):
    """Say that a context does not fit, even with every summary that may stand in.

    All in units of the measure: `actual` is the least it comes to. Of that, `tail` are the newest rows,
    `pinned` the other rows that are pinned, `uncovered` the rows that no summary stands in for.
    """

    message = "the context comes to {actual}, {budget} are allowed"

    def __init__(self, *, budget: int, actual: int, pinned: int, tail: int, uncovered: int) -> None:
        self.budget = budget
        self.actual = actual
        self.pinned = pinned
        self.tail = tail
        self.uncovered = uncovered
