"""A server with a truth, on which each operation is tried, and what each try came to."""

import csv
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pyarrow.dataset as pads

from adanalytics_client import AdAnalyticsError, Client, QuotaPolicy, RetryPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_client.testing import MovableClock
from adanalytics_server.local import LocalServer, Sample
from proof.report import Section, count_outcomes

FIRST, LAST = "2026-01-15", "2026-01-16"
SAMPLE = Sample(days=2, events_per_day=400, seed=7)
# Fewer files for each dataset to write.
HOURS = ("03", "12", "13")
# All but the map of keys and values, which has another form in each format.
COLUMNS = (
    *("event_id", "event_time", "event_date", "event_hour", "received_at", "event_type"),
    *("auction_id", "partner_id", "supply_tag_id", "demand_tag_id", "campaign_id", "creative_id"),
    *("deal_id", "media_type", "device_type", "country", "os", "currency", "revenue", "cost"),
    *("payment_type", "domain", "app_bundle", "error_code", "is_filtered"),
)
# What a warning has to say about rows that are others.
WARNINGS = ("the data may have changed meanwhile", "has other days with data is not known")
SAME, TYPED, WARNED = "same", "typed error", "warned"
OTHER, SILENT = "other error", "silent"
OUTCOMES = (SAME, TYPED, WARNED, OTHER, SILENT)
# A minute of the movable clock passes in some ten questions: enough for an export that is made.
EXPORT_SECONDS = 600.0
QUERY = f"SELECT {', '.join(COLUMNS)} FROM events"
ALL = ("events", "summary", "export", "download", "sync by pages", "sync by export", "query")
Row = tuple[str, ...]
Rows = list[Row]


@dataclass
class Tally:
    """Outcomes by operation, and a line about each that is neither the same nor a typed error."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, operation: str, outcome: str, what: str) -> None:
        self.counts.setdefault(operation, Counter())[outcome] += 1
        if outcome in {OTHER, SILENT}:
            self.wrong.append(f"{operation}: {what}: {outcome}")

    def section(
        self, title: str, outcomes: Sequence[str], goals: dict[str, float | None]
    ) -> Section:
        """Return the section; print what must not happen."""
        for line in self.wrong:
            print(line)
        tries = {name: (counts.total(), counts) for name, counts in self.counts.items()}
        return count_outcomes(title, tries, outcomes, goals)


def essence(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Return the rows in one form, wherever they come from, and in one order."""
    return sorted(tuple(_text(row[name]) for name in COLUMNS) for row in rows)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@contextmanager
