"""The arguments of each tool: types, bounds and descriptions, from which both the schema and the check are made.

What a model gets wrong it has to be told in one sentence, so arguments are checked here and not by a client, which
may check nothing. Ids are strings, since a client may read a larger integer wrongly; integers are taken too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec

import recall

from ..errors import Refusal
from ..links import SNOWFLAKE_BOUND, read_link, read_snowflake
from ..questions import LABEL_CHARS
from ..turn_reading import TURN_ROWS

ROWS_SHOWN: Final = 100  # rows, hits or threads in one answer
BUDGET_CHARS: Final = 400_000  # of one context: about 100,000 tokens, and with its ids below 1 MiB
SUMMARIES_GIVEN: Final = 500
SUMMARY_CHARS: Final = 8_000
OFFSET: Final = 10_000
GIVEN_CHARS: Final = 200  # of an id, a link, a name or a time
TURN_ID_CHARS: Final = 64

_ID_FORM = "an ID (digits, as a string), or a link to the message"
_T = TypeVar("_T")


def _text(description: str, chars: int) -> msgspec.Meta:
    return msgspec.Meta(description=description, min_length=1, max_length=chars)


def _whole(description: str, least: int, most: int) -> msgspec.Meta:
    return msgspec.Meta(description=description, ge=least, le=most)


Given: TypeAlias = Annotated[str, msgspec.Meta(max_length=GIVEN_CHARS)] | Annotated[int, msgspec.Meta(ge=0)]
Channel: TypeAlias = Annotated[
    Given | None,
    msgspec.Meta(
        description="The channel or thread: its ID, a link into it, or its name. May be left out where only one "
        "channel is offered, or where a message is named by its link."
    ),
]
Viewer: TypeAlias = Annotated[
    Given | None,
    msgspec.Meta(
        description="Whose turn it is: the ID of the author under which you write in the channel. Rows of that author "
        "are your own. May be left out where the server is configured with one."
    ),
]
Window: TypeAlias = Annotated[
    Annotated[int, msgspec.Meta(ge=1, le=TURN_ROWS)] | None,
    msgspec.Meta(description="How many of the newest messages a turn reads; by default what is configured there."),
]
TurnId: TypeAlias = Annotated[str, _text("The turn, as `open_turn` named it.", TURN_ID_CHARS)]
Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_CHARS)]
Limit: TypeAlias = Annotated[int, _whole("How many to return at most.", 1, ROWS_SHOWN)]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Be the base of the arguments of every tool; one that is not known is refused."""


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """Ask for messages."""

    query: Annotated[
        str,
        _text(
            'What to look for: words in any order, a "phrase in quotes", or a /regular expression/ between slashes.',
            recall.SEARCH_PATTERN_CHARS,
        ),
    ]
    channel: Channel = None
    author: Annotated[Given | None, msgspec.Meta(description="Only messages of this author: an ID.")] = None
    before: Annotated[
        Given | None,
        msgspec.Meta(
            description="Only messages older than this: a message's ID, a date or time (2026-03-01T14:30+01:00), or a "
            "span back such as 3d. To go on from an answer that ended early, give its `coverage.oldest`."
        ),
    ] = None
    after: Annotated[
        Given | None, msgspec.Meta(description="Only messages as new as this; written as `before` is.")
    ] = None
    sort: Annotated[Literal["best", "newest"], msgspec.Meta(description="Best matches first, or the newest.")] = "best"
    loose: Annotated[
        bool, msgspec.Meta(description="Also take messages that have the letters in order with others between them.")
    ] = False
    limit: Limit = 10
    offset: Annotated[int, _whole("How many of the hits to pass over.", 0, OFFSET)] = 0


class PinsArguments(Arguments, frozen=True, kw_only=True):
    """Ask for a board."""

    channel: Channel = None
    label: Annotated[Label | None, msgspec.Meta(description="Only pins under this label; the # is optional.")] = None
    limit: Limit = 12
    offset: Annotated[int, _whole("How many of the pins to pass over.", 0, OFFSET)] = 0


class StandingsArguments(Arguments, frozen=True, kw_only=True):
    """Ask where each topic stands."""

    channel: Channel = None
    topic: Annotated[Label | None, msgspec.Meta(description="Only this topic; the # is optional.")] = None
    at: Annotated[
        Given | None,
        msgspec.Meta(description="As of this: a message's ID, a date or time, or a span back. Now by default."),
    ] = None


class ThreadsArguments(Arguments, frozen=True, kw_only=True):
    """Ask for the threads of a channel that are alive."""

    channel: Channel = None
    limit: Limit = recall.THREAD_INDEX_LIMIT


