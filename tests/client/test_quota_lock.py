"""What the lock on the quota's file is for: two processes at the same place at the same moment."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

import pytest

# The process stops between reading the log and writing to it, and goes on when it is told.
TAKER = """
import os, sys
from pathlib import Path
from adanalytics_client import _quota_store
from adanalytics_client._quota import Quota
from adanalytics_client._quota_records import Moment

reached, released = sys.stdout, sys.stdin
write = _quota_store._OpenFile.write

def stopped(self, offset, data):
    if not stopped.once:
        stopped.once = True
        print("inside", flush=True)
        released.readline()
    write(self, offset, data)

stopped.once = False
_quota_store._OpenFile.write = stopped
store = _quota_store.FileStore(Path(sys.argv[1]))
quota = Quota(10, reserve=0, store=store, now=lambda: Moment(1.8e9, 1000.0))
print("outside", flush=True)
released.readline()
print(quota.take().number, flush=True)
"""


class Taker:
    """A process that says where it is, and goes on when it is told."""

    def __init__(self, log: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKER, str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def has_said_more(self) -> bool:
        assert self.process.stdout
        return bool(select.select([self.process.stdout], [], [], 0.01)[0])

    def go_on(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def waits_for_a_lock(self) -> bool:
        waiting = f" {self.process.pid} "
        lines = Path("/proc/locks").read_text().splitlines()
        return any("->" in line and "FLOCK" in line and waiting in line for line in lines)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's list of locks")
def test_two_processes_released_together_take_two_places(tmp_path: Path) -> None:
    first, second = Taker(tmp_path / "one.log"), Taker(tmp_path / "one.log")
    try:
        assert [first.said(), second.said()] == ["outside", "outside"]
        first.go_on()
        assert first.said() == "inside"
        second.go_on()
        # It comes as far as the first, or it waits for the first: there is nothing else.
        while not (met := second.has_said_more()) and not second.waits_for_a_lock():
            assert second.process.poll() is None
        first.go_on()
        numbers = [first.said()]
        assert second.said() == "inside"
        second.go_on()
        numbers.append(second.said())
    finally:
        for each in (first, second):
            each.process.kill()
            each.process.communicate()
    assert numbers == ["0", "1"]
    assert not met
