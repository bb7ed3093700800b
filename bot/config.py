"""Read the operator's one TOML file into a frozen, typed value, or say in one sentence what is wrong with it.

Every key has a default, so no file is needed. What is written is checked at once and strictly: an unknown key,
a wrong type or a value out of range is a `ConfigError` that names the file and the key. `config.example.toml`
holds every key with its unit and its reason. Ids may be written as integers or as strings of digits.

    config = load_config(None, os.environ)     # RECALL_CONFIG, else ./config.toml, else the defaults
    config.settings(guild_id=1, channel_ids=(thread_id, channel_id)).brevity.message_chars

A table `[guild.ID.SECTION]` changes keys of a section in one guild, `[channel.ID.SECTION]` in one channel and
its threads; the nearest table wins, key by key: thread, channel, guild, file. The token is no part of this
value: it comes from `DISCORD_TOKEN`, or from the file that `token_file` names (`read_token`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, get_args

import msgspec

from .sections import (
    Acknowledge,
    BrevityConfig,
    ChannelsConfig,
    Expressions,
    IdentityConfig,
    LineAskers,
    LinesConfig,
    McpConfig,
    MirrorConfig,
    NoticesConfig,
    PinsConfig,
    SearchConfig,
    Section,
    Settings,
    Snowflake,
    StandingsConfig,
    StateConfig,
    SyncConfig,
)

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_PATH",
    "IN_MEMORY",
    "OVERRIDABLE",
    "TOKEN_VARIABLE",
    "Acknowledge",
    "BrevityConfig",
    "Change",
    "ChannelsConfig",
    "Config",
    "ConfigError",
    "Expressions",
    "IdentityConfig",
    "LineAskers",
    "LinesConfig",
    "McpConfig",
    "MirrorConfig",
    "NoticesConfig",
    "PinsConfig",
    "SearchConfig",
    "Section",
    "Settings",
    "Snowflake",
    "StandingsConfig",
    "StateConfig",
    "SyncConfig",
    "load_config",
    "parse_config",
    "read_token",
]

DEFAULT_PATH: Final = Path("config.toml")
CONFIG_VARIABLE: Final = "RECALL_CONFIG"
IN_MEMORY: Final = ":memory:"  # as `mirror.path`: nothing is written to disk
TOKEN_VARIABLE: Final = "DISCORD_TOKEN"  # noqa: S105 - the variable's name


class ConfigError(Exception):
    """Say what in the configuration is wrong: the file (or variable), the key's path, and the problem."""

    def __init__(self, source: str, key: str, problem: str) -> None:
        super().__init__(source, key, problem)
        self.source = source
        self.key = key
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.source}: {self.key}: {self.problem}" if self.key else f"{self.source}: {self.problem}"


