"""Tasks that are killed at random moments, or run by two machines at the same time.

One round by default; `make test-kill` and `ADANALYTICS_KILLS` choose another number.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset, Part, Task
from adanalytics_client.dataset.hours import sections
from adanalytics_client.dataset.tasks import plan

FIRST, SECOND = "2026-01-15", "2026-01-16"
ROUNDS = int(os.environ.get("ADANALYTICS_KILLS", "1"))
LONGEST = 60
PROGRAM = """
import sys
from adanalytics_client.dataset import Task
print(Task.from_json(sys.stdin.read()).run().to_json())
"""


def start(task: Task) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(task.to_json())
    process.stdin.close()
    process.stdin = None
    return process


def part_of(process: subprocess.Popen[str]) -> Part:
    text, _ = process.communicate(timeout=LONGEST)
    return Part.from_json(text)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_and_speculative_tasks_leave_the_rows_once(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Both days in sections; every other task is killed once, then runs twice at the same time."""
    chance, dataset = random.Random(seed), Dataset(tmp_path / "events")
    monkeypatch.setattr(plan, "TASK_BYTES", 14_000)
    monkeypatch.setattr(sections, "PARQUET_BYTES", 14_000)
    tasks, parts = dataset.tasks(client, FIRST, SECOND), list[Part]()
    assert len(tasks) > 2
    began = time.monotonic()
    part_of(start(tasks[0]))
    usual = time.monotonic() - began
    parts += [task.run() for task in tasks[1::2]]
    for task in tasks[::2]:
        killed = start(task)
        try:
            killed.wait(chance.uniform(0, 1.2 * usual))
        except subprocess.TimeoutExpired:
            killed.kill()
        killed.communicate(timeout=LONGEST)
        parts += map(part_of, [start(task), start(task)])
    chance.shuffle(parts)
    report = dataset.commit(client, parts)
    assert (report.events, report.failed) == (600, [])
    assert dataset.verify(client, deep=True, until=SECOND).is_whole
    assert not [path for path in tmp_path.glob("**/exports/**/*") if path.is_file()]
