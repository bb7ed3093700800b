"""State what a message may cost the room: every long message pushes others out of the window that is read.

The budget is reported, never applied. Nobody's message is shortened.

    >>> BrevityPolicy(message_chars=5).overrun("too long")
    3
"""

from __future__ import annotations

from recall.records import Value
from recall.session import SESSION_WINDOW

__all__ = ["BREVITY_MESSAGE_CHARS", "BrevityPolicy"]

BREVITY_MESSAGE_CHARS = 600  # characters of a message: a paragraph or two; 30 of them are a few pages


class BrevityPolicy(Value, frozen=True):
    """Allow a message `message_chars` characters, where `window` rows are read at a time."""

    message_chars: int = BREVITY_MESSAGE_CHARS
    window: int = SESSION_WINDOW

    def overrun(self, content: str) -> int | None:
        """Return the characters (code points) by which a row's content exceeds the budget; null when it fits."""
        over = len(content) - self.message_chars
        return over if over > 0 else None
