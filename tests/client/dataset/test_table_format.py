"""A Delta or Iceberg table of a dataset: its rows, versions and columns, and what a kill leaves."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.client.dataset.table_reader import Reader, configure
from tests.test_docs import TABLE_PAGE, code_of

from adanalytics_client import AdAnalyticsError, Client, ConfigurationError
from adanalytics_client._base.choices import TableFormat
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_client.dataset.records.manifest import Identity, Manifest
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_client.dataset.tables.delta import DeltaLog
from adanalytics_client.dataset.tables.file_table import FileTable
from adanalytics_client.dataset.tables.iceberg import IcebergLog
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.spark
deltalake = pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog", reason="make test-spark installs pyiceberg")
duckdb, pa = map(import_module, ("duckdb", "pyarrow"))

Row = dict[str, Any]
KILLS = int(os.environ.get("ADANALYTICS_KILLS", "3"))
NEW = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(params=["delta", "iceberg"])
def kind(request: pytest.FixtureRequest) -> TableFormat:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.fixture
def reader(kind: TableFormat, place: Path) -> Reader:
    return Reader(kind, place)


def rows_of(place: Path) -> list[Row]:
    """The events of the dataset, by its manifest."""
    events = Dataset(place).query(
        "SELECT * EXCLUDE (date, hour, partner) FROM events ORDER BY event_id"
    )
    return events.to_pylist()  # type: ignore[no-any-return]


def restate(server: LocalServer) -> None:
    server.add_events([restated(NEW)], replace_hours=True)


def restated(event_id: str) -> Row:
    return {"event_time": "2026-01-15T03:00:00Z", "event_id": event_id}


def test_a_table_has_the_events_of_the_dataset(
    client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    dataset = Dataset(place, table=kind)
    assert dataset.plan(client).events > 0
    assert {path.name for path in place.rglob("*")} <= {"_adanalytics", "lock"}
    assert dataset.sync(client).events == 600
    assert reader.rows() == rows_of(place)
    assert len(reader.rows()) == 600
    # One transaction, whatever the number of days.
    assert [len(reader.rows(version)) for version in reader.versions()] == [600]
    held = Dataset(place).holdings()
    assert held is not None
    assert held.table == kind
    assert dataset.verify(client, deep=True).is_whole


def test_polars_reads_it(client: Client, kind: TableFormat, place: Path, reader: Reader) -> None:
    Dataset(place, table=kind).sync(client)
    polars = import_module("polars")
    if kind == "delta":
        frame = polars.read_delta(str(place))
    else:
        frame = polars.scan_iceberg(reader.table(), reader_override="pyiceberg").collect()
    assert frame.height == 600
    assert frame["revenue"].sum() == sum(row["revenue"] for row in rows_of(place))


def test_a_second_sync_makes_no_version(
    client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client)
    before = reader.versions()
    assert Dataset(place).sync(client).wanted == 0
    # The same events make the same files.
    assert Dataset(place).sync(client, repull=2).events == 600
    assert reader.versions() == before


@pytest.mark.parametrize("by_tasks", [False, True])
def test_a_restated_hour_is_one_version_and_the_old_one_stays(
    server: LocalServer,
    client: Client,
    kind: TableFormat,
    place: Path,
    reader: Reader,
    by_tasks: bool,
) -> None:
    dataset = Dataset(place, table=kind)
    dataset.sync(client)
    before, versions = reader.rows(), reader.versions()
    restate(server)
    if by_tasks:
        parts = [task.run() for task in Dataset(place).tasks(client)]
        assert Dataset(place).commit(client, parts).failed == []
    else:
        assert Dataset(place).sync(client).failed == []
    assert reader.rows() == rows_of(place) != before
    assert NEW in [row["event_id"] for row in reader.rows()]
    *earlier, _now = reader.versions()
    assert earlier == versions
    assert reader.rows(earlier[-1]) == before
    assert dataset.verify(client).is_whole


def test_an_hour_that_lost_all_events_has_no_rows(
    kind: TableFormat, place: Path, reader: Reader
) -> None:
    with (
        LocalServer() as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        server.add_events([{"event_time": "2026-01-15T03:00:00Z"}])
        server.keep()
        server.add_events([{"event_time": "2026-01-15T04:00:00Z"}])
        Dataset(place, table=kind).sync(client)
        assert len(reader.rows()) == 2
        server.reset()
        Dataset(place).sync(client)
        assert [row["event_hour"] for row in reader.rows()] == [3]
        assert len(reader.rows(reader.versions()[0])) == 2
        assert Dataset(place).verify(client).is_whole


@pytest.mark.parametrize("step", ["change", "publish"])
def test_the_next_sync_repairs_a_table_that_a_stop_left_behind(
    server: LocalServer,
    client: Client,
    kind: TableFormat,
    place: Path,
    reader: Reader,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Dataset(place, table=kind).sync(client)
    before = reader.rows()
    restate(server)

    class Stop(BaseException):
        pass

    def stop(*_: object) -> None:
        if NEW in str(rows_of(place)):
            raise Stop

    log = {"delta": DeltaLog, "iceberg": IcebergLog}[kind]
    with monkeypatch.context() as patched:
        patched.setattr(log if step == "change" else FileTable, step, stop)
        with pytest.raises(Stop):
            Dataset(place).sync(client)
    assert reader.rows() == before != rows_of(place)
    (problem,) = Dataset(place).verify(client).problems
    assert str(problem) == "2026-01-15  the table lacks 1 file and lists 1 other"
    assert problem.remedy == "sync"
    assert Dataset(place).sync(client).wanted == 0
    assert reader.rows() == rows_of(place)
    assert Dataset(place).verify(client).is_whole


def test_a_kill_at_any_moment_leaves_a_table_that_the_next_sync_completes(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    program = (
        "import sys; from adanalytics_client import Client; "
        "from adanalytics_client.dataset import Dataset; "
        f"Dataset({str(place)!r}, table={kind!r}).sync("
        f"Client({server.url!r}, api_key={server.api_key!r}, partner='acme'))"
    )
    dice, kills = random.Random(20260115), 0
    for attempt in range(20 * KILLS):
        if kills == KILLS:
            break
        # A sync finds a restated hour by its counts.
        events = [restated(f"{number:04}{attempt:04}{NEW[8:]}") for number in range(attempt + 1)]
        server.add_events(events, replace_hours=True)
        process = subprocess.Popen([sys.executable, "-c", program])
        try:
            process.wait(dice.uniform(0.3, 3))
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.wait()
        ids = [row["event_id"] for row in reader.rows()] if reader.finds_a_table() else []
        assert len(ids) == len({*ids})
    Dataset(place, table=kind).sync(client)
    assert kills == KILLS
    assert reader.rows() == rows_of(place)
    assert Dataset(place).verify(client, deep=True).is_whole


def test_a_day_that_is_saved_twice_is_listed_once(
    client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client)
    reader.drop_column("app_bundle")
    store = open_store(str(place))
    identity, manifest = Identity.read(store), Manifest(store)
    assert identity is not None
    table, now = FileTable(store, identity), datetime.now(UTC)
    table.publish(manifest, Schema.read(store), (), now)
    versions = reader.versions()
    table.note(manifest, manifest.days())
    table.publish(manifest, Schema.read(store), (), now)
    assert reader.versions() == versions
    assert reader.rows() == rows_of(place)


def test_duckdb_adds_up_the_rows_of_the_table(
    client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client)
    select = "SELECT event_type, count(*), sum(revenue) FROM events GROUP BY ALL ORDER BY ALL"
    expected = Dataset(place).query(select).to_pylist()
    assert reader.by_duckdb(select) == [tuple(row.values()) for row in expected]


def test_a_place_may_be_spelled_in_another_way(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client, "2026-01-15")
    link = place.parent / "link"
    link.symlink_to(place.parent, target_is_directory=True)
    assert Dataset(link / "events").sync(client, "2026-01-16").failed == []
    assert Dataset(place / ".." / "events").verify(client).is_whole
    assert reader.rows() == rows_of(place)


def test_rows_of_a_day_with_a_damaged_record_stay_until_it_is_pulled_again(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client)
    before, versions = reader.rows(), reader.versions()
    place.joinpath("_adanalytics/manifest/2026-01-15.json").write_text("{}")
    server.faults.add("422 always on events")
    with pytest.raises(AdAnalyticsError, match="422"):
        Dataset(place).sync(client)
    assert reader.rows() == before
    server.faults.clear()
    assert Dataset(place).sync(client).events == 300
    assert Dataset(place).verify(client).is_whole
    # The same events make the same files.
    assert reader.versions() == versions


def test_columns_of_a_later_version_are_added(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client)
    columns = reader.columns()
    reader.drop_column("app_bundle")
    assert "app_bundle" not in reader.columns()
    Dataset(place).sync(client)
    assert sorted(reader.columns()) == sorted(columns)
    assert reader.rows() == rows_of(place)


@pytest.mark.parametrize("lost", ["deltalake", "pyiceberg"])
def test_a_missing_package_is_named_before_anything_is_sent(
    server: LocalServer, place: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, lost, None)
    nobody = Client("http://127.0.0.1:9", api_key="key", partner="acme")
    kind: TableFormat = "delta" if lost == "deltalake" else "iceberg"
    with nobody, pytest.raises(ConfigurationError, match=f"needs {lost}") as caught:
        Dataset(place, table=kind).sync(nobody)
    assert caught.value.remedy.endswith(f"'adanalytics[{kind}]'")


def test_a_table_is_of_a_new_dataset_of_parquet_files(
    client: Client, kind: TableFormat, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="lists parquet files"):
        Dataset(tmp_path, format="jsonl", table=kind)
    with pytest.raises(ConfigurationError, match="table='hive'"):
        Dataset(tmp_path, table="hive")  # type: ignore[arg-type]
    Dataset(tmp_path / "plain").sync(client, "2026-01-15")
    with pytest.raises(DatasetError, match=rf"parquet, not parquet\+{kind}"):
        Dataset(tmp_path / "plain", table=kind).sync(client)
    Dataset(tmp_path / "table", table=kind).sync(client, "2026-01-15")
    other: TableFormat = "iceberg" if kind == "delta" else "delta"
    with pytest.raises(DatasetError, match=rf"parquet\+{kind}, not parquet\+{other}"):
        Dataset(tmp_path / "table", table=other).sync(client)
    with pytest.raises(DatasetError, match=f"cannot change: its format is {kind}"):
        Dataset(tmp_path / "table").repartition("hour")


def test_a_table_of_another_dataset_is_left_alone(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two datasets of a partner, with the catalog that pyiceberg is set up for."""
    configure(monkeypatch, tmp_path)
    Dataset(tmp_path / "events", table="iceberg").sync(client)
    with pytest.raises(DatasetError, match=r"is the table of .*/events/_adanalytics/iceberg"):
        Dataset(tmp_path / "copy", table="iceberg").sync(client)
    with catalogs.load_catalog() as opened:
        assert opened.load_table("adanalytics.acme").scan().count() == 600
    assert Dataset(tmp_path / "events").verify(client).is_whole


