"""What is left when programs are killed, the power is cut, or the machine runs out of something.

Every try looks at what is visible afterwards, then runs the same command again.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import msgspec

from adanalytics_client import AdAnalyticsError, Client, QuotaPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_server.admin import add_partner
from adanalytics_server.local import LocalServer, Sample
from proof.measuring import ProofError
from proof.report import Section, count_outcomes
from proof.service import PROGRAM
from proof.trial import FIRST, LAST, Rows, Truth, csv_rows, essence, held_rows, plain_events

TRIES, QUICK_TRIES = 20, 1
# Each has four kills.
SHARED, QUICK_SHARED = 10, 1
CUTS, QUICK_CUTS = 8, 1
SHORTAGES, QUICK_SHORTAGES = 4, 1
SAMPLE = Sample(days=2, events_per_day=1500, seed=11)
QUOTA = 120
TIME_LIMIT = 120
SAME, TYPED, ENDED, OTHER = "same", "typed error", "killed", "other error"
TORN, WRONG = "half-written", "wrong afterwards"
OUTCOMES = (SAME, TYPED, ENDED, OTHER, TORN, WRONG)
SOURCE = Path(__file__).with_name("forgetful.c")
# Sends requests until the log says that the hour is used up.
SENDER = """
import sys
from pathlib import Path
from adanalytics_client import Client, QuotaExceeded, QuotaPolicy
client = Client(sys.argv[1], api_key=sys.argv[2], partner="acme", quota=QuotaPolicy(
    limit=int(sys.argv[4]), on_limit="raise", log=Path(sys.argv[3])))
print("ready", flush=True)
try:
    while True:
        client.dates()
except QuotaExceeded:
    pass
