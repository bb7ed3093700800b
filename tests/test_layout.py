"""The rooms of this project: what may stand where, and who may import whom."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import recall

ROOT = Path(__file__).parent.parent
MODULE_LINES = 300

# A file of recall/ imports only files above it.
ORDER = (
    "errors",
    "records",
    "text",
    "quoting",
    "masking",
    "markers",
    "patterns",
    "tiers",
    "literals",
    "expressions",
    "ranking",
    "pickers",
    "log",
    "session",
    "threads",
    "search",
    "pins",
    "traces",
    "standings",
    "effects",
    "deliberation",
    "briefing",
    "framing",
    "compilation",
    "framed",
    "context_pins",
    "turns",
)

# Of the standard library: what opens nothing, waits for nothing, and knows neither the time nor chance.
PURE_LIBRARY = {
    "__future__",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "heapq",
    "itertools",
    "re",
    "types",
    "typing",
    "unicodedata",
}

# Names of `text` are said with their module: alone, `strip` or `words` would say nothing.
NOT_EXPORTED = {"text"}

# Each package of others has its rooms; a file that wants in must be added here on purpose.
ROOMS: dict[str, tuple[str, ...]] = {
    "aiohttp": ("bot/answering.py", "bot/doctor/remote.py", "bot/failures.py", "bot/host.py"),
    "aiosqlite": ("bot/mirror/*.py", "bot/state.py"),
    "discord": (
        "bot/__init__.py",
        "bot/access.py",
        "bot/acknowledge.py",
        "bot/answering.py",
        "bot/backfill.py",
        "bot/backfill_session.py",
        "bot/boards.py",
        "bot/bounds.py",
        "bot/cog.py",
        "bot/commands/*.py",
        "bot/completing.py",
        "bot/demo/*.py",
        "bot/desks.py",
        "bot/everywhere.py",
        "bot/doctor/remote.py",
        "bot/failures.py",
        "bot/finding.py",
        "bot/forms.py",
        "bot/gateway.py",
        "bot/history.py",
        "bot/host.py",
        "bot/lines/answerer.py",
        "bot/lines/answers.py",
        "bot/lines/watch.py",
        "bot/merging.py",
        "bot/mcp_server/discord_source.py",
        "bot/notices.py",
        "bot/pages.py",
        "bot/pin_powers.py",
        "bot/paging.py",
        "bot/places.py",
        "bot/posting.py",
        "bot/prewarm.py",
        "bot/readiness.py",
        "bot/registration.py",
        "bot/rendering/embeds.py",
        "bot/rest.py",
        "bot/roles.py",
        "bot/roots.py",
        "bot/showing.py",
        "bot/single_rows.py",
        "bot/rows.py",
        "bot/threads.py",
        "bot/unasked.py",
        "bot/unpinning.py",
        "bot/views.py",
        "bot/wiring.py",
    ),
    "mcp": ("bot/mcp_server/http.py", "bot/mcp_server/serving.py", "bot/mcp_server/stdio.py"),
    "mcp_types": ("bot/mcp_server/serving.py",),
    "msgspec": (
        "bot/commands/*.py",
        "bot/config.py",
        "bot/exports/reading.py",
        "bot/exports/records.py",
        "bot/matcher_process.py",
        "bot/matcher_worker.py",
        "bot/mcp_server/*.py",
        "bot/mirror/*.py",
        "bot/queries/*.py",
        "bot/questions.py",
        "bot/rendering/board_files.py",
        "bot/rendering/standings_files.py",
        "bot/sections.py",
        "bot/shown.py",
        "bot/terminal/output.py",
        "bot/unpinning.py",
        "recall/effects.py",
        "recall/records.py",
    ),
    "regex": (
        "bot/matcher_worker.py",
        "recall/expressions.py",
        "recall/literals.py",
        "recall/text.py",
        "recall/tiers.py",
    ),
    "rich": ("bot/terminal/*.py",),
    "simcord": ("bot/demo/*.py",),
    "uvicorn": ("bot/mcp_server/http.py",),
    "typer": ("bot/__main__.py", "bot/terminal/*.py"),
}

# What must work, and start fast, where nobody thinks of Discord.
FREE_OF_DISCORD = (
    "bot/contexts.py",
    "bot/exports/*.py",
    "bot/matcher*.py",
    "bot/mcp_server/[!d]*.py",  # but for what reads from Discord
    "bot/queries/*.py",
    "bot/terminal/*.py",
    "bot/turn_*.py",
    "bot/lines/asked.py",
    "bot/lines/bounds.py",
)


class Import(NamedTuple):
    """One import: the module as it is written (`.config`), its names, and whether it happens on loading."""

    module: str
    names: tuple[str, ...]
    at_once: bool

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    tree = tree_of(path)
    later = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        at_once = id(node) not in later
        if isinstance(node, ast.Import):
            found += [Import(alias.name, (), at_once) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.append(Import(module, tuple(alias.name for alias in node.names), at_once))
    return tuple(found)


def neighbours_of(path: Path) -> Iterator[Path]:
    """Yield the files of bot/ that loading one of them loads as well: its packages, and what it imports at once."""
    yield from (folder / "__init__.py" for folder in path.parents if folder.is_relative_to(ROOT / "bot"))
    for module, names, at_once in imports_of(path):
        if not at_once or not module.startswith("."):
            continue
        inner = module.lstrip(".")
        base = path.parents[len(module) - len(inner) - 1].joinpath(*filter(None, inner.split(".")))
        for place in (base, *(base / name for name in names)):
            yield from filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py"))


def loaded_by(path: Path) -> set[Path]:
    seen: set[Path] = set()
    todo = [path]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += neighbours_of(here)
    return seen


def public_names(path: Path) -> set[str]:
    """Return the functions and classes of a file that do not call themselves private."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree_of(path).body if isinstance(node, kinds) and not node.name.startswith("_")}


