from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest
from discord import app_commands
from recall_bot.__main__ import app
from recall_bot.commands import COMMANDS
from recall_bot.config import Config

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def described(command: Any) -> set[str]:
    """Return the options that the README gives a slash command."""
    (row,) = re.findall(rf"^\| `/{command.name} ?([^`]*)`", README, re.MULTILINE)
    return set(re.findall(r"\w+", row))


def built() -> list[Any]:
    unused: Any = None
    return [build(unused) for build in COMMANDS]


def test_the_first_two_commands_do_all_the_setting_up() -> None:
    demo, tests = (block.strip() for block in blocks("sh")[:2])
    assert re.fullmatch(r"python3 -m venv \.venv && .* && \.venv/bin/recall-bot demo", demo)
    assert re.fullmatch(r"python3 -m venv \.venv && .* && \.venv/bin/pytest -q", tests)


def test_what_is_checked_for_merging_is_the_second_command_verbatim() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert lines[:2] == [block.strip() for block in blocks("sh")[:2]]
    assert "grep -m 2 '^python3 -m venv ' README.md | tail -n 1" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("example", blocks("python"))
def test_each_example_in_python_prints_what_it_says(example: str) -> None:
    shutil.copy(ROOT / "tests" / "data" / "smoke.json", "general.json")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    said = re.findall(r"print\(.*\)  # (.*)", example)
    assert printed.getvalue().splitlines() == said != []


@pytest.mark.parametrize("command", built(), ids=lambda command: command.name)
def test_every_slash_command_is_described_with_its_options(command: Any) -> None:
    if isinstance(command, app_commands.ContextMenu):
        assert re.search(rf"^\| \*{re.escape(command.name)}\*", README, re.MULTILINE)
    elif isinstance(command, app_commands.Group):
        told = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]*)`", row_of(command)))))
        assert {part.name for part in command.commands} <= told
    else:
        assert described(command) == {parameter.display_name for parameter in command.parameters}


def row_of(command: Any) -> str:
    (row,) = re.findall(rf"^\| `/{command.name}.*$", README, re.MULTILINE)
    return str(row)


def options_of(callback: Any) -> set[str]:
    """Return the options of a command, as they are written."""
    found: set[str] = set()
    for name, hint in typing.get_type_hints(callback, include_extras=True).items():
        declared = [
            spelled for about in typing.get_args(hint)[1:] for spelled in (about.default, *(about.param_decls or ()))
        ]
        given = [spelled for spelled in declared if isinstance(spelled, str) and spelled.startswith("--")]
        found |= set(given) or {f"--{name.replace('_', '-')}"}
    return found


def test_every_command_of_the_command_line_is_described() -> None:
    commands = {command.callback.__name__: command for command in app.registered_commands if command.callback}
    lines = [shlex.split(line) for block in blocks("sh")[2:] for line in block.splitlines()]
    used = {words[1] for words in lines if words[:1] == ["recall-bot"]}
    assert used | {"run", "demo"} >= commands.keys() >= used
    options = {option for command in commands.values() for option in options_of(command.callback)}
    assert {word for words in lines for word in words if word.startswith("--")} <= options


def test_every_package_is_named_with_a_reason() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    required = [*PROJECT["project"]["dependencies"], *extras["demo"], *extras["mcp"]]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in required}
    rows = re.findall(
        r"^\| ([\w., ]+?)(?: \([^)]*\))? \| .+ \|$", README.partition("## What it is made of")[2], re.MULTILINE
    )
    assert names <= {name.strip() for row in rows for name in row.split(",")}


def test_every_key_that_is_named_is_one() -> None:
    named = set(re.findall(r"`(\w+)\.(\w+)(?: = [^`]*)?`", README))
    sections = {name: getattr(Config(), name) for name in Config.__struct_fields__}
    keys = {
        (name, key) for name, section in sections.items() for key in getattr(section, "__struct_encode_fields__", ())
    }
    assert {pair for pair in named if pair[0] in sections and pair[1] != "sqlite"} <= keys
    assert ("mirror", "path") in named


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_every_link_into_the_project_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()
