from __future__ import annotations

from typing import Any

import discord
import pytest
from recall_bot.rows import Identity, public_channel_name, row_of
from recall_bot.shown import AUTHORED_TYPES, MESSAGE_TYPES, ROWLESS_TYPES

import recall
from tests.payloads import (
    ADA,
    BEN,
    BOT,
    CHANNEL,
    FORUM,
    GUILD,
    HIDDEN,
    PRIVATE,
    SCOUT,
    SECRET,
    THREAD,
    attachment,
    channel,
    forward,
    make_client,
    make_guild,
    make_message,
    role,
    snapshot,
    thread,
    user,
)

US = Identity(BOT)
FORMER = 999
MODERATORS = 555


def place(place_id: int = CHANNEL) -> Any:
    """Return a channel or thread of a guild that has one of each kind."""
    guild = make_guild(
        channels=[
            channel(CHANNEL, "decision"),
            channel(SECRET, "layoffs-q3", permission_overwrites=[HIDDEN]),
            channel(FORUM, "help", 15),
        ],
        threads=[
            thread(THREAD, "the limiter", CHANNEL),
            thread(PRIVATE, "plans", CHANNEL, 12),
            thread(PRIVATE + 9, "leak", SECRET),
            thread(FORUM + 7, "a post", FORUM),
        ],
        roles=[role(MODERATORS, "Mods")],
    )
    return guild.get_channel_or_thread(place_id)


def row(content: str = "", *, at: int = CHANNEL, identity: Identity = US, **more: Any) -> recall.LogMessage | None:
    return row_of(make_message(place(at), content, **more), identity=identity)


def some_row(content: str = "", **more: Any) -> recall.LogMessage:
    found = row(content, **more)
    assert found is not None
    return found


def directives(found: recall.LogMessage) -> list[tuple[str | None, int | None]]:
    read = recall.read_directives(
        found.content, author=found.author, sequence=found.sequence, dialect="discord", reply_to=found.reply_to
    )
    return [(directive.label, directive.target) for directive in read]


# who


def test_a_member_is_a_person_under_their_display_name() -> None:
    assert some_row("hi", author=user(ADA, "Ada `\nL")).author == recall.PersonAuthor(id=str(ADA), label="Ada ' L")


def test_a_bot_is_an_agent() -> None:
    assert some_row("hi", author=user(SCOUT, "Scout", bot=True)).author == recall.AgentAuthor(str(SCOUT), "Scout")


@pytest.mark.parametrize("name", ["Build", "Ada"])
def test_a_webhook_is_its_id_whatever_name_it_takes(name: str) -> None:
    found = some_row("hi", webhook_id="77", author={**user(77, name), "bot": True})
    assert found.author == recall.AgentAuthor(id="77", label=name)


def test_an_apps_answer_is_that_of_the_app_and_not_of_a_webhook() -> None:
    found = some_row("done", type=20, webhook_id="88", application_id="88", author=user(SCOUT, "Scout", bot=True))
    assert found.author == recall.AgentAuthor(id=str(SCOUT), label="Scout")


def test_an_author_whose_name_flattens_to_nothing_is_shown_by_id() -> None:
    assert recall.author_label(some_row("hi", author=user(ADA, "\\")).author).isdigit()


# which


@pytest.mark.parametrize("number", sorted(AUTHORED_TYPES))
def test_what_somebody_wrote_is_a_row_with_its_text(number: int) -> None:
    assert some_row("hi", type=number).content == "hi"


@pytest.mark.parametrize("number", sorted({*MESSAGE_TYPES, 99} - AUTHORED_TYPES - ROWLESS_TYPES))
def test_what_nobody_wrote_is_a_row_of_the_system_without_text(number: int) -> None:
    found = some_row(
        "layoffs-q3", type=number, embeds=[{"title": "blocked words"}], message_reference={"channel_id": "5"}
    )
    kind = MESSAGE_TYPES.get(number, "unknown_99")
    assert found.author == recall.SystemAuthor(kind=kind, label="Ada")
    assert (found.content, found.attached, found.reply_to) == ("", "", None)


@pytest.mark.parametrize("number", sorted(ROWLESS_TYPES))
def test_what_only_points_at_a_message_is_no_row(number: int) -> None:
    assert row("", type=number, message_reference={"channel_id": str(CHANNEL), "message_id": "5"}) is None


def test_an_ephemeral_message_is_no_row_whoever_wrote_it() -> None:
    assert row("hi", flags=64) is None
    assert row("!pin ^5", flags=64, **asked_by(ADA)) is None


# where


def test_a_channel_message_belongs_to_its_channel() -> None:
    found = some_row("hi")
    assert (found.chat_id, found.parent) == (str(CHANNEL), None)


