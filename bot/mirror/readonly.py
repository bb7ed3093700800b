"""Open a mirror file to look at it and nothing else, also while a bot writes it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from ..errors import Refusal
from .schema import BUSY_SECONDS, SCHEMA_VERSION, MirrorRefused

SQLITE_MAGIC: Final = b"SQLite format 3\x00"  # what every SQLite file begins with
TABLES: Final = frozenset({"epochs", "places", "spans", "rows"})


class MirrorUnreadable(Refusal):
    """Say that a file cannot be read as a mirror, and why."""

    template = "{path} cannot be read as a mirror: {problem}."

    def __init__(self, path: Path, problem: object) -> None:
        self.path = path
        self.problem = problem


def looks_like_mirror(path: Path) -> bool:
    """Say whether a path is an SQLite file. Raises `OSError` where it cannot be read."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that changes nothing, with a transaction begun: it sees the file as of the first read.

    Raises `MirrorRefused` for a file of a newer version, `MirrorUnreadable` for one that is no mirror.
    """
    if not path.is_file():
        raise MirrorUnreadable(path, "there is no such file")
    try:
        return _open(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if path.with_name(path.name + "-wal").exists():
            raise MirrorUnreadable(path, error) from error
    except sqlite3.DatabaseError as error:
        raise MirrorUnreadable(path, error) from error
    try:  # in a folder that cannot be written to, SQLite cannot make what it shares with writers; there are none
        return _open(path, "immutable=1")
    except sqlite3.DatabaseError as error:
        raise MirrorUnreadable(path, error) from error


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    with contextlib.ExitStack() as stack:
        stack.callback(connection.close)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if version > SCHEMA_VERSION:
            raise MirrorRefused(str(path), version)
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if not names >= TABLES:
            raise MirrorUnreadable(path, "it holds something else")
        stack.pop_all()
    return connection
