"""Read the demo's own room from `room.txt`, a transcript that is written and read by people.

The file says at its top how it is written. Reading it is strict: a line that fits nothing, an unknown speaker
or a name that no message bears is a `RoomError` with the number of the line, so that a slip of the pen is found
by the tests and never shows as a hole in the room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib import resources

import discord

from .world import DEFAULT_POST, REPLY_POST, THREAD_CREATED_POST, Embed, File, Forward, Place, Post, Room, Speaker

ROOM_FILE = "room.txt"
GUILD_NAME = "Tidewatch"
FOUNDED = datetime(2026, 2, 1, 9, tzinfo=UTC)  # before the first message: guild, speakers and channels
STANDINGS_WINDOW = 50  # messages; a week went by in one channel, and what it argued out must not stand side by side
BETWEEN_SECONDS = 11  # of two messages in one minute, of which the transcript gives only the minute

_HEADER = re.compile(r"\[(speakers|channel|thread)(?: ([\w-]+))?(?: \| ([^|\]]+?))?(?: \| (\w+))?\]")
_DAY = re.compile(r"== (\d{4}-\d\d-\d\d)")
_LINE = re.compile(r"(\d\d):(\d\d) (\w+)(?: \(([^)]*)\))?: ?(.*)")
_PART = re.compile(r"^\[(embed|file)\] (.+)$", re.MULTILINE)
_NAME = re.compile(r"\{([a-z][a-z0-9-]*)\}")
_MENTION = re.compile(r"(?<!\w)@(\w+)")
_INDENT = "    "


class RoomError(Exception):
    """Say which line of a transcript cannot be read."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


@dataclass(slots=True)
class _Line:
    """Hold a message as it is written, before names are ids."""

    number: int
    id: int
    speaker: Speaker
    text: str
    name: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Section:
    """Hold a place as it is written."""

    number: int
    kind: str
    name: str
    title: str
    owner: str
    lines: list[_Line] = field(default_factory=list)


def read_room() -> Room:
    """Return the demo's own room."""
    return parse_room(resources.files(__package__).joinpath(ROOM_FILE).read_text("utf-8"))


def parse_room(transcript: str) -> Room:
    """Return the room that a transcript describes; raises `RoomError`."""
    return _Reader().read(transcript)


