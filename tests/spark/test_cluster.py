"""Spark with two executor processes; the journal of the reference server is the witness."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from tests.spark.in_process import FIRST, SECOND, asked, rows_of
from tests.spark.on_spark import command_line_of, load, processes_of

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer


@pytest.fixture(scope="module")
def cluster_settings() -> dict[str, str]:
    # The settings of the first session stay in its JVM, and test_secrets allows one failure.
    return {"spark.task.maxFailures": "4"}


def executors_of(session: SparkSession) -> list[int]:
    name = "CoarseGrainedExecutorBackend"
    return [pid for pid in processes_of(session) if name in command_line_of(pid)]


def test_the_rows_are_those_of_a_sync(
    cluster: SparkSession, server: LocalServer, tmp_path: Path
) -> None:
    with Client.from_env() as client:
        Dataset(tmp_path / "events").sync(client, FIRST, SECOND)
    synced = ds.dataset(tmp_path / "events" / "data").to_table()
    found = load(cluster).toArrow()
    assert rows_of(found) == rows_of(synced)
    assert found.num_rows == 600


def test_a_killed_executor_gives_no_event_twice(cluster: SparkSession, server: LocalServer) -> None:
    with Client.from_env() as client:
        expected = sorted(str(event.event_id) for event in client.events(FIRST, SECOND))
    server.journal.clear()
    server.faults.add("latency 3600s on download twice")

    def read() -> list[str]:
        return [row.event_id for row in load(cluster).select("event_id").collect()]

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
    assert asked(server).count("download") == 2 + 1
