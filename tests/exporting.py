"""Export files as DiscordChatExporter writes them, of any version, and one of any size.

A message is written in its newest form; `export` takes away what a version did not write yet, and changes what
it wrote otherwise.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Wire: TypeAlias = dict[str, Any]
Version: TypeAlias = tuple[int, ...]

VERSIONS: tuple[Version, ...] = (
    (2, 18),
    (2, 20),
    (2, 23),
    (2, 24),
    (2, 25),
    (2, 26),
    (2, 27),
    (2, 31),
    (2, 33),
    (2, 35),
    (2, 36),
    (2, 38),
    (2, 40, 1),
    (2, 40, 4),
    (2, 41),
    (2, 42, 3),
    (2, 44),
    (2, 46, 1),
    (2, 47),
)
NEWEST = VERSIONS[-1]

GUILD_ID, CHANNEL_ID, CATEGORY_ID = 1_100_000_000_000_000_000, 1_100_000_000_000_000_001, 1_100_000_000_000_000_900
FIRST_ID = 1_204_000_000_000_000_000
SELF_ID = "1100000000000000099"


def user(user_id: int, name: str, nickname: str, *, is_bot: bool = False) -> Wire:
    return {
        "id": str(1_100_000_000_000_000_000 + user_id),
        "name": name,
        "discriminator": "0042" if is_bot else "0000",
        "nickname": nickname,
        "color": None,
        "isBot": is_bot,
        "roles": [{"id": "1100000000000000500", "name": "keepers", "color": "#1ABC9C", "position": 3}],
        "avatarUrl": "https://cdn.example.net/embed/avatars/0.png",
    }


ADA = user(11, "ada", "Ada")
BEN = user(12, "ben", "Ben of the Harbour")
SCOUT = user(13, "scout", "Scout", is_bot=True)
RECALL = user(99, "recall", "Recall", is_bot=True)
SMILE = {
    "id": "",
    "name": "🙂",
    "code": "slight_smile",
    "isAnimated": False,
    "imageUrl": "https://cdn.example.net/e.svg",
}


def message(number: int, content: str = "", author: Wire = ADA, **more: Any) -> Wire:
    """A message as the newest version writes it; `number` counts from the room's first."""
    return {
        "id": str(FIRST_ID + number),
        "type": "Default",
        "timestamp": "2024-02-05T09:46:09.12+00:00",
        "timestampEdited": None,
        "callEndedTimestamp": None,
        "isPinned": False,
        "content": content,
        "author": author,
        "attachments": [],
        "embeds": [],
        "stickers": [],
        "reactions": [],
        "mentions": [],
        "inlineEmojis": [],
        **more,
    }


def reply(number: int, content: str, *, to: int, author: Wire = BEN, channel_id: int = CHANNEL_ID) -> Wire:
    return message(number, content, author, type="Reply", reference=reference(to, channel_id=channel_id))


def reference(number: int | None, *, channel_id: int = CHANNEL_ID, kind: str = "Default") -> Wire:
    message_id = None if number is None else str(FIRST_ID + number)
    return {"type": kind, "messageId": message_id, "channelId": str(channel_id), "guildId": str(GUILD_ID)}


def forward(number: int, content: str, author: Wire = BEN, **more: Any) -> Wire:
    """A message that forwards another one."""
    forwarded = {
        "timestamp": "2024-02-05T09:46:09+00:00",
        "timestampEdited": None,
        "content": content,
        "attachments": [],
        "embeds": [],
        "stickers": [],
        **more,
    }
    return message(number, "", author, reference=reference(3, kind="Forward"), forwardedMessage=forwarded)


def embed(title: str, description: str, **fields: str) -> Wire:
    return {
        "title": title,
        "url": None,
        "timestamp": None,
        "description": description,
        "color": "#00FF00",
        "images": [],
        "fields": [{"name": name, "value": value, "isInline": False} for name, value in fields.items()],
        "inlineEmojis": [],
    }


def attachment(name: str) -> Wire:
    return {"id": "1", "url": "https://cdn.example.net/a?ex=1&is=2&hm=3", "fileName": name, "fileSizeBytes": 4_096}


def channel(name: str = "engineering", channel_id: int = CHANNEL_ID, kind: str = "GuildTextChat", **more: Any) -> Wire:
    return {
        "id": str(channel_id),
        "type": kind,
        "categoryId": str(CATEGORY_ID),
        "category": "Text Channels",
        "name": name,
        "topic": None,
        **more,
    }


def thread(
    name: str,
    thread_id: int,
    kind: str = "GuildPublicThread",
    *,
    of: str = "engineering",
    parent_id: int | None = CHANNEL_ID,
) -> Wire:
    parent = None if parent_id is None else str(parent_id)
    return channel(name, thread_id, kind, categoryId=parent, category=of)


def export(
    messages: Iterable[Wire],
    version: Version = NEWEST,
    *,
    place: Wire | None = None,
    exported_at: str | None = "2026-03-02T09:00:00.1234567+09:00",
    after: str | None = None,
    guild: str = "Harbour",
) -> Wire:
    """A whole document of one version."""
    written = [_as_of_version(each, version) for each in messages]
    head = dict(place or channel())
    _drop(head, version, category=(2, 20), categoryId=(2, 27))
    document = {
        "guild": {"id": str(GUILD_ID), "name": guild, "iconUrl": "https://cdn.example.net/icon.png"},
        "channel": head,
        "dateRange": {"after": after, "before": None},
        "exportedAt": exported_at,
        "messages": written,
        "messageCount": len(written),
    }
    if exported_at is None:
        del document["exportedAt"]
    return _drop(document, version, exportedAt=(2, 40, 1))


