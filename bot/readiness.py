"""Say what a client lacks to read messages, before anything is answered from nothing.

Without message content every board is empty and every search finds nothing, and no error is raised anywhere:
content simply comes empty, in events and in history. History goes by the switch in Discord's portal, whatever
the client asks for, so both are looked at.
"""

from __future__ import annotations

import discord

PORTAL_SWITCH = (
    'Recall needs the "Message Content Intent" of this application, which is off: switch it on in the Discord '
    "Developer Portal, under Bot, Privileged Gateway Intents, and start again."
)
NEEDED_INTENTS = ("guilds", "guild_messages", "message_content")


class NotReady(Exception):  # noqa: N818 - a state of the client, said to its operator
    """Say in one line, to whoever runs the bot, what must be switched on."""


def check_intents(client: discord.Client) -> None:
    """Raise `NotReady` unless the client asks the gateway for what Recall reads."""
    missing = [name for name in NEEDED_INTENTS if not getattr(client.intents, name)]
    if missing:
        raise NotReady(f"Recall needs the intents {', '.join(missing)} of the bot it is loaded into, which are off.")


def check_content_access(client: discord.Client) -> None:
    """Raise `NotReady` unless Discord lets this application read messages; known after login only."""
    flags = client.application_flags
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        raise NotReady(PORTAL_SWITCH)
