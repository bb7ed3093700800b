from __future__ import annotations

from collections.abc import Iterable

from recall_bot.recent import RECENT_AUTHORS, RECENT_LABELS, RECENT_PLACES, Recent, RememberingLog

import recall


def row(sequence: int, content: str = "", author: recall.Author | None = None) -> recall.LogMessage:
    return recall.LogMessage(sequence, "1", None, author or recall.PersonAuthor("1", "Ada"), content)


def person(number: int) -> recall.PersonAuthor:
    return recall.PersonAuthor(str(number), f"p{number}")


def recent_of(rows: Iterable[recall.LogMessage]) -> Recent:
    recent = Recent()
    recent.remember(7, rows)
    return recent


def test_who_wrote_last_comes_first_in_whatever_order_it_was_read() -> None:
    written = [row(1, author=person(1)), row(2, author=person(2)), row(3, author=person(1))]
    expected = (person(1), person(2))
    assert recent_of(written).authors(7) == recent_of(reversed(written)).authors(7) == expected


def test_an_agent_is_known_under_each_name_it_used() -> None:
    names = [recall.AgentAuthor("9", "Build"), recall.AgentAuthor("9", "Deploy")]
    recent = recent_of(row(n, author=name) for n, name in enumerate(names))
    assert recent.authors(7) == (names[1], names[0])


def test_what_nobody_wrote_has_no_author_and_what_acts_has_a_label() -> None:
    system = recall.SystemAuthor("pins_add", "Ada")
    recent = recent_of([row(1, "!pin #a x\n!pin #b"), row(2, "`!pin #c`"), row(3, "!unpin ^1"), row(4, author=system)])
    assert recent.authors(7) == (recall.PersonAuthor("1", "Ada"),)
    assert set(recent.labels(7)) == {"a", "b"}


def test_a_label_too_long_for_a_choice_is_not_remembered() -> None:
    assert recent_of([row(1, f"!pin #{'x' * 101}"), row(2, f"!pin #{'x' * 100}")]).labels(7) == ("x" * 100,)


def test_places_do_not_mix_and_an_unknown_one_is_empty() -> None:
    recent = recent_of([row(1, "!pin #a")])
    assert not recent.authors(8)
    assert not recent.labels(8)


def test_the_memory_is_bounded_and_keeps_what_is_newest() -> None:
    recent = Recent()
    for number in range(RECENT_AUTHORS + 50):
        recent.remember(7, [row(number, f"!pin #l{number}", person(number))])
    assert len(recent.authors(7)) == RECENT_AUTHORS
    assert len(recent.labels(7)) == RECENT_LABELS
    assert recent.authors(7)[0] == person(RECENT_AUTHORS + 49)


def test_the_place_longest_unread_is_forgotten_first() -> None:
    recent = Recent()
    for place in range(RECENT_PLACES):
        recent.remember(place, [row(1)])
    recent.remember(0, [row(2)])
    recent.remember(RECENT_PLACES, [row(1)])
    assert recent.authors(0)
    assert recent.authors(RECENT_PLACES)
    assert not recent.authors(1)


async def test_what_is_read_of_a_log_is_remembered_and_unchanged() -> None:
    class Log:
        async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
            return recall.SessionPage((row(limit, "!pin #a"),), before)

    recent = Recent()
    page = await RememberingLog(Log(), recent, 7).read_before(3, 2)
    assert page == recall.SessionPage((row(2, "!pin #a"),), 3)
    assert recent.labels(7) == ("a",)
