"""Datasets of services with fields of their own: every field, exact sums, columns that widen."""

import gzip
import json
import shutil
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.vocabularies import VOCABULARIES, Vocabulary, as_csv, as_parquet

from adanalytics_client._json.fields import ID_OF
from adanalytics_client.dataset import Dataset, DatasetError, Hour, PartFormat, TableFormat
from adanalytics_client.dataset.hours import events
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import join_pieces, write_file
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.query.session import run_query
from adanalytics_client.dataset.records.manifest import Identity
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_client.errors import InvalidRequest, ProtocolError

FIRST, SECOND = "2026-01-15", "2026-01-16"
EXPORTS = {"csv": as_csv, "parquet": as_parquet}


@pytest.fixture(params=VOCABULARIES)
def vocabulary(request: pytest.FixtureRequest, service: ServiceOfRows) -> Vocabulary:
    vocabulary = VOCABULARIES[request.param]
    service.rows = {**vocabulary.rows}
    return vocabulary


def types_of(place: Path) -> dict[str, str]:
    """The types of the files of a dataset, which are all the same, without our last column."""
    (types,) = {
        tuple((field.name, _name_of(field.type)) for field in [*pq.read_schema(path)][:-1])
        for path in place.glob("data/*/*.parquet")
    }
    return dict(types)


