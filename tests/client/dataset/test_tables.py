"""A Delta or Iceberg table of a dataset: rows, versions, columns, kills, upkeep, writers."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.client.dataset.table_reader import Reader, configure
from tests.programs import run_program
from tests.test_docs import TABLE_PAGE, code_of

from adanalytics_client import AdAnalyticsError, Client, ConfigurationError
from adanalytics_client._base.choices import TableFormat
from adanalytics_client.dataset import Dataset, DatasetError, TableConflict
from adanalytics_client.dataset.query.files import CommittedFiles
from adanalytics_client.dataset.records.manifest import Identity, Manifest
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_client.dataset.tables import delta, iceberg
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
    return request.param  # type: ignore[no-any-return]  # pytest gives it no type


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
    return events.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def restate(server: LocalServer) -> None:
    server.add_events([restated(NEW)], replace_hours=True)


def restated(event_id: str) -> Row:
    return {"event_time": "2026-01-15T03:00:00Z", "event_id": event_id}


def test_a_table_has_the_events_of_the_dataset(client: Client, reader: Reader) -> None:
    dataset = Dataset(reader.place, table=reader.kind)
    assert dataset.plan(client).events > 0
    assert {path.name for path in reader.place.rglob("*")} <= {"_adanalytics", "lock"}
    assert dataset.sync(client).events == 600
    assert reader.rows() == rows_of(reader.place)
    assert len(reader.rows()) == 600
    # One transaction, whatever the number of days.
    assert [len(reader.rows(version)) for version in reader.versions()] == [600]
    held = Dataset(reader.place).holdings()
    assert held is not None
    assert held.table == reader.kind
    assert dataset.verify(client, deep=True).is_whole


def test_polars_reads_it(client: Client, reader: Reader) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    polars = import_module("polars")
    if reader.kind == "delta":
        frame = polars.read_delta(str(reader.place))
    else:
        frame = polars.scan_iceberg(reader.table(), reader_override="pyiceberg").collect()
    assert frame.height == 600
    assert frame["revenue"].sum() == sum(row["revenue"] for row in rows_of(reader.place))


def test_a_second_sync_makes_no_version(client: Client, reader: Reader) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    before = reader.versions()
    assert Dataset(reader.place).sync(client).wanted == 0
    # The same events make the same files.
    assert Dataset(reader.place).sync(client, repull=2).events == 600
    assert reader.versions() == before


@pytest.mark.parametrize("by_tasks", [False, True])
def test_a_restated_hour_is_one_version_and_the_old_one_stays(
    server: LocalServer, client: Client, reader: Reader, by_tasks: bool
) -> None:
    dataset = Dataset(reader.place, table=reader.kind)
    dataset.sync(client)
    before, versions = reader.rows(), reader.versions()
    restate(server)
    if by_tasks:
        parts = [task.run() for task in Dataset(reader.place).tasks(client)]
        assert Dataset(reader.place).commit(client, parts).failed == []
    else:
        assert Dataset(reader.place).sync(client).failed == []
    assert reader.rows() == rows_of(reader.place) != before
    assert NEW in [row["event_id"] for row in reader.rows()]
    *earlier, _now = reader.versions()
    assert earlier == versions
    assert reader.rows(earlier[-1]) == before
    assert dataset.verify(client).is_whole


def test_an_hour_that_lost_all_events_has_no_rows(reader: Reader) -> None:
    with (
        LocalServer() as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        server.add_events([{"event_time": "2026-01-15T03:00:00Z"}])
        server.keep()
        server.add_events([{"event_time": "2026-01-15T04:00:00Z"}])
        Dataset(reader.place, table=reader.kind).sync(client)
        assert len(reader.rows()) == 2
        server.reset()
        Dataset(reader.place).sync(client)
        assert [row["event_hour"] for row in reader.rows()] == [3]
        assert len(reader.rows(reader.versions()[0])) == 2
        assert Dataset(reader.place).verify(client).is_whole


@pytest.mark.parametrize("step", ["change", "publish"])
def test_the_next_sync_repairs_a_table_that_a_stop_left_behind(
    server: LocalServer, client: Client, reader: Reader, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    before = reader.rows()
    restate(server)

    class Stop(BaseException):
        pass

    def stop(*_: object) -> None:
        if NEW in str(rows_of(reader.place)):
            raise Stop

    log = {"delta": DeltaLog, "iceberg": IcebergLog}[reader.kind]
    with monkeypatch.context() as patched:
        patched.setattr(log if step == "change" else FileTable, step, stop)
        with pytest.raises(Stop):
            Dataset(reader.place).sync(client)
    assert reader.rows() == before != rows_of(reader.place)
    (problem,) = Dataset(reader.place).verify(client).problems
    assert str(problem) == "2026-01-15  the table lacks 1 file and lists 1 other"
    assert problem.remedy == "sync"
    assert Dataset(reader.place).sync(client).wanted == 0
    assert reader.rows() == rows_of(reader.place)
    assert Dataset(reader.place).verify(client).is_whole


def test_a_kill_at_any_moment_leaves_a_table_that_the_next_sync_completes(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    program = (
        "import sys; from adanalytics_client import Client; "
        "from adanalytics_client.dataset import Dataset; "
        f"Dataset({str(reader.place)!r}, table={reader.kind!r}).sync("
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
    Dataset(reader.place, table=reader.kind).sync(client)
    assert kills == KILLS
    assert reader.rows() == rows_of(reader.place)
    assert Dataset(reader.place).verify(client, deep=True).is_whole


def test_a_day_that_is_saved_twice_is_listed_once(client: Client, reader: Reader) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    reader.drop_column("app_bundle")
    store = open_store(str(reader.place))
    identity, manifest = Identity.read(store), Manifest(store)
    assert identity is not None
    table, now = FileTable(store, identity), datetime.now(UTC)
    table.publish(manifest, Schema.read(store), (), now)
    versions = reader.versions()
    table.note(manifest, manifest.days())
    table.publish(manifest, Schema.read(store), (), now)
    assert reader.versions() == versions
    assert reader.rows() == rows_of(reader.place)


def test_duckdb_adds_up_the_rows_of_the_table(client: Client, reader: Reader) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    select = "SELECT event_type, count(*), sum(revenue) FROM events GROUP BY ALL ORDER BY ALL"
    expected = Dataset(reader.place).query(select).to_pylist()
    assert reader.by_duckdb(select) == [tuple(row.values()) for row in expected]


def test_a_place_may_be_spelled_in_another_way(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client, "2026-01-15")
    link = reader.place.parent / "link"
    link.symlink_to(reader.place.parent, target_is_directory=True)
    assert Dataset(link / "events").sync(client, "2026-01-16").failed == []
    assert Dataset(reader.place / ".." / "events").verify(client).is_whole
    assert reader.rows() == rows_of(reader.place)


def test_rows_of_a_day_with_a_damaged_record_stay_until_it_is_pulled_again(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    before, versions = reader.rows(), reader.versions()
    reader.place.joinpath("_adanalytics/manifest/2026-01-15.json").write_text("{}")
    server.faults.add("422 always on events")
    with pytest.raises(AdAnalyticsError, match="422"):
        Dataset(reader.place).sync(client)
    assert reader.rows() == before
    server.faults.clear()
    assert Dataset(reader.place).sync(client).events == 300
    assert Dataset(reader.place).verify(client).is_whole
    # The same events make the same files.
    assert reader.versions() == versions


def test_columns_of_a_later_version_are_added(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    columns = reader.columns()
    reader.drop_column("app_bundle")
    assert "app_bundle" not in reader.columns()
    Dataset(reader.place).sync(client)
    assert sorted(reader.columns()) == sorted(columns)
    assert reader.rows() == rows_of(reader.place)


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
        Dataset(tmp_path, table="hive")  # type: ignore[arg-type]  # on purpose
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


# An environment of its own, because the extensions are packages for one version of DuckDB.
DUCKDB = Path(__file__).parents[3] / ".venv-duckdb" / "bin" / "python"
ID = "00000000-0000-4000-8000-"
DAY, NEXT_DAY = "2026-01-15", "2026-01-16"
BEGIN = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The days of which the files in a table were listed, for each time."""
    calls: list[str] = []
    for log in (delta.DeltaLog, iceberg.IcebergLog):

        def names(self: Any, days: Any = None, original: Any = log.names) -> Any:
            calls.append("all" if days is None else " ".join(map(str, sorted(days))))
            return original(self, days)

        monkeypatch.setattr(log, "names", names)
    return calls


