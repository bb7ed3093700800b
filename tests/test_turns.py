from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    MAIN_BRANCH,
    START_RULES,
    TURN_INPUTS,
    AgentAuthor,
    Compilation,
    HeldPins,
    LogMessage,
    PersonAuthor,
    RangePin,
    ReadError,
    ReadMark,
    RowRange,
    StartRule,
    Turns,
    TurnStart,
    Viewpoint,
    first_mark,
    from_wire,
    move_mark,
    to_wire,
    turn_inputs,
)
from tests.marked import ALICE, SCOUT, row
from tests.turn_world import HERE, World


def newest_first(count: int, own: set[int]) -> tuple[LogMessage, ...]:
    return tuple(row(number, "x", SCOUT if number in own else ALICE) for number in range(count, 0, -1))


def in_any(numbers: set[int]) -> Callable[[LogMessage], bool]:
    return lambda found: found.sequence in numbers


some = st.sets(st.integers(1, 12))


@given(st.integers(0, 12), st.integers(0, 13), some, some, some)
@settings(deadline=None, max_examples=500)
def test_inputs_run_from_the_oldest_row_that_says_something_to_the_newest_that_is_seen(
    count: int, mark: int, own: set[int], hidden: set[int], tools: set[int]
) -> None:
    found = turn_inputs(
        newest_first(count, own),
        ReadMark(MAIN_BRANCH, mark),
        "scout",
        sees=lambda checked: checked.sequence not in hidden,
        is_tool_result=in_any(tools),
    )
    floor = max([mark, *(number for number in own - hidden if number <= count)])
    unread = [number for number in range(floor + 1, count + 1) if number not in hidden]
    said = [number for number in unread if number not in tools]
    assert found == ((said[0], unread[-1]) if said else None)


def test_rows_below_the_mark_are_not_asked_for() -> None:
    asked: list[int] = []

    def sees(found: LogMessage) -> bool:
        asked.append(found.sequence)
        return True

    turn_inputs(newest_first(9, set()), ReadMark(MAIN_BRANCH, 6), "scout", sees=sees)
    assert asked == [9, 8, 7]


def test_an_own_row_is_known_by_its_id_and_never_by_its_name() -> None:
    imitation = (row(3, "x", AgentAuthor("webhook", "Scout")), row(2, "x", PersonAuthor("12", "scout")))
    assert turn_inputs(imitation, ReadMark(MAIN_BRANCH, 1), "scout") == (2, 3)
    renamed = (row(3, "x"), row(2, "x", AgentAuthor("scout", "Somebody")))
    assert turn_inputs(renamed, ReadMark(MAIN_BRANCH, 1), "scout") == (3, 3)


def test_a_mark_counts_on_its_own_branch_alone() -> None:
    rows, mark = newest_first(3, set()), ReadMark("fork", 1)
    assert turn_inputs(rows, mark, "scout") is None
    assert turn_inputs(rows, None, "scout") is None
    assert turn_inputs(rows, mark, "scout", branch="fork") == (2, 3)


def test_a_first_mark_stands_just_below_the_request_or_at_the_newest_row() -> None:
    assert first_mark("main", newest=30, request=20) == ReadMark("main", 19)
    assert first_mark("main", newest=30) == ReadMark("main", 30)
    assert first_mark("fork", newest=None) is None
    assert first_mark("main", newest=3, request=0) == ReadMark("main", 0)


def test_a_mark_moves_on_with_what_was_carried_and_never_back() -> None:
    assert move_mark(None, "main", 5) == ReadMark("main", 5)
    assert move_mark(ReadMark("main", 5), "main", 7) == ReadMark("main", 7)
    assert move_mark(ReadMark("main", 5), "main", 3) == ReadMark("main", 5)
    assert move_mark(ReadMark("main", 5), "main", None) == ReadMark("main", 5)
    assert move_mark(ReadMark("fork", 5), "main", 3) == ReadMark("main", 3)
    assert move_mark(None, "main", None) is None


def test_only_a_turn_pins_and_only_a_turn_or_a_silent_start_clears() -> None:
    assert set(START_RULES) == set(TurnStart)
    assert START_RULES[TurnStart.TURN] == StartRule(clears=True, pins=True)
    assert START_RULES[TurnStart.SILENT] == StartRule(clears=True, pins=False)
    assert {START_RULES[kind] for kind in set(TurnStart) - {TurnStart.TURN, TurnStart.SILENT}} == {(False, False)}


@pytest.mark.parametrize("kind", sorted(set(TurnStart) - {TurnStart.TURN, TurnStart.SILENT}))
def test_a_start_inside_a_turn_leaves_what_is_held_and_gives_the_turn_back(kind: TurnStart) -> None:
    world = World()
    world.say("before")
    world.read_all()
    world.say("one")
    turn = world.start()
    held = world.pinned()
    world.say("two")
    assert world.start(kind) is turn
    assert world.pinned() == held
    assert world.turns.is_held(turn)


async def test_a_resume_after_a_restart_of_the_host_holds_what_was_left_and_lets_go_of_it() -> None:
    world = World()
    world.say("before")
    world.pins.pin(HERE, RangePin(TURN_INPUTS, 10, 10))
    turn = world.start(TurnStart.RESUME)
    assert (await world.compile(turn)).pinned == (10,)
    assert world.turns.is_held(turn)
    world.turns.settle(turn)
    assert world.pinned() == []


