"""`recall-bot backfill CHANNEL…`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..links import read_link, read_snowflake
from ..times import parse_after
from .configured import configuration, token
from .options import ConfigFile, now, say_assumed
from .output import Exit, Output, fail, instant, safe, say, standard_output

if TYPE_CHECKING:
    from ..backfill import Progress as Step
    from ..backfill import Report
    from ..backfill_session import Request
    from ..config import Config

LINE_SECONDS: Final = 30.0  # between two lines where there is no terminal to draw a bar on
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def backfill(
    channels: Annotated[
        list[str] | None,
        typer.Argument(metavar="CHANNEL", help="IDs, links or mentions of channels (their threads follow) or threads."),
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Every channel that the bot may read, in all its guilds.")
    ] = False,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Read no further back: a date, a time, 3d, or a message ID.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Read also what is in the mirror already, and replace it.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Read whole channels into the mirror, also while the bot runs; stop it at will, and start it again.

    Exit status: 0 all of it is in the mirror, 1 a part is missing, 2 could not.
    """
    from ..backfill_session import Request  # noqa: PLC0415 - the reading commands start without discord.py

    if not channels and not everything:
        raise typer.BadParameter("Name channels, or give --all.")
    bound = None if until is None else parse_after(until, now())
    say_assumed(bound)
    request = Request(
        tuple(map(_channel_id, channels or ())),
        everything=everything,
        floor=0 if bound is None else bound.sequence + 1,
        again=again,
    )
    loaded = configuration(config)
    _report(_read(loaded, token(loaded), request))


def _channel_id(text: str) -> int:
    link = read_link(text.strip())
    number = link.channel_id if link is not None else read_snowflake(text.strip().removeprefix("<#").removesuffix(">"))
    if number is None:
        raise typer.BadParameter(f"{text!r} is no id of a channel.", param_hint="'CHANNEL'")
    return number


def _read(config: Config, bot_token: str, request: Request) -> Report:
    """Read until it is done or stopped; ends the process where it cannot go on."""
    from ..backfill_session import run_backfill  # noqa: PLC0415
    from ..host import HostError  # noqa: PLC0415
    from ..readiness import NotReady  # noqa: PLC0415

    async def read() -> Report:
        with drawing() as advance:
            reading = asyncio.create_task(run_backfill(config, bot_token, request, on_progress=advance))
            with _stopped_by_signals(reading.cancel):
                return await reading

    _log_to_people()
    try:
        return asyncio.run(read())
    except (HostError, NotReady) as error:
        fail(str(error))
    except (asyncio.CancelledError, KeyboardInterrupt):
        say("stopped; the same command goes on from here")
        raise SystemExit(Exit.INTERRUPTED) from None


def _report(report: Report) -> None:
    """Say what was read and what was not."""
    if report.messages or not report.unread:
        out = standard_output()
        if report.messages:
            out.row(f"Read {report.messages:,} messages in {report.requests:,} requests.")
        else:
            out.row("Nothing was missing.")
    for name, why in report.unread:
        say(f"#{name}: {why}")
    if not report.unread:
        raise typer.Exit(Exit.FOUND)
    raise typer.Exit(Exit.NOTHING if report.places else Exit.FAILED)


@contextmanager
def _stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` at Ctrl-C and SIGTERM, where the system has such signals (not Windows)."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)


@contextmanager
def drawing(
    stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Step], None]]:
    """Draw how far the reading has come, where `stream` (standard error) is a terminal; else say it now and then."""
    console = Output(stream or sys.stderr)
    if not console.is_terminal:
        yield _saying(clock)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("logging in", total=None)

        def advance(step: Step) -> None:
            bar.update(task, description=line(step), completed=step.messages, total=step.messages + step.remaining)

        yield advance


def _saying(clock: Callable[[], float]) -> Callable[[Step], None]:
    said = clock()

    def advance(step: Step) -> None:
        nonlocal said
        if clock() - said >= LINE_SECONDS:
            said = clock()
            say(f"{line(step)}; about {step.remaining:,} to go")

    return advance


def line(step: Step) -> str:
    """Say in one line how far a run has come."""
    back = f", back to {instant(step.reached)}" if step.reached else ", to the beginning"
    where = f"#{safe(step.place)} ({step.number} of {step.places})"
    return f"{where}: {step.messages:,} messages{back}"


def _log_to_people() -> None:
    """Let our warnings be lines like all others: a file that was set aside, a request that is tried again."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("recall-bot: %(message)s"))
    logging.getLogger(__package__.partition(".")[0]).addHandler(handler)
    logging.getLogger("discord").setLevel(logging.ERROR)  # it warns of voice, which nobody wants here
