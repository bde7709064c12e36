"""Bulk exports: orders, the worker, ranges of downloads, failures, and what is left of them."""

import asyncio
import csv
import gc
import gzip
import hashlib
import io
import json
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from shutil import copytree
from typing import Any, Literal

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.types import Message
from tests.server.records import make_record

from adanalytics_server import admin
from adanalytics_server.clock import Clock
from adanalytics_server.dialect import RowChange
from adanalytics_server.exports.download import download_answer
from adanalytics_server.exports.files import ExportedFile, ExportStopped, FormatName, write_export
from adanalytics_server.exports.table import ExportJob, ExportTable
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import EVENT_FIELDS, Record
from adanalytics_server.storage.state import FolderInUse, folder_lock
from adanalytics_server.storage.store import PartnerStore, Stores

API = "/api/partners/acme/ad-analytics"
AddRecords = Callable[[list[Record]], None]
START = 1_769_896_800_000
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01", "format": "csv"}


def test_csv_is_rfc_4180_with_every_event(http: httpx.Client, add_records: AddRecords) -> None:
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
    http: httpx.Client, add_records: AddRecords
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
    http: httpx.Client, add_records: AddRecords
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
    http: httpx.Client, server: LocalServer, add_records: AddRecords
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


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """The addresses of two exports without events: a csv has its header, jsonl is empty."""
    with LocalServer() as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        yield {
            form: httpx.post(
                f"{server.url}{API}/bulk-export", json={**ORDER, "format": form}, headers=headers
            ).json()["download_url"]
            for form in ("csv", "jsonl")
        }


@pytest.fixture(scope="module")
def file_url(urls: dict[str, str]) -> str:
    return urls["csv"]


@pytest.fixture(scope="module")
def whole(file_url: str) -> httpx.Response:
    return httpx.get(file_url)


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", slice(1)),
        ("bytes=5-", slice(5, None)),
        ("bytes=5-9999", slice(5, None)),
        ("BYTES=2-3", slice(2, 4)),
        ("bytes=-3", slice(-3, None)),
        ("bytes=-9999", slice(None)),
    ],
)
def test_one_range_is_understood(
    file_url: str, whole: httpx.Response, wanted: str, part: slice
) -> None:
    answer = httpx.get(file_url, headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (206, whole.content[part])


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "bytes=",
        "bytes=-",
        "bytes=3-2",
        "bytes=a-b",
        "bytes=0-1,4-5",
        "bytes=9-1,x",
        "lines=0-1",
        "bytes=" + "9" * 5000 + "-",
        "bytes=\xb2-\xb3",
    ],
)
def test_what_is_no_single_range_of_bytes_is_answered_with_the_whole_file(
    file_url: str, whole: httpx.Response, wanted: str
) -> None:
    answer = httpx.get(file_url, headers={b"Range": wanted.encode("latin-1")})
    assert (answer.status_code, answer.content) == (200, whole.content)


