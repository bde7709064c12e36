"""Steps of tests that run on Spark."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from tests.spark.in_process import FIRST, SECOND


def load(
    session: SparkSession, options: Mapping[str, object], *, source: str = "adanalytics"
) -> DataFrame:
    """Events of both days."""
    texts = {name: str(each) for name, each in {"start": FIRST, "end": SECOND, **options}.items()}
    return session.read.format(source).options(**texts).load()


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
