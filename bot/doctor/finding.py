"""One line of what the doctor says."""

from __future__ import annotations

from typing import Literal, TypeAlias

import recall

State: TypeAlias = Literal["ok", "note", "wrong"]


class Finding(recall.Value, frozen=True):
    """Say of one thing how it is, and what to do; a note may be as the operator wants it."""

    check: str
    state: State
    found: str
    advice: str | None = None


def ok(check: str, found: str) -> Finding:
    """Return that something is as it should be."""
    return Finding(check, "ok", found)


def note(check: str, found: str, advice: str | None = None) -> Finding:
    """Return that something is to be known."""
    return Finding(check, "note", found, advice)


def wrong(check: str, found: str, advice: str) -> Finding:
    """Return that something is wrong, and what to do."""
    return Finding(check, "wrong", found, advice)
