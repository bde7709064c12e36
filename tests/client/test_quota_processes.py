"""Several real processes on one key, against a server that counts too, in virtual time.

Time stands still while any process works. When all wait, it jumps to the moment at which the first
of them wants to go on: hours pass in seconds, and no request is on its way during a jump.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer

LIMIT = 7
REQUESTS = 12

WORKER = """
import os, sys
from adanalytics_client import Client, RetryPolicy
from pathlib import Path

class Told:
    def __init__(self):
        self.now = float(sys.stdin.readline())
    def time(self):
        return self.now
    def monotonic(self):
        return self.now
    def sleeping(self, seconds):
        print(self.now + seconds, flush=True)
        self.now = float(sys.stdin.readline())
        return 0.0

url, folder, requests, reserve = sys.argv[1:]
client = Client(
    url,
    api_key=os.environ["KEY"],
    partner="acme",
    limit=7,
    reserve=int(reserve),
    max_wait=1e9,
    retry=RetryPolicy(budget=1e9),
    quota_log=Path(folder),
    clock=Told(),
)
for _ in range(int(requests)):
    client.dates()
"""


@dataclass
class Worker:
    """A process that tells until when it wants to sleep, and waits to be told the time."""

    process: subprocess.Popen[str]
    until: float = 0.0

    def wake(self, now: float) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{now!r}\n")
        self.process.stdin.flush()

    def works_on(self) -> bool:
        """Wait until it sleeps; False when it has ended instead."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        self.until = float(line or 0)
        return bool(line)


def test_three_processes_never_pass_the_limit_in_any_hour(tmp_path: Path) -> None:
    clock = Clock()
    clock.freeze(1_800_000_000_000)
    with LocalServer(clock=clock, rate_limit=LIMIT) as server:
        workers = [_start(server, tmp_path, reserve) for reserve in (0, 0, 2)]
        now, working, everyone = 1_800_000_000.0, list(workers), list(workers)
        while everyone:
            for worker in working:
                worker.wake(now)
            everyone = [each for each in everyone if each not in working or each.works_on()]
            now = min((each.until for each in everyone), default=now)
            clock.set(round(now * 1000))
            working = [each for each in everyone if each.until <= now]
        for worker in workers:
            worker.process.communicate()
        assert [worker.process.returncode for worker in workers] == [0, 0, 0]
        entries = server.journal.entries()
    assert [each.status for each in entries] == [200] * len(workers) * REQUESTS
    moments = [each.at for each in entries]
    assert moments[-1] - moments[0] >= 4 * 3_600_000
    for moment in moments:
        assert sum(moment - 3_600_000 < each <= moment for each in moments) <= LIMIT


def _start(server: LocalServer, folder: Path, reserve: int) -> Worker:
    command = [sys.executable, "-c", WORKER, server.url, folder, REQUESTS, reserve]
    return Worker(
        subprocess.Popen(
            [str(each) for each in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"KEY": server.api_key, "PATH": ""},
        )
    )
