from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recall_bot.questions import (
    EDGES_KEPT,
    LABEL_CHARS,
    NAME_CHARS,
    REACH_DOUBLINGS,
    AnyQuestion,
    PinsQuestion,
    SearchQuestion,
    StandingsQuestion,
    Turn,
    question_url,
    read_question,
    turned,
)

import recall

ID = 2**63 - 1
ASKED = SearchQuestion(asker=1, place=2, upper=1000, text="limiter")


@pytest.mark.parametrize(
    "question",
    [
        ASKED,
        SearchQuestion(
            asker=ID,
            place=ID,
            upper=ID,
            page=9_999,
            text="\U0001f9ea" * recall.SEARCH_PATTERN_CHARS,
            author=str(ID),
            author_name="\U0001f9ea" * NAME_CHARS,
            before=ID,
            after=ID,
            order="newest",
            loose=True,
            assumed_utc=True,
            edges=(ID,) * EDGES_KEPT,
            oldest=ID,
        ),
        PinsQuestion(asker=1, place=2, upper=3, label=None),
        StandingsQuestion(asker=1, place=2, upper=3),
        StandingsQuestion(
            asker=ID,
            place=ID,
            upper=ID,
            page=9_999,
            show="traces",
            topic="\U0001f9ea" * LABEL_CHARS,
            at=ID,
            assumed_utc=True,
            reach=REACH_DOUBLINGS,
        ),
        PinsQuestion(asker=ID, place=ID, upper=ID, show="history", label="\U0001f9ea" * LABEL_CHARS, reach=2),
    ],
)
def test_a_question_rides_in_the_address_of_its_answer(question: AnyQuestion) -> None:
    url = question_url(question, ID)

    assert url is not None
    assert len(url) <= 2048
    assert read_question(url) == question


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.none(), st.text(), st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode())))
@example("")
@example("=")
@example("é")
def test_an_address_of_any_other_kind_carries_no_question(text: str | None) -> None:
    assert read_question(text) is None
    assert read_question(f"https://discord.com/channels/1/2?recall={text}") is None


@pytest.mark.parametrize(
    "forged",
    [
        ["s1", 1, 2, 1000, 0, "x" * (recall.SEARCH_PATTERN_CHARS + 1)],
        ["s1", -1, 2, 1000, 0, "x"],
        ["s1", 1, 2, 1000, -1, "x"],
        ["s1", 1, 2, 1000, 10_000_000, "x"],
        ["s1", 1, 2, 1000, 0, 5],
        ["s1", 1, 2],
        ["p1", 1, 2, 1000, 0, "export"],
        ["p1", 1, 2, 1000, 0, "board", None, 64],
        ["s2", 1, 2, 1000, 0, "x"],
        [],
        {},
    ],
)
def test_a_question_out_of_bounds_is_none(forged: object) -> None:
    packed = base64.urlsafe_b64encode(msgspec.msgpack.encode(forged)).decode().rstrip("=")

    assert read_question(f"https://discord.com/channels/1/2?recall={packed}") is None


def test_pages_turn_and_do_not_turn_below_the_first() -> None:
    second = turned(ASKED, Turn.NEXT)

    assert isinstance(second, SearchQuestion)
    assert second.page == 1
    assert turned(second, Turn.PREVIOUS) == ASKED
    assert turned(ASKED, Turn.PREVIOUS) is None


def test_older_goes_on_from_the_edge_that_was_reached_and_newer_goes_back() -> None:
    assert turned(ASKED, Turn.OLDER) is None
    assert turned(ASKED, Turn.NEWER) is None

    older = turned(msgspec.structs.replace(ASKED, page=3, oldest=700), Turn.OLDER)
    assert isinstance(older, SearchQuestion)
    assert (older.edges, older.page, older.oldest) == ((700,), 0, None)

    oldest = turned(msgspec.structs.replace(older, oldest=400), Turn.OLDER)
    assert isinstance(oldest, SearchQuestion)
    assert oldest.edges == (700, 400)
    assert turned(oldest, Turn.NEWER) == older
    assert turned(older, Turn.NEWER) == ASKED


def test_going_back_through_more_windows_than_are_kept_ends_at_the_first() -> None:
    question: AnyQuestion | None = ASKED
    for edge in range(900, 900 - 2 * EDGES_KEPT, -1):
        assert isinstance(question, SearchQuestion)
        question = turned(msgspec.structs.replace(question, oldest=edge), Turn.OLDER)
    assert isinstance(question, SearchQuestion)
    assert len(question.edges) == EDGES_KEPT

    for _ in range(EDGES_KEPT):
        assert question is not None
        question = turned(question, Turn.NEWER)

    assert question == ASKED


def test_a_board_looks_twice_as_far_back_each_time_within_a_bound() -> None:
    question: AnyQuestion | None = PinsQuestion(asker=1, place=2, upper=3, page=4)
    assert question is not None
    assert turned(question, Turn.NEWER) is None
    for reach in range(1, REACH_DOUBLINGS + 1):
        assert question is not None
        question = turned(question, Turn.OLDER)
        assert isinstance(question, PinsQuestion)
        assert (question.reach, question.page) == (reach, 0)

    assert question is not None
    assert turned(question, Turn.OLDER) is None
