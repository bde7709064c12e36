"""SQL over a dataset: one view of exactly the committed events, and nothing but that."""

import os
import re
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, get_args

import duckdb
import pyarrow as pa
import pytest

from adanalytics_client import Client
from adanalytics_client._json.fields import ID_OF, FieldNames
from adanalytics_client._json.types import TEXT
from adanalytics_client.dataset import (
    Dataset,
    DatasetDamaged,
    DatasetError,
    PartFormat,
    QueryError,
)
from adanalytics_client.dataset.query.session import open_session, run_query
from adanalytics_client.dataset.query.summary import EventSource, find_field
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.tables import event_schema
from adanalytics_server.local import LocalServer

FIRST = "data/date=2026-01-15/day.parquet"
LINES = "data/date=2026-01-15/hour=13/part-0.jsonl"


@pytest.fixture(scope="module")
def synced(server: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[PartFormat], Path]:
    """Return a folder with a dataset of a format, made once."""
    root = tmp_path_factory.mktemp("datasets")

    def make(form: PartFormat) -> Path:
        folder = root / form
        if not folder.exists():
            server.reset()
            with Client(server.url, api_key=server.api_key, partner="acme") as client:
                Dataset(folder, format=form).sync(client)
        return folder

    return make


@pytest.fixture
def events(synced: Callable[[PartFormat], Path], tmp_path: Path) -> Path:
    """A copy of the parquet dataset, to be changed."""
    return shutil.copytree(synced("parquet"), tmp_path / "events")


