from __future__ import annotations

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    PIN_EXCERPT_CHARS,
    PIN_LIMIT,
    PIN_MARKER_CAP,
    Conversation,
    Coverage,
    LogMessage,
    Pin,
    Pinboard,
    PinDirective,
    SessionPage,
    fold_pins,
    from_wire,
    pin_history,
    pin_note,
    pins,
    read_directives,
    read_pinboard,
    render_directive,
    to_wire,
)
from recall.markers import PinAction
from recall.masking import Dialect
from recall.text import collapse
from tests.marked import ALICE, BOB, DIALECTS, HOSTILE, HOSTILE_GROWTH, SCOUT, bodies, growth, logs, row

DESK = Conversation(desk_id="desk", desk_name="Desk")


def read(body: str, *, reply_to: int | None = None, dialect: Dialect = "discord") -> list[tuple[object, ...]]:
    found = read_directives(body, author=ALICE, sequence=9, reply_to=reply_to, dialect=dialect)
    return [(str(d.action), d.target, d.label, d.note) for d in found]


def board(*rows: LogMessage) -> list[tuple[int, int]]:
    return [(pin.sequence, pin.pinned_at) for pin in fold_pins(rows, dialect="discord")]


class RecordingLog:
    """A log over rows in memory that remembers what it was asked for."""

    def __init__(self, rows: tuple[LogMessage, ...]) -> None:
        self.rows = tuple(reversed(rows))
        self.asked: list[tuple[int | None, int]] = []

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        self.asked.append((before, limit))
        older = [found for found in self.rows if before is None or found.sequence < before]
        page = tuple(older[:limit])
        return SessionPage(page, page[-1].sequence if len(older) > len(page) else None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("!pin", ("pin", 9, None, None)),
        ("!pin ^1 #a why  so", ("pin", 1, "a", "why so")),
        ("!pin #a ^1", ("pin", 1, "a", None)),
        ("!pin ^1 ^2 #a", ("pin", 1, None, "^2 #a")),
        ("!pin #a #b ^2", ("pin", 9, "a", "#b ^2")),
        ("!pin # ^1", ("pin", 9, None, "# ^1")),
        ("!pin ^ #a", ("pin", 9, None, "^ #a")),
        ("!pin >5 ^1", ("pin", 9, None, ">5 ^1")),
        ("!pin why ^1 #a", ("pin", 9, None, "why ^1 #a")),
        ("!pin\xa0#ops\xa0it’s “done”", ("pin", 9, "ops", "it’s “done”")),
        ("!unpin ^3 x", ("unpin", 3, None, "x")),
        ("!unpin #a ^3", ("unpin", 3, "a", None)),
    ],
)
def test_the_first_address_and_label_before_the_note_are_taken(body: str, said: tuple[object, ...]) -> None:
    assert read(body) == [said]


@pytest.mark.parametrize("body", ["!unpin", "!unpin x ^3", "!unpin ^", "!unpin #a"])
def test_an_unpin_without_a_target_is_nothing_at_all(body: str) -> None:
    assert read(body) == []


def test_a_body_gives_at_most_its_cap_and_what_is_nothing_does_not_count() -> None:
    body = "!unpin\n" * 5 + "".join(f"!pin ^{n}\n" for n in range(20))
    assert [said[1] for said in read(body)] == list(range(PIN_MARKER_CAP))


def test_a_bare_pin_that_answers_a_message_pins_the_message_answered() -> None:
    assert read("!pin #limits", reply_to=4) == [("pin", 4, "limits", None)]
    assert read("!pin #a\n\n!support #a", reply_to=4) == [("pin", 4, "a", None)]


def test_an_answer_that_says_something_itself_pins_itself() -> None:
    assert read("The limit is 5.\n!pin #limits", reply_to=4) == [("pin", 9, "limits", None)]
    assert read("> The limit is 5.\n!pin #limits", reply_to=4) == [("pin", 9, "limits", None)]
    assert read("!pin\n`!pin`", reply_to=4) == [("pin", 9, None, None)]


def test_an_address_wins_over_the_message_answered() -> None:
    assert read("!pin ^1\n!unpin ^2", reply_to=4) == [("pin", 1, None, None), ("unpin", 2, None, None)]


def test_an_unpin_that_answers_a_message_always_unpins_it() -> None:
    assert read("Not any more.\n!unpin x", reply_to=4) == [("unpin", 4, None, "x")]


