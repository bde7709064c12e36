"""Rate of Spark reads with 1 and 2 executors, against the client in one process on the same data.

    python benchmarks/spark_read.py [EVENTS]

An executor is a JVM and its Python workers; each is bound to one CPU of its own, as in a container
with one CPU. Else one executor would use both CPUs of a small machine, since Spark converts a batch
while Python reads the next one. One executor reads the same partitions as two, in a single task.
The exports are ordered before anything is measured, so tasks only download and parse.

Then the same events become hourly Parquet in three ways: by one `adanalytics sync`, by Spark's
source and `partitionBy` on both executors, and by a sync of each day as a task of Spark.

Rates are of the wall clock. The runs of a ratio follow each other, and the median counts. Server
and driver run on the same CPUs, and other work of the machine slows the executors unevenly. So CPU
seconds are compared, too: an executor with a CPU to itself takes as long as its CPU seconds, until
the server is the bottleneck. The last ratio says when that is.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from server_process import ServerProcess, server

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.tables import EventTables
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer, Sample

FIRST = date(2026, 1, 15)
DAYS = 8
# Days with hardly an event: their tasks measure what a task costs.
SMALL_DAY = date(2026, 2, 1)
TASKS = 24
PAIRS = 3
TICKS = os.sysconf("SC_CLK_TCK")


class Nothing(DataSource):
    """The simplest source: as many partitions as there are small days, without rows."""

    @classmethod
    def name(cls) -> str:
        return "nothing"

    def schema(self) -> str:
        return "n int"

    def reader(self, schema: object) -> "NothingReader":  # noqa: ARG002  # passed by name
        return NothingReader()


class NothingReader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, _partition: InputPartition) -> Iterator[tuple[int]]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of a run: of the wall clock, and of CPU in each reader and in the server.

    The readers are the executors, or this process.
    """

    wall: float
    readers: tuple[float, ...]
    server: float


