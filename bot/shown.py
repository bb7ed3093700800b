"""What a message says, as plain text: the rules that Discord's messages and exported ones share.

A client does not show what was sent. `<@123>` is seen as `@Ada`, and `#decision` typed where such a channel
exists is sent as `<#456>`. A reader searches for, and pins under, what is seen; so text is turned back into
that before any fold reads it. Nothing here knows a Discord type: names come in through look-ups.

Two rules of safety. A name may carry no newline and no backtick, else it could end a line or a code span and
let what is quoted around it act. And the name of a channel may itself be a secret, so the look-up answers
None for a channel that not everybody may view, and `#channel-<id>` is shown.

    >>> shown("!pin <#456> ask <@123>", Names(user={123: "Ada"}.get))
    '!pin #channel-456 ask @Ada'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

import recall
from recall.text import WHITE_SPACE, collapse, is_blank, strip

MESSAGE_TYPES: dict[int, str] = {
    0: "default",
    1: "recipient_add",
    2: "recipient_remove",
    3: "call",
    4: "channel_name_change",
    5: "channel_icon_change",
    6: "pins_add",
    7: "new_member",
    8: "premium_guild_subscription",
    9: "premium_guild_tier_1",
    10: "premium_guild_tier_2",
    11: "premium_guild_tier_3",
    12: "channel_follow_add",
    13: "guild_stream",
    14: "guild_discovery_disqualified",
    15: "guild_discovery_requalified",
    16: "guild_discovery_grace_period_initial_warning",
    17: "guild_discovery_grace_period_final_warning",
    18: "thread_created",
    19: "reply",
    20: "chat_input_command",
    21: "thread_starter_message",
    22: "guild_invite_reminder",
    23: "context_menu_command",
    24: "auto_moderation_action",
    25: "role_subscription_purchase",
    26: "interaction_premium_upsell",
    27: "stage_start",
    28: "stage_end",
    29: "stage_speaker",
    30: "stage_raise_hand",
    31: "stage_topic",
    32: "guild_application_premium_subscription",
    36: "guild_incident_alert_mode_enabled",
    37: "guild_incident_alert_mode_disabled",
    38: "guild_incident_report_raid",
    39: "guild_incident_report_false_alarm",
    44: "purchase_notification",
    46: "poll_result",
    63: "emoji_added",
}
"""The number and name of every message type that discord.py 2.7.1 knows."""

AUTHORED_TYPES = frozenset({0, 19, 20, 23})
"""Types that somebody wrote. Any other is the system's, also one that comes to exist after this was written."""

ROWLESS_TYPES = frozenset({21, 46})
"""Types that only point at another message: a thread's copy of its starter, a poll's result."""

REPLY_TYPE = 19

FORWARDED = "forwarded: "

NameLookup: TypeAlias = Callable[[int], str | None]

_MARKUP = re.compile(
    r"\\[\\<]"  # an escape: what follows is shown as it stands
    r"|<(?P<sigil>@!?|@&|\#)(?P<id>[0-9]{1,20})>"
    r"|<a?:(?P<emoji>[A-Za-z0-9_]+):[0-9]{1,20}>"
)
_KINDS = {"@": "user", "@!": "user", "@&": "role", "#": "channel"}


def type_name(number: int) -> str:
    """Return the name of a message type; `unknown_<number>` for one that is not in `MESSAGE_TYPES`."""
    return MESSAGE_TYPES.get(number, f"unknown_{number}")


def flatten_name(name: str) -> str:
    """Return a name on one line, in Unicode NFC, that cannot open, close or escape a code span.

    Backticks become apostrophes; control characters go, and so does a backslash at the end. Normalising
    comes before that, because it makes backticks: U+1FEF becomes one.
    """
    if not name.isprintable():
        name = "".join(char for char in name if char in WHITE_SPACE or unicodedata.category(char) != "Cc")
    return collapse(unicodedata.normalize("NFC", name)).replace("`", "'").rstrip("\\ ")