def test_a_table_that_cannot_be_read_says_so(client: Client, place: Path) -> None:
    Dataset(place, table="delta").sync(client)
    place.joinpath("_delta_log", f"{1:020}.json").write_text("{")
    with pytest.raises(DatasetError, match="Cannot use the delta table of") as caught:
        Dataset(place).sync(client)
    assert "renews the table" in caught.value.remedy
    shutil.rmtree(place / "_delta_log")
    Dataset(place).sync(client)
    assert Reader("delta", place).rows() == rows_of(place)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = import_module("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    # Its buckets are those of the process.
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST"))
    urlopen(Request(f"http://{host}:{port}/bucket", method="PUT"))
    yield "s3://bucket/events"
    server.stop()


def test_a_delta_table_in_a_bucket(client: Client, server: LocalServer, bucket: str) -> None:
    Dataset(bucket, table="delta").sync(client, "2026-01-15")
    restate(server)
    Dataset(bucket).sync(client, "2026-01-15")
    table = deltalake.DeltaTable(bucket, storage_options={"allow_http": "true"})
    # A query of deltalake would keep the server of this process from answering.
    rows = pa.table(table.get_add_actions())["num_records"].to_pylist()
    held = Dataset(bucket).query("SELECT count(*) AS events FROM events").to_pylist()
    assert [{"events": sum(rows)}] == held
    assert table.version() == 1
    assert Dataset(bucket).verify(client, until="2026-01-15").is_whole


def test_an_iceberg_table_in_a_bucket_needs_a_catalog(
    client: Client, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="needs a catalog"):
        Dataset(bucket, table="iceberg").sync(client, "2026-01-15")
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__S3__ENDPOINT", os.environ["AWS_ENDPOINT_URL"])
    configure(monkeypatch, tmp_path)
    Dataset(bucket, table="iceberg").sync(client, "2026-01-15")
    with catalogs.load_catalog() as opened:
        assert opened.load_table("adanalytics.acme").scan().count() == 300
    assert Dataset(bucket).verify(client, until="2026-01-15").is_whole


def test_the_page_about_tables_runs(server: LocalServer, tmp_path: Path) -> None:
    server.reset()
    program = tmp_path / "program.py"
    program.write_text("\n".join(code_of(TABLE_PAGE, tests=False)))
    given = {"BASE_URL": server.url, "API_KEY": server.api_key, "PARTNER": "acme"}
    environment = os.environ | {f"ADANALYTICS_{name}": text for name, text in given.items()}
    subprocess.run([sys.executable, program], cwd=tmp_path, env=environment, check=True)
