"""What a sync pulls, what it leaves alone, and what each of that costs in requests."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client.dataset.shop import COUNT, FIRST, FIRST_LOOK, LOOK, SECOND, Shop
from tests.datasets import everything_in, files_in

from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.records.contents import Contents

# Where requests are counted by the hour: a pull of 48 hours each by itself costs four times more.
BY_HOUR = pytest.mark.usefixtures("hourly")


@BY_HOUR
def test_every_event_is_held_once_and_exactly(shop: Shop) -> None:
    assert shop.sync().left == 0
    assert shop.asked() == {**FIRST_LOOK, "events": shop.price(FIRST) + shop.price(SECOND) + COUNT}
    assert shop.held() == shop.rows()


def test_small_days_are_asked_for_together(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 500)
    assert shop.sync().left == 0
    assert shop.asked() == {**FIRST_LOOK, "events": 3 + COUNT}
    assert shop.held() == shop.rows()


def test_a_kill_between_hours_of_one_query_asks_for_nothing_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 500)
    commit = Contents.commit
    committed: list[object] = []

    def commit_some(*args: Any, **options: Any) -> None:
        if len(committed) == 30:
            raise MemoryError
        committed.append(args)
        commit(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Contents, "commit", commit_some)
        with pytest.raises(MemoryError):
            shop.sync()
    shop.asked()
    assert shop.sync().left == 0
    assert shop.asked() == {**FIRST_LOOK, "events": COUNT}
    assert shop.held() == shop.rows()


def test_a_bulk_export_is_split_into_the_same_hours(shop: Shop) -> None:
    assert shop.sync(via="export").left == 0
    asked = shop.asked()
    assert (asked["events"], asked["bulk-export"]) == (COUNT, 1)
    assert shop.held() == shop.rows()
    assert not list((shop.folder / "_adanalytics").glob("exports/*"))
    shop.sync(via="export")
    assert shop.asked() == LOOK


def test_the_second_time_costs_two_requests_and_writes_nothing(shop: Shop) -> None:
    shop.fill()
    before, _ = everything_in(shop.folder), shop.asked()
    assert shop.sync().left == 0
    assert shop.asked() == LOOK
    assert everything_in(shop.folder) == before


@BY_HOUR
def test_only_finished_files_are_under_data(shop: Shop) -> None:
    """Not even for hours without events, of which the manifest alone knows."""
    shop.sync("2026-01-14", "2026-01-15")
    assert shop.asked()["events"] == shop.price(FIRST) + COUNT
    names = files_in(shop.folder)
    parts = {name for name in names if name.startswith("data/")}
    assert parts == {"data/date=2026-01-15/day.parquet"}
    assert {name.split("/")[1] for name in names - parts} == {
        *("dataset.json", "lock", "manifest", "names.json", "runs.json", "schema.json")
    }
    empty = json.loads((shop.folder / "_adanalytics/manifest/2026-01-14.json").read_text())
    assert [record["rows"] for record in empty["hours"].values()] == [0] * 24


def test_a_restated_day_is_found_and_pulled_as_a_whole(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is so large that the totals of its hours cost less: see `test_narrowing`."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    shop.fill()
    rows = [row for row in shop.rows() if row["event_date"] == "2026-01-15"]
    fewer = [row for row in rows if row["event_hour"] == 13 and not row["is_filtered"]][1:]
    shop.load(fewer, replace=True)
    assert shop.sync(via="pages").left == 0
    assert shop.asked() == {**LOOK, "events": 6 + COUNT}
    assert shop.held() == shop.rows()
    shop.sync()
    assert shop.asked() == LOOK


@BY_HOUR
def test_an_open_hour_is_asked_for_again_once_it_is_over(shop: Shop) -> None:
    shop.now = datetime(2026, 1, 16, 10, 20, tzinfo=UTC)
    shop.sync()
    # Hours that have not begun are not asked for, and a day that is not over is not counted.
    assert shop.asked()["events"] == shop.price(FIRST) + shop.price(SECOND, range(11)) + COUNT
    shop.sync()
    assert shop.asked() == LOOK
    shop.now += timedelta(hours=2)
    shop.sync()
    # 08:00, 09:00 and 10:00 were open before, and 10:00 still is; 11:00 and 12:00 are new.
    assert shop.asked()["events"] == shop.price(SECOND, (8, 9, 11, 12))
    shop.now += timedelta(days=1)
    shop.sync()
    assert shop.asked()["events"] == shop.price(SECOND, range(10, 24)) + COUNT
    shop.sync()
    assert shop.asked() == LOOK
    assert shop.held() == shop.rows()


@BY_HOUR
def test_a_change_that_the_open_hours_do_not_explain_is_found(shop: Shop) -> None:
    """The day was open when it was pulled, and meanwhile an hour that was over got late events."""
    shop.now = datetime(2026, 1, 16, 10, 20, tzinfo=UTC)
    shop.fill()
    early = next(row for row in shop.rows() if row["event_date"] == "2026-01-16")
    late = {**early, "event_id": "00000000-0000-4000-8000-000000000002", "is_filtered": False}
    shop.load([late])
    shop.now += timedelta(days=1)
    shop.sync()
    # First what was open or missing, and then, as the sum is not right, the nine others.
    assert shop.asked() == {**LOOK, "events": shop.price(SECOND) + COUNT}
    assert shop.held() == shop.rows()
    shop.sync()
    assert shop.asked() == LOOK


@BY_HOUR
def test_a_repull_that_was_stopped_begins_anew(shop: Shop) -> None:
    shop.fill()
    shop.asked()
    assert shop.sync(repull=1, requests=14).left > 0
    assert shop.asked()["events"] == 12
    files = {name.rpartition("/")[2] for name in files_in(shop.folder)}
    assert "repull.json" not in files
    assert shop.sync(repull=1).left == 0
    assert shop.asked()["events"] == shop.price(SECOND) + COUNT
    assert shop.held() == shop.rows()


@BY_HOUR
def test_drift_begins_an_hour_again(shop: Shop) -> None:
    shop.server.faults.add("page drift 2 once on events")
    assert shop.sync("2026-01-15").left == 0
    assert shop.held() == [row for row in shop.rows() if row["event_date"] == "2026-01-15"]