def spelled(document: Wire, version: Version = NEWEST, *, indent: int | None = 2) -> bytes:
    """The bytes of a document, with the escapes of its version's encoder."""
    if version < (2, 26):
        text = json.dumps(document, indent=indent)
        return re.sub("[<>&'+]", lambda found: f"\\u{ord(found[0]):04X}", text).encode()
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return re.sub("[\U00010000-\U0010ffff\xa0\u200d]", lambda found: json.dumps(found[0])[1:-1], text).encode()


def write(path: Path, messages: Iterable[Wire] | Wire, version: Version = NEWEST, **more: Any) -> Path:
    """Write an export of messages (or a document that is ready) and return its path."""
    document = messages if isinstance(messages, dict) else export(messages, version, **more)
    path.write_bytes(spelled(document, version))
    return path


def _as_of_version(newest: Wire, version: Version) -> Wire:
    written: Wire = json.loads(json.dumps(newest))
    if version < (2, 31) and written["type"] == "Reply":
        written["type"] = "19"
    if version < (2, 36) and written["type"] == "ThreadCreated":
        written["type"] = "18"
    for bearer in (written["author"], *written["mentions"]):
        _drop(bearer, version, nickname=(2, 27), color=(2, 27), roles=(2, 40, 1))
    for mentioned in written["mentions"]:
        mentioned["nickname"] = mentioned.get("nickname", mentioned["name"])
        _drop(mentioned, version, color=(2, 38), avatarUrl=(2, 38))
        if version < (2, 27):
            mentioned["discriminator"] = int(mentioned["discriminator"])
    for each in written["embeds"]:
        _drop(each, version, color=(2, 24), images=(2, 35), inlineEmojis=(2, 44))
    for reaction in written["reactions"]:
        _drop(reaction, version, users=(2, 40, 4))
        _drop(reaction["emoji"], version, code=(2, 38))
        reaction["emoji"]["id"] = reaction["emoji"]["id"] or (None if version < (2, 33) else "")
    _drop(written.get("reference", {}), version, type=(2, 47))
    return _drop(
        written,
        version,
        callEndedTimestamp=(2, 23),
        mentions=(2, 25),
        reference=(2, 26),
        stickers=(2, 33),
        interaction=(2, 38),
        inlineEmojis=(2, 44),
        forwardedMessage=(2, 47),
    )


def _drop(written: Wire, version: Version, **since: Version) -> Wire:
    for key, first in since.items():
        if version < first:
            written.pop(key, None)
    return written


WORDS = re.split(
    r"\s+",
    "the limiter resets every minute when a bucket drains so we should cache pages and retry once after deploy "
    "staging rollback canary metric dashboard alert queue worker shard index token budget 2,048 rows größer 日本語",
)


def large_export(path: Path, messages: int, *, seed: int = 7) -> Path:
    """Write a channel of many messages, as busy rooms have them, about 750 bytes each.

    Replies, files, embeds, reactions, mentions, edits and pins are as frequent as in real exports; every 50th
    message is a marker.
    """
    rng = random.Random(seed)
    people = [
        user(1_000 + number, f"member{number}", f"Member {number}", is_bot=number % 5 == 0) for number in range(80)
    ]
    head = json.dumps(export([]), indent=2, ensure_ascii=False).partition('"messages"')[0]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{head}"messages": [')
        for number in range(messages):
            text = json.dumps(_any_message(number, people, rng), indent=1, ensure_ascii=False).replace("\n", "\n ")
            file.write((",\n " if number else "\n ") + text)
        file.write(f'\n  ],\n  "messageCount": {messages}\n}}\n')
    return path


def _any_message(number: int, people: Sequence[Wire], rng: random.Random) -> Wire:
    content = " ".join(rng.choices(WORDS, k=rng.randint(2, 24)))
    author = rng.choice(people)
    more = dict(_rides_along(number, people, rng))
    if number % 50 == 0:
        content = f"!pin ^{FIRST_ID + rng.randrange(number + 1) * 4_096} #topic{rng.randrange(9)} {content[:40]}"
    author = {**author, "roles": author["roles"][: number % 2]}
    return {**message(number * 4_096, content, author, **more)}


def _rides_along(number: int, people: Sequence[Wire], rng: random.Random) -> Iterator[tuple[str, Any]]:
    if number and rng.random() < 0.2:
        yield "type", "Reply"
        yield "reference", reference(rng.randrange(number) * 4_096)
    if rng.random() < 0.08:
        yield "attachments", [attachment(f"screenshot-{number}.png")]
    if rng.random() < 0.03:
        yield "embeds", [embed("Build 4711", "All checks have passed", branch="main")]
    if rng.random() < 0.05:
        yield "mentions", [rng.choice(people)]
    if rng.random() < 0.1:
        yield "reactions", [{"emoji": SMILE, "count": 2, "users": []}]
