"""Channel exports: the JSON files that DiscordChatExporter writes, of any version, as logs.

exports = load_exports([Path("exports")])
answer = await queries.pins(exports.open(find_place("#general", exports.desks)), queries.PinsRequest())
"""

from __future__ import annotations

from .desks import ExportedDesk, Exports
from .errors import ExportError
from .library import load_exports
from .log import ExportLog

__all__ = [
    "ExportError",
    "ExportLog",
    "ExportedDesk",
    "Exports",
    "load_exports",
]