async def test_a_viewer_that_is_first_met_has_its_request_for_an_input_where_the_host_names_it() -> None:
    world = World()
    for text in ("before", "the request", "and this"):
        world.say(text)
    turn = world.start(request=20)
    assert turn.inputs == (20, 30)
    assert world.pinned() == [(20, 30)]
    await world.compile(turn)
    assert turn.mark == ReadMark("main", 30)
    assert World().start().mark is None
    assert World().start(request=7).inputs is None


def test_a_named_request_changes_nothing_for_a_viewer_whose_mark_is_known() -> None:
    world = World()
    for text in ("before", "read", "new"):
        world.say(text)
    world.marks[HERE] = ReadMark("main", 20)
    assert world.start(request=10).inputs == (30, 30)


def test_the_pin_is_taken_before_the_notices_of_the_start() -> None:
    world = World()
    world.say("before")
    world.read_all()
    request = world.say("one")
    world.start()
    world.say("Scout is typing …")
    assert world.pinned() == [(request, request)]


def test_a_tool_boundary_moves_the_mark_only_when_it_put_new_rows_before_the_model() -> None:
    world = World()
    world.say("before")
    world.read_all()
    turn = world.start()
    turn.carry(None)
    assert turn.mark == ReadMark("main", 10)
    turn.carry(world.say("one"))
    assert turn.mark == ReadMark("main", 20)


async def test_what_a_failed_compile_would_have_carried_stays_unread() -> None:
    world = World()
    world.say("before")
    world.read_all()
    turn = world.start()
    world.say("late")

    async def attempt(_: tuple[RowRange, ...]) -> Compilation:
        raise ReadError

    with pytest.raises(ReadError):
        await world.turns.compile(turn, attempt)
    assert turn.mark == ReadMark("main", 10)


def test_a_turn_that_ends_late_leaves_the_pin_of_the_one_that_took_its_place() -> None:
    world = World()
    world.say("before")
    world.read_all()
    world.say("one")
    earlier = world.start()
    world.say("two", SCOUT)
    second = world.say("three")
    later = world.start()
    assert not world.turns.is_held(earlier)
    world.turns.settle(earlier)
    assert world.pinned() == [(second, second)]
    assert world.turns.is_held(later)
    assert (earlier.settled, later.settled) == (True, False)


def test_a_retry_may_run_once_and_not_after_its_turn_has_settled() -> None:
    world = World()
    turn = world.start()
    called_off: list[str] = []
    world.turns.wait(turn, lambda: called_off.append("first"))
    world.turns.wait(turn, lambda: called_off.append("second"))
    assert called_off == ["first"]
    assert world.turns.resume(turn)
    assert not world.turns.resume(turn)
    world.turns.wait(turn, lambda: called_off.append("third"))
    world.turns.settle(turn)
    assert called_off == ["first", "third"]
    assert not world.turns.resume(turn)
    world.turns.wait(turn, lambda: called_off.append("too late"))
    assert called_off == ["first", "third", "too late"]


def test_starting_the_turn_again_is_the_retry_that_had_been_waiting() -> None:
    world = World()
    turn = world.start()
    called_off: list[str] = []
    world.turns.wait(turn, lambda: called_off.append("retry"))
    assert world.start(TurnStart.RESUME) is turn
    world.turns.settle(turn)
    assert called_off == []


def test_after_stop_nothing_is_pinned_and_nothing_waits() -> None:
    world = World()
    world.say("before")
    world.read_all()
    world.say("one")
    superseded = world.start()
    called_off: list[str] = []
    world.turns.wait(superseded, lambda: called_off.append("superseded"))
    world.start()
    world.turns.stop()
    assert called_off == ["superseded"]
    late = world.start()
    assert late.inputs == (20, 20)
    assert world.pinned() == []
    world.turns.wait(late, lambda: called_off.append("late"))
    assert called_off == ["superseded", "late"]


def test_pins_in_memory_are_kept_apart_by_viewpoint_and_name() -> None:
    pins, other = HeldPins(), Viewpoint("scout", "elsewhere")
    one, two, noted = RangePin("a", 1, 2), RangePin("a", 3, 4), RangePin("b", 5, 6)
    for pin in (one, noted, two):
        pins.pin(HERE, pin)
    pins.pin(other, one)
    assert pins.listed(HERE) == (one, noted, two)
    pins.unpin(HERE, "a")
    pins.unpin(HERE, "a")
    assert (pins.listed(HERE), pins.listed(other)) == ((noted,), (one,))
    pins.unpin(HERE, "b")
    assert pins.listed(HERE) == ()


def test_marks_pins_and_viewpoints_have_wire_forms() -> None:
    for value in (ReadMark("main", 2**53 + 1), RangePin("turn-inputs", 1, 2), Viewpoint("scout", "desk")):
        assert from_wire(type(value), to_wire(value, string_ids=True)) == value
    assert to_wire(ReadMark("main", 7), string_ids=True) == {"branch": "main", "sequence": "7"}


def test_a_host_that_is_told_nothing_is_asked_nothing() -> None:
    turn = Turns(HeldPins()).start(HERE, TurnStart.TURN)
    assert (turn.inputs, turn.mark, turn.settled) == (None, None, False)