# The arrow


def test_the_order_of_recall_names_every_file_of_it() -> None:
    assert {path.stem for path in sources("recall")} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_file_of_recall_imports_only_files_above_it(name: str) -> None:
    above = {f"recall.{other}" for other in ORDER[: ORDER.index(name)]}

    ours = {found.module for found in imports_of(ROOT / f"recall/{name}.py") if found.package in {"recall", ""}}

    assert ours <= above


@pytest.mark.parametrize("path", sources("recall"), ids=name_of)
def test_recall_imports_nothing_that_reaches_outside(path: Path) -> None:
    theirs = {found.module for found in imports_of(path) if found.package != "recall"}

    assert theirs <= PURE_LIBRARY | {"msgspec", "regex"}


@pytest.mark.parametrize("path", sources("bot"), ids=name_of)
def test_bot_speaks_of_itself_in_relative_imports_and_of_recall_by_its_name(path: Path) -> None:
    packages = {found.package for found in imports_of(path)}

    assert not packages & {"bot", "recall_bot", "tests"}
    for module in (found.module for found in imports_of(path) if found.package == "recall"):
        assert module == "recall" or module.removeprefix("recall.") in ORDER


@pytest.mark.parametrize("path", sources("recall", "bot"), ids=name_of)
def test_packages_of_others_are_imported_in_their_own_rooms_only(path: Path) -> None:
    theirs = {found.package for found in imports_of(path)} - {"recall", ""} - sys.stdlib_module_names

    for package in theirs:
        assert any(fnmatch(name_of(path), room) for room in ROOMS.get(package, ())), f"{package} has no room here"


@pytest.mark.parametrize(("package", "room"), [(package, room) for package in ROOMS for room in ROOMS[package]])
def test_no_room_is_kept_for_a_package_that_is_not_in_it(package: str, room: str) -> None:
    inside = [path for path in sources("recall", "bot") if fnmatch(name_of(path), room)]

    assert package in {found.package for path in inside for found in imports_of(path)}