def test_a_message_in_a_public_thread_belongs_to_the_channel_under_that_thread() -> None:
    found = some_row("hi", at=THREAD)
    assert (found.chat_id, found.parent) == (str(CHANNEL), THREAD)


def test_a_message_in_a_private_thread_belongs_to_that_thread_alone() -> None:
    found = some_row("hi", at=PRIVATE)
    assert (found.chat_id, found.parent) == (str(PRIVATE), None)


def test_the_starter_of_a_forum_post_is_the_root_of_its_thread() -> None:
    starter = some_row("question", at=FORUM + 7, id=str(FORUM + 7))
    reply = some_row("answer", at=FORUM + 7)
    conversation = recall.Conversation(str(FORUM), "help", FORUM + 7)
    assert (starter.chat_id, starter.parent) == (str(FORUM), None)
    assert conversation.holds(starter)
    assert conversation.holds(reply)


# replies


def reference(channel_id: int, **more: Any) -> dict[str, Any]:
    return {"message_reference": {"channel_id": str(channel_id), "message_id": "5", "guild_id": str(GUILD), **more}}


def test_a_reply_names_the_message_it_answers_also_when_that_is_gone() -> None:
    assert some_row("yes", type=19, **reference(CHANNEL)).reply_to == 5
    assert some_row("yes", type=19, referenced_message=None, **reference(CHANNEL)).reply_to == 5


@pytest.mark.parametrize(
    "more",
    [
        {"type": 19, **reference(SECRET)},
        {"type": 0, **reference(CHANNEL)},
        {"type": 19, **reference(CHANNEL, type=1)},
        {"type": 23, **reference(CHANNEL)},
        {"type": 19, "message_reference": {"channel_id": str(CHANNEL)}},
    ],
)
def test_nothing_else_is_a_reply(more: dict[str, Any]) -> None:
    assert some_row("yes", **more).reply_to is None


# what rides along


def test_forwarded_text_is_found_and_marked_and_its_marker_does_nothing() -> None:  # S2
    found = some_row("", **forward(snapshot("!pin #x hello deploy", attachments=[attachment("plan.md")])))
    assert found.content == ""
    assert found.attached == "forwarded: !pin #x hello deploy\nforwarded: plan.md"
    assert directives(found) == []
    (hit,) = recall.search_rows([found], recall.SearchQuery(pattern=recall.TextPattern("deploy")))
    assert hit.excerpt.startswith("forwarded: ")


def test_embeds_files_and_polls_ride_along() -> None:
    poll = {
        "question": {"text": "Ship <@&555>?"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "yes"}}],
        "expiry": "2026-01-02T00:00:00+00:00",
        "allow_multiselect": False,
        "layout_type": 1,
    }
    embed = {"title": "CI", "description": "!pin ^5", "fields": [{"name": "job", "value": "lint", "inline": True}]}
    found = some_row("see", embeds=[embed, {"type": "gifv"}], attachments=[attachment("log.txt")], poll=poll)
    assert found.content == "see"
    assert found.attached == "CI\n!pin ^5\njob\nlint\nlog.txt\nShip @Mods?"
    assert directives(found) == []


def test_the_text_of_components_rides_along_however_deep() -> None:
    text = {"type": 10, "content": "inside <#" + str(SECRET) + ">"}
    button = {"type": 2, "style": 1, "label": "Press", "custom_id": "b"}
    media = {"type": 11, "media": {"url": "https://example.com/a.png"}}
    section = {"type": 9, "components": [{"type": 10, "content": "section"}], "accessory": media}
    found = some_row(
        "", flags=1 << 15, components=[{"type": 17, "components": [text, section]}, {"type": 1, "components": [button]}]
    )
    assert found.attached == f"inside #channel-{SECRET}\nsection"


def test_a_payload_without_optional_keys_is_a_row() -> None:
    message = make_message(place(), "hi")
    del message.components
    assert row_of(message, identity=US) == some_row("hi", id=str(message.id))


# markup and secret names


@pytest.mark.parametrize("label", ["<#200000000000000000>", "#decision"])
def test_a_label_that_became_a_channel_is_that_label_again(label: str) -> None:  # P2
    found = some_row(f"!pin {label} use SQLite")
    assert found.content == "!pin #decision use SQLite"
    assert directives(found) == [("decision", found.sequence)]


def test_a_label_that_became_a_hidden_channel_is_its_id() -> None:  # P2
    assert directives(some_row(f"!pin <#{SECRET}> x"))[0][0] == f"channel-{SECRET}"


