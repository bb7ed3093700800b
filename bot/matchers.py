"""Choose how expressions are searched for, as the configuration says."""

from __future__ import annotations

from collections.abc import Sequence

import recall

from .config import Config
from .matcher import Matcher


class ExpressionsOff:
    """Be the matcher where expressions are switched off: none is searched for."""

    async def search(
        self, _rows: Sequence[recall.LogMessage], _query: recall.SearchQuery, *, asker: str
    ) -> tuple[recall.SearchHit, ...]:
        """Raise `recall.RegexUnsupported`."""
        del asker
        raise recall.RegexUnsupported

    async def close(self) -> None:
        """End nothing."""


def make_matcher(config: Config) -> Matcher | ExpressionsOff:
    """Return a matcher, which starts no process before the first expression; its owner closes it."""
    if config.search.expressions == "off":
        return ExpressionsOff()
    return Matcher(allow_unlimited=config.search.expressions == "always")
