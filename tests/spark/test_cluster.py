"""Spark with two executor processes; the journal of the reference server is the witness."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.server_answers import answer, operations
from tests.spark.on_spark import FIRST, SECOND, command_line_of, processes_of, rows_of

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_client.spark import sync
from adanalytics_server.local import LocalServer


@pytest.fixture(scope="module")
def cluster_settings() -> dict[str, str]:
    # The settings of the first session stay in its JVM, and test_secrets allows one failure.
    return {"spark.task.maxFailures": "4"}


def executors_of(session: SparkSession) -> list[int]:
    name = "CoarseGrainedExecutorBackend"
    return [pid for pid in processes_of(session) if name in command_line_of(pid)]


def test_the_rows_are_those_of_the_service(
    cluster: SparkSession, server: LocalServer, tmp_path: Path
) -> None:
    dataset = Dataset(tmp_path / "events")
    with Client.from_env() as client:
        committed = sync(cluster, dataset, client, FIRST, SECOND)
        again = sync(cluster, dataset, client, FIRST, SECOND)
        expected = client.events(FIRST, SECOND).to_arrow()
    assert operations(server).count("start_export") == 2
    assert committed.count() == again.count() == 600
    found = committed.select(*expected.schema.names).toArrow()
    assert rows_of(found) == rows_of(expected)


def test_a_sync_says_what_is_missing(
    cluster: SparkSession, server: LocalServer, tmp_path: Path
) -> None:
    """The summary counts an event that the export does not have."""
    with Client.from_env() as client:
        rows = client.summary(FIRST, FIRST, group_by="day").model_dump(mode="json")
        rows["rows"][0]["impressions"] += 1
        server.faults.add(answer("summary", {"summary": rows["rows"]}))
        with pytest.raises(DatasetError, match="The events of 2026-01-15 do not agree"):
            sync(cluster, Dataset(tmp_path / "events"), client, FIRST)


def test_a_killed_executor_brings_no_event_twice(
    cluster: SparkSession, server: LocalServer, tmp_path: Path
) -> None:
    server.faults.add("latency 3600s on download twice")
    with Client.from_env() as client, ThreadPoolExecutor() as pool:
        dataset = Dataset(tmp_path / "events")
        syncing = pool.submit(sync, cluster, dataset, client, FIRST, SECOND)
        while server.faults.counts()[0].struck < 2:
            assert not wait([syncing], timeout=0.1).done
        # Each executor waits with its only task.
        victim, _ = executors_of(cluster)
        os.kill(victim, signal.SIGKILL)
        server.faults.clear()
        assert syncing.result().count() == 600
        assert dataset.verify(client, until=SECOND).is_whole
    assert victim not in executors_of(cluster)
    # The task of the killed executor ran again.
    assert operations(server).count("download") == 2 + 1


def test_a_restated_hour_of_a_table_is_read_once(
    cluster: SparkSession, server: LocalServer, tmp_path: Path
) -> None:
    pytest.importorskip("deltalake")
    dataset = Dataset(tmp_path / "events", table="delta")
    with Client.from_env() as client:
        assert sync(cluster, dataset, client, FIRST).count() == 300
        restated = [{"event_time": f"{FIRST}T03:00:00Z"}]
        server.add_events(restated, replace_hours=True)
        read = sync(cluster, Dataset(tmp_path / "events"), client, FIRST)
        held = client.events(FIRST).to_arrow().num_rows
    assert {"date", "hour"} <= {*read.columns}
    assert read.where("hour = 3").count() == 1
    assert read.count() == held < 300
