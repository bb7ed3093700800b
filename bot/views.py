"""What stands under an answer: buttons that turn its pages, and a select that takes pins off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import discord

from .questions import Turn
from .rendering.unpinning import UnpinChoice

TURN_ID: Final = "recall:turn:"  # of a button, followed by what it does
UNPIN_ID: Final = "recall:unpin"  # of the select under a board
UNPIN: Final = "Unpin…"


def answer_view(turns: Sequence[tuple[Turn, bool]], unpins: Sequence[UnpinChoice] = ()) -> discord.ui.View | None:
    """Return what stands under an answer: a select of pins, and a row of buttons, those that lead nowhere greyed out.

    The view is stopped before it is sent, so the client keeps nothing of it: presses are answered by what
    `paging` and `unpinning` register once, for every answer there ever was.
    """
    if not turns and not unpins:
        return None
    view = discord.ui.View(timeout=None)
    if unpins:
        options = [
            discord.SelectOption(label=pin.name, value=str(pin.target), description=pin.about or None) for pin in unpins
        ]
        view.add_item(discord.ui.Select(custom_id=UNPIN_ID, placeholder=UNPIN, options=options))
    for turn, leads_on in turns:
        button: discord.ui.Button[discord.ui.View] = discord.ui.Button(
            style=discord.ButtonStyle.secondary,
            label=turn.capitalize(),
            custom_id=TURN_ID + turn,
            disabled=not leads_on,
        )
        view.add_item(button)
    view.stop()
    return view
