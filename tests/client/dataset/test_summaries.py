"""Days that the service sums up, does not list, or counts otherwise; exact totals."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import API, ServiceOfRows
from tests.client.dataset.shop import NAMES
from werkzeug import Request, Response

from adanalytics_client import RetryPolicy
from adanalytics_client._json.fields import FieldNames
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.hours import sums
from adanalytics_client.dataset.hours.compare import TOTAL, DayComparison, compare_day, merge
from adanalytics_client.dataset.hours.sums import totals_of
from adanalytics_client.dataset.hours.totals import (
    NOTHING,
    OTHER,
    Figure,
    Range,
    Totals,
    figure_text,
    stated_figures,
)
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.errors import NotFound, ProtocolError
from adanalytics_client.tables import event_schema

DAYS = [f"2026-01-{number}" for number in (14, 15, 16)]
SPAN = (DAYS[0], DAYS[-1])


@pytest.fixture
def service(httpserver: HTTPServer) -> ServiceOfRows:
    """Three days of one event in each hour, and a summary of them."""
    service = ServiceOfRows(httpserver)
    for day in DAYS:
        service.summary[day] = {"impressions": 24}
        for hour in range(24):
            event = {
                "event_id": f"{day}-{hour}",
                "event_time": f"{day}T{hour:02}:00:00Z",
                "event_type": "impression",
                "note": "any text",
            }
            service.rows[day, hour] = [json.dumps(event)]
    return service


def replace_handler(
    httpserver: HTTPServer, name: str, handler: Callable[[Request], Response]
) -> None:
    path = f"{API}/{name}"
    for handlers in (httpserver.handlers,):
        handlers[:] = [each for each in handlers if each.matcher.uri != path]
    httpserver.expect_request(path).respond_with_handler(handler)


def list_only(httpserver: HTTPServer, *days: str) -> None:
    text = json.dumps({"dates": [*days]})
    replace_handler(httpserver, "dates", lambda _: Response(text, content_type="application/json"))


def test_days_that_only_the_summary_has_are_pulled(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    list_only(httpserver, *DAYS[2:])
    with service.client() as client:
        assert dataset.sync(client, *SPAN).events == 72
        assert dataset.verify(client).is_whole


@pytest.mark.parametrize("status", [200, 404])
def test_a_day_that_the_service_has_no_longer_is_emptied(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer, status: int
) -> None:
    """In one query, also where the service says by an error that it has no events."""

    def answer(request: Request) -> Response:
        response = service._events(request)
        is_empty = json.loads(response.data)["meta"]["total"] == 0
        return Response(response.data, status) if is_empty else response

    with service.client() as client:
        assert dataset.sync(client, *DAYS[:2]).events == 48
        service.rows = {at: texts for at, texts in service.rows.items() if at[0] != DAYS[0]}
        del service.summary[DAYS[0]]
        replace_handler(httpserver, "events", answer)
        service.asked.clear()
        report = dataset.sync(client)
        assert (report.events, report.left) == (24, 0)
        assert {hour.day.isoformat() for hour in report.changed} == {DAYS[0], DAYS[2]}
        # A field of texts has no sum, before and after.
        (change,) = report.restated
        assert change.before == {"events": 24, "impressions": 24}
        # Each of the two days is pulled, and counted.
        assert service.asked.count("events") == 4
        assert dataset.verify(client).is_whole


@pytest.mark.parametrize("days", [DAYS[2:], []])
def test_days_that_only_the_count_has_are_pulled(
    service: ServiceOfRows, httpserver: HTTPServer, tmp_path: Path, days: list[str]
) -> None:
    """By a sync of stated days, also where an earlier one took their hours for empty."""
    list_only(httpserver, *days)
    service.counts = False
    for day in {*DAYS}.difference(days):
        del service.summary[day]
    dataset, other = Dataset(tmp_path / "events"), Dataset(tmp_path / "unchecked")
    with service.client() as client:
        assert dataset.sync(client, *SPAN).events == 72
        assert dataset.verify(client).is_whole
        assert dataset.sync(client, *SPAN).wanted == 0
        assert other.sync(client, *SPAN, check="none").events == 24 * len(days)
        problems = other.verify(client).problems
        assert {str(problem.day) for problem in problems} == {*DAYS}.difference(days)
        assert {problem.remedy for problem in problems} == {"repull"}
        assert other.sync(client, *SPAN, repull=3).left == 0
        assert other.verify(client).is_whole


def test_days_that_only_the_summary_has_are_pulled_if_no_day_is_listed(
    service: ServiceOfRows, httpserver: HTTPServer, tmp_path: Path
) -> None:
    list_only(httpserver)
    with service.client() as client:
        assert Dataset(tmp_path / "events").sync(client, *SPAN).events == 72
    assert service.asked == ["summary", *["events"] * 2]


@pytest.mark.parametrize("day", DAYS[:2])
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_day_of_zeros_in_the_summary_is_a_day_without_data(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer, day: str, *, is_empty: bool
) -> None:
    """The count shows whether it has events nevertheless."""
    list_only(httpserver, *sorted({*DAYS} - {day}))
    service.summary[day] = {"impressions": 0, "revenue": "0.00", "ecpm": None}
    service.counts = False
    for hour in range(24 if is_empty else 0):
        del service.rows[day, hour]
    with service.client() as client:
        assert dataset.sync(client, *(SPAN if day == DAYS[0] else ())).events == (
            48 if is_empty else 72
        )
        if is_empty:
            assert service.asked == ["summary", *["events"] * 2]
        assert dataset.verify(client).is_whole


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [(json.dumps(DAYS), 200, r'not \{"dates":'), ('{"error": "none"}', 404, "Not found")],
)
def test_stated_days_need_no_list_of_days(
    service: ServiceOfRows,
    dataset: Dataset,
    httpserver: HTTPServer,
    caplog: pytest.LogCaptureFixture,
    body: str,
    status: int,
    problem: str,
) -> None:
    answers = []

    def answer(body: str, status: int) -> Response:
        answers.append(body)
        return Response(body, status, content_type="application/json")

    replace_handler(httpserver, "dates", lambda _: answer(body, status))
    del service.summary[DAYS[0]]
    with service.client() as client:
        assert dataset.sync(client, *SPAN).events == 72
        assert dataset.sync(client, *SPAN).wanted == 0
        caplog.clear()
        answers.clear()
        assert dataset.verify(client).is_whole
        assert "The list of days cannot be read" in caplog.text
        assert len(answers) == 1
        # New days could not be seen.
        with pytest.raises((NotFound, ProtocolError), match=problem):
            dataset.sync(client)
        # Perhaps the partner does not exist.
        for name in ("dates", "summary"):
            replace_handler(httpserver, name, lambda _: answer('{"error": "none"}', 404))
        with pytest.raises(NotFound):
            dataset.sync(client, *SPAN)


def test_a_range_without_a_summary_is_counted(
    service: ServiceOfRows, httpserver: HTTPServer, tmp_path: Path
) -> None:
    """Some services answer 404 for a range without data; that of listed days is an error."""
    list_only(httpserver)
    replace_handler(httpserver, "summary", lambda _: Response('{"error": "none"}', 404))
    with service.client() as client:
        assert Dataset(tmp_path / "events").sync(client, *SPAN).events == 72
        list_only(httpserver, DAYS[0])
        with pytest.raises(NotFound):
            Dataset(tmp_path / "other").sync(client, *SPAN)


@pytest.mark.parametrize(("longest", "summaries"), [(3, 1), (2, 3), (1, 5)])
def test_a_service_that_refuses_long_ranges_is_asked_for_shorter_ones(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer, longest: int, summaries: int
) -> None:
    def within(handler: Callable[[Request], Response], request: Request) -> Response:
        first, last = (date.fromisoformat(request.args[f"{end}_date"]) for end in ("start", "end"))
        if (last - first).days < longest:
            return handler(request)
        service.asked.append("refused")
        return Response('{"error": "too many days"}', 400, content_type="application/json")

    replace_handler(httpserver, "summary", partial(within, service._summary))
    replace_handler(httpserver, "events", partial(within, service._events))
    with service.client() as client:
        report = dataset.sync(client)
        assert (report.events, report.left) == (72, 0)
        # Only a summary finds out how many days the service allows.
        assert service.asked.count("summary") + service.asked.count("refused") == summaries
        assert dataset.verify(client).is_whole
        assert dataset.sync(client).wanted == 0


@pytest.mark.parametrize("dates", [None, '{"dates": []}', "{}"])
def test_a_range_without_data_may_be_among_those_with_data(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer, dates: str | None
) -> None:
    def answer(request: Request) -> Response:
        first, last = (date.fromisoformat(request.args[f"{end}_date"]) for end in ("start", "end"))
        if (last - first).days > len(DAYS):
            return Response('{"error": "too many days"}', 400, content_type="application/json")
        if str(first) > DAYS[-1]:
            return Response('{"error": "no data"}', 404, content_type="application/json")
        return service._summary(request)

    replace_handler(httpserver, "summary", answer)
    if dates:
        replace_handler(
            httpserver, "dates", lambda _: Response(dates, content_type="application/json")
        )
    with service.client() as client:
        end = date.fromisoformat(DAYS[-1]) + timedelta(10)
        assert dataset.sync(client, DAYS[0], end).events == 72
    # Without the summary, each of the hours would be a query.
    assert service.asked.count("events") < 24


@pytest.mark.parametrize(
    "row", [{"impressions": 72}, {"campaign_id": 7, "impressions": 72}, {"shows": 72}], ids=str
)
def test_a_summary_by_day_without_days_states_nothing(
    service: ServiceOfRows,
    dataset: Dataset,
    httpserver: HTTPServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    row: dict[str, int],
) -> None:
    body = json.dumps({"data": [row], "meta": {"total": 1, "page": 1, "per_page": 1000}})
    replace_handler(
        httpserver, "summary", lambda _: Response(body, content_type="application/json")
    )
    with service.client() as client:
        for span in (SPAN, ()):
            caplog.clear()
            report = dataset.sync(client, *span)
            assert "The summary states nothing for days" in caplog.text
            assert (report.left, report.failed) == (0, [])
        assert dataset.verify(client).is_whole
        assert dataset.verify(client).events == 72
        # What the count tells of a day is all that is left.
        service.rows[DAYS[0], 5] = []
        assert [problem.day for problem in dataset.verify(client).problems] == [date(2026, 1, 14)]
        list_only(httpserver)
        with pytest.raises(ProtocolError, match="group_by=day"):
            Dataset(tmp_path / "other").sync(client, *SPAN)


def test_days_that_agreed_with_a_summary_are_not_pulled_again_for_one_without_days(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    """A caching proxy may ignore the grouping: all days would seem restated, and then once more."""
    with service.client() as client:
        assert dataset.sync(client, *SPAN).events == 72
        service.asked.clear()
        body = json.dumps({"data": [{"impressions": 72}]})
        replace_handler(
            httpserver, "summary", lambda _: Response(body, content_type="application/json")
        )
        for work in (dataset.sync, dataset.plan, dataset.verify):
            with pytest.raises(ProtocolError, match="caching proxy"):
                work(client)
        assert service.asked == ["dates"] * 3
        replace_handler(httpserver, "summary", service._summary)
        assert dataset.sync(client).wanted == 0


def test_a_day_that_was_counted_and_never_came_is_not_up_to_date(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    list_only(httpserver)
    service.summary.clear()
    empty = '{"data": [], "meta": {"total": 5, "page": 1, "per_page": 10000}}'
    replace_handler(
        httpserver, "events", lambda _: Response(empty, content_type="application/json")
    )
    with service.client() as client:
        assert {failed.query[:10] for failed in dataset.sync(client, DAYS[0]).failed} == {DAYS[0]}
        assert {failed.query[:10] for failed in dataset.sync(client, DAYS[0]).failed} == {DAYS[0]}


def test_only_the_day_that_lost_an_event_differs_from_its_count(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    """The summary does not count what its columns do not name, so only the count shows it."""
    for day in DAYS:
        service.summary[day] = {"visits": 7}
    with service.client() as client:
        dataset.sync(client)
        service.rows[DAYS[1], 5] = []
        (problem,) = dataset.verify(client).problems
    assert str(problem.day) == DAYS[1]
    assert problem.what == f"the service counts 23, fewer than the 24 events of {DAYS[1]}"


def test_a_day_without_any_of_its_events_is_no_matter_of_the_hour(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    service.rows, service.summary = {(DAYS[0], 3): ['{"n":1}']}, {}

    def answer(request: Request) -> Response:
        if "hour" in request.args:
            return Response('{"data":[],"meta":{"total":0}}', mimetype="application/json")
        return service._events(request)

    replace_handler(httpserver, "events", answer)
    with service.client() as client:
        (failed,) = dataset.sync(client).failed
    assert "the hour" not in failed.message
    assert "belong to the range" in failed.remedy


def test_a_service_that_ignores_the_hour_is_said(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    """Where events do not tell their time, the hours of a day are requested one by one."""
    texts = [json.dumps({"at": f"{DAYS[0]} 03:00", "n": number}) for number in range(5)]
    service.rows, service.summary = {(DAYS[0], 3): texts}, {}

    def answer(request: Request) -> Response:
        request.args = request.args.copy()
        request.args.pop("hour", None)
        return service._events(request)

    replace_handler(httpserver, "events", answer)
    with service.client() as client:
        (failed,) = dataset.sync(client).failed
    assert "2026-01-14. Each hour has 5, as if the service ignored the hour" in failed.message
    assert failed.remedy.code == "time_field"


def test_a_day_whose_count_fails_is_counted_by_the_next_sync(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    for day in DAYS:
        service.summary[day] = {"visits": 7}
    fails = [True]

    def answer(request: Request) -> Response:
        is_count = request.args["per_page"] == "1"
        return Response(status=503) if is_count and fails[0] else service._events(request)

    replace_handler(httpserver, "events", answer)
    with service.client() as client:
        hasty = client.with_options(retry=RetryPolicy(attempts=1, patience=0))
        assert dataset.sync(hasty).events == 72
        service.rows[DAYS[1], 5] = []
        assert dataset.sync(hasty).left == 0
        fails[0] = False
        assert dataset.sync(client).changed.keys() == {Hour(date.fromisoformat(DAYS[1]), 5)}
        assert dataset.verify(client).is_whole
        service.asked.clear()
        assert dataset.sync(client).wanted == 0
    assert service.asked == ["dates", "summary"]


def test_an_error_behind_the_last_event_is_no_count(
    service: ServiceOfRows, dataset: Dataset, httpserver: HTTPServer
) -> None:
    texts = {day: [text for (of, _), (text,) in service.rows.items() if of == day] for day in DAYS}

    def events(request: Request) -> Response:
        query = request.args
        rows = [
            text
            for day in DAYS
            if query["start_date"] <= day <= query["end_date"]
            for text in texts[day]
        ]
        start = (int(query["page"]) - 1) * int(query["per_page"])
        page = rows[start : start + int(query["per_page"])]
        status = 200 if page else 404
        body = f'{{"data": [{",".join(page)}]}}' if page else '{"error": "no such page"}'
        return Response(body, status, content_type="application/json")

    replace_handler(httpserver, "events", events)
    with service.client() as client:
        assert dataset.sync(client).events == 72
        report = dataset.verify(client)
        assert report.is_whole
        assert TOTAL not in {figure.name for figure in report.compared}
        (figure,) = [figure for figure in report.uncompared if figure.name == TOTAL]
        assert "an error behind the last event" in figure.reason
        texts[DAYS[0]].pop()
        assert not dataset.verify(client).is_whole


def test_days_without_events_cost_nothing_more(service: ServiceOfRows, dataset: Dataset) -> None:
    with service.client() as client:
        assert dataset.sync(client, "2026-01-10", "2026-01-20").events == 72
    assert service.asked == ["dates", "summary", *["events"] * 2]


def test_a_summary_may_count_filtered_events(service: ServiceOfRows, dataset: Dataset) -> None:
    for (day, hour), (text,) in service.rows.items():
        service.rows[day, hour] = [text[:-1] + f', "is_filtered": {json.dumps(hour < 6)}}}']
    with service.client() as client:
        assert dataset.sync(client).failed == []
        report = dataset.verify(client)
        assert report.is_whole
        assert "impressions" in {figure.name for figure in report.compared}
        service.summary[DAYS[0]] = {"impressions": 23}
        assert not dataset.verify(client).is_whole


@pytest.mark.parametrize("is_from_start", [True, False])
def test_a_range_that_the_service_shortens_is_no_difference(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_from_start: bool
) -> None:
    """The halves of 80 days have more than 31, too, and a search has a bound."""
    service = ServiceOfRows(httpserver)
    days = [date(2026, 1, 1) + timedelta(number) for number in range(80)]
    for number, day in enumerate(days):
        texts = [f'{{"event_time":"{day}T03:00:00Z","n":{n}}}' for n in range(number % 3 + 1)]
        service.rows[f"{day}", 3] = texts
    whole = service._of_days

    def shorten(first: str, last: str, hour: str | None = None) -> list[str]:
        most = timedelta(30)
        if is_from_start:
            last = min(last, f"{date.fromisoformat(first) + most}")
        else:
            first = max(first, f"{date.fromisoformat(last) - most}")
        return whole(first, last, hour)

    with service.client() as client:
        dataset = Dataset(tmp_path / "events")
        dataset.sync(client)
        monkeypatch.setattr(service, "_of_days", shorten)
        assert dataset.verify(client, until=days[-1]).problems == []


def test_days_that_the_summary_does_not_count_are_pulled_together(
    service: ServiceOfRows, httpserver: HTTPServer, dataset: Dataset
) -> None:
    """By the service's own count of all of them, then by the days of the dataset."""
    service.summary |= {day: {"imps": 24} for day in DAYS}
    list_only(httpserver, *DAYS[:2])
    with service.client() as client:
        # Without that count, each hour is a query, which loses less to an empty answer.
        uncounted = dataset.plan(client, DAYS[0], DAYS[1], check="none")
        plan = dataset.plan(client, DAYS[0], DAYS[1])
        service.asked.clear()
        assert dataset.sync(client, DAYS[0], DAYS[1]).events == 48
        assert service.asked == ["summary", *["events"] * 3]
        # Whether its events have ids, and so names, an empty dataset does not know.
        assert (plan.requests, uncounted.requests) == (3 + 2 * NAMES, 48 + 2 * NAMES)
        list_only(httpserver, *DAYS)
        service.asked.clear()
        assert dataset.sync(client, *SPAN).events == 24
        assert service.asked.count("events") == 2


