"""Prices: arithmetic over known counts, checked against what pulls really cost."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from adanalytics_client import Client, QuotaState, Summary
from adanalytics_client._exports.wait import polls_within
from adanalytics_client.pricing import Choice, Estimate, Pace, Price, choose, prices
from adanalytics_server.local import LocalServer

FIRST = date(2026, 1, 1)
FREE = QuotaState(None, None, None)


def days_of(*counts: int) -> Estimate:
    days = {FIRST + timedelta(days=at): count for at, count in enumerate(counts)}
    return Estimate(FIRST, max(days), days)


def priced(estimate: Estimate, quota: QuotaState = FREE) -> dict[str, Price]:
    return {price.way: price for price in prices(estimate, quota)}


@pytest.mark.parametrize(
    ("estimate", "requests", "way"),
    [
        (days_of(*[5_000] * 30), (720, 15), "export"),
        (days_of(5_000), (24, 1), "auto"),
        (days_of(200_000), (24, 20), "export"),
        (days_of(2_000_000), (216, 217), "export"),
        (days_of(10_000, 2_000_000, 0), (264, 1 + 216 + 1 + 2), "export"),
        (days_of(0, 0), (48, 1), "auto"),
    ],
)
def test_requests_of_each_way(estimate: Estimate, requests: tuple[int, int], way: str) -> None:
    found = priced(estimate)
    assert (found["hourly"].requests, found["auto"].requests) == requests
    assert choose(estimate, found.values()).way == way


def test_hours_that_have_not_begun_have_no_price() -> None:
    """At 02:30 of the second day, whose 1.2 million events lie in three hours."""
    moment = datetime(2026, 1, 2, 2, 30, tzinfo=UTC)
    found = priced(replace(days_of(5_000, 1_200_000), before=moment))
    assert (found["hourly"].requests, found["auto"].requests) == (24 + 120, 1 + 120 + 2)


def test_pages_may_wait_for_quota_where_an_export_does_not() -> None:
    found = priced(days_of(*[3_000_000] * 5), QuotaState(1000, 400, None))
    assert found["hourly"].requests == 1560
    assert found["hourly"].waits == 2 * 3600
    assert found["export"].waits == 0


def test_fewer_requests_count_first_then_fewer_bytes_then_less_time() -> None:
    estimate = days_of(5_000)

    def choice(auto: tuple[int, int, float], export: tuple[int, int, float]) -> Choice:
        hourly = Price("hourly", 24, 9, 9.0, 0.0)
        ways = [hourly, Price("auto", *auto, 0.0), Price("export", *export, 0.0)]
        return choose(estimate, ways)

    assert choice((3, 9, 9.0), (4, 1, 1.0)).way == "auto"
    assert choice((3, 9, 1.0), (3, 8, 9.0)).why == "3 requests instead of 24 by the hour"
    assert choice((3, 9, 1.0), (3, 8, 9.0)).way == "export"
    assert choice((3, 9, 9.0), (3, 9, 8.0)).way == "export"
    assert choice((3, 9, 9.0), (3, 9, 9.0)).way == "auto"
    assert choice((24, 9, 9.0), (24, 9, 9.0)).why == "24 requests"
    why = choose(estimate, priced(estimate).values()).why
    assert why == "1 request instead of 24 by the hour or 3 by an export"


def test_size_and_time_follow_from_the_pace() -> None:
    pace = Pace(answer=2.0, transfer=1e6, export_rows=1e3, event_bytes=500, row_bytes=250)
    hourly, auto, export = prices(days_of(100_000), FREE, concurrency=4, pace=pace)
    assert (hourly.size, auto.size, export.size) == (50_000_000, 50_000_000, 25_000_000)
    assert hourly.seconds == 24 * 2 / 4 + 50
    assert auto.seconds == 10 * 2 / 4 + 50
    assert export.seconds == 100 + 25


def test_nothing_is_guessed() -> None:
    unknown = Estimate(FIRST, FIRST + timedelta(days=9), None, frozenset({FIRST}))
    found = priced(unknown)
    assert (unknown.events, unknown.days) == (None, 1)
    assert [each.requests for each in found.values()] == [240, 1, 3]
    assert {(each.size, each.seconds) for each in found.values()} == {(None, None)}
    assert choose(unknown, found.values()).way == "auto"


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([{"date": "2026-01-01", "impressions": 3, "clicks": 2, "revenue": "9"}], {FIRST: 5}),
        ([{"day": "2026-01-01", "requests": 3}], None),
        ([{"date": "2026-01-01T00:00:00Z", "requests": 3}], None),
        ([{"date": "2026-01-01", "clicks": 1}, {"date": "2026-01-01", "skips": 1}], {FIRST: 2}),
        ([{"date": "2025-01-01", "clicks": 1}], None),
        ([{"date": "2026-13-01", "clicks": 1}], None),
        ([{"date": "2026-01-01", "clicks": True}], None),
        ([{"date": "2026-01-01", "revenue": "1.0"}], None),
        ([{"impressions": 3}], None),
        ([], None),
    ],
)
def test_counts_come_from_any_summary_that_has_them(rows: Any, counts: Any) -> None:
    summary = Summary.model_validate({"rows": rows})
    assert Estimate.of(summary, FIRST, FIRST + timedelta(days=5)).counts == counts


def test_the_price_is_what_a_pull_costs(reference: LocalServer) -> None:
    with Client(reference.url, api_key=reference.api_key, partner="acme") as client:
        first, last = client.dates()
        estimate = Estimate.of(client.summary(first, last, group_by="day"), first, last)
        for price in prices(estimate, client.quota)[:2]:
            reference.journal.clear()
            assert price.way != "export"
            events = len(list(client.events(first, last, split=price.way, check="none").rows()))
            assert events == 3_000
            assert len(reference.journal.entries()) == price.requests
    assert estimate.days == 2
    assert estimate.events is not None
    assert 2_500 < estimate.events < 3_000


def test_questions_are_as_many_as_waiting_asks() -> None:
    assert [polls_within(seconds) for seconds in (0, 1, 2, 30, 3600)] == [1, 1, 2, 7, 69]