def _unknown(_id: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Names:
    """Look names up by id; None where there is none, or none that everybody may see.

    A look-up that is None itself leaves its markup as it stands, for `named` to read later.
    """

    user: NameLookup | None = _unknown
    role: NameLookup | None = _unknown
    channel: NameLookup | None = _unknown


NO_NAMES = Names()


def shown(text: str, names: Names = NO_NAMES) -> str:
    """Return text as the client shows it, in Unicode NFC.

    User and role markup becomes `@name`, an emoji `:name:`, a channel `#name`; what has no name becomes
    `@user-<id>`, `@role-<id>`, `#channel-<id>`. Code and escaped markup stay as they are.
    """
    text = unicodedata.normalize("NFC", text)
    if "<" not in text:
        return text

    def named(match: re.Match[str]) -> str:
        if (emoji := match["emoji"]) is not None:
            return f":{emoji}:"
        if (sigil := match["sigil"]) is None:
            return match[0]
        kind, number = _KINDS[sigil], int(match["id"])
        lookup: NameLookup | None = getattr(names, kind)
        if lookup is None:
            return match[0]
        return sigil[0] + (flatten_name(lookup(number) or "") or f"{kind}-{number}")

    pieces, at = [], 0
    for start, end in _code(text):
        pieces += [_MARKUP.sub(named, text[at:start]), text[start:end]]
        at = end
    pieces.append(_MARKUP.sub(named, text[at:]))
    return unicodedata.normalize("NFC", "".join(pieces))


def named(row: recall.LogMessage, names: Names) -> recall.LogMessage:
    """Return a row with the names of roles and channels in it, where their markup was left (`Names`).

    What is stored of a message holds no such name: they change, and may become secret, while it does not.
    """
    if "<" not in row.content and "<" not in row.attached:
        return row
    names = Names(None, names.role, names.channel)
    return msgspec.structs.replace(row, content=shown(row.content, names), attached=shown(row.attached, names))


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges shown as code; the scanner's other ranges are quotations, where markup counts."""
    if "`" in text:
        yield from (span for span in recall.code_ranges(text, "discord") if text[span[0]] == "`")


@dataclass(frozen=True, slots=True)
class EmbedText:
    """Hold the text of an embed that is searched: title, description, and (name, value) of its fields."""

    title: str = ""
    description: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    def parts(self) -> Iterator[str]:
        """Yield the texts in the order in which they are shown."""
        yield self.title
        yield self.description
        for pair in self.fields:
            yield from pair


@dataclass(frozen=True, slots=True)
class Extras:
    """Hold the text that rides along with a message without having been typed into it.

    `forwards` are the messages it forwards: what each says and what rides along with that.
    """

    embeds: tuple[EmbedText, ...] = ()
    components: tuple[str, ...] = ()
    forwards: tuple[tuple[str, Extras], ...] = ()
    files: tuple[str, ...] = ()
    poll: str = ""

    def parts(self) -> Iterator[str]:
        """Yield every text, each forwarded one marked as such."""
        for embed in self.embeds:
            yield from embed.parts()
        yield from self.components
        for content, extras in self.forwards:
            for part in (content, *extras.parts()):
                if not is_blank(part):
                    yield FORWARDED + strip(part)
        yield from map(collapse, self.files)
        yield self.poll


NO_EXTRAS = Extras()


def attached(extras: Extras, names: Names = NO_NAMES) -> str:
    """Return what rides along with a message as one string, as the client shows it, each part on its own line.

    Blank parts are left out. Order: embeds, components, forwards, file names, the poll's question.
    """
    if extras == NO_EXTRAS:
        return ""
    return "\n".join(shown(strip(part), names) for part in extras.parts() if not is_blank(part))


def own_line(content: str, *, bare: bool, invoker: recall.PersonAuthor | None) -> recall.PersonAuthor | None:
    """Return whose row a message of our own is; None when it is no row, which nearly all of them are.

    The one exception is a marker line posted for somebody who asked for it by a menu or a form: `content`,
    as shown, is a single line that is exactly its own parse rendered again, nothing rides along (`bare`: no
    embed, file, component, sticker, poll or forward), and its interaction names a person.
    """
    if invoker is None or not bare:
        return None
    return invoker if rendered_markers(content, invoker) == [content] else None


def rendered_markers(content: str, author: recall.Author) -> list[str]:
    """Return the markers of a text that act, each written as the library writes it: pins first, then traces."""
    pins = recall.read_directives(content, author=author, sequence=0, dialect="discord")
    traces = recall.resolve_traces(content, None, author=author, sequence=0, dialect="discord")
    return [*map(recall.render_directive, pins), *map(recall.render_trace, traces)]
