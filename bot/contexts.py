"""Hand out what an agent's turn sees, framed: for its operator to look at, and for a host in the same process.

    document = await context_document(desk, ContextRequest(viewer), nonce=fresh_nonce())
    document.text        # for a model: briefing, threads, pins, notes and messages, each in its frame
    document.line        # for people: what that is, in one line without a word of others

A desk comes from `Desks.open` for a member of a Discord server, or from the files of an export or a mirror; whoever
opened it was asked what they may read, and is asked again when the rows are shown.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from .queries import ContextAnswer, ContextRequest, OpenDesk
from .queries import context as fold_context
from .rendering.cards import counted
from .rendering.contexts import context_text

NONCE_BYTES: Final = 16  # twice what a frame asks for: nobody guesses it within a turn


def fresh_nonce() -> str:
    """Draw the nonce of a turn. It is told to nobody but the model."""
    return secrets.token_hex(NONCE_BYTES)


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """Hold a context as it is put before a model, what it was made of, and the name of its file."""

    answer: ContextAnswer
    text: str
    file_name: str

    @property
    def line(self) -> str:
        """Say in one line what it holds; nothing of it is anybody's text."""
        context, history = self.answer.session.context, self.answer.session.history
        parts = (
            counted(len(history), "message"),
            counted(len(context.pins), "pin"),
            counted(len(context.threads), "thread"),
        )
        return f"What an agent's turn sees here: {', '.join(parts)}; {counted(len(self.text), 'character')} in all."


async def context_document(desk: OpenDesk, request: ContextRequest, *, nonce: str) -> ContextDocument:
    """Read a desk once and write what a turn there sees. Raises what `queries.context` does."""
    answer = await fold_context(desk, request)
    where = answer.session.briefing.desk
    return ContextDocument(answer, context_text(answer, nonce), f"context-{where.thread_root or where.desk_id}.txt")
