"""A dataset in object storage: in memory, and on a real server that speaks S3."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from traceback import format_exception
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.request import Request, urlopen

import pytest
from tests.cli.sync.faulty_s3 import FaultyS3

from adanalytics_client.dataset import DatasetError, DatasetInUse
from adanalytics_client.dataset.storage import lease, objects
from adanalytics_client.dataset.storage.lease import LEASE_SECONDS
from adanalytics_server.local import LocalServer, Sample

Shop = Any
PassTime = Callable[[float], object]

CLOSED = "http://127.0.0.1:9"
HELD = json.dumps({"host": "elsewhere", "process": 4711, "token": "t"}).encode()


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    """Few events instead of many: each hour with one costs a dozen requests to the store."""
    with LocalServer(sample=Sample(days=2, events_per_day=20, seed=7), rate_limit=0) as server:
        yield server


@pytest.fixture
def memory() -> Iterator[str]:
    files = import_module("fsspec").filesystem("memory")
    yield "memory://tests/events"
    files.rm("/tests", recursive=True)


@pytest.fixture
def bucket(faulty: FaultyS3) -> str:
    return "s3://bucket/events"


@pytest.fixture(params=["memory", "bucket"])
def place(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("fsspec")
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def passing_time(monkeypatch: pytest.MonkeyPatch) -> PassTime:
    """Let time pass for the stores, and not for this machine."""
    shifts = [timedelta(0)]

    def now(*_: object, **__: object) -> datetime:
        return datetime.now(UTC) + sum(shifts, timedelta(0))

    if find_spec("moto"):
        models = import_module("moto.s3.models")
        monkeypatch.setattr(models, "utcnow", lambda: now().replace(tzinfo=None))
    files = import_module("fsspec.implementations.memory")
    monkeypatch.setattr(files, "datetime", SimpleNamespace(now=now))
    return lambda seconds: shifts.append(timedelta(seconds=seconds))


def files_of(place: str) -> Any:
    return objects.open_object_store(place).file_system


def read(place: str) -> tuple[int, Decimal]:
    files, parquet = files_of(place), import_module("pyarrow.parquet")
    names = files.find(f"{place}/data", detail=True)
    tables = [parquet.read_table(BytesIO(files.cat_file(name))) for name in names]
    revenue = [each for table in tables for each in table["revenue"].to_pylist()]
    return sum(table.num_rows for table in tables), sum(revenue, Decimal(0))


def test_a_dataset_in_object_storage(shop: Shop, place: str) -> None:
    assert shop.sync("--to", place).exit_code == 0
    rows = shop.rows()
    total = sum((Decimal(row["revenue"]) for row in rows), Decimal(0))
    assert read(place) == (len(rows), total)
    answer = shop.run("query", "SELECT count(*), sum(revenue) FROM events", "--in", place)
    assert answer.stdout.splitlines()[1:] == [f"{len(rows)},{total}"], answer.stderr
    assert shop.sync("--to", place).exit_code == 0
    assert shop.asked() == {"dates": 1, "summary": 1}
    assert shop.run("verify", place).exit_code == 0
    names = files_of(place).find(place, detail=True)
    ours = {name.partition("/_adanalytics/")[2].partition("/")[0] for name in names}
    records = {"dataset.json", "names.json", "runs.json", "schema.json"}
    assert ours == {"", "lock", "manifest", *records}


def test_folders_that_a_console_made_are_no_objects(shop: Shop, bucket: str) -> None:
    """A cloud console makes a folder as an object without bytes, whose name ends with a slash."""
    s3_server = os.environ["AWS_ENDPOINT_URL"]
    urlopen(Request(f"{s3_server}/bucket/events/", data=b"", method="PUT"))
    assert shop.sync("2026-01-15", "--to", bucket).exit_code == 0
    for folder in ("data/", "data/date=2026-01-15/", "data/new/", "raw/"):
        urlopen(Request(f"{s3_server}/bucket/events/{folder}", data=b"", method="PUT"))
    assert shop.sync("2026-01-15", "--to", bucket).exit_code == 0
    verified = shop.run("verify", bucket, "--until", "2026-01-15")
    assert (verified.exit_code, "delete it" in verified.output) == (0, False), verified.output
    assert shop.run("query", "SELECT count(*) FROM events", "--in", bucket).exit_code == 0
    headers = {"Content-Type": "text/plain"}
    note = f"{s3_server}/bucket/other/note.txt"
    urlopen(Request(note, data=b"x", headers=headers, method="PUT"))
    told = shop.sync("2026-01-15", "--to", "s3://bucket/other").stderr
    assert "s3://bucket/other is not a dataset and holds note.txt." in told


def test_a_broken_object_is_named_and_mended(shop: Shop, place: str) -> None:
    shop.sync("2026-01-15", "--to", place)
    part = f"{place}/data/date=2026-01-15/day.parquet"
    files_of(place).pipe_file(part, b"PAR1")
    assert "2026-01-15 " in shop.run("verify", place).stdout
    broken = shop.run("query", "FROM events", "--in", place)
    assert broken.exit_code == 7
    assert f"{part} has 4 bytes, not" in broken.stderr
    result = shop.sync("2026-01-15", "--to", place)
    assert result.exit_code == 0
    assert "Damaged, pulled again: data/date=2026-01-15/day.parquet" in result.stderr
    assert shop.run("verify", place, "--until", "2026-01-15").exit_code == 0
    content = files_of(place).cat_file(part)
    files_of(place).pipe_file(part, content[:-1] + b"?")
    told = shop.run("verify", place, "--until", "2026-01-15").stderr
    assert f"To fix: adanalytics sync 2026-01-15 2026-01-15 --to {place} --repull 1\n" in told


def test_a_lease_that_is_held_is_respected_and_one_that_lapsed_is_not(
    shop: Shop, place: str, passing_time: PassTime
) -> None:
    lock = f"{place}/_adanalytics/lock"
    files_of(place).pipe_file(lock, HELD)
    result = shop.sync("--to", place)
    assert result.exit_code == 1
    assert "Process 4711 on elsewhere works on" in result.stderr
    assert re.search(r"its lock expires in 12[012] seconds", result.stderr)
    passing_time(60)
    assert re.search(r"its lock expires in 6[012] seconds", shop.sync("--to", place).stderr)
    passing_time(63)
    assert shop.sync("--to", place).exit_code == 0


@pytest.mark.parametrize("ahead", [86_400, -86_400, 300], ids=["day", "day behind", "300s"])
def test_the_clock_of_a_machine_changes_no_lease(
    place: str, passing_time: PassTime, monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    now = time.time

    def take(shift: float) -> AbstractContextManager[None]:
        monkeypatch.setattr(time, "time", lambda: now() + shift)
        return objects.open_object_store(place).lock()

    for first, second in ((ahead, 0), (0, ahead)):
        with take(first), pytest.raises(DatasetInUse), take(second):
            pass
        # It was released, so its age does not matter.
        with take(second):
            pass
        killed = take(first)
        killed.__enter__()
        passing_time(LEASE_SECONDS - 2)
        with pytest.raises(DatasetInUse, match=r"expires in [1-5] seconds"), take(second):
            pass
        passing_time(5)
        with take(second):
            pass


@pytest.mark.parametrize("tells", [NotImplementedError, RuntimeError, None])
def test_a_store_that_tells_no_time_is_asked_no_age(
    memory: str, monkeypatch: pytest.MonkeyPatch, tells: type[Exception] | None
) -> None:
    """Nor is one whose clock was set back."""
    store, files = objects.open_object_store(memory), files_of(memory)
    files.pipe_file(f"{memory}/_adanalytics/lock", HELD)
    if tells is None:
        stored = files.store["/tests/events/_adanalytics/lock"]
        stored.modified += timedelta(days=1)
    else:
        monkeypatch.setattr(type(files), "modified", Mock(side_effect=tells))
    told = "if it was killed, delete memory://.*/tests/events/_adanalytics/lock"
    with pytest.raises(DatasetInUse, match=told), store.lock():
        pass
    store.remove("_adanalytics/lock")
    for _ in range(2):
        with store.lock():
            pass


def test_a_lock_that_is_unreadable_expires(memory: str, passing_time: PassTime) -> None:
    files_of(memory).pipe_file(f"{memory}/_adanalytics/lock", b"[")
    store = objects.open_object_store(memory)
    with pytest.raises(DatasetInUse), store.lock():
        pass
    passing_time(LEASE_SECONDS + 3)
    with store.lock():
        pass


def test_a_lease_whose_put_had_no_answer_is_its_own(
    shop: Shop, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage library then puts once more, and finds what it had put."""
    files = files_of(memory)
    put = files.pipe_file

    def put_twice(path: str, content: bytes, mode: str = "overwrite") -> None:
        put(path, content, mode=mode)
        if mode == "create":
            raise FileExistsError(path)

    monkeypatch.setattr(type(files), "pipe_file", staticmethod(put_twice))
    result = shop.sync("--to", memory)
    assert result.exit_code == 0, result.stderr


