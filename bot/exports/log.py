"""The rows of an export as a log: held in memory, newest first, found by bisection."""

from __future__ import annotations

from bisect import bisect_right

import recall


class ExportLog:
    """Be a `recall.SessionLog` over rows in strictly descending sequence.

    `begins_late`: why its oldest row may not be the first of the channel; null when it is. A walk that comes to
    its end is then stopped there for that reason, so that no answer takes it for the beginning of history.
    """

    def __init__(self, rows: tuple[recall.LogMessage, ...], *, begins_late: str | None = None) -> None:
        self._rows = rows
        self._begins_late = begins_late

    async def read_before(self, before: recall.Sequence | None, limit: int) -> recall.SessionPage:
        """Return at most `limit` rows older than `before` (null: the newest), newest first."""
        if limit <= 0:
            return recall.SessionPage(())
        start = 0 if before is None else bisect_right(self._rows, -before, key=lambda row: -row.sequence)
        page = self._rows[start : start + limit]
        more = start + limit < len(self._rows) or self._begins_late is not None
        if not page and self._begins_late is not None:
            raise recall.WalkStopped(self._begins_late)
        return recall.SessionPage(page, page[-1].sequence if page and more else None)

    async def read_row(self, sequence: int) -> recall.LogMessage | None:
        """Return the row of one sequence, null where there is none."""
        at = bisect_right(self._rows, -sequence - 1, key=lambda row: -row.sequence)
        return self._rows[at] if at < len(self._rows) and self._rows[at].sequence == sequence else None
