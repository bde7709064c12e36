"""Arrow tables: every value exactly, by one rule for each kind of column, whichever way."""

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.bench import Bench
from tests.client.raw_events import event_batch, jsonl_batch, raw_rows
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import Client, Event, ProtocolError, errors
from adanalytics_client._json.exact import NotJson, parse, parse_text
from adanalytics_client._json.raw import read_page
from adanalytics_client._outputs.arrow import batches as batches_module
from adanalytics_client._outputs.arrow import lines
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.sort import HourPartition
from adanalytics_client.tables import event_schema, summary_table

DAY = "2026-01-15"
LARGE = "1000000000.5"
NARROW, WIDE = pa.decimal128(18, 9), pa.decimal128(38, 9)
SCHEMA = pa.schema(
    field.with_type(pa.decimal128(18, 9)) if pa.types.is_decimal(field.type) else field
    for field in event_schema()
)


def pages(*found: list[dict[str, Any]]) -> list[Say]:
    last, total = len(found) - 1, sum(map(len, found))
    return [
        Say({"events": rows, "total": total, "has_more": at < last})
        for at, rows in enumerate(found)
    ]


def table(variant: Variant, **options: Any) -> Any:
    query = variant.client.events(DAY, split="none", per_page=5, check="none")
    return variant.on(query, "to_arrow", **options)


def as_sent(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table in the service's own spelling."""
    time = {name: row[name] for name in ("event_time", "received_at")}
    return {
        **row,
        **{
            name: f"{each:%Y-%m-%dT%H:%M:%S}.{each.microsecond // 1000:03}Z"
            for name, each in time.items()
        },
        "event_date": str(row["event_date"]),
        "revenue": format(row["revenue"], "f"),
        "cost": None if row["cost"] is None else format(row["cost"], "f"),
        "key_values": dict(row["key_values"]),
    }


def test_all_ways_out_hold_the_same_events(reference_variant: Variant, tmp_path: Path) -> None:
    query = reference_variant.client.events("2026-01-15", "2026-01-16", split="daily", per_page=700)
    rows = reference_variant.rows("2026-01-15", "2026-01-16", split="daily", per_page=700)
    whole = reference_variant.on(query, "to_arrow")
    assert whole.schema.equals(SCHEMA)
    assert [as_sent(row) for row in whole.to_pylist()] == rows
    for name in ("x.jsonl", "x.csv", "x.parquet", "x.arrow"):
        assert reference_variant.on(query, "write", tmp_path / name) == len(rows) == 3_000
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert pq.read_table(tmp_path / "x.parquet").equals(whole)
    assert ipc.open_file(tmp_path / "x.arrow").read_all().equals(whole)
    with (tmp_path / "x.csv").open(newline="") as file:
        cells = [list(row.values()) for row in csv.DictReader(file)]
    assert [[cell(each) for each in row.values()] for row in rows] == cells
    frame = reference_variant.on(query, "to_pandas")
    texts = frame.pop("key_values")
    assert [json.loads(each) for each in texts] == [row["key_values"] for row in rows]
    frame_columns = pa.Table.from_pandas(frame, preserve_index=False)
    assert frame_columns.equals(whole.drop_columns(["key_values"]))
    polars = reference_variant.on(query, "to_polars")
    assert polars["revenue"].sum() == sum(Decimal(row["revenue"]) for row in rows)
    assert polars["cost"].to_list() == whole["cost"].to_pylist()
    assert polars.schema["event_time"] == pl.Datetime("ms", "UTC")
    assert list(polars.columns) == list(Event.model_fields)


def cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)


def test_no_events_have_the_schema_of_any(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages([]))
    query = bench.client.events(DAY, split="none")
    assert table(bench.variant).schema.equals(SCHEMA)
    (batch,) = batches(bench.variant)
    assert (batch.num_rows, batch.schema) == (0, SCHEMA)
    for name, read in (("x.parquet", pq.read_table), ("x.arrow", read_arrow)):
        assert bench.on(query, "write", tmp_path / name) == 0
        assert read(tmp_path / name).schema.equals(SCHEMA)
    assert bench.on(query, "to_pandas").shape == (0, 26)
    assert bench.on(query, "to_polars").schema["revenue"] == pl.Decimal(18, 9)


