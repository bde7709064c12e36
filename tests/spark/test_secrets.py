"""Neither the credential nor a signed address is in any text that Spark shows or writes."""

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from tests.spark.on_spark import FIRST, command_line_of, processes_of

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_client.spark import sync
from adanalytics_server.local import LocalServer

UI_PAGES = (
    "api/v1/applications/{id}/environment",
    "api/v1/applications/{id}/jobs",
    "api/v1/applications/{id}/sql?details=true&planDescription=true",
    "api/v1/applications/{id}/stages?details=true",
    "SQL/execution/?id=0",
    "environment/",
    "stages/",
)
# A part of a text's name, and something that such a text holds when it is the right one.
MARKERS = {
    "plan": "FileScan parquet",
    "error": "418",
    "environment": "spark.eventLog.dir",
    "event_log": "FileScan parquet",
    "driver.log": "DEBUG",
    "executor.log": "DEBUG",
    "process": "CoarseGrainedExecutorBackend",
}


@pytest.fixture(scope="module")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event_log")


@pytest.fixture(scope="module")
def cluster_settings(event_log: Path) -> dict[str, str]:
    return {
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(event_log),
        "spark.eventLog.enabled": "true",
        "spark.executor.defaultJavaOptions": "-Dlog.level=debug",
        "spark.log.level": "DEBUG",
        "spark.task.maxFailures": "1",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
    }


def shown_by_ui(session: SparkSession) -> Iterator[tuple[str, str]]:
    context = session.sparkContext
    # A proxy of this machine is not meant for loopback addresses.
    opener = build_opener(ProxyHandler({}))
    for page in UI_PAGES:
        path = page.format(id=context.applicationId)
        with opener.open(f"{context.uiWebUrl}/{path}", timeout=60) as answer:
            yield path, answer.read().decode()


def written_to(*folders: Path) -> Iterator[tuple[str, str]]:
    for path in (each for folder in folders for each in folder.rglob("*") if each.is_file()):
        yield str(path), path.read_text(errors="replace")


def test_no_text_of_spark_holds_a_secret(
    cluster: SparkSession, server: LocalServer, spark_folder: Path, event_log: Path, tmp_path: Path
) -> None:
    with Client.from_env() as client:
        events = sync(cluster, Dataset(tmp_path / "events"), client, FIRST)
        with redirect_stdout(StringIO()) as plan:
            events.explain("extended")
        assert events.count() == 300
        server.faults.add("418 on download")
        with pytest.raises(PythonException) as caught:
            sync(cluster, Dataset(tmp_path / "others"), client, FIRST)
    texts = {"plan": plan.getvalue(), "error": str(caught.value)}
    texts |= dict(shown_by_ui(cluster))
    texts |= dict(written_to(event_log, spark_folder / "home" / "work"))
    texts |= {"driver.log": (spark_folder / "driver.log").read_text()}
    texts |= {f"process {pid}": command_line_of(pid) for pid in processes_of(cluster)}
    secret = re.compile(f"{server.api_key}|[?&]signature=\\w")
    assert [name for name, text in texts.items() if secret.search(text)] == []
    for name, marker in MARKERS.items():
        assert any(marker in text for each, text in texts.items() if name in each), name
