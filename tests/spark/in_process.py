"""Steps of tests that call the data source in this process."""

import pickle
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import pyarrow as pa

from adanalytics_server.local import LocalServer

FIRST, SECOND = date(2026, 1, 15), date(2026, 1, 16)
"""The days of the fixture `server`."""

Row = dict[str, Any]


def as_spark_passes(options: Mapping[str, object]) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in options.items()}


def table_of(reader: Any, parts: Iterable[Any]) -> pa.Table:
    """Read partitions as tasks do: from a pickled reader and a pickled partition."""
    return pa.Table.from_batches(
        batch
        for part in parts
        for batch in pickle.loads(pickle.dumps(reader)).read(pickle.loads(pickle.dumps(part)))
    )


def rows_of(table: pa.Table) -> list[Row]:
    return sorted(table.to_pylist(), key=lambda row: row["event_id"])


def hours_of(table: pa.Table) -> set[tuple[date, int]]:
    return {(row["event_date"], row["event_hour"]) for row in table.to_pylist()}


def asked(server: LocalServer) -> list[str | None]:
    """Return the operation of each request."""
    return [entry.operation for entry in server.journal.entries()]
