"""Columns that widen: the dataset, its view, and the tables that list its files."""

import json
import shutil
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pytest
from tests.client.dataset.service_of_rows import ServiceOfRows

from adanalytics_client._json.fields import ID_OF
from adanalytics_client.dataset import Dataset, DatasetError, Hour, TableFormat
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import join_pieces, write_file
from adanalytics_client.dataset.records.manifest import Identity
from adanalytics_client.dataset.storage.local import open_store

DAY = date(2026, 1, 15)
FIRST = '{"ymdh":"2026-01-15 03:00:00","n":1,"x":7,"m":{"a":1},"flag":true}'
SECOND = (
    '{"ymdh":"2026-01-16 04:00:00","n":2.5,"x":"abc","m":[1],"flag":0,"new":0.30000000000000004}'
)
ROWS = [
    {"n": Decimal(1), "x": "7", "m": '{"a":1}', "flag": "true", "new": None},
    {"n": Decimal("2.5"), "x": "abc", "m": "[1]", "flag": "0"}
    | {"new": Decimal("0.30000000000000004")},
]


@pytest.fixture
def service(service: ServiceOfRows) -> ServiceOfRows:
    service.rows = {("2026-01-15", 3): [FIRST]}
    return service


def sync_both_days(service: ServiceOfRows, dataset: Dataset) -> None:
    with service.client() as client:
        assert dataset.sync(client, "2026-01-15").failed == []
        service.rows["2026-01-16", 4] = [SECOND]
        assert dataset.sync(client, "2026-01-15", "2026-01-16").failed == []
        assert dataset.verify(client, until="2026-01-16").is_whole


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_older_files_are_read_with_the_types_of_all(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    sync_both_days(service, dataset)
    names = ", ".join(ROWS[0])
    events = dataset.query(f"SELECT {names} FROM events ORDER BY ymdh")  # names of ours
    assert events.to_pylist() == ROWS
    assert str(events.schema.field("n").type) == "decimal128(38, 9)"


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_gets_the_wider_types_in_one_version(
    service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset = Dataset(tmp_path, table=kind)
    sync_both_days(service, dataset)
    if kind == "delta":
        table = import_module("deltalake").DeltaTable(tmp_path)
        versions, rows = table.version() + 1, table.to_pyarrow_table()
    else:
        catalogs = import_module("pyiceberg.catalog")
        uri = f"sqlite:///{tmp_path}/_adanalytics/catalog.db"
        table = catalogs.load_catalog("adanalytics", type="sql", uri=uri).load_table(
            ("adanalytics", "acme")
        )
        versions, rows = len(table.history()), table.scan().to_arrow()
    assert versions == 2
    found = sorted(rows.select([*ROWS[0]]).to_pylist(), key=lambda row: str(row["x"]))
    assert found == ROWS


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_hours_of_a_restated_day_get_the_types_of_the_table(
    service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    """They wait for each other, and the last of them has a wider type."""
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset = Dataset(tmp_path, table=kind, partition="hour")

    def restate(*values: str) -> None:
        for hour, value in enumerate(values, 3):
            row = f'{{"ymdh":"2026-01-15 0{hour}:00:00","n":{value}}}'
            service.rows["2026-01-15", hour] = [row] * 2
        with service.client() as client:
            assert dataset.sync(client, "2026-01-15", repull=1).left == 0
            assert dataset.verify(client, until="2026-01-15").is_whole

    restate("1", "2", "3")
    restate("4", "5.5", "6")


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize(
    ("name", "value"), [("hour", "7"), ("hour", '"x"'), ("HOUR", "2.5"), ("date", "5")]
)
def test_a_field_with_the_name_of_our_column_arrives_later(
    service: ServiceOfRows, tmp_path: Path, kind: TableFormat, name: str, value: str
) -> None:
    """The files name the hour anew; only a new table has a partition of another name."""
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset, days = Dataset(tmp_path, table=kind), ("2026-01-15", "2026-01-16")
    service.rows["2026-01-15", 4] = ['{"ymdh":"2026-01-15 04:00:00","n":2}']
    with service.client() as client:
        assert dataset.sync(client, *days).failed == []
        service.rows["2026-01-16", 5] = [f'{{"ymdh":"2026-01-16 05:00:00","n":3,"{name}":{value}}}']
        if name == "date":
            with pytest.raises(DatasetError, match="a field named date") as caught:
                dataset.sync(client, *days, repull=1)
            if kind == "delta":
                assert "Delete _delta_log: " in caught.value.remedy
                shutil.rmtree(tmp_path / "_delta_log")
            else:
                assert "_adanalytics/catalog.db" in caught.value.remedy
                (tmp_path / "_adanalytics/catalog.db").unlink()
        assert dataset.sync(client, *days, repull=1).failed == []
        assert dataset.verify(client, until=days[1]).is_whole
    if kind == "delta":
        rows = import_module("deltalake").DeltaTable(tmp_path).to_pyarrow_table().to_pylist()
    else:
        uri = f"sqlite:///{tmp_path}/_adanalytics/catalog.db"
        catalog = import_module("pyiceberg.catalog").load_catalog(
            "adanalytics", type="sql", uri=uri
        )
        rows = catalog.load_table(("adanalytics", "acme")).scan().to_arrow().to_pylist()
    rows.sort(key=lambda row: row["n"])
    assert [row["hour" if name == "date" else "_hour"] for row in rows] == [3, 4, 5]
    assert [row[name] for row in rows] == [None, None, json.loads(value, parse_float=Decimal)]
    assert [str(row["_date" if name == "date" else "date"])[-2:] for row in rows] == [
        "15",
        "15",
        "16",
    ]


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_refuses_nanoseconds_with_a_reason(
    service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    service.rows = {("2026-01-15", 3): ['{"ymdh":"2026-01-15T03:00:00.123456789Z"}']}
    text = f"ymdh has nanoseconds, which {kind} tables lack."
    with service.client() as client, pytest.raises(DatasetError, match=text):
        Dataset(tmp_path, table=kind).sync(client, "2026-01-15")


def test_a_field_with_the_name_of_our_column_keeps_it(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    service.rows = {
        ("2026-01-15", 3): [
            '{"hour":"x","date":5,"_text":1,"ID":"a","id":"b","partner":"p","currency":7}'
        ]
    }
    with service.client(fields={"currency": "cur"}) as client:
        assert dataset.sync(client, "2026-01-15").failed == []
    (row,) = dataset.query("SELECT * EXCLUDE (_date) FROM events").to_pylist()
    ours = {"_hour": 3, "_partner": "acme", "_currency": None}
    assert row == {
        "hour": "x",
        "date": 5,
        "_text": 1,
        "ID": "a",
        "id_1": "b",
        "partner": "p",
        "currency": 7,
        **ours,
    }


def test_the_schema_of_a_dataset_widens(service: ServiceOfRows, dataset: Dataset) -> None:
    with service.client() as client:
        dataset.sync(client, "2026-01-15")
    before = {field.name: str(field.type) for field in dataset.schema}
    assert before == {
        "ymdh": "timestamp[ms, tz=UTC]",
        "n": "int64",
        "x": "int64",
        "m": "string",
        "flag": "bool",
    }
    sync_both_days(service, dataset)
    after = {field.name: str(field.type) for field in dataset.schema}
    assert after == before | {"n": "decimal128(38, 9)", "x": "string", "flag": "string"} | {
        "new": "decimal128(38, 17)"
    }


def test_without_a_time_a_sync_pulls_by_the_hour_and_its_plan_says_so(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    """The summary states a small day, which would be one request if the events told their hours."""
    service.rows = {
        ("2026-01-15", hour): [f'{{"at":"{hour}h","n":{hour}}}'] for hour in (*range(9), 23)
    }
    service.summary = {"2026-01-15": {"impressions": 10}}
    with service.client() as client:
        plan = dataset.plan(client, "2026-01-15")
        assert (plan.by_hour, plan.requests >= 24) == (True, True)
        service.asked.clear()
        assert dataset.sync(client, "2026-01-15").failed == []
        assert len(service.asked) <= plan.requests + 2
        assert dataset.plan(client, "2026-01-15").by_hour
    hours = dataset.query("SELECT hour, n FROM events ORDER BY n").to_pylist()
    assert hours == [{"hour": hour, "n": hour} for hour in (*range(9), 23)]


def test_a_time_field_makes_one_request_of_a_small_day(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    service.rows = {("2026-01-15", 3): ['{"at":"2026-01-15 03:04:05"}']}
    service.summary = {"2026-01-15": {"impressions": 1}}
    with service.client(time_field="at") as client:
        plan = dataset.plan(client, "2026-01-15")
        assert (plan.by_hour, plan.requests <= 2 + 2 * len(ID_OF)) == (False, True)
        assert dataset.sync(client, "2026-01-15").hours
    with service.client(fields={"revenue": "at"}) as client, pytest.raises(DatasetError) as caught:
        dataset.sync(client)
    assert "is a dataset of field names event_time=at, not revenue=at" in str(caught.value)


def test_amounts_in_a_form_that_is_not_known_are_said_to_be_so(
    service: ServiceOfRows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service.rows = {
        ("2026-01-15", hour): [f'{{"ymdh":"2026-01-15 {hour:02}:00:00","revenue":"$1.50","n":1}}']
        for hour in (3, 4)
    }
    with service.client() as client:
        assert Dataset(tmp_path).sync(client, "2026-01-15").failed == []
    warnings = [each.getMessage() for each in caplog.records if "is text" in each.getMessage()]
    assert warnings == ["revenue has texts in a form that is not known, so its column is text."]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_column_that_becomes_text_is_named_once_and_without_the_key(
    service: ServiceOfRows, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    name = "a-test-key"
    service.rows = {
        ("2026-01-15", hour): [f'{{"ymdh":"2026-01-15 {hour:02}:00:00","{name}":{value},"n":1}}']
        for hour, value in ((3, "1"), (4, '"x"'), (5, "2"))
    }
    with service.client() as client:
        assert dataset.sync(client, "2026-01-15").failed == []
        assert dataset.verify(client, until="2026-01-15").is_whole
    warnings = [each.getMessage() for each in caplog.records if "common type" in each.getMessage()]
    assert warnings == ["*** has values without a common type, so its column is text."]


def test_pieces_of_an_hour_name_the_columns_that_become_text(tmp_path: Path) -> None:
    """Two processes sort the sections of one file, and neither sees what the other read."""
    hour, store, identity = Hour(DAY, 3), open_store(str(tmp_path)), Identity("a", "b", "parquet")
    pieces = []
    for value in (b"1", b'"x"'):
        tables = EventTables()
        events = [tables.from_jsonl(b'{"n":%b}\n' % value)]
        pieces += write_file([(hour, iter(events))], tmp_path, identity, hour.start, tables)
    assert [piece.mixed for piece in pieces] == [(), ()]
    assert join_pieces(pieces, store, tmp_path, identity).mixed == ("n",)
