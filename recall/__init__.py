"""Fold a chat log on demand: pins, search, traces, standings, threads, turns. Pure, deterministic, bounded."""

from __future__ import annotations

from recall.briefing import *
from recall.compilation import *
from recall.context_pins import *
from recall.deliberation import *
from recall.effects import *
from recall.errors import *
from recall.expressions import *
from recall.framed import *
from recall.framing import *
from recall.literals import *
from recall.log import *
from recall.markers import *
from recall.masking import *
from recall.patterns import *
from recall.pickers import *
from recall.pins import *
from recall.quoting import *
from recall.ranking import *
from recall.records import *
from recall.search import *
from recall.session import *
from recall.standings import *
from recall.threads import *
from recall.tiers import *
from recall.traces import *
from recall.turns import *
