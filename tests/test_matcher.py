from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.matcher import Matcher, MatcherBusy, MatcherUnavailable
from recall_bot.matcher_pool import MATCHER_QUEUE
from recall_bot.matcher_process import WORKER_COMMAND, worker_environment
from recall_bot.matcher_worker import HEADER, Begin, Failed, Found, More, Reply, Rows, Taken, serve, to_frame

import recall

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="a worker's memory can be bounded on Linux only"),
]

AMPLE = 30.0  # seconds that no search here takes, however busy the machine
HOSTILE = "/(a|a)+$/"  # over HOSTILE_TEXT it runs for longer than anybody waits
HOSTILE_TEXT = "a" * 40 + "!"
BOMB = "/(?:(?:(?:a{99}){99}){99}){99}/"  # compiling it takes 22 GB

HOST = """
import asyncio, recall
from recall_bot.matcher import Matcher

async def main():
    matcher = Matcher(workers=1)
    await matcher.start()
    print(*matcher.pids, flush=True)
    input()
    row = recall.LogMessage(sequence=1, chat_id=None, parent=None, author=recall.OperatorAuthor(), content="a")
    query = recall.SearchQuery(pattern=recall.RegexPattern(source="a"))
    print(len(await matcher.search((row,), query, asker="1")), "found", flush=True)
    input()

asyncio.run(main())
"""


def row(sequence: int, content: str, attached: str = "") -> recall.LogMessage:
    author = recall.PersonAuthor(id="7", label="Ada")
    return recall.LogMessage(
        sequence=sequence, chat_id="9", parent=None, author=author, content=content, attached=attached
    )


def query(text: str, **options: object) -> recall.SearchQuery:
    """Read what somebody typed, which must come out as an expression."""
    pattern = recall.parse_query(text).pattern
    assert isinstance(pattern, recall.RegexPattern)
    return recall.SearchQuery(pattern=pattern, **options)  # type: ignore[arg-type]


def sequences(hits: tuple[recall.SearchHit, ...]) -> list[int]:
    return [hit.sequence for hit in hits]


def is_running(pid: int) -> bool:
    """Say whether there is such a process; a zombie is one."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def state_of(pid: int) -> str | None:
    """Return the letter of a process's state; null for none. One whose host died may wait for its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def resident_bytes(pid: int | str = "self") -> int:
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def cpu_is_used_by(pid: int) -> None:
    """Wait until a process has computed for a while, as one does that is inside an expression."""
    ticks = 0.05 * os.sysconf("SC_CLK_TCK")

    def spent() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    start = spent()
    while spent() - start < ticks:
        await asyncio.sleep(0.01)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def matcher() -> AsyncIterator[Matcher]:
    """One pool for all cases, so that each also shows that it stands after the one before."""
    async with Matcher(seconds=AMPLE) as matcher:
        yield matcher


# Strangers' expressions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/(a+)+$/", [2]),
        ("/a/b/", [4]),
        (r"/\//", [4, 3]),
        ("/(?:)/", [6, 5, 4, 3, 2, 1]),
        ("/(?:a{1000}){1000}/", []),
        (f"/{'a' * 197}b/", []),
        ("/A/", [6]),
    ],
)
async def test_an_expression_finds_what_it_describes(matcher: Matcher, text: str, found: list[int]) -> None:
    contents = ["a" * 26 + "!", "aa", "/", "a/b", "日本", "A"]
    rows = tuple(row(number, content) for number, content in enumerate(contents, 1))

    assert sequences(await matcher.search(rows, query(text, order="newest"), asker="1")) == found


@pytest.mark.parametrize("text", ["//", "/x/i", "/", "x/y/"])
async def test_what_is_no_expression_is_searched_as_text(text: str) -> None:
    assert recall.parse_query(text).pattern == recall.TextPattern(query=text)


