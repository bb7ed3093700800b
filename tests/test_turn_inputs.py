"""The acceptance of turn inputs, A1 to A25. A25 runs every other test with the pin turned off."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from recall import (
    TURN_INPUTS,
    Compilation,
    OverBudget,
    RangePin,
    ReadMark,
    RowRange,
    SummaryRefused,
    TurnStart,
    Viewpoint,
)
from tests.marked import ALICE, BOB, CRITIC, SCOUT
from tests.turn_world import HERE, TOOL, World

FORK = Viewpoint(viewer="scout", conversation="desk", branch="fork")
CRITICS = Viewpoint(viewer="critic", conversation="desk")
OTHER = RangePin("notes", 10, 10)


@pytest.fixture
def world() -> World:
    return World()


def stale(world: World, view: Viewpoint = HERE) -> None:
    """Leave two pins of a turn that nobody ended."""
    for sequence in (10, 20):
        world.pins.pin(view, RangePin(TURN_INPUTS, sequence, sequence))


async def long_turn(world: World) -> list[bool]:
    """Run a turn of 40 rounds and say of each compile whether the row that opened it was in it whole."""
    for number in range(10):
        world.say(f"before {number} ".ljust(400, "."))
    world.read_all()
    request = world.say("Please settle the limit. ".ljust(1_200, "!"), BOB)
    turn = world.start()
    whole: list[bool] = []
    await world.rounds(turn, 40, lambda made: whole.append(request in {found.sequence for found in made.rows}))
    world.turns.settle(turn)
    return whole


async def test_a1_the_row_that_opens_a_turn_of_40_rounds_is_whole_in_every_compile(world: World) -> None:
    assert await long_turn(world) == [True] * 40
    assert world.logged == []
    without = await long_turn(World(pinning=False))
    assert without.count(False) > 20, "without the pin it is missing from most"


async def test_a2_none_of_the_rows_of_a_turn_opens_the_next_one(world: World) -> None:
    world.say("before")
    world.read_all()
    first = world.say("one")
    turn = world.start()
    await world.rounds(turn, 5)
    assert world.pinned() == [(first, first)]
    world.turns.settle(turn)
    world.say("Done.", SCOUT)
    second = world.say("two")
    world.start()
    assert world.pinned() == [(second, second)]


async def test_a3_tool_rows_at_the_end_of_the_turn_before_are_trimmed(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say(TOOL + "a late result")
    world.say(TOOL + "another")
    request = world.say("and now?")
    assert world.start().inputs == (request, request)
    assert world.pinned() == [(request, request)]


async def test_a4_unseen_rows_are_passed_over_and_absent_also_when_one_is_the_viewers_own(world: World) -> None:
    world.say("before")
    world.read_all()
    first = world.say("one")
    world.unseen = {world.say("hidden"), world.say("mine, hidden since", SCOUT)}
    last = world.say("two")
    world.unseen.add(world.say("hidden at the end"))
    turn = world.start()
    assert world.pinned() == [(first, last)]
    made = await world.compile(turn)
    assert made.pinned == (first, last)
    assert world.unseen.isdisjoint(found.sequence for found in made.rows)


async def test_a5_of_two_stale_pins_of_the_name_none_is_left_beside_the_new_one(world: World) -> None:
    stale(world)
    world.say("before")
    world.read_all()
    request = world.say("one")
    world.start()
    assert world.pinned() == [(request, request)]


async def test_a6_a_silent_start_clears_the_pins_and_sets_none(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say("one")
    world.start()
    assert len(world.pinned()) == 1
    world.say("two")
    world.start(TurnStart.SILENT)
    assert world.pinned() == []


async def test_a7_a_dropped_continuation_leaves_no_pin(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say("one")
    turn = world.start()
    assert world.start(TurnStart.CONTINUATION) is turn
    assert len(world.pinned()) == 1
    world.turns.settle(turn)
    world.turns.settle(turn)
    assert world.pinned() == []


async def test_a8_stop_with_a_retry_waiting_leaves_no_pin_and_no_retry(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say("one")
    turn = world.start()
    called_off: list[str] = []
    world.turns.wait(turn, lambda: called_off.append("retry"))
    assert len(world.pinned()) == 1
    world.turns.stop()
    world.turns.stop()
    assert world.pinned() == []
    assert called_off == ["retry"]
    assert not world.turns.resume(turn)


async def test_a9_where_only_the_pinned_rows_do_not_fit_one_line_is_logged_and_the_turn_answers(world: World) -> None:
    world.say("before")
    world.read_all()
    request = world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    await world.rounds(turn, 4)
    made = await world.compile(turn, budget=8_000, tail=3_000)
    assert made.total <= 8_000
    assert request not in {found.sequence for found in made.rows}
    assert [refusal.pinned for refusal in world.logged] == [9_000]
    assert world.pinned() == []
    await world.compile(turn, budget=8_000, tail=3_000)
    assert len(world.logged) == 1


async def test_a10_a_compile_that_refuses_both_ways_refuses_exactly_twice(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    world.say("a thought", SCOUT)
    with pytest.raises(OverBudget):
        await world.compile(turn, budget=8_000, tail=3_000, summed_up=False)
    assert world.attempts == [True, False]
    assert turn.mark == ReadMark("main", 10), "nothing was carried"


async def test_a11_two_concurrent_compiles_make_four_and_both_succeed(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    await world.rounds(turn, 4)
    held: list[bool] = []
    both_began = asyncio.Barrier(2)

    async def attempt(ranges: tuple[RowRange, ...]) -> Compilation:
        held.append(bool(world.pinned()))
        if held[-1]:
            await both_began.wait()
        return world.compiled(ranges, 8_000, 3_000)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        made = [group.create_task(world.turns.compile(turn, attempt)) for _ in range(2)]
    assert held == [True, True, False, False]
    assert all(done.result().total <= 8_000 for done in made)


async def test_a12_a_preview_that_refuses_leaves_the_pin(world: World) -> None:
    world.say("before")
    world.read_all()
    request = world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    await world.rounds(turn, 4)
    world.attempts.clear()
    mark = turn.mark
    with pytest.raises(OverBudget):
        await world.compile(turn, budget=8_000, tail=3_000, preview=True)
    assert world.pinned() == [(request, request)]
    assert world.attempts == [True]
    assert world.logged == []
    world.say("one more")
    await world.compile(turn, budget=80_000, preview=True)
    assert turn.mark == mark


async def test_a13_a_host_without_pins_runs_as_before_and_logs_nothing() -> None:
    world = World(pinning=False)
    world.say("before")
    world.read_all()
    world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    await world.rounds(turn, 4)
    with pytest.raises(OverBudget):
        await world.compile(turn, budget=8_000, tail=3_000, summed_up=False)
    assert (await world.compile(turn, budget=8_000, tail=3_000)).total <= 8_000
    assert len(world.attempts) == 4 + 2
    world.turns.settle(turn)
    world.turns.stop()
    assert world.logged == []


async def test_a14_the_pins_of_two_viewers_have_nothing_to_do_with_each_other(world: World) -> None:
    world.say("before")
    world.read_all()
    world.read_all(CRITICS)
    first = world.say("one")
    turn = world.start()
    second = world.say("two", SCOUT)
    other = world.start(view=CRITICS)
    assert (world.pinned(), world.pinned(CRITICS)) == ([(first, first)], [(first, second)])
    await world.compile(other)
    world.turns.settle(turn)
    assert (world.pinned(), world.pinned(CRITICS)) == ([], [(first, second)])
    assert turn.mark == ReadMark("main", 10)


async def test_a15_a_fork_and_its_parent_open_and_end_each_on_its_own_branch(world: World) -> None:
    world.say("before")
    world.read_all()
    world.read_all(FORK)
    first = world.say("one")
    turn = world.start()
    second = world.say("two")
    forked = world.start(view=FORK)
    assert (world.pinned(), world.pinned(FORK)) == ([(first, first)], [(first, second)])
    world.turns.settle(forked)
    assert (world.pinned(), world.pinned(FORK)) == ([(first, first)], [])
    world.start(view=FORK)
    world.turns.settle(turn)
    assert (world.pinned(), world.pinned(FORK)) == ([], [(first, second)])


def without_a_mark_on_the_branch(world: World, mark: ReadMark | None) -> None:
    stale(world)
    world.say("before")
    world.say("one")
    world.marks[HERE] = mark
    assert world.start().inputs is None
    assert world.pinned() == []


async def test_a16_without_a_mark_stale_pins_are_cleared_and_none_is_set(world: World) -> None:
    without_a_mark_on_the_branch(world, None)


async def test_a16b_with_a_mark_on_another_branch_stale_pins_are_cleared_and_none_is_set(world: World) -> None:
    without_a_mark_on_the_branch(world, ReadMark("fork", 10))


async def test_a17_where_only_tool_rows_are_unread_nothing_is_pinned(world: World) -> None:
    stale(world)
    world.say("before")
    world.read_all()
    world.say(TOOL + "one")
    world.say(TOOL + "two")
    world.start()
    assert world.pinned() == []


async def test_a18_a_tool_row_inside_or_at_the_new_end_stays(world: World) -> None:
    world.say("before")
    world.read_all()
    world.say(TOOL + "trimmed")
    first = world.say("one")
    world.say(TOOL + "inside")
    world.say("two", BOB)
    last = world.say(TOOL + "at the end")
    turn = world.start()
    assert world.pinned() == [(first, last)]
    assert len((await world.compile(turn)).pinned) == 4


async def test_a19_where_nothing_is_unread_nothing_is_pinned(world: World) -> None:
    stale(world)
    world.say("before")
    world.read_all()
    world.start()
    assert world.pinned() == []


async def test_a20_where_the_viewer_spoke_last_nothing_is_pinned(world: World) -> None:
    stale(world)
    world.say("before")
    world.read_all()
    world.say("one")
    world.say("two", SCOUT)
    world.start()
    assert world.pinned() == []


async def test_a21_other_pins_are_untouched_when_a_turn_opens_ends_and_gives_way(world: World) -> None:
    world.pins.pin(HERE, OTHER)
    for number in range(4):
        world.say(f"before {number}")
    world.read_all()
    request = world.say("a request ".ljust(9_000, "!"))
    turn = world.start()
    assert world.pins.listed(HERE) == (OTHER, RangePin(TURN_INPUTS, request, request))
    await world.rounds(turn, 4)
    made = await world.compile(turn, budget=8_000, tail=3_000)
    assert world.pins.listed(HERE) == (OTHER,)
    assert made.pinned == (10,)
    assert len(world.logged) == 1
    world.say("next")
    world.turns.settle(world.start())
    assert world.pins.listed(HERE) == (OTHER,)


async def test_a22_an_end_that_was_deleted_moves_to_the_nearest_row_left_in_the_range(world: World) -> None:
    world.say("before")
    world.read_all()
    first, second, third = (world.say(text, author) for text, author in (("a", ALICE), ("b", BOB), ("c", CRITIC)))
    turn = world.start()
    await world.rounds(turn, 6)
    for gone, left in ((first, (second, third)), (third, (second,))):
        world.delete(gone)
        assert (await world.compile(turn, budget=8_000, tail=3_000)).pinned == left
    world.delete(second)
    assert (await world.compile(turn, budget=8_000, tail=3_000)).pinned == ()
    assert world.logged == []


async def test_a23_another_error_is_raised_keeps_the_pin_and_is_not_tried_again(world: World) -> None:
    world.say("before")
    world.read_all()
    request = world.say("one")
    turn = world.start()
    attempts: list[tuple[RowRange, ...]] = []
    errors = iter((RuntimeError("the log is gone"), SummaryRefused(first=1, last=2, hole="tail")))

    async def attempt(ranges: tuple[RowRange, ...]) -> Compilation:
        attempts.append(ranges)
        raise next(errors)

    for kind in (RuntimeError, SummaryRefused):
        with pytest.raises(kind):
            await world.turns.compile(turn, attempt)
    assert attempts == [((request, request),)] * 2
    assert world.pinned() == [(request, request)]
    assert world.logged == []


async def test_a24_a_row_that_joins_mid_turn_is_carried_and_opens_nothing(world: World) -> None:
    world.say("before")
    world.read_all()
    request = world.say("one")
    turn = world.start()
    await world.rounds(turn, 2)
    joined = world.say("also this", BOB)
    made = await world.compile(turn)
    assert joined in {found.sequence for found in made.rows}
    assert turn.mark == ReadMark("main", joined)
    assert world.pinned() == [(request, request)]
    world.turns.settle(turn)
    following = world.say("two")
    world.start()
    assert world.pinned() == [(following, following)]


def pin_tests() -> list[Callable[[World], Awaitable[None]]]:
    module = sys.modules[__name__]
    names = [
        name for name in dir(module) if name.startswith("test_a") and not name.startswith(("test_a13_", "test_a25_"))
    ]
    return [getattr(module, name) for name in names]


@pytest.mark.parametrize("test", pin_tests(), ids=lambda test: test.__name__.split("_")[1])
async def test_a25_every_test_of_the_pin_fails_when_the_pin_is_turned_off(
    test: Callable[[World], Awaitable[None]],
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await test(World(pinning=False))


def test_a25_leaves_out_no_test_but_that_of_a_host_without_pins() -> None:
    letters = {test.__name__.split("_")[1] for test in pin_tests()}
    assert letters - {"a16b"} == {f"a{number}" for number in range(1, 25)} - {"a13"}
