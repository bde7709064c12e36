"""Dialects of rows: what goes over the wire in place of the events, page by page."""

import csv
import io
import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

import httpx
import msgspec
import pytest
from tests.server.speaking import DAY, speaking

from adanalytics_server.clock import Clock
from adanalytics_server.faults.dialects import ROWS, dialect_of
from adanalytics_server.local import Sample

SAMPLE = Sample(events_per_day=250)


def exact(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def rows_by_page(http: httpx.Client, **params: str) -> list[Any]:
    """Pull by pages of 40 as the documentation says, until the total is there."""
    rows: list[Any] = []
    for page in range(1, 20):
        answer = http.get("/events", params={**DAY, "per_page": 40, "page": page, **params})
        body = exact(answer.text)
        rows += body["data"]
        if len(rows) >= body["meta"]["total"]:
            return rows
    raise AssertionError("the pages do not end")


@pytest.fixture(scope="module")
def events() -> list[Any]:
    clock = Clock()
    with speaking("reference", clock, sample=SAMPLE) as http:
        return rows_by_page(http)


@pytest.mark.parametrize("dialect", sorted(ROWS.keys() - {"served-at", "times-local"}))
def test_pages_are_those_of_the_function_over_the_events(
    dialect: str, clock: Clock, events: list[Any]
) -> None:
    expected = exact(msgspec.json.encode(dialect_of(dialect).rows(events)).decode())
    with speaking(dialect, clock, sample=SAMPLE) as http:
        assert rows_by_page(http) == expected
        hours = [row for hour in range(24) for row in rows_by_page(http, hour=str(hour))]
        assert hours == expected
        assert http.get("/dates").json() == {"dates": ["2026-01-15"]}


def first(dialect: str, clock: Clock) -> dict[str, Any]:
    with speaking(dialect, clock, sample=SAMPLE) as http:
        row: dict[str, Any] = exact(http.get("/events", params=DAY).text)["data"][0]
    return row


def test_counters_are_one_row_per_auction(clock: Clock, events: list[Any]) -> None:
    with speaking("fields-counters", clock, sample=SAMPLE) as http:
        rows = rows_by_page(http)
    auctions = defaultdict(list)
    for event in events:
        auctions[event["event_hour"], event["auction_id"]].append(event)
    assert len(rows) == len(auctions) < len(events)
    assert not rows[0].keys() & {"event_id", "event_type", "event_date", "event_hour"}
    assert rows[0]["ymdh"] == f"2026-01-15T{events[0]['event_hour']:02}:00:00"
    for name in ("usable_requests", "impressions", "completions", "clicks"):
        assert {row[name] for row in rows} <= {0, 1}
    assert sum(row["clicks"] for row in rows) == sum(
        any(event["event_type"] == "click" for event in group) for group in auctions.values()
    )
    assert all(len(row["revenue"].partition(".")[2]) == 10 for row in rows)
    total = sum(Decimal(event["revenue"]) for event in events)
    assert sum(Decimal(row["revenue"]) for row in rows) == total


def test_names_and_ids_of_other_kinds(clock: Clock, events: list[Any]) -> None:
    camel = first("fields-camel", clock)
    assert len(camel) == len(events[0])
    assert (camel["eventId"], camel["keyValues"]) == (
        events[0]["event_id"],
        events[0]["key_values"],
    )
    with speaking("fields-ids", clock, sample=SAMPLE) as http:
        rows = rows_by_page(http)
    assert len({row["id"] for row in rows}) == len(events)
    assert max(row["id"] for row in rows) > 2**63
    assert all(2**53 < row["auction_id"] < 2**63 for row in rows)
    assert "event_id" not in rows[0]


def test_values_of_other_kinds(clock: Clock, events: list[Any]) -> None:
    event = events[0]
    number = first("amounts-number", clock)["revenue"]
    assert (f"{number:f}", type(number)) == (event["revenue"], Decimal)
    shortest = first("amounts-float", clock)["revenue"]
    assert shortest == Decimal(event["revenue"])
    assert len(str(shortest)) <= len(event["revenue"])
    time = event["event_time"]
    assert first("times-nanoseconds", clock)["event_time"] == f"{time[:-1]}000001Z"
    assert first("times-zoneless", clock)["event_time"] == time[:-1]
    assert first("times-offset", clock)["event_time"].endswith("-05:00")
    assert str(first("times-epoch", clock)["event_time"]).endswith(time[-5:-1])


def test_days_and_hours_may_be_those_of_another_zone(clock: Clock) -> None:
    day = {"start_date": "2026-01-16", "end_date": "2026-01-16"}
    sample = Sample(days=3, events_per_day=240)
    with speaking("reference", clock, sample=sample) as http:
        params = {"start_date": "2026-01-16", "end_date": "2026-01-17"}
        both = http.get("/events", params=params).json()["data"]
    expected = [
        row["event_id"] for row in both if "2026-01-16T05" <= row["event_time"] < "2026-01-17T05"
    ]
    with speaking("times-local", clock, sample=sample) as http:
        rows = http.get("/events", params=day).json()["data"]
        hours = [
            row
            for hour in range(24)
            for row in http.get("/events", params={**day, "hour": hour}).json()["data"]
        ]
    assert [row["event_id"] for row in rows] == expected
    assert hours == rows
    for row in rows:
        assert row["event_time"][:13] == f"{row['event_date']}T{row['event_hour']:02}"
        assert row["event_date"] == "2026-01-16"


def test_ids_that_are_none(clock: Clock, events: list[Any]) -> None:
    assert first("ids-empty", clock)["event_id"] == ""
    assert first("ids-nil", clock)["event_id"] == "00000000-0000-0000-0000-000000000000"
    assert first("ids-auction", clock)["event_id"] == events[0]["auction_id"]


def test_a_time_of_the_answer_differs_in_each(clock: Clock) -> None:
    with speaking("served-at", clock, sample=SAMPLE) as http:
        one, other = (http.get("/events", params=DAY).json()["data"] for _ in range(2))
    assert {row["served_at"] for row in one} != {row["served_at"] for row in other}
    assert [row.pop("served_at") for row in (*one, *other)]
    assert one == other


@pytest.mark.parametrize("dialect", sorted(ROWS.keys() - {"served-at", "times-local"}))
def test_exports_have_the_same_rows(dialect: str, clock: Clock, events: list[Any]) -> None:
    expected = exact(msgspec.json.encode(dialect_of(dialect).rows(events)).decode())
    with speaking(dialect, clock, sample=SAMPLE) as http:

        def download(form: str) -> str:
            job = http.post("/bulk-export", json={**DAY, "format": form}).json()
            assert job["row_count"] == len(expected)
            return httpx.get(job["download_url"]).text

        assert [exact(line) for line in download("jsonl").splitlines()] == expected
        rows = list(csv.DictReader(io.StringIO(download("csv"))))
        assert [list(row) for row in rows] == [list(row) for row in expected]
        name = next(name for name in expected[0] if name.startswith(("event", "ymdh", "id")))
        assert [row[name] for row in rows] == [
            value if isinstance(value := row[name], str) else str(value) for row in expected
        ]
        refused = http.post("/bulk-export", json={**DAY, "format": "parquet"})
        assert refused.status_code == 400


def test_rows_ends_and_shapes_combine(clock: Clock, events: list[Any]) -> None:
    dialect = "hints,fields-camel,amounts-number,hour-ignored"
    with speaking(dialect, clock, sample=SAMPLE) as http:
        body = http.get("/events", params={**DAY, "hour": "3"}).json()
    assert body["pagination"]["total"] == len(events)
    assert [row["eventId"] for row in body["events"]] == [event["event_id"] for event in events]
