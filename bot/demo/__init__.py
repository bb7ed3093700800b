"""The demo: the real bot in a simulated Discord, in a browser page on this machine, without a token or a network.

recall-bot demo                      # the demo's own room
recall-bot demo general.json         # a channel export, or a folder of them
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path

from ..errors import Refusal

EXIT_ENDED = 0
EXIT_FAILED = 2

_DISTRIBUTION = "recall-bot"
_EXTRA = "demo"
_MODULES = ("simcord", "markdown_it", "linkify_it", "PIL")  # what the extra brings that nothing else does


def run_demo(exports: Sequence[Path], *, open_browser: bool, port: int | None) -> int:
    """Run the demo until it is told to stop or ended in the page; returns the exit status.

    It shows `exports`, or its own room when none is given. Without a `port` the system picks a free one. What
    stands in the way is said in one line on standard error.
    """
    if not all(map(util.find_spec, _MODULES)):
        return _failed(f"the demo needs a few more packages: {install_command()}")
    from .session import DemoError, serve  # noqa: PLC0415 - needs the extra

    try:
        asyncio.run(serve(exports, open_browser=open_browser, port=port))
    except (DemoError, Refusal) as error:
        return _failed(str(error))
    except KeyboardInterrupt:  # before the signal handlers stood
        pass
    return EXIT_ENDED


def install_command() -> str:
    """Return the command that installs what the demo needs, whichever way Recall was installed."""
    wanted = [
        requirement.partition(";")[0].strip()
        for requirement in metadata.requires(_DISTRIBUTION) or ()
        if f"extra == '{_EXTRA}'" in requirement.replace('"', "'")
    ]
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])


def _failed(sentence: str) -> int:
    print(f"recall-bot: {sentence}", file=sys.stderr)  # noqa: T201 - the one line for whoever started it
    return EXIT_FAILED
