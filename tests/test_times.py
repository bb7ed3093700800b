from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recall_bot.errors import Refusal
from recall_bot.times import LAST_BOUND, BadTime, Bound, parse_after, parse_at, parse_before

NOW = datetime(2026, 3, 15, 12, 30, 15, 250_000, tzinfo=UTC)


def first(*parts: int, offset: float = 0) -> int:
    """Return the lowest id that a message of that instant can have."""
    return discord.utils.time_snowflake(datetime(*parts, tzinfo=timezone(timedelta(hours=offset))))  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "sequence"),
    [
        ("2024-05-01", first(2024, 5, 1)),
        ("2024-05-01T18:30", first(2024, 5, 1, 18, 30)),
        ("2024-05-01T18:30:15", first(2024, 5, 1, 18, 30, 15)),
        ("2024-05-01 18:30", first(2024, 5, 1, 18, 30)),
        ("  2024-02-29\n", first(2024, 2, 29)),
    ],
)
def test_a_time_without_an_offset_is_utc_and_says_so(text: str, sequence: int) -> None:
    assert parse_before(text, NOW) == Bound(sequence, assumed_utc=True)
    assert parse_after(text, NOW) == Bound(sequence - 1, assumed_utc=True)


@pytest.mark.parametrize(
    ("text", "sequence"),
    [
        ("2024-05-01Z", first(2024, 5, 1)),
        ("2024-05-01T18:30z", first(2024, 5, 1, 18, 30)),
        ("2024-05-01T18:30+02:00", first(2024, 5, 1, 18, 30, offset=2)),
        ("2024-05-01T18:30:15-05:30", first(2024, 5, 1, 18, 30, 15, offset=-5.5)),
        ("2024-05-01+14:00", first(2024, 5, 1, offset=14)),
        ("2024-05-01-00:00", first(2024, 5, 1)),
    ],
)
def test_a_time_with_an_offset_is_that_instant(text: str, sequence: int) -> None:
    assert parse_before(text, NOW) == Bound(sequence, assumed_utc=False)
    assert parse_after(text, NOW) == Bound(sequence - 1, assumed_utc=False)


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("0m", timedelta()),
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("3d", timedelta(days=3)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_a_span_goes_back_from_now_wherever_now_is(text: str, back: timedelta) -> None:
    sequence = discord.utils.time_snowflake(NOW - back)
    for zone in (UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-3, minutes=-30))):
        assert parse_before(text, NOW.astimezone(zone)) == Bound(sequence)
        assert parse_after(text, NOW.astimezone(zone)) == Bound(sequence - 1)


def test_before_leaves_a_message_out_and_after_takes_it_in() -> None:
    message = 1_234_567_890_123_456_789
    assert parse_before(str(message), NOW).sequence == message
    assert parse_after(str(message), NOW).sequence == message - 1


def test_before_leaves_an_instant_out_and_after_takes_it_in() -> None:
    sent = first(2024, 5, 1) + 77  # in the first millisecond of the day
    assert not sent < parse_before("2024-05-01", NOW).sequence
    assert sent > parse_after("2024-05-01", NOW).sequence
    assert first(2024, 5, 1) - 1 < parse_before("2024-05-01", NOW).sequence


@pytest.mark.parametrize(
    "text", ["2014-12-31", "1970-01-01", "0001-01-01", "0001-01-01T00:00+23:59", "999999999w", "2015-01-01+14:00"]
)
def test_a_time_before_discord_is_below_every_message(text: str) -> None:
    assert parse_before(text, NOW).sequence == 0
    assert parse_after(text, NOW).sequence == 0


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12-31T23:59:59-23:59", "2084-09-07", str(2**64 - 1)])
def test_a_time_beyond_what_discord_takes_is_above_every_message(text: str) -> None:
    assert parse_before(text, NOW).sequence == LAST_BOUND
    assert parse_after(text, NOW).sequence == LAST_BOUND - 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "yesterday",
        "0000-01-01",
        "2024-13-01",
        "2023-02-29",
        "2024-5-1",
        "24-05-01",
        "2024-05-01T",
        "2024-05-01T18",
        "2024-05-01T24:00",
        "2024-05-01T18:60",
        "2024-05-01T18:30:60",
        "2024-05-01T18:30:15.5",
        "2024-05-01+24:00",
        "2024-05-01+02:60",
        "2024-05-01+0200",
        "2024-05-01+2",
        "2024-05-01 +02:00",
        "２０２４-05-01",
        "٣d",
        "３d",
        "3",
        "d",
        "3 d",
        "3M",
        "3y",
        "-3d",
        "+3d",
        "1d12h",
        "1_0d",
        "1000000000d",
        "9" * 5_000 + "d",
        "9" * 5_000,
        "12345",
        "123456789012345678901",
        str(2**64),
        "-1234567890123456789",
        "1234567890123456789\x00",
    ],
)
def test_anything_else_is_refused_in_a_sentence_that_shows_how(text: str) -> None:
    for parse in (parse_before, parse_after):
        with pytest.raises(BadTime) as caught:
            parse(text, NOW)
        assert "3d" in caught.value.sentence
        assert isinstance(caught.value, Refusal)


def test_at_takes_a_message_in_by_its_id_or_its_link_and_leaves_an_instant_out() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    message = 1_204_000_000_000_000_000

    assert parse_at(f" {message} ", now) == Bound(message)
    assert parse_at(f"https://discord.com/channels/1/2/{message}", now) == Bound(message)
    assert parse_at("2026-02-01", now) == Bound(parse_before("2026-02-01", now).sequence - 1, assumed_utc=True)
    assert parse_at("1d", now) == Bound(parse_before("1d", now).sequence - 1)
    for text in ("", "soon", "12", "https://discord.com/channels/1/2", f"https://example.org/{message}"):
        with pytest.raises(BadTime):
            parse_at(text, now)


@settings(deadline=None, max_examples=300)
@given(
    st.text(max_size=30)
    | st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?)?(Z|[+-][0-9]{2}:[0-9]{2})?", fullmatch=True
    )
    | st.from_regex(r"[0-9]{1,12}[mhdw]?", fullmatch=True),
    st.datetimes(timezones=st.just(UTC)),
)
def test_whatever_is_typed_gives_a_bound_or_a_refusal(text: str, now: datetime) -> None:
    try:
        before, after = parse_before(text, now), parse_after(text, now)
    except BadTime:
        return
    assert 0 <= after.sequence <= before.sequence <= LAST_BOUND
    assert before.sequence - after.sequence <= 1
    assert before.assumed_utc == after.assumed_utc
