"""Tell an edit of a message's text from everything else that Discord reports as an edit.

A link's preview that arrives, a pin, a flag: all of them are message updates, with the text as it was. Neither
does the time of the last edit tell: a command's answer gets its text by an update that is no edit.
"""

from __future__ import annotations

from .forgetting import forget_oldest

TEXTS_REMEMBERED = 10_000  # messages whose text is known by its hash; never the text itself


class Texts:
    """Remember the texts of recent messages, as hashes."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def posted(self, message_id: int, text: str) -> None:
        """Take note of a new message."""
        self._known.pop(message_id, None)
        self._known[message_id] = hash(text)
        forget_oldest(self._known, TEXTS_REMEMBERED)

    def changed(self, message_id: int, text: str, *, edited: bool) -> bool:
        """Say whether an update changed the text, and take note of it.

        `edited`: whether Discord names a time of the last edit. Of a message not known here, that has to do.
        """
        known = self._known.get(message_id)
        if known == hash(text) or (known is None and not edited):
            return False
        self.posted(message_id, text)
        return True

    def forget(self, message_id: int) -> None:
        """Forget a message that is gone."""
        self._known.pop(message_id, None)