def batches(variant: Variant, **options: Any) -> list[Any]:
    query = variant.client.events(DAY, split="none", per_page=5, check="none", **options)
    found: list[Any] = variant.all_of(query.to_arrow_batches())
    return found


def read_arrow(path: Path) -> Any:
    return ipc.open_file(path).read_all()


def test_columns_are_the_fields_in_the_order_of_their_first_appearance(bench: Bench) -> None:
    rows = b'{"new": "a", "revenue": "1"}, {"late": 3, "new": 1.50}, {"new": {"x": [1]}}'
    bench.says(Say(b'{"events": [%b], "total": 3}' % rows))
    whole = table(bench.variant)
    assert whole.schema.names == ["new", "revenue", "late"]
    assert whole["new"].to_pylist() == ["a", "1.50", '{"x":[1]}']
    assert whole["late"].to_pylist() == [None, 3, None]


# Larger than pages that the service would send: two of them are more than a row group.
LARGE_PAGE = 40_000


def large_page(**event: str) -> list[dict[str, Any]]:
    return [{**event, "key_values": {}}] * LARGE_PAGE


def write_large(stand_in: StandIn, to: Any, **options: Any) -> int:
    with Client(stand_in.url, api_key="k", partner="acme") as client:
        return client.events(DAY, split="none", check="none").write(to, **options)


@pytest.fixture
def late(stand_in: StandIn) -> None:
    """Two new columns and an amount of more digits come after the first group."""
    rows: list[dict[str, Any]] = [{"b": 3, "revenue": LARGE}, {"c": "x"}]
    found = large_page(os="x", revenue="1.5"), large_page(os="y", revenue="2"), rows
    stand_in.says(*pages(*found))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_late_columns_and_larger_amounts_are_in_the_whole_file(
    stand_in: StandIn, late: None, tmp_path: Path, form: str
) -> None:
    path = tmp_path / f"x.{form}"
    assert write_large(stand_in, path) == 2 * LARGE_PAGE + 2
    read = pq.read_table(path) if form == "parquet" else read_arrow(path)
    assert read.schema.equals(
        pa.schema(
            [
                ("os", pa.string()),
                ("revenue", WIDE),
                ("key_values", read.schema.field("key_values").type),
                ("b", pa.int64()),
                ("c", pa.string()),
            ]
        )
    )
    last = read.select(["os", "revenue", "b", "c"]).slice(2 * LARGE_PAGE - 1).to_pylist()
    assert [[*row.values()] for row in last] == [
        ["y", Decimal(2), None, None],
        [None, Decimal(LARGE), 3, None],
        [None, None, None, "x"],
    ]
    assert set(read["os"].unique().to_pylist()) == {"x", "y", None}
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_stream_cannot_take_late_columns(stand_in: StandIn, late: None) -> None:
    wanted = "^Column revenue, b, c first appears, or needs another type"
    with pytest.raises(errors.ProtocolError, match=wanted):
        write_large(stand_in, io.BytesIO(), format="parquet")


def test_batches_have_the_columns_so_far(bench: Bench) -> None:
    found: list[list[dict[str, Any]]]
    found = [[{"event_id": "1"}, {"event_id": "2"}], [{"b": 3}, {"c": "x"}], [{"a": 4}]]
    bench.says(*pages(*found))
    names = ["event_id", "b", "c", "a"]
    assert [each.schema.names for each in batches(bench.variant)] == [names[:1], names[:3], names]
    bench.says(*pages(*found))
    assert table(bench.variant).to_pylist() == [
        {name: row.get(name) for name in names} for page in found for row in page
    ]


