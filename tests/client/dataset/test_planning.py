"""Which queries bring needed hours and names, by which totals, and at what cost."""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import COUNT, FIRST, LOOK, NAMES, SECOND, Shop
from tests.datasets import read_rows
from tests.server_answers import answer

from adanalytics_client import Client, ServiceProfile
from adanalytics_client._base.choices import Via
from adanalytics_client._json.fields import ID_OF, FieldNames
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.hours.events import columns_in
from adanalytics_client.dataset.narrowing import MOST_MOVED, narrow
from adanalytics_client.dataset.planning import (
    DAYS_PER_EXPORT,
    ExpectedCounts,
    plan_queries,
    requests_of,
)
from adanalytics_client.dataset.pull import exports, fetch
from adanalytics_client.dataset.records import names as records
from adanalytics_client.dataset.records.layout import Hour, hours_of
from adanalytics_client.dataset.records.manifest import DayRecord, HourRecord
from adanalytics_client.dataset.records.names import (
    GroupNames,
    Names,
    read_names,
    spans_without_names,
)
from adanalytics_client.dataset.service import DayState, ServiceDays
from adanalytics_client.dataset.storage.local import LocalStore
from adanalytics_client.types import ExportProfile, PageProfile
from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer, Sample

NEW_YEAR = date(2026, 1, 1)
PAGE = 10_000


def day(number: int) -> date:
    return NEW_YEAR + timedelta(number)


def planned(
    counts: dict[date, int], *, hours: list[Hour] | None = None, via: Via = "pages"
) -> list[str]:
    whole = set(counts) if hours is None else set()
    asked = hours or [hour for each in counts for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts(counts, whole, PAGE), via=via)
    assert sorted(hour for query in queries for hour in query.wanted) == sorted(asked)
    return [f"{query.way} {query}" for query in queries]


def test_thirty_small_days_are_one_query() -> None:
    assert planned({day(n): 5_000 for n in range(30)}) == ["pages 2026-01-01..2026-01-30"]


def test_a_large_day_is_asked_for_by_the_hour() -> None:
    queries = planned({day(0): 5_000, day(1): 900_000, day(2): 5_000})
    assert queries[0] == "pages 2026-01-01"
    assert queries[1:25] == [f"pages 2026-01-02T{hour:02}" for hour in range(24)]
    assert queries[25] == "pages 2026-01-03"


def test_a_day_of_unknown_size_is_asked_for_by_the_hour() -> None:
    assert planned({day(0): 0}) == [f"pages 2026-01-01T{hour:02}" for hour in range(24)]


@pytest.mark.parametrize("via", ["pages", "auto"])
def test_days_that_the_service_has_no_longer_are_one_query(via: Via) -> None:
    gone = {day(0), day(1)}
    asked = [hour for each in gone for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts({day(2): 5_000}, gone, PAGE), via=via)
    assert [str(query) for query in queries] == ["2026-01-01..2026-01-02"]


def test_a_query_spans_days_without_data_but_not_days_that_are_held() -> None:
    gap = {day(0): 5_000, day(4): 5_000}
    assert planned(gap) == ["pages 2026-01-01..2026-01-05"]
    counts = {**gap, day(2): 5_000}
    asked = [hour for each in gap for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts(counts, set(gap), PAGE), via="pages")
    assert [str(query) for query in queries] == ["2026-01-01", "2026-01-05"]


@pytest.mark.parametrize(
    ("count", "hours", "told"),
    [
        (50_000, 2, ["pages 2026-01-01T00", "pages 2026-01-01T01"]),
        (5_000, 2, ["pages 2026-01-01"]),
        (0, 1, ["pages 2026-01-01T00"]),
    ],
)
def test_a_few_hours_are_asked_for_in_the_cheaper_way(
    count: int, hours: int, told: list[str]
) -> None:
    assert planned({day(0): count}, hours=[Hour(day(0), n) for n in range(hours)]) == told


def test_exports_are_of_a_bounded_number_of_days() -> None:
    queries = planned({day(n): 1 for n in range(DAYS_PER_EXPORT + 2)}, via="export")
    assert queries == ["export 2026-01-01..2026-01-31", "export 2026-02-01..2026-02-02"]


def test_auto_takes_fewer_requests_and_then_fewer_bytes_for_each_run_of_days() -> None:
    month = {day(n): 400_000 for n in range(30)}
    assert planned(month, via="auto") == ["export 2026-01-01..2026-01-30"]
    assert planned({day(0): 5_000}, via="auto") == ["pages 2026-01-01"]
    # An order, one look at its state and its file.
    assert planned({day(0): 20_000}, via="auto") == ["pages 2026-01-01"]
    assert planned({day(0): 45_000}, via="auto") == ["export 2026-01-01"]
    counts = {day(0): 5_000, day(1): 5_000, day(2): 900_000}
    hours = [hour for number in (0, 2) for hour in hours_of(day(number))]
    expected = ExpectedCounts(counts, {day(0), day(2)}, PAGE)
    queries = plan_queries(hours, expected, via="auto")
    assert [f"{query.way} {query}" for query in queries] == [
        "pages 2026-01-01",
        "export 2026-01-03",
    ]


