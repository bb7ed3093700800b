"""What the demo needs of simcord's private parts; a test that fails here may say that one can go."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta

import discord
import simcord
from recall_bot.demo.simulation import RECORDS_KEPT, LiveClock, message_content_allowed
from simcord._clock import Clock
from simcord.backend import Backend


class Seconds:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_simcords_clock_still_stands_still_on_the_first_of_january() -> None:
    assert Clock().now() == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_live_clock_begins_where_it_is_told_and_goes_on_like_the_machines() -> None:
    seconds = Seconds(1_000.0)
    start = datetime(2021, 5, 3, tzinfo=UTC)
    clock = LiveClock(start, seconds=seconds)
    assert (clock.now(), clock.elapsed) == (start, 1_000.0)

    seconds.now += 60
    clock.advance(5)

    assert clock.now() == start + timedelta(seconds=65)


def test_simcord_still_lets_nobody_choose_the_id_or_the_time_of_a_message() -> None:
    parameters = inspect.signature(Backend.create_message).parameters
    assert not {"id", "message_id", "timestamp", "created_at"} & parameters.keys()


def test_simcord_still_keeps_every_event_for_ever() -> None:
    backend = Backend()
    for _ in range(RECORDS_KEPT + 1):
        backend.emit("TYPING_START", {})
    assert len(backend.transcript) == RECORDS_KEPT + 1


async def test_a_simulated_application_still_has_no_flags_of_its_own() -> None:
    class Client(discord.Client):
        async def setup_hook(self) -> None:
            assert not self.application_flags.gateway_message_content_limited

    async with simcord.run(Client(intents=discord.Intents.none())) as env:
        with message_content_allowed():
            assert (await env.bot.application_info()).flags.gateway_message_content_limited
        assert not (await env.bot.application_info()).flags.gateway_message_content_limited