"""
Found = dict[str, list[list[str]]]
"""The outcomes of each try, by what was tried."""
Disturb = Callable[[], None]


@dataclass(frozen=True)
class Work:
    """A command, what it leaves behind, and how to read that.

    Attributes:
        command: words after `adanalytics`, for the folder to work in.
        read: returns the rows that are visible, or None where there is nothing.
        in_hours: whether some whole hours may be visible before the end.
    """

    name: str
    command: Callable[[Path], Sequence[str | Path]]
    read: Callable[[Path], Rows | None]
    in_hours: bool = False


@dataclass
class Bench:
    """A server that answers slowly, the truth, and the works to disturb."""

    server: LocalServer
    truth: Truth
    folder: Path
    usual: dict[str, float] = field(default_factory=dict)

    def start(
        self,
        work: Work,
        place: Path,
        *,
        limit: Disturb | None = None,
        environment: dict[str, str] | None = None,
    ) -> "subprocess.Popen[str]":
        state = self.folder / "state"
        # Each command has an hour of requests of its own.
        rmtree(state, ignore_errors=True)
        access = {
            "ADANALYTICS_BASE_URL": self.server.url,
            "ADANALYTICS_API_KEY": self.server.api_key,
            "ADANALYTICS_PARTNER": self.server.partner,
            "XDG_STATE_HOME": str(state),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }
        return subprocess.Popen(
            [*PROGRAM, *work.command(place)],
            env={**os.environ, **access, **(environment or {})},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,  # noqa: PLW1509  # there are no threads that hold locks it needs
        )

    def measure_usual(self, work: Work) -> None:
        """Run the work once and note how long it takes."""
        began = datetime.now(UTC)
        with self.place() as place:
            process = self.start(work, place)
            _, said = process.communicate(timeout=TIME_LIMIT)
            if process.returncode or work.read(place) != self.truth.events:
                raise ProofError(f"{work.name} does not work: {said}")
        self.usual[work.name] = (datetime.now(UTC) - began).total_seconds()

    @contextmanager
    def place(self) -> Iterator[Path]:
        with TemporaryDirectory(dir=self.folder) as name:
            yield Path(name)

    def killed(self, work: Work, dice: random.Random, library: Path | None = None) -> list[str]:
        """Kill the work at a random moment; with the library, cut the power as well."""
        with self.place() as place:
            log = self.folder / "written.log"
            log.unlink(missing_ok=True)
            preload = {"LD_PRELOAD": str(library), "FORGETFUL_LOG": str(log)} if library else {}
            process = self.start(work, place, environment=preload)
            usual = self.usual[work.name]
            try:
                process.communicate(timeout=dice.uniform(0.25, 0.9) * usual)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if library and log.exists():
                cut_power(log, place)
            ended = {0: SAME, -9: ENDED}.get(process.returncode, OTHER)
            return [ended, *self.afterwards(work, place)]

    def short_of(self, work: Work, limit: Disturb) -> list[str]:
        """Run the work with a limit of the system."""
        with self.place() as place:
            process = self.start(work, place, limit=limit)
            _, said = process.communicate(timeout=TIME_LIMIT)
            if process.returncode < 0:
                ended = ENDED
            elif process.returncode == 0:
                ended = SAME
            else:
                ours = any(line.startswith("Error: ") for line in said.splitlines())
                told = ours and "This is a bug" not in said
                ended = TYPED if told else OTHER
            return [ended, *self.afterwards(work, place)]

    def afterwards(self, work: Work, place: Path) -> Iterator[str]:
        """Yield what is wrong with what is visible, now and after the command ran again."""
        try:
            rows = work.read(place)
        except Exception:  # noqa: BLE001  # whatever a reader stumbles over was half-written
            yield TORN
        else:
            whole = rows is None or rows == self.truth.events
            if not (whole or (work.in_hours and self.truth.has_hours(rows or []))):
                yield TORN
        again = self.start(work, place)
        _, said = again.communicate(timeout=TIME_LIMIT)
        if again.returncode or work.read(place) != self.truth.events:
            print(f"{work.name}, again: {again.returncode} {said}")
            yield WRONG


def cut_power(log: Path, place: Path) -> None:
    """Forget what was not synced: bytes after the last sync, and names not synced by their folder.

    A file that replaced another keeps its name: what it replaced is gone.
    """
    synced: dict[int, int] = {}
    dirty: set[int] = set()
    named: dict[int, set[Path]] = {}
    for line in log.read_text(errors="replace").splitlines():
        what, number, rest = line.split(" ", 2)
        if what == "W":
            dirty.add(int(number))
        elif what == "S":
            synced[int(number)] = int(rest)
            dirty.discard(int(number))
            named.pop(int(number), None)
        else:
            named.setdefault(int(number), set()).add(Path(rest))
            # A new file may have the number of one that was removed.
            path = Path(rest)
            if path.exists() and not path.stat().st_size:
                synced.pop(path.stat().st_ino, None)
    for file in [each for each in place.rglob("*") if each.is_file()]:
        held = file.stat()
        if held.st_ino in dirty:
            os.truncate(file, min(synced.get(held.st_ino, 0), held.st_size))
    for path in set().union(*named.values()):
        if path.is_relative_to(place):
            path.unlink(missing_ok=True)


def read_csv(place: Path) -> Rows | None:
    file = place / "events.csv"
    return csv_rows(file) if file.exists() else None


def read_loaded(place: Path) -> Rows | None:
    with LocalServer(data=place / "data", rate_limit=0) as server:
        return essence(plain_events(server)) or None


def works(truth: Truth, folder: Path) -> list[Work]:
    """Return the works; the one that loads has its file and its partner."""
    file = folder / "to-load.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in truth.sent))
    empty = folder / "empty"
    add_partner(empty, "acme", name="Acme", currency="USD")

    def load(place: Path) -> Sequence[str | Path]:
        if not (place / "data").exists():
            shutil.copytree(empty, place / "data")
        return ["server", "load", file, "--partner", "acme", "--data", place / "data"]

    return [
        Work(
            "sync",
            lambda place: ["sync", FIRST, LAST, "--via", "pages", "--to", place / "dataset"],
            lambda place: held_rows(place / "dataset") or None,
            in_hours=True,
        ),
        Work("export", lambda place: ["export", FIRST, LAST, "-o", place / "events.csv"], read_csv),
        Work("server load", load, read_loaded),
    ]


def quota(bench: Bench, dice: random.Random) -> list[str]:
    """Kill two senders again and again, let two finish, and count what the server received."""
    bench.server.reset()
    with bench.place() as place:
        words = [bench.server.url, bench.server.api_key, str(place / "log"), str(QUOTA)]

        def start() -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", SENDER, *words]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            process.stdout.readline()
            return process

        both: list[subprocess.Popen[str]] = []
        for rounds in range(3):
            both = [start(), start()]
            for process in both:
                try:
                    # Those of the last round come to the end of the hour.
                    process.wait(TIME_LIMIT if rounds == 2 else dice.uniform(0, 0.1))
                except subprocess.TimeoutExpired:
                    process.kill()
                process.communicate()
        sent = len(bench.server.journal.entries())
    # Each kill may leave one request in the log that was never sent.
    ended = SAME if not any(process.returncode for process in both) else OTHER
    return [ended] if QUOTA - 4 <= sent <= QUOTA else [ended, WRONG]


class Shifted:
    """The machine's clock, so many days off."""

    def __init__(self, days: int) -> None:
        self._seconds = timedelta(days=days).total_seconds()

    def time(self) -> float:
        return datetime.now(UTC).timestamp() + self._seconds

    def monotonic(self) -> float:
        return self.time()

    def sleeping(self, until: float) -> Iterator[float]:
        while (seconds := until - self.monotonic()) > 0:
            yield seconds

    def running(self, change: int) -> None:
        """Nothing: real time passes."""


