from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import simcord

    from tests.stage import Stage


# Machines are slow at times, which is no fault of what is tested; and what is merged does not fail by chance.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("recall")
    group.addoption("--histories", type=int, default=300, help="generated histories that are played (300)")
    group.addoption("--minutes", type=float, default=0, help="go on with generated histories for so long (0)")


@pytest.fixture(autouse=True)
def an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where nothing lies: the default configuration writes its files into the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def simulated_discord() -> Iterator[None]:
    """Mend simcord where it differs from Discord in what is tested here."""
    from tests.simcord_shims import fast_settle, fix_app_flags, fix_history_after  # noqa: PLC0415 - most tests need none

    undo = [fast_settle(), fix_app_flags(), fix_history_after()]
    yield
    for mend in reversed(undo):
        mend()


@pytest.fixture
async def env(simulated_discord: None) -> AsyncIterator[simcord.Env]:
    """An empty simulated Discord, with its own time."""
    from tests.stage import open_world  # noqa: PLC0415

    async with open_world() as opened:
        yield opened


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    """A guild with the real bot in it; `tests.stage.set_stage(env, configure)` takes a configuration of your own."""
    from tests.stage import set_stage  # noqa: PLC0415

    return await set_stage(env)
