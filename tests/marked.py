"""Rows and bodies for the tests of whatever reads markers: plain ones to write down, hostile ones to generate."""

from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis import strategies as st

from recall import AgentAuthor, Author, LogMessage, OperatorAuthor, PersonAuthor, SystemAuthor
from recall.masking import Dialect

ALICE = PersonAuthor(id="alice", label="Alice")
BOB = PersonAuthor(id="bob", label="Bob")
SCOUT = AgentAuthor(id="scout", label="Scout")
CRITIC = AgentAuthor(id="critic", label="Critic")

DIALECTS: tuple[Dialect, ...] = ("commonmark", "discord")

FRAGMENTS = (
    *("!pin", "!unpin", "!propose", "!support", "!object", "!refute", "!evidence", "!question", "!commit"),
    *(" #a", " #b", " #", " ^1", " ^2", " ^3", " ^", " >1", " >2", " +4", " ^18446744073709551616", " note"),
    *("\n", "\n", "\n", "\r\n", "\r", "\n\n", " ", "    ", "\t", "\xa0", "\u3000", "\x1c", "\x85", "\u200b", "\v"),
    *("`", "``", "```", "````", "```js\n", "~~~", "\\", "\\`", "> ", ">>> ", ">", "# h", "---", "===", "-", "* "),
    *("!", "text", "日本", "é", "👩\u200d🚀", "İ"),
)


def row(
    sequence: int, content: str, author: Author = ALICE, *, parent: int | None = None, reply_to: int | None = None
) -> LogMessage:
    return LogMessage(
        sequence=sequence, chat_id="desk", parent=parent, author=author, content=content, reply_to=reply_to
    )


bodies = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join), st.text(max_size=60))
authors: st.SearchStrategy[Author] = st.sampled_from(
    (
        ALICE,
        BOB,
        SCOUT,
        AgentAuthor(id="critic", label="Critic"),
        OperatorAuthor(),
        SystemAuthor(kind="join", label="!"),
    )
)
logs = st.lists(st.tuples(bodies, authors, st.none() | st.integers(1, 8)), max_size=8).map(
    lambda said: tuple(
        row(sequence, body, author, reply_to=reply_to) for sequence, (body, author, reply_to) in enumerate(said, 1)
    )
)

# Each makes a body of about n characters that a careless scanner reads again and again.
HOSTILE: dict[str, Callable[[int], str]] = {
    "one run of backticks": lambda n: "`" * n,
    "a run of backticks and text": lambda n: "`" * n + "x",
    "pairs of backticks": lambda n: "`x" * (n // 2),
    "double backticks": lambda n: "``x" * (n // 3),
    "runs of growing length": lambda n: "".join("`" * k + "x" for k in range(1, int((2 * n) ** 0.5))),
    "runs of shrinking length": lambda n: "".join("`" * k + "x" for k in range(int((2 * n) ** 0.5), 0, -1)),
    "backtick lines": lambda n: "`\n" * (n // 2),
    "unclosed fences": lambda n: "```x\n\n~~~\n" * (n // 10),
    "fences that cannot close": lambda n: "````\n" + "```\n" * (n // 4),
    "fences in one line": lambda n: "``` " * (n // 4),
    "fences with a language": lambda n: "```js\n" * (n // 6),
    "a fence before many line ends": lambda n: "```" + "\n" * n,
    "a fence before a long language": lambda n: "```" + "a" * n,
    "long info strings": lambda n: ("```" + "a" * 50 + "`\n") * (n // 54),
    "tilde fences": lambda n: "~~~\n" * (n // 4),
    "backslashes": lambda n: "\\" * n,
    "escaped backticks": lambda n: "\\`" * (n // 2),
    "a backslash in every span": lambda n: "`\\` " * (n // 4),
    "quotation signs": lambda n: ">" * n,
    "quoted lines": lambda n: "> \n" * (n // 3),
    "quotations that are none": lambda n: "    >\n" * (n // 6),
    "nested quotations": lambda n: "> " * (n // 2),
    "quoted lines of spaces": lambda n: "> x\n" + " " * n,
    "spaces": lambda n: " " * n,
    "spaces before a letter": lambda n: " " * n + "x",
    "indented lines": lambda n: "    x\n" * (n // 6),
    "indented lines and blank ones": lambda n: "    x\n\n\ny\n" * (n // 10),
    "tabs": lambda n: "\t" * n,
    "line ends": lambda n: "\n" * n,
    "carriage returns": lambda n: "\r" * n + "x",
    "thematic breaks": lambda n: "- " * (n // 2) + "x",
    "stars": lambda n: "*" * n + "x",
    "underlines": lambda n: "x\n=\n" * (n // 4),
    "hashes": lambda n: "#" * n,
    "exclamation marks": lambda n: "!" * n,
    "exclamation lines": lambda n: "!\n" * (n // 2),
    "markers": lambda n: "!pin\n" * (n // 5),
    "markers and backticks": lambda n: "!pin `\n" * (n // 7),
    "quoted markers": lambda n: "> !pin\n" * (n // 7),
    "markers of nothing": lambda n: "!unpin\n!refute\n" * (n // 15),
    "one marker of many words": lambda n: "!support " + "^1 #a >2 " * (n // 9),
    "one marker of many digits": lambda n: "!pin ^" + "0" * n,
    "one marker of many punctuation marks": lambda n: "!pin" + "." * n + "x",
}

HOSTILE_GROWTH = 48  # for sixteen times the body: linear work takes 16 to 25 times as long here, quadratic up to 256


def growth(work: Callable[[str], object], body: Callable[[int], str], *, small: int, factor: int) -> float:
    """How many times longer `work` takes over a body `factor` times as long: the best of several runs each."""
    few, many = body(small), body(small * factor)
    return _best(work, many) / _best(work, few)


def _best(work: Callable[[str], object], body: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        work(body)
        best = min(best, time.perf_counter() - started)
    return max(best, 2e-5)  # below this the clock and the call are measured, not the work