DAY, NEXT = date(2026, 1, 15), date(2026, 1, 16)
TYPED = Totals(5, {"impressions": 3, "clicks": 2}, {"revenue": Decimal("0.9876")})
COUNTERS = Totals(
    4,
    {},
    {"usable_requests": 4, "impressions": 3, "revenue": Decimal("0.9876"), "note": None},
    4,
    {"usable_requests": (0, 2)},
)
HALVES = Decimal("0.5"), Decimal("0.5")
FLAGGED = Totals(4, {}, {"views": 3, "floor": Decimal(2)}, 0, {"views": (0, 1), "floor": HALVES})


@pytest.mark.parametrize(
    ("totals", "stated", "equal"),
    [
        (TYPED, {"impressions": 3, "clicks": 2, "skips": 0}, {"impressions", "clicks", "skips"}),
        (TYPED, {"Impressions": 3}, {"Impressions"}),
        # A row for each auction, with counters.
        (COUNTERS, {"impressions": 3, "usable_requests": 4}, {"impressions", "usable_requests"}),
        (COUNTERS, {"usableRequests": 4}, {"usableRequests"}),
        # Rows that state a type, and yet count several events of it.
        (Totals(1, {"impressions": 1}, {"impressions": 3}), {"impressions": 3}, {"impressions"}),
        # A summary may count filtered events, too.
        (
            replace(TYPED, filtered=Totals(2, {"impressions": 2})),
            {"impressions": 5},
            {"impressions"},
        ),
        (
            replace(TYPED, filtered=Totals(2, {"impressions": 2})),
            {"impressions": 3},
            {"impressions"},
        ),
        # Nothing is nothing, whatever the fields.
        (Totals(), NOTHING, {*NOTHING}),
    ],
)
def test_what_is_equal_is_compared(
    totals: Totals, stated: Mapping[str, Figure], equal: set[str]
) -> None:
    assert compare_day(totals, stated) == DayComparison(dict.fromkeys(equal))


