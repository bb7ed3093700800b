from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import discord
import pytest
import simcord
from recall_bot import queries
from recall_bot.errors import Unavailable
from recall_bot.finding import is_everywhere
from recall_bot.history import ENDED, Progress
from recall_bot.matchers import ExpressionsOff
from recall_bot.merging import NEWEST_MISSED, SEARCH_CHANNELS, MergedDesk, MergedLog
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

import recall
from tests.asking import answer_of, ask, buttons, configured, history, quoted, text_of
from tests.simcord_shims import user_forum_post, user_thread
from tests.stage import Stage, set_stage
from tests.workshop import open_workshop

ADA = recall.PersonAuthor("1", "ada")
HIDDEN = discord.PermissionOverwrite(view_channel=False)


def row(sequence: int, desk: int) -> recall.LogMessage:
    return recall.LogMessage(sequence, str(desk), None, ADA, "text")


class FakeDesk:
    """Be the log and the history of a desk that holds some rows; records what it was asked for."""

    def __init__(self, desk: int, sequences: list[int], fails: Exception | None = None) -> None:
        self.rows = [row(sequence, desk) for sequence in sorted(sequences, reverse=True)]
        self.fails = fails
        self.reads: list[int | None] = []
        self.left_out: list[Any] = []

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        self.reads.append(before)
        await asyncio.sleep(0)
        if self.fails is not None:
            raise self.fails
        older = [found for found in self.rows if before is None or found.sequence < before]
        return recall.SessionPage(tuple(older[:limit]), older[limit - 1].sequence if len(older) > limit else None)


def merged(*fakes: FakeDesk, last: dict[int, int | None] | None = None, **options: Any) -> MergedLog:
    """Return the merge of fakes; `last` is what Discord told of each one's last message, where that is wrong."""
    desks = []
    for number, fake in enumerate(fakes):
        newest = fake.rows[0].sequence if fake.rows else None
        told = (last or {}).get(number, newest)
        place: Any = SimpleNamespace(id=number, name=f"c{number}", last_message_id=told)
        history: Any = fake
        desks.append(MergedDesk(place, fake, history, None))
    return MergedLog(desks, **options)


async def sequences_of(log: MergedLog, scan: int, **options: Any) -> tuple[list[int], recall.Coverage]:
    walk = await recall.walk_log(log, scan=scan, **options)
    return [found.sequence for found in walk.rows], walk.coverage


async def test_desks_are_read_as_one_newest_first_to_the_beginning() -> None:
    fakes = [FakeDesk(desk, list(range(1 + desk, 2_000, 7))) for desk in range(7)]
    read, coverage = await sequences_of(merged(*fakes), 5_000)
    assert read == sorted((found.sequence for fake in fakes for found in fake.rows), reverse=True)
    assert coverage.beginning


async def test_a_bounded_walk_goes_on_where_it_ended() -> None:
    fakes = [FakeDesk(desk, list(range(1 + desk, 600, 3))) for desk in range(3)]
    first, coverage = await sequences_of(merged(*fakes), 250)
    assert coverage.stopped == "bound"
    rest, coverage = await sequences_of(merged(*fakes), 9_999, before=coverage.oldest)
    assert coverage.beginning
    assert first + rest == list(range(599, 0, -1))


async def test_a_desk_that_is_quiet_since_long_is_not_read() -> None:
    busy, quiet = FakeDesk(0, list(range(1_000, 1_100))), FakeDesk(1, [5])
    await sequences_of(merged(busy, quiet), 50)
    assert len(busy.reads) == 1
    assert quiet.reads == []


async def test_only_so_many_desks_are_read_at_the_same_time() -> None:
    going: set[int] = set()
    most = 0

    class Slow(FakeDesk):
        async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
            nonlocal most
            going.add(id(self))
            most = max(most, len(going))
            for _ in range(3):
                await asyncio.sleep(0)
            going.discard(id(self))
            return await super().read_before(before, limit)

    await sequences_of(merged(*(Slow(desk, [desk + 1]) for desk in range(20))), 999)
    assert most == SEARCH_CHANNELS


async def test_a_desk_that_cannot_be_read_is_left_out_and_named() -> None:
    log = merged(FakeDesk(0, [9], Unavailable("no_permission")), FakeDesk(1, [3, 7]))
    read, coverage = await sequences_of(log, 99)
    assert read == [7, 3]
    assert coverage.beginning
    assert [(left.name, left.reason) for left in log.left_out] == [("c0", "no_permission")]


