from __future__ import annotations

import doctest
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    TRACE_WEIGHTS,
    AgentAuthor,
    Author,
    Consensus,
    Deadlocked,
    Deliberating,
    LogMessage,
    OperatorAuthor,
    PersonAuthor,
    PolicyError,
    Quorum,
    QuorumPolicy,
    SystemAuthor,
    TopicStanding,
    Trace,
    TraceKind,
    ZeroQuorumThreshold,
    ZeroQuorumWindow,
    ZeroRefutationCap,
    consensus,
    from_wire,
    read_traces,
    standings,
    to_wire,
)
from tests.marked import logs, row

EVIDENTIAL = QuorumPolicy(require_evidential=True)
ADA = PersonAuthor(id="ada", label="Ada")


def agent(name: str) -> AgentAuthor:
    return AgentAuthor(id=name, label=name.title())


def said(*lines: tuple[Author | str, str]) -> tuple[Trace, ...]:
    """Number what authors say from 1 on and read it."""
    return read_traces(
        row(sequence, body, agent(author) if isinstance(author, str) else author)
        for sequence, (author, body) in enumerate(lines, 1)
    )


def stand(*lines: tuple[Author | str, str], policy: QuorumPolicy = QuorumPolicy()) -> list[tuple[object, ...]]:  # noqa: B008 - frozen
    found = standings(said(*lines), len(lines), policy)
    return [(s.topic, s.supporters, s.silenced, s.refuted_by, s.support) for s in found]


def test_a_proposal_and_a_grounded_support_are_a_quorum() -> None:
    found = standings(said(("planner", "!propose #stage"), ("critic", "!support #stage ^1")), 2, QuorumPolicy())
    assert found == (TopicStanding("stage", ("planner", "critic"), (), (), 1400),)
    assert consensus(found, QuorumPolicy()) == Quorum("stage")
    assert consensus(found, QuorumPolicy(threshold=3)) == Deliberating()


def test_several_topics_that_carry_are_a_deadlock_in_order_of_first_advocacy() -> None:
    lines = (("b", "!support #y ^1"), ("a", "!propose #x"), ("c", "!propose #y"), ("d", "!support #x ^2"))
    found = standings(said(*lines), 4, QuorumPolicy())
    assert consensus(found, QuorumPolicy()) == Deadlocked(("y", "x"))


def test_a_window_of_n_admits_n_and_one_sequences_up_to_at() -> None:
    traces = said(("a", "!propose #t"), ("b", "!propose #t"), ("c", "!propose #t"), ("d", "!propose #t"))
    assert standings(traces, 3, QuorumPolicy(window=1))[0].supporters == ("b", "c")
    assert standings(traces, 1, QuorumPolicy(window=30))[0].supporters == ("a",)
    assert standings(traces, 40, QuorumPolicy(window=30)) == ()


def test_a_support_without_cites_counts_only_where_no_grounds_are_asked_for() -> None:
    lines = (("a", "!propose #t"), ("b", "!support #t"))
    assert stand(*lines) == [("t", ("a",), (), (), 900)]
    assert stand(*lines, policy=QuorumPolicy(require_grounded=False)) == [("t", ("a", "b"), (), (), 1400)]


def test_what_names_no_topic_and_what_takes_no_position_adds_nothing() -> None:
    lines = (
        ("a", "!propose"),
        ("b", "!support ^1"),
        ("c", "!evidence #t ^1"),
        ("d", "!commit #t"),
        ("e", "!question #t"),
    )
    assert stand(*lines) == []


def test_supporting_again_adds_weight_and_never_a_second_supporter() -> None:
    assert stand(("a", "!propose #t\n!support #t ^1"), ("a", "!support #t ^1")) == [("t", ("a",), (), (), 1900)]


def test_persons_vote_where_the_host_lets_them_and_the_operator_and_the_system_never() -> None:
    everyone: tuple[tuple[Author | str, str], ...] = (
        (ADA, "!propose #t"),
        ("a", "!support #t ^1"),
        (OperatorAuthor(), "!support #t ^1"),
        (SystemAuthor(kind="join", label="join"), "!support #t ^1"),
    )
    assert stand(*everyone) == [("t", ("a",), (), (), 500)]
    found = standings(said(*everyone), 4, QuorumPolicy(), eligible=lambda _: True)
    assert found == (TopicStanding("t", ("ada", "a"), (), (), 1400),)
    persons_only = standings(
        said(*everyone), 4, QuorumPolicy(), eligible=lambda author: isinstance(author, PersonAuthor)
    )
    assert [standing.supporters for standing in persons_only] == [("ada",)]


def test_authors_are_the_same_when_their_ids_are() -> None:
    renamed = AgentAuthor(id="a", label="Another name")
    assert stand(("a", "!propose #t"), (renamed, "!support #t ^1")) == [("t", ("a",), (), (), 1400)]


def test_an_objection_silences_the_author_on_every_topic_that_message_advocated() -> None:
    assert stand(
        ("a", "!propose #t\n!propose #u"),
        ("a", "!propose #v"),
        ("b", "!support #t ^1"),
        ("c", "!object >1 ^3"),
    ) == [("t", ("b",), ("a",), (), 500), ("u", (), ("a",), (), 0), ("v", ("a",), (), (), 900)]


