"""A file that went bad: its month answers 500 with one clear line, everything else goes on."""

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from adanalytics_server.accounts import ratelimit
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.damage import DiskFull
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.state import State, open_state
from adanalytics_server.storage.store import PartnerStore

RecordMaker = Callable[..., Record]
API = "/api/partners/acme/ad-analytics"
GOOD = {"start_date": "2026-01-30", "end_date": "2026-01-31"}
BAD = {"start_date": "2026-02-01", "end_date": "2026-02-02"}
BOTH = {"start_date": "2026-01-30", "end_date": "2026-02-02"}


def overwritten(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def cut_in_half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def zeroed_in_the_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:-4096] = bytes(len(content) - 2 * 4096)
    file.write_bytes(content)


def removed(file: Path) -> None:
    file.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (
    overwritten,
    cut_in_half,
    zeroed_in_the_middle,
    removed,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two days on each side of the end of a month."""
    data = tmp_path_factory.mktemp("original")
    sample = Sample(start=date(2026, 1, 30), days=4, events_per_day=240)
    with LocalServer(data=data, sample=sample):
        return data


@pytest.fixture
def http(request: pytest.FixtureRequest, original: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a server on a copy of that folder, with its second month damaged."""
    data = tmp_path / "data"
    for file in original.rglob("*.db"):
        copy = data / file.relative_to(original)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    with LocalServer(data=data) as server:
        name, damage = request.param
        damage(data / "partners" / "1" / name)
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=f"{server.url}{API}", headers=headers) as client:
            yield client


@pytest.mark.parametrize(
    "http",
    [("2026-02.db", damage) for damage in DAMAGES],
    indirect=True,
    ids=lambda damage: f"{damage[1].__name__} {damage[0]}",
)
def test_a_damaged_month_is_the_only_one_that_fails(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert http.get("/events", params=GOOD).json()["meta"]["total"] == 480
    for days in (BAD, BOTH):
        answer = http.get("/events", params={**days, "per_page": 10_000})
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal Server Error"})
        (line,) = [
            record.getMessage()
            for record in caplog.records
            if record.levelno == logging.ERROR
            and answer.headers["x-request-id"] in record.getMessage()
        ]
        assert "2026-02." in line
        assert "damaged" in line
    assert http.get("/events", params=GOOD).status_code == 200
    assert http.get("/summary", params=BOTH).status_code == 200
    assert len(http.get("/dates").json()["dates"]) == 4
    orders = [http.post("/bulk-export", json={**days, "format": "csv"}) for days in (BAD, GOOD)]
    assert [order.json()["status"] for order in orders] == ["failed", "completed"]
    assert "damaged" in orders[0].json()["error"]


@pytest.mark.parametrize("http", [("2026-02.db", overwritten)], indirect=True)
def test_a_damaged_file_is_one_line_without_a_traceback(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    http.get("/events", params=BAD)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert not record.exc_info
    assert record.getMessage().endswith(
        "partners/1/2026-02.db is damaged (file is not a database): restore its folder from a"
        " backup, or delete the folder and load its files again"
    )


def full(*_: object) -> NoReturn:
    raise DiskFull(Path("a folder", "a file"))


def test_reads_go_on_when_the_disk_is_full(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: RecordMaker
) -> None:
    data = shutil.copytree(original, tmp_path / "data")
    with LocalServer(data=data, dialect="rate-headers") as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=f"{server.url}{API}", headers=headers) as http:
            with monkeypatch.context() as patch:
                # Where a request begins to write.
                patch.setattr(State, "writing", full)
                patch.setattr(ratelimit, "transaction", full)
                patch.setattr(PartnerStore, "_open_for_writing", full)
                answers = [http.get("/events", params=GOOD) for _ in range(2)]
                summary = http.get("/summary", params=BOTH)
            assert [len(each.json()["data"]) for each in answers] == [480, 480]
            assert summary.status_code == 200
            assert "r=1000;" in answers[1].headers["ratelimit"]
            # The pool holds no connection that assumes an unchanged file.
            with closing(PartnerStore(data / "partners" / "1")) as store:
                ingest(store, [make_record(1_769_731_200_000)])
            answer = http.get("/events", params=GOOD)
            assert len(answer.json()["data"]) == 481
            assert "r=999;" in answer.headers["ratelimit"]


def test_a_full_disk_names_the_file_also_at_the_start_and_at_a_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.Connection
    pages = 1

    def small(path: str | Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(path, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    async def start() -> None:
        async with open_state(tmp_path):
            pytest.fail("it has started")

    monkeypatch.setattr(sqlite3, "Connection", small)
    with pytest.raises(DiskFull, match=r"/state\.db"):
        asyncio.run(start())
    with pytest.raises(DiskFull, match=r"/limits\.db"):
        RateLimiter(tmp_path, Clock())
    pages = 10
    limiter = RateLimiter(tmp_path, Clock())
    try:
        with pytest.raises(DiskFull, match=r"/limits\.db"):
            limiter.restore([(f"key:{number}", number) for number in range(10_000)])
    finally:
        limiter.close()
