"""Say who may pin and who may take a pin off, directive by directive, by the rights that their authors hold now.

By default everybody may do both, as the log's own rule is. A place can narrow that: `unpin` to whoever pinned it or to
moderators, pinning to some roles, and the live pins of one author to a number. Where unpinning is narrowed, pinning
again what is another's live pin wants the same right, so that nobody becomes the pinner by repeating.

A moderator is one now and in this channel; so is, where that is configured, the owner of a thread, of the pins whose
lines stand in it, by lines that do. Whoever is unknown, departed or a webhook is a plain member.

What somebody may is asked for only where it decides something, and for no more than `AUTHORS_ASKED` authors.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import recall

from .desk import DIALECT

AUTHORS_ASKED = 50  # authors whose rights, and threads whose owners, are asked for one board: a request each

K = TypeVar("K")
V = TypeVar("V")


class WhyRefused(StrEnum):
    """Name the rule by which a directive was refused."""

    NO_ROLE = "no role"
    NOT_PINNER = "not the pinner"
    NOT_MODERATOR = "not a moderator"
    TOO_MANY = "too many"


Unpinning: TypeAlias = Literal["anyone", "pinner", "moderators"]


class Powers(NamedTuple):
    """Say what an author may now: moderate the channel, and pin in it; and whether they are still a member."""

    moderates: bool = False
    pins: bool = True
    is_member: bool = True


@dataclass(frozen=True, slots=True)
class PinPolicy:
    """Hold the rules of a place. `by_role`: only some may pin; `per_author`: live pins of one author, 0 for any number.

    `thread_owner`: whether the owner of a thread moderates what is pinned there.
    """

    unpin: Unpinning = "anyone"
    by_role: bool = False
    per_author: int = 0
    thread_owner: bool = False

    @property
    def narrows(self) -> bool:
        """Say whether anything is refused to anybody."""
        return self.unpin != "anyone" or self.by_role or self.per_author > 0


@dataclass(frozen=True, slots=True)
class PinAuthority:
    """Hold the rules of a desk, and whom to ask for what they depend on.

    `powers_of` takes an author's id, `owner_of` a thread's and gives its owner's (null: not known); both may raise.
    `thread_of` says in which thread a row stands, null for none.
    """

    policy: PinPolicy
    powers_of: Callable[[str], Awaitable[Powers]]
    owner_of: Callable[[int], Awaitable[str | None]]
    thread_of: Callable[[recall.LogMessage], int | None]


@dataclass(frozen=True, slots=True)
class PinRights:
    """Hold what was found out for one board. `unasked`: authors and threads over the bound, who count as plain."""

    policy: PinPolicy = PinPolicy()
    powers: Mapping[str, Powers] = field(default_factory=dict)
    owners: Mapping[int, str | None] = field(default_factory=dict)
    threads: Mapping[int, int | None] = field(default_factory=dict)  # of marker rows, by sequence
    unasked: int = 0

    def rule(self, refused: dict[recall.PinDirective, WhyRefused] | None = None) -> recall.PinRule | None:
        """Return the rule for one fold, which it counts along; null where nothing is refused.

        `refused` takes in what it refuses, and why.
        """
        return _Rule(self, {} if refused is None else refused).allows if self.policy.narrows else None


class _Rule:
    """Judge the directives of one fold, in their order. `wanted` collects whose rights decide and are not known."""

    def __init__(self, rights: PinRights, refused: dict[recall.PinDirective, WhyRefused]) -> None:
        self._rights = rights
        self._refused = refused
        self._policy = rights.policy
        self._pinner: dict[recall.Sequence, str] = {}
        self._held: Counter[str] = Counter()
        self.wanted: dict[str | int, None] = {}

    def allows(self, directive: recall.PinDirective, pin: recall.Pin | None) -> bool:
        """Say whether a directive may act on the pin of its target, if there is one."""
        author = recall.author_id(directive.author)
        why = self._why(author, directive, pin)
        if why is not None:
            self._refused[directive] = why
            return False
        self._take_off(directive.target)
        if directive.action is recall.PinAction.PIN:
            self._pinner[directive.target] = author
            self._held[author] += 1
        return True

    def _why(self, author: str, directive: recall.PinDirective, pin: recall.Pin | None) -> WhyRefused | None:
        pinning = directive.action is recall.PinAction.PIN
        if pinning and not self._may_pin(author, directive, pin):
            return WhyRefused.NO_ROLE
        if not self._may_replace(author, directive, pin, again=pinning):
            return WhyRefused.NOT_PINNER if self._policy.unpin == "pinner" else WhyRefused.NOT_MODERATOR
        return WhyRefused.TOO_MANY if pinning and self._is_full(author, directive.target) else None

    def _may_pin(self, author: str, directive: recall.PinDirective, pin: recall.Pin | None) -> bool:
        if not self._policy.by_role or self._powers(author).pins:
            return True
        return self._moderates(author, directive, pin)

    def _may_replace(
        self, author: str, directive: recall.PinDirective, pin: recall.Pin | None, *, again: bool = False
    ) -> bool:
        """Say whether an author may take a pin off, or pin `again` what is pinned already."""
        if pin is None or self._policy.unpin == "anyone":
            return True
        own = recall.author_id(pin.pinned_by) == author
        if own and (again or self._policy.unpin == "pinner"):
            return True
        return self._moderates(author, directive, pin)

    def _is_full(self, author: str, target: recall.Sequence) -> bool:
        """Say whether an author has as many live pins as one may have, without that of a message pinned again."""
        held = self._held[author] - (self._pinner.get(target) == author)
        return 0 < self._policy.per_author <= held

    def _take_off(self, target: recall.Sequence) -> None:
        pinner = self._pinner.pop(target, None)
        if pinner is not None:
            self._held[pinner] -= 1

    def _moderates(self, author: str, directive: recall.PinDirective, pin: recall.Pin | None) -> bool:
        if self._powers(author).moderates:
            return True
        owning = self._policy.thread_owner and self._powers(author).is_member
        thread = self._rights.threads.get(directive.sequence) if owning else None
        if thread is None or (pin is not None and self._rights.threads.get(pin.pinned_at) != thread):
            return False
        if thread not in self._rights.owners:
            self.wanted[thread] = None
        return self._rights.owners.get(thread) == author

    def _powers(self, author: str) -> Powers:
        if author not in self._rights.powers:
            self.wanted[author] = None
        return self._rights.powers.get(author, _PLAIN_AND_UNKNOWN)


_PLAIN_AND_UNKNOWN = Powers(moderates=False, pins=False, is_member=False)


def foretold(policy: PinPolicy, powers: Powers, directive: recall.PinDirective) -> bool | None:
    """Say whether a directive takes effect, by what its author may; null where that hangs on what is pinned."""
    pinning = directive.action is recall.PinAction.PIN
    if pinning and policy.by_role and not (powers.pins or powers.moderates):
        return None if policy.thread_owner else False
    if policy.unpin != "anyone" and not powers.moderates:
        return None
    return None if pinning and policy.per_author else True


async def rights_over(
    authority: PinAuthority | None, rows: Sequence[recall.LogMessage], address: recall.AddressReader | None
) -> PinRights:
    """Find out what decides who of the authors of chronological rows may do what they did.

    Raises `Unavailable` where Discord does not say now.
    """
    if authority is None or not authority.policy.narrows:
        return PinRights()
    markers = [row for row in rows if "!" in row.content]
    threads = {row.sequence: authority.thread_of(row) for row in markers}
    rights = PinRights(authority.policy, threads=threads)
    while True:
        rule = _Rule(rights, {})
        recall.pin_history(markers, allows=rule.allows, dialect=DIALECT, address=address)
        left = AUTHORS_ASKED - len(rights.powers) - len(rights.owners)
        asked = list(rule.wanted)[::-1][:left]  # those who decided last first
        if not asked:
            return PinRights(rights.policy, rights.powers, rights.owners, threads, len(rule.wanted))
        powers = await _gather(authority.powers_of, (each for each in asked if isinstance(each, str)))
        owners = await _gather(authority.owner_of, (each for each in asked if isinstance(each, int)))
        rights = PinRights(rights.policy, {**rights.powers, **powers}, {**rights.owners, **owners}, threads)


async def _gather(ask: Callable[[K], Awaitable[V]], keys: Iterable[K]) -> dict[K, V]:
    wanted = list(keys)
    return dict(zip(wanted, await asyncio.gather(*map(ask, wanted)), strict=True))
