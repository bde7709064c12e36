"""Dialects of ends: other rows than the requested ones, and what the answers say about it."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.server.speaking import API, DAY, speaking

from adanalytics_server.clock import Clock
from adanalytics_server.faults.dialects import DIALECTS, ENDS
from adanalytics_server.local import LocalServer, Sample, event

TWO_DAYS = {"start_date": "2026-01-15", "end_date": "2026-01-16"}
SAMPLE = Sample(days=2, events_per_day=24)


def ids(body: Any) -> list[str]:
    return [row["event_id"] for row in body["data"]]


def get(http: httpx.Client, **params: Any) -> Any:
    return http.get("/events", params={**TWO_DAYS, **params}).json()


@pytest.fixture(scope="module")
def right() -> list[str]:
    with speaking("reference", Clock(), sample=SAMPLE) as http:
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
    with speaking(dialect, clock, sample=SAMPLE) as http:
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
    with speaking("group-ignored", clock, sample=SAMPLE) as http:
        body = http.get("/summary", params=params).json()
        assert (len(body["data"]), body["meta"]["group_by"]) == (1, None)
    with speaking("days-other", clock, sample=SAMPLE) as http:
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