def test_a_process_that_lost_its_lease_writes_nothing_more(
    bucket: str, passing_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was suspended until another process had taken the lease over."""
    store, other = (objects.open_object_store(bucket) for _ in range(2))
    now = lease.elapsed
    with store.lock():
        store.write("data/first", b"x")
        passing_time(2 * LEASE_SECONDS)
        monkeypatch.setattr(lease, "elapsed", lambda: now() + 2 * LEASE_SECONDS)
        for _ in range(2):
            with other.lock(), pytest.raises(DatasetInUse, match="Another process took"):
                store.write("data/second", b"")
    assert [*store.sizes("data")] == ["data/first"]


SECRET = "kept-out-of-sight"


@pytest.mark.parametrize(
    ("place", "settings", "said"),
    [
        ("s3://bucket/events", {"AWS_ACCESS_KEY_ID": ""}, "Missing AccessKeyId"),
        ("s3://bucket/events", {"AWS_ENDPOINT_URL": CLOSED}, "HTTP error"),
        ("s3://nowhere/events", {}, "404 Not Found"),
        ("gs://bucket/events", {"GOOGLE_SERVICE_ACCOUNT_KEY": SECRET}, "service account"),
        ("az://bucket/events", {}, "Account must be specified"),
        (
            "az://bucket/events",
            {
                "AZURE_STORAGE_ACCOUNT_NAME": "partner",
                "AZURE_STORAGE_ENDPOINT": CLOSED,
                "AZURE_STORAGE_SAS_KEY": f"sv=2024&sig={SECRET}",
            },
            "HTTP error",
        ),
    ],
)
def test_storage_that_cannot_be_used_is_told(
    shop: Shop,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    settings: dict[str, str],
    said: str,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    result = shop.sync("--to", place)
    assert result.exit_code == 1
    assert said in result.stderr
    assert place in result.stderr
    assert "defect" not in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert SECRET not in result.stderr
    with pytest.raises(DatasetError) as caught:
        objects.open_object_store(place).write("a", b"1")
    assert SECRET not in "".join(format_exception(caught.value))


def test_without_the_library_the_extra_is_named(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(import_module("sys").modules, "fsspec", None)
    result = shop.sync("--to", "s3://bucket/events")
    assert result.exit_code == 2
    assert "adanalytics[s3]" in result.stderr