class ReadArguments(Arguments, frozen=True, kw_only=True):
    """Ask for the rows around a message."""

    message: Annotated[Given, msgspec.Meta(description=f"The message: {_ID_FORM}.")]
    channel: Channel = None
    around: Annotated[int, _whole("How many messages before it, and as many after it.", 0, ROWS_SHOWN // 2)] = 5


class ContextArguments(Arguments, frozen=True, kw_only=True):
    """Ask for what a turn starts from."""

    channel: Channel = None
    viewer: Viewer = None
    window: Window = None
    turn: Annotated[
        Annotated[str, msgspec.Meta(max_length=TURN_ID_CHARS)] | None,
        msgspec.Meta(description="An open turn whose marks the frames are to have; a prompt cache then still works."),
    ] = None


class OpenTurnArguments(Arguments, frozen=True, kw_only=True):
    """Open a turn."""

    channel: Channel = None
    viewer: Viewer = None
    request: Annotated[
        Given | None,
        msgspec.Meta(
            description=f"The message that the turn is to answer: {_ID_FORM}. Where it is not known what you have "
            "read, what you have not read begins with it; without it such a turn keeps nothing whole."
        ),
    ] = None
    window: Window = None
    since: Annotated[
        Given | None, msgspec.Meta(description=f"In place of `window`, where the turn reaches back to: {_ID_FORM}.")
    ] = None
    silent: Annotated[
        bool, msgspec.Meta(description="A turn that nobody is to hear, such as a heartbeat: it keeps nothing whole.")
    ] = False


class SummaryArgument(Arguments, frozen=True, kw_only=True):
    """Hold a summary of yours."""

    first: Annotated[Given, msgspec.Meta(description="The ID of the oldest message that it covers.")]
    last: Annotated[Given, msgspec.Meta(description="The ID of the newest message that it covers.")]
    text: Annotated[str, _text("What those messages said.", SUMMARY_CHARS)]


class CompileArguments(Arguments, frozen=True, kw_only=True):
    """Compile the context of a turn."""

    turn: TurnId
    budget: Annotated[int, _whole("Characters that the returned frame may have.", 1, BUDGET_CHARS)] = 20_000
    tail: Annotated[int, _whole("Characters of the newest messages that are never summed up.", 0, BUDGET_CHARS)] = 6_000
    summaries: Annotated[
        tuple[SummaryArgument, ...],
        msgspec.Meta(
            description="Summaries of yours that may stand in for stretches of old messages where the budget needs it.",
            max_length=SUMMARIES_GIVEN,
        ),
    ] = ()
    preview: Annotated[
        bool, msgspec.Meta(description="Only look: what is returned does not count as read, and nothing changes.")
    ] = False


class CloseTurnArguments(Arguments, frozen=True, kw_only=True):
    """Close a turn."""

    turn: TurnId


class BadArgument(Refusal):
    """Say which argument is wrong, and why; `problem` goes on from its name."""

    template = "The argument {name} {problem}."

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem


class UnknownArgument(Refusal):
    """Say that there is no such argument."""

    template = "There is no argument {name!r} here; there are {known}."

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = ", ".join(known) or "none"


_UNKNOWN = re.compile(r"^Object contains unknown field `(.*?)`", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(\w+)`")
_TYPES: Final = {
    "str": "text",
    "int": "an integer",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}


def read_arguments(kind: type[_T], given: Mapping[str, Any] | None) -> _T:
    """Return checked arguments. Raises `BadArgument` and `UnknownArgument`."""
    try:
        return msgspec.convert(dict(given or {}), kind)
    except msgspec.ValidationError as error:
        raise _refused(kind, str(error)) from None


def schema_of(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, an object at its root."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = root["$ref"].rpartition("/")[2]
    schema: dict[str, Any] = {**parts.pop(name)}
    for part in (schema, *parts.values()):
        for noise in ("title", "description"):
            part.pop(noise, None)
    return {**schema, "$defs": parts} if parts else schema


def given_id(value: Given, name: str) -> int:
    """Return the id that an argument holds: digits, or a link to a message. Raises `BadArgument`."""
    text = str(value).strip()
    link = read_link(text)
    number = read_snowflake(text.removeprefix("^")) if link is None else link.message_id
    if number is None or number >= SNOWFLAKE_BOUND:
        raise BadArgument(name, "is no ID of a message and no link to one")
    return number


def given_channel(channel: Given | None, *named: Given | None) -> str | None:
    """Return the channel that is asked for, else the one that a link to a message names."""
    if channel is not None:
        return str(channel)
    links = (read_link(str(value).strip()) for value in named if value is not None)
    return next((str(link.channel_id) for link in links if link is not None), None)


def author_of(value: Given, name: str) -> str:
    """Return the id of an author: digits, or a mention. Raises `BadArgument`."""
    text = str(value).strip()
    number = read_snowflake(text.removeprefix("<@").removeprefix("!").removesuffix(">"))
    if number is None:
        raise BadArgument(name, "is no ID of an author")
    return str(number)


def _refused(kind: type[Any], message: str) -> Refusal:
    known = tuple(field.name for field in msgspec.structs.fields(kind))
    if (unknown := _UNKNOWN.match(message)) is not None:
        return UnknownArgument(unknown[1], known if " - at" not in message else ("first", "last", "text"))
    problem, _, place = message.partition(" - at `")
    place = place.rstrip("`").removeprefix("$").removeprefix(".") or "object"
    if (missing := _MISSING.match(message)) is not None:
        inside = "" if place == "object" else f" of {place}"
        return BadArgument(f"{missing[1]}{inside}", "is missing")
    said = re.sub("`([^`]*)`", lambda found: _type_words(found[1]), problem)
    return BadArgument(place, f"is wrong: {said[0].lower()}{said[1:]}")


def _type_words(spelled: str) -> str:
    """Name a type, or a choice of types, to whoever has never seen Python."""
    return " or ".join(_TYPES.get(name, name) for name in spelled.split(" | "))