@pytest.mark.parametrize(
    ("stated", "digits"),
    [("0.9876", None), ("0.98760", None), ("0.99", 2), ("0.988", 3), ("1.0", 1), (1, 0)],
)
def test_money_is_equal_at_the_precision_of_the_summary(
    stated: str | int, digits: int | None
) -> None:
    figure = stated if isinstance(stated, int) else Decimal(stated)
    assert compare_day(TYPED, {"revenue": figure}) == DayComparison({"revenue": digits})


@pytest.mark.parametrize("half", ["0.12", "0.13"])
def test_half_a_digit_may_be_rounded_either_way(half: str) -> None:
    totals = Totals(1, sums={"revenue": Decimal("0.125")})
    assert not compare_day(totals, {"revenue": Decimal(half)}).difference


def test_the_noise_of_a_float_is_no_difference() -> None:
    totals = Totals(1, sums={"revenue": Decimal("0.3")})
    compared = compare_day(totals, {"revenue": Decimal("0.30000000000000004")})
    assert compared == DayComparison({"revenue": 9})


@pytest.mark.parametrize("money", ["revenue", "cost"])
def test_a_billionth_of_money_is_a_difference(money: str) -> None:
    totals = Totals(1, sums={money: Decimal(1)})
    stated = {money: Decimal("1.000000001")}
    assert compare_day(totals, stated).difference == f"{money} 1 instead of 1.000000001"


