"""Channel exports: the JSON files that DiscordChatExporter writes, of any version, as logs.

exports = load_exports([Path("exports")])
answer = await queries.pins(exports.open(exports.find("#general")), queries.PinsRequest())
"""

from __future__ import annotations

from .desks import ExportedDesk, ExportedThread, Exports, PlaceUnknown
from .errors import ExportError
from .library import load_exports
from .log import ExportLog

__all__ = [
    "ExportError",
    "ExportLog",
    "ExportedDesk",
    "ExportedThread",
    "Exports",
    "PlaceUnknown",
    "load_exports",
]
