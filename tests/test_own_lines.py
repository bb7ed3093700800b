"""What we post counts as a person's line by the exception's conditions alone: scenes that try to break each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import simcord
from simcord.backend.models import Message

from tests.asking import ask, configured, quoted, text_of
from tests.stage import Stage, set_stage

TARGET = "600 calls a minute"


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    """A channel in which ada has pinned a message by its menu, and nothing takes it off but what counts."""
    stage = await set_stage(env, configured())
    target = await stage.ben.send(stage.channel, TARGET)
    opened = await stage.ada.context_menu(stage.channel, "Pin to board", target)
    await stage.ada.submit_modal(opened, {"other": "limits"})
    assert quoted(await ask(stage, "pins")) == [TARGET]
    return stage


def line_of(stage: Stage) -> Message:
    """Return the line that was posted, as Discord keeps it."""
    return stage.env.backend.get_message(stage.channel.id, stage.ours()[0].id)


def unpin_of(stage: Stage) -> str:
    return f"!unpin {line_of(stage).content.split(' ')[1]}"


def post(stage: Stage, content: str, author_id: int | None = None, **more: Any) -> Message:
    """Post a line that is ours in everything but for what is said here."""
    line = line_of(stage)
    given: dict[str, Any] = {"interaction_metadata": line.interaction_metadata, "flags": line.flags, **more}
    author = stage.env.backend.bot_user.id if author_id is None else author_id
    return stage.env.backend.create_message(stage.channel.id, author, content, **given)


async def board(stage: Stage) -> list[str]:
    """Return what is pinned, which is the same for a bot that has just started and has only the history."""
    await stage.settle()
    heard = quoted(await ask(stage, "pins"))
    await stage.restart()
    assert quoted(await ask(stage, "pins")) == heard
    return heard


async def test_the_line_itself_counts_when_nothing_is_broken(stage: Stage) -> None:
    """The scenes below would be worth nothing if this one took nothing off."""
    post(stage, unpin_of(stage))
    assert await board(stage) == []
    assert "**ada** [unpinned]" in text_of(await ask(stage, "pins", show="history"))


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: {"interaction_metadata": None},
        lambda stage: {"interaction_metadata": invoked_by(stage, stage.scout.id)},
        lambda _: {"embeds": [{"title": "a preview", "type": "rich"}]},
        lambda _: {"attachments": [{"id": "5", "filename": "a.png", "size": 1, "url": "", "proxy_url": ""}]},
        lambda _: {"components": [{"type": 1, "components": [button()]}]},
    ],
    ids=["no metadata", "metadata of an agent", "an embed", "a file", "a button"],
)
async def test_a_line_of_ours_with_one_condition_broken_is_nobodys(
    stage: Stage, broken: Callable[[Stage], dict[str, Any]]
) -> None:
    post(stage, unpin_of(stage), **broken(stage))
    assert await board(stage) == [TARGET]


def invoked_by(stage: Stage, user_id: int) -> dict[str, Any]:
    metadata = line_of(stage).interaction_metadata
    assert metadata is not None
    user = dict(simcord.backend.serializers.user_payload(stage.env.backend.get_user(user_id)))
    return {**metadata, "user": user, "user_id": str(user_id)}


def button() -> dict[str, Any]:
    return {"type": 2, "style": 2, "label": "x", "custom_id": "x"}


@pytest.mark.parametrize(
    "content",
    [
        "{0}\n{0}",
        "{0}\n",
        " {0}",
        "ok\n{0}",
        "> {0}",
        "`{0}`",
        "{0} because",
        "I looked:\n{0}",
    ],
)
async def test_a_text_of_ours_that_is_not_exactly_one_line_is_nobodys(stage: Stage, content: str) -> None:
    message = post(stage, "x")
    message.content = content.format(unpin_of(stage))  # as Discord keeps it; sending would trim it
    stage.env.backend.edit_message(stage.channel.id, message.id, {"content": message.content})
    assert await board(stage) == [TARGET]


async def test_a4_answers_and_notices_that_quote_an_unpin_take_nothing_off(stage: Stage) -> None:
    unpin = unpin_of(stage)
    await stage.ben.send(stage.channel, f"`{unpin}`")
    await stage.ben.send(stage.channel, f"say\n> {unpin}\n" + "x" * 700)
    await stage.env.advance_time(10)
    for query in ("unpin", f'"{unpin}"', "/!unpin/"):
        await ask(stage, "search", query=query, public=True)
    await ask(stage, "pins", public=True)
    await ask(stage, "pins", label=unpin, public=True)
    await ask(stage, "search", query="/[/", author=unpin, public=True)

    assert len(stage.ours()) >= 7
    assert [message.content for message in stage.ours() if message.content.startswith("!")] == [line_of(stage).content]
    assert await board(stage) == [TARGET]


@pytest.mark.parametrize("who", ["ben", "scout", "a webhook"])
async def test_a_copy_by_anybody_else_is_theirs_and_not_that_of_the_person_it_names(stage: Stage, who: str) -> None:
    copy = line_of(stage).content.replace("#limits", "#copied")
    if who == "a webhook":
        await stage.guild.create_webhook(stage.channel).send(copy, username="Recall")
    else:
        author = stage.ben if who == "ben" else stage.scout
        post(stage, copy, author.id)
    await stage.settle()

    shown = text_of(await ask(stage, "pins"))
    name = {"ben": "ben", "scout": "scout** (app)", "a webhook": "Recall** (app)"}[who]
    assert f"**#copied** · pinned by **{name}" in shown
    assert "pinned by **ada**" not in shown


async def test_an_edit_of_ours_counts_as_long_as_it_is_a_line(stage: Stage) -> None:
    line, edit = line_of(stage), stage.env.backend.edit_message
    edit(stage.channel.id, line.id, {"content": line.content.replace("#limits", "#budget")})
    assert "#budget" in text_of(await ask(stage, "pins"))

    edit(stage.channel.id, line.id, {"content": f"{line.content}\nand more"})
    assert await board(stage) == []

    edit(stage.channel.id, line.id, {"content": f"Pinned: {line.content}"})
    assert await board(stage) == []


async def test_a_preview_that_is_put_on_our_line_takes_it_out_until_it_is_suppressed_again(stage: Stage) -> None:
    line, edit = line_of(stage), stage.env.backend.edit_message
    edit(stage.channel.id, line.id, {"embeds": [{"title": "a preview", "type": "rich"}]})
    assert await board(stage) == []
    edit(stage.channel.id, line.id, {"embeds": []})
    assert await board(stage) == [TARGET]


async def test_somebody_who_may_delete_our_line_takes_its_pin_off_with_it(stage: Stage) -> None:
    stage.env.backend.delete_message(stage.channel.id, line_of(stage).id)
    assert await board(stage) == []


async def test_a_line_of_a_person_whose_messages_are_never_stored_counts_all_the_same(stage: Stage) -> None:
    await stage.ada.slash(stage.channel, "recall forget-me")
    target = await stage.ben.send(stage.channel, "two of them")

    opened = await stage.ada.context_menu(stage.channel, "Pin to board", target)
    await stage.ada.submit_modal(opened, {})

    assert await board(stage) == ["two of them", TARGET]
    mirror = stage.cog.services.mirror
    assert mirror is not None
    async with mirror.use() as connection:
        counted = await connection.execute("SELECT count(*) FROM rows WHERE author_id = ?", (str(stage.ada.id),))
        assert await counted.fetchone() == (0,)
