"""Parquet files: types as Arrow has them become the same events; needs pyarrow."""

import importlib.util
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from adanalytics_server.loading.load import LoadReport, load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.loading.rows import LoadError
from adanalytics_server.storage.events import LogEvent
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]
Stored = Callable[[], list[LogEvent]]

needs_arrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow, of the extra arrow, is missing"
)


def write(path: Path, columns: dict[str, object]) -> None:
    table = import_module("pyarrow").table(columns)
    import_module("pyarrow.parquet").write_table(table, path)


def load_columns(store: PartnerStore, path: Path, columns: dict[str, Any]) -> LoadReport:
    write(path, columns)
    return load_file(store, path, partner_id="acme", currency="USD", mapping=Mapping.parse())


@needs_arrow
def test_arrow_types_become_the_same_events_as_text(
    store: PartnerStore, tmp_path: Path, load: Load, stored: Stored
) -> None:
    arrow = import_module("pyarrow")
    # 13:03:13.442999999 of one zone, cut; and a time before it without an offset of its own.
    nanoseconds = int(datetime(2019, 11, 24, 13, 3, 13, tzinfo=UTC).timestamp()) * 10**9
    report = load_columns(
        store,
        tmp_path / "day.parquet",
        {
            "event_time": arrow.array(
                [nanoseconds + 442_999_999, nanoseconds + 10**9],
                arrow.timestamp("ns", tz="Europe/Berlin"),
            ),
            "received_at": arrow.array([None, 1_574_607_600_000_000], arrow.timestamp("us")),
            "event_type": arrow.array(["impression", "error"]).dictionary_encode(),
            "supply_tag_id": arrow.array([1, 2**63 - 1], arrow.int64()),
            "campaign_id": arrow.array([None, 7], arrow.int32()),
            "revenue": arrow.array([Decimal("0.002500001"), None], arrow.decimal128(38, 9)),
            "is_filtered": [None, True],
            "key_values": arrow.array(
                [[("b", "1"), ("a", "2")], None], arrow.map_(arrow.string(), arrow.string())
            ),
            "note": ["ignored", None],
        },
    )
    assert (report.rows, report.stored, report.times_without_zone) == (2, 2, 1)
    assert report.ignored_columns == ("note",)
    first, second = stored()
    assert first.event_time == "2019-11-24T13:03:13.442Z"
    assert (first.revenue, first.key_values) == ("0.002500001", {"a": "2", "b": "1"})
    assert (second.event_time, second.received_at) == (
        "2019-11-24T13:03:14.000Z",
        "2019-11-24T15:00:00.000Z",
    )
    assert (second.supply_tag_id, second.campaign_id, second.is_filtered) == (2**63 - 1, 7, True)
    same = (
        "event_time,received_at,event_type,supply_tag_id,campaign_id,revenue,is_filtered,key_values\n"
        '2019-11-24T13:03:13.442Z,,impression,1,,0.002500001,,"{""a"":""2"",""b"":""1""}"\n'
        "2019-11-24T13:03:14Z,2019-11-24T15:00:00Z,error,9223372036854775807,7,,true,\n"
    )
    assert load("day.csv", same).duplicates == 2


@needs_arrow
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "revenue",
            [0.1, None],
            ":1: revenue: expected a decimal number, not a floating-point number",
        ),
        ("campaign_id", [1, None], ""),
        (
            "campaign_id",
            [None, 1.5],
            ":2: campaign_id: expected an integer, not a floating-point number",
        ),
        ("os", ["ios", "iOS"], ":2: os: 'iOS' is not lower case"),
        ("cost", [None, Decimal("1E-10")], ":2: cost: '0.0000000001' has more than 9 digits"),
        ("domain", [None, ["a"]], ":2: domain: expected a string, not an array"),
        ("event_date", [None, date(2019, 11, 25)], ":2: event_date: '2019-11-25' contradicts"),
        ("event_time", [datetime(2019, 11, 24, tzinfo=UTC), None], ":2: event_time: the row has"),
        ("event_type", ["click", None], ":2: event_type: the row has no value"),
    ],
)
def test_a_bad_value_names_its_row(
    store: PartnerStore, tmp_path: Path, column: str, values: list[object], message: str
) -> None:
    columns: dict[str, object] = {
        "event_time": ["2019-11-24T13:00:00Z"] * 2,
        "event_type": ["impression"] * 2,
        "supply_tag_id": [1, 1],
        column: values,
    }
    if not message:
        assert load_columns(store, tmp_path / "day.parquet", columns).stored == 2
        return
    with pytest.raises(LoadError) as caught:
        load_columns(store, tmp_path / "day.parquet", columns)
    assert message in str(caught.value)


