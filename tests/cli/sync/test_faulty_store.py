"""Syncs to a store with faults, killed ones and two at once: all rows arrive, each once.

Each of them once by default; `make test-stores` and `ADANALYTICS_TRIALS` choose another number.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import import_module
from io import BytesIO
from threading import Barrier, Event
from typing import Any, Literal
from urllib.parse import unquote

import pytest
from tests.cli.processes import TIMEOUT
from tests.cli.sync.faulty_s3 import FaultyS3

from adanalytics_client.dataset import Dataset, DatasetDamaged, DatasetError, DatasetInUse
from adanalytics_client.dataset.storage import lease, objects, ranges
from adanalytics_server.local import LocalServer, Sample

Shop = Any
TRIALS = range(int(os.environ.get("ADANALYTICS_TRIALS", "1")))
PLACE = "s3://bucket/events"
TAKEN = json.dumps({"host": "elsewhere", "process": 4711, "token": "t"}).encode()
LEASE = "PUT /bucket/events/_adanalytics/lock"
SYNC = (sys.executable, "-m", "adanalytics_cli", "sync", "2026-01-15", "2026-01-16", "--to", PLACE)
SYNC_AT_ANOTHER_TIME = """
import sys, time
now, ahead = time.time, float(sys.argv.pop(1))
time.time = lambda: now() + ahead
from adanalytics_cli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(days=2, events_per_day=20, seed=7), rate_limit=0) as server:
        yield server


@pytest.fixture(scope="module")
def pulled() -> dict[str, dict[str, bytes]]:
    """The objects of a sync of both days, by format: tests that only read need no sync each."""
    return {}


@pytest.fixture
def synced(
    shop: Shop, faulty: FaultyS3, pulled: dict[str, dict[str, bytes]]
) -> Callable[..., Dataset]:
    """Put a dataset of all days into the bucket, and forget the requests."""

    def put(form: str = "parquet") -> Dataset:
        if form in pulled:
            store = objects.open_object_store(PLACE)
            for name, content in pulled[form].items():
                store.write(name, content)
        else:
            assert shop.sync("--to", PLACE, "--format", form).exit_code == 0
            files = objects.open_object_store(PLACE).file_system
            pulled[form] = {
                name.partition(f"{PLACE}/")[2]: files.cat_file(name) for name in files.find(PLACE)
            }
        faulty.requests.clear()
        return Dataset(PLACE)

    return put


def ids() -> list[str]:
    files = objects.open_object_store(PLACE).file_system
    parquet = import_module("pyarrow.parquet")
    parts = [BytesIO(files.cat_file(name)) for name in files.find(f"{PLACE}/data")]
    return sorted(
        each for part in parts for each in parquet.read_table(part)["event_id"].to_pylist()
    )


def check_all_is_there(shop: Shop, faulty: FaultyS3) -> None:
    faulty.rest()
    result = shop.sync("--to", PLACE)
    assert result.exit_code == 0, result.stderr
    assert shop.run("verify", PLACE).exit_code == 0
    assert ids() == sorted(str(row["event_id"]) for row in shop.rows())


@pytest.mark.parametrize("trial", TRIALS)
@pytest.mark.parametrize("status", [503, 0], ids=["unavailable", "reset"])
def test_faults_lose_nothing(shop: Shop, faulty: FaultyS3, status: int, trial: int) -> None:
    faulty.dice.seed(trial)
    faulty.share, faulty.status = 0.1, status
    result = shop.sync("--to", PLACE)
    assert "defect" not in result.stderr
    check_all_is_there(shop, faulty)


@pytest.mark.parametrize("trial", TRIALS)
def test_kills_lose_nothing(shop: Shop, faulty: FaultyS3, trial: int) -> None:
    faulty.dice.seed(trial)
    process = subprocess.Popen(SYNC, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    faulty.kill, faulty.share, faulty.left = process.pid, 0.02, 1
    process.wait(TIMEOUT)
    faulty.rest()
    # Two minutes later.
    objects.open_object_store(PLACE).remove("_adanalytics/lock")
    check_all_is_there(shop, faulty)


@pytest.mark.parametrize("trial", TRIALS)
def test_of_two_at_once_one_works(shop: Shop, faulty: FaultyS3, trial: int) -> None:
    """Whatever the clocks of their machines say."""
    clocks = ((0, 86_400), (0, -86_400), (300, 0), (-300, 300))[trial % 4]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", SYNC_AT_ANOTHER_TIME, str(ahead), *SYNC[3:]],
            stderr=subprocess.PIPE,
            text=True,
        )
        for ahead in clocks
    ]
    told = [process.communicate(timeout=TIMEOUT)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 1])
    if codes == [0, 1]:
        assert any(f"works on {PLACE}" in each for each in told)
    check_all_is_there(shop, faulty)