def test_a_host_may_read_links_as_addresses() -> None:
    links = {"https://chat/7": 7}
    found = read_directives(
        "!pin ^https://chat/7 #a\n!pin ^https://chat/8", author=ALICE, sequence=9, address=links.get
    )
    assert [(d.target, d.label, d.note) for d in found] == [(7, "a", None), (9, None, "^https://chat/8")]
    rows = (row(7, "a"), row(9, "!pin ^https://chat/7"))
    assert [pin.sequence for pin in fold_pins(rows, address=links.get)] == [7]
    assert [event.directive.target for event in pin_history(rows, address=links.get)] == [7]


@given(bodies, st.sampled_from(DIALECTS), st.none() | st.integers(1, 8))
@settings(deadline=None, max_examples=400)
def test_reading_what_was_rendered_gives_the_directive_back(body: str, dialect: Dialect, reply_to: int | None) -> None:
    for directive in read_directives(body, author=ALICE, sequence=9, dialect=dialect, reply_to=reply_to):
        line = render_directive(directive)
        (again,) = read_directives(line, author=ALICE, sequence=9, dialect=dialect, reply_to=reply_to)
        assert "\n" not in line
        if directive.action is PinAction.PIN:
            assert again == directive
        else:
            assert (again.action, again.target, again.label, again.note) == ("unpin", directive.target, None, None)


@given(
    st.sampled_from(PinAction),
    st.none() | bodies,
    st.none() | bodies,
    st.integers(0, 2**64 - 1),
    st.sampled_from(DIALECTS),
)
@settings(deadline=None, max_examples=300)
def test_whatever_a_form_held_is_one_line_that_does_one_thing(
    action: PinAction, label: str | None, note: str | None, target: int, dialect: Dialect
) -> None:
    line = render_directive(PinDirective(action, label, note, 9, target, ALICE))
    (again,) = read_directives(line, author=ALICE, sequence=9, dialect=dialect)
    assert "\n" not in line
    assert (again.action, again.target) == (action, target)
    assert render_directive(again) == line


def test_a_note_with_a_line_of_its_own_unpins_nothing() -> None:
    line = render_directive(PinDirective(PinAction.PIN, "ops", "done\n!unpin ^5", 9, 3, ALICE))
    assert line == "!pin ^3 #ops done !unpin ^5"
    assert read(line) == [("pin", 3, "ops", "done !unpin ^5")]


def test_a_label_of_several_words_stays_one_label() -> None:
    assert render_directive(PinDirective(PinAction.PIN, " two\twords ", " ", 9, 3, ALICE)) == "!pin ^3 #two-words"


def test_the_newest_pin_comes_first_by_row_and_then_by_line() -> None:
    assert board(row(1, "a"), row(2, "b"), row(3, "!pin ^1"), row(4, "!pin ^9\n!pin ^2")) == [(2, 4), (9, 4), (1, 3)]


def test_pinning_again_replaces_label_note_pinner_and_place() -> None:
    rows = (row(1, "a"), row(2, "!pin ^1 #x old"), row(3, "!pin"), row(4, "!pin ^1 new", BOB))
    assert fold_pins(rows) == (Pin(1, 4, BOB, None, "new", "a"), Pin(3, 3, ALICE, None, None, "!pin"))


def test_anyone_may_unpin_and_only_what_is_pinned_by_then() -> None:
    assert board(row(1, "a"), row(2, "!pin ^1"), row(3, "!unpin ^1", BOB)) == []
    assert board(row(1, "a"), row(2, "!unpin ^1", BOB), row(3, "!pin ^1")) == [(1, 3)]


def test_in_a_war_of_pins_the_last_line_wins_and_the_history_shows_them_all() -> None:
    war = [row(1, "a")]
    war += [row(n, "!pin ^1" if n % 2 else "!unpin ^1", ALICE if n % 2 else BOB) for n in range(3, 10)]
    assert board(*war) == [(1, 9)]
    assert board(*war[:-1]) == []
    history = pin_history(war, dialect="discord")
    assert [(event.directive.sequence, event.directive.author, event.effect) for event in history] == [
        (n, ALICE if n % 2 else BOB, "pinned" if n % 2 else "unpinned") for n in range(3, 10)
    ]


def test_the_board_is_what_the_log_says_now() -> None:
    said, pinned, unpinned = row(1, "The limit is 5."), row(2, "!pin ^1 #limits"), row(3, "!unpin ^1")
    assert board(said, pinned) == [(1, 2)]
    assert board(said) == [], "a deleted pin line takes its pin with it"
    assert board(said, pinned, unpinned) == []
    (dead,) = fold_pins((pinned,))
    assert dead.excerpt is None, "a deleted target stays on the board, without text"
    assert board(pinned, unpinned) == [], "and can still be unpinned"
    assert board(said, unpinned) == [], "an unpin of a pin whose line is gone does nothing"
    assert board(row(1, "The limit is 5."), row(2, "!pin ^1 #limits"), row(3, "never mind")) == [(1, 2)]


