"""`recall-bot pins PATH…`."""

from __future__ import annotations

from typing import Annotated

import typer

import recall

from .. import queries
from ..held import held_place
from ..rendering.board_files import board_markdown
from ..rendering.cards import Links
from ..rendering.pin_rules import NO_ROLES
from ..rendering.pins import GONE, PinsView, beyond_note, event_words
from .files import every_row, one_place, read_files
from .options import In, Json, Paths, Scan, SelfIds, Show
from .output import Exit, coverage_line, instant, name, print_json, print_text, safe, standard_output
from .progress import ask


def pins(
    paths: Paths,
    *,
    label: Annotated[str | None, typer.Option(metavar="LABEL", help="Only pins under this label; # optional.")] = None,
    place: In = None,
    show: Annotated[Show, typer.Option(help="The board, every pin and unpin, or the board as Markdown.")] = "board",
    scan: Scan = None,
    self_ids: SelfIds = None,
    as_json: Json = False,
) -> None:
    """Show the board of a channel in exports or in a mirror, newest pin first."""
    files = read_files(paths, self_ids)
    place_id = one_place(files, place)
    desk = files.open(place_id)
    wanted = None if label is None else recall.text.collapse(label).removeprefix("#") or None
    request = queries.PinsRequest(label=wanted, scan=every_row(files, scan))
    answer = ask(queries.pins(desk, request), "reading pins")
    events = [event for event in answer.events if wanted in {None, event.directive.label}]
    if as_json and show == "history":
        shown = [recall.to_wire(event, string_ids=True) for event in events]
        print_json({"history": shown, "rules": "anyone", "coverage": recall.to_wire(answer.coverage, string_ids=True)})
    elif as_json:
        shown = [recall.to_wire(pin, string_ids=True) for pin in answer.pins]
        coverage = recall.to_wire(answer.coverage, string_ids=True)
        print_json({"pins": shown, "beyond": answer.beyond, "rules": "anyone", "coverage": coverage})
    elif show == "export":
        desk_of, thread = held_place(place_id, files.desks)
        links = Links(
            int(desk_of.guild_id),
            int(place_id),
            thread_root_in=None if thread is None else int(thread.root_in),
        )
        _print_markdown(answer, PinsView(f"#{desk_of.name if thread is None else thread.name}", links, wanted))
    elif show == "history":
        _print_history(answer, events)
    else:
        _print_board(answer)
    raise typer.Exit(Exit.FOUND if (events if show == "history" else answer.pins) else Exit.NOTHING)


def _print_board(answer: queries.PinsAnswer) -> None:
    out = standard_output()
    for pin in answer.pins:
        mark = "" if pin.sequence in answer.working else " · older"
        label = "" if pin.label is None else f"#{safe(pin.label)} · "
        out.row(
            (label, "bold cyan"),
            f"pinned by {name(pin.pinned_by)} · ",
            (f"{instant(pin.pinned_at)} · {pin.sequence}{mark}", "dim"),
        )
        if pin.note is not None:
            out.row("  — ", safe(pin.note))
        if pin.sequence in answer.gone:
            out.row((f"  (the pinned message {GONE})", "dim"))
        elif pin.excerpt is not None:
            out.row("  > ", safe(pin.excerpt))
    for line in beyond_note(answer):
        out.row(line)
    if not answer.pins:
        out.row("Nothing is pinned.")
    out.row((coverage_line(answer.coverage), "dim"))
    out.row((NO_ROLES, "dim"))


def _print_history(answer: queries.PinsAnswer, events: list[recall.PinEvent]) -> None:
    out = standard_output()
    for event in reversed(events):
        directive = event.directive
        label = "" if directive.label is None else f" #{safe(directive.label)}"
        note = "" if directive.note is None else f" — {safe(directive.note)}"
        out.row(
            (f"{instant(directive.sequence)} · ", "dim"),
            (name(directive.author), "bold"),
            f" {event_words(event)} {directive.target}{label}{note}",
        )
    if not events:
        out.row("No pin and no unpin.")
    out.row((coverage_line(answer.coverage), "dim"))
    out.row((NO_ROLES, "dim"))


def _print_markdown(answer: queries.PinsAnswer, view: PinsView) -> None:
    found = {pin.sequence: (_where(answer, pin.sequence), answer.rows.get(pin.sequence)) for pin in answer.pins}
    print_text(board_markdown(answer, view, found))


def _where(answer: queries.PinsAnswer, sequence: int) -> queries.WhereIs:
    if sequence in answer.rows:
        return "here"
    return "gone" if sequence in answer.gone else "not read"
