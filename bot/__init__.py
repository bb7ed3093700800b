"""The Discord host of Recall, and the extension that other bots load: `load_extension("recall_bot")`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discord.ext import commands


async def setup(bot: commands.Bot) -> None:
    """Load Recall into a bot, configured by `RECALL_CONFIG`, ./config.toml or the defaults.

    Raises `ConfigError` or `NotReady` with one line for the operator (discord.py wraps it in
    `ExtensionFailed`). Commands are added to the bot's tree; syncing them is the bot's own business.
    """
    from .cog import RecallCog  # noqa: PLC0415 - the command line imports this package, and must start fast
    from .config import load_config  # noqa: PLC0415

    await bot.add_cog(RecallCog(bot, load_config(None, os.environ)))