def test_a_full_board_drops_the_least_recently_pinned() -> None:
    rows = tuple(row(n, "!pin") for n in range(1, 61))
    assert [pin.sequence for pin in fold_pins(rows)] == list(range(60, 60 - PIN_LIMIT, -1))
    assert len(fold_pins(rows, 250)) == 60


def test_an_excerpt_is_one_line_cut_between_characters_that_belong_together() -> None:
    long = "x" * (PIN_EXCERPT_CHARS - 1) + "👩\u200d🚀 and more"
    rows = (row(1, " two\n\nlines "), row(2, long), row(3, "!pin ^1\n!pin ^2"))
    assert [pin.excerpt for pin in fold_pins(rows)] == ["x" * (PIN_EXCERPT_CHARS - 1) + "…", "two lines"]


def test_a_blank_row_is_quoted_by_what_is_attached_to_it_and_never_read_for_markers() -> None:
    blank = LogMessage(1, "desk", None, ALICE, " ", attached="plan.pdf")
    forwarded = LogMessage(2, "desk", None, ALICE, "", attached="forwarded: \n!pin #x hello deploy")
    assert [pin.excerpt for pin in fold_pins((blank, forwarded, row(3, "!pin ^1")))] == ["plan.pdf"]


def test_a_row_that_came_twice_is_quoted_as_it_came_last() -> None:
    assert [pin.excerpt for pin in fold_pins((row(1, "old"), row(1, "new"), row(2, "!pin ^1")))] == ["new"]


def test_a_hosts_rule_is_asked_in_order_with_the_pin_that_stands_then() -> None:
    asked: list[tuple[int, str, int, str | None]] = []

    def only_the_pinner(directive: PinDirective, current: Pin | None) -> bool:
        asked.append((directive.sequence, directive.action, directive.target, current.label if current else None))
        return current is None or current.pinned_by == directive.author

    rows = (
        row(1, "!pin #mine"),
        row(2, "!unpin ^1", BOB),
        row(3, "!pin ^1 #yours", BOB),
        row(4, "!unpin ^7", BOB),
        row(5, "!unpin ^1\n!pin ^1 #again"),
    )
    history = pin_history(rows, allows=only_the_pinner)
    assert [event.effect for event in history] == ["pinned", "refused", "refused", "nothing", "unpinned", "pinned"]
    assert asked == [
        (1, "pin", 1, None),
        (2, "unpin", 1, "mine"),
        (3, "pin", 1, "mine"),
        (4, "unpin", 7, None),
        (5, "unpin", 1, "mine"),
        (5, "pin", 1, None),
    ]
    assert [(pin.sequence, pin.label) for pin in fold_pins(rows, allows=only_the_pinner)] == [(1, "again")]


@given(logs, st.integers(-1, 6), st.sampled_from(DIALECTS))
@settings(deadline=None, max_examples=300)
def test_a_board_is_bounded_ordered_and_what_its_history_comes_to(
    rows: tuple[LogMessage, ...], limit: int, dialect: Dialect
) -> None:
    found = fold_pins(rows, limit, dialect=dialect)
    assert found == fold_pins(list(rows), limit, dialect=dialect)
    assert len(found) <= max(limit, 0)
    assert [pin.pinned_at for pin in found] == sorted((pin.pinned_at for pin in found), reverse=True)
    assert len({pin.sequence for pin in found}) == len(found)
    for pin in found:
        assert pin.excerpt is None or len(pin.excerpt) <= PIN_EXCERPT_CHARS + 1
        assert pin.note is None or pin.note == collapse(pin.note) != ""
        assert pin.label != ""
    live: dict[int, PinDirective] = {}
    history = pin_history(rows, dialect=dialect)
    assert len(history) <= PIN_MARKER_CAP * len(rows)
    for event in history:
        directive = event.directive
        stood = live.pop(directive.target, None)
        assert event.effect == ("pinned" if directive.action == "pin" else "unpinned" if stood else "nothing")
        if event.effect == "pinned":
            live[directive.target] = directive
    assert [pin.sequence for pin in fold_pins(rows, len(rows) * PIN_MARKER_CAP, dialect=dialect)] == [*live][::-1]


@given(logs)
@settings(deadline=None, max_examples=100)
def test_rows_that_say_nothing_of_pins_change_no_board(rows: tuple[LogMessage, ...]) -> None:
    talk = tuple(row(20 + n, "talk! `!pin`") for n in range(3))
    assert board(*rows, *talk) == board(*rows)
    assert board(*talk) == []


