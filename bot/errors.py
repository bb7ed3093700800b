"""What a user is told when something cannot be done: one sentence each, and nothing of a traceback.

    Refusal                   has a `sentence`, written for whoever asked
    ├── Unavailable           the history could not be read, with a `kind`
    ├── PlaceNotFound         no such channel, or not for this asker: the same words
    ├── AuthorNotFound        no one author of that name
    └── Busy                  too much at once: wait, and ask again
        ├── CoolingDown       this member has just asked
        └── GuildBusy         this guild's questions are all being read

A `Refusal` carries fields and makes its sentence of them. `sentence_of` finds the sentence for whatever a
query may raise, so that every surface says the same.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import recall

UnavailableKind: TypeAlias = Literal["no_permission", "gone", "rate_limited", "discord_down"]

UNEXPECTED = "Something went wrong here and was logged. Try again in a moment."


class Refusal(Exception):  # noqa: N818 - what a user is told, often not an error
    """Say to whoever asked, in one sentence, why there is no answer and what to do."""

    template: ClassVar[str] = UNEXPECTED

    @property
    def sentence(self) -> str:
        """The sentence for the user; it holds no text of messages and no names that the asker did not type."""
        return self.template.format(**vars(self))

    def __str__(self) -> str:
        return self.sentence


class Unavailable(Refusal):
    """Say that Discord did not let us read, and which `kind` of reason it was."""

    sentences: ClassVar[dict[UnavailableKind, str]] = {
        "no_permission": (
            "I may not read the history of that channel: I need View Channel and Read Message History there."
        ),
        "gone": "That channel is gone, or nothing that I can find.",
        "rate_limited": "Discord asks me to slow down. Try again in a minute.",
        "discord_down": "Discord does not answer right now. Try again in a minute.",
    }

    def __init__(self, kind: UnavailableKind) -> None:
        self.kind = kind

    @property
    def sentence(self) -> str:
        """The sentence of its kind."""
        return self.sentences[self.kind]


class PlaceNotFound(Refusal):
    """Say that there is no such channel; also where there is one that the asker may not read."""

    template = "I find no channel or thread by that name that you can read."


class AuthorNotFound(Refusal):
    """Say that a name is nobody's, or more than one author's."""

    template = "That name is not exactly one author's I know here: give an id, a mention, or its whole name."


class Busy(Refusal):
    """Say that too much is asked at once; `seconds` is a guess at when to ask again."""

    template = "One question at a time, please: your last one is still being read."

    def __init__(self, seconds: int = 1) -> None:
        self.seconds = max(1, seconds)


class CoolingDown(Busy):
    """Say that a member has asked a moment ago."""

    template = "You have just asked a question: ask the next one in {seconds} s."


class GuildBusy(Busy):
    """Say that as many questions as may be are being read for this guild."""

    template = "Several questions are being read here already: ask again in a moment."


def sentence_of(error: BaseException) -> str:
    """Return the sentence a user is told about an error; `UNEXPECTED` for what nobody foresaw."""
    if isinstance(error, recall.ReadError) and error.__cause__ is not None:
        return sentence_of(error.__cause__)
    match error:
        case Refusal():
            return error.sentence
        case recall.InvalidPattern():
            where = "" if error.position is None else f", at character {error.position + 1}"
            return f"That expression is not valid: {error.reason}{where}."
        case recall.PatternTimeout(limit="memory"):
            return "I stopped that expression: it needs more memory than one search may take."
        case recall.PatternTimeout():
            return "I stopped that expression: it takes longer than one search may take."
        case recall.PatternTooLong():
            return f"A query has at most {error.limit} characters, this one has {error.chars}."
        case recall.RegexUnsupported():
            return "Regular expressions are switched off here. Put the query in quotes to search for it as text."
        case recall.OverBudget():
            return (
                f"The context comes to {error.actual:,} characters at least, and {error.budget:,} are allowed: "
                f"{error.tail:,} are its tail, {error.pinned:,} stay whole before that, {error.uncovered:,} have no "
                "summary. Allow more, ask for a shorter tail, or give summaries."
            )
        case recall.SummaryRefused():
            hole = "of what it covers" if error.hole == "range" else "of what comes after it"
            return f"The summary of {error.first} to {error.last} cannot stand in: not all {hole} is here."
        case recall.PageError():
            return "The history came back out of order, so I show nothing of it. Try again in a moment."
    return UNEXPECTED
