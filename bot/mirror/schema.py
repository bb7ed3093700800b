"""The tables of the mirror, their versions, and what to do with a file that is none of ours.

A file of a newer version is refused, untouched. A file that SQLite cannot read is set aside under another
name, said so in the log, and a new one is begun: only time is lost. The file and what SQLite lays beside it
are readable by their owner only, and what is deleted is overwritten (`secure_delete`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import aiosqlite

from ..errors import Refusal

log = logging.getLogger(__name__)

MEMORY = ":memory:"
SCHEMA_VERSION = 2
BUSY_SECONDS = 2.0  # how long a statement waits for another process before it gives up
OWNER_ONLY = 0o600

# Columns stand in the order of their table's key: SQLite 3.40 finds fault with a whole file otherwise.
_TABLES = """
CREATE TABLE epochs(
    epoch INTEGER PRIMARY KEY, shard INTEGER NOT NULL, opened_at INTEGER NOT NULL, closed_at INTEGER
);
CREATE TABLE places(
    id INTEGER PRIMARY KEY, guild_id INTEGER NOT NULL, desk_id INTEGER NOT NULL, asked_at INTEGER NOT NULL,
    name TEXT NOT NULL, desk_name TEXT NOT NULL
);
CREATE INDEX places_of_guild ON places(guild_id);
CREATE INDEX places_of_desk ON places(desk_id);
CREATE TABLE spans(
    place INTEGER NOT NULL, epoch INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
    PRIMARY KEY(place, epoch, low)
) WITHOUT ROWID;
CREATE TABLE rows(
    place INTEGER NOT NULL, id INTEGER NOT NULL, author_id TEXT NOT NULL, epoch INTEGER NOT NULL,
    marker INTEGER NOT NULL, row BLOB NOT NULL,
    PRIMARY KEY(place, id)
) WITHOUT ROWID;
CREATE INDEX rows_with_marker ON rows(place, id) WHERE marker;
CREATE INDEX rows_of_author ON rows(author_id);
CREATE TABLE touched(id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
"""

_WEBHOOKS = """
CREATE TABLE webhooks(id TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_MIGRATIONS: dict[int, str] = {0: _TABLES, 1: _WEBHOOKS}
"""From which version, by which statements, to the next. A mirror can also be deleted: keep these few."""


class MirrorRefused(Refusal):
    """Say that a mirror file cannot be used, and what to do."""

    template = "The mirror {path} was written by a newer version of Recall ({found}, this one knows {known})."

    def __init__(self, path: str, found: int) -> None:
        self.path = path
        self.found = found
        self.known = SCHEMA_VERSION


async def connect(path: str) -> aiosqlite.Connection:
    """Open a mirror for writing, make or bring up its tables, and set a broken file aside.

    Raises `MirrorRefused` for a newer version, `sqlite3.Error` or `OSError` where there can be no file.
    """
    try:
        return await _open(path)
    except sqlite3.DatabaseError as error:
        if path == MEMORY or not is_broken(error):
            raise
        aside = set_aside(Path(path))
        log.warning("the mirror was not readable and was set aside as %s; a new one is begun", aside.name)
        return await _open(path)


def is_broken(error: Exception) -> bool:
    """Say whether an error means that a file holds no mirror, or a damaged one; not that it cannot be used now."""
    return type(error) is sqlite3.DatabaseError  # its subclasses have causes that pass, or are mistakes of ours


async def _open(path: str) -> aiosqlite.Connection:
    if path != MEMORY:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))  # before SQLite makes it by the umask
        Path(path).chmod(OWNER_ONLY)
    opening = aiosqlite.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    # A process that ends without closing us must end all the same: SQLite takes that as it takes a crash.
    opening._thread.daemon = True  # noqa: SLF001 - there is no other way to say so
    connection = await opening
    try:
        version = await _version(connection)
        _check_version(path, version)
        await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        await connection.execute_fetchall("PRAGMA synchronous = NORMAL")
        await connection.execute_fetchall("PRAGMA secure_delete = ON")
        while version < SCHEMA_VERSION:
            await connection.executescript(
                f"BEGIN IMMEDIATE;{_MIGRATIONS[version]}PRAGMA user_version = {version + 1};COMMIT;"
            )
            version += 1
    except BaseException:
        await connection.close()
        raise
    return connection


async def _version(connection: aiosqlite.Connection) -> int:
    ((version,),) = await connection.execute_fetchall("PRAGMA user_version")
    return int(version)


def _check_version(path: str, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise MirrorRefused(path, version)


def set_aside(path: Path) -> Path:
    """Move a broken file and its companions out of the way, in place of an older one; returns where it went."""
    for older in path.parent.glob(f"{path.name}.broken-*"):
        older.unlink(missing_ok=True)  # what was erased since is still in there
    aside = path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside
