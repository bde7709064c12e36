"""The folder of a task, and those of killed ones."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from adanalytics_client.spark.scratch import scratch_folder

KILLED = """
import os
from adanalytics_client.spark.scratch import scratch_folder

with scratch_folder() as folder:
    (folder / "2026-01-15.csv.part").write_text("event_id")
    os.kill(os.getpid(), 9)
"""


def test_the_folder_of_a_killed_task_is_removed_and_that_of_a_running_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = [sys.executable, "-c", KILLED]
    assert subprocess.run(command, env={"TMPDIR": str(tmp_path)}, check=False).returncode == -9
    (left,) = tmp_path.iterdir()
    with scratch_folder() as running:
        assert not left.exists()
        with scratch_folder() as second:
            assert {*tmp_path.iterdir()} == {running, second}
    assert [*tmp_path.iterdir()] == []
