#!/usr/bin/env python3
"""Replay request/response pairs against `recall`, the library of this project.

    python replay.py [FOLDER_OR_FILE ...]      default: the folder this file is in

Prints every pair that differs and a last line `N passed, M failed`; exits 1 if any failed.
This file is also the shortest statement of the library's call signatures.
Offsets in the pairs are UTF-8 bytes; the library speaks in characters, so they are converted here.
"""

import asyncio
import json
import re
import sys
from pathlib import Path

import recall


class ListLog:
    """A SessionLog over rows held in memory, oldest first as given."""

    def __init__(self, rows):
        self.rows = list(reversed(rows))
        self.calls = []

    async def read_before(self, before, limit):
        self.calls.append((before, limit))
        older = [r for r in self.rows if before is None or r.sequence < before]
        page = tuple(older[:limit])
        more = len(older) > len(page)
        return recall.SessionPage(messages=page, next_before=page[-1].sequence if page and more else None)


class ScriptedLog:
    """A SessionLog that answers with the pages it was given, then with empty ones."""

    def __init__(self, pages):
        self.pages = list(pages)

    async def read_before(self, before, limit):
        return self.pages.pop(0) if self.pages else recall.SessionPage(messages=(), next_before=None)


OPERATOR = {"type": "operator"}


def row(wire):
    wire = {"chat_id": None, "parent": None, "author": OPERATOR, "content": "", **wire}
    return recall.from_wire(
        recall.LogMessage, {k: wire[k] for k in ("sequence", "chat_id", "parent", "author", "content")}
    )


def rows(request):
    return tuple(row(r) for r in request["rows"])


def page(wire):
    return recall.SessionPage(messages=tuple(row(r) for r in wire["messages"]), next_before=wire.get("next_before"))


def log(request):
    if "pages" in request:
        return ScriptedLog(page(p) for p in request["pages"])
    return ListLog(rows(request))


def to_bytes(body, index):
    if not 0 <= index <= len(body):
        raise ValueError(f"offset {index} outside the body")
    return len(body[:index].encode("utf-8"))


def conversation(wire):
    if wire is None:
        return None
    return recall.Conversation(
        desk_id=wire["desk_id"], desk_name=wire["desk_name"], thread_root=wire.get("thread_root")
    )


def author(request):
    return recall.from_wire(recall.Author, request.get("author", OPERATOR))


def match(found):
    return None if found is None else {"kind": str(found.kind), "score": found.score, "offset": found.offset}


def pattern(wire):
    return recall.from_wire(recall.SearchPattern, wire)


def op_score(q):
    return match(recall.score(q["query"], q["text"]))


def op_score_regex(q):
    compiled = recall.compile_pattern(recall.RegexPattern(source=q["source"]))
    return match(recall.score_pattern(compiled, q["text"]))


def op_regex_source(q):
    return recall.regex_source(q["query"])


def op_parse_pattern(q):
    return recall.to_wire(recall.parse_pattern(q["query"]))


def op_rank(q):
    candidates = tuple(recall.Candidate(id=c["id"], label=c["label"], detail=c.get("detail")) for c in q["candidates"])
    wanted = recall.RegexPattern(source=q["source"]) if "source" in q else recall.TextPattern(query=q["query"])
    hits = recall.rank(recall.compile_pattern(wanted), candidates, q.get("limit", recall.SELECT_LIMIT))
    return [
        {"id": h.id, "label": h.label, "field": str(h.field), "kind": str(h.kind), "score": h.score, "offset": h.offset}
        for h in hits
    ]


def op_code_ranges(q):
    body = q["body"]
    return [[to_bytes(body, a), to_bytes(body, b)] for a, b in recall.code_ranges(body)]


def op_directives(q):
    found = recall.read_directives(q["body"], author=author(q), sequence=q["sequence"])
    return [
        {"action": str(d.action), "label": d.label, "note": d.note, "sequence": d.sequence, "target": d.target}
        for d in found
    ]


def op_discord_directives(q):
    """Which of the marker lines `!pin w1`, `!pin w2` … act in a body as the Discord client shows it."""
    found = recall.read_directives(q["body"], author=author(q), sequence=q["sequence"], dialect="discord")
    return [re.match(r"w\d+", d.note).group() for d in found]


def pins(board):
    return [recall.to_wire(p) for p in board]


