"""Show where each topic of a desk stands, what decided it, and what every line came to.

Snowflakes are not consecutive, so the authored rows are numbered 1, 2, 3 … before the fold, which counts its
window in rows, and what comes of it is numbered back. A cite or target grounds something only where it is one of
these rows: what is gone, was not read, or is not for this asker grounds and silences nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

import recall

from .desk import DIALECT, AnswerCoverage, OpenDesk, chronological, coverage_of, read
from .pins import WhereIs, where_is, within
from .topics import DecisionReport, TopicReport, open_questions, report_topics
from .voters import Electorate, eligible_in

STANDINGS_WINDOW_ROWS = 500  # 30, the library's default, is minutes in a busy room
ROWS_AT_ONCE = 128  # rows that are read for lines in one go: a raid of the longest lines keeps nobody waiting
COMMIT_ROWS = 100  # messages with a !commit that are judged for one answer, newest first, a fold of a window each


@dataclass(frozen=True, slots=True)
class StandingsRequest:
    """Ask where each topic stood `at` a sequence, that row included (null: at the newest row).

    The policy's window counts rows. `topic` (no `#`) leaves out what is about others, but not from the state of the
    room. `commits`: how many messages with a commit are judged (null: all).
    """

    policy: recall.QuorumPolicy = field(default_factory=lambda: recall.QuorumPolicy(window=STANDINGS_WINDOW_ROWS))
    electorate: Electorate = field(default_factory=Electorate)
    at: int | None = None
    topic: str | None = None
    scan: int = recall.SCAN_LIMIT
    commits: int | None = COMMIT_ROWS


def widened(request: StandingsRequest, doublings: int) -> StandingsRequest:
    """Return the question that reads so many times twice as far back."""
    return replace(request, scan=request.scan << doublings)


@dataclass(frozen=True, slots=True)
class StandingsAnswer:
    """Hold the topics on the floor in order of first advocacy, the state of the room, and what led there.

    `decisions` are those of the whole coverage, newest first; `unjudged` says of how many older messages with a
    commit nobody asked. `traces`: what became of every line of the coverage that is a trace or was meant as one, in
    order. `questions`: the open ones, in order. `floor`: all topics, whatever was asked for. `authors`: the names
    behind the ids, as last used. `unasked`: how many authors had no voice because nobody asked for their roles.
    `rows`: those that hold traces or that these name; `gone`: what they name and the reach would have shown.
    """

    standings: tuple[recall.TopicStanding, ...]
    consensus: recall.Consensus
    topics: tuple[TopicReport, ...]
    decisions: tuple[DecisionReport, ...]
    traces: tuple[recall.TraceOutcome, ...]
    questions: tuple[int, ...]
    floor: tuple[str, ...]
    policy: recall.QuorumPolicy
    at: int | None
    unjudged: int
    unasked: int
    authors: Mapping[str, recall.Author]
    rows: Mapping[int, recall.LogMessage] = field(repr=False)
    gone: frozenset[int]
    coverage: AnswerCoverage

    @property
    def names(self) -> Mapping[str, str]:
        """The names behind the ids."""
        return {author_id: recall.author_label(author) for author_id, author in self.authors.items()}

    @property
    def carried(self) -> tuple[str, ...]:
        """The topics that are carried."""
        match self.consensus:
            case recall.Quorum(topic=topic):
                return (topic,)
            case recall.Deadlocked(topics=topics):
                return topics
        return ()

    def grounds(self, sequence: int) -> bool:
        """Say whether a message that a trace names can ground something: it was read, and somebody wrote it."""
        row = self.rows.get(sequence)
        return row is not None and not isinstance(row.author, recall.SystemAuthor)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Hold traces as the log numbers them, and as the fold does, with only those that can ground anything."""

    written: Mapping[tuple[int, int], recall.Trace]
    folded: tuple[recall.Trace, ...]
    sequences: Sequence[int]

    def back(self, number: int) -> int:
        return self.sequences[number - 1]

    def outcome(self, outcome: recall.TraceOutcome) -> recall.TraceOutcome:
        by = tuple(map(self.back, outcome.by))
        return msgspec.structs.replace(outcome, trace=self.original(outcome.trace), by=by)

    def original(self, trace: recall.Trace) -> recall.Trace:
        return self.written[self.back(trace.sequence), trace.offset]


