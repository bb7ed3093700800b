"""The bot process: connect, answer until told to stop, and close within seconds.

`run` is what `recall-bot run` calls. It starts with what can be checked before anything is asked of Discord,
says in one line what stands in the way, and ends at SIGTERM or SIGINT: nothing new is taken, what is under way
is abandoned after `STOP_SECONDS`, and no message text or token is ever in the log.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import aiohttp
import discord
from discord.ext import commands

from .cog import RecallCog
from .config import Config, ConfigError, read_token
from .mirror import MirrorRefused
from .readiness import PORTAL_SWITCH, NotReady
from .registration import register_commands

STOP_SECONDS = 5.0  # for everything between the signal and the end of the process
EXIT_STOPPED = 0
EXIT_FAILED = 2

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

BAD_TOKEN = "Discord refuses the token: check DISCORD_TOKEN, or the file that token_file names."  # noqa: S105 - advice
NO_ANSWER = "Discord does not answer: check the network and https://discordstatus.com, and start again."

_log = logging.getLogger(__name__)


class HostError(Exception):
    """Say in one line, to whoever started the bot, why it does not run."""


def intents() -> discord.Intents:
    """Return the least that Recall needs to be told: guilds, their messages, and what these say."""
    needed = discord.Intents.none()
    needed.guilds = True
    needed.guild_messages = True
    needed.message_content = True
    return needed


class RecallBot(commands.AutoShardedBot):
    """Be a bot that is Recall and nothing else."""

    def __init__(self, config: Config, *, cog: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Hand `cog` on to `RecallCog`, and `options` to discord.py (`shard_count`, `shard_ids`)."""
        super().__init__(
            commands.when_mentioned,
            intents=intents(),
            help_command=None,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,  # history is read where it is, nothing is kept of it
            **options,
        )
        self.config = config
        self._cog_options = dict(cog or {})

    async def setup_hook(self) -> None:
        """Load the cog, then register its commands where they have changed."""
        await self.add_cog(RecallCog(self, self.config, **self._cog_options))
        await register_commands(self.tree, self.config.sync.guilds)

    async def on_message(self, _message: discord.Message, /) -> None:
        """Ignore text commands, of which there are none."""


async def serve(config: Config, token: str, *, stop: asyncio.Event | None = None) -> None:
    """Run the bot until SIGTERM or SIGINT, or until `stop` is set.

    Raises `HostError` when Discord refuses the bot or cannot be reached at the start; once connected, lost
    connections are made again.
    """
    stop = stop or asyncio.Event()
    bot = RecallBot(config)
    with _stopping_at_signals(stop):
        running = asyncio.create_task(bot.start(token), name="recall-gateway")
        stopping = asyncio.create_task(stop.wait(), name="recall-stop")
        try:
            ended, _ = await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            await _close(bot, running)
    if running in ended and not running.cancelled() and (error := running.exception()) is not None:
        raise explained(error) from error


@contextmanager
def _stopping_at_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` when the process is told to end, where the system has such signals (not Windows)."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)


async def _close(bot: RecallBot, running: asyncio.Task[None]) -> None:
    """Close the bot, and abandon what has not ended in time."""
    _log.info("closing: guilds=%d", len(bot.guilds))
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await bot.close()
    except TimeoutError:
        _log.warning("not everything ended within %s s", STOP_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await discord.AutoShardedClient.close(bot)  # the gateway and its thread, whatever a cog waits for
    running.cancel()
    await asyncio.wait({running})


def explained(error: BaseException) -> BaseException:
    """Return the one line for an error that ended the bot; an error nobody foresaw is returned as it is."""
    match error:
        case discord.LoginFailure():
            return HostError(BAD_TOKEN)
        case discord.ConnectionClosed(code=4004):
            return HostError(BAD_TOKEN)
        case discord.PrivilegedIntentsRequired():
            return HostError(PORTAL_SWITCH)
        case NotReady() | MirrorRefused():
            return HostError(str(error))
        case discord.GatewayNotFound() | discord.DiscordServerError() | aiohttp.ClientError() | OSError():
            return HostError(NO_ANSWER)
        case discord.ConnectionClosed():
            return HostError(f"Discord closed the connection (code {error.code}).")
        case discord.HTTPException():
            return HostError(f"Discord refuses the bot (status {error.status}, code {error.code}).")
    return error


def run(config: Config, environ: Mapping[str, str]) -> int:
    """Run the bot until it is told to stop; returns the exit status, having said in one line what went wrong."""
    set_up_logging()
    try:
        asyncio.run(serve(config, read_token(config, environ)))
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except (ConfigError, HostError) as error:
        print(f"recall-bot: {error}", file=sys.stderr)  # noqa: T201 - the one line for whoever started it
        return EXIT_FAILED
    return EXIT_STOPPED


def set_up_logging() -> None:
    """Log to standard error, one line an event: ids and counts, never text of messages."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("discord").setLevel(logging.WARNING)
