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
    arrow, dataset = (import_module(name) for name in ("pyarrow", "pyarrow.dataset"))
    table = dataset.dataset(folder / "data", format="parquet", partitioning="hive").to_table()
    if not table.num_rows:
        return []
    for name in ("event_time", "received_at"):
        times = table[name].cast(arrow.timestamp("ms", "UTC")).cast("string")
        column = import_module("pyarrow.compute").replace_substring(times, " ", "T")
        table = table.set_column(table.column_names.index(name), name, column)
    days, hours = table["event_date"].cast("string"), table["event_hour"].cast("int64")
    assert days == table["date"].cast("string")
    assert hours == table["hour"].cast("int64")
    table = table.set_column(table.column_names.index("event_date"), "event_date", days)
    rows = [_as_sent(row) for row in table.drop_columns(["date", "hour"]).to_pylist()]
    return sorted(rows, key=lambda row: (row["event_date"], row["event_hour"]))


def _as_sent(row: Row) -> Row:
    for name in ("revenue", "cost"):
        row[name] = format(row[name], "f") if row[name] is not None else None
    return {**row, "key_values": dict(row["key_values"])}


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


def flip(file: Path) -> None:
    """Change a byte, not the size: only the checksum tells."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
