"""Turn the pages of an answer that stands in the channel, also one that an earlier process gave.

Nothing is remembered between an answer and a press. Which button it was comes from the button, everything else
from the address in the answer, as Discord stored it (`questions`). Only whoever asked may press; the question is
then asked again, with all that is checked when a question is asked.
"""

from __future__ import annotations

import re
from typing import Any

import discord

from .answering import Answer, Asking, Interaction, acknowledge, respond, tell
from .commands import pins, search, standings
from .questions import AnyQuestion, SearchQuestion, StandingsQuestion, Turn, read_question, turned
from .services import Services
from .views import TURN_ID

NOT_YOURS = "Only whoever asked this can turn its pages. Ask for yourself with `/search`, `/pins` or `/standings`."
NOT_READABLE = "I cannot turn the pages of this answer any more. Please ask again."

TurnItem = discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]]


def build(services: Services) -> type[TurnItem]:
    """Return what answers every press, to be registered with `Client.add_dynamic_items`."""

    class TurnButton(TurnItem, template=re.compile(f"{re.escape(TURN_ID)}(?P<turn>{'|'.join(Turn)})")):
        """Be any of the buttons under any answer."""

        def __init__(self, turn: Turn) -> None:
            super().__init__(discord.ui.Button(custom_id=TURN_ID + turn))
            self.turn = turn

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, _item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> TurnButton:
            """Return the button that was pressed."""
            return cls(Turn(match["turn"]))

        async def callback(self, interaction: Interaction) -> None:
            """Turn the page."""
            await press(interaction, services, self.turn)

    return TurnButton


async def press(interaction: Interaction, services: Services, turn: Turn) -> None:
    """Replace an answer by its page before or after, or say in one sentence why not."""
    message = interaction.message
    if message is None:
        return
    question = read_question(message.embeds[0].url) if message.embeds else None
    if question is None:
        await tell(interaction, NOT_READABLE)
        return
    if question.asker != interaction.user.id:
        await tell(interaction, NOT_YOURS)
        return
    following = turned(question, turn)
    if following is None:
        await tell(interaction, NOT_READABLE)
        return
    public = not message.flags.ephemeral
    if not await acknowledge(interaction, public=public):
        return

    async def make(asking: Asking) -> Answer:
        return await answer(asking, following)

    await respond(interaction, services, make, public=public, cooldown=False)


async def answer(asking: Asking, question: AnyQuestion) -> Answer:
    """Answer any question that an answer can carry."""
    if isinstance(question, SearchQuestion):
        return await search.answer(asking, question)
    if isinstance(question, StandingsQuestion):
        return await standings.answer(asking, question)
    return await pins.answer(asking, question)