def test_supporting_again_does_not_lift_a_silencing() -> None:
    assert stand(("a", "!propose #t"), ("b", "!object >1 ^1"), ("a", "!support #t ^1")) == [("t", (), ("a",), (), 0)]


def test_nobody_silences_themselves_and_anyone_may_object() -> None:
    assert stand(("a", "!propose #t"), ("a", "!object >1 ^1")) == [("t", ("a",), (), (), 900)]
    for objector in (OperatorAuthor(), ADA, SystemAuthor(kind="join", label="join")):
        assert stand(("a", "!propose #t"), (objector, "!object >1 ^1")) == [("t", (), ("a",), (), 0)]


def test_an_objection_needs_grounds_where_they_are_asked_for() -> None:
    lines = (("a", "!propose #t"), ("b", "!object >1"))
    assert stand(*lines) == [("t", ("a",), (), (), 900)]
    assert stand(*lines, policy=QuorumPolicy(require_grounded=False)) == [("t", (), ("a",), (), 0)]


def test_an_objection_to_what_advocated_nothing_silences_nobody() -> None:
    lines = (("a", "!support #t"), ("a", "!propose #t"), ("b", "!object >1 ^1"), ("b", "!object >9 ^1"))
    assert stand(*lines) == [("t", ("a",), (), (), 900)]


def test_who_refutes_a_topic_does_not_advocate_it() -> None:
    assert stand(("a", "!propose #t"), ("b", "!support #t ^1"), ("b", "!refute #t ^1")) == [
        ("t", ("a",), (), ("b",), 900)
    ]
    assert stand(("a", "!propose #t"), ("a", "!refute #t ^1")) == []
    assert stand(("a", "!refute #t ^1")) == []


def test_topics_come_in_the_order_of_the_first_advocacy_that_counts() -> None:
    lines = (("a", "!propose #t"), ("b", "!propose #u"), ("c", "!support #t ^1"), ("a", "!refute #t ^1"))
    assert [topic for topic, *_ in stand(*lines)] == ["u", "t"]


def test_a_cap_of_refuters_stops_a_topic_and_leaves_its_standing() -> None:
    lines = (
        ("a", "!propose #t"),
        ("b", "!support #t ^1"),
        ("c", "!refute #t ^1"),
        ("c", "!refute #t ^2"),
        (ADA, "!refute #t ^1"),
    )
    found = standings(said(*lines), 5, QuorumPolicy())
    assert found == (TopicStanding("t", ("a", "b"), (), ("c",), 1400),)
    assert consensus(found, QuorumPolicy(refutation_cap=1)) == Deliberating()
    assert consensus(found, QuorumPolicy(refutation_cap=2)) == Quorum("t")
    assert consensus(found, QuorumPolicy()) == Quorum("t")


def test_under_the_evidential_rule_cites_must_lead_to_evidence() -> None:
    assert stand(
        ("planner", "!propose #t"),
        ("scout", "!evidence ^1 the retry never fired"),
        ("direct", "!support #t ^2"),
        ("nowhere", "!support #t ^1"),
        ("chained", "!support #t ^3"),
        ("early", "!support #t ^8"),
        ("circular", "!support #t ^7"),
        ("late", "!evidence"),
        policy=EVIDENTIAL,
    ) == [("t", ("planner", "direct", "chained", "early"), (), (), 2400)]


def test_a_chain_of_cites_is_not_followed_out_of_the_window() -> None:
    traces = said(("s", "!evidence"), ("q", "!question ^1"), ("a", "!propose #t"), ("b", "!support #t ^2"))
    assert standings(traces, 4, EVIDENTIAL)[0].supporters == ("a", "b")
    assert standings(traces, 4, QuorumPolicy(require_evidential=True, window=2))[0].supporters == ("a",)
    assert standings(traces, 4, QuorumPolicy(require_evidential=True, window=1))[0].supporters == ("a",)


def test_under_the_evidential_rule_an_objector_must_have_deposited_evidence() -> None:
    proposal, objection, evidence = ("a", "!propose #t"), ("b", "!object >1 ^1"), ("b", "!evidence")
    assert stand(proposal, objection, policy=EVIDENTIAL) == [("t", ("a",), (), (), 900)]
    assert stand(proposal, objection, evidence, policy=EVIDENTIAL) == [("t", (), ("a",), (), 0)]
    assert stand(proposal, ("b", "!object >1"), evidence, policy=EVIDENTIAL) == [("t", ("a",), (), (), 900)]


def test_the_evidential_rule_implies_the_grounded_one() -> None:
    policy = QuorumPolicy(require_grounded=False, require_evidential=True)
    assert stand(("a", "!propose #t"), ("b", "!support #t"), ("c", "!evidence\n!object >1"), policy=policy) == [
        ("t", ("a",), (), (), 900)
    ]


