"""Say by which rules pins and unpins were judged, where not everybody may do everything."""

from __future__ import annotations

import recall

from ..queries import PinPolicy, PinRights, PinsAnswer, WhyRefused
from .cards import counted

NO_ROLES = "Nobody's roles are known here, so everybody's pins and unpins count."

_UNPINNERS = {
    "pinner": "a pin is taken off by whoever pinned it, or by a moderator",
    "moderators": "a pin is taken off by a moderator",
}


_REFUSED = {
    WhyRefused.NO_ROLE: "their roles do not pin here",
    WhyRefused.NOT_PINNER: "it is another's pin, and they are no moderator",
    WhyRefused.NOT_MODERATOR: "they are no moderator",
    WhyRefused.TOO_MANY: "they have as many pins as one may have",
}


def refused_words(event: recall.PinEvent, answer: PinsAnswer) -> str:
    """Say why a directive was refused, by the rights of now; nothing for one that was not."""
    why = answer.refused.get(event.directive) if event.effect is recall.PinEffect.REFUSED else None
    return "" if why is None else f"({_REFUSED[why]})"


def pin_rules_words(policy: PinPolicy) -> str:
    """Say the rules of a place in one sentence; nothing where there are none."""
    said = [_UNPINNERS[policy.unpin]] if policy.unpin != "anyone" else []
    said += ["pinning is for certain roles"] if policy.by_role else []
    said += [f"one author has at most {counted(policy.per_author, 'pin')}"] if policy.per_author else []
    said += ["who opened a thread is a moderator of its pins"] if said and policy.thread_owner else []
    return f"The rules here: {'; '.join(said)}." if said else ""


def judged_notes(rights: PinRights) -> list[str]:
    """Say the rules, and whose rights nobody asked for."""
    words = pin_rules_words(rights.policy)
    if not words:
        return []
    asked = f"The rights of {rights.unasked:,} more were not asked for: they count as plain members."
    return [words, asked] if rights.unasked else [words]
