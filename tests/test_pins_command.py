from __future__ import annotations

import json
from typing import Any

import discord
import pytest
import simcord

import recall
from tests.asking import answer_of, ask, buttons, configured, history, quoted, raw_text, sent_by_bot, text_of
from tests.inertness import read_line
from tests.stage import Stage, set_stage


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, configured())


async def test_a_board_shows_label_note_excerpt_who_when_and_where_newest_pin_first(stage: Stage) -> None:
    first, second = history(stage, ["600 calls a minute", "SQLite it is"])
    pin = await stage.ben.send(stage.channel, f"!pin ^{first} #limits as measured")
    await stage.ada.send(stage.channel, f"!pin ^{second} #decision")

    answer = await ask(stage, "pins")
    shown = text_of(answer)

    assert answer.ephemeral
    assert quoted(answer) == ["SQLite it is", "600 calls a minute"]
    link = f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/{first}"
    when = f"<t:{int(pin.created_at.timestamp())}:f>"
    assert f"**2** · **#limits** · pinned by **ben** · {when} · [jump]({link})\n— as measured\n> 600" in shown
    assert "Working set**, 2 pins" in shown
    assert "Not Discord's own pins" in shown
    assert "Delete an !unpin" in shown


async def test_an_empty_board_says_how_far_it_looked_and_how_to_pin(stage: Stage) -> None:
    history(stage, ["hello"])

    shown = text_of(await ask(stage, "pins"))

    assert "Nothing is pinned" in shown
    assert "I looked at the newest message, back to the very first" in shown
    assert "`!pin ^ID #label note`" in shown


async def test_a_label_narrows_the_board_and_an_unknown_one_is_answered_with_the_known(stage: Stage) -> None:
    first, second = history(stage, ["one", "two"])
    await stage.ada.send(stage.channel, f"!pin ^{first} #a\n!pin ^{second} #b")

    narrowed = await ask(stage, "pins", label="#a")
    assert quoted(narrowed) == ["one"]
    assert text_of(narrowed).startswith("\nPins: #general #a\n")
    assert quoted(await ask(stage, "pins", label="b")) == ["two"]
    assert "On the board: #b, #a." in text_of(await ask(stage, "pins", label="c"))


async def test_p4_a_bare_pin_in_an_answer_pins_the_message_answered_and_one_below_a_text_its_own(stage: Stage) -> None:
    asked = await stage.ben.send(stage.channel, "what is the limit?")
    await stage.ada.send(stage.channel, "!pin #limits", reply_to=asked)
    await stage.scout.send(stage.channel, "The limit is 5.\n!pin #limits", reply_to=asked)

    assert quoted(await ask(stage, "pins")) == ["The limit is 5. !pin #limits", "what is the limit?"]
    await stage.ada.send(stage.channel, "not now\n!unpin", reply_to=asked)
    assert quoted(await ask(stage, "pins")) == ["The limit is 5. !pin #limits"]


async def test_p5_a_pinned_message_that_is_gone_says_so_and_can_still_be_unpinned(stage: Stage) -> None:
    target = await stage.ben.send(stage.channel, "soon gone")
    await stage.ada.send(stage.channel, f"!pin ^{target.id} #x")
    await stage.ben.delete(target)

    shown = text_of(await ask(stage, "pins"))
    assert "The pinned message is gone, or was never in this channel." in shown
    assert f"`!unpin ^{target.id}`" in shown

    await stage.ada.send(stage.channel, f"!unpin ^{target.id}")
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))


async def test_p5_a_deleted_pin_line_takes_its_pin_with_it_and_a_deleted_unpin_gives_it_back(stage: Stage) -> None:
    [target] = history(stage, ["the target"])
    pin = await stage.ada.send(stage.channel, f"!pin ^{target}")
    unpin = await stage.ben.send(stage.channel, f"!unpin ^{target}")
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))

    await stage.ben.delete(unpin)
    assert quoted(await ask(stage, "pins")) == ["the target"]

    await stage.ada.delete(pin)
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))
    await stage.ben.send(stage.channel, f"!unpin ^{target}")
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))


async def test_p5_an_unpin_before_its_pin_leaves_it_on_the_board(stage: Stage) -> None:
    [target] = history(stage, ["the target"])
    await stage.ben.send(stage.channel, f"!unpin ^{target}")
    await stage.ada.send(stage.channel, f"!pin ^{target}")

    assert quoted(await ask(stage, "pins")) == ["the target"]


async def test_p6_of_two_who_pin_and_unpin_in_turn_the_last_line_wins_and_the_history_shows_all(stage: Stage) -> None:
    [target] = history(stage, ["the target"])
    for _ in range(2):
        await stage.ada.send(stage.channel, f"!pin ^{target} #mine keep it")
        await stage.ben.send(stage.channel, f"!unpin ^{target}")
    await stage.ben.send(stage.channel, f"!unpin ^{target}")

    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))
    lines = [line for line in text_of(await ask(stage, "pins", show="history")).split("\n") if "[this message]" in line]

    did = [line.partition("> ")[2].partition("](")[0] for line in lines]
    assert did == [
        "**ben** [unpinned, to no effect,",
        "**ben** [unpinned",
        "**ada** [pinned",
        "**ben** [unpinned",
        "**ada** [pinned",
    ]
    assert "**#mine** — keep it" in lines[2]

    await stage.ada.send(stage.channel, f"!pin ^{target}")
    assert quoted(await ask(stage, "pins")) == ["the target"]