@pytest.mark.parametrize(
    "path",
    [path for path in sources("bot") if any(fnmatch(name_of(path), room) for room in FREE_OF_DISCORD)],
    ids=name_of,
)
def test_what_knows_nothing_of_discord_loads_nothing_that_does(path: Path) -> None:
    knowing = {
        name_of(loaded)
        for loaded in loaded_by(path)
        for found in imports_of(loaded)
        if found.package in {"discord", "aiohttp"} and found.at_once
    }

    assert knowing == set()


# Waiting


AWAITED = {"log": {"log.read_before"}, "turns": {"attempt"}}  # the port, and the compile that a host hands in


def test_only_the_walk_waits_for_a_log_and_only_a_turn_for_its_host() -> None:
    for path in sources("recall"):
        allowed = AWAITED.get(path.stem, {"walk_log", "read_thread_index"})
        awaited = {
            ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ast.unparse(node.value)
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Await)
        }
        assert awaited <= allowed, name_of(path)


def test_readers_are_thin() -> None:
    for path in sources("recall"):
        for node in ast.walk(tree_of(path)):
            assert not isinstance(node, ast.AsyncFor | ast.AsyncWith), name_of(path)
            if isinstance(node, ast.AsyncFunctionDef) and path.stem != "log":
                statements = sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) - 1
                assert statements <= 12, f"{name_of(path)}: {node.name}"


# Files


@pytest.mark.parametrize("path", sources("recall", "bot"), ids=name_of)
def test_a_file_is_short_enough_to_be_read_at_once(path: Path) -> None:
    lines = path.read_text("utf-8").count("\n")

    assert lines <= MODULE_LINES


@pytest.mark.parametrize("path", sources("recall", "bot", "tests"), ids=name_of)
def test_a_file_is_named_after_what_it_is_about(path: Path) -> None:
    assert path.stem not in {"util", "utils", "helper", "helpers", "common", "misc", "tools", "lib"}


def test_every_package_is_installed() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folders = {path.parent.relative_to(ROOT) for path in sources("recall", "bot") if path.name == "__init__.py"}

    packages = {".".join(("recall_bot" if part == "bot" else part) for part in folder.parts) for folder in folders}

    assert set(config["tool"]["setuptools"]["packages"]) == packages


def test_no_path_of_somebodys_machine_is_written_down() -> None:
    machine = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|Users|private|mnt)/[\w.-]+|\b[A-Z]:\\+Users\b")
    kinds = {".md", ".py", ".sh", ".toml", ".txt", ".yml", ".yaml", ""}
    files = [path for path in ROOT.glob("*") if path.is_file() and path.suffix in kinds]
    for folder in (".ci", "bot", "docs", "recall", "tests"):
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix in kinds]

    found = {name_of(path): match[0] for path in files if (match := machine.search(path.read_text("utf-8")))}

    assert found == {}


# Names


@pytest.mark.parametrize("name", ORDER)
def test_what_a_file_of_recall_lists_is_its_own_and_is_exported(name: str) -> None:
    module = importlib.import_module(f"recall.{name}")
    defined = {
        target.id if isinstance(target, ast.Name) else ""
        for node in tree_of(ROOT / f"recall/{name}.py").body
        for target in (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
    }

    listed = set(module.__all__)

    assert len(listed) == len(module.__all__)
    assert listed <= defined | public_names(ROOT / f"recall/{name}.py")
    if name not in NOT_EXPORTED:
        assert [public for public in listed if getattr(recall, public, None) is not getattr(module, public)] == []


@pytest.mark.parametrize("name", ORDER)
def test_what_a_file_of_recall_does_not_list_is_private_or_shared_with_its_neighbours(name: str) -> None:
    module = importlib.import_module(f"recall.{name}")
    shared = {
        imported
        for path in sources("recall")
        for found in imports_of(path)
        if found.module == f"recall.{name}"
        for imported in found.names
    }

    assert public_names(ROOT / f"recall/{name}.py") <= set(module.__all__) | shared


def test_no_name_is_exported_twice() -> None:
    listed = [public for name in ORDER for public in importlib.import_module(f"recall.{name}").__all__]

    assert len(listed) == len(set(listed))
