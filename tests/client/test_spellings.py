"""One rule for the values of each kind of column, whichever way they come.

Each spelling is tried in a column of each kind, on a page, in JSON lines, and in CSV and Parquet
files of exports: all of these give the same value. None is refused: what the type of its kind
cannot hold widens the column, or makes it text with the spelling as it came.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.raw_events import event_batch, jsonl_batch

from adanalytics_client import ProtocolError
from adanalytics_client._json.exact import NotJson, parse_text
from adanalytics_client._json.raw import read_page
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.sort import HourPartition

COLUMNS = {
    "text": "os",
    "whole": "campaign_id",
    "flag": "is_filtered",
    "amount": "revenue",
    "time": "event_time",
    "date": "event_date",
    "pairs": "key_values",
    "unknown": "new",
}
AMOUNTS = [
    *("0", "1", "-1", "0.5", "0.123456789", "1E5", "1e5", "1E-9", "+1", ".5", "5.", "00012", "-0"),
    *("1e-1000", "0.1e-99999999", "0e-99999999", "1e99999999", "1e400", "1" * 39, "1" * 29),
    *("0.1234567891", "1_000", "1,5", "0x10", "NaN", "Infinity", "-Infinity", "1e", "--1", "1 "),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616"),
    *("007", "0.30000000000000004", "1.50", "0.0000944916", "-9223372036854775809", "9" * 38),
]
WORDS = [
    *("true", "false", "True", "TRUE", "t", "yes", "null", "None"),
    *("", " ", " 1", "\u0661", "a", "a\0b"),
]
NUMBERS = {
    "0",
    "1",
    "-1",
    "0.5",
    "0.123456789",
    "1E5",
    "1E-9",
    "0.1234567891",
    "1.50",
    "0.0000944916",
}
EPOCHS = ["1768435200", "1768435200000", "1768435200.25", "1768435200123456", "1.7684352e9"]
TIMES = [
    *("2026-01-15T00:00:00Z", "2026-01-15T00:00:00.5Z", "2026-01-15 00:00:00Z"),
    *("2026-01-15T00:00:00", "2026-01-15 00:00:00", "2026-01-15T00:00Z", "2026-01-15T00Z"),
    *("2026-01-15T00:00:00.123456789Z", "2026-01-15T00:00:00.123000Z", "2026-01-15t00:00:00z"),
    *("2026-01-15T24:00:00Z", "2026-01-15T00:00:60Z", "2026-01-15T00:00:00+05:30"),
    *("2026-01-15T00:00:00+0530", "2026-01-15T00:00:00+05", "2026-01-15T00:00:00+25:00"),
    *("2026-01-15 00:00:00,123", "2026-01-15T00:00:00,5Z", "2026-01-15T00:00:00,"),
    *("1768435200", "1768435200000", "2026-01-15", "2026-1-5", "20260115", "15.01.2026"),
    *("1768435200.25", "1768435200123456", "1768435200123456789", "2026011513", "1.7684352e9"),
    *("2026-02-30", " 2026-01-15", "\u0662026-01-15", "0000-01-01", "10000-01-01", "9999-12-31"),
]
OBJECTS = ["{}", '{"a":"b"}', '{"a":1.50}', '{"a":null}', "[]", '{"a":', '["a","b"]', '"{}"']
SPELLINGS = [*AMOUNTS, *WORDS, *TIMES, *OBJECTS]

PAIRS_OF = pa.map_(pa.string(), pa.string())

Door = Callable[[str, Any], Any]
REFUSED = "refused"


def _page(column: str, text: str) -> Any:
    """The value as it is on a page, whose last member is read apart."""
    pairs = "" if column == "key_values" else ',"key_values":{}'
    page = read_page(f'{{"events":[{{"{column}":{text}{pairs}}}]}}'.encode())
    return ArrowRows(wide=True).page(page["events"])[column][0]


def _row(column: str, text: str) -> Any:
    return event_batch([{column: text}])[column][0]


def _parsed(column: str, text: str) -> Any:
    return event_batch([{column: parse_text(text)}])[column][0]


def _line(column: str, text: str) -> Any:
    return jsonl_batch(f'{{"{column}":{text}}}\n'.encode())[column][0]


def _csv(column: str, text: str, quoting: Any = csv.QUOTE_ALL) -> Any:
    file = io.StringIO()
    csv.writer(file, quoting=quoting).writerows([[column, "domain"], [text, "x"]])
    (table,) = EventTables().from_csv(io.BytesIO(file.getvalue().encode()))
    return table[column][0]


def _parquet(column: str, array: Any) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, "export")
        try:
            pq.write_table(pa.table({column: array}), path)
        except pa.ArrowNotImplementedError as error:
            pytest.skip(f"earlier versions of pyarrow do not write it: {error}")
        (table,) = EventTables().from_file(path)
        return table[column][0]


DOORS: dict[str, Door] = {
    "page": lambda column, text: _page(column, json.dumps(text)),
    "row": _row,
    "jsonl": lambda column, text: _line(column, json.dumps(text)),
    "csv": _csv,
    "plain csv": lambda column, text: _csv(column, text, csv.QUOTE_MINIMAL),
    "parquet": lambda column, text: _parquet(column, pa.array([text])),
    "large parquet": lambda column, text: _parquet(column, pa.array([text], pa.large_string())),
    "coded parquet": lambda column, text: _parquet(column, pa.array([text]).dictionary_encode()),
}
LITERALS: dict[str, Door] = {"page": _page, "jsonl": _line, "row": _parsed}


def value_at(door: Door, column: str, text: Any) -> tuple[str, Any]:
    """Return the type and the value; only text that is not JSON is refused."""
    try:
        scalar = door(column, text)
    except (ProtocolError, NotJson):
        return REFUSED, None
    # Arrow has dates that Python lacks.
    dated = pa.types.is_temporal(scalar.type)
    # Two maps of the same type may name their entries in two ways.
    type_ = "map" if scalar.type == PAIRS_OF else str(scalar.type)
    return type_, str(scalar.cast(pa.string())) if dated else scalar.as_py()


@cache
def table_of(column: str, doors: str) -> dict[str, dict[str, tuple[str, Any]]]:
    """Return the value of each spelling at each door."""
    chosen = {"texts": DOORS, "literals": LITERALS}[doors]
    return {
        spelling: {name: value_at(door, column, spelling) for name, door in chosen.items()}
        for spelling in SPELLINGS
    }


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """A process of its own, because Arrow's cast of some texts ends the process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_door_takes_a_text_alike(kind: str, pool: ProcessPoolExecutor) -> None:
    for spelling, values in pool.submit(table_of, COLUMNS[kind], "texts").result().items():
        if not spelling:
            # A cell of CSV that is empty and has no quotes is null.
            assert values.pop("plain csv")[1] in {None, "None"}
        expected = values["row"]
        cells = [values.pop("csv"), values.pop("plain csv", expected)]
        cells = [cell for cell in cells if cell != expected]
        assert all(keeps(cell, spelling) for cell in cells), (spelling, cells)
        assert not cells or expected[0] == "string"
        assert expected[0] != REFUSED
        assert all(value == expected for value in values.values()), (spelling, values)
        if expected[0] == "string":
            assert expected[1] == spelling


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_time_may_have_a_decimal_comma(door: Door) -> None:
    """As in ISO 8601, and in what Python's logging writes."""
    assert value_at(door, "event_time", "2026-01-15 03:04:05,678") == (
        "timestamp[ms, tz=UTC]",
        "2026-01-15 03:04:05.678Z",
    )


