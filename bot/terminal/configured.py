"""Read the operator's configuration and token for a command, or end with what is wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

from ..config import Config, ConfigError, load_config, read_token
from .output import fail


def configuration(path: Path | None) -> Config:
    """Return the configuration, from the file that was named or wherever else it is."""
    try:
        return load_config(path, os.environ)
    except ConfigError as error:
        fail(str(error))


def token(config: Config) -> str:
    """Return the bot's token."""
    try:
        return read_token(config, os.environ)
    except ConfigError as error:
        fail(str(error))
