from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    THREAD_INDEX_LIMIT,
    THREAD_INDEX_SCAN,
    THREAD_OPENING_CHARS,
    Conversation,
    Coverage,
    LogMessage,
    RegexPattern,
    TextPattern,
    ThreadHit,
    ThreadIndex,
    ThreadLine,
    WordsPattern,
    fold_thread_index,
    from_wire,
    read_thread_index,
    search_threads,
    to_wire,
)
from recall.text import cut, is_blank
from tests.searched import RecordingLog, logs, queries, row, slow_collapse, slow_score

DESK = Conversation(desk_id="desk", desk_name="Desk")
THREAD = Conversation(desk_id="desk", desk_name="Desk", thread_root=3)


def test_a_thread_is_its_root_its_replies_and_its_last_row() -> None:
    rows = (
        row(1, "the deploy\nis stuck"),
        row(2, "the limiter"),
        row(3, "since when", parent=1),
        row(4, "noon", parent=1),
        row(5, "inside", parent=3),
    )

    assert fold_thread_index(rows, 5) == (
        ThreadLine(root=1, opening="the deploy is stuck", replies=2, latest=4),
        ThreadLine(root=2, opening="the limiter", replies=0, latest=2),
    )


def test_the_thread_that_moved_last_comes_first_and_the_limit_cuts() -> None:
    rows = (*(row(number, "root") for number in range(1, 9)), row(9, "reply", parent=2))

    assert [line.root for line in fold_thread_index(rows, 3)] == [2, 8, 7]
    assert fold_thread_index(rows, 0) == ()


def test_a_blank_root_is_no_thread_and_a_blank_reply_no_reply() -> None:
    rows = (row(1, " "), row(2, "of a blank root", parent=1), row(3, "root"), row(4, "\u3000", parent=3))

    assert fold_thread_index(rows, 5) == (ThreadLine(3, "root", 0, 3),)


def test_what_is_attached_stands_in_for_a_blank_content() -> None:
    rows = (row(1, "", attached="release notes"), row(2, "", attached="cat.png", parent=1))

    assert fold_thread_index(rows, 5) == (ThreadLine(1, "release notes", 1, 2),)


def test_an_opening_is_cut_between_characters_that_belong_together() -> None:
    (line,) = fold_thread_index((row(1, "x" * 59 + "e\u0301" + "y" * 9),), 5)

    assert line.opening == "x" * 59 + "…"
    assert THREAD_OPENING_CHARS == 60


def test_a_busy_thread_whose_root_lies_outside_is_named_by_its_host() -> None:
    rows = (
        row(40, "root"),
        row(41, "reply", parent=7),
        row(42, "", parent=8),
        row(43, "reply", parent=7),
        row(44, "reply", parent=9),
        row(45, "reply", parent=40),
        row(46, "reply", parent=6),
    )
    openings = {7: "deploy\nroom " * 9, 8: "only a blank reply", 9: " ", 40: "the root itself was read", 5: "no row"}

    assert fold_thread_index(rows, 5, openings=openings) == (
        ThreadLine(40, "root", 1, 45),
        ThreadLine(7, cut("deploy room " * 9, 60), 2, 43),
    )


async def test_the_index_reads_a_short_stretch_of_the_desk_alone() -> None:
    rows = (*(row(number, "root") for number in range(1, 400)), row(400, "elsewhere", chat_id="other"))
    log = RecordingLog(rows[::-1])

    index = await read_thread_index(log, DESK)

    assert [line.root for line in index.threads] == [399, 398, 397, 396, 395]
    assert index.coverage == Coverage(rows=256, oldest=145, beginning=False, stopped="bound")
    assert log.asked == [(None, 256)]
    assert (THREAD_INDEX_LIMIT, THREAD_INDEX_SCAN) == (5, 256)
    narrow = await read_thread_index(log, DESK, 1, 100, scan=3)
    assert [line.root for line in narrow.threads] == [99]
    assert narrow.coverage.oldest == 97


@pytest.mark.parametrize(("where", "limit"), [(THREAD, 5), (DESK, 0)])
async def test_inside_a_thread_and_without_a_limit_nothing_is_read(where: Conversation, limit: int) -> None:
    log = RecordingLog((row(3, "root"),))

    assert await read_thread_index(log, where, limit) == ThreadIndex((), Coverage(0, None, False, None))
    assert (await search_threads(log, where, TextPattern("root"), limit)).hits == ()
    assert log.asked == []


