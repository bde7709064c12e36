"""Spark for the tests: one JVM for each pytest process, or the reason why it cannot run.

Planning and reading happen in Python workers that the JVM starts. They have the environment of the
JVM's start: what a test changes in `os.environ` does not reach them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.in_process import FIRST

from adanalytics_client.spark import QuotaServer
from adanalytics_server.local import LocalServer, Sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark 4 runs on Java 17 and 21: https://spark.apache.org/docs/latest/#downloading
OLDEST_JAVA = 17


def what_is_missing() -> str | None:
    """Why Spark cannot run here; None when it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed; make test-spark installs it"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"Java {OLDEST_JAVA} or later is not installed"
    found = re.search(r'version "(\d+)', answer.stderr)
    if found is None or int(found[1]) < OLDEST_JAVA:
        return f"Spark needs Java {OLDEST_JAVA} or later, not: {answer.stderr.splitlines()[0]}"
    return None


MISSING = what_is_missing()


class SkippedModule(pytest.Module):
    """A module that is not imported, because it imports pyspark."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip(MISSING or "")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    kind = SkippedModule if MISSING else pytest.Module
    module: pytest.Module = kind.from_parent(parent, path=module_path)
    module.add_marker(pytest.mark.spark)
    return module


@pytest.fixture(scope="session")
def spark_settings(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The settings of all sessions, and the environment of the one JVM that they share."""
    import pyspark

    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        # Else workers run the python3 of PATH, which has none of our packages.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # Executors run elsewhere, and import the classes of the tests.
        patch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
        # local-cluster finds the program of its executors there.
        patch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield {
            # Short runs: compile quickly, and take little memory.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.python.filterPushdown.enabled": "true",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.worker.dir": str(folder / "work"),
        }
        stop_jvm()


def stop_jvm() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if (session := SparkSession.getActiveSession()) is not None:
        session.stop()
    if (gateway := SparkContext._gateway) is not None:
        gateway.shutdown()
        # The JVM ends when its stdin does.
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)


def start(settings: dict[str, str], master: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@pytest.fixture(scope="module")
def spark(spark_settings: dict[str, str]) -> "SparkSession":
    """A session whose two tasks are threads of the driver; the next module goes on with it."""
    return start(spark_settings, "local[2]")


@pytest.fixture(scope="module")
def cluster(spark_settings: dict[str, str]) -> "Iterator[SparkSession]":
    """A session with two executors, each a process with one core and 1 GiB.

    A process has one Spark at a time, so this one replaces `spark` and stops after the module.
    """
    from pyspark.sql import SparkSession

    if (session := SparkSession.getActiveSession()) is not None:
        session.stop()
    session = start(spark_settings, "local-cluster[2,1,1024]")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def reference() -> Iterator[LocalServer]:
    """The reference server with two generated days; exports are done by its worker."""
    sample = Sample(days=2, events_per_day=1_500, seed=7)
    with LocalServer(sample=sample, export_inline_max=100) as server:
        yield server


@pytest.fixture(scope="module")
def started() -> Iterator[LocalServer]:
    """A reference server with two small days."""
    with LocalServer(sample=Sample(start=FIRST, days=2, events_per_day=300, seed=7)) as server:
        yield server


@pytest.fixture
def server(started: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The same, as at its start, in the variables of this process."""
    started.reset()
    monkeypatch.setenv("ADANALYTICS_BASE_URL", started.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", started.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", started.partner)
    return started


@pytest.fixture(params=["export", "pages"])
def via(request: pytest.FixtureRequest, server: LocalServer) -> Iterator[dict[str, object]]:
    """The options of each way to read."""
    if request.param == "export":
        yield {}
    else:
        with QuotaServer.from_env() as quota:
            yield {"via": "pages", "maxRequests": 100, "quotaServer": quota.address}


@pytest.fixture
def pages(server: LocalServer) -> Iterator[dict[str, object]]:
    """The options to read by pages."""
    with QuotaServer.from_env() as quota:
        yield {"via": "pages", "quotaServer": quota.address, "maxRequests": 100}