@pytest.mark.parametrize("kind", ["discord_down", "rate_limited"])
async def test_when_discord_stops_answering_the_walk_ends_with_what_it_has(kind: Any) -> None:
    fine, failing = FakeDesk(0, list(range(1_000, 1_600))), FakeDesk(1, [3], Unavailable(kind))
    read, coverage = await sequences_of(merged(fine, failing), 9_999)
    assert len(read) == 600
    assert coverage.stopped == kind
    assert read == list(range(1_599, 999, -1))
    with pytest.raises(recall.ReadError):
        await sequences_of(merged(FakeDesk(0, [3], Unavailable(kind))), 9)


async def test_what_is_newer_than_discord_told_of_is_not_lost_in_silence() -> None:
    log = merged(FakeDesk(0, list(range(50, 60))), FakeDesk(1, [3, 90]), last={1: 3})
    read, _ = await sequences_of(log, 99)
    assert 90 not in read
    assert [(left.name, left.reason) for left in log.left_out] == [("c1", NEWEST_MISSED)]


async def test_nothing_is_fetched_below_where_the_question_ends() -> None:
    new, old = FakeDesk(0, [100, 101]), FakeDesk(1, [5])
    read, _ = await sequences_of(merged(new, old, after=50), 99, after=50)
    assert read == [101, 100]
    assert old.reads == []


async def test_progress_counts_what_came_of_all_desks() -> None:
    said: list[Progress] = []
    await sequences_of(merged(*(FakeDesk(desk, [desk + 1]) for desk in range(3)), on_progress=said.append), 99)
    assert said[-1].rows == 3


async def test_no_desk_at_all_is_an_empty_log() -> None:
    read, coverage = await sequences_of(merged(), 9)
    assert (read, coverage.beginning) == ([], True)
    assert merged()._expected == ENDED


@pytest.mark.parametrize("text", ["everywhere", " Everywhere "])
def test_everywhere_is_a_word_and_a_channel_of_that_name_has_a_hash(text: str) -> None:
    assert is_everywhere(text)
    assert not is_everywhere("#everywhere")
    assert not is_everywhere(None)


async def a_guild(env: simcord.Env, configure: Any = None) -> Stage:
    """Return a stage with a needle in every kind of place."""
    stage = await set_stage(env, configure or configured())
    guild, backend = stage.guild, env.backend
    mods = guild.create_text_channel("mods", overwrites={stage.ada: HIDDEN})
    voice = guild.create_voice_channel("lounge")
    forum = guild.create_forum_channel("help")
    thread = user_thread(env, stage.quiet.id, stage.ben.id, "open")
    mine = user_thread(env, stage.quiet.id, stage.ben.id, "mine", private=True)
    other = user_thread(env, stage.quiet.id, stage.ben.id, "other", private=True)
    for private in (mine, other):
        backend.add_thread_member(private.id, backend.bot_user.id)
    backend.add_thread_member(mine.id, stage.ada.id)
    user_forum_post(env, forum.id, stage.ben.id, "post", "needle in the forum")
    for place, name in ((stage.channel, "general"), (stage.quiet, "quiet"), (mods, "mods"), (voice, "voice")):
        backend.create_message(place.id, stage.ben.id, f"needle in {name}")
    for thread_id, name in ((thread.id, "a thread"), (mine.id, "mine"), (other.id, "other")):
        backend.create_message(thread_id, stage.ben.id, f"needle in {name}")
    await stage.settle()
    return stage


FOUND = {"the forum", "general", "quiet", "voice", "a thread", "mine"}


def found(answer: Any) -> set[str]:
    return {line.removeprefix("needle in ") for line in quoted(answer)}


async def test_everything_that_the_asker_may_read_is_searched_and_nothing_else(env: simcord.Env) -> None:
    stage = await a_guild(env)

    answer = await ask(stage, "search", query="needle", place="everywhere")

    assert found(answer) == FOUND
    assert "all 9 messages" in text_of(answer)
    assert "Left out" not in text_of(answer)
    assert f"<#{stage.quiet.id}>" in text_of(answer)
    whole = await ask(stage, "search", who=stage.ben, query="needle", place="everywhere")
    assert found(whole) == FOUND | {"mods", "other"}


async def test_what_the_bot_may_not_read_is_searched_for_nobody(env: simcord.Env) -> None:
    stage = await a_guild(env)
    await stage.deny(stage.quiet, read_message_history=False)

    answer = await ask(stage, "search", who=stage.ben, query="needle", place="everywhere")

    assert found(answer) == {"the forum", "general", "mods", "voice"}
    assert "Left out" not in text_of(answer)


