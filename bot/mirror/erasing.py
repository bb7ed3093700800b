"""Erase from a mirror file, also while a bot has it open, so that nothing of the text is left in the files.

The bot sees that its file was written to, and claims no more than still stands there. What was erased is in no
table at once. It is in no other place of the files when they were rewritten, and nobody was reading them as they
had been before: `Erasure.clean` says whether that was so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import Refusal
from .database import MirrorDown
from .filling import BACKFILL_SHARD
from .readonly import open_read_only
from .store import Mirror
from .upkeep import Erased

CLEAN_TRIES: Final = 5  # each waits `BUSY_SECONDS` for whoever reads what is older


class EraseFailed(Refusal):
    """Say that nothing was erased, and why."""

    template = "Nothing was erased: the mirror {path} cannot be written to ({cause}). Try again."

    def __init__(self, path: Path, cause: BaseException | None) -> None:
        self.path = path
        self.cause = cause


class Erasure(NamedTuple):
    """Say what was erased, whether its text is gone from the files, and which broken files were set aside."""

    rows: int
    places: int
    clean: bool
    set_aside: tuple[Path, ...]


async def erase(path: Path, work: Callable[[Mirror], Awaitable[Erased]]) -> Erasure:
    """Do one of `upkeep`'s erasing to a mirror file, and rewrite it.

    Raises `EraseFailed`, `MirrorRefused` for a newer version, and `MirrorUnreadable`: a file that cannot be read
    is not set aside here, because what is to be erased would still be in it.
    """
    await asyncio.to_thread(lambda: open_read_only(path).close())
    mirror = Mirror(str(path), clock=time.monotonic, now=time.time, shard_of=lambda _: BACKFILL_SHARD)
    try:
        try:
            erased = await work(mirror)
        except MirrorDown as failure:
            raise EraseFailed(path, failure.__cause__) from failure
        clean = await _clean(mirror)
    finally:
        await mirror.close()
    return Erasure(*erased, clean, set_aside_files(path))


def set_aside_files(path: Path) -> tuple[Path, ...]:
    """Return the broken files that were set aside for a mirror; what was erased since may be in them."""
    return tuple(sorted(path.parent.glob(f"{path.name}.broken-*")))


async def _clean(mirror: Mirror) -> bool:
    """Rewrite the file and empty its journal; False where others kept that from being done."""
    with contextlib.suppress(MirrorDown):
        await mirror.database.rewrite()
        for _ in range(CLEAN_TRIES):
            if await mirror.database.checkpoint():
                return True
    return False
