"""A cache of the log in SQLite: deleted at any time, only time is lost.

The log is the channel's history at Discord. What this package keeps is a copy of some of it, together with
what it knows of that copy: which stretches (**spans**) are whole, and which gateway session (**epoch**) last
verified them. A page is served only from inside a span of the current epoch; everything else is read from
Discord again and replaces what stood there. So nothing that was missed while away can be shown as verified.

Rooms: `spans` (arithmetic of stretches), `schema` (tables, versions, opening and setting aside), `events`
(what the gateway tells), `tickets` (what it tells while a page is on its way), `claims` (what is sure),
`store` (the mirror itself), `markers` (what a board needs of it), `upkeep` (what is taken out again).
"""

from __future__ import annotations

from .claims import Claims, Place
from .database import MirrorDown
from .events import Created, Deleted, Edited, Event, Unlisted, Withheld
from .markers import FoundMarkers, Sought, find_markers
from .schema import SCHEMA_VERSION, MirrorRefused
from .spans import LIVE, Span
from .store import Mirror, MirrorPage
from .tickets import Ticket

__all__ = [
    "LIVE",
    "SCHEMA_VERSION",
    "Claims",
    "Created",
    "Deleted",
    "Edited",
    "Event",
    "FoundMarkers",
    "Mirror",
    "MirrorDown",
    "MirrorPage",
    "MirrorRefused",
    "Place",
    "Sought",
    "Span",
    "Ticket",
    "Unlisted",
    "Withheld",
    "find_markers",
]
