"""`recall-bot search PATH… QUERY`."""

from __future__ import annotations

from typing import Annotated

import typer

import recall

from .. import queries
from ..matcher import Matcher
from ..times import parse_after, parse_before
from .files import any_place, every_row, names_of, read_files
from .options import In, Json, Paths, Scan, SelfIds, Sort, author_of, now, say_assumed
from .output import Exit, coverage_line, instant, name, print_json, safe, say, standard_output
from .progress import ask

LOCAL = "command line"  # who asks, where there is only one


def search(
    paths: Paths,
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Words in any order, "a phrase", or /an expression/.')],
    *,
    place: In = None,
    author: Annotated[str | None, typer.Option("--from", metavar="AUTHOR", help="An ID, a mention or a name.")] = None,
    before: Annotated[str | None, typer.Option(metavar="TIME", help="A date, a time, 3d, or a message ID.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TIME", help="Likewise; the instant itself counts.")] = None,
    sort: Annotated[Sort, typer.Option(help="Best match first, or newest first.")] = "best",
    loose: Annotated[bool, typer.Option("--loose", help="Also match letters in order with gaps between.")] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Hits to print.")] = queries.SEARCH_PAGE_HITS,
    scan: Scan = None,
    self_ids: SelfIds = None,
    as_json: Json = False,
) -> None:
    """Search the messages of exports or of a mirror: every channel in them, or the one that --in names."""
    instant_now = now()
    upper = None if before is None else parse_before(before, instant_now)
    lower = None if after is None else parse_after(after, instant_now)
    files = read_files(paths, self_ids)
    desk = files.open(any_place(files, place))
    request = queries.SearchRequest(
        text=query,
        author_id=None if author is None else author_of(files, author),
        before=None if upper is None else upper.sequence,
        after=None if lower is None else lower.sequence,
        order=sort,
        loose=loose,
        limit=limit,
        scan=every_row(files, scan),
    )
    answer = ask(_ask(desk, request), "searching")
    if as_json:
        hits = [recall.to_wire(hit, string_ids=True) for hit in answer.hits]
        print_json({"hits": hits, "coverage": recall.to_wire(answer.coverage, string_ids=True)})
    else:
        say_assumed(upper, lower)
        _print(answer, request, names_of(files))
    if answer.more:
        say(f"there are more hits than {limit}: --limit shows them")
    raise typer.Exit(Exit.FOUND if answer.hits else Exit.NOTHING)


async def _ask(desk: queries.OpenDesk, request: queries.SearchRequest) -> queries.SearchAnswer:
    async with Matcher() as matcher:
        return await queries.search(desk, request, matcher=matcher, asker=LOCAL)


def _print(answer: queries.SearchAnswer, request: queries.SearchRequest, names: dict[str, str]) -> None:
    out = standard_output()
    for hit in answer.hits:
        place = names.get(str(hit.parent)) or names.get(hit.chat_id or "") or hit.chat_id or ""
        head = f"#{safe(place)} · {instant(hit.sequence)} · {hit.sequence}"
        out.row((name(hit.author), "bold"), (f" · {head}", "dim"))
        out.row("  ", safe(hit.excerpt))
    if isinstance(answer.pattern, recall.RegexPattern):
        say("this was a regular expression, in which case counts; put it in quotes to search for that very text")
    if answer.loosened:
        say("nothing better was found: these only have the letters of the query in order")
    if not answer.hits:
        out.row("Nothing found.")
    out.row((coverage_line(answer.coverage, before=request.before), "dim"))
