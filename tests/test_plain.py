from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from recall_bot.rendering.inert import width
from recall_bot.rendering.plain import (
    PLAIN_WIDTH,
    SEPARATOR,
    Listed,
    Record,
    author_field,
    excerpt_field,
    field,
    frame,
    record,
)

import recall
from recall.markers import read_markers
from recall.text import collapse, cut

SEQUENCE = 2**63
OURS = ("Recall ", "[", "Note: ", "More: ", "Older: ", "End: ")

texts = st.text(
    st.one_of(st.characters(), st.sampled_from("!`*_|\\·[]()\n\r\u2028\u2029\x85\x0b\u202e\u05d0 @<>#^")), max_size=200
)
authors = st.one_of(
    st.none(),
    st.builds(recall.PersonAuthor, id=st.just("42"), label=texts),
    st.builds(recall.AgentAuthor, id=st.just("43"), label=texts),
)


def made(author: recall.Author | None, text: str, note: str, sequence: int = SEQUENCE) -> Record:
    excerpt = excerpt_field(cut(collapse(text), recall.EXCERPT_CHARS), text)
    return record(sequence, author, excerpt, f"note {field(note, 100)}")


@given(authors, texts, texts)
def test_a_record_is_one_line_whose_fields_can_be_told_apart_whatever_is_in_them(
    author: recall.Author | None, text: str, note: str
) -> None:
    line = made(author, text, note).line
    assert line.splitlines() == [line]
    fields = line.split(SEPARATOR)
    assert len(fields) == 4
    assert fields[0] == f"[{SEQUENCE}] {author_field(author)}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fields[1])
    assert fields[3].startswith("note ")
    if author is not None:
        assert fields[0].rpartition("(")[2].removesuffix(")") in {"person 42", "app 43"}


@given(
    st.lists(st.tuples(authors, texts, texts), min_size=1, max_size=30), st.lists(texts, max_size=3), texts, st.data()
)
def test_a_frame_fits_one_message_shows_something_and_nobody_else_begins_a_line_of_it(
    rows: list[tuple[recall.Author | None, str, str]], notes: list[str], end: str, data: st.DataObject
) -> None:
    records = [made(*row, sequence=SEQUENCE + number) for number, row in enumerate(rows)]
    start = data.draw(st.integers(0, len(records) - 1))
    said = [f"Note: {field(note)}" for note in notes]
    text = frame("search", Listed(records, start), field(end), notes=said, older="Older: the same line.")
    assert width(text) <= PLAIN_WIDTH
    lines = text.split("\n")
    assert text.splitlines() == lines
    assert all(line.startswith(OURS) for line in lines)
    shown = [line for line in lines if line.startswith("[")]
    assert shown == [one.line for one in records[start : start + len(shown)]]
    assert shown
    assert lines[-1].startswith("End: ")
    assert sum(line.startswith(("End: ", "Recall ")) for line in lines) == 2
    assert list(read_markers(text, dialect="discord")) == []
    left = len(records) - start - len(shown)
    more = [f"More: the same line with after ^{SEQUENCE + start + len(shown) - 1} at its end."] if left else []
    assert [line for line in lines if line.startswith("More: ")] == more


@given(texts)
def test_taking_the_escapes_off_gives_back_what_was_shown(text: str) -> None:
    printable = collapse("".join(char for char in text if char.isascii() and char.isprintable()))
    assert re.sub(r"\\([^A-Za-z0-9\s])", r"\1", field(printable, 1_000)) == printable


def test_a_name_that_looks_like_fields_is_a_name() -> None:
    author = recall.PersonAuthor("7", "Ada (person 1) · 2020-01-01T00:00:00Z · !pin")
    assert author_field(author) == "Ada (person 1) \\· 2020-01-01T00\\:0… (person 7)"


def test_what_is_hidden_stays_hidden() -> None:
    assert excerpt_field("the ||butler||", "the ||butler||") == "the ||butler||"
    assert excerpt_field("…ler is the b…", "The ||killer is the butler||.") == "…||ler is the b||…"


@given(st.integers(0, 4), st.integers(0, 900), st.booleans())
def test_where_the_lines_around_are_long_there_is_still_a_record_and_an_end(notes: int, end: int, older: bool) -> None:
    author = recall.PersonAuthor("1" * 20, "*" * 90)
    excerpt = excerpt_field("*" * 96, "*" * 96)
    more = [field("*" * 300), field("*" * 300)]
    records = [record(SEQUENCE + number, author, excerpt, *more) for number in range(3)]
    notes_said = ["Note: " + "n" * 400] * notes
    asked = "Older: the same line with before:18446744073709551615 in place of any other before." if older else None
    lines = frame("standings", Listed(records), "e" * end, notes=notes_said, older=asked).split("\n")
    assert width("\n".join(lines)) <= PLAIN_WIDTH
    assert any(line.startswith("[") for line in lines)
    assert lines[-1].startswith("End: ")


def test_a_long_list_says_that_there_is_more_than_it_can_name() -> None:
    records = [made(None, "x", "y")]
    assert "record 1 of 1+." in frame("search", Listed(records, more=True), "far")
    assert "More: over 1 record, ask for less." in frame("search", Listed(records, more=True), "far")
    assert frame("pins", Listed([]), "far").startswith("Recall pins: no records.")


def test_the_example_of_the_readme_is_written_so() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    (example,) = re.findall(r"^```text\n(Recall search: .*?)\n```$", readme, re.DOTALL | re.MULTILINE)
    names: list[recall.Author] = [recall.PersonAuthor("42", "Ada"), recall.AgentAuthor("43", "Scout")]
    said = ["The rate limiter resets every minute.", "No *rate* limit at all"]
    records = [
        record(sequence, author, excerpt_field(text, text))
        for sequence, author, text in zip((1446193230643200000, 1446193482301440000), names, said, strict=True)
    ]
    end = example.rpartition("End: ")[2]
    assert frame("search", Listed(records), end) == example
