"""Next and last times of schedules, against a walk over every minute."""

from __future__ import annotations

import contextlib
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import RequestError
from counterbalance.engine.schedule import NAMES, last_due, next_time, validate

MINUTE = dt.timedelta(minutes=1)


def at(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "last"),
    [
        ("@hourly", at(2026, 3, 1, 7), at(2026, 3, 1, 6)),
        ("@daily", at(2026, 3, 2), at(2026, 3, 1)),
        ("@weekly", at(2026, 3, 8), at(2026, 3, 1)),  # Sundays; 1 March 2026 is one
        ("@monthly", at(2026, 4, 1), at(2026, 3, 1)),
        ("@YEARLY", at(2027, 1, 1), at(2026, 1, 1)),
        ("15,45 6 * * mon-fri", at(2026, 3, 2, 6, 15), at(2026, 2, 27, 6, 45)),
        ("0 0 29 2 *", at(2028, 2, 29), at(2024, 2, 29)),
        ("30 6 1 3 *", at(2027, 3, 1, 6, 30), at(2026, 3, 1, 6, 30)),  # due at this very moment
    ],
)
def test_times_around_a_moment(schedule, after, last):
    moment = at(2026, 3, 1, 6, 30)
    assert (next_time(schedule, moment), last_due(schedule, moment)) == (after, last)


@given(st.integers(1, 59), st.integers(0, 23), st.sampled_from(["*", "1", "3,5", "0"]), st.integers(0, 20_000))
def test_against_every_minute(step, hour, weekday, offset):
    moment = at(2026, 1, 1) + offset * MINUTE
    weekdays = {1, 2, 3, 4, 5, 6, 0} if weekday == "*" else {int(d) for d in weekday.split(",")}

    def is_due(t):
        return t.minute % step == 0 and t.hour == hour and t.isoweekday() % 7 in weekdays

    after = next(t for t in (moment + i * MINUTE for i in range(1, 20_000)) if is_due(t))
    before = next(t for t in (moment - i * MINUTE for i in range(20_000)) if is_due(t))
    schedule = f"*/{step} {hour} * * {weekday}"
    assert next_time(schedule, moment) == after
    assert last_due(schedule, moment) == before


def test_another_zone_and_none_are_taken_as_utc():
    zone = dt.timezone(dt.timedelta(hours=5))
    assert next_time("@daily", dt.datetime(2026, 3, 2, 4, 0, tzinfo=zone)) == at(2026, 3, 2)
    assert next_time("@daily", dt.datetime(2026, 3, 1, 23, 0)) == at(2026, 3, 2)  # noqa: DTZ001


def test_seconds_count_as_past():
    assert last_due("30 6 * * *", at(2026, 3, 1, 6, 30, 0, 1)) == at(2026, 3, 1, 6, 30)
    assert last_due("30 6 * * *", at(2026, 3, 1, 6, 29, 59, 999_999)) == at(2026, 2, 28, 6, 30)


@pytest.mark.parametrize(
    "text", ["", "daily", "@dayly", "* * * *", "* * * * * *", "60 * * * *", "0 0 31 2 *", "0 0 30 2 *", "a b c d e"]
)
def test_no_schedule(text):
    with pytest.raises(RequestError) as caught:
        validate(text)
    assert caught.value.code == "E3080"
    assert "@daily" in caught.value.hint


@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["*", "1", "/", "-", ",", "#", "L", "W", "5", " ", "99"]), max_size=14).map("".join)
)
def test_any_text_is_a_schedule_or_refused(text):
    with contextlib.suppress(RequestError):
        validate(text)
        assert next_time(text, at(2026, 1, 1)) > at(2026, 1, 1)


def test_names_are_what_cron_says():
    assert {name: next_time(name, at(2026, 3, 1)) for name in NAMES} == {
        name: next_time(cron, at(2026, 3, 1)) for name, cron in NAMES.items()
    }