def test_chosen_columns_fix_the_schema(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages([{"new": 1}, {"revenue": "2"}], [{"late": 3}]))
    whole = table(bench.variant, columns=["revenue", "new", "cost"])
    expected = [SCHEMA.field("revenue"), ("new", pa.int64()), SCHEMA.field("cost")]
    assert whole.schema.equals(pa.schema(expected))
    assert whole["revenue"].to_pylist() == [None, Decimal(2), None]
    assert whole["new"].to_pylist() == [1, None, None]


def test_a_batch_is_at_most_a_page_and_comes_before_the_rest_is_asked_for(bench: Bench) -> None:
    rows = [[{"event_id": f"{at}-{each}"} for each in range(2)] for at in range(30)]
    bench.says(*pages(*rows))
    assert [each.num_rows for each in batches(bench.variant, max_events=5)] == [2, 2, 1]
    assert len(bench.asked) == 3


def test_a_stream_that_fails_has_no_footer(stand_in: StandIn) -> None:
    found = pages(large_page(os="x"), large_page(os="y"), [])
    stand_in.says(*found[:2], Say(status=400))
    stream = io.BytesIO()
    with pytest.raises(errors.InvalidRequest):
        write_large(stand_in, stream, format="parquet")
    assert len(stream.getvalue()) > 5
    assert not stream.getvalue().endswith(b"PAR1")


def test_a_missing_library_is_named_with_its_extra() -> None:
    code = """
import asyncio, sys
sys.modules.update(dict.fromkeys(["pyarrow", "pandas", "polars"]))
from adanalytics_client import AsyncClient, Client, ConfigurationError, tables
query = Client("http://localhost:9", api_key="k", partner="p").events("2026-01-15")
waiting = AsyncClient("http://localhost:9", api_key="k", partner="p").events("2026-01-15")
for module, extra, make in (
    ("pyarrow", "arrow", query.to_arrow),
    ("pyarrow", "arrow", lambda: asyncio.run(waiting.to_arrow())),
    ("pyarrow", "arrow", lambda: query.write("x.parquet")),
    ("pyarrow", "arrow", tables.event_schema),
    ("pandas", "pandas", query.to_pandas),
    ("polars", "polars", query.to_polars),
):
    try:
        make()
    except ConfigurationError as error:
        expected = f"This needs {module}. Install it: python -m pip install 'adanalytics[{extra}]'"
        assert str(error).startswith(expected), error
    else:
        sys.exit(f"{make} ended")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pages_are_cut_at_their_commas(
    reference_variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other ways to read them take several times as long, and are for odd values only."""

    def refused(*_: object, **_options: object) -> None:
        pytest.fail("A page was parsed, or read value by value.")

    monkeypatch.setattr(lines, "_parse", refused)
    monkeypatch.setattr(ArrowRows, "batch", refused)
    query = reference_variant.client.events("2026-01-15", split="daily", per_page=700)
    assert reference_variant.on(query, "to_arrow").num_rows == 1_500
    some = reference_variant.on(query, "to_arrow", columns=["cost", "event_id"])
    assert some.column_names == ["cost", "event_id"]


def test_values_of_every_type_and_none(bench: Bench) -> None:
    exact = "12345678901234567890123456789.123456789"
    body = (
        b'{"events": [{"revenue": 0.000000001, "cost": 5, "campaign_id": 7, "country": "12",'
        b' "event_time": "2026-01-15 01:02:03", "received_at": "2026-01-15T01:02:03.1250000+01:00",'
        b' "event_date": "2026-01-15", "is_filtered": false, "key_values": {"a": "1", "b": null}},'
        b' {"revenue": "%b", "cost": "-1E-9", "supply_tag_id": -9223372036854775808,'
        b' "event_id": "\\u00e9", "is_filtered": true}, {}], "total": 3, "has_more": false}'
        % exact.encode()
    )
    bench.says(Say(body))
    first, second, third = bench.on(bench.client.events(DAY, split="none"), "to_arrow").to_pylist()
    assert {name: value for name, value in first.items() if value is not None} == {
        "revenue": Decimal("0.000000001"),
        "cost": Decimal(5),
        "campaign_id": 7,
        "country": "12",
        "event_time": datetime(2026, 1, 15, 1, 2, 3, tzinfo=UTC),
        "received_at": datetime(2026, 1, 15, 0, 2, 3, 125_000, tzinfo=UTC),
        "event_date": date(2026, 1, 15),
        "is_filtered": False,
        "key_values": [("a", "1"), ("b", None)],
    }
    assert (second["revenue"], second["cost"]) == (Decimal(exact), Decimal("-1E-9"))
    assert (second["supply_tag_id"], second["event_id"]) == (-(2**63), "é")
    assert set(third.values()) == {None}


