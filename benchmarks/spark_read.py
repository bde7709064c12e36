"""Ways to bring days of events to Spark: seconds to get them in, then of a count and a group-by.

    python -m benchmarks.spark_read [EVENTS]

The ways are taken in turn, in three rounds after one that warms up, and the medians are printed.
Each executor is a JVM with one core. The server runs in a process of its own on the same CPUs; it
made the exports before anything is measured, as Parquet and as csv.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import DataFrame, SparkSession

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_client.spark import sync
from adanalytics_server.local import LocalServer, Sample
from proof.service import serving_folder

FIRST = date(2026, 1, 15)
DAYS = 20
LAST = FIRST + timedelta(days=DAYS - 1)
ROUNDS = 3
SPAN = {"start": str(FIRST), "end": str(LAST)}
COUNTS = (1, 2, 4)

Seconds = tuple[float, float, float]
"""To get the events in, for a count, and for a group-by."""


def timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def asked(events: DataFrame, count: int) -> tuple[float, float]:
    """Return the seconds of a count, which must be right, and of a group-by."""

    def check() -> None:
        if events.count() != count:
            raise SystemExit(f"Not all of {count:,} events arrived.")

    groups = events.groupBy("country", "event_type").agg({"revenue": "sum"})
    return timed(check), timed(groups.collect)


def empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def by_csv(spark: SparkSession, client: Client, folder: Path, count: int) -> Seconds:
    """Download each export as csv, one after the other, and let Spark read the files."""

    def download() -> None:
        for number in range(DAYS):
            client.export(FIRST + timedelta(days=number), to=folder / f"{number}.csv")

    empty(folder)
    seconds = timed(download)
    return (seconds, *asked(spark.read.csv(str(folder), header=True), count))


def by_executors(spark: SparkSession, client: Client, folder: Path, count: int) -> Seconds:
    dataset = Dataset(empty(folder))
    seconds = timed(lambda: sync(spark, dataset, client, FIRST, LAST))
    return (seconds, *asked(spark.read.parquet(f"{folder}/data"), count))


def by_one_machine(spark: SparkSession, workers: int, folder: Path, count: int) -> Seconds:
    words = ["--quiet", "sync", *SPAN.values(), "--via", "export", "--workers", str(workers)]
    command = [sys.executable, "-m", "adanalytics_cli", *words, "--to", str(empty(folder))]
    seconds = timed(lambda: subprocess.run(command, check=True))
    return (seconds, *asked(spark.read.parquet(f"{folder}/data"), count))


@contextmanager
def session(folder: Path, executors: int) -> Iterator[SparkSession]:
    settings = {
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.worker.dir": str(folder / "work"),
    }
    master = SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
    spark = master.config(map=settings).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def measure(folder: Path, count: int) -> None:
    """Measure every way with two executors, and the tasks of a sync with others."""
    to = folder / "events"
    with Client.from_env(quota=QuotaPolicy(limit=None)) as client:
        with session(folder, 2) as spark:
            ways: dict[str, Callable[[], Seconds]] = {
                "csv exports, spark.read.csv": partial(by_csv, spark, client, to, count)
            }
            for workers in COUNTS:
                name = f"adanalytics sync --workers {workers}"
                ways[name] = partial(by_one_machine, spark, workers, to, count)
            compare(ways, count)
        for executors in COUNTS:
            with session(folder, executors) as spark:
                name = f"spark.sync, {executors} executors"
                compare({name: partial(by_executors, spark, client, to, count)}, count)


def compare(ways: dict[str, Callable[[], Seconds]], count: int) -> None:
    rounds = [{name: way() for name, way in ways.items()} for _ in range(1 + ROUNDS)][1:]
    for name in ways:
        got, counted, grouped = (median(each[name][which] for each in rounds) for which in range(3))
        print(f"{name:<42} {got:>6.1f} s {count / got:>9,.0f} a second", end="")
        print(f"   count {counted:>5.1f} s   group-by {grouped:>5.1f} s", flush=True)


def main(events: int) -> None:
    """Generate the days, serve them from a process of its own, and measure."""
    with TemporaryDirectory() as name:
        folder, data = Path(name), Path(name, "data")
        sample = Sample(start=FIRST, days=DAYS, events_per_day=events // DAYS, seed=1)
        with LocalServer(data=data, sample=sample, rate_limit=0) as local:
            os.environ["ADANALYTICS_API_KEY"] = local.api_key
            os.environ["ADANALYTICS_PARTNER"] = local.partner
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        print(f"{events:,} events of {DAYS} days, {os.cpu_count()} cores", flush=True)
        with serving_folder(data, options=["--rate-limit", "0"]) as (url, _):
            os.environ["ADANALYTICS_BASE_URL"] = url
            measure(folder, events)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 800_000)