async def test_a_history_under_a_label_tells_all_that_happened_to_what_was_pinned_there(stage: Stage) -> None:
    first, second = history(stage, ["one", "two"])
    await stage.ada.send(stage.channel, f"!pin ^{first} #a\n!pin ^{second} #b\n!unpin ^{first}")

    shown = text_of(await ask(stage, "pins", show="history", label="a"))

    assert "2 lines, newest first" in shown


async def test_p7_every_pin_of_a_full_board_is_reached_by_paging_within_every_limit(stage: Stage) -> None:
    targets = history(stage, [f"target {number}." for number in range(60)])
    for number, target in enumerate(targets):
        stage.env.backend.create_message(stage.channel.id, stage.ada.id, f"!pin ^{target} #n{number} " + "*" * 1500)
    await stage.settle()

    answer = await ask(stage, "pins")
    found, pages = quoted(answer), 1
    assert "**Working set**, 12 pins" in text_of(answer)
    assert "What ends in … is cut here" in text_of(answer)
    while buttons(answer)["Next"]:
        answer = answer_of(await stage.ada.click(answer, label="Next"))
        found += quoted(answer)
        pages += 1
        assert buttons(answer)["Previous"]

    assert found == [f"target {number}." for number in reversed(range(60))]
    assert "**Older pins**, 48" in text_of(answer)
    assert pages > 5
    assert all(not read_line(line.partition("— ")[2]).active for line in raw_text(answer).split("\n") if "— " in line)


async def test_p7_pins_over_the_bound_of_a_board_are_counted_and_found_under_their_label(stage: Stage) -> None:
    history(stage, ["!pin #kept the plan", *["!pin"] * 299])

    board = await ask(stage, "pins")
    while buttons(board).get("Next"):
        board = answer_of(await stage.ada.click(board, label="Next"))
    assert "50 older pins more: a board shows 250. Ask for one label to see its." in text_of(board)
    assert "the plan" not in text_of(board)

    kept = text_of(await ask(stage, "pins", label="kept"))
    assert "the plan" in kept
    assert "older pins more" not in kept
    assert "50 older pins more" in text_of(await ask(stage, "pins", show="export"))


async def test_p7_a_label_of_300_characters_is_cut_on_the_board_and_can_be_asked_for(stage: Stage) -> None:
    [target] = history(stage, ["the target"])
    label = "l" * 300
    await stage.ada.send(stage.channel, f"!pin ^{target} #{label}")

    assert f"#{'l' * 60}…" in text_of(await ask(stage, "pins"))
    assert quoted(await ask(stage, "pins", label=f"#{label}")) == ["the target"]
    assert "at most 300 characters" in (await ask(stage, "pins", label="l" * 302)).content
    assert all(len(c["value"]) <= 100 for c in await stage.ada.autocomplete(stage.channel, "pins", "label", "l"))


async def test_a_full_working_set_of_short_pins_is_on_one_page(stage: Stage) -> None:
    targets = history(stage, [f"we settled on option {number} for now" for number in range(12)])
    for target in targets:
        stage.env.backend.create_message(stage.channel.id, stage.ada.id, f"!pin ^{target} #decision agreed")
    await stage.settle()

    answer = await ask(stage, "pins")

    assert len(quoted(answer)) == 12
    assert not buttons(answer)


async def test_export_gives_the_whole_board_as_markdown_and_as_json(stage: Stage) -> None:
    first, second = history(stage, ["**600** calls", "gone soon"])
    note = "as ||measured|| " + "n" * 900
    await stage.ada.send(stage.channel, f"!pin ^{first} #limits {note}")
    await stage.ada.send(stage.channel, f"!pin ^{second}")
    stage.env.backend.delete_message(stage.channel.id, second)

    answer = await ask(stage, "pins", show="export")
    files = {attachment.filename: await attachment.read() for attachment in answer.attachments}

    markdown = files[f"pins-{stage.channel.id}.md"].decode()
    assert markdown.startswith("# Pins: \\#general\n")
    assert "n" * 900 in markdown
    assert "> \\*\\*600\\*\\* calls" in markdown
    assert "the pinned message is gone" in markdown
    assert "I looked at all 3 messages, back to the very first, 2025-12-01T00:00:00Z." in markdown
    wire = json.loads(files[f"pins-{stage.channel.id}.json"])
    assert list(wire) == ["pins", "coverage", "beyond", "gone", "not_read", "history", "last_seen"]
    assert (wire["gone"], wire["not_read"], wire["last_seen"]) == ([str(second)], [], [])
    pins = [recall.from_wire(recall.Pin, pin) for pin in wire["pins"]]
    assert [pin.sequence for pin in pins] == [second, first]
    assert pins[1].note == note
    assert isinstance(wire["pins"][0]["sequence"], str)


