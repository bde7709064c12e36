"""Spark with two executor processes; the journal of the reference server is the witness."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id
from tests.spark.in_process import FIRST, SECOND, asked, rows_of
from tests.spark.on_spark import command_line_of, load, processes_of

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_client.spark import AdAnalyticsDataSource, QuotaServer
from adanalytics_server.local import LocalServer


@pytest.fixture(scope="module")
def cluster_settings() -> dict[str, str]:
    return {"spark.speculation": "true"}


@pytest.fixture
def other_host(cluster: SparkSession, spark_folder: Path, tmp_path: Path) -> Iterator[None]:
    """One more executor, on a host of its own: Spark repeats no slow task on the same host."""
    backend = cluster.sparkContext._jsc.sc().schedulerBackend()
    masters = backend.getClass().getDeclaredField("masters")
    masters.setAccessible(True)
    (master,) = masters.get(backend)
    jvm = cluster.sparkContext._gateway.proc.pid
    environment = dict(
        each.split("=", 1) for each in Path(f"/proc/{jvm}/environ").read_text().split("\0") if each
    )
    worker = subprocess.Popen(
        [
            spark_folder / "home" / "bin" / "spark-class",
            *("org.apache.spark.deploy.worker.Worker", master, "--host", "127.0.0.2"),
            *("--cores", "1", "--memory", "1g", "--work-dir", tmp_path),
        ],
        env=environment | {"SPARK_DAEMON_JAVA_OPTS": f"-Dlog.file={tmp_path}/worker.log"},
    )
    try:
        # With the driver.
        while len(cluster.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) < 4:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(timeout=0.1)
            assert worker.returncode is None
        yield
    finally:
        worker.terminate()
        worker.wait(timeout=60)


def executors_of(session: SparkSession) -> list[int]:
    name = "CoarseGrainedExecutorBackend"
    return [pid for pid in processes_of(session) if name in command_line_of(pid)]


def test_the_rows_are_those_of_a_sync(
    cluster: SparkSession, server: LocalServer, via: dict[str, object], tmp_path: Path
) -> None:
    with Client.from_env() as client:
        Dataset(tmp_path / "events").sync(client, FIRST, SECOND)
    synced = ds.dataset(tmp_path / "events" / "data").to_table()
    found = load(cluster, via).toArrow()
    assert rows_of(found) == rows_of(synced)
    assert found.num_rows == 600


def test_each_hour_is_a_partition_and_a_request(
    cluster: SparkSession, server: LocalServer, pages: dict[str, object]
) -> None:
    columns = ("event_date", "event_hour", spark_partition_id())
    rows = load(cluster, {"hour": 3, **pages}).select(*columns).collect()
    assert {tuple(row) for row in rows} == {(FIRST, 3, 0), (SECOND, 3, 1)}
    queries = [dict(each.query) for each in server.journal.entries() if each.query]
    assert sorted((each["start_date"], each["hour"]) for each in queries) == [
        (str(FIRST), "3"),
        (str(SECOND), "3"),
    ]


def test_a_killed_executor_gives_no_event_twice(
    cluster: SparkSession, server: LocalServer, pages: dict[str, object]
) -> None:
    with Client.from_env() as client:
        expected = sorted(str(event.event_id) for event in client.events(FIRST, SECOND))
    server.journal.clear()
    server.faults.add("latency 3600s on events after 10 twice")

    def read() -> list[str]:
        return [row.event_id for row in load(cluster, pages).select("event_id").collect()]

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read)
        # Then each executor waits with its only task.
        while server.faults.counts()[0].struck < 2:
            assert not wait([reading], timeout=0.1).done
        victim, _ = executors_of(cluster)
        os.kill(victim, signal.SIGKILL)
        server.faults.clear()
        assert sorted(reading.result()) == expected
    assert victim not in executors_of(cluster)
    # The task of the killed executor ran again.
    assert asked(server).count("events") == 48 + 1


def test_the_quota_holds_for_all_executors_and_repeated_tasks(
    cluster: SparkSession, server: LocalServer
) -> None:
    with QuotaServer(Client.from_env(limit=20)) as quota:
        pages = {"via": "pages", "quotaServer": quota.address, "maxRequests": 100}
        with pytest.raises(PythonException, match="QuotaExceeded") as caught:
            load(cluster, {"onLimit": "raise", **pages}).count()
    assert "resuming at" in str(caught.value)
    assert len(asked(server)) == 20


def test_a_speculative_task_counts_in_the_quota_and_gives_no_event_twice(
    cluster: SparkSession, server: LocalServer, other_host: None, tmp_path: Path
) -> None:
    attempts = tmp_path / "attempts"
    attempts.mkdir()

    class Noted(AdAnalyticsDataSource):
        @classmethod
        def name(cls) -> str:
            return "noted"

        def environment(self) -> Mapping[str, str]:
            if task := TaskContext.get():
                (attempts / f"{task.partitionId()}-{task.attemptNumber()}").touch()
            return os.environ

    cluster.dataSource.register(Noted)
    server.faults.add("latency 3600s on events after 40 once")
    with QuotaServer(Client.from_env(limit=100)) as quota:
        pages = {"via": "pages", "quotaServer": quota.address, "maxRequests": 100}
        rows = load(cluster, pages, source="noted").select("event_id").collect()
    assert len({row.event_id for row in rows}) == len(rows) == 600
    # The first attempt of one task still waits for its response. On a busy machine Spark may repeat
    # others, too, and end them after they leased a request.
    assert any(each.name.endswith("-1") for each in attempts.iterdir())
    with Client.from_env(limit=100) as client:
        leased = 100 - (client.quota.remaining or 0)
    sent_for_dates = 1
    assert 48 + 1 <= server.faults.counts()[0].matched <= leased - sent_for_dates
