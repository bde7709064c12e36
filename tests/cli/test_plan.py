"""`plan`: the prices before anything is spent."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import pytest
from tests.cli.run import Run
from tests.server_answers import operations

from adanalytics_client import QuotaState
from adanalytics_client.pricing import Estimate, Price, prices
from adanalytics_server.local import LocalServer, Sample


def test_a_record(run: Run, service: LocalServer) -> None:
    service.journal.clear()
    result = run("plan", "2025-12-20", "2026-01-19", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert operations(service) == ["summary"]
    record = json.loads(result.stdout)
    ways = {price["split"] or price["via"]: price for price in record["prices"]}
    assert [*ways] == ["hourly", "auto", "export"]
    assert (ways["hourly"]["requests"], ways["auto"]["requests"]) == (744, 1)
    assert (record["start"], record["end"]) == ("2025-12-20", "2026-01-19")
    assert [price["via"] for price in record["prices"]] == ["pages", "pages", "export"]
    assert record["recommended"] == ways["auto"]
    assert record["why"] == "1 request instead of 744 by the hour or 3 by an export"
    assert (record["spent_requests"], record["days"]) == (1, 2)
    assert 3_500 < record["events"] < 4_000
    assert ways["auto"]["bytes"] == record["events"] * 637
    assert ways["hourly"]["seconds"] > 60
    # The limit of the service is not known, so no limit is stated.
    assert record["quota"] == {"remaining": 999}
    service.journal.clear()
    words = ways["auto"]["command"].removesuffix(" -o events.jsonl.gz").split()[1:]
    assert run(*words).stdout.count("\n") == 4_000
    # A pipe gets a file's check: its count, and `dates`, as the last days have no events.
    assert operations(service) == ["events"] * ways["auto"]["requests"] + ["events", "dates"]


def test_a_table_for_people(run: Run, service: LocalServer) -> None:
    result = run("plan", "2026-01-15", "2026-01-16")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["via", "split", "requests", "size", "time", "waiting"]
    assert [line.split()[:3] for line in lines[2:5]] == [
        ["pages", "hourly", "48"],
        ["pages", "auto", "1"],
        ["export", "-", "3"],
    ]
    assert "This estimate cost 1 request; " in result.stdout
    advice = "Recommended: --split auto, 1 request instead of 48 by the hour or 3 by an"
    assert advice in result.stdout
    assert lines[-1].startswith("  adanalytics events 2026-01-15 2026-01-16 --split auto -o ")


def test_one_day_is_not_called_days(run: Run, service: LocalServer) -> None:
    assert " events by type on 1 day, without" in run("plan", "2026-01-15").stdout


def test_a_period_without_data(run: Run, service: LocalServer) -> None:
    service.journal.clear()
    result = run("plan", "2025-01")
    assert "No day of the period has data." in result.stdout
    assert "Recommended" not in result.stdout
    assert json.loads(run("plan", "2025-01", "--json").stdout)["recommended"] is None
    service.journal.clear()
    assert run("plan", "2025-01").exit_code == 0
    assert operations(service) in (["summary"], ["summary", "dates"])


@pytest.fixture
def without_summary(service: LocalServer) -> Iterator[LocalServer]:
    service.faults.add("404 always on summary")
    yield service
    service.faults.clear()


def test_without_a_summary_the_dates_are_asked(run: Run, without_summary: LocalServer) -> None:
    without_summary.journal.clear()
    result = run("plan", "2026-01")
    assert operations(without_summary) == ["summary", "dates"]
    assert "This estimate cost 2 requests; " in result.stdout
    assert "unknown; data on 2 days" in result.stdout
    assert "Recommended: --split auto, the number of events is unknown" in result.stdout


def slow_prices(estimate: Estimate, quota: QuotaState) -> list[Price]:
    waits = 20 * 86_400.0
    return [
        replace(price, size=4_000_000_000, seconds=waits, waits=waits)
        for price in prices(estimate, quota)
    ]


def test_pages_that_would_wait_are_weighed_against_an_export(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = Sample(start=date(2025, 11, 1), days=61, events_per_day=1)
    with LocalServer(sample=sample, rate_limit=0) as server:
        monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
        monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
        monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
        record = json.loads(run("plan", "2025-11", "2025-12", "--json").stdout)
        monkeypatch.setattr("adanalytics_cli.output.plan_output.prices", slow_prices)
        shown = run("plan", "2025-11", "2025-12").stdout
    assert "  20 days" in shown
    assert "It takes 20 days of quota, 4.00 GB.\n" in shown
    hourly = record["prices"][0]
    assert (hourly["requests"], hourly["waits_seconds"]) == (61 * 24, 3600)
    assert record["recommended"]["split"] == "auto"
