"""Tables that stay small: what a sync reads of them, what it removes when, and other writers."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.client.dataset.table_reader import Reader, configure
from tests.programs import run_program

from adanalytics_client import Client, ConfigurationError
from adanalytics_client._base.choices import TableFormat
from adanalytics_client.dataset import Dataset, DatasetError, TableConflict
from adanalytics_client.dataset.query.files import CommittedFiles
from adanalytics_client.dataset.tables import delta, iceberg
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.spark
deltalake = pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog", reason="make test-spark installs pyiceberg")
duckdb, pa = map(import_module, ("duckdb", "pyarrow"))

# An environment of its own, because the extensions are packages for one version of DuckDB.
DUCKDB = Path(__file__).parents[3] / ".venv-duckdb" / "bin" / "python"
ID = "00000000-0000-4000-8000-"
DAY, NEXT_DAY = "2026-01-15", "2026-01-16"
BEGIN = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(params=["delta", "iceberg"])
def kind(request: pytest.FixtureRequest) -> TableFormat:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.fixture
def reader(kind: TableFormat, place: Path) -> Reader:
    return Reader(kind, place)


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


def restate(server: LocalServer, number: int) -> None:
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
    server: LocalServer,
    client: Client,
    kind: TableFormat,
    place: Path,
    reader: Reader,
    reads: list[str],
) -> None:
    Dataset(place, table=kind).sync(client)
    assert reads == ["all"]
    Dataset(place).sync(client)
    assert reads == ["all"]
    restate(server, 1)
    Dataset(place).sync(client)
    assert reads == ["all", DAY]
    # Another program made the table anew.
    reader.drop_column("app_bundle")
    Dataset(place).sync(client)
    assert reads == ["all", DAY, "all"]
    assert len(reader.rows()) == rows_in(place)
    # What no sync can see, `verify` does.
    assert Dataset(place).verify(client).is_whole


@pytest.mark.parametrize(
    "where",
    [
        f"event_date = '{NEXT_DAY}'",
        f"date = '{NEXT_DAY}'",
        f"event_time >= '{NEXT_DAY}T00:00:00+00:00'",
    ],
)
def test_a_filter_needs_only_the_files_of_its_day(
    client: Client, kind: TableFormat, place: Path, reader: Reader, where: str
) -> None:
    Dataset(place, table=kind).sync(client)
    expected = {name for name in parquet_files(place) if NEXT_DAY in name}
    assert selected_files(reader, where) == expected < parquet_files(place)
    if kind == "iceberg":
        # Of a file without amounts, nothing says that it has no large one.
        assert selected_files(reader, "revenue > 1000000") < selected_files(reader)


def test_the_extensions_of_duckdb_read_the_table(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    if not DUCKDB.exists():
        pytest.skip("make test-spark installs DuckDB with its extensions")
    Dataset(place, table=kind).sync(client)
    restate(server, 3)
    Dataset(place).sync(client)
    select = f"SELECT event_type, count(*) AS n FROM events WHERE event_date = '{DAY}' GROUP BY ALL"
    expected = Dataset(place).query(f"{select} ORDER BY ALL").to_pylist()
    address = str(place) if kind == "delta" else reader.table().metadata_location
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
        [DUCKDB, "-c", script, kind, address, select, place.parent / "extensions"], check=True
    )
    # Above it there may be a progress bar.
    rows, plan = json.loads(done.stdout.splitlines()[-1])
    assert rows == [[*row.values()] for row in expected]
    read = len([name for name in selected_files(reader) if DAY in name])
    assert f"Total Files Read: {read} " in plan


def test_earlier_versions_are_removed_in_time(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    moments = iter(range(100))

    def sync(retain: str | None = None) -> None:
        """Sync two hours after the last time."""
        now = BEGIN + timedelta(hours=2 * next(moments))
        dataset = Dataset(place, table=kind, clock=lambda: now)
        assert dataset.sync(client, retain=retain).failed == []

    sync(retain="3h")
    first = reader.versions()[0]
    before = reader.rows(first)
    restate(server, 1)
    sync()
    # It was the current version less than three hours ago.
    assert reader.rows(first) == before
    for number in range(2, 12):
        restate(server, number)
        sync()
    assert len(reader.rows()) == rows_in(place)
    live = selected_files(reader)
    # The last version is of less than three hours ago, and files are looked for every three hours.
    assert live < parquet_files(place)
    assert len(parquet_files(place) - live) <= 3
    if kind == "iceberg":
        # Of twelve syncs, some of which merged manifests in a version of its own.
        assert len(reader.versions()) <= 8
        assert len([*place.glob("_adanalytics/iceberg/metadata/*")]) <= 40
        assert len(reader.table().inspect.manifests()) <= 9
    sync()
    sync()
    sync()
    assert parquet_files(place) == live == selected_files(reader)
    assert Dataset(place).verify(client).is_whole


def test_a_query_says_that_a_sync_removed_its_file(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    Dataset(tmp_path, table="delta").sync(client, retain="1h")
    running = CommittedFiles.read(str(tmp_path))
    restate(server, 3)
    Dataset(tmp_path).sync(client)
    assert running.find_damage("", thorough=True) is None
    later = datetime.now(UTC) + timedelta(hours=2)
    Dataset(tmp_path, clock=lambda: later).sync(client)
    error = running.find_damage("", thorough=False)
    assert error is not None
    assert "was removed by a sync meanwhile" in error.message
    assert "longer retention" in error.remedy


def test_a_table_without_its_record_keeps_all_versions(
    server: LocalServer, client: Client, kind: TableFormat, place: Path, reader: Reader
) -> None:
    Dataset(place, table=kind).sync(client, DAY)
    place.joinpath("_adanalytics/table.json").unlink()
    names, before = parquet_files(place), reader.versions()[-1]
    restate(server, 3)
    assert Dataset(place).sync(client, DAY, NEXT_DAY).failed == []
    later = datetime.now(UTC) + timedelta(days=30)
    assert Dataset(place, clock=lambda: later).sync(client).failed == []
    assert before in reader.versions()
    assert names < parquet_files(place)
    assert len(reader.rows()) == rows_in(place)


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
    server: LocalServer,
    client: Client,
    kind: TableFormat,
    place: Path,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Dataset(place, table=kind).sync(client)
    restate(server, 3)
    module = {"delta": delta, "iceberg": iceberg}[kind]
    original: Callable[..., Any] = module.read_footers

    def read_footers(*arguments: Any) -> Any:
        commit_elsewhere(reader)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(module, "read_footers", read_footers)
        dataset = Dataset(place)
        with pytest.raises(TableConflict, match="Another writer committed") as caught:
            dataset.sync(client)
    assert "Run the same sync again" in caught.value.remedy
    # Both are whole: the files are committed, and the table has the other writer's row.
    assert dataset.report is not None
    assert dataset.report.failed == []
    assert rows_in(place) != 600
    theirs = [row for row in reader.rows() if row["event_id"] == "theirs"]
    assert len(reader.rows()) == 601
    assert len(theirs) == 1
    assert Dataset(place).sync(client).wanted == 0
    assert len(reader.rows()) == rows_in(place)
    assert Dataset(place).verify(client).is_whole


def test_a_catalog_that_is_down_amid_a_publication_costs_nothing(
    server: LocalServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, reader = tmp_path / "events", Reader("iceberg", tmp_path / "events")
    Dataset(place, table="iceberg").sync(client)
    before = reader.rows()
    restate(server, 3)

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
