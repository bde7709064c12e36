"""Events as tables: columns of the fields that come, and every value exactly."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import Client, Event, errors
from adanalytics_client._outputs.arrow import lines
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.tables import event_schema

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


def test_no_events_have_the_schema_of_any(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.says(*pages([]))
    query = variant.client.events(DAY, split="none")
    assert table(variant).schema.equals(SCHEMA)
    (batch,) = batches(variant)
    assert (batch.num_rows, batch.schema) == (0, SCHEMA)
    for name, read in (("x.parquet", pq.read_table), ("x.arrow", read_arrow)):
        assert variant.on(query, "write", tmp_path / name) == 0
        assert read(tmp_path / name).schema.equals(SCHEMA)
    assert variant.on(query, "to_pandas").shape == (0, 26)
    assert variant.on(query, "to_polars").schema["revenue"] == pl.Decimal(18, 9)


def batches(variant: Variant, **options: Any) -> list[Any]:
    query = variant.client.events(DAY, split="none", per_page=5, check="none", **options)
    found: list[Any] = variant.all_of(query.to_arrow_batches())
    return found


def read_arrow(path: Path) -> Any:
    return ipc.open_file(path).read_all()


def test_columns_are_the_fields_in_the_order_of_their_first_appearance(
    variant: Variant, stand_in: StandIn
) -> None:
    rows = b'{"new": "a", "revenue": "1"}, {"late": 3, "new": 1.50}, {"new": {"x": [1]}}'
    stand_in.says(Say(b'{"events": [%b], "total": 3}' % rows))
    whole = table(variant)
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


def test_batches_have_the_columns_so_far(variant: Variant, stand_in: StandIn) -> None:
    found: list[list[dict[str, Any]]]
    found = [[{"event_id": "1"}, {"event_id": "2"}], [{"b": 3}, {"c": "x"}], [{"a": 4}]]
    stand_in.says(*pages(*found))
    names = ["event_id", "b", "c", "a"]
    assert [each.schema.names for each in batches(variant)] == [names[:1], names[:3], names]
    stand_in.says(*pages(*found))
    assert table(variant).to_pylist() == [
        {name: row.get(name) for name in names} for page in found for row in page
    ]


def test_chosen_columns_fix_the_schema(variant: Variant, stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.says(*pages([{"new": 1}, {"revenue": "2"}], [{"late": 3}]))
    whole = table(variant, columns=["revenue", "new", "cost"])
    expected = [SCHEMA.field("revenue"), ("new", pa.int64()), SCHEMA.field("cost")]
    assert whole.schema.equals(pa.schema(expected))
    assert whole["revenue"].to_pylist() == [None, Decimal(2), None]
    assert whole["new"].to_pylist() == [1, None, None]


def test_a_batch_is_at_most_a_page_and_comes_before_the_rest_is_asked_for(
    variant: Variant, stand_in: StandIn
) -> None:
    rows = [[{"event_id": f"{at}-{each}"} for each in range(2)] for at in range(30)]
    stand_in.says(*pages(*rows))
    assert [each.num_rows for each in batches(variant, max_events=5)] == [2, 2, 1]
    assert len(stand_in.asked) == 3


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


def test_values_of_every_type_and_none(variant: Variant, stand_in: StandIn) -> None:
    exact = "12345678901234567890123456789.123456789"
    body = (
        b'{"events": [{"revenue": 0.000000001, "cost": 5, "campaign_id": 7, "country": "12",'
        b' "event_time": "2026-01-15 01:02:03", "received_at": "2026-01-15T01:02:03.1250000+01:00",'
        b' "event_date": "2026-01-15", "is_filtered": false, "key_values": {"a": "1", "b": null}},'
        b' {"revenue": "%b", "cost": "-1E-9", "supply_tag_id": -9223372036854775808,'
        b' "event_id": "\\u00e9", "is_filtered": true}, {}], "total": 3, "has_more": false}'
        % exact.encode()
    )
    stand_in.says(Say(body))
    first, second, third = variant.on(
        variant.client.events(DAY, split="none"), "to_arrow"
    ).to_pylist()
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
    variant: Variant,
    stand_in: StandIn,
    tmp_path: Path,
    name: str,
    value: Any,
    type_: pa.DataType,
    expected: Any,
) -> None:
    # The first and the last event of a page are compared with the day that was asked for.
    events = [{"event_id": "e-1"}, {"event_id": "e-2", name: value}, {"event_id": "e-3"}]
    stand_in.says(*pages(events))
    path = tmp_path / "x.parquet"
    variant.on(variant.client.events(DAY, split="none", check="none"), "write", path)
    read = pq.read_table(path)
    assert read.schema.field(name).type == type_
    assert read[name].to_pylist() == [None, expected, None]


def test_a_column_that_becomes_text_is_named_once(
    variant: Variant, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    # The first page has words where they are usual: nothing of it is worth a warning.
    usual = {"os": "x", "new": "y", "campaign_id": "c-7"}
    stand_in.says(*pages([usual], [{"revenue": "1", "late": 2}], [{"late": "z"}], [{"late": 1}]))
    whole = table(variant)
    assert whole["late"].to_pylist() == [None, "2", "z", "1"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "late has values without a common type, so its column is text."
    ]


def test_texts_of_one_form_that_is_not_known_are_said_to_be_so(
    variant: Variant, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"event_time": f"15 Jan 2026, {hour} o'clock", "revenue": "$1.50"} for hour in (3, 4)]
    stand_in.says(*pages(rows, [{"revenue": "2.5"}]))
    assert table(variant)["revenue"].to_pylist() == ["$1.50", "$1.50", "2.5"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        f"{name} has texts in a form that is not known, so its column is text."
        for name in ("event_time", "revenue")
    ]


def test_money_is_wide_from_the_first_amount_that_needs_it(
    variant: Variant, stand_in: StandIn
) -> None:
    amounts = [("1.5", "2"), (LARGE,), ("-3",)]
    found = [[{"event_id": each, "revenue": each} for each in page] for page in amounts]
    stand_in.says(*pages(*found))
    types = [each.schema.field("revenue").type for each in batches(variant)]
    assert types == [NARROW, WIDE, WIDE]
    stand_in.says(*pages(*found))
    whole = table(variant)
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
