"""Write what an agent's turn sees as text: the host's own words first, then frames of what the room wrote."""

from __future__ import annotations

import recall
from recall.quoting import quoted
from recall.text import collapse

from ..queries import AnswerCoverage, ContextAnswer
from .board_files import iso_instant
from .coverage import coverage_note

EMPTY = "Nothing was written here yet."


def context_text(answer: ContextAnswer, nonce: str) -> str:
    """Return briefing, reach, context and history, parted by blank lines, without one at the end.

    Whatever others wrote stands inside frames of `nonce`, but for names in the briefing, which are quoted.
    """
    session = answer.session
    messages = recall.frame_records("Messages", map(recall.row_record, session.history), nonce)
    frames = [frame for frame in (recall.frame_context(session.context, nonce), messages) if frame is not None]
    own = f"{session.briefing.system_text()}\n\n{reach_text(answer.coverage)}"
    return "\n\n".join((recall.without_nonce(nonce, own), *(frames or [EMPTY])))


def reach_text(coverage: AnswerCoverage, *, before: int | None = None) -> str:
    """Say how far an answer looked, to a model: instants in UTC, names quoted."""
    return coverage_note(coverage, before=before, instant=iso_instant, quote=_quoted)


def _quoted(text: str, chars: int) -> str:
    return quoted(collapse(text), chars)