def test_auto_takes_pages_where_counts_are_unknown_or_some_hours_are_needed() -> None:
    assert len(planned({day(0): 0}, via="auto")) == 24
    some = [Hour(day(0), 3), Hour(day(0), 4)]
    assert {query[:5] for query in planned({day(0): 900_000}, hours=some, via="auto")} == {"pages"}


def test_the_events_of_each_day_are_counted_once() -> None:
    """A plan asks for them in each of its hours, of which 20,000 days have half a million."""
    service = ServiceDays(None, {NEW_YEAR: DayState(NEW_YEAR, "row", {})})
    assert service.counts is service.counts


class Counted(date):
    """A day that counts how often days are compared."""

    comparisons = 0

    @staticmethod
    def _counting(name: str) -> Callable[[date, object], bool]:
        compare: Callable[[date, object], bool] = getattr(date, name)

        def counted(self: date, other: object) -> bool:
            Counted.comparisons += 1
            return compare(self, other)

        return counted

    __eq__, __lt__, __le__, __gt__, __ge__ = map(
        _counting, ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")
    )
    __hash__ = date.__hash__


@pytest.mark.parametrize("via", ["auto", "pages", "export"])
@pytest.mark.parametrize(("events", "gap"), [(0, 0), (100, 0), (100, 1), (70_000, 0), (400_000, 1)])
def test_planning_takes_steps_in_proportion_to_the_days(via: Via, events: int, gap: int) -> None:
    def steps(days: int) -> int:
        first: date = Counted(1970, 1, 1)
        counts = {first + timedelta(n * (1 + gap)): events for n in range(days)}
        expected = ExpectedCounts(counts, {*counts}, PAGE)
        asked = [Hour(each, number) for each in counts for number in (3, 13)]
        Counted.comparisons = 0
        for query in plan_queries(asked, expected, via=via):
            requests_of(query, expected)
        return Counted.comparisons

    assert steps(1600) < 6 * steps(400)


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


THIRD = date(2026, 1, 17)
# The summary by day comes first.
BY_CAMPAIGN = Fault(effect="status", operation="summary", status=500, after=1)


def kept(folder: Path) -> Names:
    return read_names(LocalStore(folder, str(folder)))


def load_hour(shop: Shop, day: date, hour: int) -> None:
    """Load events of an hour of a day, which the service did not have."""
    moment = f"{day}T{hour:02}:10:00.000Z"
    times = {"event_date": str(day), "event_hour": hour, "event_time": moment}
    rows = [row for row in shop.rows() if row["event_date"] == FIRST][:3]
    id_ = f"00000000-0000-4000-8000-{hour:06}"
    shop.load(
        [
            {**row, **times, "received_at": moment, "event_id": f"{id_}{at:06}"}
            for at, row in enumerate(rows)
        ]
    )


def summaries(shop: Shop) -> int:
    """Count those beside the one by day, since the last look."""
    return shop.asked()["summary"] - 1


def test_names_are_asked_for_once_a_day(shop: Shop) -> None:
    shop.now = shop.now.replace(day=17, hour=8)
    shop.sync()
    assert summaries(shop) == NAMES
    known = kept(shop.folder)
    assert {name: len(known[name].names) > 0 for name in known} == dict.fromkeys(ID_OF, True)
    for hour, count in ((5, NAMES), (6, 0)):
        load_hour(shop, THIRD, hour)
        assert shop.sync().events
        assert summaries(shop) == count
    assert shop.sync().hours == {}
    assert summaries(shop) == 0
    assert {(group.first, group.last) for group in kept(shop.folder).values()} == {
        (date(2026, 1, 15), THIRD)
    }


