"""Datasets as other programs read them, and their files."""

from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Reader = Callable[[Path], tuple[int, Decimal]]


def _with_pyarrow(folder: Path) -> tuple[int, Decimal]:
    dataset = import_module("pyarrow.dataset")
    table = dataset.dataset(folder / "data", format="parquet", partitioning="hive").to_table()
    assert {"date", "hour"} <= {*table.column_names}
    return table.num_rows, sum(table["revenue"].to_pylist(), Decimal(0))


def _with_pandas(folder: Path) -> tuple[int, Decimal]:
    frame = import_module("pandas").read_parquet(folder / "data")
    assert {"date", "hour"} <= {*frame.columns}
    return len(frame), sum(frame["revenue"], Decimal(0))


def _with_polars(path: Path) -> tuple[int, Decimal]:
    frame = import_module("polars").scan_parquet(path, hive_partitioning=True).collect()
    assert {"date", "hour"} <= {*frame.columns}
    assert (frame["hour"] == frame["event_hour"]).all()
    return len(frame), sum(frame["revenue"], Decimal(0))


def _with_duckdb(path: Path) -> tuple[int, Decimal]:
    (found,) = (
        import_module("duckdb")
        .connect()
        .execute(
            "SELECT count(*), sum(revenue), bool_and(date = event_date AND hour = event_hour) "
            "FROM read_parquet(?, hive_partitioning = true)",
            [str(path)],
        )
        .fetchall()
    )
    assert found[2] or not found[0]
    return found[0], found[1] or Decimal(0)


def read_rows(folder: Path) -> list[Row]:
    """Every event of a parquet dataset as the service would send it, in its order."""
    dataset = import_module("pyarrow.dataset")
    table = dataset.dataset(folder / "data", format="parquet", partitioning="hive").to_table()
    rows = [_as_sent(row) for row in table.to_pylist()]
    return sorted(rows, key=lambda row: (row["event_date"], row["event_hour"]))


def _as_sent(row: Row) -> Row:
    assert str(row["event_date"]) == row.pop("date")
    assert row["event_hour"] == row.pop("hour")
    for name in ("event_time", "received_at"):
        row[name] = f"{row[name]:%Y-%m-%dT%H:%M:%S}.{row[name].microsecond // 1000:03}Z"
    for name in ("revenue", "cost"):
        row[name] = format(row[name], "f") if row[name] is not None else None
    return {**row, "event_date": str(row["event_date"]), "key_values": dict(row["key_values"])}


READERS: dict[str, Reader] = {
    "pyarrow": _with_pyarrow,
    "pandas": _with_pandas,
    "polars, a folder": lambda folder: _with_polars(folder / "data"),
    "polars, a glob": lambda folder: _with_polars(folder / "data/**/*.parquet"),
    "duckdb, a glob": lambda folder: _with_duckdb(folder / "data/**/*.parquet"),
    "duckdb, a star": lambda folder: _with_duckdb(folder / "data/*/*.parquet"),
}
"""Each library and way of opening a dataset: its number of events and their revenue."""


def everything_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file and folder with its number and its time of change."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
