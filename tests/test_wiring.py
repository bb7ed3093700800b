from __future__ import annotations

import msgspec
import pytest
from recall_bot.config import Config, Expressions, SearchConfig
from recall_bot.matcher import Matcher
from recall_bot.matchers import make_matcher

import recall

QUERY = recall.SearchQuery(recall.RegexPattern("a"))


def searching(expressions: Expressions) -> Config:
    return msgspec.structs.replace(Config(), search=SearchConfig(expressions=expressions))


async def test_expressions_that_are_off_are_refused_and_never_searched_for_as_text() -> None:
    matcher = make_matcher(searching("off"))
    with pytest.raises(recall.RegexUnsupported):
        await matcher.search((), QUERY, asker="1")
    await matcher.close()


@pytest.mark.parametrize("expressions", ["bounded", "always"])
async def test_a_matcher_starts_no_process_before_the_first_expression(expressions: Expressions) -> None:
    matcher = make_matcher(searching(expressions))
    assert isinstance(matcher, Matcher)
    assert matcher.pids == ()
    await matcher.close()
