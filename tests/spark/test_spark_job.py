"""The example of a Spark job runs as a program of its own."""

import sys
from pathlib import Path

import pyarrow.dataset
import pytest
from tests.programs import run_program
from tests.spark.on_spark import FIRST, SECOND, rows_of

from adanalytics_client import Client
from adanalytics_server.local import LocalServer

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
