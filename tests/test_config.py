from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall_bot.config import (
    OVERRIDABLE,
    Config,
    ConfigError,
    PinsConfig,
    Section,
    Settings,
    Snowflake,
    load_config,
    parse_config,
    read_token,
)

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"


def wrong(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, source="recall.toml")
    return caught.value


def keys(kind: type[Section]) -> dict[str, Any]:
    """Return every key of a section, tables as nested keys; the override tables have no keys of their own."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, Section):
            found[field.encode_name] = keys(field.type)
        elif field.name not in ("guild", "channel"):
            found[field.encode_name] = None
    return found


def written(table: dict[str, Any]) -> dict[str, Any]:
    return {key: written(value) if isinstance(value, dict) else None for key, value in table.items()}


def test_the_example_holds_every_key_and_no_other() -> None:
    assert written(tomllib.loads(EXAMPLE.read_text("utf-8"))) == keys(Config)


def test_the_example_changes_nothing() -> None:
    assert parse_config(EXAMPLE.read_text("utf-8")) == Config()


def test_every_key_of_the_example_has_a_reason_above_it() -> None:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    keys_with_the_line_above = [(above, line) for above, line in pairwise(lines) if " = " in line and line[0] != "#"]
    assert [line for above, line in keys_with_the_line_above if not above.startswith("#")] == []


def test_the_override_tables_of_the_example_are_read_once_uncommented() -> None:
    tail = EXAMPLE.read_text("utf-8").partition("# [guild.")[2]
    config = parse_config("\n".join(line.removeprefix("# ") for line in f"[guild.{tail}".splitlines()))
    assert config.settings(guild_id=111111111111111111).brevity.message_chars == 900
    assert config.settings(channel_ids=(222222222222222222,)).notices.mode == "reaction"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "x: unknown key"),
        ("[notices]\nmod = 'off'", "notices.mod: unknown key"),
        ("[notices]\nmode = 'loud'", "notices.mode: expected one of 'reply', 'reaction', 'off', got 'loud'"),
        ("[notices]\nsettle_seconds = '5'", "notices.settle_seconds: expected integer, got text"),
        ("[notices]\nsettle_seconds = 0", "notices.settle_seconds: expected integer >= 1"),
        ("[notices]\nsettle_seconds = true", "notices.settle_seconds: expected integer, got bool"),
        ("[lines]\nfor = 'us'", "lines.for: expected one of 'agents', 'everyone', 'off', got 'us'"),
        ("[lines]\nanswered = 'off'", "lines.answered: unknown key"),
        ("[pins]\nlimit = 251", "pins.limit: expected integer <= 250"),
        ("brevity = 600", "brevity: expected table, got integer"),
        ("[channels]\nenabled = 5", "channels.enabled: expected list, got integer"),
        ("acknowledge = true", "acknowledge: expected text, got bool"),
        ("[guild.12.pins]\nlimit = 0", "guild.12.pins.limit: expected integer >= 1"),
        (
            "[standings]\nvoters = 'us'",
            "standings.voters: expected one of 'everyone', 'agents', 'people', 'role', got 'us'",
        ),
        (
            "[guild.12.pin]\nlimit = 5",
            "guild.12.pin: unknown key; a guild may change brevity, lines, mirror, notices, pins, search, standings",
        ),
        ("[guild.home.pins]\nlimit = 5", "guild.home: expected the id of a guild after 'guild.'"),
        ("[channel]\n12 = 5", "channel.12: expected a table"),
        ("guild = []", "guild: expected a table"),
        ("[guild.12.pins]\n[guild.012.pins]", "guild.012: this id has a table already"),
        ("[channel.12.search]\nguild_walks = 9", "channel.12.search.guild_walks: this cannot be set for one channel"),
        ("[guild.12.search]\nexpressions = 'off'", "guild.12.search.expressions: this cannot be set for one guild"),
        ("token = 'secret'", "token: a token does not belong here; set DISCORD_TOKEN, or name a file in token_file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence_with_file_and_key(text: str, message: str) -> None:
    error = wrong(text)
    assert str(error) == f"recall.toml: {message}"


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "true", "'x'", "''", str(2**64), "'１２'", "'1_0'"])
def test_an_id_is_digits_of_a_snowflake(value: str) -> None:
    assert wrong(f"[channels]\nenabled = [7, {value}]").key == "channels.enabled[1]"


def test_ids_are_taken_as_integers_and_as_text() -> None:
    config = parse_config(f"[channels]\nenabled = ['{2**64 - 1}', 7]\n[guild.'9'.pins]\nlimit = 3")
    assert config.channels.enabled == {2**64 - 1, 7}
    assert config.settings(guild_id=9).pins.limit == 3


def test_text_that_is_no_toml_is_said_with_its_line() -> None:
    assert "line 2" in str(wrong("acknowledge = 'all'\n[[["))


def test_the_token_that_was_put_into_the_file_is_not_quoted() -> None:
    assert "secret" not in str(wrong("token = 'secret'"))


def test_the_nearest_table_wins_key_by_key() -> None:
    config = parse_config(
        """
        [brevity]
        message_chars = 500
        window = 10
        [guild.1.brevity]
        message_chars = 400
        [channel.2.brevity]
        message_chars = 300
        [channel.3.brevity]
        window = 20
        """
    )
    assert config.settings() == Settings(brevity=config.brevity)
    assert config.settings(guild_id=1).brevity.message_chars == 400
    assert config.settings(guild_id=1, channel_ids=(2,)).brevity.message_chars == 300
    thread = config.settings(guild_id=1, channel_ids=(3, 2)).brevity
    assert (thread.message_chars, thread.window) == (300, 20)
    assert config.settings(guild_id=8, channel_ids=(9,)).brevity == config.brevity


def test_lines_are_answered_for_whom_the_nearest_table_says() -> None:
    config = parse_config("[lines]\nfor = 'off'\n[guild.1.lines]\nfor = 'everyone'\n[channel.2.lines]\nfor = 'agents'")
    places: list[tuple[int, ...]] = [(), (2,)]
    assert [config.settings(guild_id=1, channel_ids=ids).lines.answered for ids in places] == ["everyone", "agents"]
    assert (config.settings().lines.answered, Config().lines.answered) == ("off", "agents")


def test_every_section_that_may_differ_may_do_so_by_guild_and_by_channel() -> None:
    parse_config("\n".join(f"[guild.1.{name}]" for name in OVERRIDABLE))
    parse_config("\n".join(f"[channel.1.{name}]" for name in OVERRIDABLE))


def test_a_thread_follows_its_channel() -> None:
    config = parse_config("[channels]\nenabled = [5]")
    assert config.is_enabled((6, 5))
    assert not config.is_enabled((6,))


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Config().acknowledge = "off"  # type: ignore[misc]


def test_the_named_file_comes_before_the_variable_and_that_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(None, {}) == Config()
    for name, limit in (("config.toml", 1), ("variable.toml", 2), ("named.toml", 3)):
        (tmp_path / name).write_text(f"[pins]\nlimit = {limit}")
    environ = {"RECALL_CONFIG": str(tmp_path / "variable.toml")}
    assert load_config(None, {}).pins == PinsConfig(limit=1)
    assert load_config(None, {"RECALL_CONFIG": ""}).pins == PinsConfig(limit=1)
    assert load_config(None, environ).pins == PinsConfig(limit=2)
    assert load_config(Path("named.toml"), environ).pins == PinsConfig(limit=3)


def test_a_file_that_was_named_must_be_there_and_be_readable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: there is no such file"):
        load_config(None, {"RECALL_CONFIG": str(tmp_path / "gone.toml")})
    with pytest.raises(ConfigError, match="the file cannot be read"):
        load_config(tmp_path, {})
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(ConfigError, match=r"latin\.toml: the file is not UTF-8"):
        load_config(tmp_path / "latin.toml", {})


def test_the_token_comes_from_the_variable_or_else_from_the_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "recall.toml").write_text("token_file = 'token'")
    (tmp_path / "token").write_text("from.the-file_\n")
    config = load_config(tmp_path / "recall.toml", {})
    assert read_token(config, {"DISCORD_TOKEN": " from.the.variable "}) == "from.the.variable"
    assert read_token(config, {"DISCORD_TOKEN": ""}) == "from.the-file_"


@pytest.mark.parametrize("content", [b"", b"two words", b"\xff\xfe", "töken".encode()])
def test_a_token_that_is_none_is_not_quoted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recall.toml").write_text("token_file = 'token'")
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_token(load_config(tmp_path / "recall.toml", {}), {})
    assert str(caught.value).startswith(str(tmp_path / "token"))
    assert "words" not in str(caught.value)


def test_no_token_at_all_says_where_to_put_one() -> None:
    with pytest.raises(ConfigError, match="there is no token; set DISCORD_TOKEN, or name a file in token_file"):
        read_token(Config(), {})


toml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["limit", "pins", "1", "x"]), inner),
    max_leaves=8,
)


@given(st.sampled_from([*sorted(keys(Config)), "guild", "channel", "other"]), toml_values)
def test_no_value_is_taken_that_is_not_checked(key: str, value: object) -> None:
    text = f"{key} = {_toml(value)}"
    try:
        config = parse_config(text)
    except ConfigError:
        return
    assert isinstance(config, Config)
    for place in (*config.guild, *config.channel):
        assert Snowflake.parse(place) == place
        config.settings(guild_id=place, channel_ids=(place,))


def _toml(value: object) -> str:
    """Write a value as TOML; null, which TOML has not, as an empty table."""
    match value:
        case None:
            return "{}"
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(f"\\U{ord(char):08x}" for char in value if not 0xD800 <= ord(char) < 0xE000) + '"'
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return repr(value)
