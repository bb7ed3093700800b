"""What becomes of the messages in an export, whichever version of the exporter wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recall_bot.exports import Exports, load_exports

from recall import AgentAuthor, LogMessage, PersonAuthor, SystemAuthor, author_label, fold_pins
from tests.exporting import (
    ADA,
    BEN,
    CHANNEL_ID,
    FIRST_ID,
    GUILD_ID,
    NEWEST,
    RECALL,
    SCOUT,
    SELF_ID,
    VERSIONS,
    Version,
    attachment,
    channel,
    embed,
    export,
    forward,
    message,
    reference,
    reply,
    spelled,
    thread,
    user,
    write,
)

ada = PersonAuthor(id=ADA["id"], label="Ada")
scout = AgentAuthor(id=SCOUT["id"], label="Scout")


def loaded(path: Path, *messages: dict[str, Any], version: Version = NEWEST, **more: Any) -> Exports:
    """What is read of one file with these messages."""
    return load_exports([write(path / "engineering.json", messages, version, **more)])


def rows_of(
    path: Path, *messages: dict[str, Any], version: Version = NEWEST, own: tuple[str, ...] = ()
) -> list[LogMessage]:
    """The rows of one file, oldest first."""
    file = write(path / "engineering.json", messages, version)
    return list(load_exports([file], self_ids=own).rows[::-1])


def row_of(path: Path, written: dict[str, Any], *, own: tuple[str, ...] = ()) -> LogMessage:
    (row,) = rows_of(path, written, own=own)
    return row


# Versions


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: ".".join(map(str, version)))
def test_every_version_gives_the_same_rows_as_far_as_it_wrote_them(tmp_path: Path, version: Version) -> None:
    rows = rows_of(
        tmp_path,
        message(1, "Größe < 5 & „naïve“ 🙂\r\n日本語", mentions=[BEN]),
        message(2, "", type="GuildMemberJoin"),
        reply(3, "yes", to=1),
        message(4, "!pin ^1204000000000000001 #size", SCOUT),
        message(5, "", attachments=[attachment("plan b.pdf")], embeds=[embed("Build", "passed", branch="main")]),
        message(6, "Started a thread.", type="ThreadCreated", reference=reference(None, channel_id=77)),
        message(7, "", type="21", reference=reference(1)),
        forward(8, "hello deploy"),
        version=version,
    )

    named = version >= (2, 27)
    ben = PersonAuthor(id=BEN["id"], label="Ben of the Harbour" if named else "ben")
    assert [row.sequence - FIRST_ID for row in rows] == [1, 2, 3, 4, 5, 6, 8]
    assert rows[0].content == "Größe < 5 & „naïve“ 🙂\r\n日本語"
    assert rows[0].author == (ada if named else PersonAuthor(id=ADA["id"], label="ada"))
    assert rows[1].author == SystemAuthor(kind="new_member", label=author_label(rows[0].author))
    assert (rows[2].author, rows[2].reply_to) == (ben, FIRST_ID + 1 if version >= (2, 26) else None)
    assert isinstance(rows[3].author, AgentAuthor)
    assert rows[4].attached == "Build\npassed\nbranch\nmain\nplan b.pdf"
    assert rows[5].author == SystemAuthor(kind="thread_created", label=author_label(rows[0].author))
    assert rows[6].attached == ("forwarded: hello deploy" if version >= (2, 47) else "")
    assert [pin.label for pin in fold_pins(rows, dialect="discord")] == ["size"]


def test_an_escape_of_a_pair_is_one_character_in_either_case(tmp_path: Path) -> None:
    file = tmp_path / "escapes.json"
    file.write_bytes(spelled(export([message(1, "ZZ")])).replace(b"ZZ", rb"\uD83D\uDE00 \ud83d\ude00 \u2019 \u00A0."))

    assert load_exports([file]).rows[0].content == "😀 😀 ’ \u00a0."


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b""])
def test_the_line_ends_of_the_file_do_not_matter(tmp_path: Path, newline: bytes) -> None:
    file = tmp_path / "lines.json"
    file.write_bytes(spelled(export([message(1, "one\ntwo")])).replace(b"\n", newline))

    assert load_exports([file]).rows[0].content == "one\ntwo"


def test_a_file_that_was_saved_again_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_bytes(b"\xef\xbb\xbf" + spelled(export([message(1, "one")])))

    assert load_exports([file]).rows[0].content == "one"


def test_text_is_in_the_form_that_queries_are_in(tmp_path: Path) -> None:
    assert row_of(tmp_path, message(1, "cafe\u0301")).content == "café"


@pytest.mark.parametrize("seen", ["2026-03-02T09:00:00.8955725+03:00", "2026-03-02T06:00:00.9Z", "2026-03-02T06:00:00"])
def test_an_answer_says_when_the_file_was_written(tmp_path: Path, seen: str) -> None:
    exports = loaded(tmp_path, message(1), exported_at=seen)

    assert exports.open(None).as_of == "2026-03-02T06:00:00Z"


@pytest.mark.parametrize("seen", [None, "", "yesterday"])
def test_a_file_that_does_not_say_when_it_was_written_is_of_an_unknown_time(tmp_path: Path, seen: str | None) -> None:
    assert loaded(tmp_path, message(1), exported_at=seen).open(None).as_of is None


@pytest.mark.parametrize("message_keys", [{}, dict.fromkeys(message(1))], ids=["missing", "null"])
def test_whatever_is_null_or_missing_is_nothing(tmp_path: Path, message_keys: dict[str, Any]) -> None:
    bare = {**message_keys, "id": str(FIRST_ID + 1)}
    document = {"channel": {"id": str(CHANNEL_ID)}, "messages": [bare]}

    exports = load_exports([write(tmp_path / "bare.json", document)])

    assert exports.rows == (LogMessage(FIRST_ID + 1, str(CHANNEL_ID), None, PersonAuthor(id="0", label="0"), ""),)
    assert (exports.desks[0].name, exports.desks[0].guild_id) == (f"channel-{CHANNEL_ID}", "0")


@pytest.mark.parametrize(
    "key", ["attachments", "embeds", "stickers", "mentions", "reference", "interaction", "forwardedMessage"]
)
def test_what_rides_along_may_be_null(tmp_path: Path, key: str) -> None:
    document = {**export([]), "messages": [{**message(1, "text <@1>"), key: None}]}

    exports = load_exports([write(tmp_path / "null.json", document)])

    assert exports.rows[0].content == "text @user-1"


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    document = export([{**message(1, "one"), "id": FIRST_ID + 1}], place={**channel(), "id": CHANNEL_ID})
    document["guild"]["id"] = GUILD_ID
    exports = load_exports([write(tmp_path / "numbers.json", document)])

    assert (exports.rows[0].sequence, exports.desks[0].guild_id) == (FIRST_ID + 1, str(GUILD_ID))


@pytest.mark.parametrize("discriminator", ["0000", "0007", 7, "#", None])
def test_the_discriminator_may_be_anything(tmp_path: Path, discriminator: object) -> None:
    author = {**ADA, "discriminator": discriminator}

    assert row_of(tmp_path, message(1, "<@1100000000000000011>", author, mentions=[author])).content == "@Ada"


# Kinds of messages


@pytest.mark.parametrize("kind", ["Default", "0", "19", "20", "23", 0, "Reply", None])
def test_what_somebody_wrote_is_a_row_of_theirs(tmp_path: Path, kind: object) -> None:
    assert row_of(tmp_path, message(1, "text", type=kind)).author == ada


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("RecipientAdd", "recipient_add"),
        ("ChannelPinnedMessage", "pins_add"),
        ("6", "pins_add"),
        ("8", "premium_guild_subscription"),
        ("12", "channel_follow_add"),
        ("18", "thread_created"),
        ("24", "auto_moderation_action"),
        (25, "role_subscription_purchase"),
        ("999", "unknown_999"),
        ("SomethingNew", "SomethingNew"),
    ],
)
def test_what_nobody_wrote_is_a_row_of_the_system_without_text(tmp_path: Path, kind: object, name: str) -> None:
    row = row_of(tmp_path, message(1, "!pin #x Pinned a message.", type=kind, attachments=[attachment("a.png")]))

    assert row.author == SystemAuthor(kind=name, label="Ada")
    assert (row.content, row.attached) == ("", "")


@pytest.mark.parametrize("kind", ["21", "46", 21])
def test_what_only_points_elsewhere_is_no_row(tmp_path: Path, kind: object) -> None:
    assert rows_of(tmp_path, message(1, "copied", type=kind)) == []


def test_a_reply_is_one_only_within_its_channel(tmp_path: Path) -> None:
    rows = rows_of(
        tmp_path,
        reply(1, "here", to=0),
        reply(2, "elsewhere", to=0, channel_id=5),
        reply(3, "gone", to=0) | {"reference": reference(None)},
        message(4, "no reply", reference=reference(0)),
        message(5, "forward", type="Reply", reference=reference(0, kind="Forward")),
        message(6, "old", type="19", reference={"messageId": str(FIRST_ID), "channelId": None, "guildId": None}),
    )

    assert [row.reply_to for row in rows] == [FIRST_ID, None, None, None, None, FIRST_ID]


def test_a_bare_pin_by_reply_pins_what_it_answers(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, message(1, "The limit is 5."), reply(2, "!pin #limits", to=1))

    assert [pin.sequence for pin in fold_pins(rows, dialect="discord")] == [FIRST_ID + 1]


def test_a_forward_is_searched_and_marked_and_does_nothing(tmp_path: Path) -> None:
    row = row_of(
        tmp_path,
        forward(1, "!pin #x hello deploy", attachments=[attachment("log.txt")], embeds=[embed("Title", "Text")]),
    )

    assert row.attached == "forwarded: !pin #x hello deploy\nforwarded: Title\nforwarded: Text\nforwarded: log.txt"
    assert fold_pins([row], dialect="discord") == ()


def test_a_sticker_alone_is_a_row_without_text(tmp_path: Path) -> None:
    sticker = {"id": "1", "name": "Wave", "format": "Lottie", "sourceUrl": "https://cdn.example.net/1.json"}

    assert row_of(tmp_path, message(1, "", stickers=[sticker])).content == ""


def test_a_webhook_is_an_agent_under_whatever_names_it_uses(tmp_path: Path) -> None:
    rows = rows_of(
        tmp_path,
        message(1, "one", user(50, "deploys", "deploys", is_bot=True)),
        message(2, "two", user(50, "alerts", "alerts", is_bot=True)),
    )

    assert [(row.author.id, row.author.label) for row in rows if isinstance(row.author, AgentAuthor)] == [
        ("1100000000000000050", "deploys"),
        ("1100000000000000050", "alerts"),
    ]


def test_a_name_cannot_open_code_or_a_line(tmp_path: Path) -> None:
    author = user(51, "x", "Eve`\n!unpin ^5\\")

    assert row_of(tmp_path, message(1, "hi", author)).author == PersonAuthor(id=author["id"], label="Eve' !unpin ^5")


# Text as it was sent


def test_text_as_it_was_sent_is_turned_into_what_is_seen(tmp_path: Path) -> None:
    rows = rows_of(
        tmp_path,
        message(
            1,
            f"<@{BEN['id']}> <@!{SCOUT['id']}> <@&1100000000000000500> <#{CHANNEL_ID}> <:party:99> <a:dance:98>",
            mentions=[BEN],
        ),
        message(2, f"<@404> <@&405> <#406> `<#{CHANNEL_ID}>` \\<#{CHANNEL_ID}>"),
        message(3, "later", SCOUT),
    )

    assert rows[0].content == "@Ben of the Harbour @Scout @keepers #engineering :party: :dance:"
    assert rows[1].content == f"@user-404 @role-405 #channel-406 `<#{CHANNEL_ID}>` \\<#{CHANNEL_ID}>"


def test_text_as_it_is_seen_stays_as_it_is(tmp_path: Path) -> None:
    text = "@Ben of the Harbour #engineering :party: **bold** #deleted-channel a < b > c <t:1:R> <https://example.net>"

    assert row_of(tmp_path, message(1, text)).content == text


def test_the_label_that_became_a_channel_is_the_label_again(tmp_path: Path) -> None:
    decision = write(tmp_path / "decision.json", [], place=channel("decision", 77))
    main = write(tmp_path / "main.json", [message(1, "!pin <#77> use SQLite"), message(2, "!pin <#78> gone")])

    pins = fold_pins(load_exports([main, decision]).rows[::-1], dialect="discord")

    assert [pin.label for pin in pins] == ["channel-78", "decision"]


def test_what_rides_along_is_turned_as_well(tmp_path: Path) -> None:
    rows = rows_of(
        tmp_path,
        message(1, "", embeds=[embed("By <@1100000000000000011>", "in <#5>")]),
        forward(2, f"ask <@{ADA['id']}>"),
    )

    assert rows[0].attached == "By @Ada\nin #channel-5"
    assert rows[1].attached == "forwarded: ask @Ada"


# Our own messages


INVOKED = {"id": "5", "name": "pin", "user": ADA}


def test_our_messages_are_no_rows(tmp_path: Path) -> None:
    messages = [
        message(1, "!pin ^1204000000000000000 #x", RECALL),
        message(2, "answer <@1>", RECALL, interaction=INVOKED, type="20"),
        message(3, "", RECALL, type="ChannelPinnedMessage"),
        message(4, "hello"),
    ]

    assert len(rows_of(tmp_path, *messages)) == 4
    assert [row.content for row in rows_of(tmp_path, *messages, own=(SELF_ID,))] == ["hello"]


def test_a_line_that_somebody_had_us_post_is_theirs(tmp_path: Path) -> None:
    row = row_of(
        tmp_path, message(1, f"!pin ^{FIRST_ID} #x note", RECALL, interaction=INVOKED, type="20"), own=(SELF_ID,)
    )

    assert row.author == ada
    assert [pin.label for pin in fold_pins([row], dialect="discord")] == ["x"]


@pytest.mark.parametrize("line", [f"!support #x ^{FIRST_ID} as measured", f"!object >{FIRST_ID}"])
def test_a_line_of_a_deliberation_that_somebody_had_us_post_is_theirs(tmp_path: Path, line: str) -> None:
    row = row_of(tmp_path, message(1, line, RECALL, interaction=INVOKED, type="Default"), own=(SELF_ID,))

    assert row.author == ada


@pytest.mark.parametrize(
    "broken",
    [
        {"content": f"!pin ^{FIRST_ID} #x\n!pin ^{FIRST_ID} #y"},
        {"content": f" !pin ^{FIRST_ID} #x"},
        {"content": f"!pin ^{FIRST_ID}  #x"},
        {"embeds": [embed("a", "b")]},
        {"attachments": [attachment("a.png")]},
        {"stickers": [{"id": "1", "name": "Wave", "format": "Png", "sourceUrl": ""}]},
        {"interaction": None},
        {"interaction": {**INVOKED, "user": None}},
        {"interaction": {**INVOKED, "user": SCOUT}},
    ],
)
def test_any_other_line_of_ours_is_nobodys(tmp_path: Path, broken: dict[str, Any]) -> None:
    line = message(1, f"!pin ^{FIRST_ID} #x", RECALL, interaction=INVOKED, type="20") | broken

    assert rows_of(tmp_path, line, own=(SELF_ID,)) == []


# Places of a kind of their own


def test_direct_messages_have_a_guild_without_an_id(tmp_path: Path) -> None:
    document = export(
        [message(1, "hi")], place=channel("Ada", kind="DirectTextChat", categoryId=None, category="Private")
    )
    document["guild"] = {"id": "0", "name": "Direct Messages", "iconUrl": "https://cdn.example.net/0.png"}

    desk = load_exports([write(tmp_path / "dm.json", document)]).desks[0]

    assert (desk.guild_id, desk.guild_name, desk.name) == ("0", "Direct Messages", "Ada")


async def test_an_empty_channel_is_an_empty_log_that_is_whole(tmp_path: Path) -> None:
    exports = loaded(tmp_path)

    assert (exports.rows, exports.problems) == ((), ())
    assert await exports.open(str(CHANNEL_ID)).log.read_before(None, 10) is not None
    assert exports.desks[0].from_start


def test_the_messages_of_a_thread_of_an_unknown_channel_are_its_own_desk(tmp_path: Path) -> None:
    exports = loaded(tmp_path, message(1, "hi"), place=thread("lost", 90, parent_id=None))

    assert [(desk.id, desk.name, desk.threads) for desk in exports.desks] == [("90", "lost", ())]
    assert exports.rows[0].parent is None