async def test_an_expression_over_the_bound_of_a_query_is_refused_before_it_goes_anywhere() -> None:
    with pytest.raises(recall.PatternTooLong):
        recall.parse_query(f"/{'a' * 199}/")


@pytest.mark.parametrize(("text", "position"), [("/[/", 1), ("/a(?P<b/", 6), ("/(?i/", 3), ("/x{2,1}/", 2)])
async def test_a_bad_expression_names_its_position(matcher: Matcher, text: str, position: int) -> None:
    with pytest.raises(recall.InvalidPattern) as caught:
        await matcher.search((row(1, "[x"),), query(text), asker="1")

    assert caught.value.position == position
    assert caught.value.reason


async def test_a_bad_expression_is_bad_also_where_there_is_nothing_to_search(matcher: Matcher) -> None:
    with pytest.raises(recall.InvalidPattern):
        await matcher.search((), query("/[/"), asker="1")


async def test_text_that_is_no_unicode_is_a_bad_expression(matcher: Matcher) -> None:
    wanted = recall.SearchQuery(pattern=recall.RegexPattern(source="ab\udcff"))

    with pytest.raises(recall.InvalidPattern) as caught:
        await matcher.search((row(1, "ab"),), wanted, asker="1")

    assert caught.value.position == 2


async def test_a_limit_of_zero_is_empty_and_starts_nothing() -> None:
    async with Matcher() as idle:
        assert await idle.search((row(1, "a"),), query("/[/", limit=0), asker="1") == ()
        assert idle.pids == ()


async def test_an_expression_that_never_ends_runs_out_of_time_and_costs_no_worker() -> None:
    async with Matcher(seconds=0.2, grace_seconds=AMPLE) as matcher:
        await matcher.start()
        pids = matcher.pids

        with pytest.raises(recall.PatternTimeout) as caught:
            await matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="1")

        assert caught.value.limit == "time"
        assert matcher.pids == pids


@pytest.mark.parametrize(("text", "content"), [(BOMB, "a"), ("/(?R)?a|b(?R)/", "b" * 5000)])
async def test_an_expression_that_takes_all_memory_runs_out_of_it_and_the_host_does_not_grow(
    matcher: Matcher, text: str, content: str
) -> None:
    await matcher.start()
    before = resident_bytes()

    with pytest.raises(recall.PatternTimeout) as caught:
        await matcher.search((row(1, content),), query(text), asker="1")

    assert caught.value.limit == "memory"
    assert resident_bytes() - before < 8 * 2**20


async def test_an_expression_is_forgotten_by_the_worker_that_compiled_it() -> None:
    async with Matcher(seconds=AMPLE, workers=1) as matcher:
        await matcher.start()
        (pid,) = matcher.pids
        before = resident_bytes(pid)

        await matcher.search((row(1, "a"),), query("/(?:a{1000}){300}/"), asker="1")

        assert matcher.pids == (pid,)
        assert resident_bytes(pid) - before < 16 * 2**20


async def test_the_seconds_are_one_account_for_all_chunks_of_rows() -> None:
    rows = tuple(row(number, "a" * 17 + "!") for number in range(200))  # milliseconds each

    async with Matcher(seconds=0.3, chunk_chars=1) as matcher:
        with pytest.raises(recall.PatternTimeout) as caught:
            await matcher.search(rows, query("/^(a|a)+$/"), asker="1")

    assert caught.value.limit == "time"


# Askers


async def test_others_are_answered_while_an_expression_runs(matcher: Matcher) -> None:
    hostile = asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="hostile"))
    more = [
        asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="hostile")) for _ in range(4)
    ]

    for sequence in range(20):
        assert sequences(await matcher.search((row(sequence, "abc"),), query("/b./"), asker="other")) == [sequence]

    assert not hostile.done()
    for task in (hostile, *more):
        task.cancel()
    await asyncio.wait((hostile, *more))


