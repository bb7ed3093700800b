"""`recall-bot mcp [PATH…]`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..config import IN_MEMORY, Config
from ..errors import Refusal
from ..links import read_snowflake
from ..mirror.file import MirrorFile
from ..state import State
from .configured import configuration, token
from .files import read_files
from .options import ConfigFile, SelfIds
from .output import Exit, say

if TYPE_CHECKING:
    from ..mcp_server.sources import Source

PORT: Final = 8_377  # no service that is known uses it


class NoMcp(Refusal):
    """Say that what the command needs is not installed."""

    template = "This needs the MCP SDK, which is not installed: pip install 'recall-bot[mcp]'."


class NoMirrorToServe(Refusal):
    """Say that there is nothing to read."""

    template = (
        'There is no mirror to serve: mirror.enabled is off, or mirror.path is ":memory:". Name files, or give '
        "--discord."
    )


def mcp(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]",
            help="Export files or folders of them, or a mirror; by default the mirror that is configured.",
        ),
    ] = None,
    *,
    channels: Annotated[
        list[str] | None,
        typer.Option("--channel", metavar="ID", help="A channel to offer beside mcp.channels; may be repeated."),
    ] = None,
    discord: Annotated[
        bool, typer.Option("--discord", help="Read from Discord itself, with the bot's token and no gateway.")
    ] = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Serve over HTTP on this machine, to whoever bears the token of mcp.token_file."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="N", help="The port of --http; 0: a free one.")
    ] = PORT,
    config: ConfigFile = None,
    self_ids: SelfIds = None,
) -> None:
    """Offer search, pins, standings and turns to MCP clients, over standard input and output or over HTTP."""
    if find_spec("mcp") is None:
        raise NoMcp
    loaded = configuration(config)
    listed = loaded.mcp.channels | frozenset(map(_channel_id, channels or ()))
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING, stream=sys.stderr)
    opening = _opening(loaded, paths or [], listed, self_ids, discord=discord)
    if http:
        _serve_over_http(loaded, opening, port)
    else:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread waits for input, and would keep the process alive
        asyncio.run(_serve(loaded, opening))
    raise typer.Exit(Exit.FOUND)


def _channel_id(text: str) -> int:
    number = read_snowflake(text.strip().removeprefix("<#").removesuffix(">"))
    if number is None:
        raise typer.BadParameter(f"{text!r} is no id of a channel.", param_hint="'--channel'")
    return number


def _opening(
    config: Config, paths: list[Path], listed: frozenset[int], self_ids: list[str] | None, *, discord: bool
) -> AbstractAsyncContextManager[Source]:
    """Return what opens what is read; raises a `Refusal` where nothing can be."""
    if not discord:
        return nullcontext(_files(config, paths, listed, self_ids))
    if paths or self_ids:
        raise typer.BadParameter("it reads no files.", param_hint="'--discord'")
    from ..mcp_server.discord_source import open_discord  # noqa: PLC0415 - files are read without discord.py

    return open_discord(config, token(config), listed)


def _files(config: Config, paths: list[Path], listed: frozenset[int], self_ids: list[str] | None) -> Source:
    from ..mcp_server.sources import FileSource  # noqa: PLC0415 - its package needs an extra

    if not paths:
        if not config.mirror.enabled or config.mirror.path == IN_MEMORY:
            raise NoMirrorToServe
        paths = [Path(config.mirror.path)]
        MirrorFile(paths[0]).close()  # says what is wrong with it
    files = read_files(paths, self_ids)
    if isinstance(files, MirrorFile):
        files.close()
        return FileSource.of_mirror(paths[0], listed)
    return FileSource.of_exports(files, listed or None)


async def _serve(config: Config, opening: AbstractAsyncContextManager[Source]) -> None:
    from ..mcp_server.serving import open_room  # noqa: PLC0415
    from ..mcp_server.stdio import serve_stdio  # noqa: PLC0415

    async with opening as source, open_room(config, source, _marks(config)) as room:
        await serve_stdio(room)


def _serve_over_http(config: Config, opening: AbstractAsyncContextManager[Source], port: int) -> None:
    """Serve until Ctrl-C or SIGTERM, having said where."""
    from ..mcp_server.http import address_of, listen, read_http_token, serve_http  # noqa: PLC0415
    from ..mcp_server.serving import open_room  # noqa: PLC0415

    http_token = read_http_token(config.mcp.token_file)
    listening = listen(port)

    async def serve() -> None:
        async with opening as source, open_room(config, source, _marks(config)) as room:
            say(f"serving at {address_of(listening)}; stop it with Ctrl-C")
            await serve_http(room, http_token, listening)

    with suppress(KeyboardInterrupt, SystemExit):  # how the signal goes on once everything has ended
        asyncio.run(serve())


def _marks(config: Config) -> State:
    return State(config.state.path, now=time.time)