@given(logs)
@settings(deadline=None, max_examples=100)
def test_everything_has_a_wire_form_and_comes_back_from_it(rows: tuple[LogMessage, ...]) -> None:
    for pin in fold_pins(rows):
        assert from_wire(Pin, to_wire(pin, string_ids=True)) == pin
    for event in pin_history(rows):
        assert from_wire(type(event), to_wire(event, string_ids=True)) == event


async def test_a_limit_of_zero_is_an_empty_board_and_reads_nothing() -> None:
    log = RecordingLog((row(1, "!pin"),))
    found = await read_pinboard(log, DESK, 0)
    assert (found.pins, found.coverage.rows, found.coverage.oldest, found.coverage.beginning) == ((), 0, None, False)
    assert log.asked == []
    assert fold_pins((row(1, "!pin"),), 0) == ()


async def test_a_desk_board_holds_what_its_threads_pinned_and_nothing_of_other_desks() -> None:
    elsewhere = LogMessage(4, "other", None, SCOUT, "!pin")
    log = RecordingLog((row(1, "root"), row(2, "insight", parent=1), row(3, "!pin ^2", parent=1), elsewhere))
    assert [(pin.sequence, pin.excerpt) for pin in (await read_pinboard(log, DESK)).pins] == [(2, "insight")]
    everything = await read_pinboard(log, None)
    assert [pin.sequence for pin in everything.pins] == [4, 2]


async def test_a_threads_board_is_of_that_thread_alone_and_its_walk_ends_at_the_root() -> None:
    rows = (row(1, "!pin"), row(2, "root\n!pin"), row(3, "!pin ^1", parent=2), row(4, "!pin ^1 #desk"))
    log = RecordingLog((*rows, row(5, "!pin", parent=1)))
    thread = Conversation(desk_id="desk", desk_name="Desk", thread_root=2)
    found = await read_pinboard(log, thread)
    assert [(pin.sequence, pin.label, pin.excerpt) for pin in found.pins] == [(1, None, None), (2, None, "root !pin")]
    assert (found.coverage.rows, found.coverage.oldest, found.coverage.stopped) == (4, 2, None)


async def test_a_replayed_turn_never_sees_a_later_pin() -> None:
    log = RecordingLog((row(1, "a"), row(2, "!pin ^1"), row(3, "!unpin ^1"), row(4, "!pin")))
    assert [pin.sequence for pin in (await read_pinboard(log, DESK, before=3)).pins] == [1]
    assert log.asked[0][0] == 3


async def test_a_board_reads_no_further_than_its_scan_and_says_so() -> None:
    log = RecordingLog(tuple(row(n, "!pin") for n in range(1, 11)))
    found = await read_pinboard(log, DESK, scan=3)
    assert [pin.sequence for pin in found.pins] == [10, 9, 8]
    assert (found.coverage.rows, found.coverage.oldest, found.coverage.stopped) == (3, 8, "bound")
    assert log.asked == [(None, 3)]


async def test_a_board_takes_a_rule_a_dialect_and_a_reader_of_links() -> None:
    log = RecordingLog((row(1, "a"), row(2, "> !pin ^1\n    !pin ^here #b"), row(3, "!pin ^here", BOB)))
    found = await read_pinboard(
        log, DESK, dialect="discord", address={"here": 1}.get, allows=lambda directive, _: directive.author != BOB
    )
    assert [(pin.sequence, pin.label, pin.pinned_at) for pin in found.pins] == [(1, "b", 2)]


def test_a_note_has_one_line_a_pin_and_leaves_out_what_is_not_there() -> None:
    rows = (row(1, "The limit\nis 5."), row(2, "!pin ^1 #limits worth keeping\n!pin ^7\n!pin ^8 why"))
    coverage = Coverage(rows=2, oldest=1, beginning=True, stopped=None)
    note = pin_note(Pinboard(fold_pins(rows), coverage))
    assert note is not None
    assert note.heading == "Pinned in this conversation"
    assert note.lines == ("[8] — why", "[7]", '[1] #limits "The limit is 5." — worth keeping')
    assert pin_note(Pinboard((), coverage)) is None


@pytest.mark.parametrize("shape", HOSTILE)
def test_reading_directives_grows_with_the_body_and_no_faster(shape: str) -> None:
    def read_all(body: str) -> None:
        read_directives(body, author=ALICE, sequence=9, dialect="discord", reply_to=4)
        read_directives(body, author=ALICE, sequence=9)

    assert growth(read_all, HOSTILE[shape], small=2_000, factor=16) < HOSTILE_GROWTH


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(pins).failed == 0
