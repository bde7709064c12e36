"""Ordinary calculations with frames, exact and as floats; the how-to has the same table."""

import io
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.client.variants import Variant

from adanalytics_client import Summary
from adanalytics_client._outputs.frames import Amounts, frame_maker
from adanalytics_client.errors import ConfigurationError

PAGE = Path(__file__).parents[2] / "docs/how-to/write-files-and-tables.md"
DAYS = [date(2026, 1, 15), date(2026, 1, 16), date(2026, 1, 17)]
FIELDS = ("date", "impressions", "clicks", "revenue", "cost")
ROWS = [
    (DAYS[0], 1000, 20, Decimal("4.500000000"), Decimal("1.500000000")),
    (DAYS[1], 0, 0, Decimal("0.000000000"), Decimal("0.000000000")),
    (DAYS[2], 3, 1, Decimal("0.004500000"), Decimal("0.000000000")),
]
SUMMARY = Summary(rows=[dict(zip(FIELDS, row, strict=True)) for row in ROWS], group_by="day")


def in_pandas(frame: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    revenue, cost = frame["revenue"], frame["cost"]
    sums = frame.groupby("date")[["revenue", "cost"]].sum
    return {
        "`sum`, `min`, `mean`": lambda: [revenue.sum(), revenue.min(), revenue.mean()],
        "`sort_values`, in polars `sort`": revenue.sort_values,
        "`revenue - cost`": lambda: revenue - cost,
        "`(revenue - cost) * 2`": lambda: (revenue - cost) * 2,
        "`revenue * 1.1`": lambda: revenue * 1.1,
        "`revenue / cost`, where some row has a `cost` of 0": lambda: revenue / cost,
        "eCPM: `revenue / impressions * 1000`, where some row has no impressions": lambda: (
            revenue / frame["impressions"] * 1000
        ),
        "CTR: `clicks / impressions`": lambda: frame["clicks"] / frame["impressions"],
        "`nlargest`, in polars `top_k`": lambda: frame.nlargest(2, "revenue")["revenue"],
        "`describe` of a column": lambda: [revenue.describe()["max"]],
        "`cumsum`, in polars `cum_sum`": revenue.cumsum,
        "rolling sums": lambda: revenue.rolling(2).sum()[1:],
        "group sums": lambda: sums()["revenue"],
        "the difference between two group sums": lambda: sums()["revenue"] - sums()["cost"],
        "a merge with `client.dates()`": lambda: frame.merge(pd.DataFrame({"date": DAYS[:2]}))[
            "revenue"
        ],
        "CSV": lambda: pd.read_csv(io.StringIO(frame.to_csv()))["revenue"],
        "JSON": lambda: [
            float(row["revenue"])
            for row in json.loads(frame.to_json(orient="records", date_format="iso"))
        ],
        "`to_sql`, into SQLite": lambda: in_sqlite(frame),
    }


def in_polars(frame: pl.DataFrame) -> dict[str, Callable[[], Any]]:
    revenue, cost = frame["revenue"], frame["cost"]

    def sums() -> pl.DataFrame:
        return frame.group_by("date", maintain_order=True).agg(pl.sum("revenue", "cost"))

    return {
        "`sum`, `min`, `mean`": lambda: [revenue.sum(), revenue.min(), revenue.mean()],
        "`sort_values`, in polars `sort`": revenue.sort,
        "`revenue - cost`": lambda: revenue - cost,
        "`(revenue - cost) * 2`": lambda: (revenue - cost) * 2,
        "`revenue * 1.1`": lambda: revenue * 1.1,
        "`revenue / cost`, where some row has a `cost` of 0": lambda: revenue / cost,
        "eCPM: `revenue / impressions * 1000`, where some row has no impressions": lambda: (
            revenue / frame["impressions"] * 1000
        ),
        "CTR: `clicks / impressions`": lambda: frame["clicks"] / frame["impressions"],
        "`nlargest`, in polars `top_k`": lambda: frame.top_k(2, by="revenue")["revenue"],
        "`describe` of a column": lambda: revenue.describe()["value"][-1:],
        "`cumsum`, in polars `cum_sum`": revenue.cum_sum,
        "rolling sums": lambda: revenue.rolling_sum(2)[1:],
        "group sums": lambda: sums()["revenue"],
        "the difference between two group sums": lambda: sums()["revenue"] - sums()["cost"],
        "a merge with `client.dates()`": lambda: frame.join(
            pl.DataFrame({"date": DAYS[:2]}), on="date"
        )["revenue"],
        "CSV": lambda: pl.read_csv(io.StringIO(frame.write_csv()))["revenue"],
        "JSON": lambda: [float(row["revenue"]) for row in json.loads(frame.write_json())],
    }


def in_sqlite(frame: pd.DataFrame) -> list[float]:
    connection = sqlite3.connect(":memory:")
    try:
        frame.to_sql("summary", connection, index=False)
        return [row[0] for row in connection.execute("SELECT revenue FROM summary")]
    finally:
        connection.close()


RESULTS: dict[str, list[float]] = {
    "`sum`, `min`, `mean`": [4.5045, 0, 1.5015],
    "`sort_values`, in polars `sort`": [0, 0.0045, 4.5],
    "`revenue - cost`": [3, 0, 0.0045],
    "`(revenue - cost) * 2`": [6, 0, 0.009],
    "`revenue * 1.1`": [4.95, 0, 0.00495],
    "`revenue / cost`, where some row has a `cost` of 0": [3, nan, inf],
    "eCPM: `revenue / impressions * 1000`, where some row has no impressions": [4.5, nan, 1.5],
    "CTR: `clicks / impressions`": [0.02, nan, 1 / 3],
    "`nlargest`, in polars `top_k`": [4.5, 0.0045],
    "`describe` of a column": [4.5],
    "`cumsum`, in polars `cum_sum`": [4.5, 4.5, 4.5045],
    "rolling sums": [4.5, 0.0045],
    "group sums": [4.5, 0, 0.0045],
    "the difference between two group sums": [3, 0, 0.0045],
    "a merge with `client.dates()`": [4.5, 0],
    "CSV": [4.5, 0, 0.0045],
    "JSON": [4.5, 0, 0.0045],
    "`to_sql`, into SQLite": [4.5, 0, 0.0045],
}


def outcome(formula: Callable[[], Any] | None, expected: list[float]) -> str:
    if formula is None:
        return "-"
    try:
        found = [nan if each is None or pd.isna(each) else float(each) for each in formula()]
    except Exception:  # noqa: BLE001  # each library has its own errors
        return "no"
    return "yes" if found == pytest.approx(expected, nan_ok=True) else f"no, {found}"


def test_the_formulas_of_the_how_to_work_as_it_says() -> None:
    # Earlier versions can do other things with exact amounts.
    is_new = pd.__version__ >= "3" and pl.__version__ >= "2"
    settings: list[Amounts] = ["exact", "float"] if is_new else ["float"]
    frames = [in_pandas(SUMMARY.to_pandas(amounts=each)) for each in settings]
    frames += [in_polars(SUMMARY.to_polars(amounts=each)) for each in settings]
    table = {
        name: [outcome(each.get(name), expected) for each in frames]
        for name, expected in RESULTS.items()
    }
    for column in (len(settings) - 1, len(frames) - 1):
        assert {line[column] for line in table.values()} <= {"yes", "-"}
    # The page has what exact amounts cannot do.
    shown = {name: line[::2] for name, line in table.items() if "no" in line}
    lines = "\n".join(f"| {name} | {' | '.join(line)} |" for name, line in shown.items())
    assert f"---|\n{lines}\n\n" in PAGE.read_text() or not is_new


def test_floats_are_the_nearest_ones() -> None:
    for frame in (SUMMARY.to_pandas(amounts="float"), SUMMARY.to_polars(amounts="float")):
        assert list(frame["revenue"]) == [4.5, 0.0, 0.0045]
    assert "ctr" in SUMMARY.to_pandas(amounts="float").columns


@pytest.mark.parametrize("amounts", ["exact", "float"])
def test_frames_of_events_are_stored_without_options(
    reference_variant: Variant, tmp_path: Path, amounts: str
) -> None:
    query = reference_variant.client.events("2026-01-15", hour=13)
    rows = reference_variant.all_of(query.rows())
    frame = reference_variant.on(query, "to_pandas", amounts=amounts)
    frame.to_parquet(tmp_path / "day.parquet")
    stored = pd.read_parquet(tmp_path / "day.parquet")
    assert [json.loads(each) for each in stored["key_values"]] == [r["key_values"] for r in rows]
    assert [float(each) for each in stored["revenue"]] == [float(row["revenue"]) for row in rows]
    assert len(frame.drop_duplicates()) == len(rows)
    polars = reference_variant.on(query, "to_polars", amounts=amounts)
    text = pl.read_csv(io.StringIO(polars.write_csv()))
    assert text["key_values"].to_list() == frame["key_values"].to_list()


def test_numpy_types_compare_with_text(reference_variant: Variant) -> None:
    """With Arrow's types the day finds nothing, silently, and the time raises a TypeError."""
    query = reference_variant.client.events("2026-01-15", "2026-01-16", split="daily")
    frame = reference_variant.on(query, "to_pandas", dtypes="numpy")
    assert dict(frame.dtypes.astype(str)) | {"os": "", "error_code": ""} == {
        **dict.fromkeys(frame.columns, str(pd.Series(["text"]).dtype)),
        **dict.fromkeys(("event_time", "received_at"), "datetime64[ns, UTC]"),
        **dict.fromkeys(("revenue", "cost", "demand_tag_id", "campaign_id"), "float64"),
        "event_date": "datetime64[ns]",
        "event_hour": "int64",
        "supply_tag_id": "int64",
        "is_filtered": "bool",
        "os": "",
        "error_code": "",
    }
    rows = reference_variant.all_of(query.rows())
    assert [*frame["revenue"]] == [float(row["revenue"]) for row in rows]
    assert (frame["event_date"] == "2026-01-15").sum() == len(rows) // 2
    later = [row for row in rows if row["event_time"] >= "2026-01-16T13"]
    assert (frame["event_time"] >= "2026-01-16T13:00Z").sum() == len(later) > 0
    assert (frame["event_time"].dt.hour == frame["event_hour"]).all()
    arrow = reference_variant.on(query, "to_pandas")
    assert not (arrow["event_date"] == "2026-01-15").any()
    exact = reference_variant.on(query, "to_pandas", dtypes="numpy", amounts="exact")
    assert exact["revenue"].sum() == arrow["revenue"].sum()
    assert isinstance(exact["revenue"][0], Decimal)


def test_numpy_types_lose_no_id_and_no_time() -> None:
    table = pa.table(
        {
            "id": pa.array([2**62 + 1, None]),
            "wide": pa.array([Decimal(2**70), None], pa.decimal128(38, 0)),
            "few": pa.array([3, None]),
            "flag": pa.array([True, None]),
            "old": pa.array([date(1, 1, 1), date(9999, 12, 31)]),
            "then": pa.array([datetime(1600, 1, 1, tzinfo=UTC), None], pa.timestamp("ms", "UTC")),
        }
    )
    frame = frame_maker("pandas", None, "numpy")(table)
    assert (frame["id"][0], frame["wide"][0]) == (2**62 + 1, 2**70)
    assert (str(frame["few"].dtype), frame["few"][0], frame["flag"][0]) == ("float64", 3.0, True)
    assert (str(frame["old"].dtype), frame["old"][1].year) == ("datetime64[ms]", 9999)
    assert (str(frame["then"].dtype), frame["then"][0].year) == ("datetime64[ms, UTC]", 1600)
    assert frame_maker("pandas", "float")(table)["wide"][0] == 2**70
    assert len(frame_maker("pandas", None, "numpy")(table.slice(2))) == 0


def test_a_summary_has_numpy_types_too() -> None:
    frame = SUMMARY.to_pandas(dtypes="numpy")
    assert frame[frame["date"] == "2026-01-17"]["revenue"].tolist() == [0.0045]
    assert str(frame["impressions"].dtype) == "int64"
    with pytest.raises(ConfigurationError, match=r"^dtypes='double' .* one of arrow, numpy"):
        SUMMARY.to_pandas(dtypes=cast("Any", "double"))


def test_a_group_has_its_own_columns_only() -> None:
    rows = [{"campaign_id": None, "campaign_name": None, "revenue": "1", "cost": None}]
    campaigns = Summary.model_validate({"rows": rows, "group_by": "campaign"})
    assert list(campaigns.to_pandas())[:3] == ["campaign_id", "campaign_name", "requests"]
    assert "cost" in campaigns.to_polars().columns
    assert Summary(group_by="demand_tag").to_polars().columns[1] == "demand_tag_name"
    assert Summary().to_polars().columns[0] == "requests"


def test_a_summary_is_a_collection_of_rows() -> None:
    assert [row.date for row in SUMMARY] == DAYS
    assert len(SUMMARY) == 3


def test_another_kind_of_amounts_is_refused_before_a_request(reference_variant: Variant) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^amounts='double' is not valid\. Pass one of exact"
    ):
        reference_variant.on(
            reference_variant.client.events("2026-01-15"), "to_pandas", amounts="double"
        )