def op_fold_pins(q):
    return pins(recall.fold_pins(rows(q), q["limit"]))


def op_pinboard(q):
    board = asyncio.run(
        recall.read_pinboard(log(q), conversation(q["conversation"]), q.get("limit", recall.PIN_LIMIT), q.get("before"))
    )
    return pins(board.pins)


def op_traces(q):
    body = q["body"]
    return [
        {
            "kind": str(t.kind),
            "topic": t.topic,
            "target": t.target,
            "cites": list(t.cites),
            "text": t.text,
            "offset": to_bytes(body, t.offset),
        }
        for t in recall.resolve_traces(body, None, author=author(q), sequence=q["sequence"])
    ]


def op_standings(q):
    policy = recall.from_wire(recall.QuorumPolicy, {k: v for k, v in q["policy"].items() if k != "window_unit"})
    found = recall.standings(recall.read_traces(rows(q)), q["at"], policy)
    wire = [recall.to_wire(s) for s in found]
    if not q.get("consensus"):
        return wire
    return {"consensus": recall.to_wire(recall.consensus(found, policy)), "standings": wire}


def op_search(q):
    if "q" in q and "query" not in q:
        query = recall.SearchQuery(pattern=recall.parse_pattern(q["q"]))
    else:
        w = q["query"]
        query = recall.SearchQuery(
            pattern=pattern(w["pattern"]),
            scope=conversation(w.get("scope")),
            author_id=w.get("author_id"),
            before=w.get("before"),
            limit=w.get("limit", recall.SEARCH_LIMIT),
        )
    result = asyncio.run(recall.search_messages(log(q), query))
    return [recall.to_wire(h) for h in result.hits]


def op_search_threads(q):
    where = recall.Conversation(desk_id=q["desk_id"], desk_name=q["desk_name"], thread_root=q.get("thread_root"))
    found = asyncio.run(recall.search_threads(log(q), where, recall.parse_pattern(q["q"]), q["limit"]))
    return [recall.to_wire(h) for h in found.hits]


def op_project(q):
    where = recall.Conversation(desk_id=q["desk_id"], desk_name=q["desk_name"], thread_root=q.get("thread_root"))
    query = recall.SessionQuery(conversation=where, before=q.get("before"), window=q["window"])
    found = asyncio.run(recall.project_session(log(q), query)).messages
    if q.get("full"):
        return [recall.to_wire(m) for m in found]
    return [m.sequence for m in found]


def op_threads(q):
    if "desk_id" not in q:
        return [recall.to_wire(t) for t in recall.fold_thread_index(rows(q), q["limit"])]
    where = recall.Conversation(desk_id=q["desk_id"], desk_name=q["desk_name"], thread_root=q.get("thread_root"))
    return [recall.to_wire(t) for t in asyncio.run(recall.read_thread_index(log(q), where, q["limit"])).threads]


def op_validate_page(q):
    recall.validate_page(page(q["page"]), before=q["before"], requested=q["requested"], seen=set(q["seen"]))
    return None


def answer(request):
    try:
        return globals()["op_" + request["op"]](request)
    except recall.RecallError as error:
        kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
        return {"error": {"kind": kind, **{k: v for k, v in vars(error).items() if isinstance(v, int)}}}


def same(got, want):
    if isinstance(want, dict) and "error" in want:
        ours = (got or {}).get("error") if isinstance(got, dict) else None
        return (
            bool(ours)
            and ours["kind"] == want["error"]["kind"]
            and all(ours.get(k) == v for k, v in want["error"].items() if isinstance(v, int))
        )
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(same(got[k], v) for k, v in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    return type(got) is type(want) and got == want


def main(paths):
    files = sorted(f for p in paths for f in ([p] if p.is_file() else p.glob("*.jsonl")))
    passed = failed = 0
    for file in files:
        for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
            if not line:
                continue
            pair = json.loads(line)
            try:
                got = json.loads(json.dumps(answer(pair["request"])))
            except Exception as error:  # a crash is a failed pair, not the end of the run
                got = f"{type(error).__name__}: {error}"
            if same(got, pair["response"]):
                passed += 1
                continue
            failed += 1
            shown = json.dumps(pair["request"], ensure_ascii=False)
            print(f"{file.name}:{number}\n  request  {shown[:600]}\n  expected {pair['response']}\n  got      {got}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main([Path(p) for p in sys.argv[1:]] or [Path(__file__).parent]))
