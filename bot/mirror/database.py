"""One SQLite connection that may fail at any time, and comes back by itself.

A full disk, a folder that turned read-only, a lock that another process holds, a file that somebody deleted:
none of these may fail a question, for the history is at Discord and this is a copy. So every use either
succeeds or raises `MirrorDown`; the first failure writes one log line; later uses fail at once, until
`MIRROR_RETRY_SECONDS` have passed and the file is opened anew. A file that turns out to be broken is set aside.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from .schema import MEMORY, MirrorRefused, connect, is_broken, set_aside

log = logging.getLogger(__name__)

MIRROR_RETRY_SECONDS = 30.0  # a guess: long enough not to hammer a full disk, short enough to go unnoticed


class MirrorDown(Exception):  # noqa: N818 - a state, not a fault of the caller
    """Say that the mirror cannot be used now; ask Discord instead."""


class Database:
    """Own the writing connection to a mirror file; `clock` counts seconds (`time.monotonic`).

    `generation` counts how often a file was opened: what was known of an earlier one is void. `webhooks`: the ids of
    authors that are webhooks, met by whoever makes rows; stored beside the rows, for whoever reads the file alone.
    """

    def __init__(self, path: str, *, clock: Callable[[], float]) -> None:
        self.path = path
        self._clock = clock
        self._lock = asyncio.Lock()
        self._connection: aiosqlite.Connection | None = None
        self._inode: int | None = None
        self._retry_at = float("-inf")
        self._failing = False
        self._closed = False
        self.generation = 0
        self.webhooks: set[str] = set()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[aiosqlite.Connection]:
        """Hold the connection, inside one transaction that is kept when the block ends well.

        Raises `MirrorDown` where the file cannot be used; nothing of the block is kept then.
        """
        async with self._lock:
            try:
                connection = await self._ready()
                try:
                    await connection.execute("BEGIN IMMEDIATE")
                    yield connection
                    await connection.commit()
                except BaseException:  # also cancelled while it began or committed: then SQLite does so all the same
                    with contextlib.suppress(sqlite3.Error, ValueError):
                        await connection.rollback()
                    raise
                if self._failing:
                    self._failing = False
                    log.info("the mirror is in use again")
            except (sqlite3.Error, OSError) as error:
                await self._lose(error)
                raise MirrorDown from error

    async def checkpoint(self) -> bool:
        """Write the log of changes back into the file and empty it, so that deleted text is not left in it.

        False where another process is reading what is older; a later one makes up for it.
        """
        async with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    ((busy, _, _),) = await self._connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
                    return not busy
        return False

    async def rewrite(self) -> None:
        """Write the whole file anew, without anything that is not in its tables; raises `MirrorDown`.

        `secure_delete` overwrites what is deleted where it stands. But when a page was split before, a copy of
        what moved to another page may be left behind in the space between its cells, and nothing looks there.
        """
        async with self._lock:
            try:
                connection = await self._ready()
                await connection.execute_fetchall("VACUUM")
            except (sqlite3.Error, OSError) as error:
                await self._lose(error)
                raise MirrorDown from error

    def size(self) -> int:
        """Return how many bytes the file holds, its journal included; 0 for one in memory."""
        if self.path == MEMORY:
            return 0
        found = (Path(self.path + suffix) for suffix in ("", "-wal"))
        return sum(path.stat().st_size for path in found if path.exists())

    async def close(self) -> None:
        """Close the file for good; idempotent."""
        self._closed = True
        async with self._lock:
            await self._drop()

    async def _ready(self) -> aiosqlite.Connection:
        if self._closed:
            raise MirrorDown
        if self._connection is not None:
            if self._same_file():
                return self._connection
            log.warning("the mirror's file was moved or deleted; a new one is begun")
            await self._drop()
        if self._clock() < self._retry_at:
            raise MirrorDown
        try:
            connection = await connect(self.path)
        except MirrorRefused as refused:
            if not self.generation:
                raise  # at the start, for whoever starts it; later there are questions to be answered
            raise OSError(str(refused)) from refused
        self._connection = connection
        self._inode = None if self.path == MEMORY else Path(self.path).stat().st_ino
        self.generation += 1
        return connection

    def _same_file(self) -> bool:
        if self.path == MEMORY:
            return True
        try:
            return Path(self.path).stat().st_ino == self._inode
        except OSError:
            return False

    async def _lose(self, error: Exception) -> None:
        await self._drop()
        self._retry_at = self._clock() + MIRROR_RETRY_SECONDS
        outlook = ""
        if self.path != MEMORY and is_broken(error):
            with contextlib.suppress(OSError):
                outlook = f" and was set aside as {set_aside(Path(self.path)).name}"
        if outlook or not self._failing:
            log.warning("the mirror cannot be used (%s)%s; questions are answered from Discord", error, outlook)
        self._failing = True

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error, OSError, ValueError):
                await connection.close()
