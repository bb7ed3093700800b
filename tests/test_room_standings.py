"""The standings of a desk: what counts, who votes, what was decided, and what it was at any time."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot import queries
from recall_bot.config import parse_config
from recall_bot.deliberation import standings_request
from recall_bot.errors import Unavailable
from recall_bot.queries import Electorate, OpenDesk, StandingsAnswer, StandingsRequest, room_standings
from recall_bot.rendering.cards import BODY_WIDTH, FOOT_WIDTH, NOTE_WIDTH, TITLE_WIDTH, Links
from recall_bot.rendering.inert import width
from recall_bot.rendering.pins import Found
from recall_bot.rendering.standings import StandingsView, standing_pages, standings_card, trace_pages, traces_card

import recall
from recall import AgentAuthor, LogMessage, PersonAuthor, QuorumPolicy, SystemAuthor, TraceEffect
from tests.watched_folds import RowsLog

FIRST = 1_200_000_000_000_000_000
GAP = 4_194_304_000  # a second between snowflakes

ADA, BEN, CYD = (PersonAuthor(str(number), name) for number, name in ((1, "Ada"), (2, "Ben"), (3, "Cyd")))
SCOUT, PATCH = AgentAuthor("11", "Scout"), AgentAuthor("12", "Patch")
HOOK, SYSTEM = AgentAuthor("21", "Relay"), SystemAuthor(kind="new_member", label="Ada")


def at(number: int) -> int:
    return FIRST + number * GAP


def room(*said: tuple[recall.Author, str] | tuple[recall.Author, str, int]) -> tuple[LogMessage, ...]:
    """Let authors say lines one after the other, in which {n} is the id of the nth; a third part answers the nth."""
    ids = {f"n{number}": at(number) for number in range(len(said) + 5)}
    return tuple(
        LogMessage(
            at(number),
            "desk",
            None,
            line[0],
            line[1].format(**ids),
            at(line[2]) if len(line) > 2 else None,
        )
        for number, line in enumerate(said, 1)
    )


def desk_of(rows: Iterable[LogMessage], **more: Any) -> OpenDesk:
    newest_first = tuple(sorted(rows, key=lambda row: -row.sequence))
    return OpenDesk(RowsLog(newest_first), is_webhook=lambda author: author == HOOK.id, **more)


async def stand(rows: Iterable[LogMessage], *, desk: OpenDesk | None = None, **request: Any) -> StandingsAnswer:
    return await room_standings(desk or desk_of(rows), StandingsRequest(**request))


def effects(answer: StandingsAnswer) -> list[str]:
    return [str(outcome.effect) for outcome in answer.traces]


DEADLOCK = room(
    (SCOUT, "!propose #sqlite one file"),
    (PATCH, "!propose #postgres one server"),
    (ADA, "a fact"),
    (ADA, "!support #sqlite ^{n3} as measured"),
    (BEN, "!support #postgres ^{n3} as measured"),
    (CYD, "!question >{n2} who runs it?"),
    (CYD, "!object >{n2} ^{n3} nobody does"),
    (CYD, "!refute #postgres ^{n3} slower"),
    (ADA, "!commit #sqlite ^{n3}"),
)


async def test_a_report_has_the_messages_behind_every_number() -> None:
    answer = await stand(DEADLOCK)

    sqlite, postgres = answer.topics
    assert (sqlite.state, sqlite.needed, sqlite.weight) == ("carried", 2, 1_400)
    assert [(one.author, one.said) for one in sqlite.supporters] == [("11", (at(1),)), ("1", (at(4),))]
    assert postgres.state == "open"
    assert [(one.author, one.said, one.silenced_by) for one in postgres.silenced] == [("12", (at(2),), (at(7),))]
    assert [(one.author, one.sequence, one.cites) for one in postgres.refutations] == [("3", at(8), (at(3),))]
    assert postgres.questions == (at(6),)
    assert answer.questions == (at(6),)
    assert answer.names["11"] == "Scout"


@pytest.mark.parametrize(
    ("until", "state"),
    [
        (2, recall.Deliberating()),
        (4, recall.Quorum("sqlite")),
        (5, recall.Deadlocked(("sqlite", "postgres"))),
        (6, recall.Deadlocked(("sqlite", "postgres"))),
        (7, recall.Quorum("sqlite")),
    ],
)
async def test_at_shows_what_a_reader_saw_then(until: int, state: recall.Consensus) -> None:
    assert (await stand(DEADLOCK, at=at(until))).consensus == state
    assert (await stand(DEADLOCK, at=at(until) + 5)).consensus == state


async def test_a_decision_is_a_commit_of_what_was_carried_then_also_when_the_window_has_moved_on() -> None:
    rows = room(
        (SCOUT, "!commit #a"),
        (SCOUT, "!propose #a"),
        (PATCH, "!propose #b"),
        (ADA, "!support #a ^{n2}"),
        (BEN, "!support #b ^{n3}"),
        (CYD, "!commit #a ^{n4}\n!commit #c"),
        *[(BEN, "talk")] * 12,
        (CYD, "!commit #a"),
    )

    answer = await stand(rows, policy=QuorumPolicy(window=10))

    [decision] = answer.decisions
    assert (decision.topic, decision.sequence, decision.author) == ("a", at(6), "3")
    assert (decision.cites, decision.supporters, decision.beside) == ((at(4),), ("11", "1"), ("b",))
    assert answer.standings == ()
    assert effects(answer)[-3:] == ["records", "not_carried", "not_carried"]
    assert effects(answer)[:2] == ["not_carried", "outside"]


async def test_a_decision_whose_window_was_not_read_whole_says_so() -> None:
    rows = room((SCOUT, "talk"), (SCOUT, "!propose #a"), (PATCH, "!propose #a"), (CYD, "!commit #a"))

    assert [one.whole for one in (await stand(rows)).decisions] == [True]
    assert [one.whole for one in (await stand(rows, scan=3)).decisions] == [False]
    assert [one.whole for one in (await stand(rows, scan=3, policy=QuorumPolicy(window=2))).decisions] == [True]


async def test_only_the_newest_commits_are_judged_and_the_others_are_counted() -> None:
    rows = room((SCOUT, "!propose #a"), (PATCH, "!propose #a"), *[(CYD, "!commit #a")] * 5)

    answer = await stand(rows, commits=2)

    assert [one.sequence for one in answer.decisions] == [at(7), at(6)]
    assert answer.unjudged == 3
    assert (await stand(rows, commits=None)).unjudged == 0


async def test_the_window_counts_rows_of_the_conversation_that_somebody_wrote() -> None:
    rows = room((SCOUT, "!propose #a"), *[(SYSTEM, "")] * 9, (BEN, "talk"), (BEN, "talk"))

    assert (await stand(rows, policy=QuorumPolicy(window=2))).floor == ("a",)
    assert (await stand(rows, policy=QuorumPolicy(window=1))).floor == ()


async def test_what_is_gone_or_was_not_read_or_nobody_wrote_grounds_nothing() -> None:
    rows = room(
        (BEN, "old"),
        (SYSTEM, ""),
        (BEN, "deleted"),
        (SCOUT, "!propose #a"),
        (ADA, "!support #a ^{n1}"),
        (BEN, "!support #a ^{n2}"),
        (CYD, "!support #a ^{n3}\n!refute #a ^{n3}"),
        (PATCH, "!object >{n3} ^{n4}"),
    )
    kept = [row for row in rows if row.sequence not in {at(1), at(3)}]

    answer = await stand(kept, desk=desk_of(kept, read_row=_reader({at(1): rows[0]})))

    assert [standing.supporters for standing in answer.standings] == [("11",)]
    assert [standing.refuted_by for standing in answer.standings] == [()]
    assert effects(answer) == ["counts", "no_cite", "no_cite", "no_cite", "no_cite", "no_target"]
    assert answer.gone == {at(1), at(3)}
    assert not answer.grounds(at(2))


async def test_where_a_named_message_is_is_looked_up_as_on_a_board_and_never_later_than_the_standing() -> None:
    rows = room(
        (ADA, "old"), (BEN, "hidden"), *[(BEN, "talk")] * 3, (SCOUT, "!support #a ^{n1} ^{n2} ^{n3}"), (BEN, "x")
    )
    held = {row.sequence: row for row in rows[:2]}

    async def may_show(row: LogMessage) -> bool:
        return row.sequence != at(2)

    desk = desk_of(rows, read_row=_reader(held), may_show=may_show)
    answer = await room_standings(desk, StandingsRequest(scan=3, at=at(6)))
    where = [await queries.where_named(desk, answer, at(number)) for number in (1, 2, 3, 7)]

    assert [place for place, _ in where] == ["here", "not read", "gone", "not read"]
    assert [outcome.effect for outcome in answer.traces] == [TraceEffect.NO_CITE]


def _reader(held: dict[int, LogMessage]) -> Callable[[int], Awaitable[LogMessage | None]]:
    async def read_row(sequence: int) -> LogMessage | None:
        return held.get(sequence)

    return read_row


async def test_a_question_is_open_until_later_evidence_cites_it() -> None:
    rows = room((SCOUT, "!propose #a"), (CYD, "!question #a ^{n1} why?"), (ADA, "!evidence ^{n2} because"))

    assert (await stand(rows[:2])).topics[0].questions == (at(2),)
    assert (await stand(rows)).topics[0].questions == ()


async def test_a_topic_that_is_asked_for_leaves_out_what_is_about_others_but_not_the_state_of_the_room() -> None:
    answer = await stand(DEADLOCK, topic="postgres")

    assert [topic.topic for topic in answer.topics] == ["postgres"]
    assert answer.decisions == ()
    assert [outcome.trace.sequence for outcome in answer.traces] == [at(number) for number in (2, 5, 6, 7, 8)]
    assert answer.consensus == recall.Quorum("sqlite")
    assert answer.floor == ("sqlite", "postgres")


async def test_by_reply_people_object_support_and_refute_without_typing_an_id() -> None:
    rows = room(
        (SCOUT, "!propose #a"),
        (ADA, "!support #a", 1),
        (BEN, "!refute #a no", 2),
        (CYD, "!object not so", 1),
    )
    free = QuorumPolicy(require_grounded=False)

    assert effects(await stand(rows)) == ["counts", "counts", "refutes", "no_cite"]
    assert effects(await stand(rows, policy=free)) == ["silenced", "counts", "refutes", "silences"]


async def test_every_line_says_why_it_is_nothing() -> None:
    rows = room(
        (SCOUT, "!propose a"),
        (SCOUT, "!Propose #a\n!support: #a\n!refute #a\n!refute ^{n1}"),
        (SCOUT, "!propose #a"),
        (SCOUT, "!object >{n3} ^{n3}"),
        (ADA, "!object >{n1} ^{n3}"),
        (ADA, "!object ^{n3}"),
        (HOOK, "!support #a ^{n3}"),
        (ADA, "!refute #b ^{n3}"),
        (BEN, "!support #a ^{n3}\n!refute #a ^{n3}"),
        (CYD, "\n".join(["!evidence"] * 18)),
    )

    answer = await stand(rows)

    assert effects(answer)[:13] == [
        *("no_topic", "misspelt", "misspelt", "no_cite", "no_topic", "counts", "own_message", "no_advocacy"),
        *("no_target", "no_voice", "not_on_floor", "refuter", "refutes"),
    ]
    assert effects(answer)[13:] == ["stands"] * 16 + ["too_many"] * 2


# Who votes

VOICES = room(
    (ADA, "!propose #ada"),
    (SCOUT, "!propose #scout"),
    (HOOK, "!propose #hook"),
    (AgentAuthor(HOOK.id, "Another name"), "!propose #hook"),
)


@pytest.mark.parametrize(
    ("electorate", "floor"),
    [
        (Electorate(), ("ada", "scout")),
        (Electorate("agents"), ("scout",)),
        (Electorate("people"), ("ada",)),
        (Electorate("role", frozenset({7})), ("ada",)),
        (Electorate("role"), ()),
        (Electorate("everyone", webhooks=frozenset({HOOK.id})), ("ada", "scout", "hook")),
        (Electorate("agents", webhooks=frozenset({HOOK.id})), ("scout", "hook")),
        (Electorate("people", webhooks=frozenset({HOOK.id})), ("ada",)),
        (Electorate("role", frozenset({7}), frozenset({HOOK.id})), ("ada", "hook")),
    ],
)
async def test_who_votes_is_everyone_agents_people_or_a_role_and_webhooks_that_are_listed(
    electorate: Electorate, floor: tuple[str, ...]
) -> None:
    async def roles_of(author_id: str) -> frozenset[int]:
        return frozenset({7} if author_id == ADA.id else {8})

    answer = await room_standings(desk_of(VOICES, roles_of=roles_of), StandingsRequest(electorate=electorate))

    assert answer.floor == floor
    assert all(len(topic.supporters) == 1 for topic in answer.topics), "a webhook is one voter under all its names"


async def test_roles_that_cannot_be_known_now_are_no_answer_and_too_many_are_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def down(_author_id: str) -> frozenset[int]:
        raise Unavailable("discord_down")

    async def roles_of(_author_id: str) -> frozenset[int]:
        return frozenset({7})

    by_role = StandingsRequest(electorate=Electorate("role", frozenset({7})))
    with pytest.raises(Unavailable):
        await room_standings(desk_of(VOICES, roles_of=down), by_role)
    with pytest.raises(queries.RolesUnknown):
        await room_standings(desk_of(VOICES), by_role)
    monkeypatch.setattr("recall_bot.queries.voters.VOTERS_ASKED", 1)
    answer = await room_standings(desk_of(VOICES, roles_of=roles_of), by_role)
    assert (answer.floor, answer.unasked) == (("scout",), 1)


# Every field of the policy


@pytest.mark.parametrize(
    ("policy", "state"),
    [
        (QuorumPolicy(), recall.Quorum("a")),
        (QuorumPolicy(threshold=3), recall.Deliberating()),
        (QuorumPolicy(threshold=3, require_grounded=False), recall.Quorum("a")),
        (QuorumPolicy(refutation_cap=1), recall.Deliberating()),
        (QuorumPolicy(refutation_cap=2), recall.Quorum("a")),
        (QuorumPolicy(require_evidential=True), recall.Deliberating()),
        (QuorumPolicy(window=3), recall.Deliberating()),
        (QuorumPolicy(window=4), recall.Quorum("a")),
    ],
)
async def test_each_field_of_the_policy_counts(policy: QuorumPolicy, state: recall.Consensus) -> None:
    rows = room(
        (SCOUT, "!propose #a"),
        (ADA, "!support #a ^{n1}"),
        (BEN, "!support #a as I say"),
        (CYD, "!refute #a ^{n1} no"),
        (CYD, "talk"),
    )

    assert (await stand(rows, policy=policy)).consensus == state


# Properties

_LINES = (
    *("!propose #a", "!propose #b x", "!support #a ^{x}", "!support #b ^{x} ^{y}", "!support #a", "!object >{x} ^{y}"),
    *(
        "!object >{x}",
        "!refute #a ^{x}",
        "!evidence ^{x}",
        "!evidence",
        "!question #a >{x}",
        "!commit #a",
        "!commit #b",
    ),
    *("talk", "!Support #a ^{x}", "!propose a", "> !propose #a", "`!commit #a`", "!refute #a"),
)
lines = st.tuples(st.sampled_from(_LINES), st.integers(1, 14), st.integers(1, 14)).map(
    lambda given: given[0].format(x=at(given[1]), y=at(given[2]))
)
said = st.lists(
    st.tuples(
        st.sampled_from((ADA, BEN, CYD, SCOUT, PATCH, HOOK, SYSTEM)),
        st.lists(lines, min_size=1, max_size=3).map("\n".join),
        st.none() | st.integers(1, 14),
    ),
    max_size=14,
)
policies = st.builds(
    QuorumPolicy,
    threshold=st.integers(1, 3),
    window=st.integers(1, 15),
    require_grounded=st.booleans(),
    refutation_cap=st.none() | st.integers(1, 2),
    require_evidential=st.booleans(),
)


def written(given: list[tuple[recall.Author, str, int | None]]) -> tuple[LogMessage, ...]:
    return tuple(
        LogMessage(
            at(number),
            "desk",
            None,
            author,
            "" if author is SYSTEM else body,
            None if reply_to is None else at(reply_to),
        )
        for number, (author, body, reply_to) in enumerate(given, 1)
    )


@given(said, st.integers(0, 15), policies)
@settings(max_examples=150)
async def test_the_standing_at_any_message_is_what_a_reader_of_the_log_until_then_sees(
    given: list[tuple[recall.Author, str, int | None]], until: int, policy: QuorumPolicy
) -> None:
    rows = written(given)
    truncated = [row for row in rows if row.sequence <= at(until)]

    later = await stand(rows, at=at(until), policy=policy)
    then = await stand(truncated, policy=policy)

    assert dataclasses.replace(later, at=None) == then


@given(said, policies, st.randoms(use_true_random=False))
@settings(max_examples=100)
async def test_neither_the_order_of_rows_nor_redelivery_changes_a_standing(
    given: list[tuple[recall.Author, str, int | None]], policy: QuorumPolicy, chance: random.Random
) -> None:
    rows = written(given)
    again = [*rows, *chance.choices(rows, k=4)] if rows else []
    chance.shuffle(again)

    assert queries.fold_room(again, policy) == queries.fold_room(rows, policy)


@given(said, policies)
@settings(max_examples=150)
async def test_what_is_explained_is_what_is_counted(
    given: list[tuple[recall.Author, str, int | None]], policy: QuorumPolicy
) -> None:
    answer = await stand(written(given), policy=policy)

    for standing, report in zip(answer.standings, answer.topics, strict=True):
        mine = [outcome for outcome in answer.traces if outcome.trace.topic == standing.topic]
        by_effect = {
            effect: {recall.author_id(outcome.trace.author) for outcome in mine if outcome.effect is effect}
            for effect in TraceEffect
        }
        assert by_effect[TraceEffect.COUNTS] == set(standing.supporters)
        assert by_effect[TraceEffect.SILENCED] == set(standing.silenced)
        assert by_effect[TraceEffect.REFUTES] == set(standing.refuted_by)
        assert {one.author for one in report.supporters} == set(standing.supporters)
        assert all(one.said for one in (*report.supporters, *report.silenced))
        assert all(one.silenced_by for one in report.silenced)
        assert (report.state == "carried") == (standing.topic in answer.carried)
    places = [(outcome.trace.sequence, outcome.trace.offset) for outcome in answer.traces]
    assert places == sorted(set(places))
    recorded = [outcome for outcome in answer.traces if outcome.effect is TraceEffect.RECORDS]
    assert len(recorded) == len(answer.decisions)


async def test_others_have_their_turn_while_many_lines_are_read_and_judged() -> None:
    rows = room(*[(SCOUT, "!propose #a\n" * 16), (PATCH, "!propose #a\n!commit #a")] * 300)
    turns = 0

    async def elsewhere() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(elsewhere())
    answer = await stand(rows)
    other.cancel()

    assert len(answer.decisions) == queries.COMMIT_ROWS
    assert answer.unjudged == 300 - queries.COMMIT_ROWS
    assert turns > queries.COMMIT_ROWS


# Asked as it is configured


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("threshold = 3", {"policy": QuorumPolicy(threshold=3, window=500)}),
        ("window = 7", {"policy": QuorumPolicy(window=7)}),
        ("require_grounded = false", {"policy": QuorumPolicy(window=500, require_grounded=False)}),
        ("refutation_cap = 2", {"policy": QuorumPolicy(window=500, refutation_cap=2)}),
        ("require_evidential = true", {"policy": QuorumPolicy(window=500, require_evidential=True)}),
        ("voters = 'role'", {"electorate": Electorate("role")}),
        ("roles = [5]", {"electorate": Electorate(roles=frozenset({5}))}),
        ("webhooks = ['5']", {"electorate": Electorate(webhooks=frozenset({"5"}))}),
    ],
)
def test_every_rule_is_asked_for_as_a_place_has_it(key: str, changed: dict[str, Any]) -> None:
    config = parse_config(f"[channel.7.standings]\n{key}")
    plain = StandingsRequest()

    assert standings_request(config, 1, (9, 7)) == dataclasses.replace(plain, **changed)
    assert standings_request(config, 1, (8,)) == plain


def test_a_window_that_is_wider_than_a_walk_is_read_whole() -> None:
    config = parse_config("[standings]\nwindow = 5000")

    assert standings_request(config, 1, (7,), at=3, topic="a") == StandingsRequest(
        QuorumPolicy(window=5_000), at=3, topic="a", scan=5_001
    )


# Shown


@given(said, policies, st.data())
@settings(max_examples=60)
async def test_every_page_of_any_floor_keeps_every_limit_and_every_entry_is_on_one(
    given: list[tuple[recall.Author, str, int | None]], policy: QuorumPolicy, data: st.DataObject
) -> None:
    loud = data.draw(st.sampled_from(("", "*" * 60, "\U0001f9ea" * 60, "`_~|" * 15)))
    rows = [msgspec.structs.replace(row, content=row.content.replace("#a", f"#a{loud}")) for row in written(given)]
    answer = await stand(rows, policy=policy)
    states = st.sampled_from(get_args(queries.WhereIs))
    found: Found = {
        ref: (data.draw(states), None)
        for outcome in answer.traces
        for ref in (outcome.trace.target or 0, *outcome.trace.cites)
    }

    for pages_of, card_of, total in (
        (standing_pages, standings_card, len(answer.topics) + len(answer.decisions)),
        (trace_pages, traces_card, len(answer.traces)),
    ):
        view = StandingsView("general", Links(2**62, 2**62))
        pages = pages_of(answer, view)
        assert sum(map(len, pages)) == total
        for number in range(max(1, len(pages))):
            card = card_of(answer, dataclasses.replace(view, page=number), pages, found)
            assert width(card.body) <= BODY_WIDTH
            assert width(card.title) <= TITLE_WIDTH
            assert width(card.far) <= NOTE_WIDTH
            assert width(card.foot) <= FOOT_WIDTH


async def test_an_entry_names_fewer_people_where_all_of_them_would_not_fit() -> None:
    many = [PersonAuthor(str(number), "*" * 32 + str(number)) for number in range(100, 130)]
    rows = room(*((author, "!propose #a") for author in many), (ADA, "!object >{n1} ^{n2} no"))
    answer = await stand(rows)
    view = StandingsView("general", Links(2**62, 2**62))

    card = standings_card(answer, view, standing_pages(answer, view), {})

    assert "29 of 2 supporters" in card.body
    assert "and 21 more" in card.body
    assert width(card.body) <= BODY_WIDTH