@pytest.mark.parametrize(("status", "times"), [(503, 7), (0, 1)], ids=["unavailable", "reset"])
def test_a_lease_whose_put_had_no_answer_is_its_own(
    shop: Shop, faulty: FaultyS3, status: int, times: int
) -> None:
    faulty.share, faulty.status, faulty.only, faulty.after = 1, status, LEASE, True
    faulty.left = times
    result = shop.sync("--to", PLACE)
    assert result.exit_code == 0, result.stderr
    assert not faulty.left
    check_all_is_there(shop, faulty)


def test_records_of_days_are_read_side_by_side(
    shop: Shop, faulty: FaultyS3, synced: Callable[..., Dataset]
) -> None:
    dataset = synced()
    faulty.only, faulty.meeting = "GET /bucket/events/_adanalytics/manifest/2026", Barrier(2)
    for read in (
        dataset.holdings,
        dataset.changes,
        lambda: dataset.query("SELECT 1"),
        lambda: dataset.verify(None),
        lambda: shop.sync("--to", PLACE),
    ):
        faulty.requests.clear()
        read()
        assert sum(faulty.only in request for request in faulty.requests) == 2


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_query_requests_each_file_once(
    faulty: FaultyS3, synced: Callable[..., Dataset], form: str
) -> None:
    dataset = synced(form)
    parts = set(objects.open_object_store(PLACE).sizes("data"))
    for sql, files in (
        ("SELECT count(*) FROM events", parts),
        ("SELECT country, sum(revenue) FROM traffic GROUP BY 1 ORDER BY 2", parts),
        ("SELECT 1 FROM events WHERE date = '2026-01-15'", {n for n in parts if "-15/" in n}),
    ):
        faulty.requests.clear()
        dataset.query(sql)
        names = [unquote(request).partition("/data/")[2] for request in faulty.requests]
        requests = {f"data/{name}" for name in names if name}
        assert files <= requests
        # DuckDB looks into another one for its columns.
        assert len(requests - files) <= 1
        assert len([*filter(None, names)]) <= len(requests) + 1
        assert not [request for request in faulty.requests if request.startswith("HEAD")]


@pytest.mark.parametrize("partition", ["day", "hour"])
def test_a_sync_saves_requests(shop: Shop, faulty: FaultyS3, partition: str) -> None:
    assert shop.sync("--to", PLACE, "--partition", partition).exit_code == 0
    kinds = Counter(request.partition(" ")[0] for request in faulty.requests)
    notes = sum("PUT /bucket/events/_adanalytics/journal/" in r for r in faulty.requests)
    files = sum("PUT /bucket/events/data/" in request for request in faulty.requests)
    # A day is put once, in its place.
    assert notes > 20 if partition == "hour" else (notes, files) == (0, 2)
    # One for the notes of each day, and some for what else is over.
    assert kinds["POST"] < max(notes / 2, 5)
    # The sizes of what was put are known.
    assert "HEAD" not in kinds
    assert not objects.open_object_store(PLACE).sizes("_adanalytics/journal")


def test_verify_asks_for_no_size(faulty: FaultyS3, synced: Callable[..., Dataset]) -> None:
    assert synced().verify(None).is_whole
    assert not [r for r in faulty.requests if r.startswith("HEAD") and "/data/" in r]


def test_one_connection_reads_several_datasets(shop: Shop, synced: Callable[..., Dataset]) -> None:
    """Also beside a file system for S3 of its user."""
    other = "s3://bucket/other"
    synced()
    assert shop.sync("2026-01-15", "--to", other).exit_code == 0
    answer = shop.run("query", "SELECT count(*) FROM events", "--in", PLACE, "--in", other)
    rows = len([row for row in shop.rows() if row["event_date"] == "2026-01-15"])
    assert answer.stdout.splitlines()[1:] == [f"{3 * rows}"], answer.output
    connection = import_module("duckdb").connect()
    connection.register_filesystem(import_module("fsspec").filesystem("memory"))
    first, second, again = (Dataset(each).to_duckdb(connection) for each in (PLACE, other, PLACE))
    for relation in (first, second.union(again)):
        assert relation.filter("date = '2026-01-15'").count("*").fetchall()[0][0] % rows == 0


def test_a_store_that_fails_under_a_reader_is_told(
    faulty: FaultyS3, synced: Callable[..., Dataset]
) -> None:
    dataset = synced()
    part = next(iter(objects.open_object_store(PLACE).sizes("data")))
    faulty.only, faulty.share, faulty.status = "GET /bucket/events/data", 1, 403
    for read in (lambda: dataset.query("FROM events"), lambda: dataset.verify(None)):
        faulty.requests.clear()
        with pytest.raises(DatasetError, match=f"Cannot use {PLACE}: .*{part}") as caught:
            read()
        assert type(caught.value) is DatasetError
        # Not each file, to find a damaged one.
        assert len([r for r in faulty.requests if part.partition("/")[0] in r]) <= 3
    faulty.rest()
    objects.open_object_store(PLACE).remove(part)
    with pytest.raises(DatasetDamaged, match=f"{part} was deleted"):
        dataset.query("FROM events")