def test_a_policy_that_can_carry_nothing_is_an_error_and_the_first_zero_names_it() -> None:
    nothing = QuorumPolicy(threshold=0, window=0, refutation_cap=0)
    wrong: list[tuple[QuorumPolicy, type[PolicyError]]] = [
        (nothing, ZeroQuorumThreshold),
        (QuorumPolicy(window=0, refutation_cap=0), ZeroQuorumWindow),
        (QuorumPolicy(refutation_cap=0), ZeroRefutationCap),
    ]
    for policy, error in wrong:
        with pytest.raises(error):
            standings((), 0, policy)
        with pytest.raises(error):
            consensus((), policy)


def test_every_kind_has_its_weight() -> None:
    assert dict(TRACE_WEIGHTS) == {
        "propose": 900,
        "support": 500,
        "commit": 1000,
        "refute": 850,
        "object": 800,
        "evidence": 600,
        "question": 300,
    }


@pytest.mark.parametrize(
    ("state", "wire"),
    [
        (Deliberating(), {"state": "deliberating"}),
        (Quorum("t"), {"state": "quorum", "topic": "t"}),
        (Deadlocked(("t", "u")), {"state": "deadlocked", "topics": ["t", "u"]}),
    ],
)
def test_a_consensus_is_tagged_by_its_state(state: Consensus, wire: dict[str, object]) -> None:
    assert to_wire(state) == wire
    assert from_wire(Consensus, wire) == state


def test_a_policy_names_every_field_on_the_wire_and_needs_none() -> None:
    assert list(to_wire(QuorumPolicy())) == [
        "threshold",
        "window",
        "require_grounded",
        "refutation_cap",
        "require_evidential",
    ]
    assert from_wire(QuorumPolicy, {}) == QuorumPolicy(2, 30, True, None, False)


voices: st.SearchStrategy[Author] = st.sampled_from(
    (agent("a"), agent("b"), agent("c"), ADA, OperatorAuthor(), SystemAuthor(kind="a", label="join"))
)
deposits = st.builds(
    Trace,
    sequence=st.integers(0, 8),
    author=voices,
    kind=st.sampled_from(TraceKind),
    topic=st.none() | st.sampled_from(("t", "u", "")),
    target=st.none() | st.integers(0, 9),
    cites=st.lists(st.integers(0, 9), max_size=2, unique=True).map(tuple),
    text=st.sampled_from(("!x", "!y")),
    offset=st.integers(0, 2),
)
policies = st.builds(
    QuorumPolicy,
    threshold=st.integers(1, 3),
    window=st.integers(1, 10),
    require_grounded=st.booleans(),
    refutation_cap=st.none() | st.integers(1, 2),
    require_evidential=st.booleans(),
)


@given(st.lists(deposits, max_size=14), st.integers(0, 12), policies, st.booleans(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=500)
def test_neither_order_nor_redelivery_matters(
    traces: list[Trace], at: int, policy: QuorumPolicy, everyone: bool, chance: random.Random
) -> None:
    eligible = (lambda _: True) if everyone else None
    again = traces + chance.choices(traces, k=5) if traces else []
    chance.shuffle(again)
    found = standings(traces, at, policy, eligible=eligible)
    assert standings(again, at, policy, eligible=eligible) == found


@given(st.lists(deposits, max_size=14), st.integers(0, 12), policies, st.booleans())
@settings(deadline=None, max_examples=300)
def test_a_standing_holds_each_voice_once_and_on_one_side(
    traces: list[Trace], at: int, policy: QuorumPolicy, everyone: bool
) -> None:
    found = standings(traces, at, policy, eligible=(lambda _: True) if everyone else None)
    assert len({standing.topic for standing in found}) == len(found) <= 3
    for standing in found:
        sides = standing.supporters + standing.silenced + standing.refuted_by
        assert len(set(sides)) == len(sides)
        assert standing.supporters + standing.silenced
        assert set(sides) <= ({"a", "b", "c", "ada"} if everyone else {"a", "b", "c"})
        assert standing.support >= 500 * len(standing.supporters)
        assert standing.support == 0 or standing.supporters
        assert from_wire(TopicStanding, to_wire(standing)) == standing


@given(st.lists(deposits, max_size=14), st.integers(0, 12), policies)
@settings(deadline=None, max_examples=200)
def test_what_is_not_live_does_not_matter(traces: list[Trace], at: int, policy: QuorumPolicy) -> None:
    live = [trace for trace in traces if at - policy.window <= trace.sequence <= at]
    assert standings(traces, at, policy) == standings(live, at, policy)


@given(logs, st.integers(0, 12), policies)
@settings(deadline=None, max_examples=150)
def test_any_log_comes_to_one_consensus(rows: tuple[LogMessage, ...], at: int, policy: QuorumPolicy) -> None:
    found = standings(read_traces(rows, dialect="discord"), at, policy)
    carried = [
        standing.topic
        for standing in found
        if len(standing.supporters) >= policy.threshold
        and (policy.refutation_cap is None or len(standing.refuted_by) < policy.refutation_cap)
    ]
    expected: dict[int, Consensus] = {0: Deliberating(), 1: Quorum("".join(carried[:1]))}
    assert consensus(found, policy) == expected.get(len(carried), Deadlocked(tuple(carried)))


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(sys.modules[standings.__module__]).failed == 0
