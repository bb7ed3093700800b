"""Match regular expressions, which come from strangers, onto the same scale as literal queries.

The engine is the `regex` module, version 0, without flags of ours; an expression sees the text as written,
and case is its own business. The engine bounds a match in time, but neither its memory nor the compiling:
a host compiles a stranger's expression only where the process has a limit.
"""

from __future__ import annotations

from typing import Any

import regex

from recall.errors import InvalidPattern, PatternTimeout
from recall.text import collapse
from recall.tiers import (
    DENSITY,
    EXACT,
    KINDS,
    PREFIX,
    SUBSEQUENCE,
    SUBSTRING,
    WORD_PREFIX,
    Remaining,
    TextMatch,
    is_in_word,
)

__all__ = ["CompiledRegex"]

ENGINE_SECONDS = 86_400.0  # the engine takes a very long time limit for none left; a day is never reached


class CompiledRegex:
    """Match a regular expression, its first match only; tiers below `weakest` are no match.

    Raises `InvalidPattern` when it does not compile, and `PatternTimeout` when that or a match takes too much.
    """

    def __init__(self, source: str, weakest: int) -> None:
        self.is_empty = not source
        self._weakest = weakest
        try:
            # Strangers' expressions are no guests of the engine's cache.
            self._search = regex.compile(source, cache_pattern=False).search
        except regex.error as error:
            details: Any = error  # its fields are not in the engine's stubs
            raise InvalidPattern(reason=details.msg, position=details.pos) from error
        except MemoryError as error:
            raise PatternTimeout("memory") from error
        except RecursionError as error:
            raise InvalidPattern(reason="too deeply nested", position=None) from error
        except Exception as error:  # the compiler is the engine's: OverflowError, ValueError and what else it finds
            raise InvalidPattern(reason=str(error), position=None) from error

    def match(self, text: str, remaining: Remaining | None = None) -> TextMatch | None:
        """Match a trimmed text that is not blank."""
        found = self._find(text, remaining)
        score = self._score(found, text) if found else 0
        if found is None or not score:
            return None
        return TextMatch(KINDS[score - score % SUBSEQUENCE], score, found.start())

    def weigh(self, text: str, floor: int = 0, remaining: Remaining | None = None) -> int:
        """Score a text as if collapsed to one line; 0 says no match."""
        line = collapse(text)
        found = self._find(line, remaining) if line else None
        return self._score(found, line) if found else 0

    def _score(self, found: regex.Match[str], text: str) -> int:
        """Read a match onto the tiers, from its span; 0 when the tier is too weak."""
        start, end = found.span()
        if start >= end:
            tier = SUBSTRING
        elif start > 0:
            tier = SUBSTRING if is_in_word(text[start - 1]) else WORD_PREFIX
        else:
            tier = PREFIX if end < len(text) else EXACT
        return tier + DENSITY * max(0, end - start) // len(text) if tier >= self._weakest else 0

    def _find(self, text: str, remaining: Remaining | None) -> regex.Match[str] | None:
        """Search within the time that remains; with a limit the engine asks for its clock in every call."""
        try:
            if remaining is None:
                return self._search(text)
            left = remaining()
            if not left > 0:
                raise PatternTimeout("time")
            return self._search(text, timeout=min(left, ENGINE_SECONDS))
        except TimeoutError as error:
            raise PatternTimeout("time") from error
        except MemoryError as error:
            raise PatternTimeout("memory") from error
        except RuntimeError as error:  # the engine's own "internal error"
            raise InvalidPattern(reason=str(error), position=None) from error
