"""What a question costs Discord: as few requests as can be the first time, and none after that."""

from __future__ import annotations

import msgspec
import pytest
import simcord
from recall_bot.config import Config

from tests.asking import ask, configured, history, quoted, text_of
from tests.simcord_shims import archive, user_thread
from tests.stage import Stage, set_stage


def mirrored(config: Config) -> Config:
    free: Config = configured()(config)
    return msgspec.structs.replace(free, mirror=msgspec.structs.replace(free.mirror, path=":memory:"))


@pytest.fixture
async def stage(env: simcord.Env) -> Stage:
    return await set_stage(env, mirrored)


def asked(stage: Stage) -> list[str]:
    """Return the requests for messages and threads so far, by their last part, and forget all requests."""
    made = [request.path for request in stage.env.http_requests if request.method == "GET"]
    stage.env.http_requests.clear()
    return sorted(path.rsplit("/", 1)[-1] for path in made if "/messages" in path or "/threads" in path)


async def test_a_cold_channel_costs_its_pages_and_a_warm_one_nothing(stage: Stage) -> None:
    history(stage, ["the needle", *["hay"] * 249])
    await stage.settle()
    asked(stage)

    assert quoted(await ask(stage, "search", query="needle")) == ["the needle"]
    assert asked(stage) == ["messages"] * 3 + ["public"]  # the archived threads: there is none

    assert quoted(await ask(stage, "search", query="needle")) == ["the needle"]
    assert "Nothing is pinned" in text_of(await ask(stage, "pins"))
    assert asked(stage) == []

    said = await stage.ada.send(stage.channel, "!pin another needle")
    assert len(quoted(await ask(stage, "search", query="needle"))) == 2
    assert "another needle" in text_of(await ask(stage, "pins", who=stage.ben))
    await stage.ada.edit(said, "no more")
    assert quoted(await ask(stage, "search", query="needle")) == ["the needle"]
    assert asked(stage) == []


async def test_a_thread_costs_one_page_more_and_then_nothing(stage: Stage) -> None:
    history(stage, ["hay"] * 10)
    threads = [user_thread(stage.env, stage.channel.id, stage.ada.id, name) for name in ("open", "closed")]
    for thread in threads:
        stage.env.backend.create_message(thread.id, stage.ada.id, f"a needle in {thread.name}")
    archive(stage.env, threads[1].id)
    await stage.settle()
    asked(stage)

    assert len(quoted(await ask(stage, "search", query="needle"))) == 2
    assert asked(stage) == ["messages"] * 3 + ["public"]
    assert len(quoted(await ask(stage, "search", query="needle"))) == 2
    assert asked(stage) == []


async def test_a_restart_makes_it_cold_again(stage: Stage) -> None:
    history(stage, ["a needle"])
    await ask(stage, "search", query="needle")
    await stage.restart()
    asked(stage)
    assert quoted(await ask(stage, "search", query="needle")) == ["a needle"]
    assert asked(stage) == ["messages", "public"]
