"""`recall-bot standings PATH…`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

import typer

import recall

from .. import queries
from ..rendering.standings import edge_of
from ..rendering.standings_files import standings_wire, traces_wire
from ..rendering.trace_words import effect_words, rules_words, state_words
from ..times import parse_at
from .files import every_row, one_place, read_files
from .options import In, Json, Paths, Scan, SelfIds, now, say_assumed
from .output import Exit, coverage_line, instant, name, print_json, safe, standard_output
from .progress import ask

POLICY = recall.QuorumPolicy(window=queries.STANDINGS_WINDOW_ROWS)

Show: TypeAlias = Literal["standings", "traces"]


def standings(
    paths: Paths,
    *,
    place: In = None,
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Only this topic; # optional.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="As of a date, a time, 3d, or a message ID.")] = None,
    show: Annotated[Show, typer.Option(help="Where topics stand, or what every line came to.")] = "standings",
    voters: Annotated[queries.Voters, typer.Option(help="Whose lines count; files know nobody's roles.")] = "everyone",
    webhooks: Annotated[
        list[str] | None, typer.Option("--webhook", metavar="ID", help="A webhook that votes; may be repeated.")
    ] = None,
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
    """Show where each topic of a channel stands: who supports, was silenced or refuted, and what was decided."""
    until = None if at is None else parse_at(at, now())
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
        electorate=queries.Electorate(voters, webhooks=frozenset(webhooks or ())),
        at=None if until is None else until.sequence,
        topic=None if topic is None else recall.text.collapse(topic).removeprefix("#") or None,
        scan=every_row(files, scan),
        commits=None,
    )
    answer = ask(queries.room_standings(desk, request), "counting")
    if as_json:
        print_json(traces_wire(answer) if show == "traces" else standings_wire(answer))
    else:
        say_assumed(until)
        _print(answer, request, show)
    raise typer.Exit(Exit.FOUND if (answer.traces if show == "traces" else answer.standings) else Exit.NOTHING)


def _print(answer: queries.StandingsAnswer, request: queries.StandingsRequest, show: Show) -> None:
    out = standard_output()
    if show == "traces":
        for outcome in answer.traces:
            _print_trace(answer, outcome)
        if not answer.traces:
            out.row("No deliberation line.")
    else:
        for topic in answer.topics:
            _print_topic(answer, topic)
        if not answer.topics:
            out.row("No topic is on the floor.")
        for decision in answer.decisions:
            beside = f", beside {', '.join(f'#{safe(other)}' for other in decision.beside)}" if decision.beside else ""
            out.row(
                (f"decided #{safe(decision.topic)}", "bold"),
                f" by {_name(decision.author, answer)}, carried by {_names(decision.supporters, answer)}{beside}",
                (f" · {instant(decision.sequence)} · {decision.sequence}", "dim"),
            )
        out.row(state_words(answer, safe))
    reach = coverage_line(answer.coverage, before=edge_of(request.at))
    out.row((f"{rules_words(request.policy, request.electorate)} {reach}", "dim"))


def _print_topic(answer: queries.StandingsAnswer, topic: queries.TopicReport) -> None:
    out = standard_output()
    state = {"open": "", "carried": " · carried", "capped": " · stopped by its refuters"}[topic.state]
    count = f"{len(topic.supporters)} of {topic.needed} supporters"
    out.row((f"#{safe(topic.topic)}", "bold cyan"), (f" · {count} · weight {topic.weight}{state}", "dim"))
    for word, side in (("supported by", topic.supporters), ("silenced", topic.silenced)):
        for one in side:
            by = f", objected to in {_ids(one.silenced_by, answer)}" if one.silenced_by else ""
            out.row(f"  {word} {_name(one.author, answer)} in {_ids(one.said, answer)}{by}")
    for refutation in topic.refutations:
        cites = _ids(refutation.cites, answer)
        out.row(f"  refuted by {_name(refutation.author, answer)} in {refutation.sequence}, citing {cites}")
    for word, sequences in (("evidence", topic.evidence), ("open question", topic.questions)):
        if sequences:
            out.row(f"  {word} {_ids(sequences, answer)}")


def _print_trace(answer: queries.StandingsAnswer, outcome: recall.TraceOutcome) -> None:
    trace = outcome.trace
    named = trace.cites if trace.target is None else (trace.target, *trace.cites)
    said = [effect_words(outcome, safe)]
    said += [f"names {_ids(named, answer)}"] if named else []
    said += [f"objected to in {_ids(outcome.by, answer)}"] if outcome.by else []
    out = standard_output()
    out.row((f"{instant(trace.sequence)} · {trace.sequence} · ", "dim"), (name(trace.author), "bold"))
    out.row(f"  {safe(recall.text.collapse(trace.text))}")
    out.row(f"  {'; '.join(said)}")


def _ids(sequences: Iterable[int], answer: queries.StandingsAnswer) -> str:
    """Name messages by their ids, and say where one is not here, so that it grounds nothing."""
    return ", ".join(
        f"{one}" if answer.grounds(one) else f"{one} ({'gone' if one in answer.gone else 'not read'})"
        for one in sequences
    )


def _name(author_id: str, answer: queries.StandingsAnswer) -> str:
    author = answer.authors.get(author_id)
    return safe(author_id) if author is None else name(author)


def _names(ids: Iterable[str], answer: queries.StandingsAnswer) -> str:
    return ", ".join(_name(author_id, answer) for author_id in ids)
