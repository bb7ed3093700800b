from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recall_bot.turn_keeping
import recall_bot.turn_reading
from recall_bot.queries import LeftOut, NoOneChannel, OpenDesk
from recall_bot.state import State
from recall_bot.turn_keeping import LEASE_SECONDS, CompileRequest, OpenTurn, TurnKeeper, TurnUnknown
from recall_bot.turn_reading import TurnTooLong

from recall import (
    OverBudget,
    ReadMark,
    RowRange,
    Summary,
    SummaryRefused,
    Viewpoint,
    Whereabouts,
    parse_frames,
)
from tests.growing_desk import GrowingDesk
from tests.marked import SCOUT

HERE = Viewpoint("scout", "desk")


class Host:
    """A keeper with a clock of its own, and one room."""

    def __init__(self, state: State | None = None, *, pinning: bool = True) -> None:
        self.now = 0.0
        self.state = state or State(":memory:", now=lambda: self.now)
        self.keeper = TurnKeeper(self.state, clock=lambda: self.now, pinning=pinning)
        self.room = GrowingDesk()

    async def open(self, request: int | None = None, **more: Any) -> OpenTurn:
        return await self.keeper.open(self.room.desk, "desk", viewer="scout", request=request, **more)

    async def compile(self, turn: OpenTurn, budget: int = 20_000, tail: int = 6_000, **more: Any) -> list[int | None]:
        """Return the rows that are put before the model, null for a summary."""
        compiled = await self.keeper.compile(turn, self.room.desk, CompileRequest(budget, tail, **more))
        assert compiled.text is not None
        assert len(compiled.text) <= budget
        [frame] = parse_frames(compiled.text, turn.nonce)
        return [record.sequence for record in frame.records]


@pytest.fixture
def host() -> Host:
    return Host()


async def test_the_request_of_a_viewer_that_is_first_met_is_an_input_of_its_own_turn(host: Host) -> None:
    for text in ("before", "the request", "and this"):
        host.room.say(text)
    turn = await host.open(20)
    assert turn.turn.inputs == RowRange(20, 30)
    assert turn.request is Whereabouts.HERE
    assert host.keeper.is_held(turn)
    assert await host.state.read_mark(HERE) == ReadMark("main", 19)


async def test_what_a_turn_that_was_never_compiled_has_not_carried_is_an_input_of_the_next(host: Host) -> None:
    for text in ("the request", "another", "a third"):
        host.room.say(text)
    first = await host.open(10)
    host.keeper.close(first.id)
    again = await host.open(30)
    assert again.turn.inputs == RowRange(10, 30)
    assert await host.compile(again)
    assert (await host.open(30)).turn.inputs is None


async def test_a_request_that_is_newer_than_all_there_is_sets_no_mark(host: Host) -> None:
    host.room.say("the request")
    await host.open(999)
    assert await host.state.read_mark(HERE) is None


async def test_without_a_request_the_first_turn_runs_unpinned(host: Host) -> None:
    host.room.say("before")
    turn = await host.open()
    assert (turn.turn.inputs, turn.request) == (None, None)
    assert await host.compile(turn) == [10]
    assert await host.state.read_mark(HERE) == ReadMark("main", 10)


async def test_a_silent_turn_clears_what_is_held_and_pins_nothing(host: Host) -> None:
    host.room.say("the request")
    held = await host.open(10)
    silent = await host.open(10, silent=True)
    assert not host.keeper.is_held(held)
    assert not host.keeper.is_held(silent)
    assert await host.compile(silent) == [10]


async def test_results_of_tools_are_no_old_end_of_what_opens_a_turn(host: Host) -> None:
    for text in ("tool: left over", "the request", "tool: new"):
        host.room.say(text)
    turn = await host.open(10, is_tool_result=lambda row: row.content.startswith("tool:"))
    assert turn.turn.inputs == RowRange(20, 30)


