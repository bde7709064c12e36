"""Two runs of the program on one key: together they never pass the limit in any hour."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.client.frozen_time import FROZEN, HOUR, Worker, most_in_an_hour, run_all

from adanalytics_server.clock import Clock
from adanalytics_server.faults import Entry
from adanalytics_server.local import LocalServer

LIMIT = 200
# 5 days without events, asked for by the hour: one request each.
HOURS = 5 * 24
PROGRAM = (
    FROZEN
    + """
from adanalytics_client._base.clock import SystemClock
told = Frozen()
for name in ("time", "monotonic", "sleeping", "running"):
    setattr(SystemClock, name, lambda _self, *given, ask=getattr(told, name): ask(*given))
told.begin()
from adanalytics_cli.__main__ import main
main()
"""
)


def test_two_runs_never_send_more_than_the_limit_in_any_hour(tmp_path: Path) -> None:
    clock = Clock()
    clock.freeze(datetime(2027, 1, 15, 8, tzinfo=UTC))
    with LocalServer(clock=clock, rate_limit=LIMIT) as server:
        settings = {
            **os.environ,
            "ADANALYTICS_BASE_URL": server.url,
            "ADANALYTICS_API_KEY": server.api_key,
            "ADANALYTICS_PARTNER": "acme",
        }
        workers = []
        for name in ("one.csv", "two.csv"):
            words = ["events", "2026-03-01", "2026-03-05", "--split", "hourly", "-q"]
            words += ["--rate-limit", str(LIMIT), "--max-wait", "7200"]
            words += ["--concurrency", "1", "-o", str(tmp_path / name)]
            workers.append(Worker.start([sys.executable, "-c", PROGRAM, *words], settings))
        entries: list[Entry] = []

        def note() -> None:
            """The journal holds no more than the requests of an hour."""
            entries.extend(server.journal.entries())
            server.journal.clear()

        assert run_all(workers, clock, before_jump=note) == [0, 0]
    # Each run also asks for the count of its file, and for `dates`, because nothing arrived.
    assert [each.status for each in entries] == [200] * 2 * (HOURS + 2)
    moments = [each.at for each in entries]
    assert moments[-1] - moments[0] >= HOUR
    assert most_in_an_hour(moments) <= LIMIT
