"""Memory of a long pull: millions of events through one client, one at a time.

    python -m benchmarks.client_soak [EVENTS]

Pulls a day of 250,000 events again and again, hour by hour with four requests in flight, until
EVENTS events have passed: as dicts, then typed, each in its own process. The growth is that of peak
resident memory since the first small request.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from adanalytics_client import Client, EventQuery, QuotaPolicy
from adanalytics_server.local import LocalServer, Sample
from proof.measuring import Running
from proof.service import serving_folder

DAY = date(2026, 1, 15)
EVENTS_OF_A_DAY = 250_000
WAYS: dict[str, Callable[[EventQuery], Iterable[object]]] = {
    "rows()": EventQuery.rows,
    "typed": iter,
}
KEY = "ADANALYTICS_API_KEY"
MODULE = "benchmarks.client_soak"


def pull(client: Client, events: int, read: Callable[[EventQuery], Iterable[object]]) -> int:
    """Pull until at least that many events have passed, and return their number."""
    passed = 0
    while passed < events:
        for _event in read(client.events(DAY)):
            passed += 1
    return passed


def measure(url: str, key: str, what: str, events: int) -> None:
    """Pull in one way and print the memory growth of this process."""
    with Client(url, api_key=key, partner="acme", quota=QuotaPolicy(limit=None)) as client:
        client.dates()
        process = Running(os.getpid())
        before = process.megabytes
        passed = pull(client, events, WAYS[what])
        grown = process.megabytes - before
    measured = f"megabytes of growth after {passed:,} events, {what}"
    print(f"{measured:<66} {grown:>6.0f}   at most 150", flush=True)


def main(events: int) -> None:
    """Serve a day from one process, and pull it in each way from another."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        sample = Sample(start=DAY, days=1, events_per_day=EVENTS_OF_A_DAY, seed=1)
        with LocalServer(data=folder, sample=sample, rate_limit=0) as local:
            key = local.api_key
        with serving_folder(folder, options=["--rate-limit", "0"]) as (url, _):
            for what in WAYS:
                command = [sys.executable, "-m", MODULE, str(events), what, url]
                subprocess.run(command, check=True, env={**os.environ, KEY: key})


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    if len(sys.argv) > 2:
        measure(sys.argv[3], os.environ[KEY], sys.argv[2], count)
    else:
        main(count)
