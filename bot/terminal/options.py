"""The options that the reading commands share, and what they mean."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from ..errors import Refusal
from ..held import Holding
from ..links import SNOWFLAKE_DIGITS, read_snowflake
from ..shown import flatten_name
from ..times import Bound
from .output import say

Paths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Export files (JSON, by DiscordChatExporter), or folders of them; or the bot's mirror.", metavar="PATH"
    ),
]
In: TypeAlias = Annotated[
    str | None, typer.Option("--in", metavar="PLACE", help="A channel or thread: an ID, link, mention or name.")
]
SelfIds: TypeAlias = Annotated[
    list[str] | None, typer.Option("--self", metavar="ID", help="An author who was Recall itself; may be repeated.")
]
Scan: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Look at the newest N messages only.", show_default="all of them")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object; IDs are strings.")]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The configuration; else RECALL_CONFIG, else ./config.toml."),
]
Sort: TypeAlias = Literal["best", "newest"]
Show: TypeAlias = Literal["board", "history", "export"]


class AuthorUnknown(Refusal):
    """Say that a name is nobody's in these files, or of several authors; `ids` are theirs."""

    def __init__(self, asked: str, ids: tuple[str, ...]) -> None:
        super().__init__(asked, ids)
        self.asked = asked
        self.ids = ids

    @property
    def sentence(self) -> str:
        """What was asked for, and whose name it is."""
        if self.ids:
            return f"{self.asked!r} is the name of several authors: give the id of one of {', '.join(self.ids)}."
        return f"Nobody who wrote in these files is called {self.asked!r}: give the whole name, or an id."


def author_of(files: Holding, text: str) -> str:
    """Return the id of the author that a text means: an id, a mention, or a name that is exactly one author's.

    Raises `AuthorUnknown`.
    """
    text = text.strip()
    number = read_snowflake(text.removeprefix("<@").removeprefix("!").removesuffix(">"))
    if number is not None and (text.startswith("<@") or len(text) >= SNOWFLAKE_DIGITS):
        return str(number)
    name, known = flatten_name(text.removeprefix("@")), files.authors()
    found = {author_id for author_id, label in known if label == name}
    found = found or {author_id for author_id, label in known if label.lower() == name.lower()}
    if len(found) != 1:
        raise AuthorUnknown(text, tuple(sorted(found)))
    return found.pop()


def now() -> datetime:
    """Return the time from which spans such as `3d` reach back."""
    return datetime.now(UTC)


def say_assumed(*bounds: Bound | None) -> None:
    """Say that a time without an offset was read as UTC, where one was."""
    if any(bound is not None and bound.assumed_utc for bound in bounds):
        say("a time without an offset is read as UTC")
