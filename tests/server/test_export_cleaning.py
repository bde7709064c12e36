"""What is left of exports: files go in time, and nobody waits for another's file."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from adanalytics_server.dialect import RowChange
from adanalytics_server.exports.files import ExportedFile, FormatName, write_export
from adanalytics_server.exports.table import ExportJob, ExportTable
from adanalytics_server.local import LocalServer, Sample

API = "/api/partners/acme/ad-analytics"
ORDER = {"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "csv"}
LIFETIME = 86_400


def test_a_file_without_a_finished_job_goes_at_the_start(tmp_path: Path) -> None:
    with LocalServer(data=tmp_path) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        job = httpx.post(f"{server.url}{API}/bulk-export", json=ORDER, headers=headers).json()
    stray = tmp_path / "exports" / "11111111-2222-3333-4444-555555555555.csv"
    stray.write_text("event_id")
    with LocalServer(data=tmp_path):
        assert not stray.exists()
        assert (tmp_path / "exports" / f"{job['export_id']}.csv").is_file()


class Held:
    """Stands in front of :func:`write_export`: holds up CSV files until it is told to go on.

    It does so when a file is half written, or when it has its name and nobody knows of it yet.
    """

    def __init__(self, *, when: Literal["half written", "written"] = "half written") -> None:
        self.began = threading.Event()
        self.release = threading.Event()
        self.calls = 0
        self._when = when

    def __call__(
        self,
        *values: Any,
        form: FormatName,
        stopping: Callable[[], bool],
        compression: str,
        change: RowChange | None,
    ) -> ExportedFile:
        assert change is None
        self.calls += 1

        def held() -> bool:
            self._hold()
            return stopping()

        if form != "csv":
            return write_export(*values, form=form, stopping=stopping, compression=compression)
        asked = held if self._when == "half written" else stopping
        written = write_export(*values, form=form, stopping=asked, compression=compression)
        if self._when == "written":
            self._hold()
        return written

    def _hold(self) -> None:
        self.began.set()
        assert self.release.wait(20)


@pytest.mark.parametrize("when", ["half written", "written"])
def test_cleaning_leaves_a_file_alone_that_an_order_is_writing(
    monkeypatch: pytest.MonkeyPatch, when: Literal["half written", "written"]
) -> None:
    held = Held(when=when)
    monkeypatch.setattr("adanalytics_server.exports.jobs.write_export", held)
    with (
        LocalServer(sample=Sample(days=1, events_per_day=30)) as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
        ThreadPoolExecutor(1) as pool,
    ):
        folder = server.settings.data / "exports"
        old = http.post(f"{API}/bulk-export", json={**ORDER, "format": "jsonl"}).json()
        assert [file.name for file in folder.iterdir()] == [f"{old['export_id']}.jsonl"]
        server.clock.advance(seconds=LIFETIME)
        order = pool.submit(http.post, f"{API}/bulk-export", json=ORDER)
        assert held.began.wait(20)
        # Cleaning comes before every order.
        new = http.post(f"{API}/bulk-export", json={**ORDER, "format": "jsonl"}).json()
        names = {file.name for file in folder.iterdir()}
        assert f"{new['export_id']}.jsonl" in names
        assert f"{old['export_id']}.jsonl" not in names
        held.release.set()
        job = order.result().json()
        assert job["status"] == "completed"
        file = httpx.get(job["download_url"])
        assert (file.status_code, len(file.content)) == (200, job["size_bytes"])


def test_an_order_does_not_wait_for_the_file_of_another_one_only_for_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held()
    monkeypatch.setattr("adanalytics_server.exports.jobs.write_export", held)
    with (
        LocalServer(sample=Sample(days=1, events_per_day=30)) as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(http.post, f"{API}/bulk-export", json=ORDER)
        assert held.began.wait(20)
        same = pool.submit(http.post, f"{API}/bulk-export", json=ORDER)
        other = http.post(f"{API}/bulk-export", json={**ORDER, "format": "jsonl"})
        assert (other.status_code, other.json()["status"]) == (200, "completed")
        assert not first.done()
        held.release.set()
        answers = [first.result(), same.result()]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].content == answers[1].content
        assert held.calls == 2


def test_a_job_whose_state_cannot_be_noted_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adanalytics_server.exports.jobs.RETRY_SECONDS", 0.01)
    update = ExportTable.update
    refusals = iter([sqlite3.OperationalError("database or disk is full")] * 2)

    async def full(table: ExportTable, job: ExportJob, changes: dict[str, object]) -> None:
        if changes["status"] == "completed":
            for refusal in refusals:
                raise refusal
        await update(table, job, changes)

    monkeypatch.setattr(ExportTable, "update", full)
    with (
        LocalServer(sample=Sample(days=1, events_per_day=30), rate_limit=0) as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):
        assert http.post(f"{API}/bulk-export", json=ORDER).status_code == 500
        answers = (http.post(f"{API}/bulk-export", json=ORDER) for _ in range(1000))
        answer = next(answer for answer in answers if answer.status_code != 202)
        assert (answer.status_code, answer.json()["row_count"]) == (200, 30)
