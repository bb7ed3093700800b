"""`recall-bot erase`: take what an author wrote, a channel, a server or everything out of the mirror file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..config import IN_MEMORY, ConfigError, load_config
from ..errors import Refusal
from ..mirror import Mirror
from ..mirror.erasing import Erasure
from ..mirror.erasing import erase as erase_from
from ..mirror.upkeep import Erased, drop_all, drop_guild, drop_place, erase_author
from .output import Exit, fail, say, standard_output


class EraseWhat(Refusal):
    """Say that it was not said, or said twice, what is to be erased."""

    template = "Say what to erase, by one of --user ID, --channel ID, --guild ID and --all."


class NoMirror(Refusal):
    """Say that there is no file to erase from."""

    template = "There is no mirror file at {path}; nothing is stored there."

    def __init__(self, path: str) -> None:
        self.path = path


def erase(
    *,
    user: Annotated[int | None, typer.Option(metavar="ID", min=1, help="What a user, bot or webhook wrote.")] = None,
    channel: Annotated[int | None, typer.Option(metavar="ID", min=1, help="A channel with its threads.")] = None,
    guild: Annotated[int | None, typer.Option(metavar="ID", min=1, help="A whole server.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
    mirror: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The mirror file; else the configured one.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The configuration; else RECALL_CONFIG, else ./config.toml.")
    ] = None,
) -> None:
    """Erase from the mirror file, also while the bot runs; the channels at Discord stay as they are."""
    work = _work(user, channel, guild, everything=everything)
    path = str(mirror) if mirror is not None else _configured(config)
    if path == IN_MEMORY or not Path(path).is_file():
        raise NoMirror(path)
    erased = asyncio.run(erase_from(Path(path), work))
    _tell(erased)
    raise typer.Exit(Exit.FOUND if erased.rows or erased.places else Exit.NOTHING)


def _configured(config: Path | None) -> str:
    """Return the path of the mirror that the configuration names; ends with one line where that cannot be read."""
    try:
        return load_config(config, os.environ).mirror.path
    except ConfigError as error:
        fail(str(error))


def _work(
    user: int | None, channel: int | None, guild: int | None, *, everything: bool
) -> Callable[[Mirror], Awaitable[Erased]]:
    """Return what is to be done. Raises `EraseWhat` unless it is exactly one thing."""
    wanted: list[Callable[[Mirror], Awaitable[Erased]]] = []
    if user is not None:
        wanted.append(partial(erase_author, author_id=str(user)))
    if channel is not None:
        wanted.append(partial(drop_place, place_id=channel))
    if guild is not None:
        wanted.append(partial(drop_guild, guild_id=guild))
    if everything:
        wanted.append(drop_all)
    if len(wanted) != 1:
        raise EraseWhat
    return wanted[0]


def _tell(erased: Erasure) -> None:
    messages = "message" if erased.rows == 1 else "messages"
    places = "channel or thread" if erased.places == 1 else "channels and threads"
    standard_output().row(f"Erased {erased.rows:,} {messages} of {erased.places:,} {places}.")
    if not erased.clean:
        say("the file is in use: what was erased may still be in its free pages; run this again to overwrite it")
    for path in erased.set_aside:
        say(f"{path} is a broken mirror that was set aside, and may hold what was erased: delete it")