def descendants(process: int) -> list[int]:
    """The process and the processes below it."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    below = [int(each) for task in tasks for each in task.read_text().split()]
    return [process, *(found for each in below for found in descendants(each))]


def executors() -> list[int]:
    """The JVMs of the executors below this process."""
    return [
        each
        for each in descendants(os.getpid())
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]


def cpu_seconds(processes: list[int]) -> float:
    """The CPU time of processes and of those below them that have ended."""
    stats = [Path(f"/proc/{each}/stat").read_text() for each in processes]
    return sum(sum(map(int, stat.rpartition(")")[2].split()[11:15])) for stat in stats) / TICKS


def executor_seconds() -> tuple[float, ...]:
    """The CPU time of each executor and its workers."""
    return tuple(cpu_seconds(descendants(each)) for each in executors())


def new_folder(path: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def bind() -> None:
    """Give each executor a CPU of its own."""
    for cpu, executor in zip(sorted(os.sched_getaffinity(0)), executors(), strict=False):
        for process in descendants(executor):
            for thread in Path(f"/proc/{process}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {cpu})


class Bench:
    """Measures reads in Spark and in this process, from one server."""

    def __init__(self, running: ServerProcess, spark: SparkSession, client: Client) -> None:
        self._server = running
        self._spark = spark
        self._client = client

    def load(self, start: date, days: int, columns: str = "") -> DataFrame:
        span = {"start": str(start), "end": str(start + timedelta(days=days - 1))}
        reader = self._spark.read.format("adanalytics").options(**span)
        return (reader.schema(columns) if columns else reader).load()

    def spark(self, events: DataFrame) -> Run:
        """Read every column of the events, and drop them."""
        writer = events.write.format("noop").mode("overwrite")
        return self._measure(writer.save, executor_seconds)

    def partition(self, events: DataFrame, folder: Path) -> Run:
        """Write the events to a folder for each hour, by Spark."""
        writer = events.write.partitionBy("event_date", "event_hour").mode("overwrite")
        return self._measure(lambda: writer.parquet(str(folder / "spark")), executor_seconds)

    def sync(self, folder: Path) -> Run:
        """Sync the days in a process of its own."""
        to = new_folder(folder / "sync")
        span = [str(FIRST), str(FIRST + timedelta(days=DAYS - 1))]
        command = [sys.executable, "-m", "adanalytics_cli", "--quiet", "sync", *span]
        return self._measure(
            lambda: subprocess.run([*command, "--via", "export", "--to", to], check=True),
            lambda: (sum(os.times()[2:4]),),
        )

    def sync_in_tasks(self, folder: Path) -> Run:
        """Sync each day in a task of Spark, to a dataset of its own."""
        to = new_folder(folder / "tasks")

        def sync_day(day: date) -> None:
            with Client.from_env(limit=None) as client:
                Dataset(to / str(day)).sync(client, day, via="export")

        days = [FIRST + timedelta(days=number) for number in range(DAYS)]
        tasks = self._spark.sparkContext.parallelize(days, DAYS)
        return self._measure(lambda: tasks.foreach(sync_day), executor_seconds)

    def exports(self, folder: Path) -> Run:
        """Read the same exports as Arrow tables, in this process."""

        def read() -> None:
            for day in range(DAYS):
                path = folder / f"{day}.csv"
                file = self._client.export(FIRST + timedelta(days=day), to=path)
                for _table in EventTables().from_file(file):
                    pass
                file.unlink()

        return self._measure(read, lambda: (time.process_time(),))

    def _measure(self, work: Callable[[], object], cpu: Callable[[], tuple[float, ...]]) -> Run:
        of_server, before, began = self._server.cpu_seconds(), cpu(), time.monotonic()
        work()
        wall = time.monotonic() - began
        spent = tuple(after - each for each, after in zip(before, cpu(), strict=True))
        return Run(wall, spent, self._server.cpu_seconds() - of_server)


def say(what: str, ratio: float, limit: str) -> None:
    print(f"{what:<74} {ratio:>6.2f}   {limit}", flush=True)


def compare(events: int, runs: dict[str, Callable[[], Run]]) -> dict[str, list[Run]]:
    """Take each run in turn, and print its rates; the first round warms up."""
    rounds = [{name: run() for name, run in runs.items()} for _ in range(1 + PAIRS)][1:]
    for name in runs:
        wall = median(each[name].wall for each in rounds)
        reader = median(sum(each[name].readers) for each in rounds)
        served = median(each[name].server for each in rounds)
        print(
            f"{name}: {events / wall:,.0f} events a second; of a CPU second: "
            f"{events / reader:,.0f} read, {events / served:,.0f} served",
            flush=True,
        )
    return {name: [each[name] for each in rounds] for name in runs}


def ratio(peer: list[Run], ours: list[Run], seconds: Callable[[Run], float]) -> float:
    """The median over the pairs of what the peer takes / what ours takes."""
    return median(seconds(a) / seconds(b) for a, b in zip(peer, ours, strict=True))


def report(runs: dict[str, list[Run]]) -> None:
    one, two, process = (runs[name] for name in ("1 executor", "2 executors", "one process"))

    def say_rates(what: str, peer: list[Run], ours: list[Run], goal: str) -> None:
        say(f"rate of {what}", ratio(peer, ours, lambda run: run.wall), goal)

    say_rates("2 executors / of 1 executor", one, two, "at least 1.6 on an idle machine")
    busiest = ratio(one, two, lambda run: max(run.readers))
    say("CPU seconds of 1 executor / of the busier of 2", busiest, "at least 1.6")
    say_rates("1 executor / of one process", process, one, "for information")
    say_rates("2 executors / of one process", process, two, "for information")
    feeds = median(sum(each.readers) / each.server for each in two)
    say("executors that one CPU of the server feeds", feeds, "more than 2")


def report_hourly(runs: dict[str, list[Run]]) -> None:
    """Print how the ways to hourly Parquet compare with one sync."""
    one = runs.pop("sync")
    for name, other in runs.items():
        wall = 1 / ratio(one, other, lambda run: run.wall)
        cpu = 1 / ratio(one, other, lambda run: sum(run.readers))
        what = f"hourly Parquet, {name} on 2 executors / one sync"
        say(f"{what}: seconds", wall, "for information")
        say(f"{what}: CPU seconds", cpu, "for information")


def overhead(bench: Bench, spark: SparkSession) -> None:
    """Print what a task and an action cost, beyond their events."""
    days = bench.load(SMALL_DAY, TASKS)
    trivial = spark.read.format("nothing").load()
    runs = [
        [2 * bench.spark(each).wall / TASKS for each in (days, trivial)] for _ in range(PAIRS + 1)
    ][1:]
    task, least = (median(each) * 1000 for each in zip(*runs, strict=True))
    say(
        f"a task of an empty day: {task:.0f} ms / of a source without rows: {least:.0f} ms",
        task / least,
        "for information",
    )


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Start two executors with one core each."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.worker.dir": str(folder / "work"),
    }
    master = SparkSession.builder.master("local-cluster[2,1,1024]")
    spark = master.config(map=settings).getOrCreate()
    spark.dataSource.register(AdAnalyticsDataSource)
    spark.dataSource.register(Nothing)
    try:
        yield spark
    finally:
        spark.stop()


def measure(running: ServerProcess, folder: Path, events: int) -> None:
    """Start Spark and measure exports, and what a task costs."""
    with session(folder) as spark, Client.from_env(limit=None) as client:
        bench = Bench(running, spark, client)
        days = bench.load(FIRST, DAYS)
        bench.spark(days)
        bind()
        few = bench.load(FIRST, DAYS, "event_date date, event_type string, revenue decimal(18,9)")
        runs = {
            "1 executor": lambda: bench.spark(days.coalesce(1)),
            "2 executors": lambda: bench.spark(days),
            "one process": lambda: bench.exports(folder),
            "2 executors, 3 columns": lambda: bench.spark(few),
        }
        report(compare(events, runs))
        writers = {
            "sync": lambda: bench.sync(folder),
            "Spark's source": lambda: bench.partition(days, folder),
            "sync in tasks": lambda: bench.sync_in_tasks(folder),
        }
        report_hourly(compare(events, writers))
        overhead(bench, spark)


def main(events: int) -> None:
    """Generate the days, serve them from a process of its own, and measure."""
    with TemporaryDirectory() as name:
        folder, data = Path(name), Path(name, "data")
        sample = Sample(start=FIRST, days=DAYS, events_per_day=events // DAYS, seed=1)
        with LocalServer(data=data, sample=sample, rate_limit=0) as local:
            os.environ["ADANALYTICS_API_KEY"] = local.api_key
            os.environ["ADANALYTICS_PARTNER"] = local.partner
        with LocalServer(data=data, sample=Sample(start=SMALL_DAY, days=TASKS, events_per_day=10)):
            pass
        # Spark's workers have the environment of this moment.
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        print(f"{events:,} events of {DAYS} days, load of the machine: {os.getloadavg()[0]:.1f}")
        with server(data) as running:
            os.environ["ADANALYTICS_BASE_URL"] = running.url
            measure(running, folder, events)
        print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 800_000)
