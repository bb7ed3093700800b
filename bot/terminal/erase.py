"""`recall-bot erase`."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from ..config import IN_MEMORY
from ..errors import Refusal
from ..links import read_link, read_snowflake
from ..mirror import Mirror
from ..mirror.erasing import erase as erase_in
from ..mirror.upkeep import Erased, drop_all, drop_guild, drop_place, erase_author
from .configured import configuration
from .options import ConfigFile, Json
from .output import Exit, print_json, say, standard_output
from .progress import ask

NOT_CLEAN = (
    "it is erased, but not yet overwritten in the file: somebody reads the mirror, or the disk is full. "
    "Run this again to make sure."
)


class EraseWhat(Refusal):
    """Say that it was not said, or said twice, what is to be erased."""

    template = "Say what to erase, by one of --user ID, --guild ID, --channel ID and --all."


class NoMirror(Refusal):
    """Say that there is no file to erase from."""

    template = "There is no mirror file at {path}; nothing is stored there."

    def __init__(self, path: str) -> None:
        self.path = path


def erase(
    *,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="What this user, bot or webhook wrote, in every channel.")
    ] = None,
    guild: Annotated[str | None, typer.Option(metavar="ID", help="Everything of a guild.")] = None,
    channel: Annotated[str | None, typer.Option(metavar="ID", help="A channel with its threads, or a thread.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
    mirror: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The mirror; else the one that is configured.")
    ] = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Erase messages from the mirror, also while the bot runs; nothing is changed at Discord.

    Exit status: 0 erased, 1 nothing of it was stored, 2 could not.
    """
    if sum([user is not None, guild is not None, channel is not None, everything]) != 1:
        raise EraseWhat
    work = _work(user, guild, channel)
    path = str(mirror) if mirror is not None else configuration(config).mirror.path
    if path == IN_MEMORY or not Path(path).exists():
        raise NoMirror(path)
    found = ask(erase_in(Path(path), work), "erasing")
    if as_json:
        print_json({"messages": found.rows, "places": found.places, "clean": found.clean})
    elif found.rows or found.places:
        standard_output().row(
            f"Erased {_counted(found.rows, 'message')} of {_counted(found.places, 'channel or thread')}."
        )
    else:
        standard_output().row("Nothing of that is stored.")
    _tell_set_aside(found.set_aside, everything=everything)
    if not found.clean:
        say(NOT_CLEAN)
        raise typer.Exit(Exit.FAILED)
    raise typer.Exit(Exit.FOUND if found.rows or found.places else Exit.NOTHING)


def _work(user: str | None, guild: str | None, channel: str | None) -> Callable[[Mirror], Awaitable[Erased]]:
    """Return what is to be done."""
    if user is not None:
        return functools.partial(erase_author, author_id=str(_id(user, "'--user'")))
    if guild is not None:
        return functools.partial(drop_guild, guild_id=_id(guild, "'--guild'"))
    if channel is not None:
        return functools.partial(drop_place, place_id=_id(channel, "'--channel'"))
    return drop_all


def _id(text: str, option: str) -> int:
    """Return an id that was given as such, as a mention or as a link."""
    text = text.strip()
    link = read_link(text)
    number = link.channel_id if link is not None else read_snowflake(text.strip("<>").lstrip("@!#"))
    if number is None:
        raise typer.BadParameter(f"{text!r} is no id.", param_hint=option)
    return number


def _tell_set_aside(paths: tuple[Path, ...], *, everything: bool) -> None:
    """Deal with broken files that were set aside, in which the text may still be."""
    for path in paths:
        if everything:
            path.unlink(missing_ok=True)
            say(f"deleted {path}, a broken mirror that had been set aside")
        else:
            say(f"{path} is a broken mirror that was set aside, and may still hold it: delete it")


def _counted(count: int, noun: str) -> str:
    plural = "channels and threads" if noun == "channel or thread" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
