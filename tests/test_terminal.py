"""The reading commands of the command line, asked in this process."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from recall_bot.__main__ import app
from recall_bot.queries import AnswerCoverage, Overrun
from recall_bot.terminal.progress import ask, reading
from typer.testing import CliRunner, Result

import recall
from recall import from_wire
from tests.exporting import (
    BEN,
    CHANNEL_ID,
    FIRST_ID,
    RECALL,
    SCOUT,
    SELF_ID,
    channel,
    export,
    forward,
    message,
    reply,
    spelled,
    thread,
    user,
    write,
)

OTHER_ID = CHANNEL_ID + 7
THREAD_ID = CHANNEL_ID + 100
SECONDS = 1_000 << 22  # how far apart messages are that are a second apart


def recall_bot(*arguments: object) -> Result:
    """Run the command line; what it raises for `main` to say is left in the result."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def found(*arguments: object) -> str:
    """What is printed by a command that finds something and has nothing else to say."""
    result = recall_bot(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), (result.output, result.exception)
    return result.stdout


def answered(*arguments: object, code: int = 0) -> dict[str, Any]:
    result = recall_bot(*arguments, "--json")
    assert result.exit_code == code, (result.output, result.exception)
    wire: dict[str, Any] = json.loads(result.stdout)
    return wire


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A channel with a thread."""
    folder = tmp_path / "room"
    folder.mkdir()
    messages = [
        message(0, "The rate limiter resets every minute."),
        message(1 * SECONDS, f"!pin ^{FIRST_ID} #limits as measured", SCOUT),
        message(2 * SECONDS, "Limits are per key.", BEN),
        reply(3 * SECONDS, "!pin #keys", to=2 * SECONDS),
        message(4 * SECONDS, f"!unpin ^{FIRST_ID + 2 * SECONDS}", SCOUT),
        message(5 * SECONDS, "x" * 601, SCOUT),
    ]
    write(folder / "engineering.json", messages)
    inside = [message(6 * SECONDS, f"limiter in a thread, see ^{FIRST_ID}")]
    write(folder / "thread.json", inside, place=thread("resets", THREAD_ID))
    return folder


@pytest.fixture
def two(room: Path) -> Path:
    """Two channels."""
    write(room / "z-other.json", [message(9 * SECONDS, "limiter elsewhere", BEN)], place=channel("other", OTHER_ID))
    return room


# search


def test_a_search_prints_who_where_when_and_what(room: Path) -> None:
    lines = found("search", room, "rate limiter").splitlines()

    assert lines == [
        f"Ada · #engineering · 2024-02-05 09:46 UTC · {FIRST_ID}",
        "  The rate limiter resets every minute.",
        "I looked at all 7 messages, back to the very first, 2024-02-05 09:46 UTC. As of 2026-03-02T00:00:00Z.",
    ]


def test_a_search_that_finds_nothing_says_how_far_it_looked(room: Path) -> None:
    result = recall_bot("search", room, "zebra")

    assert result.exit_code == 1
    assert result.stdout.startswith("Nothing found.\nI looked at all 7 messages, back to the very first")


def test_a_search_reads_every_channel_or_the_one_that_is_named(two: Path) -> None:
    def places(*options: object) -> list[str]:
        return sorted({hit["chat_id"] for hit in answered("search", two, "limiter", *options)["hits"]})

    assert places() == [str(CHANNEL_ID), str(OTHER_ID)]
    assert places("--in", "#other") == [str(OTHER_ID)]
    assert places("--in", OTHER_ID) == [str(OTHER_ID)]
    assert [hit["parent"] for hit in answered("search", two, "limiter", "--in", "resets")["hits"]] == [str(THREAD_ID)]
    assert "#resets" in found("search", two, "thread")


def test_the_json_of_a_search_is_hits_and_coverage_with_ids_as_text(room: Path) -> None:
    wire = answered("search", room, "per key")

    assert list(wire) == ["hits", "coverage"]
    assert wire["hits"] == [
        {
            "sequence": str(FIRST_ID + 2 * SECONDS),
            "chat_id": str(CHANNEL_ID),
            "parent": None,
            "author": {"type": "person", "id": BEN["id"], "label": "Ben of the Harbour"},
            "excerpt": "Limits are per key.",
            "score": wire["hits"][0]["score"],
            "kind": "word_prefix",
        }
    ]
    assert from_wire(recall.SearchHit, wire["hits"][0]).sequence == FIRST_ID + 2 * SECONDS
    assert wire["coverage"]["oldest"] == str(FIRST_ID)
    assert from_wire(AnswerCoverage, wire["coverage"]) == AnswerCoverage(
        rows=7, oldest=FIRST_ID, beginning=True, stopped=None, as_of="2026-03-02T00:00:00Z"
    )


def test_nothing_in_json_is_still_an_answer(room: Path) -> None:
    assert answered("search", room, "zebra", code=1)["hits"] == []


@pytest.mark.parametrize("author", ["Ben of the Harbour", "@ben of the harbour", BEN["id"], f"<@{BEN['id']}>"])
def test_an_author_is_meant_by_name_id_or_mention(two: Path, author: str) -> None:
    hits = answered("search", two, "lim", "--from", author)["hits"]

    assert {hit["author"]["id"] for hit in hits} == {BEN["id"]}
    assert len(hits) == 2


def test_a_name_that_is_not_exactly_one_authors_is_refused(room: Path) -> None:
    write(room / "twin.json", [message(8 * SECONDS, "hi", user(77, "ben2", "Ben of the Harbour"))])

    several, nobody = (
        str(recall_bot("search", room, "x", "--from", name).exception) for name in ("Ben of the Harbour", "Cyd")
    )

    assert BEN["id"] in several
    assert "1100000000000000077" in several
    assert "'Cyd'" in nobody


def test_a_span_of_time_bounds_a_search_and_utc_is_said_where_it_was_assumed(tmp_path: Path) -> None:
    days = [message(number * 86_400 * SECONDS, f"day {number}") for number in range(4)]
    path = write(tmp_path / "room.json", days)

    def hits(*options: str) -> list[str]:
        return sorted(hit["excerpt"] for hit in answered("search", path, "day", *options)["hits"])

    assert hits("--before", "2024-02-07") == ["day 0", "day 1"]
    assert hits("--after", "2024-02-07") == ["day 2", "day 3"]
    assert hits("--after", "2024-02-06", "--before", "2024-02-07T12:00+00:00") == ["day 1", "day 2"]
    assert hits("--after", days[2]["id"]) == ["day 2", "day 3"]
    assert hits("--before", days[2]["id"]) == ["day 0", "day 1"]
    assert recall_bot("search", path, "day", "--after", "3d").exit_code == 1
    assert (
        "a time without an offset is read as UTC" in recall_bot("search", path, "day", "--before", "2024-02-07").stderr
    )
    assert recall_bot("search", path, "day", "--before", "2024-02-07Z").stderr == ""
    assert "no time I can read" in str(recall_bot("search", path, "day", "--before", "yesterday").exception)


def test_the_best_hit_comes_first_or_the_newest(room: Path) -> None:
    assert [hit["kind"] for hit in answered("search", room, "limits")["hits"]] == ["prefix", "word_prefix"]
    newest = answered("search", room, "lim", "--sort", "newest")["hits"]
    assert [int(hit["sequence"]) for hit in newest] == sorted((int(hit["sequence"]) for hit in newest), reverse=True)


def test_letters_with_gaps_are_found_when_asked_for_or_when_nothing_else_is(room: Path) -> None:
    strict, loose = answered("search", room, "lmt", code=0), answered("search", room, "lmt", "--loose")

    assert strict == loose
    assert {hit["kind"] for hit in loose["hits"]} == {"subsequence"}
    assert "nothing better was found" in recall_bot("search", room, "lmt").stderr
    assert recall_bot("search", room, "lmt", "--loose").stderr == ""
    assert recall_bot("search", room, '"l m t"').exit_code == 1


def test_more_hits_than_are_shown_are_told_of(room: Path) -> None:
    result = recall_bot("search", room, "lim", "--limit", 1, "--json")

    assert len(json.loads(result.stdout)["hits"]) == 1
    assert "--limit" in result.stderr
    assert recall_bot("search", room, "lim", "--limit", 50).stderr == ""


def test_a_bound_is_said_and_what_is_older_is_not_found(room: Path) -> None:
    result = recall_bot("search", room, "every minute", "--scan", 3)

    assert result.exit_code == 1
    assert (
        "I looked at the newest 3 messages, back to 2024-02-05 09:46 UTC; what is older was not read." in result.stdout
    )
    assert answered("search", room, "zebra", "--scan", 3, code=1)["coverage"]["stopped"] == "bound"
    assert answered("search", room, "zebra", "--scan", 7, code=1)["coverage"]["stopped"] is None


def test_an_expression_is_one_and_says_so(room: Path) -> None:
    result = recall_bot("search", room, "/rate .*minute/")

    assert result.exit_code == 0
    assert "The rate limiter resets every minute." in result.stdout
    assert "regular expression" in result.stderr
    assert recall_bot("search", room, "/RATE/").exit_code == 1
    assert isinstance(recall_bot("search", room, "/[/").exception, recall.InvalidPattern)
    assert isinstance(recall_bot("search", room, "/(a+)+$/x" + "a" * 200).exception, recall.PatternTooLong)


def test_a_forward_is_found_and_says_what_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "room.json", [forward(1, "!pin #x hello deploy")])

    assert "forwarded: !pin #x hello deploy" in found("search", path, "deploy")
    assert recall_bot("pins", path).exit_code == 1


# pins


def test_a_board_is_printed_newest_pin_first(room: Path) -> None:
    assert found("pins", room).splitlines() == [
        f"#limits · pinned by Scout (app) · 2024-02-05 09:46 UTC · {FIRST_ID}",
        "  — as measured",
        "  > The rate limiter resets every minute.",
        "I looked at all 7 messages, back to the very first, 2024-02-05 09:46 UTC. As of 2026-03-02T00:00:00Z.",
        "Nobody's roles are known here, so everybody's pins and unpins count.",
    ]


def test_the_json_of_a_board_is_pins_and_coverage_with_ids_as_text(room: Path) -> None:
    wire = answered("pins", room)

    assert list(wire) == ["pins", "beyond", "rules", "coverage"]
    assert wire["pins"] == [
        {
            "sequence": str(FIRST_ID),
            "pinned_at": str(FIRST_ID + SECONDS),
            "pinned_by": {"type": "agent", "id": SCOUT["id"], "label": "Scout"},
            "label": "limits",
            "note": "as measured",
            "excerpt": "The rate limiter resets every minute.",
        }
    ]
    assert from_wire(recall.Pin, wire["pins"][0]).label == "limits"


@pytest.mark.parametrize(("label", "code"), [("limits", 0), ("#limits", 0), ("keys", 1), ("Limits", 1)])
def test_a_board_of_one_label(room: Path, label: str, code: int) -> None:
    assert recall_bot("pins", room, "--label", label).exit_code == code


def test_a_history_has_every_pin_and_unpin(room: Path) -> None:
    lines = found("pins", room, "--show", "history").splitlines()

    assert [
        line.split(" · ")[1].split(f" {FIRST_ID}")[0].split(str(FIRST_ID)[:4])[0].strip() for line in lines[:3]
    ] == [
        "Scout (app) unpinned",
        "Ben of the Harbour pinned",
        "Scout (app) pinned",
    ]
    history = answered("pins", room, "--show", "history")["history"]
    assert [event["effect"] for event in history] == ["pinned", "pinned", "unpinned"]
    assert history[0]["directive"]["target"] == str(FIRST_ID)
    assert recall_bot("pins", room, "--show", "history", "--label", "none").exit_code == 1


def test_a_board_is_exported_as_markdown_with_links_into_the_room(room: Path) -> None:
    text = found("pins", room, "--show", "export")

    assert text.startswith("# Pins: \\#engineering\n")
    assert f"<https://discord.com/channels/1100000000000000000/{CHANNEL_ID}/{FIRST_ID}>" in text


def test_of_several_channels_pins_and_standings_need_one(two: Path) -> None:
    for command in ("pins", "standings"):
        result = recall_bot(command, two)
        assert result.exit_code != 0
        assert result.stdout == ""
        assert f"#engineering ({CHANNEL_ID}), #other ({OTHER_ID})" in str(result.exception)

    assert recall_bot("pins", two, "--in", "engineering").exit_code == 0
    assert recall_bot("pins", two, "--in", OTHER_ID).exit_code == 1
    assert "#other" in str(recall_bot("pins", two, "--in", "nowhere").exception)


def test_our_own_messages_are_left_out_where_they_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "room.json", [message(0, "text"), message(1, f"!pin ^{FIRST_ID}", RECALL)])

    assert recall_bot("pins", path).exit_code == 0
    assert recall_bot("pins", path, "--self", SCOUT["id"], "--self", SELF_ID).exit_code == 1
    assert recall_bot("pins", path, "--self", "Recall").exit_code == 2


# standings


def test_standings_count_everyone_and_each_rule_is_an_option(tmp_path: Path) -> None:
    path = write(
        tmp_path / "room.json",
        [
            message(1, "!propose #sqlite one file", BEN),
            message(2, f"!support #sqlite ^{FIRST_ID + 1}", SCOUT),
            message(3, f"!refute #sqlite ^{FIRST_ID + 1} no", user(70, "cyd", "Cyd")),
        ],
    )

    wire = answered("standings", path)
    assert list(wire) == ["standings", "consensus", "topics", "decisions", "questions", "names", "coverage"]
    assert wire["standings"] == [
        {
            "topic": "sqlite",
            "supporters": [BEN["id"], SCOUT["id"]],
            "silenced": [],
            "refuted_by": ["1100000000000000070"],
            "support": 1_400,
        }
    ]
    assert wire["consensus"] == {"state": "quorum", "topic": "sqlite"}
    for options in (["--threshold", 3], ["--refutation-cap", 1], ["--require-evidential"], ["--voters", "agents"]):
        wire = answered("standings", path, *options)
        assert wire["consensus"] == {"state": "deliberating"}
    assert recall_bot("standings", path, "--threshold", 0).exit_code == 2

    lines = found("standings", path).splitlines()
    assert lines[:5] == [
        "#sqlite · 2 of 2 supporters · weight 1400 · carried",
        f"  supported by Ben of the Harbour in {FIRST_ID + 1}",
        f"  supported by Scout (app) in {FIRST_ID + 2}",
        f"  refuted by Cyd in {FIRST_ID + 3}, citing {FIRST_ID + 1}",
        "Quorum: #sqlite is carried.",
    ]
    assert recall_bot("standings", path, "--at", FIRST_ID + 1, "--threshold", 1).exit_code == 0
    assert recall_bot("standings", path, "--topic", "#other").stdout.startswith("No topic is on the floor.")


def test_standings_are_as_of_a_message_and_name_what_was_decided(tmp_path: Path) -> None:
    path = write(
        tmp_path / "room.json",
        [
            message(1, "!propose #sqlite one file", BEN),
            message(2, f"!support #sqlite ^{FIRST_ID + 1}", SCOUT),
            message(3, "!commit #sqlite", BEN),
            message(4, f"!object >{FIRST_ID + 1} ^{FIRST_ID + 2} no", SCOUT),
        ],
    )

    assert "Quorum: #sqlite" in found("standings", path, "--at", FIRST_ID + 2)
    assert "decided" not in found("standings", path, "--at", FIRST_ID + 2)
    lines = found("standings", path).splitlines()
    assert lines[2] == f"  silenced Ben of the Harbour in {FIRST_ID + 1}, objected to in {FIRST_ID + 4}"
    decided = "decided #sqlite by Ben of the Harbour, carried by Ben of the Harbour, Scout (app)"
    assert lines[3].startswith(decided)
    [decision] = answered("standings", path)["decisions"]
    assert (decision["sequence"], decision["topic"], decision["whole"]) == (str(FIRST_ID + 3), "sqlite", True)


def test_every_line_is_explained_also_one_that_is_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "room.json",
        [
            message(1, "!propose sqlite", BEN),
            message(2, "!Support: #sqlite", SCOUT),
            message(3, f"!support #sqlite ^{FIRST_ID + 9}", SCOUT),
        ],
    )

    shown = found("standings", path, "--show", "traces")

    assert "nothing: it names no topic; write it with its #, as in #name" in shown
    assert "nothing: the word must be exactly !support" in shown
    assert f"nothing: what it cites is not here, so it rests on nothing; names {FIRST_ID + 9}" in shown
    wire = answered("standings", path, "--show", "traces")
    assert [outcome["effect"] for outcome in wire["traces"]] == ["no_topic", "misspelt", "no_cite"]


def test_a_webhook_of_an_export_votes_when_it_is_named(tmp_path: Path) -> None:
    hook = {**user(80, "relay", "Relay", is_bot=True), "discriminator": "0000"}
    path = write(tmp_path / "room.json", [message(1, "!propose #sqlite one file", hook)])

    assert recall_bot("standings", path).exit_code == 1
    [standing] = answered("standings", path, "--webhook", hook["id"])["standings"]
    assert standing["supporters"] == [hook["id"]]


def test_nobodys_roles_are_known_to_an_export(room: Path) -> None:
    result = recall_bot("standings", room, "--voters", "role")

    assert str(result.exception) == "Here nobody's roles are known: count everyone, agents or people."


def test_a_room_without_a_topic_has_none(room: Path) -> None:
    result = recall_bot("standings", room)

    assert result.exit_code == 1
    assert result.stdout.startswith("No topic is on the floor.\nDeliberating: nothing is carried.\n")


# overrun


def test_long_messages_are_listed_with_how_far_they_run_over(room: Path) -> None:
    wire = answered("overrun", room)

    assert list(wire) == ["overruns", "coverage"]
    assert wire["overruns"] == [
        {
            "sequence": str(FIRST_ID + 5 * SECONDS),
            "chat_id": str(CHANNEL_ID),
            "author": {"type": "agent", "id": SCOUT["id"], "label": "Scout"},
            "characters": 601,
            "over": 1,
        }
    ]
    assert from_wire(Overrun, wire["overruns"][0]).over == 1
    assert found("overrun", room).startswith("1 over · 601 characters · Scout (app) · ")
    assert recall_bot("overrun", room, "--message-chars", 601).exit_code == 1
    assert recall_bot("overrun", room, "--in", "resets").exit_code == 1


# files that are not whole


def test_of_a_partial_file_the_rest_is_answered_from_and_one_line_says_so(tmp_path: Path) -> None:
    data = spelled(export([message(0, "The rate limiter"), message(1, "zebra"), message(2, "last")]))
    path = tmp_path / "room.json"
    path.write_bytes(data[: data.index(b'"last"')])

    for query, code in (("zebra", 0), ("last", 1)):
        result = recall_bot("search", path, query)
        assert result.exit_code == code
        assert result.stderr == f"recall-bot: {path}: breaks off after 2 whole messages\n"


# text of others


def test_nothing_in_a_log_is_obeyed_by_a_terminal_or_by_us(tmp_path: Path) -> None:
    name = "[bold]E\x1b[31mve[/bold] :smile: \u202egnp.exe"
    text = "needle [red]x[/red] \x1b]0;pwned\x07\x9b31m :smile: \u202eevil\u2066 \r\nsecond\u2028third [/]"
    messages = [
        message(0, text, user(66, "eve", name)),
        message(1, f"!pin ^{FIRST_ID} #[red] {text.replace(chr(10), ' ')}", user(66, "eve", name)),
    ]
    path = write(tmp_path / "room.json", messages, place=channel("[bold]\x1b[2Jroom"))

    for command in (["search", path, "needle"], ["pins", path], ["pins", path, "--show", "history"]):
        result = recall_bot(*command)
        assert result.exit_code == 0, result.exception
        assert not {char for char in result.output if char < " " and char != "\n"}
        assert not set(result.output) & set("\x7f\x9b\u202e\u2066\u2028")
        assert "[red]" in result.output
        assert ":smile:" in result.output


def test_letters_from_right_to_left_stay_among_themselves(tmp_path: Path) -> None:
    path = write(tmp_path / "room.json", [message(0, "needle שלום", user(67, "noa", "נועה"))])

    lines = found("search", path, "needle").splitlines()

    assert lines[0].startswith("\u2068נועה\u2069 · #engineering · ")
    assert lines[1] == "  \u2068needle שלום\u2069"


def test_json_holds_the_text_as_it_is_and_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    text = "needle \x9b31m \u202eevil 日本 é"
    path = write(tmp_path / "room.json", [message(0, text), message(1, f"!pin ^{FIRST_ID} #a {text}")])

    for command in (["search", path, "needle"], ["pins", path], ["pins", path, "--show", "history"]):
        result = recall_bot(*command, "--json")
        assert not set(result.stdout) & set("\x9b\u202e")
        assert "日本 é" in result.stdout
    assert text in [hit["excerpt"] for hit in answered("search", path, "needle")["hits"]]


# progress


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_when_it_is_late_or_a_large_file_comes() -> None:
    early, late, large, piped = Terminal(), Terminal(), Terminal(), io.StringIO()
    for stream, coming, patience in ((early, 1, 60), (late, 1, 0), (large, 10**10, 60), (piped, 10**10, 0)):
        with reading(stream, patience_seconds=patience) as advance:
            advance(0, coming, coming)
            advance(coming, 0, coming)

    assert (early.getvalue(), piped.getvalue()) == ("", "")
    assert "reading" in late.getvalue()
    assert "reading" in large.getvalue()


def test_a_question_that_takes_long_says_what_it_does() -> None:
    async def question() -> int:
        return 42

    assert ask(question(), "searching") == 42
