"""One log of sends under processes that begin together, fork, are killed, or fill the disk."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adanalytics_client._quota.store import open_store
from adanalytics_client._quota.window import Moment, Permit, Quota, Wait

LIMIT = 400

BEGIN = """
import os, sys, time
from pathlib import Path
from adanalytics_client._quota.window import Moment, Quota, Permit
from adanalytics_client._quota.store import open_store

def now():
    return Moment(time.time(), time.monotonic())

def quota_of(limit):
    return Quota(limit, reserve=0, store=open_store(Path(sys.argv[1]), "one", {}), now=now)

def take_all(quota):
    taken = 0
    while isinstance(sent := quota.take(), Permit):
        quota.settle(sent, None)
        taken += 1
    return taken
"""

HAMMER = """
quota = quota_of(400)
while True:
    sent = quota.take()
    print(getattr(sent, "number", "held"), flush=True)
    if isinstance(sent, Permit):
        quota.settle(sent, None)
"""

TOGETHER = """
print("ready", flush=True)
sys.stdin.readline()
print(take_all(quota_of(400)), flush=True)
"""

# Python 3.12 warns of every fork beside a thread, which is what this one is about.
FORKS = """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
quota = quota_of(400)
taken = [take_all(quota_of(40))]
busy = threading.Thread(target=lambda: taken.append(take_all(quota)))
busy.start()
ends = []
for _ in range(4):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, str(take_all(quota)).encode())
        os._exit(0)
    os.close(writer)
    ends.append(reader)
busy.join()
print(sum(taken) + sum(int(os.read(each, 99)) for each in ends), take_all(quota))
"""

FULL_DISK = """
import resource
quota = quota_of(3000)
quota.settle(quota.take(), None)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
print(1 + take_all(quota))
"""


def started(program: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN + program, str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def quota_of(folder: Path) -> Quota:
    store = open_store(folder, "one", {})
    now = lambda: Moment(time.time(), time.monotonic())  # noqa: E731  # shorter than a function
    return Quota(LIMIT, reserve=0, store=store, now=now)


def test_killed_at_any_instant_the_log_is_whole_and_counts_every_send(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two processes write as fast as they can and are killed, again and again."""
    seen, chance = list[str](), random.Random(7)
    for _ in range(4):
        processes = [started(HAMMER, tmp_path) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 60)):
                seen.append(process.stdout.readline().strip())
            process.kill()
        for process in processes:
            with process:
                assert process.stdout is not None
                seen.extend(each for each in process.stdout.read().split("\n")[:-1] if each)
    numbers = [each for each in seen if each != "held"]
    assert len(numbers) == len(set(numbers))
    left = quota_of(tmp_path).state().remaining
    assert left is not None
    # Each process may have noted one send and been killed before it said so.
    assert 0 <= LIMIT - left - len(numbers) <= 8
    assert caplog.messages == []


def test_processes_that_begin_together_take_the_limit_between_them(tmp_path: Path) -> None:
    processes = [started(TOGETHER, tmp_path / "new") for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate() for process in processes]
    assert [error for _, error in said] == [""] * 4
    assert sum(int(output) for output, _ in said) == LIMIT


def test_children_count_with_their_parent_which_sends_meanwhile(tmp_path: Path) -> None:
    output, error = started(FORKS, tmp_path).communicate()
    assert error == ""
    assert output.split() == [str(LIMIT), "0"]


def test_a_full_disk_loses_no_count(tmp_path: Path) -> None:
    output, error = started(FULL_DISK, tmp_path).communicate()
    assert "this client counts its requests alone" in error
    assert output == "3000\n"


def test_a_log_that_is_damaged_while_in_use_is_full_for_all(tmp_path: Path) -> None:
    """Who has the damaged file open must not go on counting in it, apart from the others."""
    first, second = quota_of(tmp_path), quota_of(tmp_path)
    assert isinstance(first.take(), Permit)
    first.store.close()
    assert first.state().remaining == LIMIT - 1
    (tmp_path / "one.sqlite3").write_bytes(b"x" * 8192)
    for each in (second, first):
        assert isinstance(each.take(), Wait)
