"""A sync as tasks: planned and committed here, run anywhere, repeated or lost."""

import gzip
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from traceback import TracebackException
from typing import Any

import pyarrow.dataset
import pytest
from pytest_httpserver import HTTPServer
from tests.server_answers import answer, operations
from werkzeug import Request, Response

from adanalytics_client import (
    Client,
    ConfigurationError,
    DownloadError,
    ExportExpired,
    InvalidRequest,
    ProtocolError,
    RetryPolicy,
)
from adanalytics_client.dataset import Dataset, DatasetError, Part, Task
from adanalytics_client.dataset.hours import files as sorted_files
from adanalytics_client.dataset.hours import sections
from adanalytics_client.dataset.tasks import plan
from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer, event

FIRST, SECOND = "2026-01-15", "2026-01-16"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return Dataset(tmp_path / "events")


def rows_of(dataset: Dataset) -> list[dict[str, object]]:
    table = pyarrow.dataset.dataset(f"{dataset.place}/data", partitioning="hive").to_table()
    return sorted(table.to_pylist(), key=lambda row: str(row["event_id"]))


@pytest.mark.parametrize(
    "carry",
    [
        lambda each: pickle.loads(pickle.dumps(each)),
        lambda each: type(each).from_json(json.loads(json.dumps(each.to_json()))),
    ],
    ids=["pickled", "json"],
)
def test_tasks_bring_what_a_sync_brings(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    carry: Callable[[Task | Part], Task | Part],
) -> None:
    tasks = dataset.tasks(client, FIRST, SECOND)
    assert operations(server) == ["dates", "summary", "start_export", "start_export"]
    carried = [carry(task) for task in tasks]
    assert all(server.api_key not in pickle.dumps(each).decode("latin1") for each in carried)
    assert "signature" not in repr(tasks)
    parts = [carry(each.run()) for each in carried if isinstance(each, Task)]
    assert not (tmp_path / "events/data").exists()
    report = dataset.commit(client, [part for part in parts if isinstance(part, Part)])
    assert (report.events, report.left, report.failed) == (600, 0, [])
    other = Dataset(tmp_path / "other")
    other.sync(client, FIRST, SECOND, via="pages")
    assert rows_of(dataset) == rows_of(other)
    assert not [*(tmp_path / "events/_adanalytics").glob("exports/*")]
    assert dataset.tasks(client, FIRST, SECOND) == []


def test_repeated_tasks_and_commits_give_no_event_twice(client: Client, dataset: Dataset) -> None:
    tasks = dataset.tasks(client, FIRST, SECOND)
    parts = [task.run() for task in [*tasks, *tasks]][::-1]
    assert dataset.commit(client, parts).events == 600
    assert (dataset.commit(client, parts).events, len(rows_of(dataset))) == (0, 600)
    assert dataset.verify(client, until=SECOND).is_whole


def test_a_part_that_never_came_is_reported_and_the_next_sync_brings_it(
    client: Client, dataset: Dataset, tmp_path: Path
) -> None:
    tasks = dataset.tasks(client, FIRST, SECOND)
    report = dataset.commit(client, [tasks[0].run()])
    (failed,) = report.failed
    assert (report.events, report.left, failed.query) == (300, 24, SECOND)
    command = f"adanalytics sync {SECOND} {SECOND} --to {tmp_path / 'events'}"
    assert failed.message.endswith("delivered no part.")
    assert failed.remedy == f"Finish with: {command}"
    with pytest.raises(DatasetError, match="does not have the plan"):
        tasks[1].run()
    assert dataset.sync(client, FIRST, SECOND).events == 300


def test_a_part_whose_file_is_gone_never_came(client: Client, dataset: Dataset) -> None:
    """A commit that was killed has moved some; the next sync pulls what is missing."""
    parts = [task.run() for task in dataset.tasks(client, FIRST, SECOND)]
    lost = next(hour.file for hour in parts[0].hours if hour.file)
    Path(dataset.place, lost).unlink()
    report = dataset.commit(client, parts)
    assert [(failed.query, len(failed.hours)) for failed in report.failed] == [(FIRST, 24)]
    assert report.events == dataset.sync(client, FIRST, SECOND).events == 300
    assert dataset.verify(client, until=SECOND).is_whole


