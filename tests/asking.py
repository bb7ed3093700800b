"""Ask questions in a scene, and read the answers as their asker sees them."""

from __future__ import annotations

import re
from typing import Any

import discord
import msgspec
from recall_bot.config import Config
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle
from simcord.results import InteractionResult, ResponseMessage

from tests.simcord_shims import epoch, seed
from tests.stage import Stage

_ESCAPE = re.compile(r"\\([^\w\s])|[\u2068\u2069]")


def configured(*, scan: int = 2048, cooldown_seconds: int = 0, guild_walks: int = 4) -> Any:
    """Return a change of the configuration for `set_stage`."""

    def change(config: Config) -> Config:
        changed = msgspec.structs.replace(
            config.search, scan=scan, cooldown_seconds=cooldown_seconds, guild_walks=guild_walks
        )
        return msgspec.structs.replace(config, search=changed)

    return change


async def ask(
    stage: Stage, command: str, /, *, who: MemberActor | None = None, where: ChannelHandle | None = None, **options: Any
) -> ResponseMessage:
    """Use a command and return the answer; `place` stands for `in` and `author` for `from`."""
    names = {"place": "in", "author": "from"}
    given = {names.get(name, name): value for name, value in options.items()}
    result = await (who or stage.ada).slash(where or stage.channel, command, **given)
    return answer_of(result)


def answer_of(result: InteractionResult) -> ResponseMessage:
    assert result.response is not None
    return result.response


def text_of(answer: ResponseMessage) -> str:
    """Return all that an answer shows, its escapes taken off."""
    return _ESCAPE.sub(r"\1", raw_text(answer))


def raw_text(answer: ResponseMessage) -> str:
    parts = [answer.content]
    for embed in answer.embeds:
        fields = [f"{field.name}\n{field.value}" for field in embed.fields]
        parts += [embed.title or "", embed.description or "", *fields, embed.footer.text or ""]
    return "\n".join(parts)


def buttons(answer: ResponseMessage) -> dict[str, bool]:
    """Return the buttons under an answer by label, with whether they can be pressed."""
    return {
        button["label"]: not button.get("disabled", False)
        for row in answer.components
        for button in row["components"]
        if "label" in button
    }


def quoted(answer: ResponseMessage) -> list[str]:
    """Return the excerpts that an answer quotes, escapes taken off."""
    return [line[2:] for line in text_of(answer).split("\n") if line.startswith("> ")]


def history(stage: Stage, texts: list[str], channel: ChannelHandle | None = None) -> list[int]:
    """Let the two people have written these texts, a minute apart, before the scene begins."""
    ids = (channel or stage.channel).id
    authors = [stage.ada.id, stage.ben.id]
    start = epoch(2025, 12, 1)
    return list(seed(stage.env, ids, authors, len(texts), start, 60, lambda number: texts[number]))


def sent_by_bot(stage: Stage) -> list[dict[str, Any]]:
    """Return the bodies of everything that the bot has sent or edited."""
    bodies = []
    for request in stage.env.http_requests:
        if request.method not in {"POST", "PATCH"} or not isinstance(request.json, dict):
            continue
        body = request.json.get("data", request.json)
        if isinstance(body, dict) and ("content" in body or "embeds" in body):
            bodies.append(body)
    return bodies


def only_message(messages: list[discord.Message]) -> discord.Message:
    [message] = messages
    return message