def with_clock(bench: Bench, days: int) -> Iterator[str]:
    """Read events, an export and a dataset with a clock that is days off."""
    bench.server.reset()
    with (
        bench.place() as place,
        Client(
            bench.server.url,
            api_key=bench.server.api_key,
            partner=bench.server.partner,
            clock=Shifted(days),
            quota=QuotaPolicy(log="memory"),
        ) as client,
    ):

        def synced() -> Rows:
            Dataset(place / "dataset").sync(client, FIRST, LAST)
            return held_rows(place / "dataset")

        ways: list[Callable[[], Rows]] = [
            lambda: essence(client.events(FIRST, LAST, split="auto").rows()),
            lambda: csv_rows(client.export(FIRST, LAST, to=place / "x.csv")),
            synced,
        ]
        for way in ways:
            try:
                yield SAME if way() == bench.truth.events else WRONG
            except AdAnalyticsError:
                yield TYPED


def library(folder: Path) -> Path | None:
    """Compile the library that notes what is written; None without a compiler or on others."""
    if sys.platform != "linux" or not shutil.which("cc"):
        return None
    made = folder / "forgetful.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def limits(dice: random.Random) -> dict[str, Disturb]:
    """Return a random limit of each kind."""
    bytes_ = dice.randrange(100, 200_000)
    return {
        f"{what} ({unit})": partial(resource.setrlimit, kind, (most, most))
        for what, unit, kind, most in (
            ("full disk", "RLIMIT_FSIZE", resource.RLIMIT_FSIZE, bytes_),
            ("few descriptors", "RLIMIT_NOFILE", resource.RLIMIT_NOFILE, dice.randrange(6, 14)),
            ("little memory", "RLIMIT_AS", resource.RLIMIT_AS, dice.randrange(80, 450) << 20),
        )
    }


def measure(quick: bool) -> Section:
    """Disturb every work in every way, each from seeds that stay the same."""
    tries = QUICK_TRIES if quick else TRIES
    cuts = QUICK_CUTS if quick else CUTS
    shortages = QUICK_SHORTAGES if quick else SHORTAGES
    found: Found = {}
    with TemporaryDirectory() as name, LocalServer(sample=SAMPLE, rate_limit=0) as server:
        folder = Path(name)
        sent = plain_events(server)
        bench = Bench(server, Truth(sent, essence(sent), None), folder)
        power = library(folder)
        for work in works(bench.truth, folder):
            bench.measure_usual(work)
            for seed in range(tries):
                dice = random.Random(f"{work.name} {seed}")
                found.setdefault(f"kill -9 of {work.name}", []).append(bench.killed(work, dice))
            for seed in range(cuts if power else 0):
                dice = random.Random(f"{work.name} power {seed}")
                ended = bench.killed(work, dice, power)
                found.setdefault(f"power cut in {work.name}", []).append(ended)
            for seed in range(shortages):
                for what, limit in limits(random.Random(f"{work.name} {seed}")).items():
                    ended = bench.short_of(work, limit)
                    found.setdefault(f"{what}, {work.name}", []).append(ended)
        for seed in range(QUICK_SHARED if quick else SHARED):
            ended = quota(bench, random.Random(f"quota {seed}"))
            found.setdefault("kill -9 of two programs that share a quota", []).append(ended)
        for days in (-365, 365):
            found.setdefault("clock a year off", []).extend(
                [each] for each in with_clock(bench, days)
            )
    section = section_of("Kills, power cuts and shortages", found)
    if power is None:
        reason = "power cuts: not tried, which needs Linux and a C compiler"
        section.rows.append([reason, "0", *[""] * len(OUTCOMES)])
    return section


def section_of(title: str, found: Found) -> Section:
    """Return the section of these tries, each of which may have several outcomes."""
    tries = {
        what: (len(outcomes), Counter(each for one in outcomes for each in one))
        for what, outcomes in found.items()
    }
    return count_outcomes(title, tries, OUTCOMES, {TORN: 0, WRONG: 0})