@pytest.mark.parametrize(
    ("totals", "stated", "difference"),
    [
        (TYPED, {"clicks": 3, "skips": 1}, "clicks 2 instead of 3, and 1 more"),
        (TYPED, {"clicks": 1}, "clicks 2 instead of 1"),
        (TYPED, {"revenue": Decimal("0.98")}, "revenue 0.9876 instead of 0.98"),
        (COUNTERS, {"revenue": 7200}, "revenue 0.9876 instead of 7,200"),
        # The summary adds up what has the name of a field, also one that is not documented.
        (COUNTERS, {"usable_requests": 7200}, "usable_requests 4 instead of 7,200"),
        (FLAGGED, {"views": 4}, "views 3 instead of 4"),
        (FLAGGED, {"views": 2}, "views 3 instead of 2"),
        (FLAGGED, {"views": 0}, "views 3 instead of 0"),
        (FLAGGED, {"floor": 1}, "floor 2 instead of 1"),
        # Without events there is no field, and yet the sum is known.
        (Totals(), {"impressions": 1200}, "impressions 0 instead of 1,200"),
    ],
)
def test_what_differs(totals: Totals, stated: Mapping[str, Figure], difference: str) -> None:
    assert compare_day(totals, stated).difference == difference


@pytest.mark.parametrize(
    ("totals", "stated", "reason"),
    [
        (COUNTERS, {"requests": 4}, "no event field sums to it"),
        (COUNTERS, {"note": 4}, "some values of its field are no numbers"),
        # No event has a value, or the values are not known.
        (Totals(1, {}, {"views": 0}), {"views": 4}, "no event field sums to it"),
        # An average may have the name of what it is the average of.
        (FLAGGED, {"views": Decimal("0.75")}, "0.75 may be an average of its field"),
        (FLAGGED, {"floor": Decimal("0.5")}, "0.5 may be an average of its field"),
        (
            COUNTERS,
            {"usable_requests": 1},
            "4 in the events, 1 in the summary, and 4 events may be filtered ones",
        ),
        (
            COUNTERS,
            {"impressions": 2},
            "3 in the events, 2 in the summary, and 4 events may be filtered ones",
        ),
        (Totals(5, {"clicks": 2, OTHER: 3}), {"clicks": 4}, "3 events may be of its type"),
        (Totals(5, {"clicks": 2}), {"clicks": 4}, "3 events may be of its type"),
        (None, {"clicks": 4}, "the totals of the events are not known"),
    ],
)
def test_what_cannot_be_compared(
    totals: Totals | None, stated: Mapping[str, Figure], reason: str
) -> None:
    (name,) = stated
    assert compare_day(totals, stated) == DayComparison(uncompared={name: reason})


