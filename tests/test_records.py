from __future__ import annotations

import doctest
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    SEQUENCE_LIMIT,
    AgentAuthor,
    Author,
    Conversation,
    LogMessage,
    OperatorAuthor,
    PersonAuthor,
    SystemAuthor,
    author_id,
    author_label,
    from_wire,
    records,
    to_wire,
)
from tests.searched import row

MESSAGE: dict[str, Any] = {
    "sequence": 7,
    "chat_id": "9",
    "parent": None,
    "author": {"type": "agent", "id": "5", "label": "Scout"},
    "content": "hi",
}

sequences = st.integers(0, SEQUENCE_LIMIT - 1)
authors: st.SearchStrategy[Author] = st.one_of(
    st.just(OperatorAuthor()),
    st.builds(PersonAuthor, st.text(max_size=3), st.text(max_size=3)),
    st.builds(AgentAuthor, st.text(max_size=3), st.text(max_size=3)),
    st.builds(SystemAuthor, st.text(max_size=3), st.text(max_size=3)),
)
messages = st.builds(
    LogMessage,
    sequences,
    st.none() | st.text(max_size=3),
    st.none() | sequences,
    authors,
    st.text(max_size=9),
    st.none() | sequences,
    st.text(max_size=9),
)


@pytest.mark.parametrize(
    ("author", "known_by", "shown_as", "wire"),
    [
        (OperatorAuthor(), "operator", "operator", {"type": "operator"}),
        (PersonAuthor("5", "Ada"), "5", "Ada", {"type": "person", "id": "5", "label": "Ada"}),
        (AgentAuthor("5", "Scout"), "5", "Scout", {"type": "agent", "id": "5", "label": "Scout"}),
        (SystemAuthor("join", "Join"), "join", "Join", {"type": "system", "kind": "join", "label": "Join"}),
    ],
)
def test_an_author_has_an_id_a_name_and_a_wire_form(
    author: Author, known_by: str, shown_as: str, wire: dict[str, str]
) -> None:
    assert (author_id(author), author_label(author)) == (known_by, shown_as)
    assert to_wire(author) == wire
    assert from_wire(Author, wire) == author


def test_a_row_may_leave_out_what_has_a_default_and_nothing_else() -> None:
    assert from_wire(LogMessage, MESSAGE) == LogMessage(7, "9", None, AgentAuthor("5", "Scout"), "hi")
    for key in MESSAGE:
        with pytest.raises(msgspec.ValidationError, match=key):
            from_wire(LogMessage, {name: value for name, value in MESSAGE.items() if name != key})


def test_every_field_is_written_in_order_those_that_are_null_too() -> None:
    assert list(to_wire(row(7)).items())[:3] == [("sequence", 7), ("chat_id", "desk"), ("parent", None)]
    assert list(to_wire(row(7))) == ["sequence", "chat_id", "parent", "author", "content", "reply_to", "attached"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"extra": 1}, "extra"),
        ({"sequence": -1}, "sequence"),
        ({"sequence": "x"}, "sequence"),
        ({"sequence": "٣"}, "sequence"),
        ({"sequence": " 7"}, "sequence"),
        ({"sequence": True}, "sequence"),
        ({"sequence": None}, "sequence"),
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"author": {"type": "cat"}}, "author.type"),
        ({"author": {"type": "person", "id": "5"}}, "label"),
        ({"author": {"type": "operator", "id": "5"}}, "id"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(wrong: dict[str, object], place: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=place):
        from_wire(LogMessage, MESSAGE | wrong)


@pytest.mark.parametrize("field", ["sequence", "parent", "reply_to"])
def test_a_sequence_fits_64_bits(field: str) -> None:
    assert getattr(from_wire(LogMessage, MESSAGE | {field: 2**64 - 1}), field) == 2**64 - 1
    assert getattr(from_wire(LogMessage, MESSAGE | {field: str(2**64 - 1)}), field) == 2**64 - 1
    for too_large in (2**64, str(2**64)):
        with pytest.raises(msgspec.ValidationError, match="64 bits"):
            from_wire(LogMessage, MESSAGE | {field: too_large})


@settings(deadline=None)
@given(messages, st.booleans())
def test_a_row_survives_json_whichever_way_its_ids_are_spelled(message: LogMessage, string_ids: bool) -> None:
    wire = to_wire(message, string_ids=string_ids)

    assert json.loads(json.dumps(wire)) == wire
    assert from_wire(LogMessage, wire) == message
    numbers = [value for value in wire.values() if isinstance(value, int)]
    assert not (string_ids and numbers)


@pytest.mark.parametrize(
    ("message", "in_desk", "in_thread"),
    [
        (row(3), True, True),
        (row(4, parent=3), True, True),
        (row(5, parent=4), True, False),
        (row(6), True, False),
        (row(3, parent=2), True, False),  # inside another thread, it is nobody's root
        (row(3, chat_id="other"), False, False),
        (row(4, chat_id=None, parent=3), False, False),
    ],
)
def test_a_desk_holds_its_interior_and_a_thread_its_root_and_direct_replies(
    message: LogMessage, in_desk: bool, in_thread: bool
) -> None:
    assert Conversation("desk", "any name").holds(message) is in_desk
    assert Conversation("desk", "any name", thread_root=3).holds(message) is in_thread


def test_values_are_frozen_and_equal_when_they_hold_the_same() -> None:
    message = row(7, "hi")

    with pytest.raises(AttributeError):
        message.content = "ho"  # type: ignore[misc]
    assert message == row(7, "hi")
    assert hash(message) == hash(row(7, "hi"))


def test_the_examples_are_true() -> None:
    assert doctest.testmod(records).failed == 0
