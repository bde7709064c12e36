"""Dialects of shapes, rows and ends: what each changes of the answers, and nothing else."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.server.speaking import API, DAY, ORDER, speaking

from adanalytics_server.clock import Clock
from adanalytics_server.dialect import HEADER, Dialect
from adanalytics_server.faults.dialects import DIALECTS, ENDS, ROWS, DialectError, dialect_of
from adanalytics_server.local import LocalServer, Sample, event

NOW = 1_769_904_000  # of the frozen clock, in seconds


def page(http: httpx.Client, number: int = 2) -> httpx.Response:
    return http.get("/events", params={**DAY, "per_page": 10, "page": number})


@pytest.fixture(scope="module")
def reference() -> tuple[list[Any], Any]:
    """The rows of the second page, and the summary by day, without a dialect."""
    with speaking("reference", Clock()) as http:
        summary = http.get("/summary", params={**DAY, "group_by": "day"})
        return page(http).json()["data"], summary.json()


META = {"total": 25, "page": 2, "per_page": 10}
NUMBERS = {**META, "total_pages": 3, "has_more": True}


@pytest.mark.parametrize(
    ("dialect", "rows_of", "rest"),
    [
        ("reference", lambda body: body.pop("data"), {"meta": META}),
        ("hints", lambda body: body.pop("events"), {"pagination": NUMBERS}),
        ("envelope-events", lambda body: body.pop("events"), {"meta": META}),
        ("envelope-results", lambda body: body.pop("results"), {"meta": META}),
        ("envelope-items,meta-object", lambda body: body.pop("items"), {"meta": NUMBERS}),
        ("meta-pagination", lambda body: body.pop("data"), {"pagination": NUMBERS}),
        ("meta-flat", lambda body: body.pop("data"), NUMBERS),
        ("meta-has-more", lambda body: body.pop("data"), {"page": 2, "has_more": True}),
        ("meta-pages", lambda body: body.pop("data"), {"page": 2, "total_pages": 3}),
        ("meta-next", lambda body: body.pop("data"), {"next_page": 3}),
        ("meta-header", lambda body: body.pop("data"), {}),
        ("meta-none", lambda body: body.pop("data"), {}),
        ("envelope-nested", lambda body: body["data"].pop("events"), {"data": {"meta": META}}),
    ],
)
def test_rows_and_page_numbers_are_where_the_dialect_has_them(
    clock: Clock,
    reference: tuple[list[Any], Any],
    dialect: str,
    rows_of: Callable[[Any], list[Any]],
    rest: dict[str, Any],
) -> None:
    with speaking(dialect, clock) as http:
        answer = page(http)
    body = answer.json()
    assert rows_of(body) == reference[0]
    assert body == rest
    assert ("x-total-count" in answer.headers) == (dialect == "meta-header")


def test_a_bare_array_has_its_numbers_in_headers_or_nowhere(clock: Clock) -> None:
    with speaking("envelope-array", clock) as http:
        answer = page(http)
        assert len(answer.json()) == 10
        names = ("x-page", "x-per-page", "x-total-count", "x-total-pages")
        assert [answer.headers[name] for name in names] == ["2", "10", "25", "3"]
    with speaking("envelope-array,meta-none", clock) as http:
        answer = page(http, 4)
        assert answer.json() == []
        assert "x-total-count" not in answer.headers


@pytest.mark.parametrize(
    ("dialect", "rows_of", "facts_of"),
    [
        ("reference", lambda body: body["data"], lambda body: body["meta"]),
        ("hints", lambda body: body["summary"], lambda body: body),
        ("envelope-results", lambda body: body["results"], lambda body: body["meta"]),
        ("classic", lambda body: body["results"], lambda body: body),
        (
            "envelope-nested",
            lambda body: body["data"]["summary"],
            lambda body: body["data"]["meta"],
        ),
        ("envelope-array", lambda body: body, None),
        ("summary-object", lambda body: [body["data"]], lambda body: body["meta"]),
    ],
)
def test_summaries_have_their_rows_in_the_same_envelope(
    clock: Clock,
    reference: tuple[list[Any], Any],
    dialect: str,
    rows_of: Callable[[Any], list[Any]],
    facts_of: Callable[[Any], Any] | None,
) -> None:
    with speaking(dialect, clock) as http:
        body = http.get("/summary", params={**DAY, "group_by": "day"}).json()
    _, summary = reference
    assert rows_of(body) == summary["data"]
    if facts_of is not None:
        names = ("group_by", "start_date", "end_date", "currency", "timezone", "totals")
        assert [facts_of(body)[name] for name in names] == [summary["meta"][name] for name in names]


@pytest.mark.parametrize(
    ("dialect", "url_of"),
    [
        ("link-url", lambda answer: answer.json()["url"]),
        ("link-file-url", lambda answer: answer.json()["file_url"]),
        ("link-location", lambda answer: answer.json()["location"]),
        ("link-relative", lambda answer: answer.json()["download_url"]),
        ("link-header", lambda answer: answer.headers["location"]),
    ],
)
def test_an_export_has_its_address_where_the_dialect_has_it(
    clock: Clock, dialect: str, url_of: Callable[[httpx.Response], str]
) -> None:
    with speaking(dialect, clock) as http:
        answer = http.post("/bulk-export", json=ORDER)
        url = url_of(answer)
        assert url.startswith("/exports/") == (dialect == "link-relative")
        assert ("download_url" in answer.json()) == (dialect == "link-relative")
        file = httpx.get(answer.url.join(url))
        assert (file.status_code, len(file.text.splitlines())) == (200, 26)


def test_an_export_may_be_a_job_and_a_word(clock: Clock) -> None:
    with speaking("export-job", clock) as http:
        order = http.post("/bulk-export", json=ORDER)
        assert order.json() == {"job_id": order.json()["job_id"], "status": "completed"}
        assert "location" not in order.headers
        state = http.get(f"/bulk-export/{order.json()['job_id']}").json()
        assert state.keys() == {"job_id", "status", "url"}
        assert len(httpx.get(state["url"]).text.splitlines()) == 26


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("status-upper", {"PENDING", "IN_PROGRESS", "COMPLETED"}),
        ("status-done", {"queued", "running", "done"}),
        ("status-success", {"waiting", "inProgress", "success"}),
    ],
)
def test_the_states_of_an_export_have_other_words(
    clock: Clock, dialect: str, words: set[str]
) -> None:
    for inline_max in (50_000, 0):
        with speaking(dialect, clock, inline_max=inline_max) as http:
            assert http.post("/bulk-export", json=ORDER).json()["status"] in words


def test_every_set_of_words_tells_the_states_apart() -> None:
    states = ("pending", "processing", "completed", "failed", "expired")
    for name in ("reference", "status-upper", "status-done", "status-success"):
        words = dialect_of(name).words
        assert len({words.get(state, state) for state in states}) == len(states)


@pytest.mark.parametrize(
    ("dialect", "first", "retry_after"),
    [
        ("reference", {}, None),
        (
            "rate-headers",
            {"ratelimit-policy": '"hour";q=5;w=3600', "ratelimit": '"hour";r=4;t=3600'},
            "3600",
        ),
        (
            "rate-delta",
            {"x-ratelimit-limit": "5", "x-ratelimit-remaining": "4", "x-ratelimit-reset": "3600"},
            "3600",
        ),
        (
            "rate-epoch,retry-date",
            {
                "x-ratelimit-limit": "5",
                "x-ratelimit-remaining": "4",
                "x-ratelimit-reset": str(NOW + 3600),
            },
            NOW + 3600,
        ),
        ("rate-retry-after", {}, "3600"),
        (
            "rate-headers,retry-none",
            {"ratelimit-policy": '"hour";q=5;w=3600', "ratelimit": '"hour";r=4;t=3600'},
            None,
        ),
    ],
)
def test_the_request_limit_speaks_in_its_headers(
    clock: Clock, dialect: str, first: dict[str, str], retry_after: str | int | None
) -> None:
    with speaking(dialect, clock, limit=5) as http:
        answers = [http.get("/dates") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    found = {name: value for name, value in answers[0].headers.items() if "ratelimit" in name}
    assert found == first
    stated = answers[5].headers.get("retry-after")
    if isinstance(retry_after, int):
        assert parsedate_to_datetime(str(stated)).timestamp() == retry_after
    else:
        assert stated == retry_after


def test_the_window_slides_in_a_dialect_only(clock: Clock) -> None:
    clock.advance(seconds=1800)
    for dialect, statuses in (("reference", [200, 429, 200]), ("rate-sliding", [200, 429, 429])):
        with speaking(dialect, clock, limit=1) as http:
            found = [http.get("/dates").status_code for _ in range(2)]
            clock.advance(seconds=1800)
            assert [*found, http.get("/dates").status_code] == statuses
            clock.advance(seconds=1800)
            assert http.get("/dates").status_code == (200 if dialect == "rate-sliding" else 429)


def test_the_headers_of_waiting_follow_too(clock: Clock) -> None:
    with speaking("retry-date", clock) as http:
        http.post(str(http.base_url.join("/_control/faults")), json={"faults": ["stuck export"]})
        answer = http.post("/bulk-export", json=ORDER)
        for waiting in (answer, httpx.get(answer.json()["download_url"])):
            assert waiting.status_code == 202
            moment = parsedate_to_datetime(waiting.headers["retry-after"])
            assert moment.timestamp() == NOW + 1


def test_a_large_per_page_is_cut_instead_of_refused(clock: Clock) -> None:
    params = {**DAY, "per_page": "10001"}
    with speaking("reference", clock) as http:
        assert http.get("/events", params=params).status_code == 400
    with speaking("per-page-cut", clock) as http:
        answer = http.get("/events", params=params)
        assert answer.json()["meta"]["per_page"] == 10_000
        assert http.get("/events", params={**params, "per_page": "0"}).status_code == 400


def test_an_error_may_list_the_parameters_beside_its_text(clock: Clock) -> None:
    text = "hour must be a whole number; per_page should be greater than or equal to 1"
    params = {**DAY, "hour": "x", "per_page": "0"}
    with speaking("reference", clock) as http:
        assert http.get("/events", params=params).json() == {"error": text}
    with speaking("error-details", clock) as http:
        body = http.get("/events", params=params).json()
        assert body["error"] == text
        assert [detail["field"] for detail in body["details"]] == ["hour", "per_page"]
        assert http.get("/nowhere").json() == {"error": "Not Found"}


def test_every_choice_is_another_answer_and_says_why() -> None:
    for name, choice in DIALECTS.items():
        assert choice.description
        assert choice.reason
        assert (dialect_of(name) == Dialect()) == (name == "reference")


def test_choices_combine_and_refine_a_set() -> None:
    flat = {name: name for name in NUMBERS}
    none = Dialect(envelope="events", summary_envelope="summary", metadata={}, facts="")
    assert dialect_of("envelope-items, META-FLAT") == Dialect(
        envelope="items", metadata=flat, facts=""
    )
    assert dialect_of("hints,meta-none") == none
    for names in ("bare,meta-header", "modern,envelope-array"):
        assert dialect_of(names).metadata["total"] == f"{HEADER}X-Total-Count"
    assert dialect_of("bare").metadata == {}


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("", "Unknown dialect ''. Known dialects: reference, hints, modern"),
        ("envelope-items,", "Unknown dialect ''"),
        ("envelope", "Unknown dialect 'envelope'"),
        ("envelope-results,envelope-items", "'envelope-items' contradicts 'envelope-results'"),
        ("fields-ids,ids-nil", "'ids-nil' contradicts 'fields-ids'"),
        ("page-ignored,page-empty", "'page-empty' contradicts 'page-ignored'"),
        ("envelope-items,modern", "'modern' is a complete set: put it first"),
        ("modern,bare", "'bare' is a complete set"),
        ("envelope-array,meta-flat", "no room for page numbers"),
        ("bare,says-error", "no room beside the rows"),
    ],
)
def test_what_is_no_dialect_says_why(names: str, problem: str) -> None:
    with pytest.raises(DialectError) as caught:
        dialect_of(names)
    assert problem in str(caught.value)


def test_the_reference_page_has_every_choice_with_its_description() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "test-controls.md").read_text()
    for name, choice in DIALECTS.items():
        assert f"| `{name}` | {choice.description} |" in page


DAY_OF_EVENTS = Sample(events_per_day=250)


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
    with speaking("reference", clock, sample=DAY_OF_EVENTS) as http:
        return rows_by_page(http)


@pytest.mark.parametrize("dialect", sorted(ROWS.keys() - {"served-at", "times-local"}))
def test_pages_are_those_of_the_function_over_the_events(
    dialect: str, clock: Clock, events: list[Any]
) -> None:
    expected = exact(msgspec.json.encode(dialect_of(dialect).rows(events)).decode())
    with speaking(dialect, clock, sample=DAY_OF_EVENTS) as http:
        assert rows_by_page(http) == expected
        hours = [row for hour in range(24) for row in rows_by_page(http, hour=str(hour))]
        assert hours == expected
        assert http.get("/dates").json() == {"dates": ["2026-01-15"]}


def first(dialect: str, clock: Clock) -> dict[str, Any]:
    with speaking(dialect, clock, sample=DAY_OF_EVENTS) as http:
        row: dict[str, Any] = exact(http.get("/events", params=DAY).text)["data"][0]
    return row


def test_counters_are_one_row_per_auction(clock: Clock, events: list[Any]) -> None:
    with speaking("fields-counters", clock, sample=DAY_OF_EVENTS) as http:
        rows = rows_by_page(http)
    auctions = defaultdict(list)
    for each in events:
        auctions[each["event_hour"], each["auction_id"]].append(each)
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
    with speaking("fields-ids", clock, sample=DAY_OF_EVENTS) as http:
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
    with speaking("served-at", clock, sample=DAY_OF_EVENTS) as http:
        one, other = (http.get("/events", params=DAY).json()["data"] for _ in range(2))
    assert {row["served_at"] for row in one} != {row["served_at"] for row in other}
    assert [row.pop("served_at") for row in (*one, *other)]
    assert one == other


@pytest.mark.parametrize("dialect", sorted(ROWS.keys() - {"served-at", "times-local"}))
def test_exports_have_the_same_rows(dialect: str, clock: Clock, events: list[Any]) -> None:
    expected = exact(msgspec.json.encode(dialect_of(dialect).rows(events)).decode())
    with speaking(dialect, clock, sample=DAY_OF_EVENTS) as http:

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
    with speaking(dialect, clock, sample=DAY_OF_EVENTS) as http:
        body = http.get("/events", params={**DAY, "hour": "3"}).json()
    assert body["pagination"]["total"] == len(events)
    assert [row["eventId"] for row in body["events"]] == [event["event_id"] for event in events]


TWO_DAYS = {"start_date": "2026-01-15", "end_date": "2026-01-16"}
TWO_DAYS_OF_EVENTS = Sample(days=2, events_per_day=24)


def ids(body: Any) -> list[str]:
    return [row["event_id"] for row in body["data"]]


def get(http: httpx.Client, **params: Any) -> Any:
    return http.get("/events", params={**TWO_DAYS, **params}).json()


@pytest.fixture(scope="module")
def right() -> list[str]:
    with speaking("reference", Clock(), sample=TWO_DAYS_OF_EVENTS) as http:
        return ids(get(http))


CASES: list[tuple[str, dict[str, Any], Callable[[list[str]], list[str]], dict[str, int]]] = [
    ("page-from-zero", {"page": 0, "per_page": 10}, lambda ids: ids[:10], {"page": 0}),
    ("page-from-zero", {"page": 1, "per_page": 10}, lambda ids: ids[10:20], {"page": 1}),
    ("page-from-zero", {"per_page": 10}, lambda ids: ids[:10], {"page": 0}),
    ("page-ignored", {"page": 3, "per_page": 10}, lambda ids: ids[:10], {"page": 3}),
    ("page-empty", {"page": 1, "per_page": 10}, lambda ids: ids[:10], {"page": 1}),
    ("page-empty", {"page": 2, "per_page": 10}, lambda _: [], {"page": 2}),
    ("page-empty", {"page": 3, "per_page": 10}, lambda ids: ids[10:20], {"page": 3}),
    ("end-date-ignored", {}, lambda ids: ids[:24], {"total": 24}),
    ("end-date-exclusive", {}, lambda ids: ids[:24], {"total": 24}),
    ("end-date-exclusive", DAY, lambda _: [], {"total": 0}),
    ("days-other", {}, lambda ids: ids[:24], {"total": 24}),
    ("hour-ignored", {"hour": 5}, lambda ids: ids, {"total": 48}),
    ("total-low", {}, lambda ids: ids, {"total": 47}),
    ("total-high", {}, lambda ids: ids, {"total": 49}),
]


@pytest.mark.parametrize(("dialect", "params", "rows", "meta"), CASES)
def test_other_rows_are_served_without_a_word(
    dialect: str,
    params: dict[str, Any],
    rows: Callable[[list[str]], list[str]],
    meta: dict[str, int],
    clock: Clock,
    right: list[str],
) -> None:
    with speaking(dialect, clock, sample=TWO_DAYS_OF_EVENTS) as http:
        body = get(http, **params)
    assert ids(body) == rows(right)
    assert body["meta"].items() >= meta.items()


def test_a_page_before_the_first_is_a_400(clock: Clock) -> None:
    for dialect, page in (("reference", "0"), ("page-from-zero", "-1")):
        with speaking(dialect, clock) as http:
            assert http.get("/events", params={**DAY, "page": page}).status_code == 400


def test_a_page_is_capped_while_its_end_is_computed_from_the_requested_size(clock: Clock) -> None:
    sample = Sample(events_per_day=2_500)
    with speaking("hints,per-page-capped", clock, sample=sample) as http:
        pages = [
            http.get("/events", params={**DAY, "per_page": 10_000, "page": page}).json()
            for page in (1, 2, 3)
        ]
    assert [len(page["events"]) for page in pages] == [1000, 1000, 500]
    assert len({row["event_id"] for page in pages for row in page["events"]}) == 2500
    numbers = pages[0]["pagination"]
    assert numbers == {
        "page": 1,
        "per_page": 10_000,
        "total": 2500,
        "total_pages": 1,
        "has_more": False,
    }


def test_a_total_is_capped_at_10000(clock: Clock) -> None:
    with speaking("total-capped", clock, sample=Sample(events_per_day=10_010)) as http:
        body = http.get("/events", params={**DAY, "per_page": 10_000, "page": 2}).json()
    assert (len(body["data"]), body["meta"]["total"]) == (10, 10_000)


def test_an_event_at_a_full_hour_belongs_to_two(clock: Clock) -> None:
    with LocalServer(clock=clock, dialect="hour-closed") as server:
        server.add_events(
            event(event_time=f"2026-01-15T{hour:02}:{minute}")
            for hour in range(24)
            for minute in ("00:00.000", "00:00.001", "59:59.999")
        )
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=server.url + API, headers=headers) as http:
            hours = [http.get("/events", params={**DAY, "hour": hour}).json() for hour in range(24)]
            whole = http.get("/events", params=DAY).json()
    assert [body["meta"]["total"] for body in hours] == [4] * 23 + [3]
    assert hours[2]["data"][3] == hours[3]["data"][0]
    assert whole["meta"]["total"] == 72


@pytest.mark.parametrize(
    ("dialect", "status", "content"),
    [
        ("empty-404", 404, b'{"error":"Not Found"}'),
        ("empty-null", 200, b'{"data":null}'),
        ("empty-object", 200, b"{}"),
        ("empty-204", 204, b""),
    ],
)
def test_a_range_without_events_has_another_answer(
    dialect: str, status: int, content: bytes, clock: Clock
) -> None:
    with speaking(dialect, clock) as http:
        days = {"start_date": "2026-02-01", "end_date": "2026-02-01"}
        answer = http.get("/events", params=days)
        assert (answer.status_code, answer.content) == (status, content)
        assert len(ids(http.get("/events", params=DAY).json())) == 25
        assert http.get("/events", params={**DAY, "page": 9}).json()["data"] == []


@pytest.mark.parametrize("status", [400, 404, 416])
def test_a_page_after_the_last_is_an_error(status: int, clock: Clock) -> None:
    with speaking(f"past-end-{status},meta-none", clock) as http:
        pages = [
            http.get("/events", params={**DAY, "per_page": 20, "page": page}) for page in (1, 2, 3)
        ]
        assert [page.status_code for page in pages] == [200, 200, status]
        assert pages[2].json().keys() == {"error"}
        days = {"start_date": "2026-02-01", "end_date": "2026-02-01"}
        assert http.get("/events", params=days).json() == {"data": []}


def test_events_are_accepted_but_never_there(clock: Clock) -> None:
    with speaking("accepted", clock) as http:
        answer = http.get("/events", params=DAY)
    assert (answer.status_code, answer.json()) == (202, {"data": []})
    assert answer.headers["retry-after"] == "1"


def test_a_group_and_days_are_ignored_in_summaries(clock: Clock) -> None:
    params = {**TWO_DAYS, "group_by": "day"}
    with speaking("group-ignored", clock, sample=TWO_DAYS_OF_EVENTS) as http:
        body = http.get("/summary", params=params).json()
        assert (len(body["data"]), body["meta"]["group_by"]) == (1, None)
    with speaking("days-other", clock, sample=TWO_DAYS_OF_EVENTS) as http:
        body = http.get("/summary", params=params).json()
        assert (body["meta"]["start_date"], body["meta"]["end_date"]) == (
            "2026-01-14",
            "2026-01-15",
        )
        assert [row["date"] for row in body["data"]] == ["2026-01-15"]


def test_summaries_and_dates_have_pages(clock: Clock) -> None:
    sample = Sample(days=7, events_per_day=24)
    params = {"start_date": "2026-01-15", "end_date": "2026-01-21", "group_by": "day"}
    with speaking("reference", clock, sample=sample) as http:
        rows = http.get("/summary", params=params).json()["data"]
        assert http.get("/dates", params={"page": 2}).status_code == 400
    with speaking("lists-paged", clock, sample=sample) as http:
        pages = [http.get("/summary", params={**params, "page": page}).json() for page in (1, 2, 3)]
        assert [page["data"] for page in pages] == [rows[:5], rows[5:], []]
        assert pages[1]["meta"]["total"] == 7
        assert pages[1]["meta"]["totals"]["requests"] == sum(row["requests"] for row in rows)
        assert http.get("/summary", params=params).json() == pages[0]
        two = http.get("/dates", params={"page": 2, "per_page": 3}).json()
    assert two == {
        "dates": ["2026-01-18", "2026-01-19", "2026-01-20"],
        "meta": {"total": 7, "page": 2, "per_page": 3},
    }


@pytest.mark.parametrize("dialect", [name for name in ENDS if name.startswith("says-")])
def test_an_answer_says_that_it_is_not_whole(dialect: str, clock: Clock) -> None:
    (stated,) = dict(DIALECTS[dialect].changes).values()
    assert isinstance(stated, dict)
    with speaking(dialect, clock) as http:
        for path in ("/events", "/summary"):
            body = http.get(path, params=DAY).json()
            assert body.items() >= stated.items()
            assert body["data"]
        assert http.get("/dates").json() == {"dates": ["2026-01-15"], **stated}