def test_a_failure_is_logged_and_made_up_for(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """The client tries twice, and does not go on with the other group."""
    shop.server.faults.add(BY_CAMPAIGN)
    report = shop.sync()
    assert (report.left, report.failed, report.events) == (0, [], 1_200)
    assert (summaries(shop), kept(shop.folder)) == (2, {})
    assert [record.message for record in caplog.records if "names" in record.message] == [
        record.message for record in caplog.records if "no new names of campaigns" in record.message
    ]
    shop.server.faults.clear()
    shop.now = shop.now.replace(day=17, hour=8)
    load_hour(shop, THIRD, 5)
    shop.sync()
    assert (summaries(shop), kept(shop.folder)["campaign"].first) == (NAMES, date(2026, 1, 15))


def test_a_service_without_a_group_is_not_asked_again(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.now = shop.now.replace(day=17, hour=8)
    shop.server.faults.add(replace(BY_CAMPAIGN, status=400, times=1))
    shop.sync()
    assert "no new names of campaigns" in caplog.text
    known = kept(shop.folder)
    assert (len(known["campaign"].names), len(known["demand_tag"].names) > 1) == (0, True)
    shop.asked()
    load_hour(shop, date(2026, 1, 16), 23)
    assert shop.sync().events
    assert summaries(shop) == 0


@pytest.mark.parametrize(
    ("fields", "mapped", "count"),
    [
        ('"campaign_id": 7, "demand_tag_id": 8', {}, 2),
        ('"campaignId": 7', {}, 1),
        ('"cid": "7"', {"campaign_id": "cid"}, 1),
        ('"cid": "7"', {}, 0),
    ],
)
def test_only_groups_with_ids_are_asked_for(
    fields: str, mapped: Mapping[str, str], count: int, httpserver: HTTPServer, tmp_path: Path
) -> None:
    service = ServiceOfRows(httpserver)
    service.rows[FIRST, 3] = [f'{{"event_time": "{FIRST}T03:00:00Z", {fields}}}']
    with service.client(fields=mapped) as client:
        plan = Dataset(tmp_path / "events").plan(client)
        del service.asked[:]
        report = Dataset(tmp_path / "events").sync(client)
    assert report.events == 1
    assert service.asked.count("summary") == 1 + count
    assert len(service.asked) <= plan.requests + 2


def test_other_names_of_fields_have_names(tmp_path: Path) -> None:
    sample = Sample(days=1, events_per_day=100, seed=7)
    with LocalServer(sample=sample, dialect="fields-camel", rate_limit=0) as server:
        shop = Shop(server, tmp_path / "events")
        shop.sync()
        assert kept(shop.folder)["campaign"].names["1001"] == "Spring Sale"


@pytest.mark.parametrize(
    ("id_", "name", "expected"),
    [
        ("c-1", "Été & 'Co'", [{"campaign_id": "c-1", "name": "Été & 'Co'"}]),
        ("1", "\ud800x", [{"campaign_id": "1", "name": "?x"}]),
        (7, "seven", [{"campaign_id": 7, "name": "seven"}]),
        (7, 8, []),
        (7, None, []),
        (None, "seven", []),
        ([7], "seven", []),
    ],
)
def test_a_name_is_what_a_service_sends(
    dataset: Dataset, id_: object, name: object, expected: list[Any], httpserver: HTTPServer
) -> None:
    service = ServiceOfRows(httpserver)
    event = {"event_time": f"{FIRST}T03:00:00Z", "campaign_id": id_}
    service.rows[FIRST, 3] = [json.dumps(event)]
    service.campaigns = [{"campaign_id": id_, "campaign_name": name}]
    with service.client() as client:
        assert dataset.sync(client).events == 1
    sql = "SELECT campaign_id, campaign_name AS name FROM campaigns JOIN events USING (campaign_id)"
    assert dataset.query(sql).to_pylist() == expected


@pytest.mark.parametrize("content", [b"", b'{"campaign": 1, "sha256": ""}'])
def test_a_damaged_record_is_written_anew(content: bytes, shop: Shop) -> None:
    shop.fill(FIRST)
    whole = kept(shop.folder)["campaign"].names
    (shop.folder / "_adanalytics/names.json").write_bytes(content)
    assert kept(shop.folder) == {}
    shop.asked()
    shop.sync(FIRST, SECOND)
    assert (summaries(shop), kept(shop.folder)["campaign"].names) == (NAMES, whole)


def test_the_newest_names_stay_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(records, "MOST_NAMES", 3)
    group = GroupNames(THIRD, THIRD, {"1": "one", "2": "two", "3": "three"})
    with caplog.at_level(logging.WARNING):
        assert group.updated("campaign", {"3": "tres"}).names == {
            "3": "tres",
            "1": "one",
            "2": "two",
        }
        assert caplog.text == ""
        assert group.updated("campaign", {"4": "four", "2": "dos"}).names == {
            "4": "four",
            "2": "dos",
            "1": "one",
        }
    assert "keeps 3 names of campaigns, and drops 1" in caplog.text


@pytest.mark.parametrize(
    ("days", "span"),
    [
        ([0], None),
        ([-1, 0, 1], None),
        ([2], (1, 2)),
        ([0, 5], (1, 5)),
        ([-4], (-4, -1)),
        ([-4, 1], (-4, -1)),
        ([-4, 4], (-4, 4)),
    ],
)
def test_the_days_of_requests_have_no_gap(days: list[int], span: tuple[int, int] | None) -> None:
    def day(number: int) -> date:
        return THIRD + timedelta(days=number)

    known: Any = {"campaign": GroupNames(day(-1), day(1))}
    columns = ("campaign_id",)
    spans = spans_without_names(known, [*map(day, days)], columns, FieldNames())
    assert spans == ({"campaign": (day(span[0]), day(span[1]))} if span else {})
