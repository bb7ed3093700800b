"""The command line as a process that speaks to a Discord on loopback, beside whatever the test does meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SECONDS = 60  # far more than anything here takes
PROGRAM = """
import sys, discord
from recall_bot.mirror import schema
discord.http.Route.BASE = sys.argv.pop(1)
schema.BUSY_SECONDS = 0.1  # what waits for others gives up soon
from recall_bot.__main__ import main
main()
"""


class Ended(NamedTuple):
    """How a command ended: its status, and what it wrote."""

    status: int
    out: str
    err: str


@dataclass
class Running:
    """A command that was started."""

    process: asyncio.subprocess.Process

    async def ended(self) -> Ended:
        async with asyncio.timeout(SECONDS):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Ended(self.process.returncode, out.decode(), err.decode())

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)


async def start(url: str, *arguments: object, folder: Path, token: str = "made.up.token") -> Running:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, url, *map(str, arguments)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "DISCORD_TOKEN": token},
    )
    return Running(process)


async def run(url: str, *arguments: object, folder: Path, token: str = "made.up.token") -> Ended:
    return await (await start(url, *arguments, folder=folder, token=token)).ended()
