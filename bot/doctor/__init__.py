"""Look at everything that a bot needs, and say of each thing what is wrong with it and what to do.

    findings = [finding async for finding in diagnose(path, os.environ, guild_id=None)]

It changes nothing, opens no gateway session, and may be asked while the bot runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from ..config import Config, ConfigError, load_config, read_token
from .finding import Finding, State, ok, wrong
from .machine import look_at_machine
from .remote import look_at_discord

__all__ = ["Finding", "State", "diagnose"]


async def diagnose(path: Path | None, environ: Mapping[str, str], *, guild_id: int | None) -> AsyncIterator[Finding]:
    """Yield what is found, as soon as it is; what rests on something that is wrong is not looked at."""
    try:
        config = load_config(path, environ)
    except ConfigError as error:
        yield wrong("configuration", str(error), "Correct it; config.example.toml holds every key with its reason.")
        config = None
    else:
        yield ok("configuration", _source(path, environ))
    async for finding in look_at_machine(config):
        yield finding
    if config is None:
        return
    token = _token(config, environ)
    if isinstance(token, Finding):
        yield token
        return
    yield ok("token", "there is one")
    async for finding in look_at_discord(config, token, guild_id=guild_id):
        yield finding


def _source(path: Path | None, environ: Mapping[str, str]) -> str:
    """Say where the configuration came from, in the order in which `load_config` looks."""
    named = path or (Path(environ["RECALL_CONFIG"]) if environ.get("RECALL_CONFIG") else None)
    if named is not None:
        return str(named)
    return "config.toml" if Path("config.toml").exists() else "the defaults; there is no config.toml here"


def _token(config: Config, environ: Mapping[str, str]) -> str | Finding:
    try:
        return read_token(config, environ)
    except ConfigError as error:
        return wrong("token", str(error), "The Developer Portal shows it once, under Bot, Reset Token.")
