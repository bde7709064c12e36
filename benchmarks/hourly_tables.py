"""What hourly syncs leave behind: files, bytes, the cost of an idle sync and of a query.

    python -m benchmarks.hourly_tables [SYNCS] [RETAIN] [PARTITION]

SYNCS hourly syncs, 200 by default, of an hour of 40 events each, with an event that is late by five
hours in every seventh run, and an hour of the day before that is restated in every fortieth. The
same service is pulled into six datasets: plain, Delta and Iceberg, in a folder and in S3 as moto
imitates it, which cannot be told how old a file is. Earlier versions stay readable for RETAIN, the
default of the package if it is left out; `hour` as PARTITION keeps a file for each hour. Then each
dataset is synced five more times, each time by a whole process, without any news, and asked three
questions (a count, a day, a grouping), five times each, by whole processes, too.
Needs `make test-spark`'s packages; 200 syncs take about half an hour.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client.dataset import Dataset, Partition, TableFormat
from adanalytics_client.dataset.records.manifest import Identity, Manifest
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_server.local import LocalServer
from proof.measuring import run, spread

BEGIN = datetime(2026, 1, 15, tzinfo=UTC)
EVENTS = 40
TABLES: tuple[TableFormat | None, ...] = (None, "delta", "iceberg")
IDLE = 5
QUERIES = (
    "SELECT count(*) FROM events",
    "SELECT sum(revenue) FROM events WHERE date = '2026-01-17'",
    "SELECT country, sum(revenue) FROM events GROUP BY country",
)


class Costs(NamedTuple):
    """Seconds of an idle sync's CPU, of its wall clock, and of a query's CPU."""

    idle: float
    wall: float
    query: float


@contextmanager
def imitated_s3(folder: Path) -> Iterator[str]:
    """Serve S3 on this machine from another process; yield the address of a bucket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ |= {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",  # of moto, which takes any
        "AWS_DEFAULT_REGION": "us-east-1",
        "PYICEBERG_CATALOG__S3__URI": f"sqlite:///{folder}/catalog.db",
        "PYICEBERG_CATALOG__S3__S3__ENDPOINT": url,
    }
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                try:
                    urlopen(Request(f"{url}/bucket", method="PUT"))
                    break
                except URLError:
                    time.sleep(0.1)
            yield "s3://bucket"
        finally:
            server.terminate()


def add_hour(server: LocalServer, number: int) -> None:
    """Let an hour have events, and now and then another one more or fewer."""

    def events(hour: int, count: int, mark: int) -> list[dict[str, object]]:
        start = BEGIN + timedelta(hours=hour)
        return [
            {
                "event_time": f"{start:%Y-%m-%dT%H}:{at % 60:02}:00Z",
                "event_id": f"00000000-0000-4000-8000-{hour:06}{mark:03}{at:03}",
                "revenue": f"0.{at + 1:06}",
            }
            for at in range(count)
        ]

    server.add_events(events(number, EVENTS, 0))
    if number % 7 == 6:
        server.add_events(events(number - 5, 1, 1 + number % 9))
    if number % 40 == 39:
        server.add_events(events(number - 24, EVENTS - 1, 0), replace_hours=True)


def _same(now: datetime) -> datetime:
    return now


def sync(dataset: Dataset, client: Client, retain: str | None) -> None:
    # A version of the package before this option has no such argument.
    report = dataset.sync(client, retain=retain) if retain else dataset.sync(client)
    if report.failed:
        raise SystemExit(report.failed[0].message)


def age(log: Path) -> None:
    """Make the files of a Delta log an hour older, by which the log itself forgets them."""
    for file in log.glob("*"):
        at = file.stat().st_mtime - 3600
        os.utime(file, (at, at))


def measure(place: str, table: TableFormat | None, address: str, folder: Path) -> tuple[str, Costs]:
    """Return what a dataset has in files, and the CPU seconds of an idle sync and of a query."""
    program = [sys.executable, "-m", "adanalytics_cli"]
    command = [*program, "--base-url", address, "sync", "--to", place]
    # The first one pulls hours that were not over for the simulated clock.
    costs = [run(command, folder=folder) for _ in range(1 + IDLE)][1:]
    answers = [
        run([*program, "query", query, "--in", place], folder=folder)
        for query in QUERIES
        for _ in range(IDLE)
    ]
    sizes = {**open_store(place).sizes("data"), **open_store(place).sizes("_adanalytics")}
    sizes |= open_store(place).sizes("_delta_log")
    identity, manifest = Identity.require(open_store(place)), Manifest(open_store(place))
    hours = [hour for day in manifest.days() for hour in manifest.day(day).by_hour.items()]
    live = len({identity.part_name(*hour) for hour in hours if hour[1].size})
    idle, query = (spread([cost.cpu for cost in group]) for group in (costs, answers))
    wall = spread([cost.wall for cost in costs])
    count = f"{len(sizes):>6} files, {len(sizes) / live:.1f} for each of {live} live ones"
    size = f"{sum(sizes.values()):>11,} bytes"
    text = f"{table or 'plain':<8}{count}, {size}, idle {idle} s of CPU, {wall} s; query {query} s"
    return text, Costs(idle.median, wall.median, query.median)


def main(syncs: int, retain: str | None = None, partition: Partition | None = None) -> None:
    """Sync the six datasets hour by hour, then measure each."""
    with (
        TemporaryDirectory() as name,
        imitated_s3(Path(name)) as bucket,
        LocalServer(rate_limit=0) as server,
        Client(
            server.url,
            api_key=server.api_key,
            partner=server.partner,
            quota=QuotaPolicy(limit=None),
        ) as client,
    ):
        os.environ |= {"ADANALYTICS_API_KEY": server.api_key, "ADANALYTICS_PARTNER": server.partner}
        places = {
            (root, table): f"{root}/{table or 'plain'}"
            for root in (name, bucket)
            for table in TABLES
        }
        for number in range(syncs):
            add_hour(server, number)
            now = BEGIN + timedelta(hours=number + 1, minutes=10)
            for (root, table), place in places.items():
                if root == name:
                    age(Path(place, "_delta_log"))
                catalog = "s3" if table == "iceberg" and root == bucket else None
                dataset = Dataset(
                    place,
                    table=table,
                    catalog=catalog,
                    partition=partition,
                    clock=partial(_same, now),
                )
                sync(dataset, client, retain if table else None)
        plain = dict[str, Costs]()
        for (root, table), place in places.items():
            text, costs = measure(place, table, server.url, Path(name))
            pairs = zip(costs, plain.setdefault(root, costs), strict=True)
            times = ", ".join(f"{cost / peer:.1f}" for cost, peer in pairs)
            where = "S3" if root == bucket else "disk"
            print(f"{where:<5} {text}; {times} times plain", flush=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if sys.argv[1:] else 200,
        sys.argv[2] if sys.argv[2:] else None,
        "hour" if sys.argv[3:] == ["hour"] else None,
    )
