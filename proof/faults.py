"""What the client makes of a server that misbehaves, and of a dataset that was damaged.

Each try has one of five outcomes: the same rows as without a fault; an error of the client's own
classes; other rows with a warning in the log; another error; or other rows without a word. The last
two must not happen.
"""

import csv
import logging
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory
from typing import Any, get_args

import httpx
import pyarrow.dataset as pads

from adanalytics_client import AdAnalyticsError, Client, RetryPolicy
from adanalytics_client.dataset import Dataset, PartFormat
from adanalytics_client.testing import MovableClock
from adanalytics_server.faults import DIALECTS
from adanalytics_server.local import LocalServer, Sample
from proof.report import Section
from proof.service import PROGRAM

FIRST, LAST = "2026-01-15", "2026-01-16"
SAMPLE = Sample(days=2, events_per_day=400, seed=7)
# Fewer files for each dataset to write.
HOURS = ("03", "12", "13")
SEEDS, QUICK_SEEDS = 300, 20
COLUMNS = ("event_id", "event_time", "event_type", "supply_tag_id", "country", "revenue", "cost")
SAME, TYPED, WARNED = "same", "typed error", "warned"
OTHER, SILENT = "other error", "silent"
OUTCOMES = (SAME, TYPED, WARNED, OTHER, SILENT)
# A minute of the movable clock passes in some ten questions: enough for an export that is made.
EXPORT_SECONDS = 600.0
QUERY = f"SELECT {', '.join(COLUMNS)} FROM events"
EXPLANATION = """\
The reference server misbehaves in every way that it can ({faults} sentences of its language of
faults, each for ever, once, and once after a first good answer), in each of its {dialects}
dialects, and in {seeds} random combinations of two or three faults, half of them in a dialect. Each
operation is tried on {events} events of two days, the pages so small that there are several. The
rows must be those that the server sends to plain HTTP without faults. *Typed error* is an error of
the client's classes, for the command line an exit status with a sentence; a sync that says which
hours are left counts as one, if the hours that it committed are right. *Silent* means other rows
without an error.

Files of a dataset are also cut, emptied, removed, exchanged with others or changed in one bit. A
query reads what the files hold and does not check their sums, so that it notices only damage that
makes a file unreadable; verify compares the sums and has to notice all of it.
"""
ALL = ("events", "summary", "export", "sync by pages", "sync by export", "query")
STATUSES = (200, 204, 301, 304, 400, 401, 403, 404, 409, 410, 418, 425, 429, 500, 502, 503, 504)
EFFECTS = (
    *map(str, STATUSES),
    "429 retry-after 5",
    "503 retry-after 5",
    "latency 2ms",
    "reset",
    "empty reply",
    "truncated body",
    "truncated gzip",
    "slow body 5ms",
    "bad json",
    "wrong content type",
    "html page",
    "page drift on events",
    "page drift 20 on events",
    "stuck export on start_export",
    "failed export on start_export",
    "expired url on start_export",
    "expired url on export_status",
)
TIMES = ("always", "once", "once after 1")
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