async def test_askers_take_turns_when_all_must_wait() -> None:
    served: list[str] = []

    async def ask(matcher: Matcher, asker: str) -> None:
        await matcher.search((row(1, "a"),), query("/a/"), asker=asker)
        served.append(asker)

    async with Matcher(workers=1) as matcher, asyncio.TaskGroup() as tasks:
        for asker in ("a", "a", "a", "b", "b", "c"):
            tasks.create_task(ask(matcher, asker))

    assert served == ["a", "b", "c", "a", "b", "a"]


async def test_a_full_line_of_an_asker_is_refused_at_once_and_nobody_elses() -> None:
    async with Matcher(workers=1, asker_queue=2) as matcher:
        asking = [asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker="eager")) for _ in range(2)]
        await asyncio.sleep(0)

        with pytest.raises(MatcherBusy):
            await matcher.search((row(1, "a"),), query("/a/"), asker="eager")
        assert sequences(await matcher.search((row(1, "a"),), query("/a/"), asker="patient")) == [1]
        assert [sequences(hits) for hits in await asyncio.gather(*asking)] == [[1], [1]]


async def test_who_leaves_a_line_makes_room_in_it() -> None:
    async with Matcher(workers=1, asker_queue=1) as matcher:
        gone = asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker="1"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait((gone,))

        assert sequences(await matcher.search((row(2, "a"),), query("/a/"), asker="1")) == [2]


async def test_what_waits_in_all_is_bounded() -> None:
    async with Matcher() as matcher:
        asking = [
            asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker=str(asker)))
            for asker in range(MATCHER_QUEUE)
        ]
        await asyncio.sleep(0)

        with pytest.raises(MatcherBusy):
            await matcher.search((row(1, "a"),), query("/a/"), asker="one more")
        assert {len(hits) for hits in await asyncio.gather(*asking)} == {1}


# Workers that die, and hosts that go


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_worker_that_is_killed_in_an_expression_ran_out_of_memory_and_is_replaced(number: int) -> None:
    async with Matcher(seconds=AMPLE, workers=1) as matcher:
        await matcher.start()
        (pid,) = matcher.pids
        search = asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="1"))
        await cpu_is_used_by(pid)

        os.kill(pid, number)

        with pytest.raises(recall.PatternTimeout) as caught:
            await search
        assert caught.value.limit == "memory"
        assert sequences(await matcher.search((row(2, "a"),), query("/a/"), asker="1")) == [2]
        assert not is_running(pid)


async def test_workers_that_died_between_searches_are_nobodys_fault(caplog: pytest.LogCaptureFixture) -> None:
    async with Matcher() as matcher:
        await matcher.start()
        for pid in matcher.pids:
            os.kill(pid, signal.SIGKILL)

        assert sequences(await matcher.search((row(2, "a"),), query("/a/"), asker="1")) == [2]


async def test_a_worker_that_does_not_answer_in_time_is_killed_and_replaced() -> None:
    async with Matcher(seconds=1.0, grace_seconds=0.1, workers=1) as matcher:
        await matcher.start()
        (pid,) = matcher.pids
        search = asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="1"))
        await cpu_is_used_by(pid)

        os.kill(pid, signal.SIGSTOP)  # as good as busy where the engine heeds no limit

        with pytest.raises(recall.PatternTimeout) as caught:
            await search
        assert caught.value.limit == "time"
        assert sequences(await matcher.search((row(2, "a"),), query("/a/"), asker="1")) == [2]
        assert pid not in matcher.pids
    assert not is_running(pid)


async def test_a_cancelled_search_leaves_no_answer_behind() -> None:
    async with Matcher(seconds=AMPLE, workers=1) as matcher:
        await matcher.start()
        (pid,) = matcher.pids
        search = asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="1"))
        await cpu_is_used_by(pid)

        search.cancel()

        with pytest.raises(asyncio.CancelledError):
            await search
        assert sequences(await matcher.search((row(2, "a"),), query("/a/"), asker="1")) == [2]
        assert pid not in matcher.pids


