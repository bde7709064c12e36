"""A dataset as a library: what a sync pulls and reports, whose it is, and its records."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import COUNT, FIRST, FIRST_LOOK, LOOK, SECOND, AtMost, Shop, Stop
from tests.datasets import Row, everything_in, files_in
from tests.server_answers import answer

from adanalytics_client import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConfigurationError,
    NotFound,
    Observer,
    QuotaPolicy,
    RetryPolicy,
    StatusError,
    TransportError,
)
from adanalytics_client.dataset import (
    Dataset,
    DatasetError,
    DatasetInUse,
    Hour,
    PartFormat,
    SyncReport,
    UnsuitablePlace,
    runs,
)
from adanalytics_client.dataset.hours.totals import Figure, Totals
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import IDENTITY
from adanalytics_client.dataset.records.manifest import HourRecord, Identity, Manifest, seal
from adanalytics_client.dataset.storage.local import LocalStore, open_store
from adanalytics_client.observers import HoursVerified, PullPlanned
from adanalytics_server.local import LocalServer


def test_an_async_client_is_refused(tmp_path: Path) -> None:
    other: Any = AsyncClient("https://stats.example", api_key="k", partner="acme")
    dataset = Dataset(tmp_path / "events")
    for call in (dataset.sync, dataset.plan, dataset.tasks):
        with pytest.raises(ConfigurationError, match="Pass a Client"):
            call(other)
    assert not (tmp_path / "events").exists()


@pytest.mark.parametrize("requests", [0, 1])
def test_a_closed_client_is_refused(client: Client, dataset: Dataset, requests: int) -> None:
    for _ in range(requests):
        client.dates()
    client.close()
    for call in (dataset.sync, dataset.plan, dataset.tasks):
        with pytest.raises(ConfigurationError, match="The client is closed"):
            call(client)


class OtherTime(datetime):
    """A time as those of pandas and pendulum."""


def test_its_clock_may_return_times_of_another_class(client: Client, tmp_path: Path) -> None:
    now = OtherTime(2026, 1, 20, tzinfo=UTC)
    dataset = Dataset(tmp_path / "events", clock=lambda: now)
    assert dataset.sync(client, "2026-01-15").events == 300
    assert dataset.sync(client, "2026-01-15").wanted == 0


def test_reports_say_what_was_done(client: Client, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path / "events", format="jsonl")
    planned = dataset.plan(client, "2026-01-15")
    assert repr(planned) == f"SyncPlan(24 hours, {planned.requests} requests)"
    report = dataset.sync(client, "2026-01-15")
    assert (report.events, report.wanted, report.left, report.failed) == (300, 24, 0, [])
    assert repr(report) == "SyncReport(24 hours, 300 events)"
    assert report.hours[Hour(date(2026, 1, 15), 13)] > 0
    assert dataset.verify(client, until="2026-01-15").is_whole
    (problem,) = dataset.verify(client).problems
    assert (problem.day, problem.missing, problem.remedy) == (date(2026, 1, 16), True, "sync")
    assert repr(dataset.verify(client)) == "VerifyReport(24 hours, 300 events, 1 problem)"
    with pytest.raises(ConfigurationError):
        dataset.verify(client, until="2026-01-32")
    with pytest.raises(ConfigurationError, match="Pass a client"):
        dataset.verify(None, deep=True)
    assert dataset.verify(None).is_whole
    assert dataset.sync(client, "2026-01-15", "2026-01-18").events == 300
    assert dataset.sync(client).wanted == 0
    checked = dataset.verify(client, deep=True)
    assert (checked.hours, checked.events, checked.is_whole) == (4 * 24, 600, True)
    held = dataset.holdings()
    assert held is not None
    assert (held.partner, held.format, held.hours[date(2026, 1, 15)]) == ("acme", "jsonl", 24)


def test_a_failed_query_is_in_the_report(
    server: LocalServer, client: Client, dataset: Dataset, tmp_path: Path
) -> None:
    server.faults.add("422 always on events")
    with pytest.raises(Exception, match="422"):
        dataset.sync(client)
    server.faults.clear()
    server.faults.add(answer("events", {"nothing": 1}))
    report = dataset.sync(client)
    server.faults.clear()
    assert [(each.kind, len(each.hours)) for each in report.failed] == [("ProtocolError", 48)]
    assert repr(report) == "SyncReport(0 hours, 0 events, 48 missing hours, 1 failure)"
    assert (tmp_path / "events" / report.file).is_file()
    assert dataset.sync(client).events == 600


def test_of_many_queries_one_fails_alone_and_a_refused_credential_ends_all(
    server: LocalServer, client: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 5)
    server.faults.add("401 always on events")
    with pytest.raises(AuthenticationError):
        dataset.sync(client, "2026-01-15", via="pages")
    # Queries under way end; no other begins.
    asked = [entry for entry in server.journal.entries() if entry.operation == "events"]
    assert len(asked) == fetch.AT_A_TIME
    server.faults.clear()
    server.faults.add(answer("events", {"nothing": 1}, times=1))
    report = dataset.sync(client, "2026-01-15", via="pages")
    assert [(each.kind, len(each.hours)) for each in report.failed] == [("ProtocolError", 1)]
    assert dataset.sync(client, "2026-01-15").left == 0


def test_the_last_runs_are_kept(
    server: LocalServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, file = Dataset(tmp_path / "events"), tmp_path / "events" / "_adanalytics/runs.json"
    with pytest.raises(DatasetError, match="There is no dataset"):
        dataset.runs()
    # It finds nothing to do, so it writes nothing.
    for _ in range(2):
        dataset.sync(client, "2026-01-15")
    (first,) = dataset.runs()
    assert (first.hours, first.events, first.changed, first.left) == (24, 300, 24, 0)
    assert (first.failed, first.error) == (0, "")
    assert first.size > 0
    assert first.began <= first.ended
    with pytest.raises(Stop):
        dataset.sync(client.with_options(observer=AtMost(2)), "2026-01-16")
    stopped = dataset.runs()[-1]
    assert (stopped.hours, stopped.left, stopped.error) == (0, 24, "Stop")
    monkeypatch.setattr(runs, "MOST_RUNS", 3)
    for _ in range(4):
        dataset.sync(client, "2026-01-15", repull=1)
    assert [(run.hours, run.changed) for run in dataset.runs()] == [(24, 0)] * 3
    file.write_bytes(file.read_bytes()[:-20])
    assert dataset.runs() == []
    assert dataset.sync(client, "2026-01-15", repull=1).left == 0
    assert len(dataset.runs()) == 1


def test_a_run_of_no_dataset_is_not_kept(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    with pytest.raises(StatusError):
        Dataset(tmp_path / "events").sync(client.for_partner("other"), "2026-01-15")
    assert not [*tmp_path.rglob("runs.json")]


@pytest.mark.parametrize(
    "wrong", [{"via": "pigeon"}, {"repull": -1}, {"end": "2026-01-15"}, {"start": "2026-13"}]
)
def test_wrong_arguments_touch_nothing(
    client: Client, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        Dataset(tmp_path / "events").sync(client, **wrong)
    assert not (tmp_path / "events").exists()


def test_a_dataset_is_of_one_partner_and_place(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="format"):
        Dataset(tmp_path, format="xlsx")  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="There is no dataset"):
        Dataset(tmp_path / "events").verify(client)
    Dataset(tmp_path / "events").sync(client, "2026-01-15")
    with pytest.raises(DatasetError, match="partner acme, not other"):
        Dataset(tmp_path / "events").sync(client.for_partner("other"))
    with pytest.raises(UnsuitablePlace, match="holds events"):
        Dataset(tmp_path).sync(client)


def test_an_observer_ends_a_run_and_the_next_goes_on(client: Client, dataset: Dataset) -> None:
    with pytest.raises(Stop):
        dataset.sync(client.with_options(observer=AtMost(2)))
    assert dataset.report is not None
    assert (dataset.report.wanted, dataset.report.left) == (48, 48)
    assert dataset.sync(client).events == 600


def test_an_interrupted_wait_leaves_the_client_open(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adanalytics_client.dataset.pull.fetch.EVENTS_PER_PAGE", 10)
    with Client(
        server.url,
        api_key=server.api_key,
        partner="acme",
        quota=QuotaPolicy(limit=6, log=tmp_path / "quota"),
        observer=AtMost(100),
    ) as limited:
        with pytest.raises(KeyboardInterrupt):
            dataset.sync(limited, via="pages")
        # The quota is used up, and the client is not closed.
        with pytest.raises(KeyboardInterrupt):
            limited.dates()
    assert dataset.sync(client).left == 0


def test_one_process_at_a_time(client: Client, tmp_path: Path) -> None:
    refused: list[type[BaseException]] = []

    class Second(Observer):
        def plan(self, _info: PullPlanned) -> None:
            try:
                Dataset(tmp_path / "events").sync(client)
            except DatasetInUse as error:
                refused.append(type(error))

    Dataset(tmp_path / "events").sync(client.with_options(observer=Second()))
    assert refused == [DatasetInUse]


def test_a_verification_counts_its_hours(client: Client, dataset: Dataset) -> None:
    counts: list[HoursVerified] = []

    class Counts(Observer):
        def verified(self, info: HoursVerified) -> None:
            counts.append(info)

    dataset.sync(client, "2026-01-15")
    observed = client.with_options(observer=Counts())
    assert dataset.verify(observed, deep=True, until="2026-01-15").is_whole
    files = [HoursVerified(n, 24, deep=False) for n in range(1, 25)]
    assert counts == [*files, *(HoursVerified(n, 24, deep=True) for n in range(25))]
    counts.clear()
    assert dataset.verify(None, until="2026-01-15", observer=Counts()).is_whole
    assert counts == files


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
    """Unless it is so large that the totals of its hours cost less: see `test_planning`."""
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


def test_a_mistyped_partner_does_not_keep_the_folder(client: Client, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    with pytest.raises(NotFound):
        dataset.sync(client.for_partner("zzz"))
    assert dataset.holdings() is None
    assert dataset.sync(client).events == 600


def test_a_mistyped_address_does_not_keep_the_folder(client: Client, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    with Client("http://127.0.0.1:9", api_key="k", partner="acme") as mistyped:
        hasty = mistyped.with_options(retry=RetryPolicy(attempts=1))
        with pytest.raises(TransportError):
            dataset.sync(hasty)
    assert dataset.sync(client).events == 600


def test_a_dataset_without_hours_may_be_taken_over(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    server.faults.add(answer("dates", {"dates": []}))
    assert Dataset(tmp_path).sync(client).wanted is None
    server.faults.clear()
    held = Dataset(tmp_path).holdings()
    assert held is not None
    assert held.format == "parquet"
    assert Dataset(tmp_path, format="jsonl").sync(client).events == 600
    with pytest.raises(DatasetError, match="format jsonl, not parquet"):
        Dataset(tmp_path, format="parquet").sync(client)


def test_a_service_that_moved_keeps_its_dataset(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    dataset, former = Dataset(tmp_path), server.url
    dataset.sync(client, "2026-01-15")
    moved = former.replace("127.0.0.1", "localhost")
    with Client(moved, api_key=server.api_key, partner="acme") as now:
        with pytest.raises(DatasetError, match="is a dataset of service") as refused:
            dataset.sync(now)
        assert "moved_from" in refused.value.remedy
        with pytest.raises(DatasetError, match="is a dataset of service"):
            dataset.sync(now, moved_from="https://elsewhere.example")
        with pytest.raises(ConfigurationError):
            dataset.sync(now, moved_from="elsewhere")
        assert dataset.plan(now, moved_from=former).events > 0
        assert dataset.sync(now, moved_from=former).events == 300
        # The same command again, as in a crontab, and without the option.
        assert dataset.sync(now, moved_from=former).wanted == 0
        assert dataset.verify(now).is_whole
    with pytest.raises(DatasetError, match="is a dataset of service"):
        dataset.sync(client)


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


DAY = date(2026, 1, 15)
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "content",
    [
        seal(replace(Identity("acme", "http://a.example", "parquet"), layout=1)),
        seal(replace(Identity("acme", "http://a.example", "parquet"), layout=99)),
        # Another version may have another checksum, other names, and other types of them.
        b'{"layout": 99, "partner": ["acme"], "sha512": "00"}\n',
        b'{"layout": "99.1"}\n',
    ],
)
def test_a_dataset_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    """By each operation, before a request: the address of the service has no server."""
    dataset, store = Dataset(tmp_path), open_store(str(tmp_path))
    store.write(IDENTITY, content)
    with Client("http://localhost:9", api_key="k", partner="acme") as client:
        operations: dict[str, Callable[[], object]] = {
            "sync": lambda: dataset.sync(client, DAY),
            "plan": lambda: dataset.plan(client, DAY),
            "tasks": lambda: dataset.tasks(client, DAY),
            "commit": lambda: dataset.commit(client, []),
            "verify": lambda: dataset.verify(client),
            "verify offline": lambda: dataset.verify(None),
            "changes": dataset.changes,
            "holdings": dataset.holdings,
            "schema": lambda: dataset.schema,
            "query": lambda: dataset.query("SELECT 1 FROM events"),
            "to_duckdb": dataset.to_duckdb,
        }
        for name, operation in operations.items():
            with pytest.raises(DatasetError, match="made by another version") as caught:
                operation()
            assert "Delete" not in caught.value.remedy, name
    assert store.read(IDENTITY) == content


def test_sums_keep_their_digits(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    sums: dict[str, Figure | None]
    sums = {"revenue": Decimal("0.0000944916"), "id": 2**70, "note": None}
    record = HourRecord(1, 1, "a", NOW, "row", Totals(1, {"clicks": 1}, sums, 1))
    manifest = Manifest(store)
    manifest.put({Hour(DAY, 3): record})
    manifest.save([DAY])
    assert Manifest(store).day(DAY).hours == {3: record}
