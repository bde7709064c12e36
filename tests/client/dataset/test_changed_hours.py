"""A sync writes only hours whose events changed, and says which."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import FIRST, LOOK, SECOND, Shop
from tests.datasets import Row, everything_in
from tests.server_answers import answer

from adanalytics_client.dataset import Dataset, Hour, PartFormat, SyncReport
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.storage.local import LocalStore
from adanalytics_server.local import LocalServer


def late_event(shop: Shop, hour: int, number: int = 1) -> Row:
    """Return an event of the second day that no hour has yet."""
    event = next(r for r in shop.rows() if (r["event_date"], r["event_hour"]) == (SECOND, hour))
    event_id = f"00000000-0000-4000-8000-{number:012}"
    return {**event, "event_id": event_id, "is_filtered": False}


def events_of(shop: Shop, day: str, hour: int) -> int:
    return sum((row["event_date"], row["event_hour"]) == (day, hour) for row in shop.rows())


def data_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        name: file
        for name, file in everything_in(folder).items()
        if name.endswith(("parquet", "jsonl"))
    }


def test_one_late_event_writes_one_file(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.partition = "hour"
    first = shop.sync()
    assert (len(first.changed), {before for before, _ in first.changed.values()}) == (48, {0})
    before, events = data_of(shop.folder), events_of(shop, SECOND, 13)
    shop.load([late_event(shop, 13)])
    written, write = list[str](), LocalStore.write

    def note(store: LocalStore, name: str, *args: Any, **options: Any) -> None:
        written.append(name)
        write(store, name, *args, **options)

    monkeypatch.setattr(LocalStore, "write", note)
    report = shop.sync()
    hour = Hour(date.fromisoformat(SECOND), 13)
    assert report.changed == {hour: (events, events + 1)}
    after = data_of(shop.folder)
    changed = [name for name in after if after[name] != before[name]]
    assert (len(changed), f"date={SECOND}/hour=13" in changed[0]) == (1, True)
    assert [name for name in written if "journal" in name] == [f"_adanalytics/journal/{hour}.json"]
    assert [change.before["events"] for change in report.restated] == [600]
    assert shop.held() == shop.rows()
    assert shop.sync().hours == {}


def test_a_repull_without_a_change_writes_no_file(shop: Shop) -> None:
    shop.fill()
    before = data_of(shop.folder)
    report = shop.sync(repull=2)
    assert (len(report.hours), report.changed, report.restated) == (48, {}, [])
    assert data_of(shop.folder) == before


def test_a_repull_replaces_a_damaged_file(shop: Shop) -> None:
    shop.partition = "hour"
    shop.fill()
    part = shop.folder / f"data/date={SECOND}/hour=13/part-0.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:-1] + b"x")
    assert shop.sync(repull=1).changed == {
        Hour(date.fromisoformat(SECOND), 13): (events_of(shop, SECOND, 13),) * 2
    }
    assert part.read_bytes() == content


def test_an_hour_that_lost_events_is_a_change(shop: Shop) -> None:
    shop.fill()
    rows = [row for row in shop.rows() if (row["event_date"], row["event_hour"]) == (FIRST, 13)]
    shop.load(rows[:1], replace=True)
    assert shop.sync().changed == {Hour(date.fromisoformat(FIRST), 13): (len(rows), 1)}


ROWS = [f'{{"event_time":"{FIRST}T03:00:0{n}Z","n":{n},"note":null}}' for n in range(3)]
WIDER = f'{{"event_time":"{FIRST}T09:00:00Z","n":1.5,"more":"x"}}'


# What an hour has at first and later, and which of its forms count as the same.
FORMS: dict[str, tuple[list[str], set[PartFormat]]] = {
    "another order": (ROWS[::-1], {"parquet", "jsonl"}),
    # Lines are the bytes as they were sent.
    "spaces": ([row.replace(",", " , ") for row in ROWS], {"parquet"}),
    "without a null": ([row.replace(',"note":null', "") for row in ROWS], {"parquet"}),
    "an event twice": ([*ROWS[:2], ROWS[1]], set()),
    "another number": ([*ROWS[:2], ROWS[2].replace('"n":2', '"n":3')], set()),
}


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_the_same_events_in_another_form_are_no_change(
    httpserver: HTTPServer, tmp_path: Path, form: PartFormat
) -> None:
    service, dataset = ServiceOfRows(httpserver), Dataset(tmp_path, format=form, partition="hour")

    def at(hour: int, rows: list[str]) -> list[str]:
        return [row.replace("T03", f"T{hour:02}") for row in rows]

    def sync(repull: int = 0) -> SyncReport:
        with service.client() as client:
            return dataset.sync(client, FIRST, repull=repull)

    service.rows = {(FIRST, hour): at(hour, ROWS) for hour in range(len(FORMS))}
    service.rows[FIRST, 9] = [WIDER]
    assert len(sync().changed) == len(FORMS) + 1
    before = data_of(tmp_path)
    for hour, (rows, _) in enumerate(FORMS.values()):
        service.rows[FIRST, hour] = at(hour, rows)
    # Another column, of which the other hours have no value, and wider numbers.
    service.rows[FIRST, 9] = [WIDER, WIDER.replace('"x"', '"y","k":1')]
    report = sync(repull=1)
    assert report.failed == []
    others = {hour for hour, (_, same) in enumerate(FORMS.values()) if form not in same}
    assert {hour.hour for hour in report.changed} == {*others, 9}
    after = data_of(tmp_path)
    assert len([name for name in after if after[name] != before[name]]) == len(report.changed)
    assert sync(repull=1).changed == {}


class Today:
    """A service that has the events of the second day up to hour 12, and no later ones."""

    def __init__(self, server: LocalServer, rows: list[Row], folder: Path) -> None:
        due = [row for row in rows if (row["event_date"], row["event_hour"]) <= (SECOND, 12)]
        server.add_events([{**row, "revenue": "0.500000000"} for row in due])
        self.shop = Shop(server, folder)
        self.shop.now = datetime(2026, 1, 16, 12, 59, tzinfo=UTC)

    def restate(self, hour: int, *, amounts: bool = False) -> None:
        """Take an event from an hour, or lower its amounts."""
        rows = [r for r in self.shop.rows() if (r["event_date"], r["event_hour"]) == (SECOND, hour)]
        counted = next(row for row in rows if not row["is_filtered"])
        rows.remove(counted)
        rows += [{**counted, "revenue": "0.250000000"}] if amounts else []
        self.shop.load(rows, replace=True)


@pytest.fixture
def today(shop: Shop, tmp_path: Path) -> Iterator[Today]:
    with LocalServer(sample=None, rate_limit=0) as server:
        yield Today(server, shop.rows(), tmp_path / "today")


@pytest.mark.parametrize("size", [25, 10_000])
@pytest.mark.parametrize(("hour", "amounts"), [(5, False), (11, False), (5, True)])
def test_an_hour_of_today_that_was_restated_downwards_is_pulled_again(
    today: Today, monkeypatch: pytest.MonkeyPatch, size: int, hour: int, amounts: bool
) -> None:
    """Hour 5 was over when it was pulled, and hour 11 was not."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    shop = today.shop
    assert shop.sync().left == 0
    before = events_of(shop, SECOND, hour)
    today.restate(hour, amounts=amounts)
    shop.now += timedelta(minutes=61)
    report = shop.sync()
    assert (report.failed, [*report.changed]) == ([], [Hour(date.fromisoformat(SECOND), hour)])
    assert [*report.changed.values()] == [(before, before - (not amounts))]
    assert shop.held() == shop.rows()
    shop.asked()
    assert shop.sync().wanted == 0
    assert shop.asked() == LOOK


def test_an_hour_of_today_that_the_summary_contradicts_is_not_emptied(today: Today) -> None:
    shop = today.shop
    shop.sync()
    before = shop.held()
    body = {"data": [], "meta": {"total": 0, "page": 1, "per_page": 1}}
    shop.server.faults.add(answer("events", body))
    shop.now += timedelta(minutes=61)
    assert "has fewer events than before" in shop.sync().failed[0].message
    assert shop.held() == before
    shop.server.faults.clear()
    assert shop.sync().left == 0
