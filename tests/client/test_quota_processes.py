"""Several real processes on one key, against a server that counts too, in virtual time."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.client.frozen_time import FROZEN, HOUR, Worker, most_in_an_hour, run_all

from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer

LIMIT = 7
REQUESTS = 12

WORKER = (
    FROZEN
    + """
import os
from adanalytics_client import Client, QuotaPolicy, RetryPolicy
from pathlib import Path

url, folder, requests, reserve = sys.argv[1:]
told = Frozen()
told.begin()
client = Client(
    url,
    api_key=os.environ["KEY"],
    partner="acme",
    quota=QuotaPolicy(limit=7, reserve=int(reserve), max_wait=1e9, log=Path(folder)),
    retry=RetryPolicy(budget=1e9),
    clock=told,
)
for _ in range(int(requests)):
    client.dates()
"""
)


def test_three_processes_never_pass_the_limit_in_any_hour(tmp_path: Path) -> None:
    clock = Clock()
    clock.freeze(datetime(2027, 1, 15, 8, tzinfo=UTC))
    with LocalServer(clock=clock, rate_limit=LIMIT) as server:
        workers = [_start(server, tmp_path, reserve) for reserve in (0, 0, 2)]
        assert run_all(workers, clock) == [0, 0, 0]
        entries = server.journal.entries()
    assert [each.status for each in entries] == [200] * len(workers) * REQUESTS
    moments = [each.at for each in entries]
    assert moments[-1] - moments[0] >= 4 * HOUR
    assert most_in_an_hour(moments) <= LIMIT


def _start(server: LocalServer, folder: Path, reserve: int) -> Worker:
    command = [sys.executable, "-c", WORKER, server.url, folder, REQUESTS, reserve]
    return Worker.start([str(each) for each in command], {"KEY": server.api_key, "PATH": ""})
