"""List the threads of a desk that are alive: how each opened, how many replied, when it last moved.

    [412] "the deploy is stuck" — 3 replies

Which threads are alive is a question of recency, so the index reads a short stretch of the log. A busy
thread whose root lies further back would vanish from it; a host that knows such threads by name passes
their names as `openings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recall.log import NOTHING_READ, Coverage, SessionLog, walk_log
from recall.records import Conversation, LogMessage, Sequence, Value
from recall.text import collapse, cut, is_blank, shown

__all__ = [
    "THREAD_INDEX_LIMIT",
    "THREAD_INDEX_SCAN",
    "THREAD_OPENING_CHARS",
    "ThreadIndex",
    "ThreadLine",
    "fold_thread_index",
    "read_thread_index",
]

THREAD_INDEX_LIMIT = 5  # threads listed
THREAD_OPENING_CHARS = 60  # characters of a root quoted
THREAD_INDEX_SCAN = 256  # raw rows: what moved lately is in the newest


class ThreadLine(Value, frozen=True):
    """Show one thread: its root, its opening words on one line, its replies, and the last row seen of it.

    `landed` says what the thread came to, for hosts that know; the fold leaves it null.
    """

    root: Sequence
    opening: str
    replies: int
    latest: Sequence
    landed: str | None = None


class ThreadIndex(Value, frozen=True):
    """Hold a desk's threads, the one that moved last first, and how far the index looked."""

    threads: tuple[ThreadLine, ...]
    coverage: Coverage


def fold_thread_index(
    rows: Iterable[LogMessage], limit: int, *, openings: Mapping[Sequence, str] | None = None
) -> tuple[ThreadLine, ...]:
    """Return the threads of chronological rows, newest activity first, at most `limit`.

    A thread is a root that is not blank; a blank reply is none. A reply that comes before its root, or whose
    root is not among the rows, is ignored, unless `openings` names that root.
    """
    if limit <= 0:
        return ()
    rows = tuple(rows)
    roots = {row.sequence for row in rows if row.parent is None}
    named = {root: text for root, text in (openings or {}).items() if root not in roots and not is_blank(text)}
    found: dict[int, ThreadLine] = {}
    for row in rows:
        text = shown(row.content, row.attached)
        if is_blank(text):
            continue
        root = row.parent
        if root is None:
            found[row.sequence] = ThreadLine(row.sequence, _opening(text), 0, row.sequence)
        elif root in found:
            line = found[root]
            found[root] = ThreadLine(root, line.opening, line.replies + 1, row.sequence)
        elif root in named:
            found[root] = ThreadLine(root, _opening(named[root]), 1, row.sequence)
    lines = sorted(found.values(), key=lambda line: (-line.latest, -line.root))
    return tuple(lines[:limit])


async def read_thread_index(
    log: SessionLog,
    conversation: Conversation,
    limit: int = THREAD_INDEX_LIMIT,
    before: Sequence | None = None,
    *,
    scan: int = THREAD_INDEX_SCAN,
    openings: Mapping[Sequence, str] | None = None,
) -> ThreadIndex:
    """Read the newest `scan` raw rows older than `before` and fold the desk's threads out of them.

    Inside a thread there are none, and nothing is read. Raises what `walk_log` raises.
    """
    if limit <= 0 or conversation.thread_root is not None:
        return ThreadIndex((), NOTHING_READ)
    walk = await walk_log(log, scan=scan, before=before)
    rows = filter(conversation.holds, reversed(walk.rows))
    return ThreadIndex(fold_thread_index(rows, limit, openings=openings), walk.coverage)


def _opening(text: str) -> str:
    return cut(collapse(text), THREAD_OPENING_CHARS)
