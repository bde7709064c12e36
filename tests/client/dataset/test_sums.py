"""Totals of Arrow tables of any vocabulary, exact to the last digit."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from adanalytics_client._json.fields import FieldNames
from adanalytics_client.dataset.hours import sums
from adanalytics_client.dataset.hours.sums import totals_of
from adanalytics_client.dataset.hours.totals import OTHER, Figure, Range, Totals
from adanalytics_client.tables import event_schema

TWO_LESS_A_BIT = Decimal("1." + "9" * 37 + "8")


def of(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([*rows])


def test_events_are_counted_by_type_without_the_filtered() -> None:
    table = of(
        {"event_type": "impression", "is_filtered": False, "revenue": Decimal("1.5"), "n": 2},
        {"event_type": "impression", "is_filtered": True, "revenue": Decimal("9.9"), "n": 4},
        {"event_type": "view", "is_filtered": None, "revenue": None, "n": 8},
        {"event_type": None, "is_filtered": False, "revenue": Decimal("0.5"), "n": None},
    )
    expected = Totals(
        3, {"impressions": 1, OTHER: 1}, {"revenue": Decimal(2), "n": 10}, 1, {"n": (2, 8)}
    )
    totals = totals_of(table)
    assert totals == expected
    filtered = Totals(1, {"impressions": 1}, {"revenue": Decimal("9.9"), "n": 4}, 0, {"n": (4, 4)})
    assert totals.filtered == filtered
    assert Totals.sum([totals, totals]) == Totals.sum([expected, expected])
    both = Totals.sum([totals, Totals(), totals])
    assert both
    assert both.filtered == Totals.sum([filtered, filtered])


def test_other_spellings_and_mapped_names_have_their_parts() -> None:
    table = of({"eventType": "FIRST_QUARTILE", "isFiltered": False}, {"eventType": "click"})
    assert totals_of(table) == Totals(2, {"first_quartiles": 1, "clicks": 1}, {}, 1)
    mapped = of({"kind": "click", "bot": False})
    names = FieldNames({"event_type": "kind", "is_filtered": "bot"})
    assert totals_of(mapped, names) == Totals(1, {"clicks": 1}, {}, 0)


def test_counters_are_added_up_without_any_documented_field() -> None:
    table = of(
        {"ymdh": "2026-01-15T13:00:00", "clicks": 1, "cpm": Decimal("0.0000944916")},
        {"ymdh": "2026-01-15T13:00:00", "clicks": 0, "cpm": Decimal("0.0000000001")},
    )
    sums: dict[str, Figure | None] = {"clicks": 1, "cpm": Decimal("0.0000944917")}
    ranges: dict[str, Range] = {
        "clicks": (0, 1),
        "cpm": (Decimal("0.0000000001"), Decimal("0.0000944916")),
    }
    assert totals_of(table) == Totals(2, {}, sums, 2, ranges)


def test_the_documented_columns_have_two_sums() -> None:
    empty = totals_of(event_schema().empty_table())
    assert empty == Totals(sums={"revenue": Decimal(0), "cost": Decimal(0)})


@pytest.mark.parametrize(
    ("column", "total"),
    [
        (pa.array([2**62] * 4, pa.int64()), 2**64),
        (pa.array([-(2**63)] * 3, pa.int64()), -3 * 2**63),
        (pa.array([2**64 - 1] * 3, pa.uint64()), 3 * (2**64 - 1)),
        (pa.array([Decimal("9" * 38)] * 4, pa.decimal128(38, 0)), Decimal("3" + "9" * 37 + "6")),
        (pa.array([Decimal("0." + "9" * 38)] * 2, pa.decimal128(38, 38)), TWO_LESS_A_BIT),
        (pa.array([1, None, 2], pa.int8()), 3),
        (pa.array([None], pa.int64()), 0),
        (pa.array([None], pa.string()), 0),
        (pa.array(["a", None], pa.string()), None),
        (pa.array([1.5], pa.float64()), None),
    ],
)
def test_no_sum_overflows(column: pa.Array, total: object) -> None:
    (found,) = totals_of(pa.table({"n": column})).sums.values()
    assert found == total


def test_an_hour_keeps_a_bounded_number_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "MOST_SUMS", 2)
    table = pa.table({"event_hour": [1], "a": [1], "nothing": pa.nulls(1), "b": [1], "c": [1]})
    assert totals_of(table).sums == {"a": 1, "b": 1}
