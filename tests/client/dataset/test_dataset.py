"""A dataset as a library: reports, periods and stops."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.client.dataset.shop import AtMost, Stop
from tests.server_answers import answer

from adanalytics_client import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConfigurationError,
    Observer,
    QuotaPolicy,
    StatusError,
)
from adanalytics_client.dataset import (
    Dataset,
    DatasetError,
    DatasetInUse,
    Hour,
    UnsuitablePlace,
    runs,
)
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.observers import HoursVerified, PullPlanned
from adanalytics_server.local import LocalServer


def test_an_async_client_is_refused(tmp_path: Path) -> None:
    other: Any = AsyncClient("https://stats.example", api_key="k", partner="acme")
    dataset = Dataset(tmp_path / "events")
    for call in (dataset.sync, dataset.plan, dataset.tasks):
        with pytest.raises(ConfigurationError, match="Pass a Client"):
            call(other)
    assert not (tmp_path / "events").exists()


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
