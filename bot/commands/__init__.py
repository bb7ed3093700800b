"""The slash commands and menus, one file each. A file's `build(services)` makes its command; the cog adds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from discord import app_commands

if TYPE_CHECKING:
    from ..services import Services

AppCommand: TypeAlias = app_commands.Command[Any, ..., Any] | app_commands.Group | app_commands.ContextMenu
Builder: TypeAlias = "Callable[[Services], AppCommand]"

COMMANDS: tuple[Builder, ...] = ()
"""What makes each command, in the order in which they are registered."""
