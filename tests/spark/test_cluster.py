"""Spark with two executor processes, its documents and its example; the journal is the witness."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession
from tests.programs import run_program
from tests.server_answers import answer, operations
from tests.spark.on_spark import FIRST, SECOND, command_line_of, processes_of, rows_of
from tests.test_docs import SPARK_PAGE, code_of

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


QUICK = """
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.driver.memory 512m
spark.sql.session.timeZone UTC
spark.ui.showConsoleProgress false
"""

EXAMPLES = """
import doctest

import adanalytics_client.spark

done = doctest.testmod(adanalytics_client.spark, extraglobs={**globals()})
assert done.attempted == 2
assert done.failed == 0
"""


def test_the_page_and_the_docstrings_run(server: LocalServer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join([*code_of(SPARK_PAGE, tests=False), EXAMPLES]))
    (tmp_path / "spark-defaults.conf").write_text(QUICK)
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    done = run_program([sys.executable, program], cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_job.py"


def test_the_example_writes_hours_and_prints_the_figures_of_the_service(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client.from_env() as client:
        events = client.events(FIRST, SECOND).to_arrow()
        summary = client.summary(FIRST, SECOND, group_by="day").rows
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    done = run_program([sys.executable, EXAMPLE, str(FIRST), str(SECOND)], timeout=300)
    assert done.returncode == 0, done.stderr
    assert server.api_key not in done.stdout + done.stderr
    shown = [line.split("|") for line in done.stdout.splitlines() if line.startswith("|2026")]
    assert [[cell.strip() for cell in line[1:-1]] for line in shown] == [
        [str(row.date), str(row.impressions), str(row.revenue)] for row in summary
    ]
    written = pyarrow.dataset.dataset("events/data", schema=events.schema)
    assert rows_of(written.to_table()) == rows_of(events)