TEN, WHOLE, MS = pa.decimal128(38, 10), pa.decimal128(38, 0), pa.timestamp("ms", "UTC")


@pytest.mark.parametrize(
    ("name", "value", "type_", "expected"),
    [
        ("revenue", "0.0000944916", TEN, Decimal("0.0000944916")),
        ("revenue", 0.0000944916, TEN, Decimal("0.0000944916")),
        ("revenue", "0.30000000000000004", pa.decimal128(38, 17), Decimal("0.30000000000000004")),
        ("revenue", "1e-1000", pa.string(), "1e-1000"),
        ("revenue", "1e99999999999", pa.string(), "1e99999999999"),
        ("revenue", "1_000", pa.string(), "1_000"),
        ("revenue", " 1", pa.string(), " 1"),
        ("cost", "1" + "0" * 29, pa.string(), "1" + "0" * 29),
        ("cost", "NaN", pa.string(), "NaN"),
        ("cost", True, pa.bool_(), True),
        ("campaign_id", 2**63, WHOLE, Decimal(2**63)),
        ("campaign_id", int("9" * 39), pa.string(), "9" * 39),
        ("campaign_id", 1.5, NARROW, Decimal("1.5")),
        ("campaign_id", "01", pa.string(), "01"),
        ("event_hour", True, pa.bool_(), True),
        (
            "event_time",
            "2026-01-15T00:00:00.0001Z",
            pa.timestamp("us", "UTC"),
            datetime(2026, 1, 15, 0, 0, 0, 100, UTC),
        ),
        ("received_at", 1_700_000_000, MS, datetime.fromtimestamp(1_700_000_000, UTC)),
        ("received_at", 1_700_000_000_000, MS, datetime.fromtimestamp(1_700_000_000, UTC)),
        ("event_date", "2026-02-30", pa.string(), "2026-02-30"),
        ("is_filtered", 1, pa.bool_(), True),
        ("is_filtered", 2, pa.int64(), 2),
        ("key_values", "x", pa.string(), "x"),
        ("key_values", [1], pa.string(), "[1]"),
        ("new", {"a": [1, None]}, pa.string(), '{"a":[1,null]}'),
    ],
)
def test_a_value_that_the_usual_type_lacks_has_another(
    bench: Bench, tmp_path: Path, name: str, value: Any, type_: pa.DataType, expected: Any
) -> None:
    # The first and the last event of a page are compared with the day that was asked for.
    events = [{"event_id": "e-1"}, {"event_id": "e-2", name: value}, {"event_id": "e-3"}]
    bench.says(*pages(events))
    path = tmp_path / "x.parquet"
    bench.on(bench.client.events(DAY, split="none", check="none"), "write", path)
    read = pq.read_table(path)
    assert read.schema.field(name).type == type_
    assert read[name].to_pylist() == [None, expected, None]


def test_a_column_that_becomes_text_is_named_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    # The first page has words where they are usual: nothing of it is worth a warning.
    usual = {"os": "x", "new": "y", "campaign_id": "c-7"}
    bench.says(*pages([usual], [{"revenue": "1", "late": 2}], [{"late": "z"}], [{"late": 1}]))
    whole = table(bench.variant)
    assert whole["late"].to_pylist() == [None, "2", "z", "1"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "late has values without a common type, so its column is text."
    ]