def test_a_day_that_changed_before_the_commit_is_planned_again(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    parts = [task.run() for task in dataset.tasks(client, FIRST)]
    server.add_events([event(event_time=f"{FIRST}T05:00:00Z")])
    (failed,) = dataset.commit(client, parts).failed
    assert "impressions 76 instead of 77" in failed.message
    assert failed.remedy.startswith(f"Finish with: adanalytics sync {FIRST} {FIRST} --to ")
    again = [task.run() for task in dataset.tasks(client, FIRST)]
    assert dataset.commit(client, again).failed == []
    assert len(rows_of(dataset)) == 301
    assert dataset.tasks(client, FIRST) == []


def test_a_day_that_is_no_longer_listed_is_reported(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    parts = [task.run() for task in dataset.tasks(client, FIRST)]
    bodies = {
        "dates": {"dates": [SECOND]},
        "summary": {"data": [{"date": SECOND, "impressions": 1}]},
    }
    for operation, body in bodies.items():
        server.faults.add(answer(operation, body))
    (failed,) = dataset.commit(client, parts).failed
    assert failed.query == FIRST
    server.faults.clear()
    dataset.sync(client, FIRST)
    assert dataset.verify(client, until=FIRST).is_whole


def test_parts_of_another_plan_are_refused(client: Client, dataset: Dataset) -> None:
    (old,) = dataset.tasks(client, FIRST)
    part = old.run()
    (new,) = dataset.tasks(client, FIRST)
    with pytest.raises(DatasetError, match="no plan for a part of 2026-01-15"):
        dataset.commit(client, [part, new.run()])
    assert dataset.commit(client, [new.run()]).events == 300


def test_a_sync_may_take_over(client: Client, dataset: Dataset) -> None:
    parts = [task.run() for task in dataset.tasks(client, FIRST, SECOND)]
    assert dataset.sync(client, FIRST, SECOND).events == 600
    assert dataset.commit(client, parts).events == 0


def _without_right_to_write(task: Task, folder: Path) -> Task:
    scratch = folder / "events/_adanalytics/scratch"
    scratch.rmdir()
    scratch.write_text("no folder")
    return task


def _without_right_to_read(task: Task, folder: Path) -> Task:
    plan = folder / f"events/_adanalytics/exports/{FIRST}/query.json"
    plan.unlink()
    plan.mkdir()
    return task


def _elsewhere(task: Task, folder: Path) -> Task:
    return replace(task, place=str(folder / "elsewhere"))


def _of_another_version(task: Task, _folder: Path) -> Task:
    return replace(task, version="0.0.1")


def _of_another_format(task: Task, _folder: Path) -> Task:
    return replace(task, format=task.format + 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_without_right_to_write, "Cannot write the dataset"),
        (_without_right_to_read, "Cannot write the dataset"),
        (_elsewhere, "elsewhere does not have the plan of this task"),
        (_of_another_version, "planned by adanalytics 0.0.1; this machine has"),
        (_of_another_format, "planned by adanalytics"),
    ],
)
def test_a_worker_that_cannot_deliver_says_so_before_it_downloads(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    change: Callable[[Task, Path], Task],
    problem: str,
) -> None:
    (task,) = dataset.tasks(client, FIRST)
    server.journal.clear()
    with pytest.raises(DatasetError, match=problem):
        change(task, tmp_path).run()
    assert operations(server) == []


def test_a_worker_of_another_patch_release_delivers(client: Client, dataset: Dataset) -> None:
    (task,) = dataset.tasks(client, FIRST)
    release = task.version.rpartition(".")[0]
    part = replace(task, version=f"{release}.99").run()
    assert dataset.commit(client, [part]).left == 0


