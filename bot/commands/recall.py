"""`/recall`: switch a channel on or off, say what is stored and what is missing, explain, and forget.

What is asked for works in every channel. What nobody asked for (length notices, reactions, answers to lines) happens
only where somebody with Manage Channels has switched it on. The right is asked for here, because a server can give
the command itself to anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from discord import app_commands

from ..access import Asker
from ..answering import Interaction, acknowledge, log_failure, tell
from ..errors import Refusal, sentence_of
from ..mirror import MirrorDown
from ..mirror.upkeep import erase_author, stored
from ..pin_powers import policy_of
from ..places import place_ids
from ..rendering.pin_rules import pin_rules_words
from ..services import Services

NEEDED = (
    "view_channel",
    "read_message_history",
    "send_messages",
    "send_messages_in_threads",
    "embed_links",
    "attach_files",
    "add_reactions",
)
"""The permissions that Recall works with."""

ENABLED = (
    "Recall is on in {place} and its threads: long messages are told so, markers that count get a 📌, and "
    "lines by which other bots ask, such as `!search`, are answered."
)
DISABLED = "Recall is off in {place} and its threads: it does nothing here that is not asked for. Commands work."
FORGOTTEN = (
    "Nothing that you wrote is kept by Recall any more, and nothing will be. Your messages stand in Discord as "
    "before, and are read from there when somebody asks."
)
HELP = """\
**In the room.** `!pin` pins a message: this one, or the one you answer. `!pin ^ID #label note` pins another. \
`!unpin ^ID` takes it off. A marker counts at the start of a line, outside of code and quotations.
**To settle something.** `!propose #topic text` puts an option on the floor, `!support #topic ^ID text` stands \
behind it for a reason, `!object >ID ^ID text` answers its advocate, `!refute #topic ^ID text` argues against it, \
`!evidence` and `!question` say and ask what is known, `!commit #topic` records what is carried.
**By menu.** A message's menu has, under *Apps*, *Pin to board*, *Unpin from board*, *Support* and *Object*: each \
posts the line for you, and it counts as yours.
**Asked.** `/search` looks through the history, `/pins` shows the board, `/standings` where topics stand. \
Only you see the answer, unless `public`.
**Unasked.** Nothing, until somebody with Manage Channels writes `/recall enable` in a channel: then long messages \
are told by how much they run over, a marker that counts gets a 📌, and other bots are answered when they write \
`!search`, `!pins` and the like (`!recall help` tells them how). `/recall disable` ends that.
**What is stored.** The channel is the only log. Recall keeps a copy of what it has read, to ask Discord less; \
`/recall status` says how much, `/recall forget-me` erases what you wrote from it for good.
**Who may.** Everybody pins and takes off, unless the rules here say otherwise (`/recall status`); \
`/pins show: history` lists every line, with what was refused and why.
The board is not Discord's own pins: Recall neither reads nor changes those."""


class MayNotSwitch(Refusal):
    """Say that switching a channel takes a right that the asker does not have there."""

    template = "To switch Recall on or off in a channel you need Manage Channels there."


def build(services: Services) -> app_commands.Group:
    """Return the command with its five parts."""
    group = app_commands.Group(
        name="recall",
        description="Switch Recall on or off here, see what it stores, or have it forget you",
        guild_only=True,
        allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=False, private_channel=False),
        allowed_installs=app_commands.AppInstallationType(guild=True, user=False),
    )

    def part(name: str, description: str) -> Callable[[Callable[[Asker], Awaitable[str]]], None]:
        """Add a part that answers with a sentence, seen by the asker alone."""

        def add(make: Callable[[Asker], Awaitable[str]]) -> None:
            async def callback(interaction: Interaction) -> None:
                if not await acknowledge(interaction, public=False):
                    return
                try:
                    sentence = await make(Asker.of(interaction))
                except Exception as error:  # noqa: BLE001 - this is where every failure becomes a sentence
                    log_failure(interaction, error)
                    sentence = sentence_of(error)
                await tell(interaction, sentence)

            group.add_command(app_commands.Command(name=name, description=description, callback=callback))

        return add

    @part("enable", "Let Recall act unasked here: length notices, a 📌 under markers, answers to lines of bots")
    async def enable(asker: Asker) -> str:
        return await _switch(services, asker, on=True)

    @part("disable", "Let Recall do nothing here that is not asked for")
    async def disable(asker: Asker) -> str:
        return await _switch(services, asker, on=False)

    @part("status", "Say what is on here, what is stored of this channel, and which permissions are missing")
    async def status(asker: Asker) -> str:
        return await _status(services, asker)

    @part("help", "Explain what Recall does, asked and unasked")
    async def explain(_asker: Asker) -> str:
        return HELP

    @part("forget-me", "Erase what you wrote from everything that Recall stores, and store nothing of it again")
    async def forget(asker: Asker) -> str:
        author_id = str(asker.member.id)
        await services.state.forget_author(author_id)
        if services.mirror is not None:
            await erase_author(services.mirror, author_id)
        return FORGOTTEN

    return group


async def _switch(services: Services, asker: Asker, *, on: bool) -> str:
    if not asker.here.permissions_for(asker.member).manage_channels:
        raise MayNotSwitch
    desk_id = place_ids(asker.here)[-1]
    await services.state.switch(desk_id, asker.guild.id, on=on)
    return (ENABLED if on else DISABLED).format(place=f"<#{desk_id}>")


async def _status(services: Services, asker: Asker) -> str:
    here = asker.here
    on = services.is_enabled(place_ids(here))
    lines = [f"**Unasked:** {'on' if on else 'off'} in <#{place_ids(here)[-1]}> and its threads."]
    pins = services.config.settings(guild_id=here.guild.id, channel_ids=place_ids(here)).pins
    lines.append(f"**Pins:** {pin_rules_words(policy_of(pins)) or 'everybody pins and takes off.'}")
    if await asker.may_read(here):  # to anybody else, how much was written here and since when is not told
        lines.append(f"**Stored:** {await _stored(services, place_ids(here)[-1])}")
    missing = [name for name in NEEDED if not getattr(here.permissions_for(here.guild.me), name)]
    named = ", ".join(name.replace("_", " ").title() for name in missing)
    lines.append(f"**Permissions missing here:** {named or 'none'}.")
    return "\n".join(lines)


async def _stored(services: Services, desk_id: int) -> str:
    """Say how much of a channel and its threads is kept, and since when."""
    if services.mirror is None:
        return "nothing; every question is read from Discord."
    try:
        found = await stored(services.mirror, desk_id=desk_id)
    except MirrorDown:
        return "unknown, the file cannot be read now; questions are read from Discord."
    rows = sum(place.rows for place in found)
    if not rows:
        return "nothing of this channel and its threads."
    since = datetime.fromtimestamp(min(place.since for place in found), UTC)
    noun = "message" if rows == 1 else "messages"
    return f"a copy of {rows:,} {noun} of this channel and its threads, since {since:%Y-%m-%d}."
