"""What the tests of ranking and search share: texts to generate, a log that remembers, the rules spelled out slowly."""

from __future__ import annotations

import regex
from hypothesis import strategies as st

from recall import (
    AgentAuthor,
    Author,
    LogMessage,
    MatchKind,
    OperatorAuthor,
    PersonAuthor,
    SessionPage,
    SystemAuthor,
    TextMatch,
)
from recall.text import WHITE_SPACE

ADA = PersonAuthor(id="ada", label="Ada")
SCOUT = AgentAuthor(id="scout", label="Scout")
AUTHORS: tuple[Author, ...] = (ADA, SCOUT, OperatorAuthor(), SystemAuthor(kind="join", label="Join"))

TIERS = {"exact": 1000, "prefix": 800, "word_prefix": 600, "substring": 400, "subsequence": 200}

# Few and near to each other, so that generated queries are found in generated texts, in every tier.
CHARACTERS = "aabbcABİΣσς1٣Ⅷé\u0301\u200d👩🚀กิ日_-.!\x00\x1c\u200b" + " " * 6 + "\n\t\xa0\u3000"

texts = st.text(CHARACTERS, max_size=24) | st.text("ab ", max_size=12) | st.text(max_size=12)
queries = st.text(CHARACTERS, max_size=4) | st.text("ab ", max_size=4) | st.text(max_size=2)
kinds = st.sampled_from(MatchKind)


def row(
    sequence: int,
    content: str = "",
    *,
    attached: str = "",
    author: Author = ADA,
    chat_id: str | None = "desk",
    parent: int | None = None,
) -> LogMessage:
    return LogMessage(
        sequence=sequence, chat_id=chat_id, parent=parent, author=author, content=content, attached=attached
    )


@st.composite
def logs(draw: st.DrawFn) -> tuple[LogMessage, ...]:
    """Rows newest first, in two desks, some of them replies, some blank, some with text attached."""
    said = draw(st.lists(st.tuples(texts, st.just("") | texts, st.sampled_from(AUTHORS)), max_size=12))
    places = st.tuples(st.sampled_from(("desk", "desk", "desk", "other", None)), st.none() | st.integers(1, 12))
    return tuple(
        row(sequence, content, attached=attached, author=author, chat_id=chat_id, parent=parent)
        for sequence, (content, attached, author) in reversed(tuple(enumerate(said, 1)))
        for chat_id, parent in (draw(places),)
    )


class RecordingLog:
    """A log over rows in memory, given newest first, that remembers what it was asked for."""

    def __init__(self, rows: tuple[LogMessage, ...]) -> None:
        self.rows = rows
        self.asked: list[tuple[int | None, int]] = []

    async def read_before(self, before: int | None, limit: int) -> SessionPage:
        self.asked.append((before, limit))
        older = [found for found in self.rows if before is None or found.sequence < before]
        page = tuple(older[:limit])
        return SessionPage(page, page[-1].sequence if len(older) > len(page) else None)


def slow_collapse(text: str) -> str:
    """`collapse`, by the definition of white space alone."""
    return " ".join(part for part in regex.split(r"\p{White_Space}+", text) if part)


def slow_score(query: str, text: str, *, loose: bool = True) -> TextMatch | None:
    """`score`, rule by rule and character by character."""
    query, text = query.strip(WHITE_SPACE).lower(), text.strip(WHITE_SPACE).lower()
    if not query or not text or len(query) > len(text):
        return None
    found = [at for at in range(len(text)) if text[at : at + len(query)] == query]
    starts = [at for at in found if at > 0 and not regex.match(r"[\p{Alphabetic}\p{N}]", text[at - 1])]
    if query == text:
        kind, offset = "exact", 0
    elif found and found[0] == 0:
        kind, offset = "prefix", 0
    elif starts:
        kind, offset = "word_prefix", starts[0]
    elif found:
        kind, offset = "substring", found[0]
    else:
        left = iter(text)
        if not loose or not all(character in left for character in query):
            return None
        kind, offset = "subsequence", text.index(query[0])
    return TextMatch(MatchKind(kind), TIERS[kind] + 100 * len(query) // len(text), offset)


def slow_words(listed: tuple[str, ...], text: str) -> TextMatch | None:
    """How several words match, from how each of them does."""
    found = [slow_score(word, text, loose=" " not in slow_collapse(word)) for word in listed]
    if not found or any(match is None for match in found):
        return None
    matches = [match for match in found if match is not None]
    tier = min(600, *(TIERS[match.kind] for match in matches))
    chars = sum(len(word.strip(WHITE_SPACE).lower()) for word in listed)
    density = min(100, 100 * chars // len(text.strip(WHITE_SPACE).lower()))
    kind = next(kind for kind, worth in TIERS.items() if worth == tier)
    return TextMatch(MatchKind(kind), tier + density, matches[0].offset)
