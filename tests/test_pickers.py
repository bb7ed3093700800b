from __future__ import annotations

import doctest

from hypothesis import given, settings
from hypothesis import strategies as st

from recall import (
    Agent,
    Candidate,
    Desk,
    Person,
    RegexPattern,
    TextPattern,
    agents,
    compile_pattern,
    desks,
    parse_pattern,
    people,
    pickers,
    rank,
)
from tests.searched import queries, texts

ids = st.text("ab", min_size=1, max_size=2)
rosters = st.lists(st.builds(Agent, ids, texts, st.none() | texts, st.booleans()), max_size=8).map(tuple)


def test_a_retired_agent_is_never_offered() -> None:
    roster = (Agent("1", "Scout", retired=True), Agent("2", "Scout"), Agent("2", "Scout", retired=True))

    assert [hit.id for hit in agents(parse_pattern("scout"), roster)] == ["2"]


def test_a_repeated_id_counts_once_and_the_first_one_stands() -> None:
    crowd = (Person("1", "Ada"), Person("1", "Adam"), Person("2", "Adam"))

    assert [(hit.id, hit.label) for hit in people(parse_pattern("ada"), crowd)] == [("1", "Ada"), ("2", "Adam")]


def test_a_desk_named_for_the_query_stands_before_one_whose_topic_mentions_it() -> None:
    directory = (Desk("1", "general", "deploys and more"), Desk("2", "x-deploys"), Desk("3", "deploys"))

    assert [hit.id for hit in desks(parse_pattern("deploys"), directory)] == ["3", "2", "1"]


def test_every_kind_of_pattern_picks_and_one_that_is_ready_is_compiled_once() -> None:
    crowd = (Person("7", "Ada"), Person("8", "Bob"))

    for pattern in (TextPattern("ada"), RegexPattern("^A"), compile_pattern(TextPattern("ada"))):
        assert [hit.id for hit in people(pattern, crowd, 1)] == ["7"]


def test_an_empty_query_and_no_limit_pick_nothing() -> None:
    crowd = (Person("7", "Ada"),)

    assert people(parse_pattern(" "), crowd) == people(parse_pattern("ada"), crowd, 0) == ()


@settings(deadline=None)
@given(queries.map(TextPattern), rosters, st.integers(0, 9), st.integers(0, 9))
def test_a_picker_ranks_each_serving_agent_once(
    pattern: TextPattern, roster: tuple[Agent, ...], few: int, more: int
) -> None:
    serving: dict[str, Agent] = {}
    for agent in roster:
        if not agent.retired:
            serving.setdefault(agent.id, agent)
    hits = agents(pattern, iter(roster), few + more)

    assert hits == rank(pattern, (Candidate(a.id, a.label, a.detail) for a in serving.values()), few + more)
    assert agents(pattern, roster, few) == hits[:few]


@settings(deadline=None)
@given(queries, rosters)
def test_all_pickers_rank_alike(query: str, roster: tuple[Agent, ...]) -> None:
    pattern = TextPattern(query)
    named = tuple(Agent(agent.id, agent.label, agent.detail) for agent in roster)

    assert desks(pattern, (Desk(a.id, a.label, a.detail) for a in named)) == agents(pattern, named)
    bare = tuple(Agent(agent.id, agent.label) for agent in roster)
    assert people(pattern, (Person(a.id, a.label) for a in bare)) == agents(pattern, bare)


def test_the_examples_are_true() -> None:
    assert doctest.testmod(pickers).failed == 0
