"""Reads the table of a dataset with the library of its format."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client._base.choices import TableFormat
from adanalytics_client.tables import event_schema

deltalake = pytest.importorskip("deltalake", reason="make test-spark installs deltalake")
catalogs = pytest.importorskip("pyiceberg.catalog", reason="make test-spark installs pyiceberg")
duckdb, pa = map(import_module, ("duckdb", "pyarrow"))

Row = dict[str, Any]


class Reader:
    """Reads a table with the library of its format, which knows nothing of this project."""

    def __init__(self, kind: TableFormat, place: Path) -> None:
        self.kind = kind
        self.place = place

    def finds_a_table(self) -> bool:
        if self.kind == "delta":
            return bool(deltalake.DeltaTable.is_deltatable(self.place))
        with catalog(self.place) as opened:
            return bool(opened.table_exists("adanalytics.acme"))

    def versions(self) -> list[int]:
        """List the versions that hold events, from the first on."""
        if self.kind == "delta":
            return [*range(deltalake.DeltaTable(self.place).version() + 1)]
        return [entry.snapshot_id for entry in self.table().history()]

    def rows(self, version: int | None = None) -> list[Row]:
        if self.kind == "delta":
            table = deltalake.DeltaTable(self.place, version=version)
            found = (
                deltalake.QueryBuilder().register("events", table).execute("SELECT * FROM events")
            )
            events = pa.table(found.read_all())
        else:
            events = self.table().scan(snapshot_id=version).to_arrow()
        if not events.num_rows:
            # A kill may leave a table without its partition, which the first files bring.
            return []
        # An Iceberg table of hourly files has none.
        ours = ["date", *(["hour"] if "hour" in events.column_names else [])]
        for name in ours:
            assert events[name].to_pylist() == events[f"event_{name}"].to_pylist()
        events = events.drop_columns(ours)
        return sorted(events.to_pylist(), key=lambda row: str(row["event_id"]))

    def by_duckdb(self, select: str) -> list[tuple[object, ...]]:
        """Let DuckDB read the table `events`, without the extension that it would download."""
        if self.kind == "delta":
            base = duckdb.connect()
            base.register("events", deltalake.DeltaTable(self.place).to_pyarrow_dataset())
        else:
            base = self.table().scan().to_duckdb("events")
        with base:
            return list(base.sql(select).fetchall())

    def columns(self) -> list[str]:
        if self.kind == "delta":
            return [field.name for field in deltalake.DeltaTable(self.place).schema().fields]
        return [*self.table().schema().column_names]

    def drop_column(self, name: str) -> None:
        """Make the table anew, empty and without a column, as an earlier version would have."""
        kept = pa.schema([each for each in event_schema() if each.name != name])
        if self.kind == "delta":
            shutil.rmtree(self.place / "_delta_log")
            ours = pa.schema([("hour", pa.int64()), ("date", pa.date32())])
            deltalake.DeltaTable.create(
                self.place, pa.schema([*kept, *ours]), partition_by=["date"]
            )
        else:
            with catalog(self.place) as opened:
                opened.drop_table("adanalytics.acme")
                location = f"{self.place}/_adanalytics/iceberg"
                opened.create_table("adanalytics.acme", kept, location)

    def table(self) -> Any:
        with catalog(self.place) as opened:
            return opened.load_table("adanalytics.acme")


def catalog(place: Path) -> Any:
    place.joinpath("_adanalytics").mkdir(parents=True, exist_ok=True)
    uri = f"sqlite:///{place}/_adanalytics/catalog.db"
    return catalogs.load_catalog("adanalytics", type="sql", uri=uri)


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str = "DEFAULT") -> None:
    """Set a catalog of pyiceberg to a SQLite file in a folder."""
    monkeypatch.setenv(f"PYICEBERG_CATALOG__{name}__URI", f"sqlite:///{folder}/catalog.db")
    # It was read when pyiceberg was imported.
    config = import_module("pyiceberg.utils.config").Config()
    monkeypatch.setattr(catalogs, "_ENV_CONFIG", config)
