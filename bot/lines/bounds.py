"""Bound how many lines are answered, so that nobody floods a room through us and no two bots talk forever.

A bot that answers whatever it reads with a line, and reads our answer, would go on until somebody stops it. So one
bot and we exchange at most `LINES_PER_PAIR` answers in an hour of one channel, and a channel has a bound for all of
them. At a bound the asker is told by one reaction, then there is silence. Nothing is queued and nothing made up for.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import pace

HOUR_SECONDS = 3_600

LINES_PER_AUTHOR = (
    6  # answers a minute to one author in one server, whatever channel: as fast as anybody reads them (a guess)
)
LINES_PER_GUILD = 60  # answers a minute in one server, in whatever channels and threads (a guess)
LINES_PER_CHANNEL = 10  # answers a minute in one channel: what is left of it for the people there (a guess)
LINES_PER_PAIR = 30  # answers an hour to one bot in one channel: agents at work ask less (a guess)
LINES_PER_ROOM = 120  # answers an hour in one channel, whoever asks (a guess)
PACED_PER_MINUTE = 3  # reactions a minute in one channel that tell of a bound


class LineBounds:
    """Admit answers to lines. `clock` counts seconds and never goes back (`time.monotonic`)."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._author = pace.Pace(LINES_PER_AUTHOR, clock=clock)
        self._guild = pace.Pace(LINES_PER_GUILD, clock=clock)
        self._channel = pace.Pace(LINES_PER_CHANNEL, clock=clock)
        self._pair = pace.Pace(LINES_PER_PAIR, clock=clock, seconds=HOUR_SECONDS)
        self._room = pace.Pace(LINES_PER_ROOM, clock=clock, seconds=HOUR_SECONDS)
        self._told = pace.Pace(1, clock=clock, seconds=HOUR_SECONDS)
        self._telling = pace.Pace(PACED_PER_MINUTE, clock=clock)

    def is_full(self, guild_id: int, channel_id: int, author_id: str) -> bool:
        """Say whether an author's next line in a channel would not be answered; counts nothing."""
        return (
            self._author.is_full((guild_id, author_id))
            or self._guild.is_full(guild_id)
            or self._channel.is_full(channel_id)
            or self._pair.is_full((channel_id, author_id))
            or self._room.is_full(channel_id)
        )

    def admit(self, guild_id: int, channel_id: int, author_id: str) -> bool:
        """Say whether a line may be answered now, and count it if so."""
        if self.is_full(guild_id, channel_id, author_id):
            return False
        self._author.admit((guild_id, author_id))
        self._guild.admit(guild_id)
        self._channel.admit(channel_id)
        self._pair.admit((channel_id, author_id))
        self._room.admit(channel_id)
        return True

    def may_tell(self, channel_id: int, author_id: str) -> bool:
        """Say whether an author may be told of a bound by a reaction, and count it if so: once an hour and channel."""
        key = (channel_id, author_id)
        return not self._told.is_full(key) and self._telling.admit(channel_id) and self._told.admit(key)
