"""Fold a chat log on demand: pins, search, traces, standings, threads. Pure, deterministic, bounded."""

from __future__ import annotations

from recall.errors import *
from recall.log import *
from recall.markers import *
from recall.masking import *
from recall.pins import *
from recall.records import *
from recall.standings import *
from recall.traces import *