def test_no_local_variable_of_a_task_shows_its_address(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    """Spark can log the local variables of a task that failed."""
    (task,) = dataset.tasks(client, FIRST)
    server.faults.add("418 on download")
    with pytest.raises(InvalidRequest) as caught:
        task.run()
    report = TracebackException.from_exception(caught.value, capture_locals=True)
    assert "signature=" not in "".join(report.format()).replace("has_signature=", "")


def test_an_address_that_needs_a_credential_is_refused(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    (task,) = dataset.tasks(client, FIRST)
    server.faults.add("401 always on download")
    with pytest.raises(ConfigurationError, match="needs a credential"):
        task.run()


def test_an_expired_address_is_ordered_again_after_the_commit(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    first, second = dataset.tasks(client, FIRST, SECOND)
    part = first.run()
    server.faults.add("403 always on download")
    with pytest.raises(ExportExpired):
        second.run()
    server.faults.clear()
    assert dataset.commit(client, [part]).left == 24
    (again,) = dataset.tasks(client, FIRST, SECOND)
    assert dataset.commit(client, [again.run()]).left == 0
    assert len(rows_of(dataset)) == 600


def test_a_file_that_is_not_there_yet_is_awaited(
    server: LocalServer, client: Client, dataset: Dataset, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """Its status was polled, so that address has answered; the file's has not."""
    body = client.export(FIRST, to=tmp_path / "day.csv").read_bytes()
    order = {"status": "processing", "status_url": httpserver.url_for("/status")}
    server.faults.add(answer("start_export", order))
    done = {"status": "completed", "row_count": 300, "size_bytes": len(body)}
    address = {"download_url": httpserver.url_for("/day")}
    httpserver.expect_request("/status").respond_with_json(done | address)
    httpserver.expect_oneshot_request("/day").respond_with_data("not found", status=404)
    httpserver.expect_request("/day").respond_with_data(body)
    (task,) = dataset.tasks(client, FIRST)
    assert dataset.commit(client, [task.run()]).events == 300


@pytest.mark.parametrize("is_large", [False, True])
def test_each_file_of_an_export_is_a_task(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    is_large: bool,
) -> None:
    """The day is in two files of csv, though parquet was ordered; hour 13 is in both."""
    rows = client.export(FIRST, to=tmp_path / "day.csv").read_bytes().splitlines(keepends=True)
    middle = next(number for number, row in enumerate(rows) if b",13," in row) + 3
    for name, part in (("one", rows[:middle]), ("two", [rows[0], *rows[middle:]])):
        httpserver.expect_request(f"/{name}").respond_with_data(b"".join(part))
    files = [{"url": httpserver.url_for(f"/{name}")} for name in ("one", "two")]
    done = {"status": "completed", "row_count": 300, "files": files}
    server.faults.add(answer("start_export", done))
    tasks = dataset.tasks(client, FIRST)
    assert [(task.number, task.of) for task in tasks] == [(0, 2), (1, 2)]
    parts = [task.run() for task in reversed(tasks)]
    sizes = {hour.shared.size for part in parts for hour in part.hours if hour.shared}
    assert len(sizes) == 2
    if is_large:
        # Each part fits into the file of a day, and both do not.
        monkeypatch.setattr(sorted_files, "DAY_EVENTS", max(part.rows for part in parts))
    report = dataset.commit(client, parts)
    assert (report.events, report.failed) == (300, [])
    assert len([*(tmp_path / "events/data").rglob("*.parquet")]) == (24 if is_large else 1)
    assert dataset.verify(client, until=FIRST, deep=True).problems == []


def test_a_service_without_parquet_is_asked_for_csv_from_then_on(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    refused = '{"error": "format must be csv"}'
    server.faults.add(
        Fault(effect="status", operation="start_export", times=1, status=400, body=refused)
    )
    parts = [task.run() for task in dataset.tasks(client, FIRST, SECOND)]
    assert operations(server).count("start_export") == 3
    assert dataset.commit(client, parts).events == 600


def test_tasks_put_their_hours_into_object_storage(client: Client, tmp_path: Path) -> None:
    dataset = Dataset("memory://tasks/events")
    parts = [task.run() for task in dataset.tasks(client, FIRST, SECOND)]
    assert dataset.commit(client, [*parts, *parts]).events == 600
    assert dataset.verify(client, until=SECOND).is_whole
    assert dataset.holdings() is not None


@pytest.mark.parametrize("workers", [0, 1.5, True])
def test_a_wrong_number_of_workers_is_refused(
    client: Client, dataset: Dataset, workers: int
) -> None:
    with pytest.raises(ConfigurationError, match="workers"):
        dataset.sync(client, date(2026, 1, 15), workers=workers)


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TASK_BYTES", 10_000)
    monkeypatch.setattr(sections, "PARQUET_BYTES", 10_000)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_large_file_is_several_tasks(
    server: LocalServer, client: Client, dataset: Dataset, small_tasks: None, form: str
) -> None:
    """An hour on the border of two sections is joined, and a download that breaks off resumes."""
    if form == "csv":
        refused = Fault(effect="status", operation="start_export", times=1, status=400)
        server.faults.add(refused)
    tasks = dataset.tasks(client, FIRST)
    assert len(tasks) > 2
    assert [(task.number, task.of) for task in tasks] == [
        (n, len(tasks)) for n in range(len(tasks))
    ]
    server.faults.add(Fault(effect="truncated_body", operation="download", times=2))
    parts = [Task.from_json(task.to_json()).run() for task in tasks[::-1]]
    assert sum(part.rows for part in parts) == 300
    report = dataset.commit(client, parts)
    assert (report.events, report.failed) == (300, [])
    assert dataset.verify(client, until=FIRST, deep=True).is_whole


def test_a_section_of_another_file_is_refused(
    server: LocalServer, client: Client, dataset: Dataset, small_tasks: None
) -> None:
    tasks = dataset.tasks(client, FIRST)
    stored = tasks[0].stored
    assert stored
    for other in (replace(stored, validator='"other"'), replace(stored, size=stored.size + 1)):
        with pytest.raises(DownloadError, match="another file than planned"):
            replace(tasks[0], stored=other).run()


def _offer(server: LocalServer, httpserver: HTTPServer, body: bytes, **other: object) -> None:
    """Answer each order with this file, which can be read in ranges."""

    def send(request: Request) -> Response:
        response = Response(body, headers={"ETag": str(other.get("etag", '"strong"'))})
        ranges = bool(other.get("ranges", True))
        return response.make_conditional(request.environ, ranges, len(body))

    httpserver.expect_request("/day").respond_with_handler(send)
    done = {"download_url": httpserver.url_for("/day"), "status": "completed"}
    server.faults.add(answer("start_export", done | {"row_count": other.get("row_count", 300)}))


@pytest.mark.parametrize(
    "other",
    [{"ranges": False}, {"etag": 'W/"weak"'}, {"row_count": None}, {"pack": gzip.compress}],
    ids=["no ranges", "weak validator", "no number of events", "gzip"],
)
def test_a_file_that_cannot_be_divided_is_one_task(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    httpserver: HTTPServer,
    small_tasks: None,
    other: dict[str, Any],
) -> None:
    body = client.export(FIRST, to=tmp_path / "day.csv").read_bytes()
    _offer(server, httpserver, other.get("pack", bytes)(body), **other)
    (task,) = dataset.tasks(client, FIRST)
    assert dataset.commit(client, [task.run()]).events == 300


def test_a_line_break_in_quotes_is_read_by_the_commit(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    httpserver: HTTPServer,
    small_tasks: None,
) -> None:
    lines = client.export(FIRST, to=tmp_path / "day.csv").read_bytes()
    quoted = b'"' + b"player\n" * 100 + b'"'
    _offer(server, httpserver, lines.replace(b"com.example.player", quoted))
    tasks = dataset.tasks(client, FIRST)
    parts = [task.run() for task in tasks]
    assert len(tasks) > 2
    assert not all(part.hours for part in parts)
    report = dataset.commit(client, parts)
    assert (report.events, report.failed) == (300, [])
    # One is for the file of this test.
    assert operations(server).count("start_export") == 2
    assert dataset.verify(client, until=FIRST).is_whole


def test_a_file_that_no_one_can_read_is_reported_by_its_task(
    server: LocalServer, client: Client, dataset: Dataset, httpserver: HTTPServer
) -> None:
    _offer(server, httpserver, b"event_id,event_date\n" + b"1,soon\n" * 300)
    (task,) = dataset.tasks(client, FIRST)
    with pytest.raises(ProtocolError, match="no field with a known time"):
        task.run()


def test_each_day_that_a_commit_cannot_download_is_reported(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    server.add_events([event(event_time=f"2026-01-{day}T05:00:00Z") for day in range(17, 23)])
    tasks = dataset.tasks(client, FIRST, "2026-01-22")
    parts = [Part(task.start, 0, 1, task.stated, 0, ()) for task in tasks]
    server.faults.add("500 always on download")
    key, once = server.api_key, RetryPolicy(attempts=1)
    with Client(server.url, api_key=key, partner="acme", retry=once) as impatient:
        report = dataset.commit(impatient, parts)
    assert len(report.failed) == len(tasks) == 8
    assert all(f"--to {dataset.place}" in failed.remedy for failed in report.failed)


def test_a_commit_leaves_other_days_than_the_planned_ones_alone(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    """One was restated since it was held; one between two listed days has no events."""
    server.add_events([event(event_time="2026-01-13T05:00:00Z")])
    dataset.sync(client, FIRST)
    server.add_events([event(event_time=f"{FIRST}T05:00:00Z")])
    parts = [task.run() for task in dataset.tasks(client, SECOND)]
    report = dataset.commit(client, parts)
    assert (report.events, report.failed) == (300, [])
    held = dataset.holdings()
    assert held
    assert [*held.hours] == [date.fromisoformat(FIRST), date.fromisoformat(SECOND)]
