"""Make the embed that Discord shows of a card."""

from __future__ import annotations

import discord

from .cards import BODY_WIDTH, FOOT_WIDTH, NOTE_WIDTH, TITLE_WIDTH, Card, clipped

FAR_HEADING = "How far this looked"
ACCENT = 0x4F6D8F


def card_embed(card: Card, url: str | None = None) -> discord.Embed:
    """Make the embed of a card; what would break a limit is cut off with `…`, which the renderers avoid."""
    embed = discord.Embed(
        title=clipped(card.title, TITLE_WIDTH), description=clipped(card.body, BODY_WIDTH), url=url, colour=ACCENT
    )
    if card.far:
        embed.add_field(name=FAR_HEADING, value=clipped(card.far, NOTE_WIDTH), inline=False)
    if card.foot:
        embed.set_footer(text=clipped(card.foot, FOOT_WIDTH))
    return embed
