"""CPU and memory of a sync as a whole process, by pages and by export, against limits.

    python benchmarks/cli_sync.py [EVENTS]

Each `adanalytics sync` is its own process, measured from start to end, against a server in this
process. The ratio is events per CPU second against the project's own limit: 100,000 by hourly
pages, and 200,000 rows from the csv of a bulk export to hourly parquet.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from adanalytics_client import Client
from adanalytics_client.dataset.layout import hours_of
from adanalytics_client.dataset.partition import HourPartition
from adanalytics_client.dataset.parts import write_hour
from adanalytics_client.dataset.tables import EventTables
from adanalytics_server.local import LocalServer, Sample

PAGES_A_SECOND = 100_000
ROWS_A_SECOND = 200_000
MOST_MEGABYTES = 300


def sync(server: LocalServer, folder: Path, via: str) -> tuple[float, float]:
    """Run a sync and return its CPU seconds and its peak resident megabytes."""
    environment = {
        **os.environ,
        "ADANALYTICS_BASE_URL": server.url,
        "ADANALYTICS_API_KEY": server.api_key,
        "ADANALYTICS_PARTNER": server.partner,
        "XDG_STATE_HOME": str(folder / "state"),
    }
    words = ["sync", "--to", str(folder / via), "--via", via]
    process = subprocess.Popen([sys.executable, "-m", "adanalytics_cli", *words], env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def split(file: Path, folder: Path) -> float:
    """Split a csv into hourly parquet and return the CPU seconds."""
    folder.mkdir()
    tables = EventTables()
    before = time.process_time()
    partition = HourPartition(folder)
    for table in tables.from_file(file):
        partition.add(table)
    for hour in hours_of(Sample().start):
        write_hour(hour, partition.take(hour), folder, "parquet", hour.start)
    return time.process_time() - before


def say(what: str, ratio: float, limit: str) -> None:
    print(f"{what:<64} {ratio:>6.2f}   {limit}")


def main(events: int) -> None:
    """Generate a day and sync it in each way."""
    sample = Sample(days=1, events_per_day=events, seed=1)
    with (
        TemporaryDirectory() as name,
        LocalServer(sample=sample, rate_limit=0) as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        folder = Path(name)
        print(f"{events:,} events of one day")
        for via in ("pages", "export"):
            seconds, megabytes = sync(server, folder, via)
            rate = events / seconds
            say(
                f"{via}: {rate:,.0f} events per CPU second / {PAGES_A_SECOND:,}",
                rate / PAGES_A_SECOND,
                "at least 1" if via == "pages" else "for information",
            )
            say(
                f"{via}: {megabytes:.0f} MB resident / {MOST_MEGABYTES}",
                megabytes / MOST_MEGABYTES,
                "at most 1" if via == "pages" else "for information",
            )
        file = client.export(sample.start, to=folder / "day.csv")
        split(file, folder / "warm")
        rate = events / split(file, folder / "split")
        say(
            f"csv to hourly parquet: {rate:,.0f} rows per CPU second / {ROWS_A_SECOND:,}",
            rate / ROWS_A_SECOND,
            "at least 1",
        )
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