async def test_a_search_cancelled_while_it_waits_takes_no_worker() -> None:
    async with Matcher(workers=1) as matcher:
        first = asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker="1"))
        second = asyncio.create_task(matcher.search((row(2, "a"),), query("/a/"), asker="2"))
        third = asyncio.create_task(matcher.search((row(3, "a"),), query("/a/"), asker="3"))
        await asyncio.sleep(0)

        second.cancel()

        assert [sequences(hits) for hits in await asyncio.gather(first, third)] == [[1], [3]]
        with pytest.raises(asyncio.CancelledError):
            await second


async def test_a_search_cancelled_in_the_moment_of_its_turn_passes_it_on() -> None:
    async with Matcher(workers=1) as matcher:
        second = asyncio.create_task(matcher.search((row(2, "a"),), query("/a/"), asker="2"))
        await matcher.search((row(1, "a"),), query("/a/"), asker="1")
        second.cancel()  # it has been handed the worker just now, and has not run since

        assert sequences(await matcher.search((row(3, "a"),), query("/a/"), asker="3")) == [3]
        assert second.cancelled()


async def test_closing_ends_every_process_and_every_search() -> None:
    matcher = Matcher(seconds=AMPLE, workers=1)
    await matcher.start()
    pids = matcher.pids
    running = asyncio.create_task(matcher.search((row(1, HOSTILE_TEXT),), query(HOSTILE), asker="1"))
    waiting = asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker="2"))
    await cpu_is_used_by(*pids)

    started = time.perf_counter()
    await matcher.close()

    assert time.perf_counter() - started < 2
    assert matcher.pids == ()
    assert not any(map(is_running, pids))
    for search in (running, waiting):
        with pytest.raises(MatcherUnavailable):
            await search
    with pytest.raises(MatcherUnavailable):
        await matcher.search((row(1, "a"),), query("/a/"), asker="1")
    await matcher.close()


async def test_closing_while_workers_start_ends_them_too() -> None:
    matcher = Matcher()
    search = asyncio.create_task(matcher.search((row(1, "a"),), query("/a/"), asker="1"))
    await asyncio.sleep(0)

    await matcher.close()

    with pytest.raises(MatcherUnavailable):
        await search
    assert matcher.pids == ()


async def test_closing_what_was_never_started_is_nothing() -> None:
    await Matcher().close()


async def test_starting_twice_starts_once() -> None:
    async with Matcher() as matcher:
        await asyncio.gather(matcher.start(), matcher.start())
        pids = matcher.pids
        await matcher.start()

        assert len(pids) == 2
        assert matcher.pids == pids


async def test_between_searches_no_task_is_left() -> None:
    async with Matcher() as matcher:
        await matcher.search((row(1, "a"),), query("/a/"), asker="1")
        await matcher.start()
        await asyncio.sleep(0)

        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("recall-matcher")] == []


async def test_a_worker_ends_with_its_host_and_leaves_ctrl_c_to_it() -> None:
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE
    )
    assert host.stdin is not None
    assert host.stdout is not None
    pid = int(await host.stdout.readline())
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    host.stdin.write(b"\n")
    assert await host.stdout.readline() == b"1 found\n"

    host.kill()
    await host.communicate()

    async with asyncio.timeout(AMPLE):
        while state_of(pid) not in {None, "Z"}:
            await asyncio.sleep(0.01)


async def test_an_alarm_ends_a_worker_whose_host_died_while_it_was_busy() -> None:
    search = recall.SearchQuery(pattern=recall.RegexPattern(source="(a|a)+$"))
    worker = await asyncio.create_subprocess_exec(
        *WORKER_COMMAND,
        str(2**29),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=worker_environment(os.environ, sys.path),
    )
    assert worker.stdin is not None
    worker.stdin.write(to_frame(Begin(1, search, seconds=AMPLE, alarm_seconds=0.1)))
    worker.stdin.write(to_frame(Rows(1, (row(1, HOSTILE_TEXT),), last=True)))

    await worker.communicate()

    assert worker.returncode == -signal.SIGALRM