def test_texts_of_one_form_that_is_not_known_are_said_to_be_so(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"event_time": f"15 Jan 2026, {hour} o'clock", "revenue": "$1.50"} for hour in (3, 4)]
    bench.says(*pages(rows, [{"revenue": "2.5"}]))
    assert table(bench.variant)["revenue"].to_pylist() == ["$1.50", "$1.50", "2.5"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        f"{name} has texts in a form that is not known, so its column is text."
        for name in ("event_time", "revenue")
    ]


def test_money_is_wide_from_the_first_amount_that_needs_it(bench: Bench) -> None:
    amounts = [("1.5", "2"), (LARGE,), ("-3",)]
    found = [[{"event_id": each, "revenue": each} for each in page] for page in amounts]
    bench.says(*pages(*found))
    types = [each.schema.field("revenue").type for each in batches(bench.variant)]
    assert types == [NARROW, WIDE, WIDE]
    bench.says(*pages(*found))
    whole = table(bench.variant)
    assert whole.schema.field("revenue").type == WIDE
    assert whole["revenue"].to_pylist() == [*map(Decimal, ("1.5", "2", LARGE, "-3"))]


@pytest.mark.filterwarnings("ignore:The default formatting of datetime")
def test_what_is_done_with_money_in_pandas(reference_variant: Variant) -> None:
    frame = reference_variant.on(reference_variant.client.events(DAY), "to_pandas")
    money = frame[["revenue", "cost"]].fillna(Decimal(0))
    revenue, cost = money["revenue"], money["cost"]
    exact = [*map(Decimal, revenue)]
    assert [*(revenue - cost)] == [one - other for one, other in zip(exact, cost, strict=True)]
    assert [*(revenue + cost)] == [one + other for one, other in zip(exact, cost, strict=True)]
    assert [*(revenue * 2)] == [2 * each for each in exact]
    assert [*(revenue * Decimal("0.9"))] == [each * Decimal("0.9") for each in exact]
    assert (revenue.sum(), revenue.max()) == (sum(exact), max(exact))
    assert frame.groupby("campaign_id")["revenue"].sum().sum() <= revenue.sum()
    assert len(money.drop_duplicates()) == len({*zip(exact, cost, strict=True)})
    # pandas before 3 writes an amount as a float and a date as milliseconds, and
    # its sums of a group stay narrow.
    old = pd.__version__ < "3"
    written = float(exact[0]) if old else f"{exact[0]:f}"
    assert json.loads(money.to_json(orient="records"))[0]["revenue"] == written
    # These pandas cannot do with exact amounts; the how-to names them, and the way around.
    sums = frame.groupby("os")[["revenue", "cost"]].sum()
    impossible: list[Callable[[], object]] = [
        revenue.describe,
        revenue.cumsum,
        lambda: revenue * 2 - cost,
        lambda: (revenue - cost) * 2,
    ]
    if not old:
        impossible += [
            frame.to_json,
            lambda: sums["revenue"] - sums["cost"],
            lambda: sums["revenue"] * 2,
        ]
    for work in impossible:
        with pytest.raises((TypeError, NotImplementedError, pa.ArrowException)):
            work()
    amount = pd.ArrowDtype(NARROW)
    narrow, free, plain = sums.astype(amount), sums.astype(object), money.astype(object)
    difference = free["revenue"] - free["cost"]
    assert [*(narrow["revenue"] - narrow["cost"])] == [*difference]
    assert [*(narrow["revenue"] * 2)] == [*(free["revenue"] * 2)]
    twice = [*((plain["revenue"] - plain["cost"]) * 2)]
    assert [*((revenue - cost).astype(amount) * 2)] == twice
    assert [*((revenue * 2).astype(amount) - cost)] == [*(plain["revenue"] * 2 - plain["cost"])]
    stated = json.loads(frame.to_json(date_format="iso", orient="records"))
    assert stated[0]["event_date"].startswith(DAY)
    assert frame.drop(columns="event_date").to_json(date_format="iso")
    assert revenue.astype(float).describe()["count"] == len(revenue)
    assert sum(revenue.astype(object).cumsum().tail(1)) == sum(exact)
    assert len(frame.drop_duplicates()) == len(frame)
    assert isinstance(frame, pd.DataFrame)