def slow_index(rows: tuple[LogMessage, ...]) -> list[ThreadLine]:
    """The index by its definition, thread by thread."""

    def text(message: LogMessage) -> str:
        return message.attached if is_blank(message.content) else message.content

    lines = []
    for root in rows:
        if root.parent is None and not is_blank(text(root)):
            replies = [
                reply.sequence
                for reply in rows
                if reply.parent == root.sequence and reply.sequence > root.sequence and not is_blank(text(reply))
            ]
            opening = cut(slow_collapse(text(root)), 60)
            lines.append(ThreadLine(root.sequence, opening, len(replies), max((root.sequence, *replies))))
    return sorted(lines, key=lambda line: -line.latest)


@settings(deadline=None, max_examples=300)
@given(logs(), st.integers(0, 6), st.integers(0, 6))
def test_an_index_is_what_its_rule_says_and_its_limit_only_cuts(
    rows: tuple[LogMessage, ...], few: int, more: int
) -> None:
    chronological = rows[::-1]

    assert list(fold_thread_index(chronological, 99)) == slow_index(chronological)
    assert fold_thread_index(iter(chronological), few) == fold_thread_index(chronological, few + more)[:few]


@settings(deadline=None)
@given(logs(), st.dictionaries(st.integers(1, 14), st.text("ab ", max_size=4)))
def test_openings_add_threads_and_change_none(rows: tuple[LogMessage, ...], openings: dict[int, str]) -> None:
    without = fold_thread_index(rows[::-1], 99)
    added = fold_thread_index(rows[::-1], 99, openings=openings)

    assert set(without) <= set(added)
    assert all(line.root in openings and line.replies > 0 for line in set(added) - set(without))


def test_a_line_has_a_wire_form() -> None:
    line = ThreadLine(1, "root", 0, 2**63)

    assert to_wire(line, string_ids=True) == {
        "root": "1",
        "opening": "root",
        "replies": 0,
        "latest": str(2**63),
        "landed": None,
    }
    assert from_wire(ThreadLine, to_wire(line)) == line


# Searching them


async def test_threads_are_ranked_by_their_opening_words_and_the_livelier_of_equals_first() -> None:
    rows = (
        row(1, "ship it"),
        row(2, "airship"),
        row(3, "ship me"),
        row(4, "nothing"),
        row(5, "ship ship", parent=4),
        row(6, "reply", parent=1),
        row(7, "ship it", chat_id="other"),
    )

    found = await search_threads(RecordingLog(rows[::-1]), DESK, TextPattern("ship"), 8)

    assert [(hit.line.root, hit.score, str(hit.kind)) for hit in found.hits] == [
        (1, 857, "prefix"),
        (3, 857, "prefix"),
        (2, 457, "substring"),
    ]
    assert found.coverage == Coverage(rows=7, oldest=1, beginning=True, stopped=None)


async def test_every_kind_of_pattern_finds_threads_and_only_in_what_the_index_shows() -> None:
    rows = (row(1, "x" * 60 + " needle"), row(2, "needle in hay"))
    log = RecordingLog(rows[::-1])

    for pattern in (TextPattern("needle"), RegexPattern("n..dle"), WordsPattern(("hay", "needle"))):
        assert [hit.line.root for hit in (await search_threads(log, DESK, pattern, 8)).hits] == [2]


async def test_threads_are_searched_within_the_bound() -> None:
    rows = tuple(row(number, "root") for number in range(1, 400))
    log = RecordingLog(rows[::-1])

    found = await search_threads(log, DESK, TextPattern("root"), 300, scan=9)

    assert [hit.line.root for hit in found.hits] == list(range(399, 390, -1))
    assert found.coverage.rows == 9


@settings(deadline=None)
@given(logs(), queries, st.integers(0, 5), st.integers(0, 5))
async def test_a_thread_search_scores_every_opening_and_its_limit_only_cuts(
    rows: tuple[LogMessage, ...], query: str, few: int, more: int
) -> None:
    log = RecordingLog(rows)
    whole = (await search_threads(log, DESK, TextPattern(query), 99)).hits
    found = (await search_threads(log, DESK, TextPattern(query), few + more)).hits

    assert (await search_threads(log, DESK, TextPattern(query), few)).hits == found[:few]
    inside = tuple(message for message in rows[::-1] if DESK.holds(message))
    expected = [
        ThreadHit(line, match.score, match.kind)
        for line in slow_index(inside)
        if (match := slow_score(query, line.opening))
    ]
    assert list(whole) == sorted(expected, key=lambda hit: -hit.score)
