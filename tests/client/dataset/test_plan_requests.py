"""A sync costs at most what its plan says, and the two requests that find its hours."""

from pathlib import Path
from typing import Any

import pytest
from tests.client.dataset.shop import FIRST, LOOK, NAMES, SECOND, Shop
from tests.datasets import read_rows
from tests.server_answers import answer

from adanalytics_client import Client, ServiceProfile
from adanalytics_client._base.choices import Via
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.hours.events import columns_in
from adanalytics_client.dataset.pull import exports, fetch
from adanalytics_client.types import ExportProfile, PageProfile
from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer, Sample


def check(shop: Shop, *, leaves: int = 0, via: Via = "pages", **options: Any) -> tuple[int, int]:
    """Plan and sync; return what the plan says, and what the sync costs more than that."""
    with shop.client() as client:
        plan = shop.dataset.plan(client, via=via, **options)
    shop.asked()
    report = shop.sync(via=via, **options)
    assert report.left == leaves, report.failed
    asked = shop.asked()
    # The download of an export is no request for the service's quota.
    cost = sum(asked[name] for name in ("dates", "summary", "events", "bulk-export"))
    assert len(plan.hours) == (report.wanted or 0)
    return plan.requests, cost - plan.requests


@pytest.mark.parametrize(("via", "size"), [("pages", 25), ("export", 100)])
def test_a_first_sync_and_further_ones(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, via: Via, size: int
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    assert check(shop, via=via)[1] <= 2
    assert check(shop, via=via) == (0, 2)
    assert check(shop, via=via, repull=1)[1] <= 2
    next((shop.folder / "data").rglob("*.parquet")).unlink()
    # How many of the lost day's events are filtered is an estimate.
    assert check(shop, via=via)[1] <= 3
    assert shop.sync(via=via).hours == {}


def test_a_small_pull_costs_what_its_plan_says(shop: Shop) -> None:
    """Apart from second pages of names, which are looked for behind some lengths of the first."""
    assert check(shop) == (2 + 2 * NAMES, 2 - NAMES)


@pytest.mark.parametrize("size", [100, 25])
def test_a_restated_day(shop: Shop, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    shop.fill()
    rows = [row for row in shop.rows() if (row["event_date"], row["event_hour"]) == (SECOND, 13)]
    shop.load([row for row in rows if not row["is_filtered"]][1:], replace=True)
    assert check(shop)[1] <= 2


@pytest.mark.parametrize(("size", "requests"), [(100, 5), (25, 9)])
def test_a_sync_that_was_stopped(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, size: int, requests: int
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    shop.sync(requests=requests)
    assert check(shop)[1] <= 2


def test_a_day_that_was_rejected(shop: Shop) -> None:
    """Its hours seem unchanged, and yet a sync pulls them again."""
    shop.fill()
    body = {"data": [{"date": FIRST, "clicks": 1}]}
    shop.server.faults.add(answer("summary", body, times=2))
    assert shop.sync().failed
    shop.server.faults.clear()
    requests, more = check(shop)
    assert (requests > 0, more <= 2) == (True, True)


def test_a_day_that_is_not_over_is_not_counted(shop: Shop) -> None:
    shop.now = shop.now.replace(day=16, hour=10, minute=20)
    assert check(shop) == (2 + 2 * NAMES, 2 - NAMES)


@pytest.mark.parametrize("name", ["fields-counters", "fields-camel", "times-epoch", "ids-empty"])
def test_services_with_other_fields(name: str, tmp_path: Path) -> None:
    sample = Sample(days=2, events_per_day=200, seed=7)
    with LocalServer(sample=sample, dialect=name, rate_limit=0) as server:
        shop = Shop(server, tmp_path / "events")
        assert check(shop)[1] <= 2
        assert check(shop) == (0, 2)


@pytest.mark.parametrize("most", [None, 1000])
def test_a_plan_says_what_pages_it_assumes(tmp_path: Path, most: int | None) -> None:
    sample, service = Sample(days=2, events_per_day=3000, seed=7), PageProfile(most=most)
    with (
        LocalServer(sample=sample, dialect="per-page-capped", rate_limit=0) as server,
        Client(
            server.url,
            api_key=server.api_key,
            partner="acme",
            service=ServiceProfile(pages=service),
        ) as client,
    ):
        dataset = Dataset(tmp_path / "events")
        plan = dataset.plan(client, via="pages")
        before = len(server.journal.entries())
        assert dataset.sync(client, via="pages").events == 6000
        cost = len(server.journal.entries()) - before - sum(LOOK.values())
        assert plan.page == (most or 10_000)
        assert (cost <= plan.requests) is (most is not None)


def test_auto_says_the_price_of_each_way_and_takes_the_lower(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    with shop.client() as client:
        plan = shop.dataset.plan(client)
    assert (plan.prices, plan.exports) == ({"pages": 12, "export": 3}, 1)
    server, dataset = shop.server, Dataset(tmp_path / "other", clock=lambda: shop.now)
    # Its files have other rows, as a probe saw.
    service = ServiceProfile(export=ExportProfile(same_rows=False))
    with Client(server.url, api_key=server.api_key, partner="acme", service=service) as client:
        assert dataset.plan(client).exports == 0


@pytest.mark.parametrize("status", [404, 403])
def test_an_export_that_fails_under_auto_becomes_pages(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    shop.server.faults.add(Fault(effect="status", operation="start_export", status=status))
    report = shop.sync(via="auto")
    assert (report.left, report.failed, report.events) == (0, [], 1200)
    assert "failed, so pages follow" in caplog.text
    assert shop.sync(via="auto").hours == {}


@pytest.mark.parametrize("is_new", [True, False])
def test_an_export_without_a_column_of_the_pages_becomes_pages(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_new: bool
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    if not is_new:
        shop.fill()

    def without_country(path: Path) -> list[str]:
        return [name for name in columns_in(path) if name != "country"]

    monkeypatch.setattr(exports, columns_in.__name__, without_country)
    report = shop.sync(via="auto", repull=0 if is_new else 2)
    assert (report.left, report.failed, report.events) == (0, [], 1200)
    assert "has no country, as events on pages have" in caplog.text
    assert sum(row["country"] is not None for row in read_rows(shop.folder)) > 1000
