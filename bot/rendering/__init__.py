"""Turn answers into what a user sees: inert, on cards within every limit that Discord sets."""

from __future__ import annotations