async def test_a_second_search_over_a_mirrored_guild_reads_no_message_from_discord(env: simcord.Env) -> None:
    stage = await a_guild(env)
    first = await ask(stage, "search", query="needle", place="everywhere")
    env.http_requests.clear()

    again = await ask(stage, "search", query="needle", place="everywhere")

    assert quoted(again) == quoted(first)
    assert not [r.path for r in env.http_requests if r.method == "GET" and r.path.endswith(("/messages", "/public"))]


async def test_older_goes_on_everywhere_and_newer_comes_back_also_after_a_restart(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(scan=3))
    history(stage, ["needle one", "hay", "hay", "hay"])
    history(stage, ["hay", "hay", "hay", "needle two"], stage.quiet)
    await stage.restart()

    newest = await ask(stage, "search", query="needle", place="everywhere")
    assert quoted(newest) == ["needle two"]
    older = answer_of(await stage.ada.click(newest, label="Older"))
    assert "No match" in text_of(older)
    await stage.restart()
    oldest = answer_of(await stage.ada.click(older, label="Older"))
    assert quoted(oldest) == ["needle one"]
    assert buttons(oldest) == {"Newer": True, "Older": False}
    assert "**Everywhere** you can read" in text_of(oldest).replace("\\", "")


async def test_a_role_that_is_lost_between_two_pages_counts_at_once(env: simcord.Env) -> None:
    stage = await set_stage(env, configured(scan=2))
    history(stage, ["hay", "hay"])
    history(stage, ["needle", "needle"], stage.quiet)
    newest = await ask(stage, "search", query="needle", place="everywhere")
    allow, deny = HIDDEN.pair()
    overwrite = Overwrite(stage.ada.id, OverwriteType.MEMBER, allow=allow.value, deny=deny.value)
    env.backend.set_overwrite(stage.quiet.id, overwrite)
    await stage.settle()

    older = answer_of(await stage.ada.click(newest, label="Older"))

    assert quoted(older) == []


async def test_a_role_that_is_lost_while_it_is_read_counts_when_the_answer_is_made(env: simcord.Env) -> None:
    workshop = await open_workshop(env)
    await workshop.post_in(workshop.mods.id, "needle in mods")
    await workshop.post_in(workshop.general.id, "needle in general")
    lost: list[Progress] = []

    def lose(progress: Progress) -> None:
        if not lost:
            env.backend.remove_member_role(workshop.guild.id, workshop.ben.id, workshop.moderators.id)
        lost.append(progress)

    desk = await workshop.desks.open_everywhere(await workshop.asker(workshop.ben), on_progress=lose)
    request = queries.SearchRequest("needle")
    answer = await queries.search(desk, request, matcher=ExpressionsOff(), asker=str(workshop.ben.id))

    assert lost[-1].rows == 2
    assert [hit.excerpt for hit in answer.hits] == ["needle in general"]
    assert answer.coverage.rows == 1


async def test_a_public_answer_is_never_about_everywhere(env: simcord.Env) -> None:
    stage = await a_guild(env)
    answer = await ask(stage, "search", query="needle", place="everywhere", public=True)
    assert answer.content.startswith("A public answer can only be about the channel it stands in")


async def test_everywhere_is_offered_for_a_search_and_authors_are_those_of_all(env: simcord.Env) -> None:
    stage = await a_guild(env)
    await ask(stage, "search", query="needle", place="everywhere")

    offered = await stage.ada.autocomplete(stage.channel, "search", "in", "every", query="x")
    names = await stage.ada.autocomplete(stage.channel, "search", "from", "be", query="x", **{"in": "everywhere"})
    on_pins = await stage.ada.autocomplete(stage.channel, "pins", "in", "every")

    assert [choice["value"] for choice in offered] == ["everywhere"]
    assert [choice["name"] for choice in names] == ["ben"]
    assert not on_pins
    by_name = await ask(stage, "search", query="needle", place="everywhere", author="ben")
    assert found(by_name) == FOUND


async def test_a_channel_called_everywhere_is_searched_by_mention_and_with_its_hash(env: simcord.Env) -> None:
    stage = await a_guild(env)
    named = stage.guild.create_text_channel("everywhere")
    await stage.ben.send(named, "needle in itself")

    for place in ("#everywhere", f"<#{named.id}>", str(named.id)):
        assert found(await ask(stage, "search", query="needle", place=place)) == {"itself"}
    assert found(await ask(stage, "search", query="needle", place="everywhere")) == FOUND | {"itself"}
