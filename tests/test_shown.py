from __future__ import annotations

import unicodedata

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.shown import (
    AUTHORED_TYPES,
    MESSAGE_TYPES,
    ROWLESS_TYPES,
    EmbedText,
    Extras,
    Names,
    attached,
    flatten_name,
    own_line,
    rendered_markers,
    shown,
    type_name,
)

import recall

NAMES = Names(user={1: "Ada"}.get, role={2: "Mods"}.get, channel={3: "decision"}.get)
ADA = recall.PersonAuthor(id="1", label="Ada")
HARD_TEXT = st.text(alphabet=st.sampled_from("`\\<>#@!&:123 \n\r\x00\x1c\u2028\u1feféa\u0301pin^~*_|"), max_size=60)


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("<@1> and <@!1>", "@Ada and @Ada"),
        ("<@&2>", "@Mods"),
        ("!pin <#3> use SQLite", "!pin #decision use SQLite"),
        ("<:wave:77><a:spin:78>", ":wave::spin:"),
        ("<@9> <@&9> <#9>", "@user-9 @role-9 #channel-9"),
        ("<@> <#x> <1> <@1", "<@> <#x> <1> <@1"),
        ("<t:0:R> </pins:9> <id:guide>", "<t:0:R> </pins:9> <id:guide>"),
        ("<@١>", "<@١>"),
        (r"\<@1> \\<@1>", r"\<@1> \\@Ada"),
        ("`<@1>` <@1>", "`<@1>` @Ada"),
        ("```\n<#3>\n```<#3>", "```\n<#3>\n```#decision"),
        ("> <@1>", "> @Ada"),
        ("cafe\u0301", "café"),
        ("<@99999999999999999999>", "@user-99999999999999999999"),
    ],
)
def test_text_is_turned_back_into_what_the_client_shows(sent: str, seen: str) -> None:
    assert shown(sent, NAMES) == seen


@pytest.mark.parametrize(
    ("name", "flat"),
    [
        ("  Ada \n\n Lovelace ", "Ada Lovelace"),
        ("`!pin`", "'!pin'"),
        ("\u1fef", "'"),
        ("e\u0301", "é"),
        ("a\x00\x1b[31m", "a[31m"),
        ("line\u2028break\u0085", "line break"),
        ("tail\\", "tail"),
        (r"¯\_(ツ)_/¯", r"¯\_(ツ)_/¯"),
        ("\n`\\", "'"),
        ("", ""),
    ],
)
def test_a_name_is_flattened(name: str, flat: str) -> None:
    assert flatten_name(name) == flat


@settings(deadline=None, max_examples=200)
@given(HARD_TEXT | st.text(max_size=40))
def test_a_flat_name_stays_flat_and_ends_no_line_and_no_code(name: str) -> None:
    flat = flatten_name(name)
    assert flatten_name(flat) == flat
    assert not set(flat) & set("`\n\r\u2028\u2029\x85")
    assert not flat.endswith("\\")
    assert unicodedata.is_normalized("NFC", flat)


@settings(deadline=None, max_examples=300)
@given(HARD_TEXT, HARD_TEXT)
def test_no_name_makes_a_marker_act_or_stop(text: str, name: str) -> None:
    """What a reader quotes acts or not whatever somebody is called."""
    body = f"{text}<@1>\n!pin ^5\n<@1> `!pin ^6`"

    def targets(called: str) -> list[int | None]:
        lines = shown(body, Names(user=lambda _id: called))
        return [found.target for found in recall.read_directives(lines, author=ADA, sequence=9, dialect="discord")]

    assert targets(name) == targets("Ada")


@settings(deadline=None, max_examples=200)
@given(HARD_TEXT | st.text(max_size=60))
def test_what_is_shown_is_composed_and_never_fails(text: str) -> None:
    assert unicodedata.is_normalized("NFC", shown(text, NAMES))


def test_every_message_type_is_known_by_its_name_and_number() -> None:
    assert {kind.value: kind.name for kind in discord.MessageType} == MESSAGE_TYPES
    assert {type_name(number) for number in AUTHORED_TYPES} == {
        "default",
        "reply",
        "chat_input_command",
        "context_menu_command",
    }
    assert {type_name(number) for number in ROWLESS_TYPES} == {"thread_starter_message", "poll_result"}
    assert type_name(99) == "unknown_99"


def test_each_part_that_rides_along_stands_on_a_line_of_its_own() -> None:
    extras = Extras(
        embeds=(EmbedText("Build", "failed for <@1>", (("branch", "main"), ("", "red"))),),
        components=("press here", "  "),
        forwards=(("!pin #x hello", Extras(files=("a.png",))),),
        files=("notes\n.txt",),
        poll="Lunch in <#3>?",
    )
    assert attached(extras, NAMES).split("\n") == [
        "Build",
        "failed for @Ada",
        "branch",
        "main",
        "red",
        "press here",
        "forwarded: !pin #x hello",
        "forwarded: a.png",
        "notes .txt",
        "Lunch in #decision?",
    ]


def test_nothing_rides_along_where_there_is_nothing_to_read() -> None:
    assert attached(Extras()) == attached(Extras(embeds=(EmbedText(),), forwards=((" ", Extras()),))) == ""


@pytest.mark.parametrize(
    "line",
    [
        "!pin ^5",
        "!pin ^5 #ops",
        "!pin ^5 #ops keep <this>",
        "!unpin ^5",
        "!support #x ^5",
        "!support #x ^5 ^6 as measured",
        "!object >5",
        "!object #x >5 too slow",
    ],
)
def test_a_marker_line_posted_for_a_person_is_that_persons_row(line: str) -> None:
    assert own_line(line, bare=True, invoker=ADA) == ADA


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "!pin",
        "!pin ^5  #ops",
        "!pin ^5 ",
        " !pin ^5",
        "! pin ^5",
        "!pin #ops ^5",
        "!pin ^+5",
        "!pin ^5\n",
        "!pin ^5\nhello",
        "!pin ^5\n!unpin ^5",
        "> !pin ^5",
        "`!pin ^5`",
        "!unpin ^5 #ops",
        "!support ^5 #x",
        "!support #x  ^5",
        "!support #x as measured ^5",
        "!support #x ^5 ^5",
        "!object >5\n!object >6",
        "!refute #x",
        "!pin ^5\n!support #x ^5",
        "!pin ^5 a\u2028b",
    ],
)
def test_no_other_line_of_ours_is_a_row(line: str) -> None:
    assert own_line(line, bare=True, invoker=ADA) is None


def test_a_line_of_ours_is_no_row_with_anything_beside_it_or_with_nobody_behind_it() -> None:
    assert own_line("!pin ^5", bare=False, invoker=ADA) is None
    assert own_line("!pin ^5", bare=True, invoker=None) is None


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=40) | HARD_TEXT)
def test_a_line_of_ours_is_a_row_only_when_it_is_its_own_parse(content: str) -> None:
    for line in (content, f"!pin ^5 {content}", f"!support #x ^5 {content}"):
        if own_line(line, bare=True, invoker=ADA) is not None:
            assert rendered_markers(line, ADA) == [line]
            assert "\n" not in line
