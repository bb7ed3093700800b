"""The slash commands, one file each; `build(services)` makes a command that belongs to one cog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from discord import app_commands

from ..services import Services
from . import context, pins, recall, search, standings

AppCommand: TypeAlias = app_commands.Command[Any, ..., Any] | app_commands.Group | app_commands.ContextMenu

COMMANDS: tuple[Callable[[Services], AppCommand], ...] = (
    search.build,
    pins.build,
    standings.build,
    context.build,
    recall.build,
)
