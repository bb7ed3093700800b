"""What a tool gives back: frames of what others wrote as text, and beside it ids, kinds, scores and coverage.

A client may show its model the text, or the fields, or both. So the fields hold the frames as well, under `text`,
unless they are long; nothing else in them is anybody's word or name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

import recall

from ..queries import AnswerCoverage, LeftOut
from ..rendering.contexts import reach_text

UNNAMED: Final = "archived threads"  # what is left out and has no id
REPEATED_CHARS: Final = 100_000  # of a text that stands among the fields as well; some clients take 1 MiB at once
NOT_REPEATED: Final = "This is too long to be said twice: read it in the content of this answer."


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """Hold what is shown to a model, and the fields for a program."""

    text: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def repeated(self) -> str:
        """The text as it stands among the fields."""
        return self.text if len(self.text) <= REPEATED_CHARS else NOT_REPEATED


def answer(*parts: str | None, **fields: Any) -> ToolAnswer:
    """Return an answer of these texts, parted by blank lines; nulls are left out."""
    return ToolAnswer("\n\n".join(part for part in parts if part), fields)


def ids(sequences: Any) -> list[str]:
    """Return ids as strings."""
    return [str(sequence) for sequence in sequences]


def id_of(sequence: int | None) -> str | None:
    """Return an id as a string, null for none."""
    return None if sequence is None else str(sequence)


def reach(coverage: AnswerCoverage, *, before: int | None = None) -> str:
    """Say how far an answer looked, without a name of what was left out."""
    return reach_text(_nameless(coverage), before=before)


def coverage_fields(coverage: AnswerCoverage) -> dict[str, Any]:
    """Return how far an answer looked; what was left out by its id alone."""
    wire = recall.to_wire(coverage, string_ids=True)
    wire["left_out"] = [{"id": left["id"], "reason": left["reason"]} for left in wire["left_out"]]
    return wire


def row_fields(row: recall.LogMessage) -> dict[str, Any]:
    """Return the ids of a row and of who wrote it."""
    return {
        "id": str(row.sequence),
        "channel": row.chat_id,
        "thread": id_of(row.parent),
        "author": recall.author_id(row.author),
        "author_kind": recall.author_kind(row.author),
    }


def _nameless(coverage: AnswerCoverage) -> AnswerCoverage:
    left = tuple(LeftOut(place.id, place.id or UNNAMED, place.reason) for place in coverage.left_out)
    return msgspec.structs.replace(coverage, left_out=left)
