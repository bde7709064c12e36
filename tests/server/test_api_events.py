"""Events, summary and dates over HTTP: the stored bytes, with their place in the range."""

from collections.abc import Callable

import httpx

from adanalytics_server.storage.events import Record, decode_event

API = "/api/partners/acme/ad-analytics"
MakeRecord = Callable[..., Record]
AddRecords = Callable[[list[Record]], None]
HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}


def test_a_page_says_where_it_stands(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    records = [make_record(START + second * 1000, second) for second in range(7)]
    add_records(records)
    answer = http.get(f"{API}/events", params={**RANGE, "page": "2", "per_page": "3"})
    assert answer.json().keys() == {"data", "meta"}
    assert answer.json()["meta"] == {"total": 7, "page": 2, "per_page": 3}
    assert b",".join(record.body for record in records[3:6]) in answer.content
    last = http.get(f"{API}/events", params={**RANGE, "page": "3", "per_page": "3"}).json()
    assert last["meta"]["total"] == 7
    assert last["data"] == [answer_event(records[6])]


def answer_event(record: Record) -> dict[str, object]:
    event = decode_event(record.body)
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_defaults_are_page_one_of_a_thousand(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    add_records([make_record(START + n, n) for n in range(1001)])
    body = http.get(f"{API}/events", params=RANGE).json()
    assert len(body["data"]) == 1000
    assert body["meta"]["per_page"] == 1000


def test_an_hour_is_taken_from_each_day(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    add_records(
        [make_record(START, 1), make_record(START + HOUR, 2), make_record(START + 24 * HOUR, 3)]
    )
    body = http.get(f"{API}/events", params={**RANGE, "hour": "22"}).json()
    assert [event["event_date"] for event in body["data"]] == ["2026-01-31", "2026-02-01"]
    assert http.get(f"{API}/dates").json() == {"dates": ["2026-01-31", "2026-02-01"]}


def test_a_range_without_data_is_an_empty_success(http: httpx.Client) -> None:
    body = http.get(f"{API}/events", params=RANGE)
    assert body.status_code == 200
    assert body.json() == {"data": [], "meta": {"total": 0, "page": 1, "per_page": 1000}}
    summary = http.get(f"{API}/summary", params={**RANGE, "group_by": "campaign"}).json()
    assert summary["data"] == []
    totals = summary["meta"].pop("totals")
    assert (totals["revenue"], totals["requests"], totals["ecpm"]) == ("0.000000000", 0, None)
    assert summary["meta"] == {
        "total": 0,
        "page": 1,
        "per_page": 1000,
        "group_by": "campaign",
        **RANGE,
        "currency": "USD",
        "timezone": "UTC",
    }


def test_a_summary_writes_rates_with_six_digits(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    add_records(
        [make_record(START + n, n) for n in range(3)]
        + [make_record(START + 9, 9, event_type="click", revenue=0, cost=None)]
    )
    answer = http.get(f"{API}/summary", params=RANGE)
    assert b'"ctr":0.333333,' in answer.content
    assert answer.json()["meta"]["totals"]["ecpm"] == "2.500000"
    assert answer.json()["meta"]["currency"] == "USD"
