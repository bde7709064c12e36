"""Exports in a process that is killed, stopped, or has no room left to write."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest

from adanalytics_server.exports.files import ExportedFile, ExportStopped, write_export
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.store import Stores

API = "/api/partners/acme/ad-analytics"
SCRIPT = Path(__file__).parent / "export_server.py"
DAY = "2026-01-15"
EVENTS = 3_000
FORMS = ("csv", "jsonl", "parquet")


def order(form: str) -> dict[str, str]:
    return {"start_date": DAY, "end_date": DAY, "format": form}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a day of events, which no test changes, and its key."""
    data = tmp_path_factory.mktemp("day") / "data"
    with LocalServer(data=data, sample=Sample(days=1, events_per_day=EVENTS)) as server:
        return data, server.api_key


@pytest.fixture
def key(folder: Path, day: tuple[Path, str]) -> str:
    data, key = day
    copytree(data, folder)
    return key


@contextmanager
def process(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run the server of :mod:`export_server` until the end of the block."""
    command = [sys.executable, str(SCRIPT), str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip(), running
        finally:
            running.kill()


def status_of(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = http.get(f"{API}/bulk-export/{job['export_id']}").json()
    return status


def until_done(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """Ask for the file until it is there or never will be, then for the state.

    Downloads are not counted against the limit of requests, and so write nothing to the disk.
    """
    for _ in range(5_000):
        if httpx.get(job["download_url"], headers={"Range": "bytes=0-0"}).status_code != 202:
            return status_of(http, job)
    raise AssertionError(f"the export {job['export_id']} does not come to an end")


def client(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"})


def test_a_kill_in_the_middle_serves_no_half_file_and_a_restart_finishes(
    folder: Path, key: str
) -> None:
    with process(folder, "--hold") as (url, running), client(url, key) as http:
        jobs = [http.post(f"{API}/bulk-export", json=order(form)).json() for form in FORMS]
        assert running.stdout is not None
        assert running.stdout.readline() == "half\n"
        (part,) = (folder / "exports").iterdir()
        assert part.suffix == ".part"
        for job in jobs:
            waiting = httpx.get(job["download_url"])
            assert (waiting.status_code, waiting.content) == (202, b"")
        running.kill()
        running.wait()
    with process(folder) as (url, _), client(url, key) as http:
        for job in jobs:
            done = until_done(http, status_of(http, job))
            assert (done["status"], done["row_count"]) == ("completed", EVENTS)
            body = httpx.get(done["download_url"]).content
            assert len(body) == done["size_bytes"]
            assert body in [file.read_bytes() for file in (folder / "exports").iterdir()]
    assert len([*(folder / "exports").iterdir()]) == len(FORMS)


def test_no_room_for_the_file_is_a_failed_export_that_says_so(folder: Path, key: str) -> None:
    limit = 200_000
    with process(folder, "--most-bytes", str(limit)) as (url, _), client(url, key) as http:
        for form in FORMS:
            job = http.post(f"{API}/bulk-export", json=order(form)).json()
            done = until_done(http, job)
            assert (done["status"], done["error"]) == ("failed", "File too large"), form
            assert httpx.get(done["download_url"]).status_code == 410
            assert list((folder / "exports").iterdir()) == []
            assert http.get(f"{API}/dates").json() == {"dates": [DAY]}
    with LocalServer(data=folder, export_inline_max=10) as server, client(server.url, key) as http:
        for form in FORMS:
            again = http.post(f"{API}/bulk-export", json=order(form)).json()
            assert until_done(http, again)["row_count"] == EVENTS, form


def test_a_terminated_server_does_not_finish_but_goes_on_later(folder: Path, key: str) -> None:
    begun = threading.Event()

    def endless(*_values: object, stopping: Any, **_options: object) -> ExportedFile:
        begun.set()
        while not stopping():
            pass
        raise ExportStopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adanalytics_server.exports.jobs.write_export", endless)
        with (
            LocalServer(data=folder, export_inline_max=0) as server,
            client(server.url, key) as http,
        ):
            job = http.post(f"{API}/bulk-export", json=order("csv")).json()
            assert begun.wait(20)
    with LocalServer(data=folder) as server, client(server.url, key) as http:
        done = until_done(http, status_of(http, job))
        assert (done["status"], done["row_count"]) == ("completed", EVENTS)


def test_writing_stops_between_two_chunks_and_leaves_nothing(
    folder: Path, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def after_two() -> bool:
        asked.append(1)
        return len(asked) > 2

    monkeypatch.setattr("adanalytics_server.exports.files.PART_ROWS", 100)
    stores = Stores(folder)
    day = date.fromisoformat(DAY)
    with pytest.raises(ExportStopped):
        write_export(
            stores.of(1),
            DayRange(day, day),
            tmp_path / "out" / "day.csv",
            form="csv",
            compression="none",
            stopping=after_two,
        )
    stores.close()
    assert len(asked) == 3
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failure_nobody_thought_of_does_not_end_the_worker(folder: Path, key: str) -> None:
    def broken(*_values: object, **_options: object) -> ExportedFile:
        raise ZeroDivisionError

    with LocalServer(data=folder, export_inline_max=0) as server, client(server.url, key) as http:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adanalytics_server.exports.jobs.write_export", broken)
            job = http.post(f"{API}/bulk-export", json=order("csv")).json()
            failed = until_done(http, job)
        assert failed["status"] == "failed"
        assert "its log says why" in failed["error"]
        again = http.post(f"{API}/bulk-export", json=order("csv")).json()
        assert until_done(http, again)["status"] == "completed"


@pytest.mark.parametrize("inline", [0, 50_000])
def test_equal_orders_at_the_same_time_are_one_job(folder: Path, key: str, inline: int) -> None:
    with (
        LocalServer(data=folder, export_inline_max=inline) as server,
        client(server.url, key) as http,
        ThreadPoolExecutor(8) as pool,
    ):

        def send(_: int) -> dict[str, Any]:
            job: dict[str, Any] = http.post(f"{API}/bulk-export", json=order("jsonl")).json()
            return job

        jobs = list(pool.map(send, range(16)))
        assert len({job["export_id"] for job in jobs}) == 1
        done = until_done(http, jobs[0])
        assert done["row_count"] == EVENTS
    assert len(list((folder / "exports").iterdir())) == 1
