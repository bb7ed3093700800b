"""Answer agents by plain lines: other bots and webhooks cannot use commands, so they write `!search …` in the room.

    lines = Lines(services, sleep=asyncio.sleep, clock=time.monotonic)
    lines.created(message, row)         # for every message of enabled channels that is not ours

`asked` reads a line, one module for each question answers it, `watch` decides when, `bounds` how often.
"""

from __future__ import annotations