async def test_a_mark_that_was_lost_is_set_below_the_request_again(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    host = Host(State(str(path), now=lambda: 0))
    for text in ("a", "b"):
        host.room.say(text)
    await host.compile(await host.open(10))
    path.unlink()
    assert (await host.open(20)).turn.inputs == RowRange(20, 20)


async def test_only_a_committed_compile_moves_the_mark_that_is_kept(host: Host) -> None:
    host.room.say("a")
    turn = await host.open(10)
    await host.compile(turn, preview=True)
    assert await host.state.read_mark(HERE) == ReadMark("main", 9)
    with pytest.raises(OverBudget):
        await host.keeper.compile(turn, host.room.desk, CompileRequest(1, 1))
    assert await host.state.read_mark(HERE) == ReadMark("main", 9)
    await host.compile(turn)
    assert await host.state.read_mark(HERE) == ReadMark("main", 10)
    host.room.say("b")
    await host.compile(turn)
    assert await host.state.read_mark(HERE) == ReadMark("main", 20)


async def test_the_next_turn_opens_on_what_came_since(host: Host) -> None:
    host.room.say("a")
    turn = await host.open(10)
    await host.compile(turn)
    host.keeper.close(turn.id)
    host.room.say("mine", SCOUT)
    host.room.say("late")
    assert (await host.open(10)).turn.inputs == RowRange(30, 30)


async def test_a_mark_outlives_the_process(tmp_path: Path) -> None:
    first = Host(State(str(tmp_path / "state.sqlite"), now=lambda: 0))
    for text in ("a", "b"):
        first.room.say(text)
    await first.compile(await first.open(10))
    second = Host(State(str(tmp_path / "state.sqlite"), now=lambda: 0))
    second.room = first.room
    second.room.say("c")
    assert (await second.open(10)).turn.inputs == RowRange(30, 30)


async def test_a_turn_reaches_back_over_its_window_and_to_what_is_pinned(host: Host) -> None:
    for number in range(50):
        host.room.say(f"talk {number}")
    assert await host.compile(await host.open(window=5)) == [460, 470, 480, 490, 500]
    assert await host.compile(await host.open(since=490)) == [490, 500]
    other = Host()
    other.room = host.room
    assert await other.compile(await other.open(400, window=5)) == list(range(400, 510, 10))


async def test_inputs_that_do_not_fit_are_let_go_of_and_the_window_is_compiled(host: Host, caplog: Any) -> None:
    caplog.set_level("INFO")
    for number in range(50):
        host.room.say(f"talk {number} ".ljust(200, "."))
    turn = await host.open(10, window=3)
    compiled = await host.keeper.compile(turn, host.room.desk, CompileRequest(2_000, 500))
    assert [row.sequence for row in compiled.compilation.rows] == [480, 490, 500]
    assert not compiled.held
    assert [record.getMessage() for record in caplog.records if "unpinned" in record.message] == [
        "the inputs of a turn were unpinned: viewer=scout conversation=desk budget=2000 actual="
        + caplog.records[0].getMessage().rpartition("=")[2]
    ]
    assert "talk" not in caplog.text


async def test_the_budget_counts_every_character_of_the_text(host: Host) -> None:
    for number in range(20):
        host.room.say(f'"{number}"\n\u200b' * 5)
    turn = await host.open(since=10)
    compiled = await host.keeper.compile(turn, host.room.desk, CompileRequest(100_000, 1_000))
    assert compiled.text is not None
    exact = len(compiled.text)
    await host.keeper.compile(turn, host.room.desk, CompileRequest(exact + 1, 1_000))
    with pytest.raises(OverBudget) as refused:
        await host.keeper.compile(turn, host.room.desk, CompileRequest(exact - 1, 1_000))
    assert refused.value.budget == exact - 1


async def test_summaries_stand_in_where_nothing_is_missing_and_are_refused_else(host: Host) -> None:
    for number in range(10):
        host.room.say(f"talk {number} ".ljust(300, "."))
    turn = await host.open(since=10)
    assert await host.compile(turn, 3_000, 400, summaries=(Summary(10, 50, "small talk"),)) == [
        None,
        60,
        70,
        80,
        90,
        100,
    ]
    with pytest.raises(SummaryRefused):
        await host.compile(turn, 3_000, 400, summaries=(Summary(1, 50, "more than was read"),))
    host.room.left_out = [LeftOut("9", "archived", "too many threads")]
    with pytest.raises(SummaryRefused):
        await host.compile(turn, 3_000, 400, summaries=(Summary(10, 50, "small talk"),))


async def test_a_turn_whose_rows_cannot_all_be_read_compiles_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_bot.turn_reading, "TURN_ROWS", 5)
    for number in range(5):
        host.room.say(f"talk {number}")
    turn = await host.open(since=10)
    await host.compile(turn)
    host.room.say("one too many")
    with pytest.raises(TurnTooLong, match="what is older was not read"):
        await host.compile(turn)


