"""What many files make together: parts, later exports, threads with their channel, and how far they reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.exports import ExportError, ExportLog, Exports, load_exports
from recall_bot.held import PlaceUnknown, find_place

import recall
from tests.exporting import (
    ADA,
    BEN,
    CATEGORY_ID,
    CHANNEL_ID,
    FIRST_ID,
    GUILD_ID,
    SCOUT,
    Wire,
    channel,
    export,
    message,
    reference,
    reply,
    spelled,
    thread,
    write,
)

THREAD_ID = CHANNEL_ID + 100
POST_ID = FIRST_ID + 50
FORUM_ID = CHANNEL_ID + 200

AUTHOR_ADA = recall.PersonAuthor(id=ADA["id"], label="Ada")
AUTHOR_SCOUT = recall.AgentAuthor(id=SCOUT["id"], label="Scout")


def rows_of(exports: Exports) -> list[recall.LogMessage]:
    """All rows, oldest first."""
    return list(exports.rows[::-1])


def rows_from(tmp_path: Path, *messages: Wire, self_ids: tuple[str, ...] = (), **more: Any) -> list[recall.LogMessage]:
    return rows_of(load_exports([write(tmp_path / "room.json", list(messages), **more)], self_ids=self_ids))


def contents(exports: Exports) -> list[str]:
    return [row.content for row in rows_of(exports)]


# which files


def test_a_folder_is_read_with_its_folders_but_without_media_hidden_and_other_files(tmp_path: Path) -> None:
    inner, hidden, media = tmp_path / "2024 [a]", tmp_path / ".old", tmp_path / "a.json_Files"
    for folder in (inner, hidden, media, tmp_path / "folder.json"):
        folder.mkdir()
    write(tmp_path / "a.json", [message(1, "a")])
    write(inner / "b.JSON", [message(2, "b")])
    write(inner / ".c.json", [message(3, "hidden")])
    write(hidden / "d.json", [message(4, "hidden")])
    (media / "package.json").write_text("{}")
    (tmp_path / "a.json.txt").write_text("no JSON")

    assert contents(load_exports([tmp_path])) == ["a", "b"]


def test_a_hidden_folder_that_is_named_is_read(tmp_path: Path) -> None:
    folder = tmp_path / ".mine" / "x.json_Files"
    folder.mkdir(parents=True)
    write(folder / "a.json", [message(1, "a")])

    assert contents(load_exports([folder])) == ["a"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", [message(1, "a")])
    link = tmp_path / "b.json"
    link.symlink_to(file)
    told: list[tuple[int, int, int]] = []

    load_exports([file, tmp_path, link], on_progress=lambda *step: told.append(step))

    size = file.stat().st_size
    assert told == [(0, size, size), (size, 0, size)]


def test_one_broken_file_of_a_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [message(1, "a")])
    (tmp_path / "b.json").write_text("[]")

    with pytest.raises(ExportError) as told:
        load_exports([tmp_path])

    assert told.value.path == tmp_path / "b.json"


@pytest.mark.skipif(os.name != "posix", reason="needs a FIFO")
def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:  # noqa: PTH123 - a descriptor
        pipe.write(spelled(export([message(1, "piped")])))

    try:
        exports = load_exports([Path(f"/dev/fd/{reading}")])
    finally:
        os.close(reading)

    assert [row.content for row in exports.rows] == ["piped"]


# order, repetition, parts


def test_newest_first_is_the_same_log(tmp_path: Path) -> None:
    messages = [message(number, f"row {number}") for number in range(9)]

    assert rows_from(tmp_path, *messages) == rows_from(tmp_path, *reversed(messages))


def test_of_a_repeated_id_the_later_export_wins_then_the_later_path(tmp_path: Path) -> None:
    def written(name: str, text: str, exported_at: str | None) -> Path:
        return write(tmp_path / name, [message(1, text)], exported_at=exported_at)

    june = written("z-june.json", "june", "2025-06-01T12:00:00+09:00")
    july = written("a-july.json", "july", "2025-06-01T04:00:00.5+00:00")
    old = written("old.json", "old", None)
    older = written("older.json", "older", None)

    assert contents(load_exports([july, june, old])) == ["july"]
    assert contents(load_exports([old, june])) == ["june"]
    assert contents(load_exports([older, old])) == ["old"]
    assert contents(load_exports([old, older])) == ["older"]
    assert contents(load_exports([tmp_path])) == ["july"]


def test_an_id_that_comes_twice_in_one_file_is_one_row(tmp_path: Path) -> None:
    rows = rows_from(tmp_path, message(1, "first"), message(2, "between"), message(1, "then <b>"))

    assert [row.content for row in rows] == ["then <b>", "between"]


def test_parts_and_later_exports_of_one_channel_are_one_log(tmp_path: Path) -> None:
    for part, name in enumerate(["room.json", "room [part 2].json", "room [part 10].json"]):
        write(tmp_path / name, [message(part * 3 + number, f"{part}.{number}") for number in range(3)])

    exports = load_exports([tmp_path])

    assert len(exports.desks) == 1
    assert contents(exports) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2", "2.0", "2.1", "2.2"]


def test_text_that_waits_for_a_name_wins_and_loses_like_any_other(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [message(1, "<#7>")], exported_at="2026-01-01T00:00:00Z")
    write(tmp_path / "b.json", [message(1, "plain")], exported_at="2026-01-02T00:00:00Z")

    assert [row.content for row in load_exports([tmp_path]).rows] == ["plain"]


# threads


def test_a_public_thread_joins_its_channel(tmp_path: Path) -> None:
    write(
        tmp_path / "general.json",
        [
            message(0, "start"),
            message(2, "Started a thread.", type="ThreadCreated", reference=reference(None, channel_id=THREAD_ID)),
        ],
    )
    write(
        tmp_path / "thread.json",
        [message(3, "", type="21", reference=reference(0)), message(4, "inside"), message(5, f"!pin ^{FIRST_ID + 4}")],
        place=thread("limits", THREAD_ID),
    )

    exports = load_exports([tmp_path])

    (desk,) = exports.desks
    assert (desk.id, desk.name, desk.guild_id, desk.guild_name) == (
        str(CHANNEL_ID),
        "engineering",
        str(GUILD_ID),
        "Harbour",
    )
    assert [(found.id, found.name, found.root_in) for found in desk.threads] == [(str(THREAD_ID), "limits", desk.id)]
    assert [(row.chat_id, row.parent) for row in rows_of(exports)] == [
        (desk.id, None),
        (desk.id, None),
        (desk.id, THREAD_ID),
        (desk.id, THREAD_ID),
    ]
    assert desk.left_out == ()


@pytest.mark.parametrize("kind", ["GuildPublicThread", "GuildNewsThread", "11", 10])
def test_the_first_message_of_a_forum_post_is_its_root(tmp_path: Path, kind: Any) -> None:
    write(
        tmp_path / "post.json",
        [message(50, "How do I bake this?"), message(51, "At 220 degrees.")],
        place=thread("bread", POST_ID, kind, of="help", parent_id=FORUM_ID),
    )

    exports = load_exports([tmp_path])

    (desk,) = exports.desks
    assert (desk.id, desk.name, desk.left_out) == (str(FORUM_ID), "help", ())
    assert desk.threads[0].root_in == str(POST_ID)
    assert [(row.chat_id, row.parent) for row in rows_of(exports)] == [(desk.id, None), (desk.id, POST_ID)]


def test_a_private_thread_and_one_of_an_unknown_channel_are_desks_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [message(1, "psst")], place=thread("quiet", THREAD_ID, "GuildPrivateThread"))
    write(tmp_path / "b.json", [message(2, "hm")], place=thread("lost", THREAD_ID + 1, parent_id=None))

    exports = load_exports([tmp_path])

    assert [(desk.id, desk.name, desk.threads) for desk in exports.desks] == [
        (str(THREAD_ID), "quiet", ()),
        (str(THREAD_ID + 1), "lost", ()),
    ]
    assert [(row.chat_id, row.parent) for row in rows_of(exports)] == [
        (str(THREAD_ID), None),
        (str(THREAD_ID + 1), None),
    ]


def test_what_belongs_to_a_desk_and_was_not_given_is_left_out_by_name(tmp_path: Path) -> None:
    started = message(2, "Started a thread.", type="18", reference=reference(None, channel_id=THREAD_ID))
    above = write(tmp_path / "a.json", [message(0, "start"), started])
    below = write(
        tmp_path / "b.json",
        [message(3, type="21", reference=reference(0)), message(4, "x")],
        place=thread("t", THREAD_ID),
    )

    without_thread, without_channel, whole = (load_exports(paths) for paths in ([above], [below], [above, below]))

    assert [left.id for left in without_thread.open(None).left_out] == [str(THREAD_ID)]
    assert [(left.id, left.name) for left in without_channel.open(None).left_out] == [(str(CHANNEL_ID), "engineering")]
    assert without_channel.open(str(THREAD_ID)).left_out == ()
    assert whole.open(None).left_out == ()


async def test_a_pin_of_what_was_not_given_is_not_called_gone(tmp_path: Path) -> None:
    inside = message(51, f"!pin ^{FIRST_ID + 1} #x")
    file = write(
        tmp_path / "thread.json",
        [message(50, "", type="21", reference=reference(2)), inside],
        place=thread("plans", THREAD_ID),
    )
    desk = load_exports([file]).open(str(CHANNEL_ID))

    answer = await queries.pins(desk, queries.PinsRequest())

    assert (len(answer.pins), answer.gone) == (1, frozenset())


# places


def several(tmp_path: Path) -> Exports:
    write(tmp_path / "a.json", [message(1, "a"), message(3, "c <3")])
    write(tmp_path / "b.json", [message(2, "b")], place=channel("Läden", CHANNEL_ID + 1))
    write(tmp_path / "c.json", [message(4, "d")], place=thread("limits", THREAD_ID))
    write(tmp_path / "d.json", [message(5, "e")], place=channel("läden", CHANNEL_ID + 2))
    return load_exports([tmp_path])


@pytest.mark.parametrize(
    "text",
    [
        str(CHANNEL_ID),
        f"<#{CHANNEL_ID}>",
        f"https://discord.com/channels/{GUILD_ID}/{CHANNEL_ID}",
        f"https://ptb.discord.com/channels/{GUILD_ID}/{CHANNEL_ID}/{FIRST_ID}",
        "engineering",
        " #Engineering ",
    ],
)
def test_a_channel_is_found_by_id_link_mention_or_name(tmp_path: Path, text: str) -> None:
    assert find_place(text, several(tmp_path).desks) == str(CHANNEL_ID)


def test_a_place_that_is_not_exactly_one_is_refused_naming_those_there_are(tmp_path: Path) -> None:
    exports = several(tmp_path)

    assert find_place("limits", exports.desks) == str(THREAD_ID)
    with pytest.raises(PlaceUnknown, match="general") as unknown:
        find_place("general", exports.desks)
    assert all(name in unknown.value.sentence for name in ("#engineering", "#limits", str(THREAD_ID)))
    with pytest.raises(PlaceUnknown) as twice:
        find_place("LÄDEN", exports.desks)
    assert twice.value.several
    assert str(CHANNEL_ID + 1) in twice.value.sentence
    assert str(CHANNEL_ID) + ")" not in twice.value.sentence
    with pytest.raises(PlaceUnknown):
        exports.open(str(CATEGORY_ID))


async def read(exports: Exports, place_id: str | None) -> tuple[list[str], recall.Coverage]:
    desk = exports.open(place_id)
    walk = await recall.walk_log(desk.log, scan=100)
    return [row.content for row in walk.rows], walk.coverage


async def test_a_desk_holds_its_threads_a_thread_itself_and_everything_all(tmp_path: Path) -> None:
    exports = several(tmp_path)

    assert (await read(exports, None))[0] == ["e", "d", "c <3", "b", "a"]
    assert (await read(exports, str(CHANNEL_ID)))[0] == ["d", "c <3", "a"]
    assert (await read(exports, str(THREAD_ID)))[0] == ["d"]
    desk = exports.open(str(THREAD_ID))
    assert desk.conversation == recall.Conversation(str(CHANNEL_ID), "engineering", THREAD_ID)


async def test_a_link_is_an_address_where_it_leads_into_the_desk(tmp_path: Path) -> None:
    address = several(tmp_path).open(str(CHANNEL_ID)).address
    assert address is not None

    assert address(f"https://discord.com/channels/{GUILD_ID}/{THREAD_ID}/{FIRST_ID + 4}") == FIRST_ID + 4
    assert address(f"https://discord.com/channels/{GUILD_ID}/{CHANNEL_ID + 1}/{FIRST_ID + 2}") is None
    assert address("^5") is None


# coverage


async def test_a_file_that_was_asked_to_begin_late_is_no_beginning(tmp_path: Path) -> None:
    write(tmp_path / "b.json", [message(5, "later")], after="2024-02-01T00:00:00+00:00")

    late = load_exports([tmp_path])
    _, coverage = await read(late, None)
    assert coverage == recall.Coverage(1, FIRST_ID + 5, beginning=False, stopped="date range")

    write(tmp_path / "a.json", [message(1, "earlier")])
    _, coverage = await read(load_exports([tmp_path]), None)
    assert coverage == recall.Coverage(2, FIRST_ID + 1, beginning=True, stopped=None)


def test_an_answer_is_as_old_as_the_oldest_of_its_files_if_all_say_when(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [message(1, "a")], exported_at="2026-03-02T09:00:00.1234567+09:00")
    write(tmp_path / "b.json", [message(2, "b")], exported_at="2026-03-05T09:00:00+00:00")
    assert load_exports([tmp_path]).open(None).as_of == "2026-03-02T00:00:00Z"

    write(tmp_path / "c.json", [message(3, "c")], version=(2, 36))
    assert load_exports([tmp_path]).open(None).as_of is None


async def test_an_export_without_messages_is_empty_and_whole(tmp_path: Path) -> None:
    exports = load_exports([write(tmp_path / "a.json", [])])

    assert await read(exports, None) == ([], recall.Coverage(0, None, beginning=True, stopped=None))
    assert await exports.open(None).log.read_before(5, 0) == recall.SessionPage(())


# the log


@settings(deadline=None, max_examples=60)
@given(
    st.sets(st.integers(1, 60), max_size=40),
    st.one_of(st.none(), st.integers(0, 70)),
    st.integers(1, 50),
    st.booleans(),
)
async def test_a_log_gives_the_newest_rows_before_a_bound(
    sequences: set[int], before: int | None, scan: int, begins_late: bool
) -> None:
    rows = tuple(
        recall.LogMessage(number, "1", None, AUTHOR_ADA, str(number)) for number in sorted(sequences, reverse=True)
    )
    log = ExportLog(rows, begins_late="date range" if begins_late else None)
    older = [row for row in rows if before is None or row.sequence < before]

    walk = await recall.walk_log(log, scan=scan, before=before)

    assert list(walk.rows) == older[:scan]
    assert walk.coverage.beginning == (not begins_late and len(older) <= scan)
    for number in (0, 1, 30, 61):
        row = await log.read_row(number)
        assert (row.sequence if row is not None else None) == (number if number in sequences else None)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["", "x", "a <@5> b"])), max_size=12), st.integers(1, 4))
async def test_however_messages_are_dealt_to_files_the_log_is_sound(
    tmp_path_factory: pytest.TempPathFactory, messages: list[tuple[int, str]], files: int
) -> None:
    folder = tmp_path_factory.mktemp("dealt")
    for number in range(files):
        write(folder / f"{number}.json", [message(at, text) for at, text in messages[number::files]])

    exports = load_exports([folder])
    walk = await recall.walk_log(exports.open(None).log, scan=100)

    assert {row.sequence - FIRST_ID for row in walk.rows} == {at for at, _ in messages}


async def test_a_board_is_folded_over_everything_of_a_channel(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [message(1, "600 a minute."), reply(3, "!pin #limits", to=1)])
    write(tmp_path / "b.json", [message(2, f"!pin ^{FIRST_ID + 2} #plan", SCOUT)], place=thread("t", THREAD_ID))

    answer = await queries.pins(load_exports([tmp_path]).open(str(CHANNEL_ID)), queries.PinsRequest())

    assert [(pin.sequence - FIRST_ID, pin.label, pin.pinned_by) for pin in answer.pins] == [
        (1, "limits", recall.PersonAuthor(id=BEN["id"], label="Ben of the Harbour")),
        (2, "plan", AUTHOR_SCOUT),
    ]
