"""A terminal for tests that look at what a program sends to one."""

from __future__ import annotations

import pty

import pytest


def open_terminal() -> tuple[int, int]:
    """Return the two ends of a terminal, ours and the program's; skips where the system gives none out."""
    try:
        return pty.openpty()
    except OSError:
        pytest.skip("this system gives out no terminals (there is no /dev/pts)")
