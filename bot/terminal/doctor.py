"""`recall-bot doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import recall

from ..links import read_snowflake
from .options import ConfigFile, Json
from .output import Exit, print_json, safe, standard_output
from .progress import ask

if TYPE_CHECKING:
    from ..doctor import Finding, State

WORDS: Final[dict[State, str]] = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}
STYLES: Final[dict[State, str]] = {"ok": "green", "note": "yellow", "wrong": "bold red"}


def doctor(
    *,
    guild: Annotated[str | None, typer.Option(metavar="ID", help="Also go through the channels of this guild.")] = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Look at everything the bot needs, and say what is wrong and what to do.

    Exit status: 0 nothing is wrong, 1 something is.
    """
    guild_id = None if guild is None else read_snowflake(guild.strip())
    if guild is not None and guild_id is None:
        raise typer.BadParameter(f"{guild!r} is no id.", param_hint="'--guild'")
    findings = ask(_look(config, guild_id, show=not as_json), "looking")
    if as_json:
        print_json({"findings": [recall.to_wire(finding) for finding in findings]})
    raise typer.Exit(Exit.NOTHING if any(finding.state == "wrong" for finding in findings) else Exit.FOUND)


async def _look(config: Path | None, guild_id: int | None, *, show: bool) -> list[Finding]:
    """Return everything that is found, each shown at once."""
    from ..doctor import diagnose  # noqa: PLC0415 - the reading commands start without discord.py

    out = standard_output()
    findings = []
    async for finding in diagnose(config, os.environ, guild_id=guild_id):
        findings.append(finding)
        if show:
            advice = "" if finding.advice is None else f" {safe(finding.advice)}"
            said = safe(finding.found).rstrip(".")
            out.row((WORDS[finding.state], STYLES[finding.state]), f" {safe(finding.check)}: {said}.", (advice, "dim"))
    return findings
