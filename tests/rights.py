"""Take permissions from people in a scene."""

from __future__ import annotations

import discord
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from tests.stage import Stage


def forbid(stage: Stage, member_id: int, **permissions: bool) -> None:
    """Set a member's permissions in the channel, as in `forbid(stage, ada.id, send_messages=False)`."""
    allow, deny = discord.PermissionOverwrite(**permissions).pair()
    overwrite = Overwrite(member_id, OverwriteType.MEMBER, allow=allow.value, deny=deny.value)
    stage.env.backend.set_overwrite(stage.channel.id, overwrite)
