"""Run every fold over rows while the interpreter reports what is reached for: `python -m tests.watched_folds FILE`.

Prints one line of JSON: the names of the audit events (an open file, a socket, a process, an import), those
that were seen when a file was opened, and a digest of all values.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

import recall

MARKERS = ("pin", "propose", "support", "refute", "unpin", "object", "evidence")
QUERIES = ("limiter", "rate limiter", "/lim.t/", '"rate limiter" so', "lmtr", "日本")


class RowsLog:
    """A log in memory that never lets its reader wait."""

    def __init__(self, rows: Sequence[recall.LogMessage]) -> None:
        self._rows = sorted(rows, key=lambda row: -row.sequence)

    async def read_before(self, before: int | None, limit: int) -> recall.SessionPage:
        older = [row for row in self._rows if before is None or row.sequence < before]
        page = tuple(older[:limit])
        return recall.SessionPage(page, page[-1].sequence if len(older) > len(page) else None)


def run(reader: Coroutine[Any, Any, object]) -> object:
    """Return what a reader returns; it must wait for nothing but its log, so there is no event loop."""
    try:
        reader.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a reader waits for something else than its log")


def fold(rows: Sequence[recall.LogMessage]) -> list[object]:
    """Return the value of every fold over these rows, with markers of all kinds written into them."""
    marked = tuple(
        msgspec.structs.replace(
            row, content=f"!{MARKERS[number % len(MARKERS)]} #topic{number % 5} ^{row.sequence} `!pin` {row.content}"
        )
        for number, row in enumerate(rows)
    )
    log = RowsLog(marked)
    desk = recall.Conversation(desk_id=rows[0].chat_id or "", desk_name="desk")
    policy = recall.QuorumPolicy(window=len(rows), require_grounded=False)
    traces = recall.read_traces(marked)
    found = recall.standings(traces, rows[-1].sequence, policy, eligible=lambda _: True)
    people = tuple(recall.Person(id=str(number), label=label) for number, label in enumerate(("Ugr", "Grace", "Gr")))
    values: list[object] = [
        traces,
        found,
        recall.consensus(found, policy),
        recall.fold_pins(marked, 100, dialect="discord"),
        recall.pin_history(marked),
        run(recall.read_pinboard(log, desk, 12)),
        run(recall.read_thread_index(log, desk, 5)),
        run(recall.project_session(log, recall.SessionQuery(conversation=desk))),
        *turn(marked, log, desk),
        run(recall.search_threads(log, desk, recall.parse_pattern("the"), 5)),
        recall.people(recall.parse_pattern("gr"), people, 5),
    ]
    for text in QUERIES:
        query = recall.SearchQuery(pattern=recall.parse_query(text).pattern, limit=50)
        values += [run(recall.search_messages(log, query)), recall.search_rows(rows, query, remaining=lambda: 60.0)]
    return values


def turn(rows: Sequence[recall.LogMessage], log: RowsLog, desk: recall.Conversation) -> list[object]:
    """Return what a turn reads: its context and inputs, framed, and a compilation under pressure."""
    viewer = recall.AgentAuthor(id="newcomer", label="Newcomer")
    briefing = recall.TeamBriefing(viewer=viewer, desk=desk, teammates=(rows[0].author,))
    session = run(recall.initialize_session_with_context(log, recall.SessionQuery(conversation=desk), briefing))
    assert isinstance(session, recall.InitializedSession)
    inputs = recall.turn_inputs(reversed(rows), recall.ReadMark("main", rows[-50].sequence), "newcomer")
    assert inputs is not None
    chunks = [rows[start : start + 9] for start in range(0, len(rows), 9)]
    summaries = [recall.Summary(chunk[0].sequence, chunk[-1].sequence, chunk[0].content) for chunk in chunks]
    made = recall.compile_context(rows, 50 * len(rows), summaries=summaries, pins=[inputs], tail=1_000)
    framed = (recall.frame_context(session.context, "0" * 16), recall.frame_compilation(made, "0" * 16))
    return [session, session.briefing.system_text(), session.context.system_text(), inputs, made, framed]


@contextmanager
def watched() -> Iterator[set[str]]:
    """Collect the names of the audit events that are raised inside."""
    events: set[str] = set()
    watching = True

    def watch(event: str, _: tuple[object, ...]) -> None:
        if watching:
            events.add(event)

    sys.addaudithook(watch)  # there is no way to take it away again
    yield events
    watching = False


def main(file: Path) -> None:
    rows = tuple(
        recall.from_wire(recall.LogMessage, msgspec.json.decode(line)) for line in file.read_bytes().splitlines()
    )
    with watched() as events:
        values = fold(rows)
    with watched() as seen:
        file.open("rb").close()  # so that an empty list of events is known to be one
    digest = hashlib.sha256(msgspec.json.encode(values)).hexdigest()
    print(msgspec.json.encode({"events": sorted(events), "seen": sorted(seen), "digest": digest}).decode())  # noqa: T201 - to be read


if __name__ == "__main__":
    main(Path(sys.argv[1]))