async def room_standings(desk: OpenDesk, request: StandingsRequest) -> StandingsAnswer:
    """Fold the standings of a desk; raises `recall.PolicyError`, `recall.ReadError`, and what `eligible_in` does.

    The answer for any `at` is that of a reader at that time, of the messages as they are now.
    """
    before = None if request.at is None else request.at + 1
    return await standings_of(desk, request, await read(desk, scan=request.scan, before=before))


async def standings_of(desk: OpenDesk, request: StandingsRequest, walk: recall.Walk) -> StandingsAnswer:
    """Fold the standings out of a walk from `request.at` backwards, for whoever reads it for more."""
    inside = chronological(desk, walk.rows)
    rows = _authored(inside)
    written, misread = await _read_lines(rows, desk.address, request.policy)
    numbered = _number(rows, written)
    eligible, unasked = await eligible_in(desk, request.electorate, numbered.folded)
    policy = request.policy
    found = _stood(numbered, policy, eligible)
    decisions = await _judge(numbered, request, eligible)
    recorded = {(decision.trace.sequence, decision.trace.offset) for decision in decisions}
    outcomes = recall.trace_outcomes(numbered.folded, len(rows), policy, eligible=eligible, recorded=recorded)
    traces = sorted([*map(numbered.outcome, outcomes), *misread], key=lambda outcome: _place(outcome.trace))
    named = {number for outcome in traces for number in _named(outcome.trace)}
    wanted = named | {outcome.trace.sequence for outcome in traces}
    known = {row.sequence: row for row in inside if row.sequence in wanted}
    newest = inside[-1].sequence + 1 if inside else 0
    commits = {trace.sequence for trace in numbered.folded if trace.kind is recall.TraceKind.COMMIT and trace.topic}
    whole_from = 0 if walk.coverage.beginning else policy.window
    topic = request.topic
    shown = tuple(_about(topic, traces))
    places = {_place(outcome.trace) for outcome in shown}
    standings = tuple(standing for standing in found if topic in {None, standing.topic})
    return StandingsAnswer(
        standings=standings,
        consensus=recall.consensus(found, policy),
        topics=report_topics(standings, traces, policy),
        decisions=tuple(
            _decision(decision, numbered, whole=decision.trace.sequence > whole_from)
            for decision in decisions
            if topic in {None, decision.trace.topic}
        ),
        traces=shown,
        questions=tuple(dict.fromkeys(trace.sequence for trace in open_questions(traces) if _place(trace) in places)),
        floor=tuple(standing.topic for standing in found),
        policy=policy,
        at=request.at,
        unjudged=0 if request.commits is None else max(0, len(commits) - request.commits),
        unasked=unasked,
        authors={recall.author_id(row.author): row.author for row in rows},
        rows=known,
        gone=frozenset(
            number
            for number in named
            if number not in known and not desk.left_out and within(walk.coverage, newest, number)
        ),
        coverage=coverage_of(desk, walk.coverage),
    )


async def where_named(
    desk: OpenDesk, answer: StandingsAnswer, sequence: int
) -> tuple[WhereIs, recall.LogMessage | None]:
    """Say of a message that a trace names where it is, as `where_is`; later than the standing, it was not read."""
    if answer.at is not None and sequence > answer.at:
        return "not read", None
    return await where_is(desk, answer, sequence)


