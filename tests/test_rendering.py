from __future__ import annotations

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.queries import AnswerCoverage, LeftOut, PinsAnswer, SearchAnswer
from recall_bot.questions import Turn
from recall_bot.rendering.board_files import board_markdown
from recall_bot.rendering.cards import CARD_WIDTH, Card, Links, paged
from recall_bot.rendering.coverage import GOES_ON, can_go_on, coverage_note
from recall_bot.rendering.embeds import card_embed
from recall_bot.rendering.inert import width
from recall_bot.rendering.pins import PinsView, board_card, board_pages, history_card, history_pages
from recall_bot.rendering.search import HIT_WIDTH, SearchView, expression_note, hit_block, search_card
from recall_bot.rendering.unpinning import UnpinChoice
from recall_bot.views import answer_view

import recall
from tests.inertness import is_contained

ID = 1_400_000_000_000_000_000
LINKS = Links(guild_id=ID, place_id=ID + 1)
WHOLE = AnswerCoverage(rows=250, oldest=ID, beginning=True, stopped=None)
NASTY = st.text(st.sampled_from("*_~`|\\[]()<>@#:/1 \n-אب𝔸日\u202e\u2069\u0301e"), max_size=400)
LONG = st.sampled_from(["*" * 1500, "|" * 400, "||a||" * 200, "א*" * 700, "𝔸" * 900, "👩‍👩‍👧" * 60, "`||" * 300])
TEXTS = st.one_of(NASTY, LONG)
AUTHORS = st.one_of(
    st.builds(recall.PersonAuthor, id=st.just(str(ID)), label=TEXTS),
    st.builds(recall.AgentAuthor, id=st.just(str(ID)), label=TEXTS),
    st.builds(recall.SystemAuthor, kind=st.just("pins_add"), label=TEXTS),
    st.just(recall.OperatorAuthor()),
)
quick = settings(max_examples=25, deadline=None)


def assert_within_limits(card: Card) -> discord.Embed:
    embed = card_embed(card, "https://discord.com/channels/1/2?recall=x")
    assert width(embed.title or "") <= 256
    assert width(embed.description or "") <= 4096
    assert all(width(field.value or "") <= 1024 and width(field.name or "") <= 256 for field in embed.fields)
    assert width(embed.footer.text or "") <= 2048
    total = [embed.title, embed.description, embed.footer.text, *(f"{f.name}{f.value}" for f in embed.fields)]
    assert sum(width(text or "") for text in total) <= CARD_WIDTH
    assert all(is_contained(line) for line in (embed.description or "").split("\n"))
    assert not card.body.endswith("…") or embed.description == card.body
    return embed


@st.composite
def boards(draw: st.DrawFn) -> PinsAnswer:
    count = draw(st.integers(0, 250))
    kinds = draw(st.lists(st.tuples(AUTHORS, TEXTS, TEXTS, TEXTS, st.booleans()), min_size=1, max_size=6))
    pins, rows, events = [], {}, []
    for number in range(count):
        author, label, note, content, read = kinds[number % len(kinds)]
        target, at = ID + 1000 + number, ID + 5000 - number
        label_or_none, note_or_none = label.replace(" ", "").replace("\n", "") or None, note or None
        excerpt = None
        if read:
            row = recall.LogMessage(target, str(ID + 1), None, author, content)
            rows[target] = row
            excerpt = recall.fold_pins([row, recall.LogMessage(at, "1", None, author, f"!pin ^{target}")])[0].excerpt
        pins.append(recall.Pin(target, at, author, label_or_none, note_or_none, excerpt))
        directive = recall.PinDirective(recall.PinAction.PIN, label_or_none, note_or_none, at, target, author)
        events.append(recall.PinEvent(directive, recall.PinEffect.PINNED))
    return PinsAnswer(
        pins=tuple(pins),
        working=frozenset(pin.sequence for pin in pins[:12]),
        events=tuple(events[::-1]),
        labels=tuple(dict.fromkeys(pin.label for pin in pins if pin.label is not None)),
        coverage=WHOLE,
        rows=rows,
        gone=frozenset(),
    )


@quick
@given(boards())
def test_every_pin_of_any_board_is_on_exactly_one_page_and_every_page_fits(answer: PinsAnswer) -> None:
    pages = board_pages(answer, LINKS)

    assert [pin for page in pages for pin in page] == list(answer.pins)
    for number, page in enumerate(pages):
        found = {pin.sequence: ("here", answer.rows[pin.sequence]) for pin in page if pin.sequence in answer.rows}
        gone = {pin.sequence: ("gone", None) for pin in page if pin.sequence not in answer.rows}
        card = board_card(answer, PinsView("#general", LINKS, page=number), pages, found | gone)  # type: ignore[operator]
        embed = assert_within_limits(card)
        assert all(f"**{pin_number}**" in (embed.description or "") for pin_number, _ in _numbered(pages, number))


def _numbered(pages: list[list[recall.Pin]], number: int) -> list[tuple[int, recall.Pin]]:
    return list(enumerate(pages[number], sum(map(len, pages[:number])) + 1))


