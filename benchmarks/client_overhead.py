"""CPU time that the client adds to an httpx request, and to the import of httpx and pydantic.

    python benchmarks/client_overhead.py [REQUESTS]

Only the CPU time of this process counts; the server runs in its own process. The client's log of
sends is a file, as it is by default.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
from server_process import server

from adanalytics_client import Client
from adanalytics_server.local import LocalServer, Sample

# Short rounds, each compared within itself, since the machine has other work meanwhile.
ROUNDS = 100
# More than are sent, so that each answer still states what is left, as usual.
LIMIT = 100_000
IMPORTS = 21
INFORMATION = "for information"
PEERS = "import httpx, pydantic"
OURS = "from adanalytics_client import Client"
WITHOUT_PEERS = "import adanalytics_client"
PEER_MODELS = "import httpx; from pydantic import BaseModel"
OUR_MODELS = "from adanalytics_client import Client, Event"


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, str]]:
    """Start a reference server in its own process and give its address and a key."""
    with LocalServer(data=folder, sample=Sample(events_per_day=100), rate_limit=0) as local:
        key = local.api_key
    with server(folder, requests_an_hour=LIMIT) as running:
        yield running.url, key


def cost(work: Callable[[], object], requests: int) -> float:
    """Return the CPU seconds of one run of the work."""
    before = time.process_time()
    for _ in range(requests):
        work()
    return (time.process_time() - before) / requests


def requesting(url: str, key: str, state: Path, requests: int) -> None:
    """Request the days with data, in turns with httpx alone and with the client; print medians."""
    address = f"{url}/api/partners/acme/ad-analytics/dates"
    headers = {"Authorization": f"Bearer {key}"}
    with (
        httpx.Client(headers=headers) as bare,
        Client(url, api_key=key, partner="acme", limit=LIMIT, quota_log=state) as shared,
        Client(url, api_key=key, partner="acme", limit=LIMIT, quota_log="memory") as alone,
    ):
        ways: dict[str, Callable[[], object]] = {
            "bare": lambda: bare.get(address).raise_for_status(),
            "shared": shared.dates,
            "memory": alone.dates,
        }
        rounds = [
            {name: cost(work, max(1, requests // ROUNDS)) for name, work in ways.items()}
            for _ in range(ROUNDS + 1)
        ][1:]
    bare_cost = median(each["bare"] for each in rounds)
    print(f"{bare_cost * 1e6:.0f} microseconds of CPU for one request with httpx alone")
    say("what the client adds / one httpx request", added(rounds, "shared"), "at most 0.3")
    say("the same with the log in memory", added(rounds, "memory"), INFORMATION)


def added(rounds: list[dict[str, float]], name: str) -> float:
    """Return the median of the rounds; one lucky round of a side would decide the minimum."""
    return median((each[name] - each["bare"]) / each["bare"] for each in rounds)


def importing() -> None:
    """Import in fresh processes, in turns; print the median of the ratios within each turn."""
    ways = {
        OURS: (PEERS, "import of Client / import of httpx and pydantic", "at most 1.2"),
        WITHOUT_PEERS: (PEERS, "import of the package alone / the same", INFORMATION),
        OUR_MODELS: (PEER_MODELS, "import of Client and Event / httpx and BaseModel", INFORMATION),
    }
    codes = ("pass", PEERS, PEER_MODELS, *ways)
    turns = [{code: import_cost(code) for code in codes} for _ in range(IMPORTS + 1)][1:]
    for ours, (peer, what, goal) in ways.items():
        ratios = [(turn[ours] - turn["pass"]) / (turn[peer] - turn["pass"]) for turn in turns]
        say(what, median(ratios), goal)


def import_cost(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def say(what: str, value: float, limit: str) -> None:
    print(f"{what:<58} {value:>7.2f}   {limit}")


def main(requests: int) -> None:
    """Measure requests, then imports."""
    with TemporaryDirectory() as name, service(Path(name, "data")) as (url, key):
        requesting(url, key, Path(name, "state"), requests)
    importing()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