class _Reader:
    """Read a transcript once, top to bottom, and then give its names their ids."""

    def __init__(self) -> None:
        self._founded = _ids(FOUNDED)
        self._guild_id = next(self._founded)
        self._speakers: dict[str, Speaker] = {}
        self._sections: list[_Section] = []
        self._day: datetime | None = None

    def read(self, transcript: str) -> Room:
        """Do it."""
        in_speakers = False
        for number, line in enumerate(transcript.splitlines(), 1):
            if header := _HEADER.fullmatch(line):
                in_speakers = header[1] == "speakers"
                if not in_speakers:
                    kind, name, title, owner = (header[group] or "" for group in range(1, 5))
                    self._sections.append(_Section(number, kind, name, title, owner))
            elif day := _DAY.fullmatch(line):
                self._day = datetime.fromisoformat(day[1]).replace(tzinfo=UTC)
            elif line.startswith(_INDENT) and self._sections and self._sections[-1].lines:
                self._sections[-1].lines[-1].text += "\n" + line.removeprefix(_INDENT)
            elif in_speakers and line and not line.startswith("#"):
                self._add_speaker(number, line)
            elif spoken := _LINE.fullmatch(line):
                self._add_line(number, spoken)
            elif not line and self._sections and self._sections[-1].lines:
                self._sections[-1].lines[-1].text += "\n"
            elif line and not line.startswith("#"):
                raise RoomError(number, "this is neither a header, a day nor a message")
        return self._room()

    def _add_speaker(self, number: int, line: str) -> None:
        handle, kind, name, *roles = (part.strip() for part in line.split("|"))
        if kind not in {"person", "bot", "webhook"} or roles not in ([], ["moderator"]):
            raise RoomError(number, "a speaker is a person, a bot or a webhook, and a moderator or not")
        known = next(self._founded)
        self._speakers[handle] = Speaker(known, handle, name, kind, moderator=bool(roles))  # type: ignore[arg-type]

    def _add_line(self, number: int, spoken: re.Match[str]) -> None:
        hour, minute, handle, options, text = spoken.groups(default="")
        if self._day is None or not self._sections or handle not in self._speakers:
            raise RoomError(number, "a message needs a place, a day and a known speaker before it")
        section = self._sections[-1]
        written = self._day + timedelta(hours=int(hour), minutes=int(minute))
        at = written
        if section.lines:
            at = max(at, discord.utils.snowflake_time(section.lines[-1].id) + timedelta(seconds=BETWEEN_SECONDS))
        if at - written >= timedelta(minutes=1):
            raise RoomError(number, "this message is earlier than the one before it")
        # The place's number keeps messages of two places in one instant apart.
        identity = discord.utils.time_snowflake(at) + len(self._sections)
        line = _Line(number, identity, self._speakers[handle], text)
        for option in filter(None, (part.strip() for part in options.split(","))):
            key, _, value = option.partition(" ")
            if key in {"re", "as", "forward", "edited", "deleted"}:
                line.options[key] = value
            else:
                line.name = option
        section.lines.append(line)

    def _room(self) -> Room:
        names = {line.name: line for section in self._sections for line in section.lines if line.name}
        channel_id = 0
        places: list[Place] = []
        for section in self._sections:
            posts = tuple(self._post(line, names) for line in section.lines if "deleted" not in line.options)
            if section.kind == "channel":
                channel_id = next(self._founded)
                places.append(Place(channel_id, section.name, "channel", posts, topic=section.title))
                continue
            places.append(self._thread(section, posts, names, places))
        speakers = tuple(self._speakers.values())
        people = tuple(speaker for speaker in speakers if speaker.kind == "person")
        return Room(
            self._guild_id,
            GUILD_NAME,
            speakers,
            tuple(places),
            shown_id=places[0].id,
            viewers=people,
            window=STANDINGS_WINDOW,
        )

    def _thread(
        self, section: _Section, posts: tuple[Post, ...], names: Mapping[str, _Line], places: list[Place]
    ) -> Place:
        """Make a thread of the first channel: of a named message, or of none, which the channel then announces."""
        parent = places[0]
        if section.name:
            starter = _named(section.name, names, section.number)
            thread_id, owner_id = starter.id, starter.speaker.id
        else:
            owner_id = self._speakers[section.owner].id
            thread_id = discord.utils.time_snowflake(posts[0].sent_at - timedelta(seconds=BETWEEN_SECONDS))
            created = Post(thread_id + 1, owner_id, section.title, type=THREAD_CREATED_POST, points_at=thread_id)
            places[0] = replace(parent, posts=tuple(sorted((*parent.posts, created), key=lambda post: post.id)))
        return Place(thread_id, section.title, "thread", posts, parent_id=parent.id, owner_id=owner_id)

    def _post(self, line: _Line, names: Mapping[str, _Line]) -> Post:
        content, embeds, files = _parts(self._resolve(line.text.rstrip("\n"), line, names))
        answered = line.options.get("re")
        forwarded = line.options.get("forward")
        edited = line.options.get("edited")
        sent = discord.utils.snowflake_time(line.id)
        return Post(
            line.id,
            line.speaker.id,
            content,
            name=line.options.get("as"),
            edited_at=sent.replace(hour=int(edited[:2]), minute=int(edited[3:])) if edited else None,
            type=REPLY_POST if answered else DEFAULT_POST,
            points_at=_named(answered, names, line.number).id if answered else None,
            forward=self._forward(_named(forwarded, names, line.number), names) if forwarded else None,
            embeds=embeds,
            files=files,
        )

    def _forward(self, line: _Line, names: Mapping[str, _Line]) -> Forward:
        return Forward(self._resolve(line.text.rstrip("\n"), line, names), source_id=line.id)

    def _resolve(self, text: str, line: _Line, names: Mapping[str, _Line]) -> str:
        """Put ids for names, and mentions for handles."""
        text = _NAME.sub(lambda name: str(_named(name[1], names, line.number).id), text)
        return _MENTION.sub(
            lambda handle: f"<@{self._speakers[handle[1]].id}>" if handle[1] in self._speakers else handle[0], text
        )


def _ids(at: datetime) -> Iterator[int]:
    """Yield ids of one instant, a second apart."""
    while True:
        yield discord.utils.time_snowflake(at)
        at += timedelta(seconds=1)


def _named(name: str, names: Mapping[str, _Line], number: int) -> _Line:
    try:
        return names[name]
    except KeyError:
        raise RoomError(number, f"no message bears the name {name!r}") from None


def _parts(text: str) -> tuple[str, tuple[Embed, ...], tuple[File, ...]]:
    """Part what was typed from what rides along."""
    content, *parts = _PART.split(text)
    embeds: list[Embed] = []
    files: list[File] = []
    for kind, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind == "embed":
            embeds.append(Embed(title, body.strip("\n")))
        else:
            files.append(File(title, body.lstrip("\n") + "\n"))
    return content.rstrip("\n"), tuple(embeds), tuple(files)
