"""What can be looked at without Discord: the versions, expressions, the mirror file, the state file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import recall

from ..config import IN_MEMORY, Config
from ..errors import Refusal
from ..matcher import Matcher
from ..mirror.erasing import set_aside_files
from ..mirror.readonly import MirrorUnreadable, open_read_only
from .finding import Finding, note, ok, wrong

OLDEST_SQLITE: Final = (3, 38, 0)  # the first whose JSON functions are always there
ROOM_BYTES: Final = 256 * 2**20  # free on the disk, for the mirror to be rewritten
LOCKED_SECONDS: Final = 2.0  # as the bot waits for the state file
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
PACKAGES: Final = ("recall-bot", "discord.py", "regex", "msgspec", "aiosqlite")


async def look_at_machine(config: Config | None) -> AsyncIterator[Finding]:
    """Yield what is found on this machine; without a configuration, only the versions."""
    yield versions()
    if config is None:
        return
    yield await expressions(config)
    for finding in (*mirror(config), *state(config)):
        yield finding


def versions() -> Finding:
    """Say which versions are at work."""
    import platform  # noqa: PLC0415

    found = [f"Python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in PACKAGES)]
    said = ", ".join([*found, f"SQLite {sqlite3.sqlite_version}"])
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return wrong(
            "versions", said, f"SQLite {'.'.join(map(str, OLDEST_SQLITE))} or newer is needed: update the system."
        )
    return ok("versions", said)


async def expressions(config: Config) -> Finding:
    """Try a regular expression as the bot would."""
    setting = config.search.expressions
    if setting == "off":
        return note("expressions", 'search.expressions is "off": none is searched for')
    row = recall.LogMessage(1, None, None, recall.PersonAuthor("1", "doctor"), "aaa")
    query = recall.SearchQuery(recall.RegexPattern("a+"))
    try:
        async with Matcher(allow_unlimited=setting == "always") as matcher:
            await matcher.search((row,), query, asker="doctor")
    except recall.RegexUnsupported:
        advice = 'Set search.expressions to "off", or to "always" if you trust whoever may search.'
        return wrong("expressions", "this system cannot bound the memory of a process, so none is searched for", advice)
    except (recall.PatternError, Refusal) as error:
        return wrong(
            "expressions", f"the worker process fails ({error})", "Look whether processes may be started here."
        )
    return ok(
        "expressions",
        "run in a process of their own" + ("" if setting == "bounded" else ", without a bound if need be"),
    )


def mirror(config: Config) -> Iterator[Finding]:
    """Look at the mirror file: whether it can be read and written, whole, and by its owner only."""
    if not config.mirror.enabled or config.mirror.path == IN_MEMORY:
        why = "is in memory" if config.mirror.enabled else "is switched off"
        yield note("mirror", f"the mirror {why}: after a start, every question is read from Discord")
        return
    path = Path(config.mirror.path).absolute()
    folder = path.parent
    if not path.exists():
        if folder.is_dir() and os.access(folder, os.W_OK):
            yield ok("mirror", f"{path} begins with the first question")
        else:
            yield wrong("mirror", f"{path} cannot be made", "Make its folder, writable by whoever runs the bot.")
        return
    yield from _file(path)
    for aside in set_aside_files(path):
        yield note("mirror", f"{aside} is a broken mirror that was set aside", "Delete it: nothing needs it.")


def _file(path: Path) -> Iterator[Finding]:
    try:
        connection = open_read_only(path)
    except MirrorUnreadable as error:
        if _is_locked(error.problem):
            yield _locked("mirror", path)
            return
        advice = "Delete it: only time is lost. The bot would set it aside, and begin another."
        yield wrong("mirror", error.sentence, advice)
        return
    except Refusal as error:
        yield wrong("mirror", error.sentence, "Update Recall, or delete the file: only time is lost.")
        return
    try:
        ((health,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        ((places,),) = connection.execute("SELECT COUNT(*) FROM places").fetchall()
        ((rows,),) = connection.execute("SELECT COUNT(*) FROM rows").fetchall()
    except sqlite3.Error as error:
        if _is_locked(error):
            yield _locked("mirror", path)
            return
        health, version, places, rows = str(error), 0, 0, 0
    finally:
        connection.close()
    if health != "ok":
        yield wrong("mirror", f"{path} is damaged ({health})", "Stop the bot and delete the file: only time is lost.")
        return
    megabytes = path.stat().st_size / 2**20
    yield ok(
        "mirror",
        f"{path}: version {version}, {megabytes:,.1f} MiB, {rows:,} messages of {places:,} channels and threads",
    )
    if path.stat().st_mode & OTHERS:
        yield wrong("mirror", f"{path} can be read by others", f"chmod 600 {path}")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        yield wrong("mirror", f"{path} cannot be written to", "Give it and its folder to whoever runs the bot.")
    if shutil.disk_usage(path.parent).free < max(ROOM_BYTES, path.stat().st_size):
        advice = "Free some: without it the mirror stands still, and questions are read from Discord."
        yield wrong("mirror", "the disk is nearly full", advice)


def state(config: Config) -> Iterator[Finding]:
    """Look at the file that says what is switched on, and whose messages are not to be stored."""
    if config.state.path == IN_MEMORY:
        yield note(
            "state", "what is switched on is forgotten at the end", "Name a file in state.path, if that is not meant."
        )
        return
    path = Path(config.state.path).absolute()
    if not _is_writable(path):
        advice = "Give it and its folder to whoever runs the bot: until then no channel can be switched on or off."
        yield wrong("state", f"{path} cannot be written to", advice)
    if not path.exists():
        if _is_writable(path):
            yield ok("state", f"{path} begins with the first channel that is switched on")
        return
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=LOCKED_SECONDS)
        try:
            ((switched,),) = connection.execute("SELECT COUNT(*) FROM switches WHERE is_on").fetchall()
            ((forgotten,),) = connection.execute("SELECT COUNT(*) FROM forgotten").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if _is_locked(error):
            yield _locked("state", path)
            return
        advice = (
            "Restore it: until then nothing is stored in the mirror. If you delete it, channels are on as the "
            "configuration says, and nobody is forgotten."
        )
        yield wrong("state", f"{path} cannot be read ({error})", advice)
        return
    yield ok("state", f"{path}: {switched:,} switched on by command, {forgotten:,} authors not to be stored")


def _is_writable(path: Path) -> bool:
    """Say whether a file may be changed, or made with its folders."""
    there = next(each for each in (path, *path.parents) if each.exists())
    return all(os.access(each, os.W_OK) for each in {there, path.parent} if each.exists())


def _is_locked(problem: object) -> bool:
    """Say whether a file is in use elsewhere, which is no fault of the file."""
    code = getattr(problem, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _locked(check: str, path: Path) -> Finding:
    advice = f"Ask again. If it stays so, `fuser {path}` names the process that holds it. Do not delete it."
    return wrong(check, f"{path} is locked by another process", advice)