def test_quotients_and_zeros_need_no_field() -> None:
    quotients = dict.fromkeys(("fill_rate", "ecpm", "profit"), Decimal("0.75"))
    stated: dict[str, Figure] = {**quotients, "skips": 0}
    assert compare_day(COUNTERS, stated) == DayComparison()


@pytest.mark.parametrize("column", ["revenue", "rev"])
def test_a_mapped_field_is_the_one_that_the_summary_adds_up(column: str) -> None:
    names = FieldNames({"revenue": "rev", "requests": "usable_requests"})
    totals = Totals(1, sums={"rev": Decimal(2), "usable_requests": 1})
    stated: dict[str, Figure] = {column: 2, "requests": 1}
    equal = compare_day(totals, stated, names).equal
    assert {*equal} == {column, "requests"}
    assert compare_day(totals, {column: 3}, names).difference == f"{column} 2 instead of 3"


def test_a_summary_row_states_counts_and_amounts() -> None:
    row = {
        "date": DAY,
        "campaign_id": 7,
        "partnerId": 8,
        "event_hour": 3,
        "clicks": "12",
        "revenue": Decimal("1.50"),
        "rev": "-1.50",
        "flag": True,
        "note": "n/a",
        "cost": None,
    }
    assert stated_figures(row) == {"clicks": 12, "revenue": Decimal("1.50"), "rev": Decimal("-1.5")}


