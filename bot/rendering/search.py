"""Show a page of hits: who, when, where to read on, and the piece of text that matched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import recall
from recall.text import ELLIPSIS, collapse

from ..queries import SEARCH_PAGE_HITS, SearchAnswer
from ..shown import FORWARDED
from .cards import PLACE_CHARS, Card, Links, named, when
from .coverage import GOES_ON, can_go_on, coverage_note, looked_at
from .inert import inert, width
from .spoilers import inert_excerpt

HITS_WIDTH = 3_300  # what is left of a card's body are the lines above the hits, each of them bounded
HIT_WIDTH = HITS_WIDTH // SEARCH_PAGE_HITS
QUERY_CHARS = 100  # of the query, in the title
LITERAL_CHARS = 60
GAP = "\n\n"

LOOSENED = "Nothing has this as it was typed. These are loose: its letters in this order, with others between them."
LOOSE = "Loose hits were asked for: they have the letters in this order, with others between them, and come last."
ASSUMED_UTC = "Times without an offset were read as UTC."


@dataclass(frozen=True, slots=True)
class SearchView:
    """Hold what was asked, as far as it is shown.

    `place`: the name of the place that was read; null for everywhere, and then each hit says where it is.
    `before` and `after` are what the asker gave, exclusive sequences; `edge` is where this window begins, null for
    the newest message. `page` counts from 0.
    """

    text: str
    place: str | None
    links: Links
    author: str | None = None
    before: int | None = None
    after: int | None = None
    order: Literal["best", "newest"] = "best"
    loose: bool = False
    assumed_utc: bool = False
    edge: int | None = None
    page: int = 0


def search_card(answer: SearchAnswer, view: SearchView) -> Card:
    """Make the card of one page of a search."""
    said = [_scope(view), *_notes(answer, view)]
    if answer.hits:
        body = GAP.join(hit_block(hit, answer, view.links, placed=view.place is None) for hit in answer.hits)
    elif view.page:
        body = "There are no more hits in this reach."
    else:
        body = f"**No match** in {looked_at(answer.coverage, view.edge)}." if answer.coverage.rows else "**No match.**"
    goes_on = GOES_ON if can_go_on(answer.coverage) else None
    return Card(
        title=f"Search: {inert(view.text, QUERY_CHARS)}",
        body=GAP.join(["\n".join(said), body]),
        far=coverage_note(answer.coverage, before=view.edge, goes_on=goes_on),
        foot=_foot(answer, view.page * SEARCH_PAGE_HITS + 1) if answer.hits else "",
    )


def _foot(answer: SearchAnswer, first: int) -> str:
    """Return which hits a page shows."""
    last = first + len(answer.hits) - 1
    numbers = f"Hit {first}" if first == last else f"Hits {first} to {last}"
    return f"{numbers}, more on the next page" if answer.more else numbers


def hit_block(hit: recall.SearchHit, answer: SearchAnswer, links: Links, *, placed: bool = False) -> str:
    """Write one hit, at most `HIT_WIDTH` wide. `placed`: with its channel, which each client names for its reader."""
    row = answer.rows.get(hit.sequence)
    source, kind = hit_source(hit, row)
    tags = [kind, "loose" if hit.kind is recall.MatchKind.SUBSEQUENCE else None]
    head = " · ".join(
        [
            named(hit.author),
            when(hit.sequence),
            *([f"<#{hit.parent or hit.chat_id}>"] if placed else []),
            *(f"*{tag}*" for tag in tags if tag is not None),
            f"[jump]({links.to(hit.sequence, row)})",
        ]
    )
    chars = len(hit.excerpt)
    block = f"{head}\n> {inert_excerpt(hit.excerpt, source)}"
    while width(block) > HIT_WIDTH and chars > 0:
        chars -= max(1, (width(block) - HIT_WIDTH) // 4)
        block = f"{head}\n> {inert_excerpt(hit.excerpt, source, max(0, chars))}"
    return block


def hit_source(hit: recall.SearchHit, row: recall.LogMessage | None) -> tuple[str, str | None]:
    """Return the text that a hit quotes, and what kind of text that is where its author did not type it."""
    if row is None:
        return hit.excerpt, None
    core = hit.excerpt.strip(ELLIPSIS)
    if core in collapse(row.content):
        return row.content, None
    lines = row.attached.split("\n")
    forwarded = next((number for number, line in enumerate(lines) if line.startswith(FORWARDED)), None)
    if forwarded is not None and core not in collapse("\n".join(lines[:forwarded])):
        return row.attached, "forwarded"
    return row.attached, "attached"


def _scope(view: SearchView) -> str:
    """Say where was searched, and what narrowed it."""
    said = ["**Everywhere** you can read" if view.place is None else f"In **{inert(view.place, PLACE_CHARS)}**"]
    if view.author is not None:
        said.append(f"from {inert(view.author, PLACE_CHARS)}")
    if view.after is not None:
        said.append(f"since {when(view.after + 1)}")
    if view.before is not None:
        said.append(f"before {when(view.before)}")
    said.append("newest first" if view.order == "newest" else "best first")
    return ", ".join(said) + "."


def _notes(answer: SearchAnswer, view: SearchView) -> list[str]:
    notes = []
    if isinstance(answer.pattern, recall.RegexPattern):
        notes.append(expression_note(view.text))
    if answer.loosened:
        notes.append(LOOSENED)
    elif view.loose and any(hit.kind is recall.MatchKind.SUBSEQUENCE for hit in answer.hits):
        notes.append(LOOSE)
    if view.assumed_utc:
        notes.append(ASSUMED_UTC)
    return notes


def expression_note(text: str) -> str:
    """Say that a query was an expression, that case counts in it, and how to search for the same text literally."""
    typed = collapse(text)
    said = "`/…/` is a regular expression, in which upper and lower case differ. To search for the same text as it"
    if '"' in typed:  # a quoted phrase cannot hold a quote
        return f"{said} stands, leave out its last slash."
    return f'{said} stands, put it in quotes: "{inert(typed, LITERAL_CHARS)}"'
