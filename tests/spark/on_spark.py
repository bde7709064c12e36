"""Steps of tests that run on Spark."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST, SECOND = date(2026, 1, 15), date(2026, 1, 16)
"""The days of the fixture `server`."""


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["event_id"])


def processes_of(session: "SparkSession") -> Iterator[int]:
    """The ids of its JVM and of all processes below it."""
    found = [session.sparkContext._gateway.proc.pid]
    while found:
        pid = found.pop()
        yield pid
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, path.read_text().split())


def command_line_of(pid: int) -> str:
    """The command line; empty when the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
