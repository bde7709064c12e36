"""Which hours of a restated day are pulled: by the service's totals, or all of them."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.client.dataset.shop import COUNT, LOOK, SECOND, Shop

from adanalytics_client.dataset.narrowing import MOST_MOVED, narrow
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.records.layout import Hour, hours_of
from adanalytics_client.dataset.records.manifest import DayRecord, HourRecord
from adanalytics_server.local import LocalServer, Sample

DAY = date(2026, 1, 15)
NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
# The total of the day.
DAY_TOTAL = 1


def record(**later: int) -> DayRecord:
    """Return a day with 5 events in each hour; `h13=2` was pulled 2 minutes after the others."""
    hours = {hour: HourRecord(5, 100, "sha", NOON, "row") for hour in range(24)}
    for name, minutes in later.items():
        hour = int(name.removeprefix("h"))
        hours[hour] = HourRecord(5, 100, "sha", NOON + timedelta(minutes=minutes), "row")
    return DayRecord(DAY, hours)


@pytest.mark.parametrize(
    ("totals", "moved", "requests"),
    [
        # One late event: the last hours are requested first.
        ({23: 6}, [23], 2),
        ({13: 6}, [13], 12),
        ({13: 6, 14: 8}, [13, 14], 12),
        ({0: 4}, [0], 25),
        ({5: 0, 7: 11}, [5, 7], 20),
        # Amounts, or events that replace others: nothing tells the hour.
        ({13: 5}, None, 1),
        ({5: 4, 7: 6}, None, 1),
        # Reprocessed.
        (dict.fromkeys(range(24), 7), None, 2 + MOST_MOVED),
        # No total of the day, or of an hour; a day that is cut; hours that do not add up.
        ({None: None}, None, 1),
        ({None: 121, 22: None}, None, 3),
        ({None: 80}, None, 1),
        ({None: 125, 23: 6}, None, 25),
        # Each hour has the events of the day: the service ignores the hour.
        (dict.fromkeys((None, *range(24)), 121), None, 2),
    ],
)
def test_hours_whose_number_of_events_moved(
    totals: dict[int | None, int | None], moved: list[int] | None, requests: int
) -> None:
    """By default an hour has the 5 events that are held, and the day those of its hours."""
    stated: dict[int | None, int | None] = {hour: totals.get(hour, 5) for hour in range(24)}
    stated[None] = totals.get(None, sum(events or 0 for events in stated.values()))
    asked = list[int | None]()

    def count(hour: int | None) -> int | None:
        asked.append(hour)
        return stated[hour]

    hours = None if moved is None else [Hour(DAY, hour) for hour in moved]
    assert narrow(record(), [*hours_of(DAY)], 100, count) == hours
    assert len(asked) == requests


def test_hours_that_moved_before_come_first() -> None:
    asked = list[int | None]()

    def count(hour: int | None) -> int:
        asked.append(hour)
        return {None: 121, 4: 6}.get(hour, 5)

    assert narrow(record(h4=1, h9=2), [*hours_of(DAY)], 100, count)
    assert asked == [None, 9, 4]


def restate(shop: Shop, hour: int, **fields: Any) -> None:
    """Restate an hour of the second day: without its first event, or with other fields of it."""
    rows = [row for row in shop.rows() if (row["event_date"], row["event_hour"]) == (SECOND, hour)]
    counted = next(row for row in rows if not row["is_filtered"])
    rows[rows.index(counted) : rows.index(counted) + 1] = [{**counted, **fields}] if fields else []
    shop.load(rows, replace=True)


@pytest.mark.usefixtures("hourly")
def test_only_the_hour_that_moved_is_pulled_and_a_plan_says_so(shop: Shop) -> None:
    shop.fill()
    shop.now += timedelta(hours=1)
    restate(shop, 13)
    shop.asked()
    with shop.client() as client:
        plan = shop.dataset.plan(client)
    # The day, and the hours from the last one on.
    looks = DAY_TOTAL + 24 - 13
    assert shop.asked() == {**LOOK, "events": looks}
    price = looks + shop.price(SECOND, [13]) + COUNT
    report = shop.sync()
    assert shop.asked() == {**LOOK, "events": price}
    assert ([*plan.hours], [*report.changed]) == ([*report.hours],) * 2
    assert (len(report.hours), report.wanted, report.left) == (1, 1, 0)
    assert 0 <= plan.requests - price <= 1
    assert shop.held() == shop.rows()
    # The next late event of this hour is found at once.
    restate(shop, 13)
    price = DAY_TOTAL + 1 + shop.price(SECOND, [13]) + COUNT
    shop.sync()
    assert shop.asked() == {**LOOK, "events": price}
    assert shop.held() == shop.rows()
    shop.sync()
    assert shop.asked() == LOOK


@pytest.mark.usefixtures("hourly")
def test_other_amounts_of_as_many_events_take_the_whole_day(shop: Shop) -> None:
    shop.fill()
    restate(shop, 13, revenue="7.000000000")
    price = DAY_TOTAL + shop.price(SECOND) + COUNT
    report = shop.sync()
    assert shop.asked() == {**LOOK, "events": price}
    assert [(hour.hour, before - after) for hour, (before, after) in report.changed.items()] == [
        (13, 0)
    ]
    assert shop.held() == shop.rows()


@pytest.mark.usefixtures("hourly")
def test_the_other_hours_follow_if_the_sums_still_differ(shop: Shop) -> None:
    """An hour lost an event, and the amounts of another one are other ones."""
    shop.fill()
    restate(shop, 13)
    restate(shop, 7, revenue="7.000000000")
    price = DAY_TOTAL + 11 + shop.price(SECOND) + COUNT
    report = shop.sync()
    assert shop.asked() == {**LOOK, "events": price}
    assert sorted(hour.hour for hour in report.changed) == [7, 13]
    assert shop.held() == shop.rows()
    assert shop.sync().wanted == 0


@pytest.mark.parametrize("name", ["hour-ignored", "meta-none"])
def test_services_whose_totals_do_not_tell(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day is so large that its totals would cost less, but not so that it is pulled by hours."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 35)
    sample = Sample(days=2, events_per_day=600, seed=7)
    with LocalServer(sample=sample, dialect=name, rate_limit=0) as server:
        shop = Shop(server, tmp_path / "events")
        shop.sync()
        assert len(shop.held()) == 1_200
        restate(shop, 13)
        shop.asked()
        report = shop.sync()
        assert (report.wanted, report.left, len(report.changed)) == (24, 0, 1)
        assert len(shop.held()) == 1_199