# What a worker is


async def test_a_worker_is_given_no_secret_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "s3cret")
    monkeypatch.setenv("OTHER_KEY", "s3cret")
    async with Matcher(workers=1) as matcher:
        await matcher.start()
        (pid,) = matcher.pids
        process = Path(f"/proc/{pid}")

        assert b"s3cret" not in (process / "environ").read_bytes()
        assert {(process / "fd" / name).readlink() for name in ("1", "2")} == {Path(os.devnull)}
        limits = {line[:25].strip(): line[25:].split()[:2] for line in (process / "limits").read_text().splitlines()}
        assert limits["Max address space"] == [str(2**29)] * 2
        assert limits["Max core file size"] == ["0", "0"]


async def test_a_worker_loads_nothing_of_discord() -> None:
    script = "import sys, recall_bot.matcher_worker; print(*sys.modules)"
    done = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    output, _ = await done.communicate()

    loaded = {name.partition(".")[0] for name in output.decode().split()}
    assert {"recall", "recall_bot", "regex"} <= loaded
    assert not loaded & {"discord", "aiohttp", "asyncio", "ssl", "multiprocessing"}


async def test_rows_are_never_all_in_a_worker_at_once() -> None:
    content = "x" * 100_000
    rows = tuple(row(number, content) for number in range(1_500))  # 150 MB of text, for a worker of 96

    async with Matcher(seconds=AMPLE, memory_bytes=96 * 2**20) as matcher:
        hits = await matcher.search(rows, query("/^x/", limit=2), asker="1")

    assert sequences(hits) == [1499, 1498]


async def test_where_memory_cannot_be_bounded_expressions_are_off_unless_the_operator_says_otherwise() -> None:
    script = (
        "import sys; sys.modules['resource'] = None; from recall_bot.matcher_worker import main; main(sys.argv[1:])"
    )
    command = (sys.executable, "-c", script)

    async with Matcher(command=command) as matcher:
        for _ in range(2):
            with pytest.raises(recall.RegexUnsupported):
                await matcher.search((row(1, "a"),), query("/a/"), asker="1")
        assert matcher.pids == ()
    async with Matcher(command=command, allow_unlimited=True) as matcher:
        assert sequences(await matcher.search((row(1, "a"),), query("/a/"), asker="1")) == [1]


