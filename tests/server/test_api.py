"""Events, dates and summaries over HTTP: pages join to the events, sums are exact, errors named."""

import gzip
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.records import make_record

from adanalytics_server.api.summaries import read_summary
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.dimensions import DIMENSIONS, GROUP_COLUMNS, Grouping
from adanalytics_server.storage.events import EVENT_TYPES, LogEvent, Record, decode_event
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import (
    HourReplaced,
    Span,
    cut,
    read_in_parts,
    read_page,
    read_pieces,
    read_spans,
)
from adanalytics_server.storage.schema import COUNTERS
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"
AddRecords = Callable[[list[Record]], None]
HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}


def test_a_page_says_where_it_stands(http: httpx.Client, add_records: AddRecords) -> None:
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


def test_defaults_are_page_one_of_a_thousand(http: httpx.Client, add_records: AddRecords) -> None:
    add_records([make_record(START + n, n) for n in range(1001)])
    body = http.get(f"{API}/events", params=RANGE).json()
    assert len(body["data"]) == 1000
    assert body["meta"]["per_page"] == 1000


def test_an_hour_is_taken_from_each_day(http: httpx.Client, add_records: AddRecords) -> None:
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
    http: httpx.Client, add_records: AddRecords
) -> None:
    add_records(
        [make_record(START + n, n) for n in range(3)]
        + [make_record(START + 9, 9, event_type="click", revenue=0, cost=None)]
    )
    answer = http.get(f"{API}/summary", params=RANGE)
    assert b'"ctr":0.333333,' in answer.content
    assert answer.json()["meta"]["totals"]["ecpm"] == "2.500000"
    assert answer.json()["meta"]["currency"] == "USD"


# Two hours before the end of January 2026, so that a range crosses a month.
DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))


def all_pages(store: PartnerStore, days: DayRange, per_page: int) -> list[bytes]:
    bodies: list[bytes] = []
    number = 1
    while True:
        page = read_page(store, days, page=number, per_page=per_page)
        bodies += split_pieces(page.pieces)
        if len(bodies) >= page.total:
            return bodies
        assert page.pieces, "an empty page before the last one"
        number += 1


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6), per_page=st.integers(1, 60))
def test_pages_joined_are_the_events(counts: list[int], per_page: int) -> None:
    records = [
        make_record(START + hour * HOUR + second, hour * 100 + second)
        for hour, count in enumerate(counts)
        for second in range(count)
    ]
    with TemporaryDirectory() as folder:
        store = PartnerStore(Path(folder))
        ingest(store, records)
        assert all_pages(store, DAYS, per_page) == [record.body for record in records]
        chunks = [
            split_pieces(pieces)
            for pieces in read_in_parts(store, read_spans(store, DAYS), rows=per_page)
        ]
        store.close()
    assert [body for chunk in chunks for body in chunk] == [record.body for record in records]
    assert all(0 < len(chunk) <= per_page for chunk in chunks)


def test_an_hour_of_the_day_is_taken_from_every_day_also_before_1970(store: PartnerStore) -> None:
    day = 24 * HOUR
    records = [make_record(-day + 5 * HOUR, 1), make_record(5 * HOUR, 2), make_record(6 * HOUR, 3)]
    ingest(store, records)
    days = DayRange(date(1969, 12, 31), date(1970, 1, 1), hour=5)
    page = read_page(store, days, page=1, per_page=10)
    assert split_pieces(page.pieces) == [records[0].body, records[1].body]
    assert page.total == 2


def test_a_page_after_the_last_is_empty_and_knows_the_total(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1)])
    page = read_page(store, DAYS, page=2**63 - 1, per_page=10_000)
    assert (page.pieces, page.total) == ([], 1)


def test_a_page_that_was_served_stays_when_late_data_arrives(store: PartnerStore) -> None:
    days = DayRange(date(2026, 1, 31), date(2026, 1, 31), hour=22)
    ingest(store, [make_record(START + second, second) for second in range(10, 20)])
    before = read_page(store, days, page=1, per_page=5)
    ingest(store, [make_record(START, 99)])
    assert read_page(store, days, page=1, per_page=5) == before._replace(total=11)
    assert read_page(store, days, page=3, per_page=5).pieces == [make_record(START, 99).body]


