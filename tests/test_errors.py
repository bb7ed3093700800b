from __future__ import annotations

import pickle
import re

import pytest

import recall
from recall import (
    BrokenFrame,
    CursorAfterOldest,
    CursorDidNotAdvance,
    DuplicateSequence,
    EmptyPageCursor,
    InvalidPattern,
    OverBudget,
    PageNotDescending,
    PageOutOfRange,
    PageTooLarge,
    PatternTimeout,
    PatternTooLong,
    ReadError,
    RecallError,
    RegexUnsupported,
    SummaryRefused,
    UnusableField,
    UnusableNonce,
    WalkStopped,
    ZeroQuorumThreshold,
    ZeroQuorumWindow,
    ZeroRefutationCap,
    errors,
)

RAISED = (
    PageTooLarge(requested=2, actual=3),
    EmptyPageCursor(next_before=4),
    DuplicateSequence(sequence=5),
    PageOutOfRange(sequence=9, before=8),
    PageNotDescending(previous=4, next=5),
    CursorDidNotAdvance(before=8, next_before=9),
    CursorAfterOldest(next_before=9, oldest=8),
    ReadError(),
    WalkStopped("time"),
    PatternTooLong(chars=201, limit=200),
    InvalidPattern(reason="missing )", position=5),
    InvalidPattern(reason="too deeply nested", position=None),
    RegexUnsupported(),
    PatternTimeout("memory"),
    ZeroQuorumThreshold(),
    ZeroQuorumWindow(),
    ZeroRefutationCap(),
    UnusableNonce(chars=3, least=8, most=64),
    UnusableField(name="a b"),
    BrokenFrame(line=2),
    SummaryRefused(first=1, last=9, hole="tail"),
    OverBudget(budget=10, actual=20, pinned=3, tail=9, uncovered=8),
)
BRANCHES = {"RecallError", "PageError", "PatternError", "PolicyError", "FrameError", "CompilationError"}


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_is_one_lower_case_sentence_made_of_its_fields(error: RecallError) -> None:
    said = str(error)

    assert said[0].islower()
    assert "\n" not in said
    assert "{" not in said
    assert said == error.message.format(**vars(error))


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_keeps_its_fields_from_one_process_to_another(error: RecallError) -> None:
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)


def test_the_tree_drawn_at_the_top_names_every_error_and_all_are_exported() -> None:
    drawn = set(re.findall(r"^ {4}[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE))

    assert drawn == set(errors.__all__)
    assert all(issubclass(getattr(recall, name), RecallError) for name in drawn)
    assert {type(error).__name__ for error in RAISED} == drawn - BRANCHES