def keeps(cell: tuple[str, Any], spelling: str) -> bool:
    """Whether a cell, which has no other form than text, counts as a number or a flag only where
    no digit and no sign of it is lost; zeros at the end are none. An empty one is null there.
    """
    type_, value = cell
    if not spelling:
        return value in {None, "None"}
    if type_ == "bool":
        return json.dumps(value) == spelling
    if type_ == "decimal128(38, 9)":
        plain = re.fullmatch(r"(-?)(0|[1-9]\d*)(\.\d+)?", spelling, re.ASCII)
        return bool(plain and Decimal(spelling) == value and (value or not plain[1]))
    return str(value) == spelling


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_door_takes_a_value_of_json_alike(kind: str, pool: ProcessPoolExecutor) -> None:
    for spelling, values in pool.submit(table_of, COLUMNS[kind], "literals").result().items():
        expected = values["row"]
        assert all(value == expected for value in values.values()), (spelling, values)


@pytest.mark.parametrize("kind", ["amount", "time"])
def test_a_number_of_json_is_what_its_text_is(kind: str, pool: ProcessPoolExecutor) -> None:
    texts = pool.submit(table_of, COLUMNS[kind], "texts").result()
    literals = pool.submit(table_of, COLUMNS[kind], "literals").result()
    alike = [name for name in SPELLINGS if texts[name]["row"] == literals[name]["row"]]
    exact = {"amount": NUMBERS, "time": {*EPOCHS}}[kind]
    assert {*alike} >= exact


MOMENT = datetime(2026, 1, 15, tzinfo=UTC)
EPOCH = "1970-01-01 00:00:00"
NESTED = '{"a":"2026-01-15T00:00:00+00:00","b":[null,{"c":1.5}]}'


WIDE, NINE, MS = "decimal128(38, 0)", "decimal128(38, 9)", "timestamp[ms, tz=UTC]"
MIDNIGHT = "2026-01-15 00:00:00.000Z"


