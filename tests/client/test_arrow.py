"""Events as tables: one schema whatever comes, and every value exactly or an error."""

from __future__ import annotations

import csv
import io
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from adanalytics_client import Event, _arrow_output, errors
from adanalytics_client._arrow_schema import EVENT_KINDS, arrow_schema

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World

DAY = "2026-01-15"
SCHEMA = arrow_schema(EVENT_KINDS, EVENT_KINDS)


def pages(say: type[Say], *found: list[dict[str, Any]]) -> list[Say]:
    last = len(found) - 1
    return [say({"events": rows, "has_more": at < last}) for at, rows in enumerate(found)]


def table(world: World, **options: Any) -> Any:
    return world.on(world.client.events(DAY, split="none", per_page=2), "to_arrow", **options)


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


def test_all_ways_out_hold_the_same_events(reference_world: World, tmp_path: Path) -> None:
    query = reference_world.client.events("2026-01-15", "2026-01-16", split="daily", per_page=700)
    rows = reference_world.rows("2026-01-15", "2026-01-16", split="daily", per_page=700)
    whole = reference_world.on(query, "to_arrow")
    assert whole.schema.equals(SCHEMA)
    assert [as_sent(row) for row in whole.to_pylist()] == rows
    for name in ("x.jsonl", "x.csv", "x.parquet", "x.arrow"):
        assert reference_world.on(query, "write", tmp_path / name) == len(rows) == 3_000
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert pq.read_table(tmp_path / "x.parquet").equals(whole)
    assert ipc.open_file(tmp_path / "x.arrow").read_all().equals(whole)
    with (tmp_path / "x.csv").open(newline="") as file:
        cells = [list(row.values()) for row in csv.DictReader(file)]
    assert [[cell(each) for each in row.values()] for row in rows] == cells
    frame = reference_world.on(query, "to_pandas")
    assert pa.Table.from_pandas(frame, preserve_index=False).equals(whole)
    polars = reference_world.on(query, "to_polars")
    assert polars["revenue"].sum() == sum(Decimal(row["revenue"]) for row in rows)
    assert polars["cost"].to_list() == whole["cost"].to_pylist()
    assert polars.schema["event_time"] == pl.Datetime("ms", "UTC")
    assert list(polars.columns) == list(Event.model_fields)


def cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)


def test_no_events_have_the_schema_of_any(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(*pages(say, []))
    query = world.client.events(DAY, split="none")
    assert table(world).schema.equals(SCHEMA)
    (batch,) = batches(world)
    assert (batch.num_rows, batch.schema) == (0, SCHEMA)
    for name, read in (("x.parquet", pq.read_table), ("x.arrow", read_arrow)):
        assert world.on(query, "write", tmp_path / name) == 0
        assert read(tmp_path / name).schema.equals(SCHEMA)
    assert world.on(query, "to_pandas").shape == (0, 26)
    assert world.on(query, "to_polars").schema["revenue"] == pl.Decimal(38, 9)


def batches(world: World, **options: Any) -> list[Any]:
    query = world.client.events(DAY, split="none", per_page=2, **options)
    found: list[Any] = world.all_of(query.to_arrow_batches())
    return found


def read_arrow(path: Path) -> Any:
    return ipc.open_file(path).read_all()


def test_unknown_columns_are_text_and_come_behind(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    rows = b'{"new": "a", "revenue": "1"}, {"new": 1.50}, {"new": {"x": [1]}}'
    stand_in.says(say(b'{"events": [%b], "total": 3}' % rows))
    found = table(world)
    assert found.schema.names == [*EVENT_KINDS, "new"]
    assert found["new"].to_pylist() == ["a", "1.50", '{"x":[1]}']


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_that_come_late_are_in_the_whole_file(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setattr(_arrow_output, "ROWS_PER_GROUP", 2)
    found: list[list[dict[str, Any]]]
    found = [[{"event_id": "1"}, {"event_id": "2"}], [{"b": 3}, {"c": "x"}], [{"a": 4}]]
    query = world.client.events(DAY, split="none", per_page=2)
    path = tmp_path / f"x.{form}"
    stand_in.says(*pages(say, *found))
    assert world.on(query, "write", path) == 5
    read = pq.read_table(path) if form == "parquet" else read_arrow(path)
    assert read.schema.names == [*EVENT_KINDS, "b", "c", "a"]
    assert read.select(["event_id", "b", "c", "a"]).to_pylist() == [
        {name: None if name not in row else str(row[name]) for name in ("event_id", "b", "c", "a")}
        for page in found
        for row in page
    ]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    stand_in.says(*pages(say, *found))
    assert table(world).equals(read)
    stand_in.says(*pages(say, *found))
    assert [len(each.schema) for each in batches(world)] == [26, 28, 29]
    stand_in.says(*pages(say, *found))
    with pytest.raises(errors.ProtocolError, match="Column a first appears"):
        world.on(query, "write", io.BytesIO(), format=form)


def test_chosen_columns_fix_the_schema(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(*pages(say, [{"new": 1}, {"revenue": "2"}], [{"late": 3}]))
    found = table(world, columns=["revenue", "new"])
    assert found.schema.equals(arrow_schema(["revenue", "new"], EVENT_KINDS))
    assert found["revenue"].to_pylist() == [None, Decimal(2), None]


def test_a_batch_is_at_most_a_page_and_comes_before_the_rest_is_asked_for(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    rows = [[{"event_id": f"{at}-{each}"} for each in range(2)] for at in range(30)]
    stand_in.says(*pages(say, *rows))
    assert [each.num_rows for each in batches(world, max_events=5)] == [2, 2, 1]
    assert len(stand_in.asked) == 3


def test_a_stream_that_fails_has_no_footer(
    world: World, stand_in: StandIn, say: type[Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_arrow_output, "ROWS_PER_GROUP", 2)
    found = pages(say, *[[{"event_id": "1"}, {"event_id": "2"}]] * 3)
    stand_in.says(*found[:2], say(status=400))
    stream = io.BytesIO()
    query = world.client.events(DAY, split="none", per_page=2)
    with pytest.raises((errors.InvalidRequest, errors.ProtocolError)):
        world.on(query, "write", stream, format="parquet")
    assert not stream.getvalue().endswith(b"PAR1") or len(stream.getvalue()) < 5


@pytest.mark.parametrize(
    ("module", "reading", "extra"),
    [
        ("pyarrow", "to_arrow", "arrow"),
        ("pandas", "to_pandas", "pandas"),
        ("polars", "to_polars", "polars"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    reading: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    stand_in.says(*pages(say, []))
    told = rf"^This needs {module}: python -m pip install 'adanalytics\[{extra}\]'"
    with pytest.raises(errors.ConfigurationError, match=told):
        world.on(world.client.events(DAY, split="none"), reading)
    assert stand_in.asked == []