SIMPLE = {
    "event_id": "e-1",
    "event_time": "2026-01-15T00:00:00.213Z",
    "event_hour": 3,
    "revenue": "0.004500000",
    "is_filtered": False,
    "country": None,
    "key_values": {},
}
VALUES = [
    *("0", "2", "-1", "1e-1000", "1E+30", "0.30000000000000004", "9223372036854775807"),
    *("9223372036854775808", "1" * 38, "1" * 39, '"0"', '"NaN"', '"007"', '"1.50"', "1768435200"),
    *("1768435200000", "1768435200.25", '"1768435200"', '"2026-01-15"', '"2026-02-30"', "[]"),
    *('"2026-01-15 00:00:00"', '"2026-01-15T00:00:00.123456789Z"', '"null"', '"{}"', "2026011513"),
    *('"x"', "7", '"7"', "1.5", "0.25", "null", "true", '"2026-01-15T01:00:00+01:00"'),
    *('"1e-1000"', '"1E-9"', '"12345678901.5"', '".5"'),
    *('"\\ud83d\\ude00"', '{"a":"b"}', '{"a":null}', '{"a":1.50}', "{}"),
    '",\\"key_values\\":{"',
]
SOME = ["key_values", "revenue", "event_id", "os"]
NAMES = [*SIMPLE, "cost", "new", "event_date", "campaign_id"]
ODD = st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(ODD, max_size=2), min_size=1, max_size=4), behind=st.booleans())
def test_a_batch_read_from_text_is_the_one_made_of_values(
    rows: list[list[tuple[str, str]]], behind: bool
) -> None:
    """Names that come twice, other types, other orders: the same batch, or no batch."""
    simple = json.dumps(SIMPLE, separators=(",", ":"))[1:-1]
    texts = []
    for row in rows:
        odd = "".join(f',"{name}":{value}' for name, value in row)
        texts.append(f"{{{simple}{odd}}}" if behind else f'{{"os":"a"{odd},{simple}}}')
    events = raw_rows(map(str.encode, texts))
    for columns in (None, SOME):
        read = outcome(lambda: jsonl_batch(events.jsonl(), columns))  # noqa: B023  # called at once
        assert read == outcome(lambda: event_batch(events.rows(), columns))  # noqa: B023


# Commas and names inside of values, which a page is cut at.
INNER = [
    *('"a,b"', '",x"', '"x,"', '","', "[1,2]", '["a","cost"]', '{"a":1,"cost":5}', '"[{"', '"}"'),
    *('[{"a":"b","cost":"5"}]', '{"cost":"5"}', '"\\",\\"cost\\":5"', '"\u00e9"', '" x "', '""'),
    *("5.0", "-0", "-0.0", "1E2", "1e400", "1" * 19, "-9223372036854775808", "false", '"null}"'),
]


@settings(max_examples=120, deadline=None)
@given(
    names=st.lists(st.sampled_from([*NAMES, "a b"]), min_size=1, max_size=4),
    rows=st.lists(
        st.lists(st.sampled_from([*VALUES, *INNER]), min_size=4, max_size=4), min_size=1, max_size=5
    ),
    repeated=st.booleans(),
    comma=st.sampled_from([",", ", ", " ,"]),
    colon=st.sampled_from([":", ": "]),
    last=st.sampled_from(["", '"key_values":{}', '"key_values": {"a":"1","cost":"5"} ']),
)
def test_events_with_the_same_members_in_the_same_order(
    names: list[str], rows: list[list[str]], repeated: bool, comma: str, colon: str, last: str
) -> None:
    """They are cut at their commas, but none that has other commas, other values or other names."""
    texts = []
    for values in rows * 25 if repeated else rows:
        members = [f'"{name}"{colon}{value}' for name, value in zip(names, values, strict=False)]
        texts.append("{" + comma.join([*members, *([last] if last else [])]) + "}")
    events = raw_rows(map(str.encode, texts))
    for columns in (None, SOME, ["cost"]):
        read = outcome(lambda: jsonl_batch(events.jsonl(), columns))  # noqa: B023  # called at once
        assert read == outcome(lambda: event_batch(events.rows(), columns))  # noqa: B023


