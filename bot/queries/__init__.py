"""The questions, asked the same way by every surface: slash commands, the command line, and whatever comes.

A surface opens a desk (a Discord channel, the files of an export), hands it to a query, and renders the
answer. A query walks the desk's log once, leaves out what the asker may not see at the moment the answer is
made, folds what is left, and says how far it looked.

    answer = await search(desk, SearchRequest("rate limiter"), matcher=matcher, asker="42")
    answer.hits, answer.more, answer.coverage
"""

from __future__ import annotations

from .around import RowsAround, ThreadsAnswer, around, threads
from .context import ContextAnswer, ContextRequest, NoOneChannel, context
from .desk import DIALECT, AnswerCoverage, LeftOut, MarkerReach, MarkerRows, OpenDesk, SeenReach, chronological, read
from .foreseen import foreseen
from .keeping import needed_by_boards
from .labels import known_labels
from .overruns import Overrun, OverrunsAnswer, overruns
from .pin_rules import AUTHORS_ASKED, PinAuthority, PinPolicy, PinRights, Powers, Unpinning, WhyRefused, foretold
from .pins import (
    BOARD_CHECKS,
    BOARD_LIMIT,
    BOARD_MARKER_SCAN,
    PinsAnswer,
    PinsRequest,
    Standing,
    WhereIs,
    pins,
    settle,
    where_are,
    where_is,
)
from .search import SEARCH_PAGE_HITS, ExpressionMatcher, SearchAnswer, SearchRequest, search
from .standings import (
    COMMIT_ROWS,
    STANDINGS_WINDOW_ROWS,
    StandingsAnswer,
    StandingsRequest,
    fold_room,
    room_standings,
    where_named,
    widened,
)
from .topics import Advocacy, DecisionReport, Refutation, TopicReport
from .voters import VOTERS_ASKED, Electorate, RolesUnknown, Voters

__all__ = [
    "AUTHORS_ASKED",
    "BOARD_CHECKS",
    "BOARD_LIMIT",
    "BOARD_MARKER_SCAN",
    "COMMIT_ROWS",
    "DIALECT",
    "SEARCH_PAGE_HITS",
    "STANDINGS_WINDOW_ROWS",
    "VOTERS_ASKED",
    "Advocacy",
    "AnswerCoverage",
    "ContextAnswer",
    "ContextRequest",
    "DecisionReport",
    "Electorate",
    "ExpressionMatcher",
    "LeftOut",
    "MarkerReach",
    "MarkerRows",
    "NoOneChannel",
    "OpenDesk",
    "Overrun",
    "OverrunsAnswer",
    "PinAuthority",
    "PinPolicy",
    "PinRights",
    "PinsAnswer",
    "PinsRequest",
    "Powers",
    "Refutation",
    "RolesUnknown",
    "RowsAround",
    "SearchAnswer",
    "SearchRequest",
    "SeenReach",
    "Standing",
    "StandingsAnswer",
    "StandingsRequest",
    "ThreadsAnswer",
    "TopicReport",
    "Unpinning",
    "Voters",
    "WhereIs",
    "WhyRefused",
    "around",
    "chronological",
    "context",
    "fold_room",
    "foreseen",
    "foretold",
    "known_labels",
    "needed_by_boards",
    "overruns",
    "pins",
    "read",
    "room_standings",
    "search",
    "settle",
    "threads",
    "where_are",
    "where_is",
    "where_named",
    "widened",
]