def warnings_logged() -> Iterator[list[str]]:
    """Collect the warnings of the client, instead of printing them."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    logger, collector = logging.getLogger("adanalytics_client"), Collector(logging.WARNING)
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)


def is_told(warnings: Iterable[str]) -> bool:
    """Return whether the warnings say that rows may be others."""
    return any(text in each for each in warnings for text in WARNINGS)


@dataclass(frozen=True)
class Truth:
    """What the server holds: events as it sends them, their rows in one form, and the summary."""

    sent: list[dict[str, Any]]
    events: Rows
    summary: object

    def has_hours(self, found: Rows) -> bool:
        """Return whether these rows are some hours, each as a whole."""
        hours = {row[1][:13] for row in found}
        return found == [row for row in self.events if row[1][:13] in hours]


@dataclass
class Trial:
    """A running server on which every operation can be tried under faults."""

    server: LocalServer
    clock: MovableClock
    truth: Truth
    folder: Path
    tally: Tally

    def client(self, url: str = "") -> Client:
        return Client(
            url or self.server.url,
            api_key=self.server.api_key,
            partner=self.server.partner,
            quota=QuotaPolicy(limit=None, log="memory"),
            # On a moved clock the waits of one request pass for all.
            retry=RetryPolicy(attempts=3, budget=1e9),
            clock=self.clock,
        )

    def each(self, faults: Sequence[str], operations: Sequence[str] = ALL) -> None:
        """Try the operations with these faults, each from the same state."""
        for operation in operations:
            self.server.reset()
            self.clock.of_server.freeze()
            self.server.faults.add(*faults)
            with self.client() as client:
                work = partial(self._tried, client, operation)
                what = f"{self.server.settings.dialect} {faults}"
                self.count(operation, work, what)

    def count(self, operation: str, work: Callable[[], str], what: str) -> None:
        """Do the work, and count the outcome that it returns or raises."""
        failure = ""
        with warnings_logged() as warnings:
            try:
                outcome = work()
            except AdAnalyticsError as error:
                outcome = TYPED if error.message else OTHER
            except Exception as error:  # noqa: BLE001  # it is what is counted
                outcome, failure = OTHER, repr(error)
        if outcome == SILENT and is_told(warnings):
            outcome = WARNED
        self.tally.add(operation, outcome, f"{what} {failure}")

    def _tried(self, client: Client, operation: str) -> str:
        if operation == "events":
            paged = client.events(FIRST, LAST, split="daily", per_page=20, concurrency=2)
            return self.compared(essence(paged.rows()))
        if operation == "summary":
            found = client.summary(FIRST, LAST, group_by="campaign").rows
            return SAME if found == self.truth.summary else SILENT
        if operation == "download":
            job = client.start_export(FIRST, LAST, format="csv")
            job.wait(timeout=EXPORT_SECONDS)
            return self.compared(csv_rows(job.download(self.folder / "x.csv")))
        if operation == "export":
            file = client.export(FIRST, LAST, to=self.folder / "x.csv", timeout=EXPORT_SECONDS)
            return self.compared(csv_rows(file))
        place = self.folder / "dataset"
        rmtree(place, ignore_errors=True)
        dataset, held = Dataset(place), list[Row]()
        try:
            left = dataset.sync(
                client, FIRST, LAST, via="export" if operation == "sync by export" else "pages"
            ).left
        except AdAnalyticsError:
            left = -1
        if operation == "query":
            held = essence(dataset.query(QUERY).to_pylist())
        else:
            held = held_rows(place)
        if not left:
            return self.compared(held)
        return TYPED if self.truth.has_hours(held) else SILENT

    def compared(self, found: Rows) -> str:
        return SAME if found == self.truth.events else SILENT


def csv_rows(file: Path) -> Rows:
    with file.open(newline="") as stream:
        return essence(csv.DictReader(stream))


def held_rows(place: Path) -> Rows:
    """Read what is visible in a dataset of Parquet with pyarrow alone."""
    files = sorted(map(str, place.glob("data/*/*.parquet")))
    # The column of the hour is ours.
    return (
        essence(pads.dataset(files).to_table().drop_columns(["hour"]).to_pylist()) if files else []
    )


@contextmanager
def trial(tally: Tally, truth: Truth, *, dialect: str = "reference") -> Iterator[Trial]:
    """Start a server that has the events of the truth, in a dialect."""
    clock = MovableClock()
    with (
        TemporaryDirectory() as folder,
        LocalServer(rate_limit=0, dialect=dialect, clock=clock.of_server) as server,
    ):
        server.add_events(truth.sent)
        server.keep()
        yield Trial(server, clock, truth, Path(folder), tally)


def find_truth() -> Truth:
    """Ask a server without faults: its events over plain HTTP, a few hours of each day."""
    with LocalServer(sample=SAMPLE, rate_limit=0) as server:
        generated = plain_events(server)
    with LocalServer(rate_limit=0) as server:
        server.add_events(each for each in generated if each["event_time"][11:13] in HOURS)
        sent = plain_events(server)
        with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
            summary = client.summary(FIRST, LAST, group_by="campaign").rows
    return Truth(sent, essence(sent), summary)


def plain_events(server: LocalServer) -> list[dict[str, Any]]:
    """Return the events as a server sends them in one page."""
    answer = httpx.get(
        f"{server.url}/api/partners/{server.partner}/ad-analytics/events",
        params={"start_date": FIRST, "end_date": LAST, "per_page": 10_000},
        headers={"Authorization": f"Bearer {server.api_key}"},
    )
    events: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return events