@pytest.mark.parametrize(
    ("kind", "array", "type_", "value"),
    [
        ("text", pa.array([1]), "int64", 1),
        ("text", pa.array([True]), "bool", True),
        ("text", pa.array([1.5]), NINE, Decimal("1.5")),
        ("text", pa.array([MOMENT]), MS, MIDNIGHT),
        ("whole", pa.array([7], pa.uint8()), "int64", 7),
        ("whole", pa.array([2**63], pa.uint64()), WIDE, Decimal(2**63)),
        ("whole", pa.array([True]), "bool", True),
        ("whole", pa.array([7.0]), NINE, Decimal(7)),
        ("whole", pa.array([Decimal("7.0")]), NINE, Decimal(7)),
        ("whole", pa.array([Decimal(7)], pa.decimal128(38, 0)), "int64", 7),
        ("whole", pa.array([None], pa.null()), "int64", None),
        ("flag", pa.array([1]), "bool", True),
        ("flag", pa.array([2]), "int64", 2),
        ("amount", pa.array([3]), NINE, Decimal(3)),
        ("amount", pa.array([0.1]), NINE, Decimal("0.1")),
        ("amount", pa.array([0.1 + 0.2]), "decimal128(38, 17)", Decimal("0.30000000000000004")),
        ("amount", pa.array([float("nan")]), "string", "nan"),
        ("amount", pa.array([1.5], pa.float32()), NINE, Decimal("1.5")),
        ("amount", pa.array([Decimal("0.12345678900")]), NINE, Decimal("0.123456789")),
        (
            "amount",
            pa.array([Decimal("0.12345678901")]),
            "decimal128(38, 11)",
            Decimal("0.12345678901"),
        ),
        ("amount", pa.array([Decimal("1e30")]), WIDE, Decimal("1e30")),
        ("amount", pa.array([Decimal("1.5")], pa.decimal256(50, 3)), NINE, Decimal("1.5")),
        (
            "unknown",
            pa.array([Decimal("9" * 44 + ".5")], pa.decimal256(50, 3)),
            "string",
            "9" * 44 + ".5",
        ),
        ("time", pa.array([1_768_435_200]), MS, MIDNIGHT),
        ("time", pa.array([1_768_435_200_000.0]), MS, MIDNIGHT),
        ("time", pa.array([MOMENT], pa.timestamp("us")), MS, MIDNIGHT),
        ("time", pa.array([MOMENT], pa.timestamp("ns", "Asia/Tokyo")), MS, MIDNIGHT),
        (
            "time",
            pa.array([1], pa.timestamp("ns", "UTC")),
            "timestamp[ns, tz=UTC]",
            f"{EPOCH}.000000001Z",
        ),
        (
            "unknown",
            pa.array([1_001], pa.timestamp("us")),
            "timestamp[us, tz=UTC]",
            f"{EPOCH}.001001Z",
        ),
        ("time", pa.array([MOMENT.date()]), "date32[day]", "2026-01-15"),
        ("unknown", pa.array([5], pa.time64("ns")), "string", "00:00:00.000000005"),
        ("date", pa.array([MOMENT.date()], pa.date64()), "date32[day]", "2026-01-15"),
        ("date", pa.array([MOMENT]), MS, MIDNIGHT),
        ("pairs", pa.array([[("a", "1")]], PAIRS_OF), "map", [("a", "1")]),
        ("pairs", pa.array([{"a": 1.5, "b": None}]), "string", '{"a":1.5,"b":null}'),
        (
            "pairs",
            pa.array([[("a", [1])]], pa.map_(pa.string(), pa.list_(pa.int8()))),
            "string",
            '{"a":[1]}',
        ),
        ("pairs", pa.array([["a"]]), "string", '["a"]'),
        ("unknown", pa.array([[("a", "1")]], PAIRS_OF), "string", '{"a":"1"}'),
        ("unknown", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), "string", '{"a":1}'),
        ("unknown", pa.array([{"b": [None, {"c": 1.5}], "a": MOMENT}]), "string", NESTED),
        ("unknown", pa.array([[1, 2]], pa.large_list(pa.int8())), "string", "[1,2]"),
        ("unknown", pa.array([b"a\xff"]), "string", "a\\xff"),
        ("unknown", pa.array(["x"], pa.string_view()), "string", "x"),
        ("unknown", pa.array([7]).dictionary_encode(), "int64", 7),
    ],
)
def test_a_typed_column_of_parquet_keeps_its_values(
    kind: str, array: Any, type_: str, value: Any
) -> None:
    assert value_at(_parquet, COLUMNS[kind], array) == (type_, value)


def test_an_hour_that_no_day_has_is_refused(tmp_path: Path) -> None:
    table = EventTables().from_jsonl(b'{"event_date":"2026-01-15","event_hour":24}\n')
    with pytest.raises(ProtocolError, match="event_hour 24, which no day has"):
        HourPartition(tmp_path).add(table)
