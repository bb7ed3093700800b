"""Whatever a guild's roles and overwrites are, nobody learns through the bot what Discord would not show them.

500 random guilds are asked in all manner of ways, with and without the mirror, and what comes back is held
against Discord's rules (`discord_rules`). `--minutes M` goes on with others for so long.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from typing import Any

import msgspec
import pytest
from recall_bot.config import Config, MirrorConfig
from simcord.backend.models import Channel
from simcord.enums import ChannelType

from tests import discord_rules as rules
from tests.asking import answer_of, buttons, configured, text_of
from tests.guild_world import GuildWorld, Secret, age_restrictions, is_archived
from tests.stage import make_bot, open_world

GUILDS = 250  # with the mirror, and as many without
GUILDS_IN_A_WORLD = 25
SECRET = re.compile(r"z[nt][0-9]+[nt]")
COUNT = re.compile(r"I looked at all ([0-9,]+) messages?|I looked at the newest message")
NOBODY = "9" * 18
SCANS = (2_048, 6)  # the second one ends most answers early, so that they are gone on with


def texts_in(shown: str) -> set[str]:
    return {secret for secret in SECRET.findall(shown) if secret.startswith("zt")}


class LeakError(AssertionError):
    """Say what was learnt of which place."""


class Asking:
    """Ask in one guild, from one place, and look at all that comes of it."""

    def __init__(self, world: GuildWorld, here: Channel) -> None:
        self.world, self.here = world, here

    @property
    def allowed(self) -> set[int]:
        return self.world.readable(self.here)

    async def ask(self, command: str, *, only: set[int] | None = None, **options: Any) -> tuple[str, Any]:
        """Use a command and return all that it shows, after a look at it; `only`: the places it may be about."""
        names = {"place": "in", "author": "from"}
        given = {names.get(name, name): value for name, value in options.items()}
        self.world.env.http_requests.clear()
        result = await self.world.asker.slash(self.world.handle(self.here), command, **given)
        answer = answer_of(result)
        return await self.look(answer, self.allowed if only is None else only & self.allowed), answer

    async def look(self, answer: Any, allowed: set[int]) -> str:
        files = [(await attachment.read()).decode() for attachment in answer.attachments]
        bodies = [repr(r.json) for r in self.world.env.http_requests if r.method in {"POST", "PATCH", "PUT"}]
        self.check("\n".join([text_of(answer), *files, *bodies]), allowed)
        self.check_requests(self.allowed)
        return "\n".join([text_of(answer), *files])

    def check_requests(self, allowed: set[int]) -> None:
        """Raise `LeakError` when Discord was asked for the history or the threads of a place that is not allowed."""
        for request in self.world.env.http_requests:
            read = request.method == "GET" and re.match(r"/channels/(\d+)/(messages|threads/arch)", request.path)
            if read and int(read[1]) not in allowed:
                raise LeakError(f"{request.path} was asked of Discord")

    def check(self, shown: str, allowed: set[int], *, names_too: bool = False) -> None:
        """Raise `LeakError` when a secret of a place that is not allowed stands in what is shown.

        The name of another place that the asker may read is no secret, nor is that of a thread's channel to who
        stands in the thread. `names_too`: what every member sees the name of is not to be named either.
        """
        secrets = self.world.secrets
        named = allowed | self.allowed | {self.here.parent_id or 0}
        if not names_too:
            named |= {place_id for place_id, secret in secrets.items() if self.world.is_public_name(secret)}
        found = set(SECRET.findall(shown)) - {secrets[place_id].name for place_id in named if place_id in secrets}
        for place_id, secret in secrets.items():
            if place_id not in allowed and secret.text in found:
                raise LeakError(f"the text of {secret.place}")
            if secret.name in found:
                raise LeakError(f"the name of {secret.place}")

    def desk(self, place: Channel) -> set[int]:
        """Return what is read when somebody asks about a place: it and its public threads."""
        return {place.id} | {
            place_id
            for place_id, secret in self.world.secrets.items()
            if secret.place.parent_id == place.id and secret.place.type == ChannelType.PUBLIC_THREAD
        }

    async def everywhere(self) -> None:
        """Search everywhere to the end: all that may be read is found, counted, and nothing else."""
        shown, answer = await self.ask("search", query="needle", place="everywhere", sort="newest")
        allowed = self.allowed
        wanted = {s.text for place_id, s in self.world.secrets.items() if place_id in allowed and s.messages > 1}
        got = texts_in(shown)
        if not buttons(answer).get("Older"):
            self.counts(shown, sum(self.world.secrets[place_id].messages for place_id in allowed))
        while turn := next((label for label in ("Next", "Older") if buttons(answer).get(label)), None):
            self.world.env.http_requests.clear()
            answer = answer_of(await self.world.asker.click(answer, label=turn))
            got |= texts_in(await self.look(answer, allowed))
        assert got == wanted

    def counts(self, shown: str, messages: int) -> None:
        """Look whether the coverage is that of a guild in which what may not be read does not exist."""
        found = COUNT.search(shown)
        if messages == 0:
            assert "There is no message here to read." in shown
        else:
            assert found is not None, shown
            assert int((found[1] or "1").replace(",", "")) == messages

    async def named(self, secret: Secret) -> None:
        """Ask about a place by its id, a link, its markup and its name."""
        place = secret.place
        link = f"https://discord.com/channels/{self.world.guild.id}/{place.id}"
        way = self.world.random.choice((str(place.id), f"<#{place.id}>", link, secret.name, f"#{secret.name}"))
        asked: tuple[tuple[str, dict[str, Any]], ...] = (
            ("search", {"query": "needle"}),
            ("search", {"query": secret.text}),
            ("pins", {}),
            ("pins", {"show": "history"}),
            ("pins", {"show": "export"}),
            ("standings", {}),
            ("context", {}),
        )
        command, options = self.world.random.choice(asked)
        if secret.name in way:
            readable = self.world.readable(self.here, bot=False)
            twins = [s.place for s in self.world.secrets.values() if s.name == secret.name and s.place.id in readable]
            if len(twins) > 1:
                return
            if twins and twins[0] is not place:
                place, options = twins[0], {"query": "needle"} if command == "search" else options
        shown, answer = await self.ask(command, only=self.desk(place), place=way, **options)
        if place.id in self.allowed:
            by_name = secret.name in way  # by which an archived thread, not being known, cannot be found
            assert answer.embeds or (by_name and is_archived(place)), shown
            return
        if place.id == self.here.id:
            return
        nothing, _ = await self.ask(command, place=NOBODY, **options)
        if "I may not read the history of that channel" in shown:
            # the asker may read it, and the bot may not: they are told so
            meant = {s.place.id for s in self.world.secrets.values() if s.name == secret.name or s is secret}
            assert meant & self.world.readable(self.here, bot=False)
            return
        assert shown == nothing

    async def here_and_public(self) -> None:
        """Ask about the place itself, publicly: only what everybody who reads it may read comes back."""
        for public in (False, True):
            command = self.world.random.choice(("search", "pins", "standings"))
            options: dict[str, Any] = {"query": "needle"} if command == "search" else {}
            await self.ask(command, only=self.desk(self.here), public=public, **options)

    async def elsewhere_in_public(self) -> None:
        """Ask publicly about another place: it is refused, and in the same words whatever it is."""
        other = self.world.random.choice(list(self.world.secrets.values())).place
        if other.id != self.here.id:
            await self.ask("search", only=set(), query="needle", place=str(other.id), public=True)
        shown, _ = await self.ask("search", only=set(), query="needle", place="everywhere", public=True)
        assert shown.startswith("A public answer can only be about")

    async def completions(self) -> None:
        """Complete places, authors, labels and topics: nothing that may not be read is offered."""
        handle, asker = self.world.handle(self.here), self.world.asker
        other = self.world.random.choice(list(self.world.secrets.values()))
        asked: tuple[tuple[str, str, str, dict[str, str]], ...] = (
            ("search", "in", self.world.random.choice(("", "z", other.name)), {"query": "x"}),
            ("pins", "in", "z", {}),
            ("pins", "label", "", {"in": str(other.place.id)}),
            ("standings", "topic", "", {"in": str(other.place.id)}),
            ("search", "from", "", {"query": "x", "in": str(other.place.id)}),
        )
        command, option, value, filled = self.world.random.choice(asked)
        self.world.env.http_requests.clear()
        choices = await asker.autocomplete(handle, command, option, value, **filled)
        theirs = self.world.readable(self.here, bot=False)  # also a private thread that the bot is not in, from inside
        self.check(repr(choices), theirs, names_too=True)
        ids = {int(c["value"]) for c in choices if str(c["value"]).isdigit() and option == "in"}
        if not ids <= theirs:
            raise LeakError(f"{ids - theirs} were offered")
        if option != "in" and other.place.id not in self.allowed:
            assert choices == []
        assert not [r for r in self.world.env.http_requests if r.method == "GET"]

    async def lines(self) -> None:
        """Let an agent ask by lines: what is answered is about the place where everybody reads it."""
        world, here, env = self.world, self.here, self.world.env
        cog: Any = env.bot.get_cog("Recall")  # type: ignore[attr-defined]
        await cog.services.state.switch(here.id, world.guild.id, on=True)
        for line in world.random.sample(("!search needle", "!pins", "!standings", "!context"), 2):
            env.http_requests.clear()
            env.backend.create_message(here.id, world.agent.id, line)
            await env.advance_time(5)
            posted = [r for r in env.http_requests if r.method == "POST" and r.path.endswith("/messages")]
            answered = rules.may_read(env.backend, world.agent.id, here) and rules.may_read(
                env.backend, world.bot_id, here
            )
            self.check("\n".join(repr(r.json) for r in posted), self.desk(here) if answered else set())
            assert all(r.path.startswith(f"/channels/{here.id}/") for r in posted)
            self.check_requests(self.desk(here) | {here.parent_id or 0})  # where a thread's first message stands

    async def menus(self) -> None:
        """Open the menus of a message: their forms offer what belongs to the place."""
        world, here = self.world, self.here
        if here.id not in self.allowed:
            return
        message = next(m for m in world.handle(here).history() if m.id == world.secrets[here.id].last)
        for menu in ("Pin to board", "Support", "Object"):
            world.env.http_requests.clear()
            opened = await world.asker.context_menu(world.handle(here), menu, message)
            shown = repr((opened.modal, [r.json for r in world.env.http_requests]))
            self.check(shown, self.desk(here) & self.allowed)
            self.check_requests(self.allowed)

    async def status(self) -> None:
        """Ask what is on and stored here: how much was written is told to readers only."""
        self.world.env.http_requests.clear()
        result = await self.world.asker.slash(self.world.handle(self.here), "recall status")
        shown = await self.look(answer_of(result), self.allowed)
        assert "**Permissions missing here:**" in shown
        if "**Stored:**" in shown:
            assert self.here.id in self.world.readable(self.here, bot=False)
        else:  # it may be that the bot cannot know of a private thread's members
            assert self.here.id not in self.allowed

    async def lost(self) -> None:
        """Lose rights after an answer: its pages are turned by what is left."""
        _, answer = await self.ask("search", query="needle", place="everywhere")
        self.world.take_away()
        if self.here not in self.world.asking_places():
            return
        for label, ready in buttons(answer).items():
            if ready:
                self.world.env.http_requests.clear()
                await self.look(answer_of(await self.world.asker.click(answer, label=label)), self.allowed)


async def play(world: GuildWorld) -> int:
    """Ask one guild; returns how many questions were asked."""
    places = world.asking_places()
    if not places:
        return 0
    asking = Asking(world, world.random.choice(places))
    await asking.everywhere()
    for secret in world.random.sample(list(world.secrets.values()), min(3, len(world.secrets))):
        await asking.named(secret)
    for question in (
        asking.here_and_public,
        asking.elsewhere_in_public,
        asking.completions,
        asking.menus,
        asking.status,
    ):
        if world.random.random() < 0.5:
            await question()
    if world.random.random() < 0.15:
        await asking.lines()
    await asking.lost()
    return 1


async def guilds(seeds: range, *, mirrored: bool, until: float = math.inf) -> int:
    """Play guilds in one world."""
    played = 0
    with age_restrictions():
        async with open_world() as env:
            people = [env.create_user("asker"), env.create_user("writer"), env.create_user("agent", bot=True)]
            scan = SCANS[seeds.start // GUILDS_IN_A_WORLD % 2]
            config = configured(scan=scan)(msgspec.structs.replace(Config(), mirror=MirrorConfig(enabled=mirrored)))
            await env.restart_bot(make_bot(env, config))
            for seed in seeds:
                world = GuildWorld(env, seed, *people)
                await env.settle(timeout=30, idle=0.0005)
                try:
                    played += await play(world)
                except BaseException as failure:
                    failure.add_note(f"guild {seed}, {'with' if mirrored else 'without'} the mirror")
                    raise
                world.end()
                await env.settle(timeout=30, idle=0.0005)
                if time.monotonic() > until:
                    break
    return played


@pytest.mark.parametrize("mirrored", [True, False], ids=["mirrored", "read from Discord"])
async def test_nobody_learns_what_discord_would_not_show_them(
    simulated_discord: None, mirrored: bool, pytestconfig: pytest.Config
) -> None:
    played = 0
    for start in range(0, GUILDS, GUILDS_IN_A_WORLD):
        played += await guilds(range(start, start + GUILDS_IN_A_WORLD), mirrored=mirrored)
    assert played > GUILDS * 3 // 4

    minutes = pytestconfig.getoption("--minutes")
    until = time.monotonic() + minutes * 30  # each half of them
    for start in itertools.count(GUILDS, GUILDS_IN_A_WORLD):
        if time.monotonic() > until:
            break
        played += await guilds(range(start, start + GUILDS_IN_A_WORLD), mirrored=mirrored, until=until)
    if minutes:
        print(f"\n{played:,} guilds were asked")  # noqa: T201 - whoever waited for it wants to know