@quick
@given(boards(), TEXTS)
def test_every_page_of_a_history_fits(answer: PinsAnswer, label: str) -> None:
    view = PinsView("#general", LINKS)
    pages = history_pages(answer, view)

    assert sum(map(len, pages)) == len(answer.events)
    for number in range(max(1, len(pages))):
        assert_within_limits(history_card(answer, PinsView("#general", LINKS, page=number), pages))
    assert_within_limits(board_card(answer, PinsView(label, LINKS, label=label), [], {}))


@quick
@given(boards())
def test_a_board_can_be_written_as_markdown_whole(answer: PinsAnswer) -> None:
    text = board_markdown(answer, PinsView("#general", LINKS), {})

    board, _, history = text.partition("## History")
    assert board.count("\n- ") == len(answer.pins)
    assert history.count("\n- ") == len(answer.events)
    text.encode()


def hit(content: str = "the rate limiter", **fields: object) -> tuple[recall.SearchHit, recall.LogMessage]:
    row = recall.LogMessage(ID + 9, str(ID + 1), None, recall.PersonAuthor("7", "Ada"), content)
    row = recall.from_wire(recall.LogMessage, recall.to_wire(row) | fields)
    text = content or row.attached
    [found] = recall.search_rows([row], recall.SearchQuery(recall.TextPattern(" ".join(text.split())[:150])))
    return found, row


def answered(*hits: tuple[recall.SearchHit, recall.LogMessage], **fields: object) -> SearchAnswer:
    values: dict[str, object] = {
        "pattern": recall.TextPattern("limiter"),
        "hits": tuple(found for found, _ in hits),
        "more": False,
        "loosened": False,
        "coverage": WHOLE,
        "rows": {row.sequence: row for _, row in hits},
    }
    return SearchAnswer(**(values | fields))  # type: ignore[arg-type]


@quick
@given(st.lists(st.tuples(AUTHORS, TEXTS), min_size=1, max_size=10), TEXTS, TEXTS)
def test_every_page_of_hits_fits(found: list[tuple[recall.Author, str]], query: str, name: str) -> None:
    rows = [
        recall.LogMessage(ID + number, str(ID), ID, author, "x" + text) for number, (author, text) in enumerate(found)
    ]
    hits = recall.search_rows(rows, recall.SearchQuery(recall.TextPattern("x")))
    places = tuple(LeftOut("1", name, "not read") for _ in range(9))
    coverage = AnswerCoverage(250, ID, False, "bound", places, name)
    answer = SearchAnswer(recall.RegexPattern(query), hits, True, True, coverage, {row.sequence: row for row in rows})
    view = SearchView(f"/{query[:190]}/", name, LINKS, name, ID, ID, "newest", True, True, ID, 9_999)

    embed = assert_within_limits(search_card(answer, view))

    assert (embed.description or "").count("\n> ") == len(hits)
    assert all(width(hit_block(each, answer, LINKS)) <= HIT_WIDTH for each in hits)


def test_a_page_that_finds_nothing_says_how_much_was_looked_at_and_how_far_back() -> None:
    coverage = AnswerCoverage(rows=100, oldest=ID, beginning=False, stopped="bound")

    card = search_card(answered(coverage=coverage), SearchView("deploy", "#general", LINKS))

    assert "**No match** in the newest 100 messages." in card.body
    assert "100 messages, back to <t:" in card.far
    assert card.far.endswith(GOES_ON)


def test_a_forwarded_hit_is_marked_as_forwarded() -> None:
    found, row = hit("", attached="forwarded: !pin #x hello deploy")

    assert "*forwarded*" in hit_block(found, answered((found, row)), LINKS)


def test_a_hit_in_an_embed_is_marked_as_attached_also_where_something_else_was_forwarded() -> None:
    row = recall.LogMessage(ID, "1", None, recall.PersonAuthor("7", "Ada"), "", None, "build green\nforwarded: hello")
    for query, kind in (("green", "attached"), ("hello", "forwarded")):
        [found] = recall.search_rows([row], recall.SearchQuery(recall.TextPattern(query)))
        [short] = [recall.from_wire(recall.SearchHit, recall.to_wire(found) | {"excerpt": query})]
        assert f"*{kind}*" in hit_block(short, answered((short, row)), LINKS)


def test_a_loose_hit_is_said_to_be_loose() -> None:
    row = recall.LogMessage(ID, "1", None, recall.PersonAuthor("7", "Ada"), "limes in mint")
    [found] = recall.search_rows([row], recall.SearchQuery(recall.TextPattern("limit")))

    card = search_card(answered((found, row), loosened=True), SearchView("limit", "#general", LINKS))

    assert "*loose*" in card.body
    assert "These are loose" in card.body


def test_an_app_is_told_apart_from_a_person_of_the_same_name() -> None:
    row = recall.LogMessage(ID, "1", None, recall.AgentAuthor("7", "Ada"), "limiter")
    [found] = recall.search_rows([row], recall.SearchQuery(recall.TextPattern("limiter")))

    assert hit_block(found, answered((found, row)), LINKS).startswith("**Ada** (app) · ")