def restate_hour(server: LocalServer, number: int) -> None:
    """Replace an hour by events of another number, by which a sync finds it."""
    hour = f"{DAY}T{number % 24:02}:00:00Z"
    events = [
        {"event_time": hour, "event_id": f"{ID}{number:06}{at:06}"} for at in range(number + 1)
    ]
    server.add_events(events, replace_hours=True)


def rows_in(place: Path) -> int:
    return int(Dataset(place).query("SELECT count(*) AS n FROM events").to_pylist()[0]["n"])


def parquet_files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.glob("data/**/*.parquet")}


def selected_files(reader: Reader, where: str = "true") -> set[str]:
    """The files of the current version that a filter needs, by the library of the format."""
    if reader.kind == "delta":
        uris = deltalake.DeltaTable(reader.place).file_uris(file_pruning_predicate=where)
    else:
        row_filter = (
            where if where != "true" else import_module("pyiceberg.expressions").AlwaysTrue()
        )
        uris = [task.file.file_path for task in reader.table().scan(row_filter).plan_files()]
    return {str(Path(uri).relative_to(reader.place)) for uri in uris}


def test_a_sync_reads_of_its_table_what_changed(
    server: LocalServer, client: Client, reader: Reader, reads: list[str]
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    assert reads == ["all"]
    Dataset(reader.place).sync(client)
    assert reads == ["all"]
    restate_hour(server, 1)
    Dataset(reader.place).sync(client)
    assert reads == ["all", DAY]
    # Another program made the table anew.
    reader.drop_column("app_bundle")
    Dataset(reader.place).sync(client)
    assert reads == ["all", DAY, "all"]
    assert len(reader.rows()) == rows_in(reader.place)
    # What no sync can see, `verify` does.
    assert Dataset(reader.place).verify(client).is_whole


@pytest.mark.parametrize(
    "where",
    [
        f"event_date = '{NEXT_DAY}'",
        f"date = '{NEXT_DAY}'",
        f"event_time >= '{NEXT_DAY}T00:00:00+00:00'",
    ],
)
def test_a_filter_needs_only_the_files_of_its_day(
    client: Client, reader: Reader, where: str
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    expected = {name for name in parquet_files(reader.place) if NEXT_DAY in name}
    assert selected_files(reader, where) == expected < parquet_files(reader.place)
    if reader.kind == "iceberg":
        # Of a file without amounts, nothing says that it has no large one.
        assert selected_files(reader, "revenue > 1000000") < selected_files(reader)


def test_the_extensions_of_duckdb_read_the_table(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    if not DUCKDB.exists():
        pytest.skip("make test-spark installs DuckDB with its extensions")
    Dataset(reader.place, table=reader.kind).sync(client)
    restate_hour(server, 3)
    Dataset(reader.place).sync(client)
    select = f"SELECT event_type, count(*) AS n FROM events WHERE event_date = '{DAY}' GROUP BY ALL"
    expected = Dataset(reader.place).query(f"{select} ORDER BY ALL").to_pylist()
    address = str(reader.place) if reader.kind == "delta" else reader.table().metadata_location
    script = (
        "import duckdb, duckdb_extensions as e, json, sys\n"
        "kind, address, select, folder = sys.argv[1:]\n"
        "base = duckdb.connect(config={'extension_directory': folder})\n"
        "for name in ('avro', 'iceberg') if kind == 'iceberg' else ('delta',):\n"
        "    e.import_extension(name, con=base)\n"
        "    base.load_extension(name)\n"
        "base.sql(f\"CREATE VIEW events AS FROM {kind}_scan('{address}')\")\n"
        "rows = base.sql(f'{select} ORDER BY ALL').fetchall()\n"
        "plan = base.sql(f'EXPLAIN ANALYZE {select}').fetchall()[0][1]\n"
        "print(json.dumps([rows, plan]))\n"
    )
    done = run_program(
        [DUCKDB, "-c", script, reader.kind, address, select, reader.place.parent / "extensions"],
        check=True,
    )
    # Above it there may be a progress bar.
    rows, plan = json.loads(done.stdout.splitlines()[-1])
    assert rows == [[*row.values()] for row in expected]
    read = len([name for name in selected_files(reader) if DAY in name])
    assert f"Total Files Read: {read} " in plan


def test_earlier_versions_are_removed_in_time(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    moments = iter(range(100))

    def sync(retain: str | None = None) -> None:
        """Sync two hours after the last time."""
        now = BEGIN + timedelta(hours=2 * next(moments))
        dataset = Dataset(reader.place, table=reader.kind, clock=lambda: now)
        assert dataset.sync(client, retain=retain).failed == []

    sync(retain="3h")
    first = reader.versions()[0]
    before = reader.rows(first)
    restate_hour(server, 1)
    sync()
    # It was the current version less than three hours ago.
    assert reader.rows(first) == before
    for number in range(2, 12):
        restate_hour(server, number)
        sync()
    assert len(reader.rows()) == rows_in(reader.place)
    live = selected_files(reader)
    # The last version is of less than three hours ago, and files are looked for every three hours.
    assert live < parquet_files(reader.place)
    assert len(parquet_files(reader.place) - live) <= 3
    if reader.kind == "iceberg":
        # Of twelve syncs, some of which merged manifests in a version of its own.
        assert len(reader.versions()) <= 8
        assert len([*reader.place.glob("_adanalytics/iceberg/metadata/*")]) <= 40
        assert len(reader.table().inspect.manifests()) <= 9
    sync()
    sync()
    sync()
    assert parquet_files(reader.place) == live == selected_files(reader)
    assert Dataset(reader.place).verify(client).is_whole


def test_a_query_says_that_a_sync_removed_its_file(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    Dataset(tmp_path, table="delta").sync(client, retain="1h")
    running = CommittedFiles.read(str(tmp_path))
    restate_hour(server, 3)
    Dataset(tmp_path).sync(client)
    assert running.find_damage("", thorough=True) is None
    later = datetime.now(UTC) + timedelta(hours=2)
    Dataset(tmp_path, clock=lambda: later).sync(client)
    error = running.find_damage("", thorough=False)
    assert error is not None
    assert "was removed by a sync meanwhile" in error.message
    assert "longer retention" in error.remedy


def test_a_table_without_its_record_keeps_all_versions(
    server: LocalServer, client: Client, reader: Reader
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client, DAY)
    reader.place.joinpath("_adanalytics/table.json").unlink()
    names, before = parquet_files(reader.place), reader.versions()[-1]
    restate_hour(server, 3)
    assert Dataset(reader.place).sync(client, DAY, NEXT_DAY).failed == []
    later = datetime.now(UTC) + timedelta(days=30)
    assert Dataset(reader.place, clock=lambda: later).sync(client).failed == []
    assert before in reader.versions()
    assert names < parquet_files(reader.place)
    assert len(reader.rows()) == rows_in(reader.place)


def commit_elsewhere(reader: Reader) -> None:
    """Commit as another writer does, to a table that has a row of a day without files."""
    day = [date(2026, 3, 1)]
    ours = {"date": day, "hour": [1]}
    table = pa.table({"event_id": ["theirs"], "event_hour": [1], "event_date": day, **ours})
    if reader.kind == "delta":
        deltalake.write_deltalake(reader.place, table, mode="append", schema_mode="merge")
    else:
        reader.table().append(table)


def test_another_writer_at_the_same_time_is_a_conflict(
    server: LocalServer, client: Client, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    Dataset(reader.place, table=reader.kind).sync(client)
    restate_hour(server, 3)
    module = {"delta": delta, "iceberg": iceberg}[reader.kind]
    original: Callable[..., Any] = module.read_footers

    def read_footers(*arguments: Any) -> Any:
        commit_elsewhere(reader)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(module, "read_footers", read_footers)
        dataset = Dataset(reader.place)
        with pytest.raises(TableConflict, match="Another writer committed") as caught:
            dataset.sync(client)
    assert "Run the same sync again" in caught.value.remedy
    # Both are whole: the files are committed, and the table has the other writer's row.
    assert dataset.report is not None
    assert dataset.report.failed == []
    assert rows_in(reader.place) != 600
    theirs = [row for row in reader.rows() if row["event_id"] == "theirs"]
    assert len(reader.rows()) == 601
    assert len(theirs) == 1
    assert Dataset(reader.place).sync(client).wanted == 0
    assert len(reader.rows()) == rows_in(reader.place)
    assert Dataset(reader.place).verify(client).is_whole


def test_a_catalog_that_is_down_amid_a_publication_costs_nothing(
    server: LocalServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, reader = tmp_path / "events", Reader("iceberg", tmp_path / "events")
    Dataset(place, table="iceberg").sync(client)
    before = reader.rows()
    restate_hour(server, 3)

    def fail(*_: object) -> None:
        raise ConnectionError("the catalog is down")

    with monkeypatch.context() as patched:
        sql = import_module("pyiceberg.catalog.sql").SqlCatalog
        patched.setattr(sql, "commit_table", fail)
        with pytest.raises(DatasetError, match="the catalog is down") as caught:
            Dataset(place).sync(client)
    assert "The files are complete" in caught.value.remedy
    assert reader.rows() == before
    assert Dataset(place).sync(client).wanted == 0
    assert len(reader.rows()) == rows_in(place) != 600
    assert Dataset(place).verify(client).is_whole


def test_two_datasets_share_a_catalog_under_names(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, tmp_path, "LAKE")
    for name in ("ads.events", "ads.copy"):
        dataset = Dataset(tmp_path / name, table="iceberg", table_name=name, catalog="lake")
        dataset.sync(client, DAY)
        # Later syncs know both.
        assert Dataset(tmp_path / name).sync(client, NEXT_DAY).failed == []
        with catalogs.load_catalog("lake") as opened:
            assert opened.load_table(name).scan().count() == 600
        assert not (tmp_path / name / "_adanalytics/catalog.db").exists()
    with pytest.raises(DatasetError, match=r"of table ads.copy in lake, not ads.events in lake"):
        Dataset(tmp_path / "ads.copy", table="iceberg", table_name="ads.events").sync(client)
    with pytest.raises(DatasetError, match=r"is the table of .*/ads.events/_adanalytics"):
        Dataset(tmp_path / "third", table="iceberg", table_name="ads.events", catalog="lake").sync(
            client, DAY
        )
    # Nothing was begun, so another name is not refused as a change of the dataset's.
    assert not (tmp_path / "third").exists() or not [*(tmp_path / "third/data").rglob("*.parquet")]
    other = Dataset(tmp_path / "third", table="iceberg", table_name="ads.third", catalog="lake")
    assert other.sync(client, DAY).left == 0
    with pytest.raises(ConfigurationError, match="pyiceberg has no catalog sea") as caught:
        Dataset(tmp_path / "fourth", table="iceberg", catalog="sea").sync(client, DAY)
    assert "PYICEBERG_CATALOG__SEA__URI" in caught.value.remedy


def test_options_that_no_table_has_are_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="neither a name"):
        Dataset(tmp_path, table="delta", table_name="ads.x")
    with pytest.raises(ConfigurationError, match="nor a catalog"):
        Dataset(tmp_path, table="delta", catalog="lake")
    for name in ("events", "ads.", ".events", ""):
        with pytest.raises(ConfigurationError, match="not the name of a table"):
            Dataset(tmp_path, table="iceberg", table_name=name)
    with pytest.raises(ConfigurationError, match="Only an Iceberg table"):
        Dataset(tmp_path / "plain", table_name="ads.x").sync(client, DAY)
    for retain in ("59m", "0h", "0d", "", "7", "d", "-1d", "1.5h", timedelta(minutes=59)):
        with pytest.raises(ConfigurationError, match="is not a retention") as caught:
            Dataset(tmp_path / "delta", table="delta").sync(client, DAY, retain=retain)
        assert "at least 1h and longer than any query" in caught.value.remedy
    with pytest.raises(ConfigurationError, match="has no table"):
        Dataset(tmp_path / "plain").sync(client, DAY, retain="7d")