PAGES = st.lists(st.lists(st.lists(ODD, max_size=3), min_size=1, max_size=4), max_size=3)


@settings(max_examples=80, deadline=None)
@given(pages=PAGES, wide=st.booleans(), same=st.none() | st.sampled_from(NAMES))
def test_pages_read_from_text_are_those_made_of_values(
    pages: list[list[list[tuple[str, str]]]], wide: bool, same: str | None
) -> None:
    """The types that one page tells are those that the next begins with, and none is too narrow."""
    read, made, whole = (ArrowRows(wide=wide) for _ in range(3))
    batches, others, every = [], [], []
    with pytest.MonkeyPatch.context() as patch:
        # Most of a page comes as a surprise.
        patch.setattr(batches_module, "_FIRST_EVENTS", 1)
        for page in pages:
            lines = [line_of({same or name: value for name, value in row}) for row in page]
            batches.append(read.jsonl(b"".join(lines)))
            rows = [*map(parse, lines)]
            others.append(made.batch(rows))
            every += rows
    table = read.table(batches)
    assert read.types == made.types
    assert (table.schema, texts_of(table)) == (made.schema, texts_of(made.table(others)))
    whole.batch(every)
    assert whole.types == read.types


def line_of(row: dict[str, str]) -> bytes:
    members = ",".join(f'"{name}":{value}' for name, value in row.items())
    return f"{{{members}}}\n".encode()


def texts_of(table: pa.Table) -> list[list[Any]]:
    """The values; Arrow has times that Python lacks."""
    return [
        (column.cast(pa.string()) if pa.types.is_temporal(column.type) else column).to_pylist()
        for column in table.columns
    ]


def outcome(make: Callable[[], pa.RecordBatch]) -> tuple[Any, ...]:
    try:
        batch = make()
    except errors.ProtocolError as error:
        return (error.message,)
    return batch.schema, batch.to_pylist()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"event_id":', "^An event is not JSON: "),
        (b"[1]", "^An event is not one JSON object"),
        (b'{"event_id":"a"},{"event_id":"b"}', "^An event is not JSON: "),
        (rb'{"event_id":"\ud800"}', "^An event is not JSON: it holds a lone surrogate escape"),
        (b'{"event_id":%b' % (b"[" * 100_000), "^An event is not JSON: "),
    ],
)
def test_a_line_that_is_no_event_is_told(line: bytes, message: str) -> None:
    with pytest.raises(errors.ProtocolError, match=message):
        jsonl_batch(b'{"event_id":"b","key_values":{}}\n' + line + b"\n")


def test_a_byte_order_mark_is_no_part_of_a_line() -> None:
    assert jsonl_batch(b'\xef\xbb\xbf{"event_id":"b"}\n')["event_id"].to_pylist() == ["b"]


def test_no_lines_are_a_batch_of_the_schema() -> None:
    assert jsonl_batch(b"").schema == event_schema()
    assert jsonl_batch(b"", ["cost"]).schema.names == ["cost"]


def test_text_is_read_without_pandas() -> None:
    line = json.dumps(SIMPLE | {"key_values": {"a": "b"}}, separators=(",", ":"))
    code = (
        "import sys; from adanalytics_client._outputs.arrow.batches import ArrowRows;"
        "ArrowRows(wide=True).jsonl(sys.argv[1].encode() + bytes([10]));"
        "ArrowRows(wide=True).jsonl(b'');"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, line], check=True)


