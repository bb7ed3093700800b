"""`recall-bot context PATH…`."""

from __future__ import annotations

from typing import Annotated

import typer

import recall

from .. import queries
from ..contexts import context_document, fresh_nonce
from ..held import Holding
from .files import every_row, one_place, read_files
from .options import In, Json, Paths, Scan, SelfIds, author_of
from .output import Exit, print_json, print_text
from .progress import ask

BREVITY = recall.BrevityPolicy()


def context(
    paths: Paths,
    *,
    place: In = None,
    viewer: Annotated[
        str | None, typer.Option(metavar="AUTHOR", help="Whose turn it is: an ID, a mention or a name.")
    ] = None,
    window: Annotated[int, typer.Option(min=1, metavar="N", help="Messages that a turn is shown.")] = BREVITY.window,
    message_chars: Annotated[
        int, typer.Option(min=1, metavar="N", help="The budget of a message, in characters.")
    ] = BREVITY.message_chars,
    scan: Scan = None,
    self_ids: SelfIds = None,
    as_json: Json = False,
) -> None:
    """Print what an agent's turn would see in a channel of exports or of a mirror."""
    files = read_files(paths, self_ids)
    request = queries.ContextRequest(
        _viewer(files, viewer),
        recall.Spellings(search=None, traces=recall.TRACE_SPELLING),
        recall.BrevityPolicy(message_chars, window),
        scan=every_row(files, scan),
        standings=queries.StandingsRequest(),
    )
    desk = files.open(one_place(files, place))
    document = ask(context_document(desk, request, nonce=fresh_nonce()), "reading")
    session = document.answer.session
    if as_json:
        print_json(
            {
                "briefing": recall.to_wire(session.briefing, string_ids=True),
                "context": recall.to_wire(session.context, string_ids=True),
                "history": [recall.to_wire(row, string_ids=True) for row in session.history],
                "coverage": recall.to_wire(document.answer.coverage, string_ids=True),
            }
        )
    else:
        print_text(document.text + "\n")
    raise typer.Exit(Exit.FOUND if session.history or session.context.pins else Exit.NOTHING)


def _viewer(files: Holding, text: str | None) -> recall.Author:
    """Return whose turn it is, as an agent; the operator where nobody is named. Raises `AuthorUnknown`."""
    if text is None:
        return recall.OperatorAuthor()
    author_id = author_of(files, text)
    names = dict(sorted(files.authors()))
    return recall.AgentAuthor(author_id, names.get(author_id, author_id))