def test_days_are_merged_to_what_was_proved() -> None:
    compared, uncompared = merge(
        {
            DAY: DayComparison({"clicks": None, "revenue": 3}, {}, {"requests": "no"}),
            NEXT: DayComparison(
                {"revenue": 2}, {"skips": (1, 2)}, {"requests": "no", "clicks": "odd"}
            ),
        }
    )
    assert [*map(str, compared)] == ["clicks", "revenue (to 2 digits)", "skips"]
    assert [*map(str, uncompared)] == ["requests, no", "clicks, on 2026-01-16: odd"]


def test_sums_are_exact_and_unknown_ones_stay_unknown() -> None:
    large = Totals(1, {"clicks": 1}, {"a": Decimal("9" * 38), "b": 1, "c": None}, 1, {"b": (1, 1)})
    small = Totals(2, {"clicks": 1}, {"a": Decimal("1E-38"), "b": 2, "c": 1}, 0, {"b": (0, 2)})
    added = Totals.sum([large, small])
    assert added == Totals(
        3,
        {"clicks": 2},
        {"a": Decimal("9" * 38 + "." + "0" * 37 + "1"), "b": 3, "c": None},
        1,
        {"b": (0, 2)},
    )
    assert Totals.sum([large, None]) is None


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (11940, "11,940"),
        (Decimal("7146.020"), "7,146.02"),
        (Decimal("0E-9"), "0"),
        (Decimal(10), "10"),
    ],
)
def test_figures_are_written_without_zeros_at_their_end(figure: Figure, text: str) -> None:
    assert figure_text(figure) == text


