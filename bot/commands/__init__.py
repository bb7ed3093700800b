"""The slash commands and message menus, one file each; `build(services)` makes one that belongs to one cog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from discord import app_commands

from ..answering import Interaction
from ..forms import Filled, FormKind, filled
from ..services import Services
from . import context, pin_menu, pins, recall, search, stance_menus, standings, unpin_menu

AppCommand: TypeAlias = app_commands.Command[Any, ..., Any] | app_commands.Group | app_commands.ContextMenu

COMMANDS: tuple[Callable[[Services], AppCommand], ...] = (
    search.build,
    pins.build,
    standings.build,
    context.build,
    recall.build,
    pin_menu.build,
    unpin_menu.build,
    stance_menus.build_support,
    stance_menus.build_object,
)
FORMS: Mapping[FormKind, Callable[[Interaction, Services, Filled], Awaitable[None]]] = {
    "pin": pin_menu.submitted,
    "support": stance_menus.supported,
    "object": stance_menus.objected,
}


async def take_form(interaction: Interaction, services: Services) -> None:
    """Do what a form of ours asks that was filled in; any other interaction is passed over."""
    given = filled(interaction)
    if given is not None:
        await FORMS[given.kind](interaction, services, given)