Change: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What one override table changes: section, then key, then the checked value."""

OVERRIDABLE: Final[Mapping[str, frozenset[str]]] = {
    "brevity": frozenset(BrevityConfig.__struct_fields__),
    "notices": frozenset(NoticesConfig.__struct_fields__),
    "search": frozenset({"scan", "cooldown_seconds"}),  # the other keys are about this machine, not about a place
    "pins": frozenset(PinsConfig.__struct_fields__),
    "standings": frozenset(StandingsConfig.__struct_fields__),
    "lines": frozenset(LinesConfig.__struct_encode_fields__),
    "mirror": frozenset({"keep_messages", "keep_days"}),
}
"""What may differ from place to place: sections, and their keys."""


class Config(Section, frozen=True):
    """Hold the whole configuration. `guild` and `channel` are the override tables, by id."""

    token_file: str = ""
    acknowledge: Acknowledge = "effect"
    channels: ChannelsConfig = ChannelsConfig()
    identity: IdentityConfig = IdentityConfig()
    sync: SyncConfig = SyncConfig()
    brevity: BrevityConfig = BrevityConfig()
    notices: NoticesConfig = NoticesConfig()
    search: SearchConfig = SearchConfig()
    pins: PinsConfig = PinsConfig()
    standings: StandingsConfig = StandingsConfig()
    lines: LinesConfig = LinesConfig()
    mirror: MirrorConfig = MirrorConfig()
    state: StateConfig = StateConfig()
    mcp: McpConfig = McpConfig()
    guild: Mapping[int, Change] = msgspec.field(default_factory=dict)
    channel: Mapping[int, Change] = msgspec.field(default_factory=dict)

    def settings(self, *, guild_id: int | None = None, channel_ids: Iterable[int] = ()) -> Settings:
        """Return what applies in a place; `channel_ids` lists it nearest first: a thread, then its parent."""
        settings = Settings(self.brevity, self.notices, self.search, self.pins, self.mirror, self.standings, self.lines)
        changes = [self.channel.get(place) for place in channel_ids]
        changes.append(self.guild.get(guild_id) if guild_id is not None else None)
        for change in reversed(changes):
            for name, values in (change or {}).items():
                section = msgspec.structs.replace(getattr(settings, name), **values)
                settings = msgspec.structs.replace(settings, **{name: section})
        return settings

    def is_enabled(self, channel_ids: Iterable[int]) -> bool:
        """Say whether Recall may act unasked in a place, given as a thread and its parent, or a channel alone."""
        return any(place in self.channels.enabled for place in channel_ids)


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Return the configuration of `path`, else of `RECALL_CONFIG`, else of ./config.toml, else the defaults.

    A file that was named must be there. Raises `ConfigError`. A relative `token_file`, `mcp.token_file`,
    `mirror.path` or `state.path` is taken from the folder of the configuration.
    """
    named = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    source = named or DEFAULT_PATH
    try:
        text = source.read_bytes().decode("utf-8")
    except FileNotFoundError:
        if named is None:
            return Config()
        raise ConfigError(str(source), "", "there is no such file") from None
    except OSError as error:
        raise ConfigError(str(source), "", f"the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ConfigError(str(source), "", "the file is not UTF-8") from None
    config = parse_config(text, source=str(source))
    if config.token_file:
        config = msgspec.structs.replace(config, token_file=str(source.parent / config.token_file))
    if config.mcp.token_file:
        mcp = msgspec.structs.replace(config.mcp, token_file=str(source.parent / config.mcp.token_file))
        config = msgspec.structs.replace(config, mcp=mcp)
    if config.mirror.path != IN_MEMORY:
        mirror = msgspec.structs.replace(config.mirror, path=str(source.parent / config.mirror.path))
        config = msgspec.structs.replace(config, mirror=mirror)
    if config.state.path != IN_MEMORY:
        state = msgspec.structs.replace(config.state, path=str(source.parent / config.state.path))
        config = msgspec.structs.replace(config, state=state)
    return config


def parse_config(text: str, *, source: str = "config.toml") -> Config:
    """Return the configuration that a TOML text holds; `source` names it in a `ConfigError`."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source, "", f"this is not TOML: {error}") from None
    if "token" in raw:
        problem = f"a token does not belong here; set {TOKEN_VARIABLE}, or name a file in token_file"
        raise ConfigError(source, "token", problem)
    guild = _overrides(raw.pop("guild", {}), "guild", source)
    channel = _overrides(raw.pop("channel", {}), "channel", source)
    return msgspec.structs.replace(_convert(raw, Config, "", source), guild=guild, channel=channel)


def read_token(config: Config, environ: Mapping[str, str]) -> str:
    """Return the bot's token, from `DISCORD_TOKEN` or else from the token file.

    Raises `ConfigError`, which never quotes what was read.
    """
    token = environ.get(TOKEN_VARIABLE, "").strip()
    source = TOKEN_VARIABLE
    if not token and config.token_file:
        source = config.token_file
        try:
            token = Path(source).read_text("utf-8").strip()
        except FileNotFoundError:
            raise ConfigError(source, "", "there is no such file") from None
        except (OSError, UnicodeDecodeError):
            raise ConfigError(source, "", "the token file cannot be read as text") from None
    if not token:
        raise ConfigError(source, "", f"there is no token; set {TOKEN_VARIABLE}, or name a file in token_file")
    if len(token.split()) != 1 or not token.isascii():
        raise ConfigError(source, "", "this is no bot token: one is a single word of letters, digits, '.', '-' and '_'")
    return token


_T = TypeVar("_T")


def _overrides(raw: object, table: str, source: str) -> dict[int, Change]:
    """Check the tables `[guild.ID.SECTION]` or `[channel.ID.SECTION]` and keep what each of them changes."""
    found: dict[int, Change] = {}
    for text, sections in _table(raw, table, source).items():
        where = f"{table}.{text}"
        try:
            place = Snowflake.parse(text)
        except ValueError:
            raise ConfigError(source, where, f"expected the id of a {table} after '{table}.'") from None
        if place in found:
            raise ConfigError(source, where, "this id has a table already")
        change: dict[str, Mapping[str, Any]] = {}
        for name, values in _table(sections, where, source).items():
            if name not in OVERRIDABLE:
                problem = f"unknown key; a {table} may change {', '.join(sorted(OVERRIDABLE))}"
                raise ConfigError(source, f"{where}.{name}", problem)
            section: Section = _convert(values, type(getattr(Settings(), name)), f"{where}.{name}", source)
            for key in values:
                if key not in OVERRIDABLE[name]:
                    raise ConfigError(source, f"{where}.{name}.{key}", f"this cannot be set for one {table}")
            spelt = zip(section.__struct_encode_fields__, section.__struct_fields__, strict=True)
            change[name] = {field: getattr(section, field) for key, field in spelt if key in values}
        found[place] = change
    return found


def _table(raw: object, where: str, source: str) -> Mapping[str, Any]:
    if isinstance(raw, dict):
        return raw
    raise ConfigError(source, where, "expected a table")


def _read_custom(_kind: type, value: object) -> object:
    return Snowflake.parse(value)  # the only type here that msgspec does not know


_UNKNOWN_KEY = re.compile(r"^Object contains unknown field `(?P<key>.*)`$", re.DOTALL)
_BAD_CHOICE = "Invalid enum value "
_TOML_NAMES: Final = {"array": "list", "object": "table", "str": "text", "int": "integer", "float": "number"}


def _convert(raw: object, kind: type[_T], prefix: str, source: str) -> _T:
    """Make a checked value of a raw table; `prefix` is the table's own path."""
    try:
        return msgspec.convert(raw, kind, dec_hook=_read_custom)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).rstrip("`").partition(" - at `$.")
        path = [part for part in (prefix, place) if part]
        unknown = _UNKNOWN_KEY.match(str(error).partition(" - at `$")[0])
        if unknown is not None:
            path, problem = [*path, unknown["key"]], "unknown key"
        elif problem.startswith(_BAD_CHOICE):
            problem = f"expected one of {_choices(kind, place)}, got {problem.removeprefix(_BAD_CHOICE)}"
        else:
            problem = re.sub("`([a-z]+)`", lambda name: _TOML_NAMES.get(name[1], name[1]), problem)
        raise ConfigError(source, ".".join(path), problem[0].lower() + problem[1:]) from None


def _choices(kind: Any, place: str) -> str:
    """Return the values that the key at `place` may have."""
    for name in place.split("."):
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.encode_name == name)
    return ", ".join(repr(value) for value in get_args(kind))