def test_threads_read_a_file_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB seeks and reads in a file in several threads, with no lock around both."""
    store = objects.open_object_store("memory://tests/threads")
    content = bytes(range(100))
    store.write("data/a", content)
    for small in (0, 1000):
        monkeypatch.setattr(ranges, "_SMALL", small)
        files = ranges.SizedFiles("it", store, {"data/a": (len(content), "0" * 64)}, [])
        (address,) = files.glob(f"it://{store.address('data/a')}")
        file = files.open(address)
        file.seek(90)
        with ThreadPoolExecutor(1) as other:
            other.submit(file.seek, 10).result()
            assert file.read(50) == content[90:]
            assert other.submit(file.read, 5).result() == content[10:15]
        assert file.read(5) == content[15:20]
    store.file_system.rm("/tests", recursive=True)


def test_duckdb_reads_groups_of_a_file_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    arrow, duckdb = import_module("pyarrow"), import_module("duckdb")
    monkeypatch.setattr(ranges, "_SMALL", 0)
    store, content = objects.open_object_store("memory://tests/threads"), BytesIO()
    numbers = [*range(200_000)]
    table = arrow.table(dict.fromkeys("abcdefgh", numbers))
    import_module("pyarrow.parquet").write_table(table, content, row_group_size=10_000)
    store.write("data/a", content.getvalue())
    part = (len(content.getvalue()), "0" * 64)
    sql = "SELECT sum(a), max(c), sum(h) FROM read_parquet({})"
    for _ in range(3):
        connection = duckdb.connect(config={"threads": 4})
        connection.register_filesystem(ranges.SizedFiles("it", store, {"data/a": part}, []))
        address = f"'it://{store.address('data/a')}'"
        ((total, last, again),) = connection.sql(sql.format(address)).fetchall()
        assert (total, last, again) == (sum(numbers), numbers[-1], sum(numbers))
    store.file_system.rm("/tests", recursive=True)


def expire_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=2 * lease.LEASE_SECONDS)
    monkeypatch.setattr(import_module("moto.s3.models"), "utcnow", lambda: later)


def test_a_sync_that_lost_its_lease_stops(
    shop: Shop, faulty: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its renewal is refused, and it writes nothing more."""
    other, refused = objects.open_object_store(PLACE), Event()
    monkeypatch.setattr(lease, "RENEWAL_SECONDS", 0.01)
    parts = []

    def take_over(request: str) -> None:
        if request.startswith("PUT /bucket/events/data/"):
            parts.append(request)
            if len(parts) == 3:
                other.write("_adanalytics/lock", TAKEN)
            if len(parts) >= 3:
                assert refused.wait(TIMEOUT)
        # It looks whether only an answer was lost.
        if len(parts) >= 3 and request.startswith("GET /bucket/events/_adanalytics/lock"):
            refused.set()

    faulty.before = take_over
    result = shop.sync("--to", PLACE, "--partition", "hour")
    faulty.before = str
    assert result.exit_code == 1
    assert f"Another process took over {PLACE}" in result.stderr
    assert 3 <= len(parts) <= 5
    assert other.read("_adanalytics/lock") == TAKEN
    assert "works on" in shop.sync("--to", PLACE).stderr
    expire_leases(monkeypatch)
    check_all_is_there(shop, faulty)


@pytest.mark.parametrize("conditions", ["ignored", "refused"])
def test_a_store_without_conditional_writes_is_refused(
    shop: Shop, faulty: FaultyS3, conditions: Literal["ignored", "refused"]
) -> None:
    faulty.conditions = conditions
    for _ in range(2):
        result = shop.sync("--to", PLACE)
        assert result.exit_code == 2
        verb = {"ignored": "ignores", "refused": "refuses"}[conditions]
        assert f"The store of {PLACE} {verb} conditional writes" in result.stderr
    # Nothing is left that another store would take for a dataset.
    assert not objects.open_object_store(PLACE).names()


def test_an_idle_sync_asks_for_the_lease_once(
    shop: Shop, faulty: FaultyS3, synced: Callable[..., Dataset]
) -> None:
    synced()
    assert shop.sync("--to", PLACE).exit_code == 0
    locks = [request for request in faulty.requests if request.endswith("_adanalytics/lock")]
    assert [request.partition(" ")[0] for request in locks] == ["GET", "PUT", "PUT"]
    assert not [request for request in faulty.requests if request.startswith("HEAD")]


def test_one_of_many_takes_an_expired_lease(
    faulty: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = objects.open_object_store(PLACE)
    store.write("_adanalytics/lock", TAKEN)
    expire_leases(monkeypatch)
    begin, end = Barrier(8), Barrier(8)

    def take(_: int) -> bool:
        mine = objects.open_object_store(PLACE)
        begin.wait(TIMEOUT)
        try:
            with mine.lock():
                end.wait(TIMEOUT)
        except DatasetInUse:
            end.wait(TIMEOUT)
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == 1
    with store.lock():
        pass