async def test_a_board_looks_further_back_when_asked_to(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "PIN_SCAN", 20)
    [target, *_] = history(stage, ["!pin #early me", *(f"hay {number}" for number in range(50))])

    answer = await ask(stage, "pins")
    assert "Nothing is pinned" in text_of(answer)
    assert "Older looks twice as far back" in text_of(answer).replace("**", "")
    answer = answer_of(await stage.ada.click(answer, label="Older"))
    assert "I looked at the newest 40 messages" in text_of(answer)
    answer = answer_of(await stage.ada.click(answer, label="Older"))

    assert len(quoted(answer)) == 1
    assert f"/{target})" in text_of(answer)
    assert buttons(answer) == {"Newer": True, "Older": False}


async def test_a2_a_pin_that_mentions_everybody_pings_nobody_by_any_path(stage: Stage) -> None:
    targets = history(stage, ["@everyone <@&1> <@2> @here"] * 30)
    for target in targets:
        stage.env.backend.create_message(stage.channel.id, stage.ada.id, f"!pin ^{target} #@here @everyone <@&1> <@2>")
    await stage.settle()

    for show in ("board", "history", "export"):
        for public in (False, True):
            answer = await ask(stage, "pins", show=show, public=public)
            if buttons(answer):
                await stage.ada.click(answer, label="Next")
    await ask(stage, "pins", label="x" * 400, public=True)

    bodies = sent_by_bot(stage)
    assert len(bodies) >= 11
    assert all(body["allowed_mentions"] == {"parse": []} for body in bodies)
    assert all(not message.mentions and not message.mention_everyone for message in stage.ours())


async def test_a4_a_public_answer_that_quotes_an_unpin_unpins_nothing(stage: Stage) -> None:
    [target] = history(stage, ["the target"])
    await stage.ada.send(stage.channel, f"!pin ^{target}")
    await stage.ada.send(stage.channel, f"say `!unpin ^{target}` to unpin")

    await ask(stage, "search", query="unpin", public=True)
    await ask(stage, "pins", public=True)

    assert quoted(await ask(stage, "pins")) == ["the target"]


async def test_what_people_wrote_is_nothing_but_text_in_a_client_of_another_make(stage: Stage) -> None:
    nasty = "# **a** _b_ ~~c~~ `d` [e](https://e.e) https://f.f <t:1:R> <:g:1> 1. - ||h|| > i &amp; ```j```"
    targets = history(stage, [nasty, f"> {nasty}", "||a||" + nasty])
    for target in targets:
        await stage.ada.send(stage.channel, f"!pin ^{target} #*b* {nasty}")
    await ask(stage, "pins", public=True)

    async with stage.env.preview(stage.channel, viewers=[stage.ada]) as preview:
        page = await preview.snapshot()
    messages = [message for message in page["messages"].values() if message["embeds"]]

    [embed] = messages[0]["embeds"]
    kinds, links = _tokens(embed["description_tokens"])
    assert kinds == {
        *("paragraph", "blockquote", "inline", "text", "break", "strong_open", "strong_close"),
        *("link_open", "link_close", "spoiler_open", "spoiler_close", "timestamp"),
    }
    assert {link.rpartition("/")[2] for link in links} == {str(target) for target in targets}
    assert len(links) == 3


def _tokens(tokens: list[dict[str, Any]]) -> tuple[set[str], list[str]]:
    kinds: set[str] = set()
    links: list[str] = []
    for token in tokens:
        kinds.add(token["type"])
        links += [token["href"]] if token["type"] == "link_open" else []
        inner_kinds, inner_links = _tokens(token.get("children", []))
        kinds |= inner_kinds
        links += inner_links
    return kinds, links


async def test_a_pinned_message_of_another_channel_is_a_bare_link_and_is_not_read(stage: Stage) -> None:
    hidden = stage.guild.create_text_channel(
        "hidden", overwrites={stage.guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    )
    await stage.settle()
    elsewhere = [
        stage.env.backend.create_message(channel.id, stage.ben.id, "what was said elsewhere").id
        for channel in (hidden, stage.quiet)
    ]
    for target in elsewhere:
        await stage.ada.send(stage.channel, f"!pin ^{target}")
    stage.env.http_requests.clear()

    for show in ("board", "export", "history"):
        answer = await ask(stage, "pins", show=show)
        assert "what was said elsewhere" not in raw_text(answer)
        assert "hidden" not in raw_text(answer)
    board = raw_text(await ask(stage, "pins"))
    assert board.count("gone, or was never in this channel") == 2
    for target in elsewhere:
        assert f"https://discord.com/channels/{stage.guild.id}/{stage.channel.id}/{target}" in board
    read = {request.path.split("/")[2] for request in stage.env.http_requests if "/messages" in request.path}
    assert not read & {str(hidden.id), str(stage.quiet.id)}
