"""`recall-bot standings PATH…`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

import recall

from .. import queries
from ..times import parse_before
from .files import every_row, one_place, read_files
from .options import In, Json, Paths, Scan, SelfIds, now, say_assumed
from .output import Exit, coverage_line, print_json, safe, standard_output
from .progress import ask

POLICY = recall.QuorumPolicy(window=queries.STANDINGS_WINDOW_ROWS)


def standings(
    paths: Paths,
    *,
    place: In = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="As of a date, a time, 3d, or a message ID.")] = None,
    voters: Annotated[queries.Voters, typer.Option(help="Whose lines count.")] = "everyone",
    threshold: Annotated[
        int, typer.Option(min=1, metavar="N", help="Supporters that carry a topic.")
    ] = POLICY.threshold,
    window: Annotated[
        int, typer.Option(min=1, metavar="N", help="Messages that count, back from --at.")
    ] = POLICY.window,
    require_grounded: Annotated[
        bool, typer.Option(help="Support and objections count only with a ^ID that they rest on.")
    ] = POLICY.require_grounded,
    refutation_cap: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Refuters that keep a topic from being carried.")
    ] = POLICY.refutation_cap,
    require_evidential: Annotated[
        bool, typer.Option(help="Support counts only where its ^IDs lead to an !evidence.")
    ] = POLICY.require_evidential,
    scan: Scan = None,
    self_ids: SelfIds = None,
    as_json: Json = False,
) -> None:
    """Show where each topic of a channel stands: who supports, was silenced or refuted, and what is carried."""
    until = None if at is None else parse_before(at, now())
    policy = recall.QuorumPolicy(
        threshold=threshold,
        window=window,
        require_grounded=require_grounded,
        refutation_cap=refutation_cap,
        require_evidential=require_evidential,
    )
    files = read_files(paths, self_ids)
    desk = files.open(one_place(files, place))
    request = queries.StandingsRequest(
        policy=policy,
        electorate=queries.Electorate(voters),
        at=None if until is None else until.sequence,
        scan=every_row(files, scan),
        commits=None,
    )
    answer = ask(queries.room_standings(desk, request), "counting")
    if as_json:
        print_json(
            {
                "standings": [recall.to_wire(standing, string_ids=True) for standing in answer.standings],
                "consensus": recall.to_wire(answer.consensus, string_ids=True),
                "coverage": recall.to_wire(answer.coverage, string_ids=True),
            }
        )
    else:
        say_assumed(until)
        _print(answer)
    raise typer.Exit(Exit.FOUND if answer.standings else Exit.NOTHING)


def _print(answer: queries.StandingsAnswer) -> None:
    out = standard_output()
    carried = _carried(answer.consensus)
    for standing in answer.standings:
        state = " · carried" if standing.topic in carried else ""
        out.row((f"#{safe(standing.topic)}", "bold cyan"), (f" · weight {standing.support}{state}", "dim"))
        for word, ids in (
            ("supported by", standing.supporters),
            ("silenced", standing.silenced),
            ("refuted by", standing.refuted_by),
        ):
            if ids:
                out.row(f"  {word} {_names(ids, answer)}")
    if not answer.standings:
        out.row("No topic is on the floor.")
    out.row(_state(answer.consensus))
    out.row((coverage_line(answer.coverage), "dim"))


def _names(ids: Iterable[str], answer: queries.StandingsAnswer) -> str:
    return ", ".join(safe(answer.names.get(author_id, author_id)) or author_id for author_id in ids)


def _carried(consensus: recall.Consensus) -> tuple[str, ...]:
    match consensus:
        case recall.Quorum(topic=topic):
            return (topic,)
        case recall.Deadlocked(topics=topics):
            return topics
    return ()


def _state(consensus: recall.Consensus) -> str:
    """Say the state of the room in a sentence."""
    topics = ", ".join(f"#{safe(topic)}" for topic in _carried(consensus))
    match consensus:
        case recall.Quorum():
            return f"Quorum: {topics}."
        case recall.Deadlocked():
            return f"Deadlocked between {topics}."
    return "Deliberating: nothing is carried."
