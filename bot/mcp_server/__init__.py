"""Offer the questions of the room, and turns, to any MCP client: `recall-bot mcp`.

`serving` puts a server together out of a source (export files, a mirror, or Discord); `catalogue` holds what it offers,
`stdio` and `http` are the ways to it. Text that others wrote leaves only inside frames (`recall.framing`); beside it
stand ids as strings, kinds, scores and coverage, and never a name or a word.
"""
