"""`recall-bot overrun PATH…`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

import recall

from .. import queries
from .options import In, Json, Paths, Scan, SelfIds, read_files
from .output import Exit, coverage_line, instant, name, print_json, standard_output

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
    exports = read_files(paths, self_ids)
    desk = exports.open(None if place is None else exports.find(place))
    policy = recall.BrevityPolicy(message_chars=message_chars)
    answer = asyncio.run(queries.overruns(desk, policy, scan=scan or max(1, len(exports.rows))))
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
