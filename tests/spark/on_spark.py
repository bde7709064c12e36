"""Steps of tests that run on Spark."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from tests.spark.in_process import FIRST, SECOND


def load(session: SparkSession) -> DataFrame:
    """Events of both days."""
    return session.read.format("adanalytics").options(start=str(FIRST), end=str(SECOND)).load()


def processes_of(session: SparkSession) -> Iterator[int]:
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