def test_a_label_that_became_a_channel_since_deleted_is_its_id() -> None:  # P2
    message = make_message(place(), f"!pin <#{CHANNEL}> x")
    assert isinstance(message.guild, discord.Guild)
    message.guild._remove_channel(message.channel)
    found = row_of(message, identity=US)
    assert found is not None
    assert directives(found)[0][0] == f"channel-{CHANNEL}"


@pytest.mark.parametrize("secret", [SECRET, PRIVATE, PRIVATE + 9])
def test_a_name_that_not_everybody_may_see_is_nowhere(secret: int) -> None:  # A3
    embed = {"title": f"<#{secret}>", "fields": [{"name": f"<#{secret}>", "value": "x"}]}
    found = some_row(f"see <#{secret}>", embeds=[embed], **forward(snapshot(f"<#{secret}>")))
    assert f"#channel-{secret}" in found.content
    for name in ("layoffs-q3", "plans", "leak"):
        assert name not in found.content + found.attached
        assert recall.search_rows([found], recall.SearchQuery(pattern=recall.TextPattern(name))) == ()


def test_a_name_that_everybody_may_see_is_shown() -> None:
    guild = place().guild
    assert public_channel_name(guild, CHANNEL) == "decision"
    assert public_channel_name(guild, THREAD) == "the limiter"
    assert public_channel_name(guild, 5) is None
    assert public_channel_name(None, CHANNEL) is None


def test_who_is_mentioned_is_named_though_not_known_otherwise() -> None:
    found = some_row(f"<@{BEN}> <@{BOT}> <@9> <@&555> <@&{GUILD}>", mentions=[user(BEN, "Ben\n`B`")])
    assert found.content == "@Ben 'B' @Recall @user-9 @Mods @everyone"


# our own messages


def asked_by(user_id: int, *, bot: bool = False, author: int = BOT) -> dict[str, Any]:
    metadata = {"id": "1", "type": 2, "user": user(user_id, "Ada", bot=bot), "authorizing_integration_owners": {}}
    return {"interaction_metadata": metadata, "author": user(author, "Recall", bot=True)}


@pytest.mark.parametrize("kind", [0, 19, 20, 23])
def test_a_marker_line_posted_for_a_person_is_their_row(kind: int) -> None:
    found = some_row("!pin ^5 #ops <@9>", type=kind, **asked_by(ADA))
    assert found.author == recall.PersonAuthor(id=str(ADA), label="Ada")
    assert directives(found) == [("ops", 5)]


def test_a_line_of_a_former_bot_of_ours_counts_as_our_own() -> None:
    identity = Identity(BOT, (FORMER,))
    assert row("hello", identity=identity, author=user(FORMER, "Old", bot=True)) is None
    found = row("!unpin ^5", identity=identity, **asked_by(ADA, author=FORMER))
    assert found is not None
    assert recall.author_id(found.author) == str(ADA)


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("hello", asked_by(ADA)),
        ("!pin ^5", {"author": user(BOT, "Recall", bot=True)}),
        ("!pin ^5", asked_by(SCOUT, bot=True)),
        ("!pin ^5\n!unpin ^5", asked_by(ADA)),
        ("!pin  ^5", asked_by(ADA)),
        ("!pin ^5", {**asked_by(ADA), "embeds": [{"url": "https://example.com"}]}),
        ("!pin ^5", {**asked_by(ADA), "attachments": [attachment("a.png")]}),
        ("!pin ^5", {**asked_by(ADA), "components": [{"type": 10, "content": ""}]}),
        ("!pin ^5", {**asked_by(ADA), "sticker_items": [{"id": "1", "name": "s", "format_type": 1}]}),
        ("!pin ^5", {**asked_by(ADA), **forward(snapshot())}),
        ("", {"author": user(BOT, "Recall", bot=True), "type": 6}),
        ("!pin ^5", {**asked_by(ADA), "type": 18}),
    ],
)
def test_nothing_else_of_ours_is_a_row(content: str, more: dict[str, Any]) -> None:
    assert row(content, **more) is None


def test_somebody_elses_bot_that_posts_for_a_person_stays_the_author() -> None:
    found = some_row("!pin ^5", **asked_by(ADA, author=SCOUT))
    assert recall.author_id(found.author) == str(SCOUT)


def test_a_direct_message_is_a_row_without_a_guild() -> None:
    client = make_client()
    data: Any = {"id": "5", "type": 1, "recipients": [user(ADA, "Ada")]}
    direct = discord.DMChannel(me=client._connection.user, state=client._connection, data=data)  # type: ignore[arg-type]
    found = row_of(make_message(direct, f"<#{CHANNEL}> <@&1>"), identity=US)
    assert found is not None
    assert (found.chat_id, found.content) == ("5", f"#channel-{CHANNEL} @role-1")
