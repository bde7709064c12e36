"""Spark for the tests: one JVM for each pytest process, or the reason why it cannot run."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.on_spark import FIRST

from adanalytics_server.local import LocalServer, Sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

StartSpark = Callable[..., "SparkSession"]

# Spark 4 runs on Java 17 and 21: https://spark.apache.org/docs/latest/#downloading
OLDEST_JAVA = 17
# https://logging.apache.org/log4j/2.x/manual/configuration.html
LOGGING = """
rootLogger.level = ${sys:log.level:-warn}
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c{1}: %m%n%ex
"""


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
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Spark finds its settings and writes its logs."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def start_spark(started: LocalServer, spark_folder: Path) -> Iterator[StartSpark]:
    """Starts a session in the place of the one before; a process has one JVM, and one at a time."""
    import pyspark
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # local-cluster finds the program of its executors there, and keeps their logs in work/. Without
    # python/lib/pyspark.zip, which is not compiled, a worker starts 1.3 s sooner.
    home = spark_folder / "home"
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name not in {"python", "work"}:
            (home / each.name).symlink_to(each)
    (spark_folder / "log4j2.properties").write_text(LOGGING)
    # Short runs: compile quickly, and take little memory.
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog.file="
    settings = {
        "spark.driver.extraJavaOptions": f"{options}{spark_folder}/driver.log",
        "spark.driver.memory": "512m",
        # In the folder of each executor.
        "spark.executor.extraJavaOptions": f"{options}executor.log",
        "spark.local.dir": str(spark_folder / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(spark_folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    environment = {
        # As in the environment of a user, which Spark must not show.
        "ADANALYTICS_API_KEY": started.api_key,
        # Else workers run the python3 of PATH, which has none of our packages.
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(spark_folder),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # A setting for finding errors, and the worst case for secrets.
        "SPARK_TRACEBACK_WITH_LOCALS": "1",
    }

    def stop() -> None:
        if (session := SparkSession.getActiveSession()) is not None:
            session.stop()

    def start(master: str, **others: str) -> SparkSession:
        stop()
        with pytest.MonkeyPatch.context() as patch:
            for name, text in environment.items():
                patch.setenv(name, text)
            builder = SparkSession.builder.master(master).config(map=settings | others)
            return builder.getOrCreate()

    yield start
    stop()
    if (gateway := SparkContext._gateway) is not None:
        gateway.shutdown()
        # The JVM ends when its stdin does.
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)


@pytest.fixture(scope="module")
def cluster_settings() -> dict[str, str]:
    """Settings of `cluster` that a module adds."""
    return {}


@pytest.fixture(scope="module")
def cluster(start_spark: StartSpark, cluster_settings: dict[str, str]) -> "SparkSession":
    """A session with two executors, each a process with one core and 1 GiB."""
    return start_spark("local-cluster[2,1,1024]", **cluster_settings)


@pytest.fixture(scope="session")
def started() -> Iterator[LocalServer]:
    """A reference server with two small days."""
    with LocalServer(sample=Sample(start=FIRST, days=2, events_per_day=300, seed=7)) as server:
        yield server


@pytest.fixture
def server(started: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """The same in the variables of this process; afterwards it is as at its start."""
    monkeypatch.setenv("ADANALYTICS_BASE_URL", started.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", started.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", started.partner)
    yield started
    started.reset()
