"""The command line, `recall-bot`: run the bot, show the demo, and ask files the questions of the room.

Exit status of the reading commands: 0 found, 1 nothing found, 2 could not. Whatever keeps a command from its
work is one line on standard error.
"""

from __future__ import annotations

import os
import signal
import traceback
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

import recall

from .errors import Refusal, sentence_of
from .terminal.backfill import backfill
from .terminal.configured import configuration
from .terminal.context import context
from .terminal.doctor import doctor
from .terminal.erase import erase
from .terminal.mcp import mcp
from .terminal.options import ConfigFile
from .terminal.output import Exit, fail, fail_at, finish_output, open_streams
from .terminal.overrun import overrun
from .terminal.pins import pins
from .terminal.search import search
from .terminal.standings import standings

app = typer.Typer(
    name="recall-bot",
    help="Treat a channel's history as the log: pins, search, deliberation and length, folded on demand.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (search, pins, standings, overrun, context, backfill, erase, doctor, mcp):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recall-bot {metadata.version('recall-bot')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    del version


@app.command()
def run(*, config: ConfigFile = None) -> None:
    """Run the bot, with the token from DISCORD_TOKEN or the configured file, until it is told to stop."""
    from .host import run as run_host  # noqa: PLC0415 - the reading commands start without it

    raise typer.Exit(run_host(configuration(config), os.environ))


@app.command()
def demo(
    exports: Annotated[
        list[Path] | None, typer.Argument(metavar="[EXPORT…]", help="Export files to show in place of the demo's room.")
    ] = None,
    *,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, metavar="N", help="The page's port; by default a free one.")
    ] = None,
) -> None:
    """Show the real bot in a simulated Discord, in a browser page on this machine; no token, no network."""
    from .demo import run_demo  # noqa: PLC0415 - needs an extra, which it explains itself

    raise typer.Exit(run_demo(exports or [], open_browser=open_browser, port=port))


def main() -> None:
    """Run the command line and end the process with its status."""
    signal.signal(signal.SIGINT, _interrupted)
    open_streams()
    try:
        app(prog_name="recall-bot")
    except (Refusal, recall.RecallError) as error:
        fail(sentence_of(error))
    except OSError as error:
        fail_at(error)
    except Exception:  # noqa: BLE001 - the status would say that nothing was found
        traceback.print_exc()
        raise SystemExit(Exit.FAILED) from None
    finally:
        finish_output()


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at Ctrl-C, but let a progress bar give the cursor back; `run` and `demo` take the signal otherwise."""
    raise SystemExit(Exit.INTERRUPTED)


if __name__ == "__main__":
    main()