@pytest.mark.parametrize("wanted", ["bytes={}-", "bytes={}-99999", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(
    file_url: str, whole: httpx.Response, wanted: str
) -> None:
    size = len(whole.content)
    refused = httpx.get(file_url, headers={"Range": wanted.format(size)})
    assert (refused.status_code, refused.json()) == (416, {"error": "Range Not Satisfiable"})
    assert refused.headers["content-range"] == f"bytes */{size}"


def test_an_empty_file_has_no_range(urls: dict[str, str]) -> None:
    assert httpx.get(urls["jsonl"]).content == b""
    assert httpx.get(urls["jsonl"], headers={"Range": "bytes=0-"}).status_code == 416


def test_if_range_takes_the_same_file_only(file_url: str, whole: httpx.Response) -> None:
    etag = whole.headers["etag"]
    same = httpx.get(file_url, headers={"Range": "bytes=3-4", "If-Range": etag})
    assert (same.status_code, same.content) == (206, whole.content[3:5])
    for other in ('"abd"', "abc", f"W/{etag}", "Wed, 21 Oct 2015 07:28:00 GMT"):
        # Also a range that could not be satisfied in the new file is not an error then.
        for wanted in ("bytes=3-4", "bytes=99999-"):
            answer = httpx.get(file_url, headers={"Range": wanted, "If-Range": other})
            assert (answer.status_code, answer.content) == (200, whole.content)


def test_a_part_says_where_it_is(file_url: str, whole: httpx.Response) -> None:
    assert whole.headers["accept-ranges"] == "bytes"
    part = httpx.get(file_url, headers={"Range": "bytes=-4"})
    size = len(whole.content)
    assert (part.status_code, part.content) == (206, whole.content[-4:])
    assert part.headers["content-range"] == f"bytes {size - 4}-{size - 1}/{size}"
    assert part.headers["content-length"] == "4"
    assert part.headers["etag"] == whole.headers["etag"]


def test_errors_of_a_download_have_the_one_shape(file_url: str) -> None:
    assert httpx.get(file_url.replace("signature=", "signature=x")).json() == {"error": "Forbidden"}
    refused = httpx.get(file_url, headers={"Authorization": "Bearer x"})
    assert (refused.status_code, set(refused.json())) == (400, {"error"})
    assert httpx.post(file_url).json() == {"error": "Method Not Allowed"}


def test_a_deleted_file_is_said_to_be_gone_and_written_again(
    http: httpx.Client, server: LocalServer
) -> None:
    file_url = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    whole = httpx.get(file_url).content
    (file,) = (server.settings.data / "exports").iterdir()
    file.unlink()
    gone = httpx.get(file_url)
    assert (gone.status_code, gone.json()["error"]) == (
        410,
        "The file was deleted: start the export again",
    )
    again = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    assert again != file_url
    assert httpx.get(again).content == whole


def test_a_client_that_leaves_at_once_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    left_open: list[io.FileIO] = []
    day = date(2026, 1, 31)
    job = ExportJob(
        id="1",
        partner=1,
        status="completed",
        format="csv",
        compression="none",
        start_date=day,
        end_date=day,
        created_at=0,
        expires_at=0,
        row_count=1,
        size_bytes=10,
        sha256="abc",
        error=None,
    )

    async def ask(turns: int) -> None:
        async def leave() -> Message:
            for _ in range(turns):
                await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(_message: Message) -> None:
            await asyncio.sleep(0)

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        answer = await download_answer(Headers({}), job, path)
        await answer(scope, leave, send)
        left_open.extend(
            each
            for each in gc.get_objects()
            if isinstance(each, io.FileIO) and each.name == str(path) and not each.closed
        )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for turns in range(20):
            asyncio.run(ask(turns))
        gc.collect()
    assert not left_open
    assert [str(warning.message) for warning in caught] == []


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


def until_file(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
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
            done = until_file(http, status_of(http, job))
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
            done = until_file(http, job)
            assert (done["status"], done["error"]) == ("failed", "File too large"), form
            assert httpx.get(done["download_url"]).status_code == 410
            assert list((folder / "exports").iterdir()) == []
            assert http.get(f"{API}/dates").json() == {"dates": [DAY]}
    with LocalServer(data=folder, export_inline_max=10) as server, client(server.url, key) as http:
        for form in FORMS:
            again = http.post(f"{API}/bulk-export", json=order(form)).json()
            assert until_file(http, again)["row_count"] == EVENTS, form


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
        done = until_file(http, status_of(http, job))
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
            failed = until_file(http, job)
        assert failed["status"] == "failed"
        assert "its log says why" in failed["error"]
        again = http.post(f"{API}/bulk-export", json=order("csv")).json()
        assert until_file(http, again)["status"] == "completed"


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
        done = until_file(http, jobs[0])
        assert done["row_count"] == EVENTS
    assert len(list((folder / "exports").iterdir())) == 1


ORDER_OF_A_DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "csv"}
LIFETIME = 86_400


def test_a_file_without_a_finished_job_goes_at_the_start(tmp_path: Path) -> None:
    with LocalServer(data=tmp_path) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        job = httpx.post(
            f"{server.url}{API}/bulk-export", json=ORDER_OF_A_DAY, headers=headers
        ).json()
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
        old = http.post(f"{API}/bulk-export", json={**ORDER_OF_A_DAY, "format": "jsonl"}).json()
        assert [file.name for file in folder.iterdir()] == [f"{old['export_id']}.jsonl"]
        server.clock.advance(seconds=LIFETIME)
        order = pool.submit(http.post, f"{API}/bulk-export", json=ORDER_OF_A_DAY)
        assert held.began.wait(20)
        # Cleaning comes before every order.
        new = http.post(f"{API}/bulk-export", json={**ORDER_OF_A_DAY, "format": "jsonl"}).json()
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
        first = pool.submit(http.post, f"{API}/bulk-export", json=ORDER_OF_A_DAY)
        assert held.began.wait(20)
        same = pool.submit(http.post, f"{API}/bulk-export", json=ORDER_OF_A_DAY)
        other = http.post(f"{API}/bulk-export", json={**ORDER_OF_A_DAY, "format": "jsonl"})
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
        assert http.post(f"{API}/bulk-export", json=ORDER_OF_A_DAY).status_code == 500
        answers = (http.post(f"{API}/bulk-export", json=ORDER_OF_A_DAY) for _ in range(1000))
        answer = next(answer for answer in answers if answer.status_code != 202)
        assert (answer.status_code, answer.json()["row_count"]) == (200, 30)