def test_an_exponent_neither_ends_the_process_nor_becomes_zero() -> None:
    """Arrow's own cast of the first one is a segmentation fault."""
    code = """
import json, sys
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.tables import summary_table
for amount in sys.argv[1:]:
    row = {"event_id": "e-1", "revenue": amount, "key_values": {}}
    line = json.dumps(row, separators=(",", ":")).encode() + bytes([10])
    events = ArrowRows(wide=True)
    for batch in (events.jsonl(line), events.batch([row]), summary_table([row])):
        assert batch["revenue"].to_pylist() == [amount]
"""
    amounts = ["0.1e-99999999", "1e-999999999", "1e-1000", "1e999999999"]
    subprocess.run([sys.executable, "-c", code, *amounts], check=True)


@pytest.mark.parametrize(
    ("amount", "exact"),
    [
        ("0e-99999999", "0"),
        ("-0.000", "0"),
        ("1.50000000000000000", "1.5"),
        ("1E-9", "0.000000001"),
        ("+5", "5"),
        ("00012", "12"),
        ("999999999.999999999", "999999999.999999999"),
    ],
)
def test_amounts_of_any_spelling_are_exact(amount: str, exact: str) -> None:
    row = {"revenue": amount, "key_values": {}}
    line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
    for batch in (event_batch([row]), jsonl_batch(line)):
        assert batch["revenue"].to_pylist() == [Decimal(exact)]
    assert str(summary_table([row]).schema.field("revenue").type) == "decimal128(18, 9)"


def test_stored_batches_have_one_type_for_usual_amounts() -> None:
    """So that files which are written on different days can be read as one."""
    assert event_schema().field("revenue").type == pa.decimal128(38, 9)
    for amount in ("1.5", "1000000000.5"):
        batch = event_batch([{"revenue": amount, "event_hour": 3}])
        assert batch.schema.equals(pa.schema(map(event_schema().field, ["revenue", "event_hour"])))


def test_a_summary_has_columns_of_its_own_fields() -> None:
    table = summary_table([{"date": "2026-01-15", "impressions": 3, "new": 1.5}, {"ecpm": "0.1"}])
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("date", "date32[day]"),
        ("impressions", "int64"),
        ("new", "decimal128(18, 9)"),
        ("ecpm", "decimal128(18, 9)"),
    ]
    assert "ecpm" in summary_table([]).schema.names


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


WIDE_MONEY, NINE, MILLIS = "decimal128(38, 0)", "decimal128(38, 9)", "timestamp[ms, tz=UTC]"
MIDNIGHT = "2026-01-15 00:00:00.000Z"


@pytest.mark.parametrize(
    ("kind", "array", "type_", "value"),
    [
        ("text", pa.array([1]), "int64", 1),
        ("text", pa.array([True]), "bool", True),
        ("text", pa.array([1.5]), NINE, Decimal("1.5")),
        ("text", pa.array([MOMENT]), MILLIS, MIDNIGHT),
        ("whole", pa.array([7], pa.uint8()), "int64", 7),
        ("whole", pa.array([2**63], pa.uint64()), WIDE_MONEY, Decimal(2**63)),
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
        ("amount", pa.array([Decimal("1e30")]), WIDE_MONEY, Decimal("1e30")),
        ("amount", pa.array([Decimal("1.5")], pa.decimal256(50, 3)), NINE, Decimal("1.5")),
        (
            "unknown",
            pa.array([Decimal("9" * 44 + ".5")], pa.decimal256(50, 3)),
            "string",
            "9" * 44 + ".5",
        ),
        ("time", pa.array([1_768_435_200]), MILLIS, MIDNIGHT),
        ("time", pa.array([1_768_435_200_000.0]), MILLIS, MIDNIGHT),
        ("time", pa.array([MOMENT], pa.timestamp("us")), MILLIS, MIDNIGHT),
        ("time", pa.array([MOMENT], pa.timestamp("ns", "Asia/Tokyo")), MILLIS, MIDNIGHT),
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
        ("date", pa.array([MOMENT]), MILLIS, MIDNIGHT),
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
