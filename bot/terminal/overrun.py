"""`recall-bot overrun PATH…`."""

from __future__ import annotations

from typing import Annotated

import typer

import recall

from .. import queries
from .files import any_place, every_row, read_files
from .options import In, Json, Paths, Scan, SelfIds
from .output import Exit, coverage_line, instant, name, print_json, standard_output
from .progress import ask

BUDGET = recall.BrevityPolicy().message_chars


def overrun(
    paths: Paths,
    *,
    place: In = None,
    message_chars: Annotated[int, typer.Option(min=1, metavar="N", help="The budget, in characters.")] = BUDGET,
    scan: Scan = None,
    self_ids: SelfIds = None,
    as_json: Json = False,
) -> None:
    """List the messages that run over the length budget, newest first, and by how many characters."""
    files = read_files(paths, self_ids)
    desk = files.open(any_place(files, place))
    policy = recall.BrevityPolicy(message_chars=message_chars)
    answer = ask(queries.overruns(desk, policy, scan=every_row(files, scan)), "measuring")
    if as_json:
        found = [recall.to_wire(each, string_ids=True) for each in answer.overruns]
        print_json({"overruns": found, "coverage": recall.to_wire(answer.coverage, string_ids=True)})
    else:
        out = standard_output()
        for each in answer.overruns:
            out.row(
                (f"{each.over:,} over", "bold"),
                f" · {each.characters:,} characters · {name(each.author)} · ",
                (f"{instant(each.sequence)} · {each.sequence}", "dim"),
            )
        if not answer.overruns:
            out.row(f"No message runs over {message_chars:,} characters.")
        out.row((coverage_line(answer.coverage), "dim"))
    raise typer.Exit(Exit.FOUND if answer.overruns else Exit.NOTHING)