def _name_of(type_: pa.DataType) -> str:
    return "map<string, string>" if pa.types.is_map(type_) else str(type_)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_every_way_brings_every_field_and_the_exact_sum(
    service: ServiceOfRows,
    vocabulary: Vocabulary,
    tmp_path: Path,
    form: PartFormat,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = []
    # Of one form the pages are of days, of the other one of hours.
    if form == "jsonl":
        monkeypatch.setattr("adanalytics_client._events.auto.MOST_FULL_PAGES", 0)
    count = f'SELECT count(*) AS n, sum("{vocabulary.amount}") AS s FROM events'
    order = ", ".join(f'"{name}"' for name in [*vocabulary.types][:4])
    for way in ("pages", *EXPORTS):
        service.export = EXPORTS.get(way)
        dataset = Dataset(tmp_path / way, format=form)
        with service.client(**vocabulary.profile) as client:
            via: Any = "pages" if way == "pages" else "export"
            report = dataset.sync(client, FIRST, SECOND, via=via)
            assert (report.failed, report.events) == ([], len(vocabulary.texts))
            is_by_hour = service.asked.count("events") > 24
            assert is_by_hour == (form == "jsonl" and way == "pages")
            service.asked.clear()
            assert dataset.verify(client, until=SECOND).is_whole
        if form == "parquet":
            assert types_of(tmp_path / way) == vocabulary.types
        totals = {"n": len(vocabulary.texts), "s": vocabulary.sum}
        assert dataset.query(count).to_pylist() == [totals]
        tables.append(dataset.query(f"SELECT * FROM events ORDER BY {order}"))
    first, *others = tables
    assert first.schema.names == [*vocabulary.types, "date", "hour", "partner", "currency"]
    hours = zip(first["date"].to_pylist(), first["hour"].to_pylist(), strict=True)
    assert {(str(day), hour) for day, hour in hours} == {*vocabulary.rows}
    assert all(table.equals(first) for table in others)


@pytest.mark.parametrize("way", EXPORTS)
def test_lines_of_an_export_have_times_and_pairs_as_pages_have_them(
    service: ServiceOfRows, tmp_path: Path, way: str
) -> None:
    vocabulary = VOCABULARIES["camelCase"]
    service.rows, service.export = {**vocabulary.rows}, EXPORTS[way]
    with service.client(**vocabulary.profile) as client:
        Dataset(tmp_path, format="jsonl").sync(client, via="export")
    files = tmp_path.glob("data/*/*/*.jsonl*")
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    sent = {row["eventId"]: row for row in map(json.loads, vocabulary.texts)}
    assert len(lines) == len(sent)
    for line in lines:
        for name in ("eventTime", "keyValues"):
            assert line[name] == sent[line["eventId"]][name]


def test_the_first_export_has_the_types_of_pages(
    service: ServiceOfRows, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In csv, a number and a text of digits look the same; the event before it tells them apart."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 1)
    text = '{{"timestamp":"{}T03:00:00Z","postcode":"10115","skippable":true}}'
    service.rows = {(day, 3): [text.format(day)] * 9 for day in (FIRST, SECOND)}
    service.export = lambda texts: as_csv(texts).replace(b"true", b"t")
    with service.client() as client:
        assert dataset.sync(client, FIRST).left == 0
        assert "export" in service.asked
        dataset.sync(client, SECOND, via="pages")
    table = dataset.query("SELECT DISTINCT postcode, skippable FROM events")
    assert table.to_pylist() == [{"postcode": "10115", "skippable": True}]
    assert dataset.query("FROM events").schema.field("skippable").type == pa.bool_()


def sync_days(
    service: ServiceOfRows, dataset: Dataset, *days: Sequence[str], way: str = "pages"
) -> None:
    """Sync days one by one, each with some events of one hour."""
    for number, texts in enumerate(days, 15):
        service.rows[f"2026-01-{number}", 3] = texts
        service.export = EXPORTS.get(way)
        via: Any = "pages" if way == "pages" else "export"
        with service.client() as client:
            report = dataset.sync(client, f"2026-01-{number}", via=via)
            assert report.failed == []


def days_of(name: str, *values: str) -> list[list[str]]:
    return [
        [f'{{"timestamp":"2026-01-{number}T03:00:00Z","{name}":{value}}}']
        for number, value in enumerate(values, 15)
    ]


# Of a column its values on two days, the type of both, and the values unless they stay as sent.
WIDENED: list[dict[str, tuple[tuple[str, str], str, list[Any] | None]]] = [
    {
        "word": (("7", '"seven"'), "string", ["7", "seven"]),
        "large": (("7", "9223372036854775808"), "decimal128(38, 0)", None),
        "too large": (("7", "9" * 39), "string", ["7", "9" * 39]),
        "fraction": (("7", "0.25"), "decimal128(38, 9)", None),
        "digits": (("0.25", "0.30000000000000004"), "decimal128(38, 17)", None),
        "letter": (("0.25", '"a"'), "string", ["0.25", "a"]),
        "more": (("0.12345678901234567891", '"a"'), "string", ["0.12345678901234567891", "a"]),
        "zeros": (("7", '"007"'), "string", ["7", "007"]),
        "flag": (("true", '"yes"'), "string", ["true", "yes"]),
        "late": (("null", "5"), "int64", [None, 5]),
        "revenue": (('"1.5"', '"NaN"'), "string", ["1.5", "NaN"]),
        "is_filtered": (("0", "false"), "bool", [False, False]),
        "received_at": (("1768446000", "0"), "int64", [1768446000, 0]),
        "key_values": (('{"a":"1.0"}', '{"a":1.0}'), "string", ['{"a":"1.0"}', '{"a":1.0}']),
        "_text": (('"a"', '"b"'), "string", ["a", "b"]),
    },
    {
        "revenue": (('"1.5"', '"0.0000944916"'), "decimal128(38, 10)", None),
        "is_filtered": (("1", "2"), "int64", [1, 2]),
        "received_at": (("1768446000", "0.5"), "decimal128(38, 9)", None),
        "date": (('"soon"', '"late"'), "string", ["soon", "late"]),
        "hour": (("99", "-1"), "int64", [99, -1]),
    },
]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("way", ["pages", "csv"])
@pytest.mark.parametrize("columns", WIDENED, ids=["new fields", "fields with a meaning"])
def test_columns_widen_over_days(
    service: ServiceOfRows,
    dataset: Dataset,
    way: str,
    columns: dict[str, tuple[tuple[str, str], str, list[Any] | None]],
) -> None:
    service.counts = False
    days = [
        ",".join(f'"{name}":{values[at]}' for name, (values, *_) in columns.items())
        for at in range(2)
    ]
    sync_days(
        service,
        dataset,
        *(
            [f'{{"timestamp":"2026-01-{number}T03:00:00Z",{fields}}}']
            for number, fields in enumerate(days, 15)
        ),
        way=way,
    )
    table = dataset.query('SELECT * FROM events ORDER BY "timestamp"')
    for name, (values, type_, expected) in columns.items():
        assert str(table.schema.field(name).type) == type_, name
        exact = [Decimal(json.loads(value, parse_float=str)) for value in values if not expected]
        assert table[name].to_pylist() == (expected or exact), name
    own = table["_date" if "date" in columns else "date"]
    assert [str(day) for day in own.to_pylist()] == [FIRST, SECOND]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_times_of_every_spelling_are_one_column(service: ServiceOfRows, dataset: Dataset) -> None:
    times = {
        '"2026-01-15T03:00:00Z"': "2026-01-15 03:00:00.000000000Z",
        '"2026-01-16 03:00:00"': "2026-01-16 03:00:00.000000000Z",
        '"2026-01-17T03:00:00.123456789Z"': "2026-01-17 03:00:00.123456789Z",
        "1768705200": "2026-01-18 03:00:00.000000000Z",
        "1768791600000": "2026-01-19 03:00:00.000000000Z",
        "1768878000.25": "2026-01-20 03:00:00.250000000Z",
        '"2026-01-21T08:30:00+05:30"': "2026-01-21 03:00:00.000000000Z",
        '"2026-01-22t03:00:00z"': "2026-01-22 03:00:00.000000000Z",
        '"2026-01-23 03:00:00,123456"': "2026-01-23 03:00:00.123456000Z",
        "1.76922360025E9": "2026-01-24 03:00:00.250000000Z",
        '"17693100E+2"': "2026-01-25 03:00:00.000000000Z",
    }
    for number, value in enumerate(times):
        service.rows[f"2026-01-{15 + number}", 3] = [f'{{"event_time":{value},"n":{number}}}']
    with service.client() as client:
        for days in ((FIRST, FIRST), (SECOND, "2026-01-25")):
            assert dataset.sync(client, *days).failed == []
    table = dataset.query("SELECT event_time FROM events ORDER BY n")
    assert str(table.schema.field("event_time").type) == "timestamp[ns, tz=UTC]"
    assert table["event_time"].cast(pa.string()).to_pylist() == [*times.values()]


NESTED = (
    '{"a":[0.30000000000000004441,-1.50,0.0,12345678901234567890123],'
    '"b":{"":"\\"1.50\\",2.5","c\\\\":"1E5"},"d":[true,null,"",-7]}'
)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_numbers_in_objects_and_texts_keep_their_digits(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    exact = "0.30000000000000004441"
    rows = [
        f'{{"ymdh":"2026-01-15T03:00:00","deep":{value},"odd":{odd},"n":{exact},"list":[1.50]}}'
        for value, odd in ((NESTED, exact), ("null", '"x 1.50"'), ('"1.50"', "2.50"), ("[]", "7"))
    ]
    sync_days(service, dataset, rows, days_of("odd", "null", '"late"')[1])
    table = dataset.query(
        "SELECT deep, odd, n, list FROM events WHERE date = '2026-01-15'"
    ).to_pydict()
    assert table == {
        "deep": [NESTED, None, "1.50", "[]"],
        "odd": [exact, "x 1.50", "2.50", "7"],
        "n": [Decimal(exact)] * 4,
        "list": ["[1.50]"] * 4,
    }
    assert dataset.query("SELECT sum(n) s FROM events").to_pylist() == [{"s": Decimal(exact) * 4}]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_names_that_sql_knows_already_get_others(
    service: ServiceOfRows, tmp_path: Path, form: PartFormat, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = Dataset(tmp_path, format=form)
    exact = "0.12345678901234567891"
    more = '"Hour":5,"dataset":"x","ymdh":"2026-01-15 03:00","key_values":{"a":"b"}'
    row = f'{{"id":1,"ID":"two","Id":{exact},{more}}}'
    sync_days(service, dataset, [row])
    events = dataset.query("SELECT * FROM events").to_pylist()
    assert [{**event, "ymdh": 0, "date": 0} for event in events] == [
        {
            "id": 1,
            "ID_1": "two",
            "Id_2": Decimal(exact),
            "Hour": 5,
            "dataset": "x",
            "ymdh": 0,
            "key_values": [("a", "b")],
            "date": 0,
            "_hour": 3,
            "partner": "acme",
            "currency": None,
        }
    ]
    # Hour is the field of the events, so it must not seem as if that were _hour.
    names = "ID_1 for ID, Id_2 for Id, _hour for the dataset's hour"
    assert f"SQL needs other names: events has {names}." in caplog.messages
    other = Dataset(tmp_path / "other", format=form)
    sync_days(service, other, [row])
    with run_query("FROM events", [dataset.place, other.place], memory="1GB") as result:
        events = [row for batch in result.batches for row in batch.to_pylist()]
    assert {(event["dataset"], event["_dataset"]) for event in events} == {
        ("x", dataset.place),
        ("x", other.place),
    }


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_name_does_not_end_at_a_zero_byte(
    service: ServiceOfRows, tmp_path: Path, form: PartFormat, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = Dataset(tmp_path, format=form)
    row = {"ymdh": "2026-01-15 03:00", "x": 1, "x\0y": 2}
    sync_days(service, dataset, [json.dumps(row)])
    (event,) = dataset.query("SELECT * FROM events").to_pylist()
    assert (event["x"], event["x_y"]) == (1, 2)
    assert "events has x_y for x\0y." in caplog.text


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_thousands_of_fields_and_deep_ones_stay(service: ServiceOfRows, dataset: Dataset) -> None:
    many = ",".join(f'"field_{number}":{number}' for number in range(1_100))
    deep = '{"a":[' * 60 + "1.5" + "]}" * 60
    sync_days(service, dataset, [f'{{"ymdh":"2026-01-15T03:00:00Z",{many},"deep":{deep}}}'])
    table = dataset.query("SELECT * FROM events")
    assert len(table.schema) == 1 + 1_100 + 1 + 4
    (row,) = table.to_pylist()
    assert all(row[f"field_{number}"] == number for number in range(1_100))
    assert row["deep"] == deep


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_events_without_any_field_are_counted(
    service: ServiceOfRows, tmp_path: Path, form: PartFormat
) -> None:
    dataset = Dataset(tmp_path, format=form, partition="hour")
    service.counts = False
    service.rows = {(FIRST, 3): ["{}", "{}"], (FIRST, 4): ['{"n":1}']}
    with service.client() as client:
        assert dataset.sync(client, FIRST, via="pages").failed == []
        assert dataset.verify(client).is_whole
    events = dataset.query("SELECT hour, count(*) AS events, sum(n) AS n FROM events GROUP BY 1")
    assert sorted(map(tuple, map(dict.values, events.to_pylist()))) == [(3, 2, None), (4, 1, 1)]


def test_a_csv_of_another_order_and_with_quoted_empty_texts(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    files = [
        b'timestamp,a,b\n2026-01-15T03:00:00Z,,""\n',
        b"b,new,timestamp,a\nx,1,2026-01-16T03:00:00Z,2\n",
    ]
    with service.client() as client:
        for day, body in zip((FIRST, SECOND), files, strict=True):
            service.rows[day, 3] = ["{}"]
            service.export = lambda _texts, body=body: body
            assert dataset.sync(client, day, via="export").failed == []
    table = dataset.query("SELECT a, b, new FROM events ORDER BY timestamp")
    assert table.to_pylist() == [{"a": None, "b": "", "new": None}, {"a": 2, "b": "x", "new": 1}]


# Cells of a column, and whether they are numbers at first, and where numbers came before.
CELLS = {
    "signed": (("1.50", "-2.00", "0.25", "3"), (True, True)),
    "lengths": (("1.5", "5.0", "0.125"), (True, True)),
    "zeros": (("0.10000000000000000000", "2.25000000000000000000"), (True, True)),
    "versions": (("1.10", "1.9"), (False, True)),
    "padded": (("1.50", "007"), (False, False)),
    "exponent": (("1.50", "1E5"), (False, False)),
    # As Python and JavaScript write small floats.
    "floats": (("0.0012", "-5e-05", "1.25e-7", "3"), (True, True)),
    "ids": (("5e-05", "7e-3a"), (False, False)),
    "minus": (("5e-05", "-0"), (False, False)),
    "word": (("1.50", "n/a"), (False, False)),
    "point": (("1.", "2.50"), (False, False)),
}


@pytest.mark.parametrize(("form", "before"), [("parquet", ""), ("jsonl", "7")])
def test_plain_numbers_of_a_csv_are_numbers(
    service: ServiceOfRows, dataset: Dataset, before: str
) -> None:
    rows = [[*row] for row in zip_longest(*(cells for cells, _ in CELLS.values()), fillvalue="")]
    lines = [f"2026-01-16T03:00:{at:02}Z,{','.join(cells)}" for at, cells in enumerate(rows)]
    with service.client() as client:
        if before:
            fields = ",".join(f'"{name}":{before}' for name in CELLS)
            service.rows[FIRST, 3] = [f'{{"timestamp":"2026-01-15T03:00:00Z",{fields}}}']
            assert dataset.sync(client, FIRST, via="pages").failed == []
        service.rows[SECOND, 3] = ["{}"] * len(rows)
        file = "\n".join([f"timestamp,{','.join(CELLS)}", *lines, ""]).encode()
        service.export = lambda _texts: file
        assert dataset.sync(client, SECOND, via="export").failed == []
        assert before or dataset.verify(client, deep=True).is_whole
    table = dataset.query("SELECT * FROM events WHERE date = '2026-01-16' ORDER BY timestamp")
    for name, (cells, is_number) in CELLS.items():
        expected: list[Any] = [*map(Decimal, cells)] if is_number[bool(before)] else [*cells]
        assert table[name].to_pylist()[: len(cells)] == expected, name


def test_the_schema_of_a_dataset_is_kept_beside_its_records(
    service: ServiceOfRows, tmp_path: Path
) -> None:
    dataset, path = Dataset(tmp_path), tmp_path / "_adanalytics/schema.json"
    sync_days(service, dataset, *days_of("x", "7", "0.25"))
    schema = json.loads(path.read_text())
    sets = [
        {name: (type_["base"], type_["scale"]) for name, type_ in each.items()}
        for each in schema["sets"]
    ]
    time = {"timestamp": ("time", 3)}
    assert sets == [{}, time | {"x": ("number", 0)}, time | {"x": ("number", 9)}]
    # The older file stays as it was written.
    kinds = [pq.read_schema(file).field("x").type for file in sorted(tmp_path.glob("data/*/*"))]
    assert kinds == [pa.int64(), pa.decimal128(38, 9)]
    path.write_text(path.read_text().replace("number", "text"))
    with pytest.raises(Exception, match=r"schema\.json is damaged"):
        dataset.query("SELECT 1")


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("names", [["filename", "", "file_row_number"], ["Filename"]])
def test_a_field_of_any_name_is_queried(
    service: ServiceOfRows, dataset: Dataset, names: list[str]
) -> None:
    exact = "0.30000000000000004441"
    fields = ",".join(f'"{name}":{exact}' for name in names)
    sync_days(service, dataset, [f'{{"timestamp":"2026-01-15T03:00:00Z",{fields}}}'])
    assert dataset.query("SELECT count(*) AS n FROM events").to_pylist() == [{"n": 1}]
    values = [*dataset.query("SELECT * FROM events").to_pylist()[0].values()]
    assert values.count(Decimal(exact)) == len(names)


def test_a_whole_number_widens_to_many_digits(service: ServiceOfRows, dataset: Dataset) -> None:
    sync_days(service, dataset, *days_of("x", "5", "1.2345678901234567e-05"))
    sums = dataset.query("SELECT sum(x) AS s FROM events").to_pylist()
    assert sums == [{"s": Decimal("5.000012345678901234567")}]
    with service.client() as client:
        assert dataset.verify(client, until="2026-01-16").is_whole


@pytest.mark.parametrize(
    ("flag", "stated", "problem", "reason"),
    [
        ("", "30", "", ""),
        ("", "31", "views 30 instead of 31", ""),
        # It may leave out filtered events.
        ("", "29", "", "30 in the events, 29 in the summary, and 2 events may be filtered ones"),
        (',"is_filtered":false', "29", "views 30 instead of 29", ""),
        (',"is_filtered":false', "15", "", "15 may be an average of its field"),
    ],
)
def test_a_figure_of_a_service_is_compared_by_its_name(
    service: ServiceOfRows, dataset: Dataset, flag: str, stated: str, problem: str, reason: str
) -> None:
    row = '{"ymdh":"2026-01-15T03:00:00Z","views":%d%s}'
    service.rows[FIRST, 3] = [row % (10, flag), row % (20, flag)]
    service.summary[FIRST] = {"views": stated}
    with service.client() as client:
        assert problem in str(dataset.sync(client, FIRST).failed)
        report = dataset.verify(client, until=FIRST)
    assert report.is_whole is not bool(problem)
    assert problem in str(report.problems)
    assert {figure.name: figure.reason for figure in report.uncompared} == (
        {"views": reason} if reason else {}
    )
    assert ("views" in {figure.name for figure in report.compared}) is not bool(reason)


def test_a_sum_that_is_gone_is_a_change(service: ServiceOfRows, dataset: Dataset) -> None:
    later = [',"paid":"n/a"', "", ',"paid":null']
    for repull, fields in ((0, [',"paid":5'] * 3), (3, later)):
        for number, field in enumerate(fields, 15):
            text = f'{{"ymdh":"2026-01-{number}T03:00:00Z","n":{repull}{field}}}'
            service.rows[f"2026-01-{number}", 3] = [text]
        with service.client() as client:
            assert dataset.sync(client, repull=repull).failed == []
    changes = sorted(dataset.changes(), key=lambda change: change.day)
    assert [change.after["paid"] for change in changes] == [None, 0, 0]
    for change, sum_ in zip(changes, ("no sum", "0", "0"), strict=True):
        assert f"paid {sum_} instead of 5" in str(change)


def test_a_documented_amount_is_summed_after_any_number_of_fields(
    service: ServiceOfRows, tmp_path: Path
) -> None:
    many = ",".join(f'"f{number}":{number}' for number in range(250))
    service.rows["2026-01-15", 3] = [f'{{"ymdh":"2026-01-15T03:00:00",{many},"revenue":"1.5"}}']
    service.summary["2026-01-15"] = {"revenue": "99.5", "paid": 7000}
    with service.client() as client:
        assert Dataset(tmp_path).sync(client, "2026-01-15").failed
    service.summary["2026-01-15"] = {"revenue": "1.5", "paid": 7000}
    with service.client() as client:
        dataset = Dataset(tmp_path)
        assert not dataset.sync(client, "2026-01-15").failed
        report = dataset.verify(client, until="2026-01-15")
    assert "revenue" in {figure.name for figure in report.compared}
    assert "paid" in {figure.name for figure in report.uncompared}


def test_verify_notices_a_day_whose_events_the_service_has_removed(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    service.rows = {(FIRST, 1): ['{"id": 1}'], (SECOND, 2): ['{"id": 2}', '{"id": 3}']}
    with service.client() as client:
        dataset.sync(client, FIRST, SECOND)
        del service.rows[SECOND, 2]
        (problem,) = dataset.verify(client, until=SECOND).problems
        assert (str(problem.day), problem.remedy) == (SECOND, "repull")
        assert problem.what.startswith("the service counts 0, fewer than the 2 events of")
        assert dataset.sync(client, FIRST, SECOND, repull=1).left == 0
        assert dataset.verify(client, until=SECOND).is_whole


def test_verify_notices_a_restated_day_whose_figures_cannot_be_compared(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    row = '{"ymdh":"2026-01-15T03:00:00Z","views":%d}'
    service.rows[FIRST, 3], service.summary[FIRST] = [row % 10, row % 20], {"views": "30"}
    with service.client() as client:
        dataset.sync(client, FIRST)
        # Events that do not say whether they are filtered may be left out of the summary.
        service.rows[FIRST, 3], service.summary[FIRST] = [row % 10, row % 19], {"views": "29"}
        (problem,) = dataset.verify(client, until=FIRST).problems
        expected = "the service restated it after it was pulled", "sync"
        assert (problem.what, problem.remedy) == expected
        assert dataset.sync(client, FIRST).changed
        assert dataset.verify(client, until=FIRST).is_whole


@pytest.mark.parametrize(("longest", "orders"), [(7, 1), (3, 3), (2, 5), (1, 8)])
def test_verify_orders_exports_of_fewer_days_if_the_service_refuses_many(
    service: ServiceOfRows, dataset: Dataset, longest: int, orders: int
) -> None:
    row = '{"ymdh":"2026-01-%02dT03:00:00Z","n":%d}'
    days = range(15, 20)
    service.rows = {(f"2026-01-{day}", 3): [row % (day, day)] for day in days}
    service.export = lambda texts: "".join(
        ["ymdh,n\n", *(",".join(map(str, json.loads(text).values())) + "\n" for text in texts)]
    ).encode()
    service.longest = longest
    with service.client() as client:
        dataset.sync(client, via="pages")
        service.asked.clear()
        assert dataset.verify(client, deep=True, until="2026-01-19").is_whole
        assert service.asked.count("export") == orders
        service.longest = 0
        with pytest.raises(InvalidRequest):
            dataset.verify(client, deep=True, until="2026-01-19")


@pytest.mark.parametrize("cell", ['{"b":[1,2.50],"a":null}', '{"a": null, "b": [1, 2.50]}'])
def test_verify_compares_objects_whatever_the_order_of_their_names(
    service: ServiceOfRows, dataset: Dataset, cell: str
) -> None:
    row = '{"event_time":"%sT03:00:00Z","key_values":{"b":"1","a":"%d"},"geo":%s,"half":%s}'
    half = r'{"b":"\ud83d"}'  # of a character, as text
    geo = '{"b":[1,2.50],"a":null}'
    service.rows[FIRST, 3] = [row % (FIRST, at, geo, json.dumps(half)) for at in range(3)]
    quoted, text = cell.replace('"', '""'), half.replace('"', '""')
    cells = [
        f'{FIRST}T03:00:00Z,"{{""a"": ""{at}"", ""b"": ""1""}}","{quoted}","{text}"'
        for at in (2, 0, 1)
    ]
    file = "\n".join(["event_time,key_values,geo,half", *cells, ""])
    with service.client() as client:
        dataset.sync(client, FIRST, via="pages")
        service.export = lambda _texts: file.encode()
        assert dataset.verify(client, deep=True, until=FIRST).problems == []
        service.export = lambda _texts: file.replace("2.50", "2.51").encode()
        (problem,) = dataset.verify(client, deep=True, until=FIRST).problems
        assert problem.what == "its events differ from the export: geo"


def test_verify_does_not_compare_local_times_with_an_export_by_the_hour(
    service: ServiceOfRows, dataset: Dataset, tmp_path: Path
) -> None:
    row = '{"ymdh":"2026-01-15T%02d:00:00","n":%d}'
    service.rows = {(FIRST, hour): [row % (hour, hour)] for hour in range(24)}
    service.export = lambda texts: "".join(
        ["ymdh,n\n", *(",".join(map(str, json.loads(text).values())) + "\n" for text in texts)]
    ).encode()
    with service.client(zone="Europe/Berlin") as client:
        assert dataset.sync(client, FIRST).events == 24
        assert dataset.verify(client, until=FIRST).is_whole
        with pytest.raises(ProtocolError, match="have times of other days"):
            dataset.verify(client, deep=True, until=FIRST)
        (task,) = Dataset(tmp_path / "other").tasks(client, FIRST)
        with pytest.raises(ProtocolError, match="Pull pages") as error:
            task.run()
        assert "comparison" not in str(error.value)


@pytest.mark.parametrize("via", ["pages", "export"])
@pytest.mark.parametrize(("offset", "is_by_hour"), [("", True), ("+02:00", False)])
def test_hours_of_local_times_are_those_of_the_queries(
    service: ServiceOfRows,
    dataset: Dataset,
    via: Literal["pages", "export"],
    offset: str,
    is_by_hour: bool,
) -> None:
    """Without an offset it may be in UTC, and no event of the evening shows that it is not."""
    row = '{"ymdh":"2026-05-05T%02d:00:00%s","n":%d}'
    service.rows = {("2026-05-05", hour): [row % (hour, offset, hour)] for hour in (8, 17)}
    service.export = lambda texts: "".join(
        ["ymdh,n\n", *(",".join(map(str, json.loads(text).values())) + "\n" for text in texts)]
    ).encode()
    with service.client(zone="Europe/Berlin") as client:
        dataset.sync(client, "2026-05-05", via=via)
    table = dataset.query("SELECT hour, CAST(n AS INTEGER) AS n FROM events ORDER BY hour")
    assert table.to_pylist() == [{"hour": 8, "n": 8}, {"hour": 17, "n": 17}]
    assert (service.asked.count("events") >= 24) is is_by_hour


def test_a_restated_day_that_once_did_not_agree_is_pulled_again(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    row = '{"ymdh":"2026-01-15T03:00:00Z","views":%d}'
    service.rows[FIRST, 3], service.summary[FIRST] = [row % 10, row % 20], {"views": "30"}
    with service.client() as client:
        dataset.sync(client, FIRST)
        service.rows[FIRST, 3], service.summary[FIRST] = [row % 10, row % 19], {"views": "99"}
        assert dataset.sync(client, FIRST).left == 24
        # By this summary, an event of 20 may also be a filtered one.
        service.summary[FIRST] = {"views": "29"}
        assert dataset.sync(client, FIRST).left == 0
    table = dataset.query("SELECT CAST(sum(views) AS INTEGER) AS views FROM events")
    assert table.to_pylist() == [{"views": 29}]


def test_a_service_that_spells_its_fields_anew(
    service: ServiceOfRows, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    """From one day to the next, `event_type` becomes `eventType`, and so on."""
    times = '{"event_id":"%d","event_time":"%sT03:00:00Z","revenue":"2",'
    old = times + '"event_type":"click","is_filtered":%s}'
    new = times.replace("event_id", "eventId").replace("event_t", "eventT").replace("rev", "Rev")
    new += '"eventType":"click","isFiltered":%s}'
    with service.client() as client:
        for day, row in ((FIRST, old), (SECOND, new)):
            service.rows[day, 3] = [row % (1, day, "false"), row % (2, day, "true")]
            service.summary[day] = {"clicks": 1, "revenue": "2"}
            service.asked.clear()
            assert dataset.sync(client, day).left == 0
            assert service.asked.count("events") == 2
        verified = dataset.verify(client, until=SECOND)
        assert (verified.problems, verified.uncompared) == ([], [])
    caplog.clear()
    dataset.query("SELECT count(*) FROM traffic")
    assert "event_type and eventType" in caplog.text


def test_a_restated_day_names_the_counters_of_its_events_that_changed(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    row = '{"ymdh":"2026-01-15T03:00:00","impressions":1,"clicks":%d}'
    with service.client() as client:
        service.rows[FIRST, 3] = [row % 1, row % 1]
        service.summary[FIRST] = {"impressions": 2, "clicks": 2}
        dataset.sync(client, FIRST)
        service.rows[FIRST, 3] = [row % 1, row % 0]
        service.summary[FIRST] = {"impressions": 2, "clicks": 1}
        report = dataset.sync(client, FIRST)
    assert [(change.before, change.after) for change in report.restated] == [
        ({"clicks": 2}, {"clicks": 1})
    ]


def test_an_hour_whose_amounts_may_have_moved_is_pulled_with_those_whose_number_did(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    service.rows = {(FIRST, 3): ['{"views":10}'], (FIRST, 5): ['{"views":20}']}
    service.summary[FIRST] = {"views": "30"}
    with service.client() as client:
        dataset.sync(client, FIRST)
        service.rows = {(FIRST, 3): ['{"views":10}', '{"views":7}'], (FIRST, 5): ['{"views":15}']}
        # By this summary, an event of 5 may also be a filtered one.
        service.summary[FIRST] = {"views": "32"}
        assert dataset.sync(client, FIRST).left == 0
    table = dataset.query("SELECT CAST(sum(views) AS INTEGER) AS views FROM events")
    assert table.to_pylist() == [{"views": 32}]


def export_without_os(service: ServiceOfRows) -> None:
    for day in (FIRST, SECOND):
        text = f'{{"event_id":"{day}","event_time":"{day}T01:00:00Z","clicks":1,"os":"ios"}}'
        service.rows[day, 1] = [text]
    service.export = lambda texts: (
        b"event_id,event_time,clicks\n"
        + b"".join(
            ",".join(map(str, [*json.loads(text).values()][:3])).encode() + b"\n" for text in texts
        )
    )


def test_the_fields_that_an_export_lacks_are_said(
    service: ServiceOfRows, dataset: Dataset, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    export_without_os(service)
    with service.client() as client:
        dataset.sync(client, FIRST, via="pages")
        assert "has no" not in caplog.text
        dataset.sync(client, SECOND, via="export")
        assert f"The export of {SECOND} has no os, as earlier events have." in caplog.messages
        client.start_export(SECOND, SECOND, format="csv").download(tmp_path / "events.csv")
        assert "The export has no os, as events on pages have." in caplog.messages
        # A file may spell the names in another way.
        caplog.clear()
        service.export = lambda _: f"eventId,EventTime,Clicks\n1,{SECOND}T01:00:00Z,1\n".encode()
        client.start_export(SECOND, SECOND, format="csv").download(tmp_path / "again.csv")
        assert "The export has no os, as events on pages have." in caplog.messages


def test_a_deep_look_leaves_out_what_the_export_lacks(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    export_without_os(service)
    with service.client() as client:
        dataset.sync(client, FIRST, SECOND, via="pages")
        report = dataset.verify(client, deep=True)
    assert report.is_whole
    assert "os, which the export does not have" in map(str, report.uncompared)


def test_the_null_of_databases_is_null(service: ServiceOfRows, dataset: Dataset) -> None:
    service.rows[FIRST, 1] = [f'{{"event_id":{at}}}' for at in range(2)]
    lines = ["event_id,event_time,campaign_id,os"]
    lines += [f"0,{FIRST}T01:00:00Z,\\N,\\N", f'1,{FIRST}T01:00:00Z,7,"\\N"']
    service.export = lambda _: "\n".join([*lines, ""]).encode()
    with service.client() as client:
        assert dataset.sync(client, FIRST, via="export").left == 0
    table = dataset.query("SELECT campaign_id, os FROM events ORDER BY event_id")
    assert table.to_pylist() == [{"campaign_id": None, "os": None}, {"campaign_id": 7, "os": "\\N"}]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('"a ""b"" c"', 'a "b" c'),
        ('""""""', '""'),
        ('{"a":"b"}', '{"a":"b"}'),
        ('6" to 7"', '6" to 7"'),
        # As Spark writes a quote.
        (r'"a \"b\" c"', None),
        ('"6" tv"s"', None),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_whose_quoted_fields_do_not_end_is_refused(
    service: ServiceOfRows,
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
    cell: str,
    value: str | None,
) -> None:
    # Each quote is at the end of a block once, and at the begin of one.
    monkeypatch.setattr(events, "CSV_BLOCK", 83)
    service.rows[FIRST, 1] = [f'{{"event_id":{at}}}' for at in range(41)]
    lines = [f"{at},{FIRST}T01:00:00Z,{cell},1" for at in range(41)]
    lines = ["event_id,event_time,os,n", *lines, ""]
    service.export = lambda _: pack("\n".join(lines).encode())
    with service.client() as client:
        report = dataset.sync(client, FIRST, via="export")
    if value is None:
        assert "follows the end of a quoted field" in str(report.failed)
    else:
        assert dataset.query("SELECT DISTINCT os FROM events").to_pylist() == [{"os": value}]


DAY = date(2026, 1, 15)
FIRST_TEXTS = '{"ymdh":"2026-01-15 03:00:00","n":1,"x":7,"m":{"a":1},"flag":true}'
SECOND_TEXTS = (
    '{"ymdh":"2026-01-16 04:00:00","n":2.5,"x":"abc","m":[1],"flag":0,"new":0.30000000000000004}'
)
ROWS = [
    {"n": Decimal(1), "x": "7", "m": '{"a":1}', "flag": "true", "new": None},
    {"n": Decimal("2.5"), "x": "abc", "m": "[1]", "flag": "0"}
    | {"new": Decimal("0.30000000000000004")},
]


@pytest.fixture
def wide_service(service: ServiceOfRows) -> ServiceOfRows:
    service.rows = {("2026-01-15", 3): [FIRST_TEXTS]}
    return service


def sync_both_days(wide_service: ServiceOfRows, dataset: Dataset) -> None:
    with wide_service.client() as client:
        assert dataset.sync(client, "2026-01-15").failed == []
        wide_service.rows["2026-01-16", 4] = [SECOND_TEXTS]
        assert dataset.sync(client, "2026-01-15", "2026-01-16").failed == []
        assert dataset.verify(client, until="2026-01-16").is_whole


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_older_files_are_read_with_the_types_of_all(
    wide_service: ServiceOfRows, dataset: Dataset
) -> None:
    sync_both_days(wide_service, dataset)
    names = ", ".join(ROWS[0])
    events = dataset.query(f"SELECT {names} FROM events ORDER BY ymdh")  # names of ours
    assert events.to_pylist() == ROWS
    assert str(events.schema.field("n").type) == "decimal128(38, 9)"


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_gets_the_wider_types_in_one_version(
    wide_service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset = Dataset(tmp_path, table=kind)
    sync_both_days(wide_service, dataset)
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
    wide_service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    """They wait for each other, and the last of them has a wider type."""
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset = Dataset(tmp_path, table=kind, partition="hour")

    def restate(*values: str) -> None:
        for hour, value in enumerate(values, 3):
            row = f'{{"ymdh":"2026-01-15 0{hour}:00:00","n":{value}}}'
            wide_service.rows["2026-01-15", hour] = [row] * 2
        with wide_service.client() as client:
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
    wide_service: ServiceOfRows, tmp_path: Path, kind: TableFormat, name: str, value: str
) -> None:
    """The files name the hour anew; only a new table has a partition of another name."""
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    dataset, days = Dataset(tmp_path, table=kind), ("2026-01-15", "2026-01-16")
    wide_service.rows["2026-01-15", 4] = ['{"ymdh":"2026-01-15 04:00:00","n":2}']
    with wide_service.client() as client:
        assert dataset.sync(client, *days).failed == []
        wide_service.rows["2026-01-16", 5] = [
            f'{{"ymdh":"2026-01-16 05:00:00","n":3,"{name}":{value}}}'
        ]
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
    wide_service: ServiceOfRows, tmp_path: Path, kind: TableFormat
) -> None:
    pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
    wide_service.rows = {("2026-01-15", 3): ['{"ymdh":"2026-01-15T03:00:00.123456789Z"}']}
    text = f"ymdh has nanoseconds, which {kind} tables lack."
    with wide_service.client() as client, pytest.raises(DatasetError, match=text):
        Dataset(tmp_path, table=kind).sync(client, "2026-01-15")


def test_a_field_with_the_name_of_our_column_keeps_it(
    wide_service: ServiceOfRows, dataset: Dataset
) -> None:
    wide_service.rows = {
        ("2026-01-15", 3): [
            '{"hour":"x","date":5,"_text":1,"ID":"a","id":"b","partner":"p","currency":7}'
        ]
    }
    with wide_service.client(fields={"currency": "cur"}) as client:
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


def test_the_schema_of_a_dataset_widens(wide_service: ServiceOfRows, dataset: Dataset) -> None:
    with wide_service.client() as client:
        dataset.sync(client, "2026-01-15")
    before = {field.name: str(field.type) for field in dataset.schema}
    assert before == {
        "ymdh": "timestamp[ms, tz=UTC]",
        "n": "int64",
        "x": "int64",
        "m": "string",
        "flag": "bool",
    }
    sync_both_days(wide_service, dataset)
    after = {field.name: str(field.type) for field in dataset.schema}
    assert after == before | {"n": "decimal128(38, 9)", "x": "string", "flag": "string"} | {
        "new": "decimal128(38, 17)"
    }


def test_without_a_time_a_sync_pulls_by_the_hour_and_its_plan_says_so(
    wide_service: ServiceOfRows, dataset: Dataset
) -> None:
    """The summary states a small day, which would be one request if the events told their hours."""
    wide_service.rows = {
        ("2026-01-15", hour): [f'{{"at":"{hour}h","n":{hour}}}'] for hour in (*range(9), 23)
    }
    wide_service.summary = {"2026-01-15": {"impressions": 10}}
    with wide_service.client() as client:
        plan = dataset.plan(client, "2026-01-15")
        assert (plan.by_hour, plan.requests >= 24) == (True, True)
        wide_service.asked.clear()
        assert dataset.sync(client, "2026-01-15").failed == []
        assert len(wide_service.asked) <= plan.requests + 2
        assert dataset.plan(client, "2026-01-15").by_hour
    hours = dataset.query("SELECT hour, n FROM events ORDER BY n").to_pylist()
    assert hours == [{"hour": hour, "n": hour} for hour in (*range(9), 23)]


def test_a_time_field_makes_one_request_of_a_small_day(
    wide_service: ServiceOfRows, dataset: Dataset
) -> None:
    wide_service.rows = {("2026-01-15", 3): ['{"at":"2026-01-15 03:04:05"}']}
    wide_service.summary = {"2026-01-15": {"impressions": 1}}
    with wide_service.client(time_field="at") as client:
        plan = dataset.plan(client, "2026-01-15")
        assert (plan.by_hour, plan.requests <= 2 + 2 * len(ID_OF)) == (False, True)
        assert dataset.sync(client, "2026-01-15").hours
    with (
        wide_service.client(fields={"revenue": "at"}) as client,
        pytest.raises(DatasetError) as caught,
    ):
        dataset.sync(client)
    assert "is a dataset of field names event_time=at, not revenue=at" in str(caught.value)


def test_amounts_in_a_form_that_is_not_known_are_said_to_be_so(
    wide_service: ServiceOfRows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wide_service.rows = {
        ("2026-01-15", hour): [f'{{"ymdh":"2026-01-15 {hour:02}:00:00","revenue":"$1.50","n":1}}']
        for hour in (3, 4)
    }
    with wide_service.client() as client:
        assert Dataset(tmp_path).sync(client, "2026-01-15").failed == []
    warnings = [each.getMessage() for each in caplog.records if "is text" in each.getMessage()]
    assert warnings == ["revenue has texts in a form that is not known, so its column is text."]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_column_that_becomes_text_is_named_once_and_without_the_key(
    wide_service: ServiceOfRows, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    name = "a-test-key"
    wide_service.rows = {
        ("2026-01-15", hour): [f'{{"ymdh":"2026-01-15 {hour:02}:00:00","{name}":{value},"n":1}}']
        for hour, value in ((3, "1"), (4, '"x"'), (5, "2"))
    }
    with wide_service.client() as client:
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
