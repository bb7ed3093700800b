"""Keep what is the host's own and cannot be read from any channel: switches, who is to be forgotten, read marks.

A handful of rows in one SQLite file beside the mirror, held in memory and written through; read marks alone are
read from the file each time, since the MCP server is another process. It holds no text of messages. A file that
cannot be read is no reason not to start: what the configuration switches on stays on, nobody's messages are stored
while it is not known whose may be, one log line says so, and the file is tried again until it can be read. A change
that cannot be saved is refused in a sentence. A file that is deleted under us is written anew with the next change.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiosqlite

import recall

from .errors import Refusal
from .links import SNOWFLAKE_BOUND

BUSY_SECONDS: Final = 2.0  # how long a statement waits for another process
OWNER_ONLY: Final = 0o600
STATE_RETRY_SECONDS: Final = 30.0  # a guess, as for the mirror: long enough not to hammer a file that is in use
IN_MEMORY: Final = ":memory:"

READ_MARKS_KEPT: Final = 10_000  # the longest unused go first; a viewer whose mark was lost is met anew

# What each version added, in order; a file of version n has had the first n of them. The files of the first version
# say that they are of version 0. Each is safe to run twice: two processes may open one old file at the same time.
_MIGRATIONS: Final = (
    """
    CREATE TABLE IF NOT EXISTS switches(
        place INTEGER PRIMARY KEY, guild INTEGER NOT NULL, is_on INTEGER NOT NULL, since INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS forgotten(author TEXT PRIMARY KEY, since INTEGER NOT NULL);
    """,
    """
    CREATE TABLE IF NOT EXISTS read_marks(
        viewer TEXT NOT NULL, conversation TEXT NOT NULL, branch TEXT NOT NULL, sequence INTEGER NOT NULL,
        moved_at INTEGER NOT NULL, PRIMARY KEY(viewer, conversation)
    ) WITHOUT ROWID;
    """,
)
STATE_VERSION: Final = len(_MIGRATIONS)

_SWITCH: Final = "INSERT OR REPLACE INTO switches(place, guild, is_on, since) VALUES (?, ?, ?, ?)"
_FORGET: Final = "INSERT OR IGNORE INTO forgotten(author, since) VALUES (?, ?)"
_MOVE_MARK: Final = """
    INSERT INTO read_marks(viewer, conversation, branch, sequence, moved_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET branch = excluded.branch, sequence = excluded.sequence, moved_at = excluded.moved_at
    WHERE branch <> excluded.branch OR sequence < excluded.sequence
"""
_DROP_MARKS: Final = """
    DELETE FROM read_marks WHERE (viewer, conversation) IN
    (SELECT viewer, conversation FROM read_marks ORDER BY moved_at DESC LIMIT -1 OFFSET ?)
"""

_log = logging.getLogger(__name__)


class NotSaved(Refusal):
    """Say that a change could not be written down, so it was not made."""

    template = "I could not write that down, so nothing has changed. Tell whoever runs this bot."


class State:
    """Hold the switches, the forgotten authors and the read marks. `now` gives seconds since 1970."""

    def __init__(self, path: str, *, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._switches: dict[int, tuple[int, bool]] = {}  # place: guild, on
        self._forgotten: set[str] = set()
        self._retry_at: float | None = None  # null unless the file could not be read
        self._marks: dict[tuple[str, str], recall.ReadMark] = {}  # of a state that is not on disk

    async def load(self) -> bool:
        """Read the file and change nothing of it; say whether it could be read, and once in the log where it cannot."""
        try:
            switches, forgotten = await self._read()
        except (sqlite3.Error, OSError) as error:
            if self._retry_at is None:
                _log.warning(
                    "the state file cannot be read (%s); until it can, channels are on as the configuration says "
                    "and no messages are stored",
                    error,
                )
            self._retry_at = self._now() + STATE_RETRY_SECONDS
            return False
        self._switches = {place: (guild, bool(is_on)) for place, guild, is_on in switches}
        self._forgotten = {author for (author,) in forgotten}
        if self._retry_at is not None:
            self._retry_at = None
            _log.info("the state file is in use again")
        return True

    async def recover(self) -> None:
        """Read a file that could not be read, once it is time to try again."""
        if self._retry_at is not None and self._now() >= self._retry_at:
            self._retry_at = self._now() + STATE_RETRY_SECONDS  # before it waits: others ask meanwhile
            await self.load()

    def switched(self, place_ids: Iterable[int]) -> bool | None:
        """Say whether a place was switched on or off, given nearest first; None where it never was."""
        return next((self._switches[place][1] for place in place_ids if place in self._switches), None)

    def is_forgotten(self, author_id: str) -> bool:
        """Say whether nothing of an author is to be stored; of nobody, while it is not known of whom."""
        return self._retry_at is not None or author_id in self._forgotten

    async def switch(self, place_id: int, guild_id: int, *, on: bool) -> None:
        """Switch a place on or off. Raises `NotSaved`."""
        await self._write((_SWITCH, (place_id, guild_id, on, int(self._now()))))
        self._switches[place_id] = (guild_id, on)

    async def forget_author(self, author_id: str) -> None:
        """Remember that nothing of an author is to be stored. Raises `NotSaved`."""
        await self._write(
            (_FORGET, (author_id, int(self._now()))),
            ("DELETE FROM read_marks WHERE viewer = ?", (author_id,)),
        )
        self._forgotten.add(author_id)
        self._marks = {key: mark for key, mark in self._marks.items() if key[0] != author_id}

    async def forget_guild(self, guild_id: int) -> None:
        """Forget the switches of a guild that the bot has left. Raises `NotSaved`."""
        await self._write(("DELETE FROM switches WHERE guild = ?", (guild_id,)))
        self._switches = {place: held for place, held in self._switches.items() if held[0] != guild_id}

    async def read_mark(self, view: recall.Viewpoint) -> recall.ReadMark | None:
        """Return how far a viewer has read a conversation; None where it was never kept, or cannot be read now."""
        if self._path == IN_MEMORY:
            return self._marks.get((view.viewer, view.conversation))
        statement = "SELECT branch, sequence FROM read_marks WHERE viewer = ? AND conversation = ?"
        try:
            async with self._file() as connection:
                found = await connection.execute_fetchall(statement, (view.viewer, view.conversation))
        except (sqlite3.Error, OSError) as error:
            _log.warning("read marks cannot be read (%s); whoever reads is met anew", error)
            return None
        return next((recall.ReadMark(branch, sequence) for branch, sequence in found), None)

    async def save_mark(self, view: recall.Viewpoint, mark: recall.ReadMark) -> None:
        """Keep how far a viewer has read a conversation, unless a later mark of the branch is kept. Raises `NotSaved`.

        One mark for each: that of another branch is replaced.
        """
        key = (view.viewer, view.conversation)
        if self._path == IN_MEMORY:
            self._marks[key] = recall.move_mark(self._marks.get(key), mark.branch, mark.sequence) or mark
            return
        await self._write(
            (_MOVE_MARK, (*key, mark.branch, min(mark.sequence, SNOWFLAKE_BOUND - 1), int(self._now()))),
            (_DROP_MARKS, (READ_MARKS_KEPT,)),
        )

    async def _write(self, *changes: tuple[str, tuple[object, ...]]) -> None:
        """Make all changes or none."""
        try:
            async with self._file() as connection:
                for statement, values in (*await self._lost(connection), *changes):
                    await connection.execute(statement, values)
                await connection.commit()
        except (sqlite3.Error, OSError) as error:
            _log.warning("the state file cannot be written (%s)", error)
            raise NotSaved from error
        if self._retry_at is not None:
            await self.load()

    async def _lost(self, connection: aiosqlite.Connection) -> list[tuple[str, tuple[object, ...]]]:
        """Return what writes down again all that is known here, for a file that was deleted under us."""
        kept = "SELECT EXISTS(SELECT 1 FROM switches) OR EXISTS(SELECT 1 FROM forgotten)"
        ((is_kept,),) = await connection.execute_fetchall(kept)
        if is_kept:
            return []
        since = int(self._now())
        switches = ((_SWITCH, (place, guild, is_on, since)) for place, (guild, is_on) in self._switches.items())
        return [*switches, *((_FORGET, (author_id, since)) for author_id in self._forgotten)]

    async def _read(self) -> tuple[Iterable[sqlite3.Row], Iterable[sqlite3.Row]]:
        """Return the switches and the forgotten of the file; nothing where there is none yet."""
        address = None if self._path == IN_MEMORY else _reading_address(Path(self._path))
        if address is None:
            return (), ()
        async with aiosqlite.connect(address, uri=True, timeout=BUSY_SECONDS) as connection:
            if not await connection.execute_fetchall("SELECT 1 FROM sqlite_master"):
                return (), ()  # whoever made it died before it held anything
            switches = await connection.execute_fetchall("SELECT place, guild, is_on FROM switches")
            return switches, await connection.execute_fetchall("SELECT author FROM forgotten")

    @asynccontextmanager
    async def _file(self) -> AsyncIterator[aiosqlite.Connection]:
        """Open the file for one use: changes are rare, and nothing has to be closed at the end."""
        if self._path != IN_MEMORY:
            path = Path(self._path)
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))  # before SQLite makes it by the umask
        async with aiosqlite.connect(self._path, timeout=BUSY_SECONDS) as connection:
            await _migrate(connection)
            yield connection


def _reading_address(path: Path) -> str | None:
    """Return how a file is opened that is not to be changed, also in a read-only folder; None where there is none."""
    return f"{path.absolute().as_uri()}?mode=ro" if path.exists() else None


async def _migrate(connection: aiosqlite.Connection) -> None:
    """Bring a file up to this version; one of a later version is read as it is, since versions only add."""
    ((version,),) = await connection.execute_fetchall("PRAGMA user_version")
    if version < STATE_VERSION:
        steps = "".join(_MIGRATIONS[version:])
        await connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {STATE_VERSION}; COMMIT;")
