"""The tables of the configuration file: every key with its type, its bounds and its default."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from .links import read_snowflake
from .queries import Voters

MESSAGE_CHARS_LIMIT: Final = 4_000  # the longest message Discord lets anybody send
DAY_SECONDS: Final = 86_400

Acknowledge: TypeAlias = Literal["off", "effect", "all"]
NoticeMode: TypeAlias = Literal["reply", "reaction", "off"]
Unpinners: TypeAlias = Literal["anyone", "pinner", "moderators"]
LineAskers: TypeAlias = Literal["agents", "everyone", "off"]
Expressions: TypeAlias = Literal["bounded", "always", "off"]


class Snowflake(int):
    """Be a Discord id: an unsigned 64-bit integer above zero."""

    @classmethod
    def parse(cls, value: object) -> Snowflake:
        """Read an id from an integer or a string of digits; anything else is a `ValueError`."""
        if isinstance(value, str | int) and not isinstance(value, bool):
            number = read_snowflake(str(value))
            if number is not None:
                return cls(number)
        raise ValueError("expected a Discord id (digits, as an integer or as text)")


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Be the base of every table of the file; unknown keys are refused."""


class ChannelsConfig(Section, frozen=True):
    """Name the channels in which Recall may act unasked (notices, reactions, answers); their threads follow."""

    enabled: frozenset[Snowflake] = frozenset()


class IdentityConfig(Section, frozen=True):
    """Name the user ids under which this bot has written before, so that its old lines are known as its own."""

    former_ids: frozenset[Snowflake] = frozenset()


class SyncConfig(Section, frozen=True):
    """Name the guilds that get the commands; empty: all of them, as global commands."""

    guilds: tuple[Snowflake, ...] = ()


class BrevityConfig(Section, frozen=True):
    """Hold the length that a message should keep to (characters) and the rows a turn is shown."""

    message_chars: Annotated[int, msgspec.Meta(ge=1, le=MESSAGE_CHARS_LIMIT)] = 600
    window: Annotated[int, msgspec.Meta(ge=1, le=2_048)] = 30


class NoticesConfig(Section, frozen=True):
    """Hold how a message over the budget is answered, after how long a silence and how often (seconds)."""

    mode: NoticeMode = "reply"
    settle_seconds: Annotated[int, msgspec.Meta(ge=1, le=600)] = 5
    cooldown_seconds: Annotated[int, msgspec.Meta(ge=0, le=DAY_SECONDS)] = 300


class LinesConfig(Section, frozen=True):
    """Hold whose question lines (`!search …`) are answered; its key is `for`."""

    answered: LineAskers = msgspec.field(default="agents", name="for")


class SearchConfig(Section, frozen=True):
    """Hold how far a search reads (rows) and how often one may be asked for."""

    scan: Annotated[int, msgspec.Meta(ge=1, le=20_000)] = 2_048
    cooldown_seconds: Annotated[int, msgspec.Meta(ge=0, le=3_600)] = 3
    guild_walks: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    expressions: Expressions = "bounded"


class MirrorConfig(Section, frozen=True):
    """Hold where a copy of what was read is kept, how much of it (messages and days for each place, 0: no bound)."""

    enabled: bool = True
    path: str = "mirror.sqlite"
    keep_messages: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 100_000
    keep_days: Annotated[int, msgspec.Meta(ge=0, le=3_650)] = 0
    never_store: frozenset[Snowflake] = frozenset()
    prewarm: tuple[Snowflake, ...] = ()


class McpConfig(Section, frozen=True):
    """Hold which channels the MCP server offers, whose rights bound that on Discord, and where HTTP's token stands.

    `identity`: the id of a user, whose turns are meant where nobody says whose; 0: nobody's.
    """

    channels: frozenset[Snowflake] = frozenset()
    identity: Annotated[int, msgspec.Meta(ge=0)] = 0
    token_file: str = ""


class StateConfig(Section, frozen=True):
    """Hold where the switches of channels are kept, and who is to be forgotten."""

    path: str = "state.sqlite"


class PinsConfig(Section, frozen=True):
    """Hold how many pins make the working set, and who may pin and unpin (0: no bound on the pins of one author)."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=250)] = 12
    unpin: Unpinners = "anyone"
    pin: frozenset[Snowflake] = frozenset()
    per_author: Annotated[int, msgspec.Meta(ge=0, le=250)] = 0
    thread_owner: bool = False

    @property
    def narrows(self) -> bool:
        """Say whether a pin or unpin of anybody may be refused."""
        return self.unpin != "anyone" or bool(self.pin) or self.per_author > 0


class StandingsConfig(Section, frozen=True):
    """Hold what carries a topic (supporters, window in messages, refuters; 0: no cap) and who votes."""

    threshold: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 2
    window: Annotated[int, msgspec.Meta(ge=1, le=20_000)] = 500
    require_grounded: bool = True
    refutation_cap: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0
    require_evidential: bool = False
    voters: Voters = "everyone"
    roles: frozenset[Snowflake] = frozenset()
    webhooks: frozenset[Snowflake] = frozenset()


class Settings(msgspec.Struct, frozen=True):
    """Hold the sections as they apply in one place, every override applied."""

    brevity: BrevityConfig = BrevityConfig()
    notices: NoticesConfig = NoticesConfig()
    search: SearchConfig = SearchConfig()
    pins: PinsConfig = PinsConfig()
    mirror: MirrorConfig = MirrorConfig()
    standings: StandingsConfig = StandingsConfig()
    lines: LinesConfig = LinesConfig()
