"""Bulk exports: within the request or by the worker, and downloads by signed address."""

import csv
import gzip
import hashlib
import io
import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from adanalytics_server import admin
from adanalytics_server.clock import Clock
from adanalytics_server.dialect import RowChange
from adanalytics_server.exports.files import ExportedFile, FormatName, write_export
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import EVENT_FIELDS, Record
from adanalytics_server.storage.state import FolderInUse, folder_lock
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"
MakeRecord = Callable[..., Record]
AddRecords = Callable[[list[Record]], None]
START = 1_769_896_800_000
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01", "format": "csv"}


def test_csv_is_rfc_4180_with_every_event(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    records = [make_record(START + n, n, cost=None, is_filtered=n == 1) for n in range(3)]
    add_records(records)
    answer = http.post(f"{API}/bulk-export", json=ORDER)
    assert answer.status_code == 200
    job = answer.json()
    assert (job["status"], job["row_count"], job["error"]) == ("completed", 3, None)
    file = httpx.get(job["download_url"])
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert "events_2026-01-31_2026-02-01.csv" in file.headers["content-disposition"]
    assert len(file.content) == job["size_bytes"] == int(file.headers["content-length"])
    assert hashlib.sha256(file.content).hexdigest() == job["sha256"]
    assert file.headers["etag"] == f'"{job["sha256"]}"'
    assert file.text.count("\r\n") == 4
    header, *rows = csv.reader(io.StringIO(file.text))
    assert tuple(header) == EVENT_FIELDS
    assert [row[EVENT_FIELDS.index("is_filtered")] for row in rows] == ["false", "true", "false"]
    assert [row[EVENT_FIELDS.index("cost")] for row in rows] == ["", "", ""]
    assert rows[0][EVENT_FIELDS.index("key_values")] == "{}"
    assert rows[0][EVENT_FIELDS.index("revenue")] == "0.002500000"


def test_jsonl_is_the_stored_bodies_and_gzip_one_whole_member(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    records = [make_record(START + n, n) for n in range(3)]
    add_records(records)
    order = {**ORDER, "format": "jsonl", "compression": "gzip"}
    file = httpx.get(http.post(f"{API}/bulk-export", json=order).json()["download_url"])
    assert file.headers["content-type"] == "application/gzip"
    # No time, so that the same rows give the same bytes (RFC 1952, section 2.3.1).
    assert file.content[4:8] == bytes(4)
    lines = gzip.decompress(file.content).splitlines()
    assert lines == [record.body for record in records]


def test_an_export_without_rows_still_has_its_header(http: httpx.Client) -> None:
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert job["row_count"] == 0
    assert httpx.get(job["download_url"]).text == ",".join(EVENT_FIELDS) + "\r\n"


def test_the_same_order_is_the_same_job_until_the_data_change(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
    add_records([make_record(START, 1)])
    first = http.post(f"{API}/bulk-export", json=ORDER)
    assert http.post(f"{API}/bulk-export", json=ORDER).content == first.content
    other = http.post(f"{API}/bulk-export", json={**ORDER, "compression": "gzip"}).json()
    assert other["export_id"] != first.json()["export_id"]
    add_records([make_record(START, 2)])
    changed = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert (changed["row_count"], first.json()["row_count"]) == (2, 1)


def test_a_stored_job_is_found_by_a_text_of_plain_numbers(
    http: httpx.Client, server: LocalServer, make_record: MakeRecord, add_records: AddRecords
) -> None:
    """A later version of the server has to find the jobs of this one."""
    add_records([make_record(START, 1), make_record(START, 2), make_record(START + 3_600_000, 3)])
    http.post(f"{API}/bulk-export", json=ORDER)
    with closing(sqlite3.connect(server.settings.data / "state.db")) as state:
        ((fingerprint,),) = state.execute("SELECT fingerprint FROM exports")
    hour = START // 3_600_000
    assert fingerprint == hashlib.sha256(f"{hour} 0 2\n{hour + 1} 0 1".encode()).hexdigest()


def test_a_signed_address_takes_no_credential_and_no_change(http: httpx.Client) -> None:
    url = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    assert http.get(url).status_code == 400
    assert httpx.get(url[:-1] + ("0" if url[-1] != "0" else "1")).status_code == 403
    assert httpx.get(url.replace("expires=1", "expires=2")).status_code == 403
    assert httpx.get(url.partition("?")[0]).status_code == 403
    for more, field in (("&x=1", "x"), ("&expires=1", "expires")):
        refused = httpx.get(url + more)
        assert refused.status_code == 400
        assert refused.json()["error"].startswith(f"{field} ")


def test_an_address_and_its_job_expire(http: httpx.Client, clock: Clock) -> None:
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert job["expires_at"] == "2026-02-02T00:00:00.000Z"
    clock.advance(seconds=86_399)
    assert httpx.get(job["download_url"]).status_code == 200
    clock.advance(seconds=1)
    assert httpx.get(job["download_url"]).status_code == 403
    assert http.get(job["status_url"]).json()["status"] == "expired"
    assert http.post(f"{API}/bulk-export", json=ORDER).json()["export_id"] != job["export_id"]


@pytest.mark.parametrize(
    ("header", "etag", "status", "part"),
    [
        ("bytes=5-9", "{etag}", 206, slice(5, 10)),
        ("bytes=5-", "{etag}", 206, slice(5, None)),
        ("bytes=5-9", '"another"', 200, slice(None)),
    ],
)
def test_a_download_goes_on_from_the_middle_only_in_the_same_file(
    http: httpx.Client, header: str, etag: str, status: int, part: slice
) -> None:
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    whole = httpx.get(job["download_url"])
    headers = {"Range": header, "If-Range": etag.format(etag=whole.headers["etag"])}
    answer = httpx.get(job["download_url"], headers=headers)
    assert (answer.status_code, answer.content) == (status, whole.content[part])


def test_expired_files_are_deleted_with_the_next_order(
    http: httpx.Client, server: LocalServer, clock: Clock
) -> None:
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    file = server.settings.data / "exports" / f"{job['export_id']}.csv"
    assert file.is_file()
    clock.advance(seconds=86_400)
    http.post(f"{API}/bulk-export", json=ORDER)
    assert not file.exists()
    assert http.get(job["status_url"]).json()["status"] == "expired"


def test_a_server_that_died_at_work_begins_again(tmp_path: Path, clock: Clock) -> None:
    sample = Sample(days=1, events_per_day=30)
    order = {"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "csv"}
    with LocalServer(data=tmp_path, sample=sample, clock=clock) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        url = f"{server.url}{API}/bulk-export"
        job = httpx.post(url, json=order, headers=headers).json()
    # As a kill in the middle leaves it: the job in work, and a piece of its file.
    with closing(sqlite3.connect(tmp_path / "state.db")) as state:
        state.execute("UPDATE exports SET status = 'processing', sha256 = NULL")
        state.commit()
    (tmp_path / "exports" / f"{job['export_id']}.csv").unlink()
    (tmp_path / "exports" / f"{job['export_id']}.csv.part").write_text("event_id,ev")
    with (
        LocalServer(data=tmp_path, clock=clock) as server,
        httpx.Client(headers={"Authorization": f"Bearer {server.api_key}"}) as http,
    ):
        path = f"{server.url}{API}/bulk-export/{job['export_id']}"
        done = until_done(http, path)
        assert {done[name] for name in ("status", "row_count", "sha256")} == {
            "completed",
            30,
            job["sha256"],
        }
        assert len(httpx.get(done["download_url"]).text.splitlines()) == 31
    assert [file.suffix for file in (tmp_path / "exports").iterdir()] == [".csv"]


def test_a_second_server_on_the_folder_does_not_start(tmp_path: Path) -> None:
    with (
        LocalServer(data=tmp_path),
        pytest.raises(FolderInUse, match="another server is running"),
        folder_lock(tmp_path),
    ):
        raise AssertionError("the folder was lent twice")
    with folder_lock(tmp_path):
        pass


def test_another_partner_cannot_see_the_job(http: httpx.Client, server: LocalServer) -> None:
    admin.add_partner(server.settings.data, "globex", name="Globex", currency="USD")
    job = http.post(f"{API}/bulk-export", json=ORDER).json()
    foreign = job["status_url"].replace("/acme/", "/globex/")
    assert http.get(foreign.rpartition("/bulk-export")[0] + "/dates").status_code == 200
    assert http.get(foreign).status_code == 404
    assert http.get(f"{API}/bulk-export/unknown").json() == {"error": "Not Found"}


def until_done(http: httpx.Client, status_url: str) -> dict[str, Any]:
    """Ask for the state until the worker, which nothing holds any more, is done."""
    for _ in range(500):
        status: dict[str, Any] = http.get(status_url).json()
        if status["status"] not in {"pending", "processing"}:
            return status
    raise AssertionError(f"the export {status_url} does not come to an end")


def test_a_large_export_is_worked_off_and_all_four_ways_of_waiting_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()

    def slow(
        store: PartnerStore,
        days: DayRange,
        target: Path,
        *,
        form: FormatName,
        compression: str,
        change: RowChange | None,
        stopping: Callable[[], bool],
    ) -> ExportedFile:
        assert change is None
        assert release.wait(20)
        return write_export(
            store, days, target, form=form, compression=compression, stopping=stopping
        )

    monkeypatch.setattr("adanalytics_server.exports.jobs.write_export", slow)
    sample = Sample(days=1, events_per_day=50)
    order = {"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "jsonl"}
    with (
        LocalServer(sample=sample, export_inline_max=49) as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):
        first = http.post(f"{API}/bulk-export", json=order)
        job = first.json()
        assert first.status_code == 202
        assert job["status"] in {"pending", "processing"}
        assert first.headers["location"] == job["status_url"]
        assert first.headers["retry-after"] == "1"
        waiting = httpx.get(job["download_url"])
        assert (waiting.status_code, waiting.headers["retry-after"]) == (202, "1")
        assert http.post(f"{API}/bulk-export", json=order).status_code == 202
        release.set()
        status = until_done(http, job["status_url"])
        assert (status["status"], status["row_count"]) == ("completed", 50)
        again = http.post(f"{API}/bulk-export", json=order)
        assert (again.status_code, again.json()) == (200, status)
        assert status["download_url"] == job["download_url"]
        lines = httpx.get(job["download_url"]).text.splitlines()
        assert len({json.loads(line)["event_id"] for line in lines}) == 50


def test_a_failed_export_says_why_and_leaves_no_file(
    http: httpx.Client,
    server: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_values: object, **_options: object) -> ExportedFile:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("adanalytics_server.exports.jobs.write_export", full)
        job = http.post(f"{API}/bulk-export", json=ORDER).json()
    assert (job["status"], job["error"]) == ("failed", "No space left on device")
    (line,) = [each for each in caplog.records if each.name == "adanalytics_server.exports"]
    assert line.getMessage().endswith(
        f"{job['export_id']} failed: [Errno 28] No space left on device"
    )
    assert line.exc_info is None
    assert httpx.get(job["download_url"]).status_code == 410
    assert list((server.settings.data).glob("exports/*")) == []
    assert http.post(f"{API}/bulk-export", json=ORDER).json()["status"] == "completed"
