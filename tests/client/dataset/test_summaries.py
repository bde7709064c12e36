"""Days that the service does not list or sum up, and summaries that count other events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows

from adanalytics_client.dataset import Dataset

DAYS = [f"2026-01-{number}" for number in (14, 15, 16, 17)]
SPAN = (DAYS[0], DAYS[-1])


@pytest.fixture
def service(httpserver: HTTPServer) -> ServiceOfRows:
    """Four days of one event in each hour, and a summary of them."""
    service = ServiceOfRows(httpserver)
    for day in DAYS:
        service.summary[day] = {"impressions": 24}
        for hour in range(24):
            event = {
                "event_id": f"{day}-{hour}",
                "event_time": f"{day}T{hour:02}:00:00Z",
                "event_type": "impression",
            }
            service.rows[day, hour] = [json.dumps(event)]
    return service


def list_only(httpserver: HTTPServer, *days: str) -> None:
    dates = "/api/partners/acme/ad-analytics/dates"
    for handlers in (httpserver.handlers,):
        handlers[:] = [each for each in handlers if each.matcher.uri != dates]
    httpserver.expect_request(dates).respond_with_json({"dates": [*days]})


def test_days_that_only_the_summary_has_are_pulled(
    service: ServiceOfRows, httpserver: HTTPServer, tmp_path: Path
) -> None:
    list_only(httpserver, *DAYS[2:])
    dataset = Dataset(tmp_path / "events")
    with service.client() as client:
        assert dataset.sync(client, *SPAN).events == 96
        assert dataset.verify(client).is_whole


def test_days_that_only_the_count_has_are_reported(
    service: ServiceOfRows, httpserver: HTTPServer, tmp_path: Path
) -> None:
    """By a sync of stated days, and by `verify` of the hours that a sync took for empty."""
    list_only(httpserver, *DAYS[2:])
    for day in DAYS[:2]:
        del service.summary[day]
    dataset = Dataset(tmp_path / "events")
    with service.client() as client:
        report = dataset.sync(client, *SPAN)
        assert [failed.query for failed in report.failed] == DAYS[:2]
        assert "the service counts more than its 0 events" in report.failed[0].message
        assert dataset.sync(client, *SPAN, check="none").failed == []
        problems = dataset.verify(client).problems
    assert [str(problem.day) for problem in problems] == DAYS[:2]


def test_days_without_events_cost_nothing_more(service: ServiceOfRows, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path / "events")
    with service.client() as client:
        assert dataset.sync(client, "2026-01-10", "2026-01-20").events == 96
    assert service.asked == ["dates", "summary", *["events"] * 2]


def test_a_summary_may_count_filtered_events(service: ServiceOfRows, tmp_path: Path) -> None:
    for (day, hour), (text,) in service.rows.items():
        service.rows[day, hour] = [text[:-1] + f', "is_filtered": {json.dumps(hour < 6)}}}']
    dataset = Dataset(tmp_path / "events")
    with service.client() as client:
        assert dataset.sync(client).failed == []
        report = dataset.verify(client)
        assert report.is_whole
        assert "impressions" in {figure.name for figure in report.compared}
        service.summary[DAYS[0]] = {"impressions": 23}
        assert not dataset.verify(client).is_whole