def essence(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Return the rows in one form, wherever they come from, and in one order."""
    return sorted(tuple(_text(row[name]) for name in COLUMNS) for row in rows)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    if isinstance(value, Decimal):
        return format(value, "f")
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

    def client(self) -> Client:
        return Client(
            self.server.url,
            api_key=self.server.api_key,
            partner=self.server.partner,
            limit=None,
            quota_log="memory",
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
        if outcome == SILENT and warnings:
            outcome = WARNED
        self.tally.add(operation, outcome, f"{what} {failure}")

    def _tried(self, client: Client, operation: str) -> str:
        if operation == "events":
            paged = client.events(FIRST, LAST, split="daily", per_page=20, concurrency=2)
            return self._compared(essence(paged.rows()))
        if operation == "summary":
            found = client.summary(FIRST, LAST, group_by="campaign").rows
            return SAME if found == self.truth.summary else SILENT
        if operation == "export":
            file = client.export(FIRST, LAST, to=self.folder / "x.csv", timeout=EXPORT_SECONDS)
            return self._compared(csv_rows(file))
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
            return self._compared(held)
        return TYPED if self.truth.has_hours(held) else SILENT

    def queried(self, dataset: Dataset) -> str:
        return self._compared(essence(dataset.query(QUERY).to_pylist()))

    def _compared(self, found: Rows) -> str:
        return SAME if found == self.truth.events else SILENT


def csv_rows(file: Path) -> Rows:
    with file.open(newline="") as stream:
        return essence(csv.DictReader(stream))


def held_rows(place: Path) -> Rows:
    """Read what is visible in a dataset of Parquet with pyarrow alone."""
    files = sorted(map(str, place.glob("data/*/*/*.parquet")))
    return essence(pads.dataset(files).to_table().to_pylist()) if files else []


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
    events: list[dict[str, Any]] = answer.raise_for_status().json()["events"]
    return events


def combination(dice: random.Random) -> list[str]:
    """Return two or three faults that strike at random."""
    some = dice.sample(EFFECTS, dice.choice((2, 3)))
    chance = f"with probability 0.{dice.randint(1, 5)} seed {dice.randint(1, 999)}"
    times = (chance, "once", "twice", "once per request")
    return [f"{fault} {dice.choice(times)}" for fault in some]


def command_line(at: Trial, faults: Sequence[str], folder: Path) -> None:
    """Pull the events by the command, which has the time of the machine."""
    at.server.reset()
    at.server.faults.add(*faults)
    file = folder / "events.csv"
    file.unlink(missing_ok=True)
    access = {"ADANALYTICS_BASE_URL": at.server.url, "ADANALYTICS_API_KEY": at.server.api_key}
    state = {"XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(
        [*PROGRAM, "--partner", at.server.partner, "events", FIRST, LAST, "-o", str(file)],
        env={**os.environ, **access, **state},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 0:
        outcome = SAME if csv_rows(file) == at.truth.events else SILENT
    else:
        told = done.stderr.strip() and "Traceback" not in done.stderr and not file.exists()
        outcome = TYPED if told else OTHER
    at.tally.add("command line: events", outcome, f"{faults} {done.stderr}")


def damage(place: Path, dice: random.Random) -> str:
    """Damage one file of a dataset, and return what was done."""
    files = [*sorted(place.glob("data/*/*/*")), *sorted(place.glob("_adanalytics/manifest/*"))]
    file = dice.choice(files)
    kind = dice.choice(("cut", "emptied", "removed", "exchanged", "changed"))
    held = file.read_bytes()
    at = dice.randrange(len(held))
    if kind == "removed":
        file.unlink()
    elif kind == "exchanged":
        file.write_bytes(dice.choice([each for each in files if each != file]).read_bytes())
    else:
        changed = held[:at] + bytes([held[at] ^ 1 << dice.randrange(8)]) + held[at + 1 :]
        file.write_bytes({"cut": held[:at], "emptied": b"", "changed": changed}[kind])
    return f"{file.relative_to(place)} {kind} at {at}"


def damaged_datasets(at: Trial, seeds: int) -> None:
    """Damage datasets in every format; query and verify each, then repair it by a sync."""
    at.server.reset()
    for form in get_args(PartFormat):
        whole, place = at.folder / f"whole-{form}", at.folder / f"damaged-{form}"
        with at.client() as client:
            Dataset(whole, format=form).sync(client, FIRST, LAST)
        for seed in range(seeds):
            rmtree(place, ignore_errors=True)
            copytree(whole, place)
            what = f"seed {seed}: {form}: {damage(place, random.Random(seed))}"
            dataset = Dataset(place)
            at.count(f"query of a damaged dataset, {form}", partial(at.queried, dataset), what)
            at.count("verify of a damaged dataset", partial(_verified, dataset), what)


def _verified(dataset: Dataset) -> str:
    return SILENT if dataset.verify(None).is_whole else TYPED


def measure(quick: bool) -> Section:
    """Try every fault and dialect alone, then random combinations, then damage."""
    seeds = QUICK_SEEDS if quick else SEEDS
    tally, truth = Tally(), find_truth()
    with trial(tally, truth) as at:
        for effect in EFFECTS:
            for times in TIMES[-1:] if quick else TIMES:
                at.each([f"{effect} {times}"])
        damaged_datasets(at, seeds // 10)
        for seed in range(seeds // 10):
            command_line(at, combination(random.Random(f"command {seed}")), at.folder)
    dialects = ["reference", *list(DIALECTS)[:: 5 if quick else 1]]
    for number, dialect in enumerate(dialects):
        with trial(tally, truth, dialect=dialect) as at:
            at.each([])
            # Half of the combinations are in the reference dialect.
            ours = range(seeds // 2) if not number else range(seeds // 2, seeds)
            step = 1 if not number else len(dialects) - 1
            for seed in ours[max(0, number - 1) :: step]:
                dice = random.Random(seed)
                at.each(combination(dice), dice.sample(ALL, 2))
    for line in tally.wrong:
        print(line)
    figures = {
        f"{operation}, {outcome}": float(counts[outcome])
        for operation, counts in tally.counts.items()
        for outcome in OUTCOMES
    }
    return Section(
        title="Faults",
        explanation=EXPLANATION.format(
            faults=len(EFFECTS), dialects=len(DIALECTS), seeds=seeds, events=len(truth.events)
        ),
        columns=["Operation", "Tries", *(outcome.capitalize() for outcome in OUTCOMES)],
        rows=[
            [operation, str(counts.total()), *(str(counts[outcome]) for outcome in OUTCOMES)]
            for operation, counts in tally.counts.items()
        ],
        figures=figures,
        commands=["python -m proof --section faults"],
    )