def fold_room(
    rows: Iterable[recall.LogMessage],
    policy: recall.QuorumPolicy,
    *,
    eligible: Callable[[recall.Author], bool] | None = None,
    address: recall.AddressReader | None = None,
) -> tuple[recall.TopicStanding, ...]:
    """Return where topics stand at the newest of a conversation's rows, for whoever has read them already.

    Neither the order of the rows nor how often each came matters.
    """
    authored = _authored({row.sequence: row for row in rows}.values())
    written = recall.read_traces(authored, dialect=DIALECT, address=address)
    return _stood(_number(authored, written), policy, eligible)


def _stood(
    numbered: _Numbered, policy: recall.QuorumPolicy, eligible: Callable[[recall.Author], bool] | None
) -> tuple[recall.TopicStanding, ...]:
    return recall.standings(numbered.folded, len(numbered.sequences), policy, eligible=eligible)


def _authored(rows: Iterable[recall.LogMessage]) -> list[recall.LogMessage]:
    """Return the rows that somebody wrote, oldest first."""
    found = (row for row in rows if not isinstance(row.author, recall.SystemAuthor))
    return sorted(found, key=lambda row: row.sequence)


async def _read_lines(
    rows: Sequence[recall.LogMessage], address: recall.AddressReader | None, policy: recall.QuorumPolicy
) -> tuple[list[recall.Trace], list[recall.TraceOutcome]]:
    """Return the traces of rows and the lines that were meant as some; now and then others have their turn."""
    written: list[recall.Trace] = []
    misread: list[recall.TraceOutcome] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        written += recall.read_traces(some, dialect=DIALECT, address=address)
        for row in some:
            misread += recall.misread_traces(row, policy, dialect=DIALECT, address=address)
        await asyncio.sleep(0)
    return written, misread


def _number(rows: Sequence[recall.LogMessage], written: Iterable[recall.Trace]) -> _Numbered:
    """Give traces the numbers that the fold counts rows by, and take away from them what is none of the rows."""
    numbers = {row.sequence: number for number, row in enumerate(rows, 1)}
    written = tuple(written)
    folded = tuple(
        msgspec.structs.replace(
            trace,
            sequence=numbers[trace.sequence],
            target=None if trace.target is None else numbers.get(trace.target),
            cites=tuple(numbers[cite] for cite in trace.cites if cite in numbers),
        )
        for trace in written
    )
    return _Numbered({_place(trace): trace for trace in written}, folded, [row.sequence for row in rows])


async def _judge(
    numbered: _Numbered, request: StandingsRequest, eligible: Callable[[recall.Author], bool]
) -> tuple[recall.Decision, ...]:
    """Return the decisions, newest first; between two folds others have their turn."""
    decisions: list[recall.Decision] = []
    for made in recall.judged_commits(numbered.folded, request.policy, eligible=eligible, rows=request.commits):
        decisions += reversed(made)
        await asyncio.sleep(0)
    return tuple(decisions)


def _decision(decision: recall.Decision, numbered: _Numbered, *, whole: bool) -> DecisionReport:
    trace = numbered.original(decision.trace)
    author = recall.author_id(trace.author)
    return DecisionReport(
        trace.topic or "", trace.sequence, author, trace.cites, decision.supporters, decision.beside, whole
    )


def _place(trace: recall.Trace) -> tuple[int, int]:
    return trace.sequence, trace.offset


def _named(trace: recall.Trace) -> tuple[int, ...]:
    """Return the messages that a trace names, its target first."""
    return trace.cites if trace.target is None else (trace.target, *trace.cites)


def _about(topic: str | None, outcomes: Sequence[recall.TraceOutcome]) -> Iterable[recall.TraceOutcome]:
    """Return the outcomes on a topic: its own, objections on it, and what names no topic and one of its messages."""
    if topic is None:
        return outcomes
    rows = {outcome.trace.sequence for outcome in outcomes if outcome.trace.topic == topic}
    return (
        outcome
        for outcome in outcomes
        if outcome.trace.topic == topic
        or topic in outcome.topics
        or (outcome.trace.topic is None and not rows.isdisjoint(_named(outcome.trace)))
    )
