from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recall_bot.pace import KEYS_REMEMBERED, MINUTE_SECONDS, Pace
from recall_bot.texts import TEXTS_REMEMBERED, Texts


@given(st.integers(1, 5), st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 90)), max_size=60))
def test_no_minute_holds_more_than_it_may_and_no_key_pays_for_another(
    per_minute: int, calls: list[tuple[str, float]]
) -> None:
    now = 0.0
    pace = Pace(per_minute, clock=lambda: now)
    admitted: dict[str, list[float]] = {"a": [], "b": []}
    for key, wait in calls:
        now += wait
        recent = [time for time in admitted[key] if time > now - MINUTE_SECONDS]
        assert pace.admit(key) == (len(recent) < per_minute)
        if len(recent) < per_minute:
            admitted[key].append(now)


def test_the_memory_of_a_pace_is_bounded() -> None:
    pace = Pace(1, clock=lambda: 0.0)
    assert all(pace.admit(key) for key in range(KEYS_REMEMBERED))
    assert not pace.admit(0)
    assert pace.admit("one more")
    assert pace.admit(1)  # forgotten; 0 was used since
    assert not pace.admit(0)


def test_an_update_is_a_change_when_the_text_is_another() -> None:
    texts = Texts()
    texts.posted(1, "a")
    assert not texts.changed(1, "a", edited=True)
    assert texts.changed(1, "b", edited=False)  # a command's answer gets its text without being edited
    assert not texts.changed(1, "b", edited=False)


def test_of_an_unknown_message_the_time_of_its_edit_has_to_do() -> None:
    texts = Texts()
    assert not texts.changed(1, "a", edited=False)
    assert texts.changed(1, "a", edited=True)
    assert not texts.changed(1, "a", edited=True)


def test_the_memory_of_texts_is_bounded_and_lets_go() -> None:
    texts = Texts()
    for message_id in range(TEXTS_REMEMBERED + 1):
        texts.posted(message_id, "a")
    assert not texts.changed(1, "a", edited=True)
    assert texts.changed(0, "a", edited=True)
    texts.forget(5)
    assert texts.changed(5, "a", edited=True)