TWO_LESS_A_BIT = Decimal("1." + "9" * 37 + "8")


def of(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([*rows])


def test_events_are_counted_by_type_without_the_filtered() -> None:
    table = of(
        {"event_type": "impression", "is_filtered": False, "revenue": Decimal("1.5"), "n": 2},
        {"event_type": "impression", "is_filtered": True, "revenue": Decimal("9.9"), "n": 4},
        {"event_type": "view", "is_filtered": None, "revenue": None, "n": 8},
        {"event_type": None, "is_filtered": False, "revenue": Decimal("0.5"), "n": None},
    )
    expected = Totals(
        3, {"impressions": 1, OTHER: 1}, {"revenue": Decimal(2), "n": 10}, 1, {"n": (2, 8)}
    )
    totals = totals_of(table)
    assert totals == expected
    filtered = Totals(1, {"impressions": 1}, {"revenue": Decimal("9.9"), "n": 4}, 0, {"n": (4, 4)})
    assert totals.filtered == filtered
    assert Totals.sum([totals, totals]) == Totals.sum([expected, expected])
    both = Totals.sum([totals, Totals(), totals])
    assert both
    assert both.filtered == Totals.sum([filtered, filtered])


def test_other_spellings_and_mapped_names_have_their_parts() -> None:
    table = of({"eventType": "FIRST_QUARTILE", "isFiltered": False}, {"eventType": "click"})
    assert totals_of(table) == Totals(2, {"first_quartiles": 1, "clicks": 1}, {}, 1)
    mapped = of({"kind": "click", "bot": False})
    names = FieldNames({"event_type": "kind", "is_filtered": "bot"})
    assert totals_of(mapped, names) == Totals(1, {"clicks": 1}, {}, 0)


def test_counters_are_added_up_without_any_documented_field() -> None:
    table = of(
        {"ymdh": "2026-01-15T13:00:00", "clicks": 1, "cpm": Decimal("0.0000944916")},
        {"ymdh": "2026-01-15T13:00:00", "clicks": 0, "cpm": Decimal("0.0000000001")},
    )
    sums: dict[str, Figure | None] = {"clicks": 1, "cpm": Decimal("0.0000944917")}
    ranges: dict[str, Range] = {
        "clicks": (0, 1),
        "cpm": (Decimal("0.0000000001"), Decimal("0.0000944916")),
    }
    assert totals_of(table) == Totals(2, {}, sums, 2, ranges)


def test_the_documented_columns_have_two_sums() -> None:
    empty = totals_of(event_schema().empty_table())
    assert empty == Totals(sums={"revenue": Decimal(0), "cost": Decimal(0)})


@pytest.mark.parametrize(
    ("column", "total"),
    [
        (pa.array([2**62] * 4, pa.int64()), 2**64),
        (pa.array([-(2**63)] * 3, pa.int64()), -3 * 2**63),
        (pa.array([2**64 - 1] * 3, pa.uint64()), 3 * (2**64 - 1)),
        (pa.array([Decimal("9" * 38)] * 4, pa.decimal128(38, 0)), Decimal("3" + "9" * 37 + "6")),
        (pa.array([Decimal("0." + "9" * 38)] * 2, pa.decimal128(38, 38)), TWO_LESS_A_BIT),
        (pa.array([1, None, 2], pa.int8()), 3),
        (pa.array([None], pa.int64()), 0),
        (pa.array([None], pa.string()), 0),
        (pa.array(["a", None], pa.string()), None),
        (pa.array([1.5], pa.float64()), None),
    ],
)
def test_no_sum_overflows(column: pa.Array, total: object) -> None:
    (found,) = totals_of(pa.table({"n": column})).sums.values()
    assert found == total


def test_an_hour_keeps_a_bounded_number_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "MOST_SUMS", 2)
    table = pa.table({"event_hour": [1], "a": [1], "nothing": pa.nulls(1), "b": [1], "c": [1]})
    assert totals_of(table).sums == {"a": 1, "b": 1}
