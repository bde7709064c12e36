"""CPU time of storing and serving events, as ratios against the simplest way to do the same.

    python benchmarks/server_store.py [EVENTS]

Each ratio is the CPU time of this process against that of the named peer in the same run.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from adanalytics_server.api.summaries import read_summary
from adanalytics_server.seed.generate import Sample, generate
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import decode_event, record_of
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import read_page, read_spans
from adanalytics_server.storage.store import PartnerStore

START = date(2026, 1, 15)
PER_PAGE = 10_000


def cpu_seconds(work: Callable[[], object], *, repeats: int = 1) -> float:
    """Return the CPU time of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def say(what: str, ratio: float, limit: str) -> None:
    print(f"{what:<58} {ratio:>6.2f}   {limit}")


def loading(folder: Path, store: PartnerStore, days: DayRange) -> None:
    """Load records into an empty store, and compare with executemany of the same bodies."""
    spans = read_spans(store, days)
    bodies = read_page(store, days, page=1, per_page=min(100_000, sum(s.n for s in spans)))
    records = []
    for number, body in enumerate(split_pieces(bodies.pieces)):
        record = record_of(decode_event(body), body, time=1_768_435_200_000 + number * 800)
        records.append(record._replace(event_id=os.urandom(16)))
    fresh = PartnerStore(folder / "fresh")
    ours = cpu_seconds(lambda: ingest(fresh, records))
    fresh.close()

    def plain() -> None:
        with closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, body TEXT)")
            connection.execute("BEGIN")
            connection.executemany(
                "INSERT INTO events VALUES (?, ?)",
                ((number, record.body) for number, record in enumerate(records)),
            )
            connection.execute("COMMIT")

    say("rate of a load / plain executemany", cpu_seconds(plain) / ours, "at least 0.5")


def paging(store: PartnerStore, days: DayRange) -> None:
    """Compare a page at the end of the range with the first one."""
    total = sum(span.n for span in read_spans(store, days))
    last = total // PER_PAGE
    first = cpu_seconds(lambda: read_page(store, days, page=1, per_page=PER_PAGE), repeats=9)
    deep = cpu_seconds(lambda: read_page(store, days, page=last, per_page=PER_PAGE), repeats=9)
    say(f"page {last} / page 1, of {PER_PAGE:,} events", deep / first, "at most 1.2")


def summing(store: PartnerStore, small: PartnerStore, days: DayRange) -> None:
    """Summarise all days, and compare with a tenth of the events."""
    for group_by in ("day", "campaign", "demand_tag"):

        def summary(of: PartnerStore, group_by: str = group_by) -> None:
            read_summary(of, days, group_by=group_by, currency="USD")

        many = cpu_seconds(lambda: summary(store), repeats=30)
        few = cpu_seconds(lambda: summary(small), repeats=30)
        say(f"milliseconds of a summary by {group_by}", many * 1000, "at most 10")
        say("  / of a tenth of the events", many / few, "at most 1.3")


def fill(store: PartnerStore, events: int) -> None:
    """Generate that many events over ten days."""
    sample = Sample(start=START, days=10, events_per_day=events // 10, seed=1)
    generate(store, sample, partner_id="acme", currency="USD")


def main(events: int) -> None:
    """Generate events over ten days and measure."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        store, small = PartnerStore(folder / "1"), PartnerStore(folder / "2")
        days = DayRange(START, START + timedelta(days=9))
        fill(store, events)
        fill(small, events // 10)
        print(f"{events:,} events over 10 days")
        loading(folder, store, days)
        paging(store, days)
        summing(store, small, days)
        store.close()
        small.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
