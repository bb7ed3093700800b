"""Take a pin off by the select under a board, and show the board anew.

The select stands under boards of the place they are shown in, for that is where the line is posted. Nothing is
remembered of a board: which pin it was comes from the select, the rest from the address in the answer (`questions`),
so it works on after a restart. Both come from a client, and all is asked anew: whether the message is pinned now,
and whether whoever pressed may take it off. Under a public board that can be anybody, each on their own rights.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Final

import discord
import msgspec

from .answering import Answer, Asking, Interaction, acknowledge, respond, tell
from .commands import pins
from .commands.unpin_menu import NotPinned, pin_here
from .links import read_snowflake
from .marker_lines import unpin_line
from .paging import NOT_READABLE
from .places import place_ids
from .posting import check_may_post, post_line
from .questions import PinsQuestion, read_question
from .services import Services
from .views import UNPIN_ID

ALREADY_OFF: Final = "That pin is off the board already: somebody was faster. Here is the board as it is now."

UnpinItem = discord.ui.DynamicItem[discord.ui.Select[discord.ui.View]]


def build(services: Services) -> type[UnpinItem]:
    """Return what answers every choice, to be registered with `Client.add_dynamic_items`."""

    class UnpinSelect(UnpinItem, template=re.compile(re.escape(UNPIN_ID))):
        """Be the select under any board."""

        def __init__(self) -> None:
            super().__init__(discord.ui.Select(custom_id=UNPIN_ID))

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, _item: discord.ui.Item[Any], _match: re.Match[str], /
        ) -> UnpinSelect:
            """Return the select that was used."""
            return cls()

        async def callback(self, interaction: Interaction) -> None:
            """Take off what was chosen."""
            await press(interaction, services, self.item.values)

    return UnpinSelect


async def press(interaction: Interaction, services: Services, chosen: list[str]) -> None:
    """Post the `!unpin` of the pin that was chosen and show the board anew, or say in one sentence why not."""
    message = interaction.message
    if message is None:
        return
    question = read_question(message.embeds[0].url) if message.embeds else None
    target = read_snowflake(chosen[0]) if chosen else None
    if not isinstance(question, PinsQuestion) or question.place != interaction.channel_id or target is None:
        await tell(interaction, NOT_READABLE)
        return
    public = not message.flags.ephemeral
    if not await acknowledge(interaction, public=public):
        return

    async def make(asking: Asking) -> Answer:
        check_may_post(interaction)
        upper, told = interaction.id, ""
        async with services.posts.turn(place_ids(asking.asker.here)[-1]):
            try:
                await pin_here(asking, target, reach=question.reach)
            except NotPinned:
                told = ALREADY_OFF
            else:
                upper = (await post_line(interaction, services, unpin_line(target))).id + 1
        shown = await pins.answer(asking, msgspec.structs.replace(question, upper=max(upper, question.upper)))
        return dataclasses.replace(shown, told=told)

    await respond(interaction, services, make, public=public, cooldown=False)