def test_rows_that_vanish_while_they_are_read_are_noticed(store: PartnerStore) -> None:
    ingest(store, [make_record(START + second, second) for second in range(3)])
    spans = read_spans(store, DAYS)
    ingest(store, [make_record(START, 50)], replace_hours={START // HOUR})
    with pytest.raises(HourReplaced):
        read_pieces(store, spans)


def test_cut_takes_parts_of_the_first_and_last_span() -> None:
    spans = [Span(1, 0, 4), Span(2, 7, 3), Span(5, 0, 2)]
    assert cut(spans, 3, 5) == [Span(1, 3, 1), Span(2, 7, 3), Span(5, 0, 1)]
    assert cut(spans, 9, 5) == []


MONEY = st.integers(-(10**13), 10**13)


def over_events(events: list[LogEvent]) -> dict[str, Any]:
    """Add up by the definition of each column, with Decimal and from the served events only."""
    counted = [event for event in events if not event.is_filtered]
    counts = {
        counter: sum(event.event_type == name for event in counted)
        for counter, name in zip(COUNTERS, EVENT_TYPES, strict=True)
    }
    revenue = sum((Decimal(event.revenue) for event in counted), Decimal())
    cost = sum((Decimal(event.cost) for event in counted if event.cost), Decimal())

    def divided(top: Decimal | int, bottom: Decimal | int) -> Decimal | None:
        with localcontext() as context:
            context.prec = 60
            if not bottom:
                return None
            exact = Decimal(top) / Decimal(bottom)
            return exact.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)

    requests, shown = counts["requests"], counts["impressions"]
    return {
        **counts,
        "revenue": revenue,
        "cost": cost,
        "profit": revenue - cost,
        "fill_rate": divided(shown, requests),
        "ctr": divided(counts["clicks"], shown),
        "vcr": divided(counts["completions"], shown),
        "completion_rate_started": divided(counts["completions"], counts["starts"]),
        "error_rate": divided(counts["errors"], requests),
        "margin": divided(revenue - cost, revenue),
        "ecpm": divided(revenue * 1000, shown),
        "rpm": divided(revenue * 1000, requests),
        "cpm_cost": divided(cost * 1000, shown),
    }


def served(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as its JSON says it, with every number of it exact."""
    return {
        name: value if value is None or isinstance(value, int) else Decimal(str(value))
        for name, value in row.items()
        if name not in GROUP_COLUMNS
    }


def summary_of(store: PartnerStore, group_by: Grouping | None) -> dict[str, Any]:
    body = msgspec.json.encode(read_summary(store, DAYS, group_by=group_by, currency="USD"))
    decoded: dict[str, Any] = msgspec.json.Decoder(float_hook=Decimal).decode(body)
    return decoded


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 4 * 3_600_000 - 1),
            st.sampled_from(EVENT_TYPES),
            st.sampled_from([None, 1, 2, -3]),
            MONEY,
            st.none() | MONEY,
            st.booleans(),
        ),
        max_size=25,
    )
)
def test_every_grouping_equals_the_arithmetic_over_events(
    rows: list[tuple[int, str, int | None, int, int | None, bool]],
) -> None:
    records = sorted(
        make_record(
            START + offset,
            number,
            event_type=event_type,
            campaign_id=campaign,
            demand_tag_id=campaign,
            revenue=revenue,
            cost=cost,
            is_filtered=filtered,
        )
        for number, (offset, event_type, campaign, revenue, cost, filtered) in enumerate(rows)
    )
    with TemporaryDirectory() as folder:
        store = PartnerStore(Path(folder))
        ingest(store, records)
        page = read_page(store, DAYS, page=1, per_page=10_000)
        events = [decode_event(body) for body in split_pieces(page.pieces)]
        fields: list[tuple[Grouping, str]] = [("day", "event_date")]
        fields += [(dimension.name, dimension.id_field) for dimension in DIMENSIONS]
        for group_by, key in fields:
            summary = summary_of(store, group_by)
            assert served(summary["totals"]) == over_events(events)
            groups = defaultdict(list)
            for event in events:
                if not event.is_filtered:
                    groups[getattr(event, key)].append(event)
            name = "date" if group_by == "day" else f"{group_by}_id"
            assert [row[name] for row in summary["summary"]] == sorted(
                groups, key=lambda value: (value is None, value or 0)
            )
            for row in summary["summary"]:
                assert served(row) == over_events(groups[row[name]])
        store.close()


def test_without_grouping_there_is_one_row_the_total(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1)])
    summary = summary_of(store, None)
    assert summary["summary"] == [summary["totals"]]
    assert (summary["group_by"], summary["timezone"]) == (None, "UTC")


def test_a_day_may_earn_more_than_64_bits_of_nanos(store: PartnerStore) -> None:
    most = 10**18
    ingest(store, [make_record(START + n, n, revenue=most, cost=-most) for n in range(30)])
    ingest(store, [make_record(START + n, 100 + n, revenue=most, cost=1) for n in range(30)])
    totals = summary_of(store, "day")["totals"]
    assert totals["revenue"] == "60000000000.000000000"
    assert totals["cost"] == "-29999999999.999999970"


@pytest.mark.parametrize(("name", "expected"), [({(1, 7): "Spring"}, "Spring"), ({}, None)])
def test_a_campaign_has_the_name_that_was_loaded_or_none(
    store: PartnerStore, name: dict[tuple[int, int], str], expected: str | None
) -> None:
    ingest(store, [make_record(START, 1), make_record(START, 2, campaign_id=None)], names=name)
    rows = summary_of(store, "campaign")["summary"]
    assert [row["campaign_name"] for row in rows] == [expected, None]


RANGE_TEXT = "start_date=2026-01-01&end_date=2026-01-02"


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("events?end_date=2026-01-02", "start_date", "is required"),
        ("events?start_date=2026-01-01", "end_date", "is required"),
        ("events?start_date=1767225600&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-1-1&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=20260101&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-01-01T00:00:00Z&end_date=2026-01-02", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-02-30&end_date=2026-03-01", "start_date", "an existing day"),
        ("events?start_date=&end_date=2026-03-01", "start_date", "YYYY-MM-DD"),
        ("events?start_date=٢٠٢٦-01-01&end_date=2026-03-01", "start_date", "YYYY-MM-DD"),
        ("events?start_date=2026-01-03&end_date=2026-01-02", "end_date", "before start_date"),
        (f"events?{RANGE_TEXT}&hour=24", "hour", "less than or equal to 23"),
        (f"events?{RANGE_TEXT}&hour=-1", "hour", "greater than or equal to 0"),
        (f"events?{RANGE_TEXT}&hour=1.0", "hour", "whole number"),
        (f"events?{RANGE_TEXT}&hour=-0", "hour", "whole number"),
        (f"events?{RANGE_TEXT}&hour=", "hour", "whole number"),
        (f"events?{RANGE_TEXT}&page=0", "page", "greater than or equal to 1"),
        (f"events?{RANGE_TEXT}&page=-1", "page", "greater than or equal to 1"),
        (f"events?{RANGE_TEXT}&page=1e3", "page", "whole number"),
        (f"events?{RANGE_TEXT}&page=1_000", "page", "whole number"),
        (f"events?{RANGE_TEXT}&page=9223372036854775808", "page", "less than or equal to"),
        (f"events?{RANGE_TEXT}&page={'9' * 5000}", "page", "whole number"),
        (f"events?{RANGE_TEXT}&per_page=10001", "per_page", "less than or equal to 10000"),
        (f"events?{RANGE_TEXT}&per_page=0", "per_page", "greater than or equal to 1"),
        (f"events?{RANGE_TEXT}&page=1&page=1", "page", "must not be repeated"),
        (f"events?{RANGE_TEXT}&per_pgae=5", "per_pgae", "is not a parameter"),
        (f"events?{RANGE_TEXT}&=5", "(no name)", "is not a parameter"),
        (f"summary?{RANGE_TEXT}&group_by=os", "group_by", "'day', 'campaign' or 'demand_tag'"),
        (f"summary?{RANGE_TEXT}&group_by=", "group_by", "'day', 'campaign' or 'demand_tag'"),
        (f"summary?{RANGE_TEXT}&hour=1", "hour", "is not a parameter"),
        ("dates?start_date=2026-01-01", "start_date", "is not a parameter"),
    ],
)
def test_a_bad_parameter_is_named(http: httpx.Client, path: str, field: str, message: str) -> None:
    answer = http.get(f"{API}/{path}")
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith(f"{field} ")
    assert message in answer.json()["error"]


def test_a_loose_server_lets_unknown_parameters_pass() -> None:
    with LocalServer(loose=True) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        url = f"{server.url}{API}/dates"
        assert httpx.get(url, params={"cache": "1"}, headers=headers).status_code == 200
        assert httpx.get(f"{url}?a=1&a=2", headers=headers).status_code == 400


GOOD = '{"start_date":"2026-01-01","end_date":"2026-01-02","format":"csv"}'


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ("", "body", "invalid JSON"),
        ("{", "body", "invalid JSON"),
        (GOOD + "x", "body", "invalid JSON"),
        ('"text"', "body", "object"),
        ("[" * 100_000, "body", "invalid JSON"),
        ('{"start_date":"2026-01-01","end_date":"2026-01-02"}', "format", "is required"),
        (GOOD.replace("csv", "xls"), "format", "'csv', 'jsonl' or 'parquet'"),
        (GOOD.replace('"2026-01-01"', "1767225600"), "start_date", "string"),
        (GOOD.replace("2026-01-01", "2026-01-32"), "start_date", "an existing day"),
        (GOOD.replace("2026-01-01", "2026-01-03"), "end_date", "before start_date"),
        (GOOD.replace("}", ',"extra":1}'), "extra", "is not a field"),
        (GOOD.replace("}", ',"compression":"zip"}'), "compression", "'none' or 'gzip'"),
    ],
)
def test_a_bad_body_is_named(http: httpx.Client, body: str, field: str, message: str) -> None:
    answer = http.post(
        f"{API}/bulk-export", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith(f"{field} ")
    assert message in answer.json()["error"]


def test_a_password_that_does_not_fit_is_not_sent_back(server: LocalServer) -> None:
    body = {"email": "a@example.com", "password": ["hunter2"]}
    answer = httpx.post(f"{server.url}/api/auth/login", json=body)
    assert answer.status_code == 400
    assert "hunter2" not in answer.text


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_415(http: httpx.Client, content_type: str) -> None:
    answer = http.post(f"{API}/bulk-export", content=GOOD, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()) == (415, {"error": "Unsupported Media Type"})


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("x", 415), ("Identity", 200)])
def test_a_packed_body_is_415(http: httpx.Client, encoding: str, status: int) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    body = gzip.compress(GOOD.encode()) if encoding == "gzip" else GOOD.encode()
    answer = http.post(f"{API}/bulk-export", content=body, headers=headers)
    assert answer.status_code == status
    if status == 415:
        assert answer.json() == {"error": "Unsupported Media Type"}
        assert answer.headers["accept-encoding"] == "identity"


def test_a_body_over_one_mebibyte_is_413_announced_or_not(http: httpx.Client) -> None:
    too_long = b" " * (1 << 20) + GOOD.encode()
    headers = {"Content-Type": "application/json"}
    announced = http.post(f"{API}/bulk-export", content=too_long, headers=headers)
    assert (announced.status_code, announced.json()) == (413, {"error": "Content Too Large"})
    chunks = (too_long[at : at + 65_536] for at in range(0, len(too_long), 65_536))
    chunked = http.post(f"{API}/bulk-export", content=chunks, headers=headers)
    assert (chunked.status_code, chunked.json()) == (413, {"error": "Content Too Large"})


@pytest.mark.parametrize("path", ["/nowhere", "/api", f"{API}/", f"{API}/events/1", "/docs"])
def test_an_unknown_path_is_404_in_the_same_shape(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", f"{API}/dates", "GET"),
        ("DELETE", f"{API}/events", "GET"),
        ("GET", f"{API}/bulk-export", "POST"),
        ("GET", "/api/auth/login", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
        ("PUT", "/_control/clock", "GET, POST"),
        ("PATCH", "/_control/faults", "DELETE, GET, POST"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_one(
    http: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, answer.json()) == (405, {"error": "Method Not Allowed"})
    assert answer.headers["allow"] == allowed


def test_every_answer_carries_a_request_id_of_its_own(http: httpx.Client) -> None:
    answers = [http.get(path) for path in (f"{API}/dates", "/nowhere", f"{API}/events")]
    assert [answer.status_code for answer in answers] == [200, 404, 400]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3


def test_a_failure_inside_is_a_plain_500_and_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with LocalServer() as server, httpx.Client(base_url=server.url) as http:
        http.headers["Authorization"] = f"Bearer {server.api_key}"
        folder = server.settings.data / "partners" / "1"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            (folder / name).unlink(missing_ok=True)
        (folder / "ledger.db").write_bytes(b"no database" * 500)
        answer = http.get(f"{API}/dates")
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal Server Error"})
        request = answer.headers["x-request-id"]
        assert [record for record in caplog.records if request in record.message]
        assert http.get(f"{API}/nowhere").status_code == 404