def rows(folder: Path, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Dataset(folder).query(sql).to_pylist()
    return found


@pytest.mark.parametrize("form", get_args(PartFormat))
def test_a_query_sees_what_the_service_has(
    form: PartFormat, synced: Callable[[PartFormat], Path], client: Client
) -> None:
    query = client.events("2026-01-15", "2026-01-16", split="none")
    expected = query.to_arrow().cast(event_schema()).sort_by("event_id").to_pylist()
    found = Dataset(synced(form)).query("SELECT * FROM events ORDER BY event_id").to_pylist()
    days = [each.pop("date") for each in found]
    hours = [each.pop("hour") for each in found]
    assert {each.pop("partner") for each in found} == {"acme"}
    assert found == expected
    assert (days, hours) == (
        [each["event_date"] for each in expected],
        [each["event_hour"] for each in expected],
    )


@pytest.mark.parametrize("form", get_args(PartFormat))
def test_the_columns_have_the_documented_types_also_without_events(
    form: PartFormat, synced: Callable[[PartFormat], Path], client: Client, tmp_path: Path
) -> None:
    described = rows(synced(form), "DESCRIBE events")
    kinds = {each["column_name"]: each["column_type"] for each in described}
    assert [*kinds] == [*event_schema().names, "date", "hour", "partner"]
    assert kinds["revenue"] == "DECIMAL(38,9)"
    assert kinds["event_time"] == "TIMESTAMP WITH TIME ZONE"
    assert kinds["key_values"] == "MAP(VARCHAR, VARCHAR)"
    empty = Dataset(tmp_path / "empty", format=form)
    empty.sync(client, "2026-02-01")
    assert empty.query("DESCRIBE events").to_pylist() == described
    assert empty.query("SELECT * FROM events").num_rows == 0


def test_sums_are_exact_and_hours_are_of_utc(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    folder = tmp_path / "events"
    Dataset(folder, format="jsonl").sync(client, "2026-01-15")
    file = folder / LINES
    line = '{{"event_time":"2026-01-15T13:59:59.999Z","revenue":{},"cost":{}}}\n'
    file.write_text(
        line.format('"99999999999999999.000000001"', "0.000000001")
        + line.format('"99999999999999999.000000001"', "null")
        + line.format('"0"', "946885253.220153")
    )
    (found,) = rows(folder, "SELECT sum(revenue) r, sum(cost) c FROM events WHERE hour = 13")
    assert found == {
        "r": Decimal("199999999999999998.000000002"),
        "c": Decimal("946885253.220153001"),
    }
    (found,) = rows(
        folder, "SELECT max(event_time) t, max(hour(event_time)) h FROM events WHERE hour = 13"
    )
    assert found == {"t": datetime(2026, 1, 15, 13, 59, 59, 999000, tzinfo=UTC), "h": 13}


def test_only_committed_files_count(events: Path) -> None:
    before = rows(events, "SELECT count(*) AS n FROM events")
    (events / "data/date=2026-01-20").mkdir()
    for name in ("2026-01-15/hour-13.parquet", "2026-01-20/day.parquet"):
        shutil.copy(events / FIRST, events / f"data/date={name}")
    assert rows(events, "SELECT count(*) AS n FROM events") == before


def test_a_filter_on_date_and_hour_reads_only_those_files(events: Path) -> None:
    Dataset(events).repartition("hour")
    for file in events.glob("data/*/*/*"):
        # Of the first file DuckDB reads the schema.
        if not re.search("hour=(14|00)", str(file)):
            file.write_bytes(b"damaged")
    sql = "SELECT count(*) > 0 AS any FROM events WHERE date = '2026-01-15' AND hour = 14"
    assert rows(events, sql) == [{"any": True}]


@pytest.mark.parametrize("parent", ["country=ZZ", "hour=99/date=2020-01-01", "a 'b' [c]*?{d}"])
def test_the_folders_above_a_dataset_do_not_matter(
    parent: str, synced: Callable[[PartFormat], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(synced("parquet"), tmp_path / parent / "events")
    sql = "SELECT max(country) AS c, min(date) AS d, max(hour) AS h FROM events"
    assert rows(folder, sql) == [{"c": "US", "d": date(2026, 1, 15), "h": 23}]


def test_several_datasets_are_told_apart(synced: Callable[[PartFormat], Path]) -> None:
    places = [str(synced("parquet")), str(synced("jsonl"))]
    sql = "SELECT dataset, count(*) AS n FROM events GROUP BY 1 ORDER BY 1"
    with run_query(sql, places, memory="1GB") as result:
        found = [row for batch in result.batches for row in batch.to_pylist()]
    assert found == [{"dataset": place, "n": 600} for place in sorted(places)]


def test_equal_names_of_columns_are_numbered(synced: Callable[[PartFormat], Path]) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 3 AS a_1"
    assert rows(synced("parquet"), sql) == [{"a": 1, "a_1": 2, "a_1_1": 3}]


REFUSED = {
    "COPY events TO 'out.csv'": "COPY is refused",
    "INSERT INTO events VALUES (1)": "INSERT is refused",
    "ATTACH 'other.db'": "ATTACH is refused",
    "INSTALL httpfs": "INSTALL or LOAD is refused",
    "SET memory_limit = '9GB'": "SET is refused",
    "SELECT 1; SELECT 2": "2 statements are refused",
    "-- nothing": "The SQL is empty",
    "SELECT * FROM read_csv('/etc/passwd')": 'Cannot access file "/etc/passwd"',
    "SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')": "Cannot access",
    "SELECT * FROM '/etc/passwd'": "does not exist",
    "SELECT * FROM places": "does not exist",
    "SELECT cuntry FROM events": 'Candidate bindings: "country"',
    "SELEKT 1": 'syntax error at or near "SELEKT"',
    "SELECT CAST(country AS INT) FROM events": "Could not convert string",
    "SELECT error('boom')": "boom",
}


@pytest.mark.parametrize(("sql", "what"), REFUSED.items(), ids=REFUSED)
def test_a_query_does_nothing_but_read_the_dataset(
    sql: str,
    what: str,
    synced: Callable[[PartFormat], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match=what):
        Dataset(synced("parquet")).query(sql)
    assert [*tmp_path.iterdir()] == []


def test_the_files_of_the_dataset_are_the_only_ones(events: Path) -> None:
    record = events / "_adanalytics/dataset.json"
    with pytest.raises(QueryError, match="Cannot access file"):
        Dataset(events).query(f"SELECT * FROM read_text('{record}')")


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda _good: b"PAR1", "has 4 bytes, not"),
        (lambda good: good[:1000] + b"x" * 2000 + good[3000:], "is corrupt"),
        (lambda good: b"<html>".ljust(len(good)), "is corrupt"),
        (None, "was deleted"),
    ],
    ids=["short", "overwritten", "another", "deleted"],
)
def test_a_damaged_file_is_named(
    damage: Callable[[bytes], bytes] | None, what: str, events: Path
) -> None:
    if damage is None:
        (events / FIRST).unlink()
    else:
        (events / FIRST).write_bytes(damage((events / FIRST).read_bytes()))
    with pytest.raises(DatasetDamaged, match=f"{FIRST} {what}"):
        Dataset(events).query("SELECT * FROM events")


def test_a_query_says_that_a_sync_removed_its_files(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    server.reset()
    place, noon = str(tmp_path / "events"), datetime(2026, 1, 15, 12, tzinfo=UTC)
    Dataset(place, clock=lambda: noon).sync(client, "2026-01-15")
    with open_session([place], memory="1GB") as session:
        # The day is over, so its hours become one file.
        Dataset(place).sync(client, "2026-01-15")
        with pytest.raises(DatasetDamaged, match="was removed by a sync meanwhile") as failure:
            [*session.select("SELECT revenue FROM events").batches]
    assert failure.value.remedy == "Query again."


def test_a_damaged_text_is_named(synced: Callable[[PartFormat], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(synced("jsonl"), tmp_path / "events")
    file = folder / LINES
    good = file.read_bytes()
    file.write_bytes(good[:900] + b"\0" * 100 + good[1000:])
    with pytest.raises(DatasetDamaged, match=r"hour=13/part-0\.jsonl is corrupt"):
        Dataset(folder).query("SELECT * FROM events")


def test_a_damaged_record_is_named(events: Path) -> None:
    (events / "_adanalytics/manifest/2026-01-16.json").write_text("{}")
    with pytest.raises(DatasetDamaged, match=r"manifest/2026-01-16\.json is damaged"):
        Dataset(events).query("SELECT 1")


def test_what_does_not_fit_into_memory_waits_in_a_folder_that_goes_away(
    synced: Callable[[PartFormat], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    places = [str(synced("parquet"))]
    numbers = "(SELECT random() AS x FROM range(2000000))"
    with run_query(
        "SELECT current_setting('temp_directory') AS at", places, memory="1GB"
    ) as result:
        (row,) = next(result.batches).to_pylist()
        assert Path(row["at"]).parent == tmp_path
    with run_query(f"SELECT x FROM {numbers} ORDER BY x", places, memory="40MB") as result:
        assert sum(batch.num_rows for batch in result.batches) == 2_000_000
    with (
        pytest.raises(DatasetError, match="ran out of memory"),
        run_query(f"SELECT list(x) FROM {numbers}", places, memory="10MB"),
    ):
        pass
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("memory", ["lots", "500", "-1GB", ""])
def test_the_memory_is_a_size(memory: str) -> None:
    with pytest.raises(ConfigurationError, match="not a size"):
        Dataset("events").query("SELECT 1", memory=memory)


class Noted(ThreadPoolExecutor):
    """Notes what it was given to do."""

    steps: ClassVar[list[Future[Any]]] = []

    def submit(self, step: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        self.steps.append(super().submit(step, *args, **named))
        return self.steps[-1]


class Struck(Noted):
    """Meets a second Ctrl-C while it waits for its thread."""

    def __exit__(self, *_: object) -> None:
        self.shutdown(wait=False)
        raise KeyboardInterrupt


@pytest.mark.parametrize("pool", [Noted, Struck])
def test_ctrl_c_ends_a_query(
    synced: Callable[[PartFormat], Path], monkeypatch: pytest.MonkeyPatch, pool: type[Noted]
) -> None:
    # It changes how signals arrive.
    pytest.importorskip("polars")
    events = synced("parquet")
    monkeypatch.setattr(Noted, "steps", [])
    monkeypatch.setattr("adanalytics_client.dataset.query.session.ThreadPoolExecutor", pool)
    # It takes many seconds, and ends if nobody ends it.
    slow = "SELECT count(*) FROM range(100000) a, range(200000) b WHERE a.range % 7 = b.range % 3"
    strike = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    strike.start()
    with pytest.raises(KeyboardInterrupt):
        Dataset(events).query(slow)
    strike.join()
    done = [each.result() for each in Noted.steps if each.exception() is None]
    assert not any(isinstance(each, pa.RecordBatchReader) for each in done)


class Unborn(ThreadPoolExecutor):
    """Has a thread that never starts: a signal came between."""

    def submit(self, _: Callable[..., Any], /, *__: Any, **___: Any) -> Future[Any]:
        return Future()


def test_ctrl_c_ends_a_query_whose_thread_never_starts(
    events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adanalytics_client.dataset.query.session.ThreadPoolExecutor", Unborn)
    monkeypatch.setattr("adanalytics_client.dataset.query.session._MOST_INTERRUPTS", 3)
    strike, second = (
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)) for seconds in (0.3, 20)
    )
    strike.start()
    second.start()
    with pytest.raises(KeyboardInterrupt):
        Dataset(events).query("SELECT 1")
    assert not second.finished.is_set()
    second.cancel()


def test_the_relation_joins_other_data(events: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE names AS SELECT 'US' AS country, 'United States' AS name")
        Dataset(events).to_duckdb(connection).create_view("events")
        sql = "SELECT DISTINCT name FROM events JOIN names USING (country)"
        assert connection.execute(sql).fetchall() == [("United States",)]


@pytest.mark.parametrize("version", ["1.4.4", "2.0.0"])
def test_a_duckdb_that_changes_digits_is_refused(
    events: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(duckdb, "__version__", version)
    for read in (Dataset(events).to_duckdb, lambda: Dataset(events).query("FROM events")):
        with pytest.raises(ConfigurationError, match=f"DuckDB {version} does not read all digits"):
            read()


def test_without_a_dataset_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="There is no dataset at"):
        Dataset(tmp_path / "events").query("SELECT 1")


def test_ids_have_names(synced: Callable[[PartFormat], Path], client: Client) -> None:
    folder = synced("parquet")
    for group in ID_OF:
        summary = client.summary("2026-01-15", "2026-01-16", group_by=group)
        expected = {
            row[f"{group}_name"]: row.impressions for row in summary.rows if row[f"{group}_name"]
        }
        sql = (
            f"SELECT {group}_name AS name, count(*) FILTER (event_type = 'impression') AS n "
            f"FROM traffic JOIN {group}s USING ({group}_id, partner) GROUP BY ALL"
        )
        assert {row["name"]: row["n"] for row in rows(folder, sql)} == expected
        assert expected
    described = rows(folder, "DESCRIBE campaigns")
    assert {row["column_name"]: row["column_type"] for row in described} == {
        "campaign_id": "BIGINT",
        "campaign_name": "VARCHAR",
        "partner": "VARCHAR",
    }


@pytest.mark.parametrize("content", [None, b"{}"])
def test_without_names_the_views_are_empty(content: bytes | None, events: Path) -> None:
    file = events / "_adanalytics/names.json"
    file.unlink()
    if content:
        file.write_bytes(content)
    assert rows(events, "FROM campaigns JOIN demand_tags USING (partner)") == []
    (described, *_) = rows(events, "DESCRIBE demand_tags")
    assert (described["column_name"], described["column_type"]) == ("demand_tag_id", "BIGINT")


def test_names_of_several_datasets_are_told_apart(synced: Callable[[PartFormat], Path]) -> None:
    places = [str(synced("parquet")), str(synced("jsonl"))]
    sql = "SELECT dataset, count(*) AS n FROM campaigns GROUP BY ALL"
    with run_query(sql, places, memory="1GB") as result:
        table = pa.Table.from_batches(result.batches, result.schema)
    found = dict(zip(*table.to_pydict().values(), strict=True))
    assert found == dict.fromkeys(places, len(rows(synced("jsonl"), "FROM campaigns")))


def test_an_unknown_table_names_the_known_ones(events: Path) -> None:
    with pytest.raises(QueryError) as caught:
        rows(events, "FROM campaign")
    assert "events, traffic, campaigns, demand_tags" in str(caught.value)


def test_a_field_is_the_one_of_the_very_name() -> None:
    """Whatever short name or other case could mean it, too."""
    columns = dict.fromkeys(["city", "City", "ad-slot", "device", "device_type"], TEXT)
    source = EventSource("", columns, FieldNames(), {}, {})
    words = ["city", "City", "ad-slot", "device"]
    assert [find_field(word, source) for word in words] == words
    assert find_field("DEVICE-TYPE", source) == "device_type"
