"""Keep what is the host's own and cannot be read from any channel: what is switched on, and who is to be forgotten.

A handful of rows in one SQLite file beside the mirror, held in memory and written through. It holds no text of
messages. A file that cannot be read is no reason not to start: what the configuration switches on stays on, one
log line says so, and a change that cannot be saved is refused in a sentence.
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

from .errors import Refusal

BUSY_SECONDS: Final = 2.0  # how long a statement waits for another process
OWNER_ONLY: Final = 0o600
IN_MEMORY: Final = ":memory:"

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS switches(
    place INTEGER PRIMARY KEY, guild INTEGER NOT NULL, is_on INTEGER NOT NULL, since INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS forgotten(author TEXT PRIMARY KEY, since INTEGER NOT NULL);
"""

_log = logging.getLogger(__name__)


class NotSaved(Refusal):
    """Say that a change could not be written down, so it was not made."""

    template = "I could not write that down, so nothing has changed. Tell whoever runs this bot."


class State:
    """Hold the switches and the forgotten authors. `now` gives seconds since 1970."""

    def __init__(self, path: str, *, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._switches: dict[int, tuple[int, bool]] = {}  # place: guild, on
        self._forgotten: set[str] = set()

    async def load(self) -> bool:
        """Read the file; where that fails, nothing is switched and one log line says so. Says whether it was read."""
        try:
            async with self._file() as connection:
                switches = await connection.execute_fetchall("SELECT place, guild, is_on FROM switches")
                forgotten = await connection.execute_fetchall("SELECT author FROM forgotten")
        except (sqlite3.Error, OSError) as error:
            _log.warning("the state file cannot be read (%s); channels are on as the configuration says", error)
            return False
        self._switches = {place: (guild, bool(is_on)) for place, guild, is_on in switches}
        self._forgotten = {author for (author,) in forgotten}
        return True

    def switched(self, place_ids: Iterable[int]) -> bool | None:
        """Say whether a place was switched on or off, given nearest first; None where it never was."""
        return next((self._switches[place][1] for place in place_ids if place in self._switches), None)

    def is_forgotten(self, author_id: str) -> bool:
        """Say whether nothing of an author is to be stored."""
        return author_id in self._forgotten

    async def switch(self, place_id: int, guild_id: int, *, on: bool) -> None:
        """Switch a place on or off. Raises `NotSaved`."""
        await self._write(
            "INSERT OR REPLACE INTO switches(place, guild, is_on, since) VALUES (?, ?, ?, ?)",
            (place_id, guild_id, on, int(self._now())),
        )
        self._switches[place_id] = (guild_id, on)

    async def forget_author(self, author_id: str) -> None:
        """Remember that nothing of an author is to be stored. Raises `NotSaved`."""
        await self._write("INSERT OR IGNORE INTO forgotten(author, since) VALUES (?, ?)", (author_id, int(self._now())))
        self._forgotten.add(author_id)

    async def forget_guild(self, guild_id: int) -> None:
        """Forget the switches of a guild that the bot has left. Raises `NotSaved`."""
        await self._write("DELETE FROM switches WHERE guild = ?", (guild_id,))
        self._switches = {place: held for place, held in self._switches.items() if held[0] != guild_id}

    async def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            async with self._file() as connection:
                await connection.execute(statement, values)
                await connection.commit()
        except (sqlite3.Error, OSError) as error:
            _log.warning("the state file cannot be written (%s)", error)
            raise NotSaved from error

    @asynccontextmanager
    async def _file(self) -> AsyncIterator[aiosqlite.Connection]:
        """Open the file for one use: changes are rare, and nothing has to be closed at the end."""
        if self._path != IN_MEMORY:
            path = Path(self._path)
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))  # before SQLite makes it by the umask
        async with aiosqlite.connect(self._path, timeout=BUSY_SECONDS) as connection:
            await connection.executescript(_TABLES)
            yield connection