def test_an_expression_is_said_to_be_one_with_how_to_search_for_its_text() -> None:
    note = expression_note("/etc/nginx/")

    assert "regular expression" in note
    assert "upper and lower case differ" in note
    assert note.endswith('"/etc/nginx/"')
    assert recall.parse_query('"/etc/nginx/"').pattern == recall.TextPattern("/etc/nginx/")


def test_how_to_search_for_a_text_with_a_quote_in_it_is_true_as_well() -> None:
    assert "leave out its last slash" in expression_note('/say "x"/')
    assert not isinstance(recall.parse_query('/say "x"').pattern, recall.RegexPattern)


def test_links_lead_to_where_a_message_stands() -> None:
    def row(sequence: int, parent: int | None) -> recall.LogMessage:
        return recall.LogMessage(sequence, "2", parent, recall.OperatorAuthor(), "x")

    channel, thread = Links(1, 2), Links(1, 5, thread_root_in=2)
    post = Links(1, 5, thread_root_in=5)

    assert channel.to(9) == "https://discord.com/channels/1/2/9"
    assert channel.to(9, row(9, None)) == "https://discord.com/channels/1/2/9"
    assert channel.to(9, row(9, 5)) == "https://discord.com/channels/1/5/9"
    assert thread.to(9, row(9, 5)) == "https://discord.com/channels/1/5/9"
    assert thread.to(5, row(5, None)) == "https://discord.com/channels/1/2/5"
    assert post.to(5, row(5, None)) == "https://discord.com/channels/1/5/5"


@pytest.mark.parametrize(
    ("coverage", "before", "says"),
    [
        (AnswerCoverage(250, ID, True, None), None, "I looked at all 250 messages, back to the very first,"),
        (AnswerCoverage(1, ID, True, None), None, "I looked at the newest message, back to the very first,"),
        (AnswerCoverage(1, ID, False, "bound"), None, "I looked at the newest message, back to <t:"),
        (AnswerCoverage(1, ID, False, "bound"), ID, "I looked at 1 message before <t:"),
        (AnswerCoverage(2048, ID, False, "bound"), None, "I looked at the newest 2,048 messages, back to <t:"),
        (AnswerCoverage(5, ID, False, None), None, "as far as was asked."),
        (AnswerCoverage(5, ID, False, "time"), None, "; then the time for one answer was up."),
        (AnswerCoverage(5, ID, False, "rate_limited"), None, "; then Discord asked me to slow down."),
        (AnswerCoverage(5, ID, False, "discord_down"), None, "; then Discord stopped answering."),
        (AnswerCoverage(5, ID, False, "no_permission"), None, "; then I was not allowed to read on."),
        (AnswerCoverage(5, ID, False, "gone"), None, "; then the channel was gone."),
        (AnswerCoverage(5, ID, False, "solar flare"), None, "; then reading ended early."),
        (AnswerCoverage(0, None, True, None), None, "There is no message here to read."),
        (AnswerCoverage(0, None, True, None), ID, "There is no older message to read."),
        (AnswerCoverage(0, None, False, "time"), None, "I read nothing; then the time for one answer was up."),
    ],
)
def test_the_reach_of_an_answer_is_said_in_words(coverage: AnswerCoverage, before: int | None, says: str) -> None:
    assert says in coverage_note(coverage, before=before)


def test_a_question_goes_on_only_where_something_older_may_be() -> None:
    assert can_go_on(AnswerCoverage(5, ID, False, "bound"))
    assert not can_go_on(AnswerCoverage(5, ID, True, None))
    assert not can_go_on(AnswerCoverage(5, ID, False, None))
    assert not can_go_on(AnswerCoverage(0, None, False, "time"))


def test_places_left_out_are_named_a_few_of_them_and_inert() -> None:
    places = tuple(LeftOut(str(number), f"*{number}*", "not read") for number in range(5))

    note = coverage_note(AnswerCoverage(5, ID, True, None, places))

    assert note.endswith(r"Left out: \*0\* (not read), \*1\* (not read), \*2\* (not read), 2 more.")


def test_blocks_are_dealt_out_in_order_within_budget() -> None:
    blocks = [("a", 5), ("b", 5), ("c", 20), ("d", 1), ("e", 1), ("f", 1)]

    assert paged(blocks, budget=10, most=2) == [["a", "b"], ["c"], ["d", "e"], ["f"]]


async def test_what_stands_under_an_answer_fits_its_rows_and_the_ids_are_short() -> None:
    view = answer_view([(turn, True) for turn in Turn], [UnpinChoice(5, "1 · pinned by ada", "")])

    assert view is not None
    above, row = view.to_components()
    assert [button["label"] for button in row["components"]] == ["Previous", "Next", "Newer", "Older"]
    assert all(len(item["custom_id"]) <= 100 for item in (*above["components"], *row["components"]))
    assert view.is_finished()
    assert answer_view([]) is None
