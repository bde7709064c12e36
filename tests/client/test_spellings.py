"""One rule for the values of each kind of column, whichever way they come.

Each spelling is tried in a column of each kind, on a page, in JSON lines, and in CSV and Parquet
files of exports: all of these give the same value, or all refuse it.
"""

from __future__ import annotations

import csv
import io
import json
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

from adanalytics_client import ProtocolError
from adanalytics_client._json.exact import NotJson
from adanalytics_client._json.raw import read_page
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.sort import HourPartition
from adanalytics_client.tables import event_batch, jsonl_batch

COLUMNS = {
    "text": "os",
    "whole": "campaign_id",
    "flag": "is_filtered",
    "amount": "revenue",
    "time": "event_time",
    "date": "event_date",
    "pairs": "key_values",
}
AMOUNTS = [
    *("0", "1", "-1", "0.5", "0.123456789", "1E5", "1e5", "1E-9", "+1", ".5", "5.", "00012", "-0"),
    *("1e-1000", "0.1e-99999999", "0e-99999999", "1e99999999", "1e400", "1" * 39, "1" * 29),
    *("0.1234567891", "1_000", "1,5", "0x10", "NaN", "Infinity", "-Infinity", "1e", "--1", "1 "),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616"),
]
WORDS = ["true", "false", "True", "TRUE", "t", "yes", "null", "None", "", " ", " 1", "\u0661", "a"]
TIMES = [
    *("2026-01-15T00:00:00Z", "2026-01-15T00:00:00.5Z", "2026-01-15 00:00:00Z"),
    *("2026-01-15T00:00:00", "2026-01-15 00:00:00", "2026-01-15T00:00Z", "2026-01-15T00Z"),
    *("2026-01-15T00:00:00.123456789Z", "2026-01-15T00:00:00.123000Z", "2026-01-15t00:00:00z"),
    *("2026-01-15T24:00:00Z", "2026-01-15T00:00:60Z", "2026-01-15T00:00:00+05:30"),
    *("2026-01-15T00:00:00+0530", "2026-01-15T00:00:00+05", "2026-01-15T00:00:00+25:00"),
    *("1768435200", "1768435200000", "2026-01-15", "2026-1-5", "20260115", "15.01.2026"),
    *("2026-02-30", " 2026-01-15", "\u0662026-01-15", "0000-01-01", "10000-01-01", "9999-12-31"),
]
OBJECTS = ["{}", '{"a":"b"}', '{"a":1.50}', '{"a":null}', "[]", '{"a":', '["a","b"]', '"{}"']
SPELLINGS = [*AMOUNTS, *WORDS, *TIMES, *OBJECTS]

Door = Callable[[str, Any], Any]
REFUSED = "refused"


def _page(column: str, text: str) -> Any:
    """The value as it is on a page, whose last member is read apart."""
    pairs = "" if column == "key_values" else ',"key_values":{}'
    page = read_page(f'{{"events":[{{"{column}":{text}{pairs}}}]}}'.encode())
    return ArrowRows(wide=True).page(page["events"])[column][0]


def _row(column: str, text: str) -> Any:
    return event_batch([json.loads(f'{{"{column}":{json.dumps(text)}}}')])[column][0]


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
        pq.write_table(pa.table({column: array}), path)
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
LITERALS: dict[str, Door] = {"page": _page, "jsonl": _line}


def value_at(door: Door, column: str, text: Any) -> Any:
    try:
        scalar = door(column, text)
    except (ProtocolError, NotJson):
        return REFUSED
    # Arrow has dates that Python lacks.
    dated = pa.types.is_temporal(scalar.type)
    return str(scalar.cast(pa.string())) if dated else scalar.as_py()


@cache
def table_of(column: str, doors: str) -> dict[str, dict[str, Any]]:
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
def test_every_door_takes_or_refuses_a_text_alike(kind: str, pool: ProcessPoolExecutor) -> None:
    for spelling, values in pool.submit(table_of, COLUMNS[kind], "texts").result().items():
        if not spelling:
            # A cell of CSV that is empty and has no quotes is null.
            assert values.pop("plain csv") in {None, "None"}
        expected = values["row"]
        assert all(value == expected for value in values.values()), (spelling, values)


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_number_of_json_is_taken_as_its_text_is(kind: str, pool: ProcessPoolExecutor) -> None:
    texts = pool.submit(table_of, COLUMNS[kind], "texts").result()
    for spelling, values in pool.submit(table_of, COLUMNS[kind], "literals").result().items():
        assert values["page"] == values["jsonl"], (spelling, values)
        taken = {values["page"], texts[spelling]["row"]} if kind in {"whole", "amount"} else set()
        # JSON allows blanks around a value, and has fewer spellings of a number.
        if spelling == spelling.strip() and spelling != "null":
            assert len(taken - {REFUSED}) <= 1, (spelling, taken)


MOMENT = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "array", "expected"),
    [
        ("text", pa.array([1]), "1"),
        ("text", pa.array([True]), "true"),
        ("text", pa.array([1.5]), REFUSED),
        ("text", pa.array([MOMENT]), REFUSED),
        ("whole", pa.array([7], pa.uint8()), 7),
        ("whole", pa.array([2**63], pa.uint64()), REFUSED),
        ("whole", pa.array([True]), REFUSED),
        ("whole", pa.array([7.0]), REFUSED),
        ("whole", pa.array([Decimal("7.0")]), REFUSED),
        ("whole", pa.array([None], pa.null()), None),
        ("flag", pa.array([1]), REFUSED),
        ("amount", pa.array([3]), Decimal(3)),
        ("amount", pa.array([Decimal("0.12345678900")]), Decimal("0.123456789")),
        ("amount", pa.array([Decimal("0.12345678901")]), REFUSED),
        ("amount", pa.array([Decimal("1e30")]), REFUSED),
        ("time", pa.array([1_768_435_200]), REFUSED),
        ("time", pa.array([MOMENT], pa.timestamp("us")), "2026-01-15 00:00:00.000Z"),
        ("time", pa.array([MOMENT], pa.timestamp("ns", "Asia/Tokyo")), "2026-01-15 00:00:00.000Z"),
        ("time", pa.array([1], pa.timestamp("ns", "UTC")), REFUSED),
        ("time", pa.array([MOMENT.date()]), REFUSED),
        ("date", pa.array([MOMENT.date()], pa.date64()), "2026-01-15"),
        ("date", pa.array([MOMENT]), REFUSED),
        ("pairs", pa.array([[("a", "1")]], pa.map_(pa.string(), pa.string())), [("a", "1")]),
        ("pairs", pa.array([{"a": 1.5}]), REFUSED),
        ("pairs", pa.array([["a"]]), REFUSED),
    ],
)
def test_a_typed_column_of_parquet_is_taken_as_a_page_takes_its_values(
    kind: str, array: Any, expected: Any
) -> None:
    assert value_at(_parquet, COLUMNS[kind], array) == expected


def test_an_hour_that_no_day_has_is_refused(tmp_path: Path) -> None:
    table = EventTables().from_jsonl(b'{"event_date":"2026-01-15","event_hour":24}\n')
    with pytest.raises(ProtocolError, match="event_hour 24, which no day has"):
        HourPartition(tmp_path).add(table)