@pytest.mark.parametrize(
    "command",
    [
        ("/nonexistent",),
        (sys.executable, "-c", "raise SystemExit(3)"),
        (sys.executable, "-c", "print('what is this', flush=True); input()"),
        (sys.executable, "-c", "import sys; sys.stdout.buffer.write(bytes([255] * 99)); sys.stdout.flush(); input()"),
    ],
)
async def test_what_does_not_start_as_a_worker_is_reported_and_ended(
    command: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with Matcher(command=command, workers=1) as matcher:
        await matcher.start()
        with pytest.raises(MatcherUnavailable):
            await matcher.search((row(1, "a"),), query("/a/"), asker="1")

        assert matcher.pids == ()
    assert "a matcher worker did not start" in caplog.text


async def test_an_answer_to_another_search_is_never_taken_for_ones_own(caplog: pytest.LogCaptureFixture) -> None:
    script = """
import sys
from recall_bot.matcher_worker import Found, Ready, Taken, to_frame

for reply in (Ready(limited=True), Taken(id=999), Found(id=999, hits=())):
    sys.stdout.buffer.write(to_frame(reply))
sys.stdout.flush()
input()
"""
    async with Matcher(command=(sys.executable, "-c", script), workers=1) as matcher:
        with pytest.raises(MatcherUnavailable):
            await matcher.search((row(1, "a"),), query("/a/"), asker="1")

    assert "lost between two searches" in caplog.text


async def test_a_fault_of_a_worker_is_logged_by_its_class_and_told_as_ours(caplog: pytest.LogCaptureFixture) -> None:
    script = """
import sys
from recall_bot.matcher_worker import Failed, Ready, Taken, to_frame

for reply in (Ready(limited=True), Taken(id=1), Failed(id=1, kind="fault", reason="KeyError")):
    sys.stdout.buffer.write(to_frame(reply))
sys.stdout.flush()
input()
"""
    async with Matcher(command=(sys.executable, "-c", script), workers=1) as matcher:
        with pytest.raises(MatcherUnavailable):
            await matcher.search((row(1, "a"),), query("/a/"), asker="1")

    assert "a matcher worker failed: KeyError" in caplog.text


def replies_to(*requests: Begin | Rows) -> list[msgspec.Struct]:
    """Return what a worker says to requests, in this process."""
    written = BytesIO()
    serve(BytesIO(b"".join(map(to_frame, requests))), written)
    found: list[msgspec.Struct] = []
    left = written.getvalue()
    while left:
        (size,) = HEADER.unpack_from(left)
        found.append(REPLIES.decode(left[HEADER.size : HEADER.size + size]))
        left = left[HEADER.size + size :]
    return found


REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


async def test_a_worker_asks_for_rows_until_it_has_the_last() -> None:
    begin = Begin(5, query("/a/", limit=1), seconds=AMPLE, alarm_seconds=AMPLE)

    taken, more, found = replies_to(begin, Rows(5, (row(1, "a"),), last=False), Rows(5, (row(2, "a"),), last=True))

    assert taken == Taken(5)
    assert isinstance(more, More)
    assert 0 < more.spent < AMPLE
    assert isinstance(found, Found)
    assert sequences(found.hits) == [2]


async def test_a_worker_names_no_text_in_a_fault_and_goes_on() -> None:
    begin = Begin(5, query("/a/"), seconds=AMPLE, alarm_seconds=AMPLE)

    replies = replies_to(begin, begin, begin, Rows(5, (), last=True))

    assert replies == [Taken(5), Failed(5, "fault", "ValidationError"), Taken(5), Found(5, ())]


async def test_a_worker_whose_host_goes_in_the_middle_of_a_search_ends() -> None:
    begin = Begin(5, query("/a/"), seconds=AMPLE, alarm_seconds=AMPLE)

    assert len(replies_to(begin, Rows(5, (), last=False))) == 2
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)  # no alarm is left for whoever goes on


# The same result


TEXTS = st.text(alphabet="ab日 \n!é", max_size=12)
QUERIES = st.builds(
    recall.SearchQuery,
    pattern=st.sampled_from(["a", "b+", "(?i)A", "^a", "a$", r"\bé", "", "(?:)", "[日!]", "(a|b)*"]).map(
        recall.RegexPattern
    ),
    author_id=st.sampled_from([None, "7", "nobody"]),
    before=st.none() | st.integers(0, 40),
    after=st.none() | st.integers(0, 40),
    limit=st.integers(0, 6),
    order=st.sampled_from(["best", "newest"]),
)


@settings(max_examples=40, deadline=None)
@given(
    texts=st.dictionaries(st.integers(0, 40), st.tuples(TEXTS, TEXTS), max_size=20),
    query=QUERIES,
    chunk_chars=st.sampled_from([1, 400, 10_000]),
)
async def test_a_worker_finds_what_the_fold_finds(
    texts: dict[int, tuple[str, str]], query: recall.SearchQuery, chunk_chars: int
) -> None:
    rows = [row(sequence, content, attached) for sequence, (content, attached) in texts.items()]

    async with Matcher(workers=1, chunk_chars=chunk_chars) as matcher:
        assert await matcher.search(rows, query, asker="1") == recall.search_rows(rows, query)