async def test_a_request_that_is_gone_or_was_not_read_is_said_to_be(host: Host) -> None:
    for text in ("a", "b", "c"):
        host.room.say(text)
    host.room.delete(20)
    assert (await host.open(20)).request is Whereabouts.GONE
    assert (await host.open(99)).request is Whereabouts.NOT_READ


async def test_an_empty_room_opens_and_has_nothing_to_show(host: Host) -> None:
    turn = await host.open(5)
    compiled = await host.keeper.compile(turn, host.room.desk, CompileRequest(1_000, 100))
    assert (compiled.text, compiled.compilation.rows) == (None, ())


async def test_a_later_turn_of_the_viewer_in_the_channel_takes_the_place_of_the_earlier(host: Host) -> None:
    host.room.say("a")
    first = await host.open(10)
    second = await host.open(10)
    with pytest.raises(TurnUnknown):
        host.keeper.find(first.id)
    assert host.keeper.find(second.id) is second
    assert host.keeper.is_held(second)
    elsewhere = await host.keeper.open(host.room.desk, "thread", viewer="scout", request=10)
    assert host.keeper.is_held(second)
    assert host.keeper.is_held(elsewhere)


async def test_closing_removes_the_pin_and_twice_is_once(host: Host) -> None:
    host.room.say("a")
    turn = await host.open(10)
    assert [host.keeper.close(turn.id) for _ in range(2)] == [True, False]
    assert not host.keeper.is_held(turn)
    with pytest.raises(TurnUnknown):
        host.keeper.find(turn.id)


async def test_a_turn_that_nobody_came_back_to_is_closed_and_use_keeps_it_open(host: Host, caplog: Any) -> None:
    caplog.set_level("INFO")
    host.room.say("a")
    used, left = await host.open(10), await host.keeper.open(host.room.desk, "desk", viewer="critic", request=10)
    host.now = LEASE_SECONDS - 1
    host.keeper.find(used.id)
    host.now = LEASE_SECONDS
    host.keeper.sweep()
    assert host.keeper.is_held(used)
    assert not host.keeper.is_held(left)
    assert "a turn was left: viewer=critic" in caplog.text


async def test_the_turns_of_an_owner_that_is_gone_end_with_it(host: Host) -> None:
    host.room.say("a")
    theirs = await host.open(10, owner="session")
    other = await host.keeper.open(host.room.desk, "desk", viewer="critic", request=10, owner="another")
    host.keeper.close_of("session")
    assert not host.keeper.is_held(theirs)
    assert host.keeper.is_held(other)


async def test_of_too_many_turns_the_one_longest_unused_is_closed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_bot.turn_keeping, "TURNS_OPEN", 2)
    host.room.say("a")
    turns = []
    for number in range(3):
        host.now += 1
        turns.append(await host.keeper.open(host.room.desk, "desk", viewer=str(number), request=10))
    assert len(host.keeper) == 2
    assert [host.keeper.is_held(turn) for turn in turns] == [False, True, True]


async def test_stopping_ends_every_turn(host: Host) -> None:
    host.room.say("a")
    turn = await host.open(10)
    host.keeper.stop()
    assert (len(host.keeper), host.keeper.is_held(turn)) == (0, False)


async def test_a_mark_that_cannot_be_kept_costs_no_answer(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "state.sqlite").mkdir()
    host = Host(State(str(tmp_path / "state.sqlite"), now=lambda: 0))
    host.room.say("a")
    assert await host.compile(await host.open(10)) == [10]
    assert "a read mark was not kept" in caplog.text


async def test_a_turn_stands_in_one_channel(host: Host) -> None:
    with pytest.raises(NoOneChannel):
        await host.keeper.open(OpenDesk(host.room), "everything", viewer="scout")


def test_a_turn_does_not_show_its_nonce_when_it_is_written_out(host: Host) -> None:
    turn = OpenTurn("id", None, "secret", 0, None, None, 0)  # type: ignore[arg-type]
    assert "secret" not in repr(turn)