@needs_arrow
def test_a_key_of_a_map_that_is_there_twice_names_its_row(
    store: PartnerStore, tmp_path: Path
) -> None:
    arrow = import_module("pyarrow")
    pairs = [[("a", "1")], [("a", "1"), ("b", "1"), ("a", "2")]]
    columns = {
        "event_time": ["2019-11-24T13:00:00Z"] * 2,
        "event_type": ["impression"] * 2,
        "supply_tag_id": [1, 1],
        "key_values": arrow.array(pairs, arrow.map_(arrow.string(), arrow.string())),
    }
    with pytest.raises(LoadError, match=r":2: key_values: more than one value for 'a'"):
        load_columns(store, tmp_path / "day.parquet", columns)


@needs_arrow
@pytest.mark.parametrize("content", [b"", b"PAR1 but no more", b"event_time\n"])
def test_a_file_that_is_no_parquet(load: Load, content: bytes) -> None:
    with pytest.raises(LoadError, match=r"cannot be read as parquet \(.+\); nothing was"):
        load("day.parquet", content)


@needs_arrow
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_time_that_python_cannot_hold(store: PartnerStore, tmp_path: Path, unit: str) -> None:
    arrow = import_module("pyarrow")
    columns = {
        "event_time": arrow.array([10**15], arrow.timestamp(unit, tz="UTC")),
        "event_type": ["click"],
        "supply_tag_id": [1],
    }
    with pytest.raises(LoadError, match=r"day.parquet:1: event_time: '.+' is not an ISO 8601"):
        load_columns(store, tmp_path / "day.parquet", columns)


@needs_arrow
def test_a_column_that_is_missing(store: PartnerStore, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="supply_tag_id: the file has no such column"):
        load_columns(store, tmp_path / "day.parquet", {"event_time": ["a"], "event_type": ["b"]})


def test_without_pyarrow_the_extra_is_named(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LoadError, match=r'pip install "adanalytics\[arrow\]"'):
        load("day.parquet", b"PAR1")


def _odd(arrow: Any) -> dict[str, Any]:
    """Columns with values that Python does not have, or that JSON has not."""
    offsets = arrow.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0]))
    return {
        "no day": arrow.array([2**31 - 1], arrow.int32()).cast(arrow.date32()),
        "no moments": arrow.array([[2**63 - 1]], arrow.list_(arrow.timestamp("us"))),
        "no text": arrow.Array.from_buffers(
            arrow.string(), 1, [None, offsets, arrow.py_buffer(b"\xff")]
        ),
        "lists as keys": arrow.array(
            [[([1], "a")]], arrow.map_(arrow.list_(arrow.int64()), arrow.string())
        ),
        "bytes": arrow.array([b"\xff"], arrow.binary()),
        "nested": arrow.array([[{"a": [1]}]]),
        "duration": arrow.array([2**62], arrow.int64()).cast(arrow.duration("us")),
    }


@needs_arrow
def test_columns_that_are_ignored_may_hold_anything(store: PartnerStore, tmp_path: Path) -> None:
    odd = _odd(import_module("pyarrow"))
    event = {"event_time": ["2026-01-15T00:00:00Z"], "event_type": ["click"], "supply_tag_id": [1]}
    report = load_columns(store, tmp_path / "x.parquet", {**event, **odd})
    assert {*report.ignored_columns} == {*odd}
    for name in ("no day", "no moments", "no text"):
        mapping = Mapping.parse(columns=[f"domain={name}"])
        with pytest.raises(LoadError, match=r"x.parquet:1: domain: .* that cannot be read"):
            load_file(
                store, tmp_path / "x.parquet", partner_id="acme", currency="USD", mapping=mapping
            )
