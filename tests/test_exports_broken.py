"""Files that are not what they should be: every whole message before a break, else one sentence on what is wrong."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.exports import ExportError, Exports, load_exports
from recall_bot.held import named_places

from tests.exporting import (
    BEN,
    CHANNEL_ID,
    FIRST_ID,
    RECALL,
    SCOUT,
    SELF_ID,
    SMILE,
    attachment,
    embed,
    export,
    forward,
    message,
    reference,
    reply,
    spelled,
)

MESSAGES = (
    message(
        1, 'brackets ]}[{ "quotes" \\ and 🙂', mentions=[BEN], reactions=[{"emoji": SMILE, "count": 2, "users": [BEN]}]
    ),
    reply(2, f"<@{BEN['id']}> <#5> <@&6>", to=1),
    message(3, "!pin ^1204000000000000001 #x", SCOUT, embeds=[embed("t", "d", a="b")], attachments=[attachment("a")]),
    message(4, "", type="ThreadCreated", reference=reference(None, channel_id=77)),
    message(5, f"!pin ^{FIRST_ID} #y", RECALL, type="20", interaction={"id": "1", "name": "pin", "user": BEN}),
    forward(6, "deploy"),
)


def text_of(*messages: dict[str, Any], **more: Any) -> bytes:
    return spelled(export(messages, **more))


def read(path: Path, data: bytes) -> Exports:
    file = path / "file.json"
    file.write_bytes(data)
    return load_exports([file])


def ends_of(data: bytes) -> tuple[int, list[int]]:
    """Where the list of messages begins in a document, and where each message of it ends."""
    text = data.decode()
    at = begun = text.index('"messages": [') + len('"messages": [')
    ends = []
    while (found := re.compile(r"[\s,]*(?=\{)").match(text, at)) is not None:
        at = json.JSONDecoder().raw_decode(text, found.end())[1]
        ends.append(len(text[:at].encode()))
    return len(text[:begun].encode()), ends


# Breaking off


@pytest.mark.parametrize(("indent", "step"), [(None, 1), (2, 17)])
def test_a_file_cut_at_any_byte_gives_every_whole_message_before_the_break(
    tmp_path: Path, indent: int | None, step: int
) -> None:
    document = export(MESSAGES)
    if step == 1:  # what is null or empty says nothing new about brackets and quotes
        document["messages"] = [{key: value for key, value in each.items() if value} for each in MESSAGES[:3]]
    data = spelled(document, indent=indent)
    begun, ends = ends_of(data)
    file = tmp_path / "cut.json"
    with file.open("wb", buffering=0) as growing:
        for end in range(0, len(data), step):
            growing.write(data[max(0, end - step) : end])
            if end < begun:
                with pytest.raises(ExportError) as told:
                    load_exports([file])
                assert "\n" not in told.value.sentence
                continue
            exports = load_exports([file])
            whole = sum(done <= end for done in ends)
            assert [row.sequence - FIRST_ID for row in exports.rows[::-1]] == list(range(1, whole + 1)), data[:end][
                -40:
            ]
            noun = "message" if whole == 1 else "messages"
            assert exports.problems == (f"{file}: breaks off after {whole} whole {noun}",)


def test_a_file_that_its_writer_closed_after_half_a_message_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    data = text_of(*MESSAGES)
    closed = data[: data.rindex(b'"nickname"')] + b'\n  ],\n  "messageCount": 6\n}\n'

    exports = read(tmp_path, closed)

    assert [row.sequence - FIRST_ID for row in exports.rows[::-1]] == [1, 2, 3, 4, 5]
    assert "breaks off after 5 whole messages" in exports.problems[0]


async def test_a_file_that_broke_off_newest_first_does_not_reach_the_beginning(tmp_path: Path) -> None:
    oldest_first, newest_first = text_of(*MESSAGES), text_of(*MESSAGES[::-1])

    for data, whole in ((oldest_first, True), (newest_first, False)):
        exports = read(tmp_path, data[: ends_of(data)[1][3]])
        assert exports.desks[0].from_start is whole
        answer = await queries.pins(exports.open(str(CHANNEL_ID)), queries.PinsRequest())
        assert answer.coverage.beginning is whole


# Other faults


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b" \r\n", "is empty"),
        ("{}".encode("utf-16"), "is UTF-16 (save it as UTF-8)"),
        (b"hello", "is not JSON, at line 1, column 1"),
        (b"\x89PNG\r\n\x1a\n", "is not JSON, at line 1, column 1"),
        (b"[]", "is no channel export: expected `object`, got `array`"),
        (b"{}", "is no channel export: object missing required field `channel`"),
        (b'{"channel": {"id": "1"}}', "is no channel export: object missing required field `messages`"),
        (b'{"channel": {}, "messages": []}', "is no channel export: object missing required field `id`, at $.channel"),
        (b'{"channel": {"id": "x"}}', "is no channel export: expected `int`, got `str`, at $.channel.id"),
        (
            b'{"channel": {"id": "1"}, "messages": [{"id": "1"}, {"id": null}]}',
            "is no channel export: expected `int`, got `null`, at $.messages[1].id",
        ),
        (
            b'{"channel": {"id": "1"}, "messages": [{"id": "9223372036854775808"}]}',
            "is no channel export: expected `int` <= 9223372036854775807, at $.messages[0].id",
        ),
        (b'{"channel": {"id": "1"},\n "messages": [,]}', "is broken JSON: invalid character, at line 2, column 15"),
        (b'{"channel": {"id": "1"}, "messages": []} more', "is broken JSON: trailing characters, at line 1, column 43"),
        ('{"ä": "ö", "channel": }'.encode(), "is broken JSON: invalid character, at line 1, column 23"),
        (b'{"channel": {"id": "1", "name": "\xff"}, "messages": []}', "is not UTF-8, at line 1, column 34"),
        (
            b'{"channel": {"id": "1", "name": "\\uD83D"}, "messages": []}',
            "holds half of an escaped character, at line 1, column 34",
        ),
        (b'{"topic": ' + b"[" * 100_000, "is nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_no_export_is_one_sentence_with_file_and_place(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(ExportError) as told:
        read(tmp_path, data)

    assert told.value.sentence == f"{tmp_path / 'file.json'}: {said}"


def test_a_break_in_the_middle_of_a_file_is_no_end_of_it(tmp_path: Path) -> None:
    data = text_of(*MESSAGES)
    at = ends_of(data)[1][2]

    with pytest.raises(ExportError, match=r"is broken JSON: .*, at line \d+, column \d+$"):
        read(tmp_path, data[: at - 40] + data[at:])


def test_what_is_not_there_or_not_a_file_is_said(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    for path, said in (
        (loop, f"cannot be read (Symlink loop from {str(loop)!r})"),
        (tmp_path / "none.json", "cannot be read (No such file or directory)"),
        (tmp_path, "holds no .json file"),
        (tmp_path / "a\0b", "cannot be read (embedded null byte)"),
        (tmp_path / ("x" * 300), "cannot be read (File name too long)"),
    ):
        with pytest.raises(ExportError) as told:
            load_exports([path])
        assert told.value.sentence == f"{path}: {said}"


# Anything


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(inner, (*path, key))


DOCUMENT = export(MESSAGES)
PLACES = list(places_in(DOCUMENT))[1:]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, -1, 0, 1.5, 2**63 - 1, 2**64, 10**400, "", "0", "-1", "01", "١٢", "²", "9" * 19, "9" * 5_000,
        "Forward", "21", "46", "Reply", "GuildPublicThread", "\ud83d", "a\0b", "<@1> <#1> <@&1> <:a:1>", [], {}, [None],
        [{}], {"id": None}, {"id": "1"}, SELF_ID, str(FIRST_ID + 1), str(CHANNEL_ID), "!pin ^1 #x", [[]],
    ]
)  # fmt: skip


HOLLOW: dict[str, Any] = {}


@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=3))
@example([(("channel",), HOLLOW), (("channel", "id"), HOLLOW)])
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_a_file_it_is_answered_from_or_refused(
    tmp_path: Path, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    document = copy.deepcopy(DOCUMENT)
    for path, value in changes:
        inside: Any = document
        try:
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = copy.deepcopy(value)  # a value put into itself would be endless
        except (TypeError, LookupError):
            continue  # an earlier change has taken that place away

    file = tmp_path / "odd.json"
    file.write_text(json.dumps(document))
    try:
        exports = load_exports([file], self_ids={SELF_ID})
    except ExportError as error:
        assert "\n" not in error.sentence  # noqa: PT017 - either is right
        return
    for place in (None, *(place_id for place_id, _ in named_places(exports.desks))):
        desk = exports.open(place)
        scan = len(exports.rows) + 1
        asyncio.run(queries.pins(desk, queries.PinsRequest(scan=scan)))
        asyncio.run(queries.room_standings(desk, queries.StandingsRequest(scan=scan)))
