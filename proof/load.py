"""Pulls of every kind while the data change, and what must hold all the time.

    python -m proof.load [--minutes N]

`make proof` does it for a minute, `make load` for ten.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID

import click
import httpx
import msgspec
from rich.console import Console

from adanalytics_server.admin import create_key
from proof.measuring import ProofError
from proof.puller import LIMIT, WAYS, Held, digests
from proof.report import Section, count_outcomes, table
from proof.service import EMAIL, PROGRAM, Service, generated, server_command, serving
from proof.trial import FIRST, LAST, OTHER, SAME, TYPED, WARNED, essence, held_rows

SECONDS, QUICK_SECONDS = 60.0, 5.0
EVENTS_A_DAY, QUICK_EVENTS_A_DAY = 6_000, 1_500
VIOLATED = "violations"
# In ten minutes it settles at 330 to 380, of which the programs and libraries are 70.
MOST_MEGABYTES = 500
OUTCOMES = (SAME, TYPED, WARNED, OTHER, VIOLATED)
# Longer than the worst wait of a busy machine; a server that hangs answers never.
LIVE_SECONDS = 5.0
ROOT = Path(__file__).parent.parent
Rows = list[dict[str, Any]]


@dataclass
class State:
    """What the server held between two moments; the first is that at which a load began.

    Attributes:
        hours: a digest of each.
        days: amounts, as in a summary.
    """

    hours: Held
    days: Held
    began: float
    ended: float = float("inf")


@dataclass
class History:
    """The events of each hour now, and all states so far."""

    events: dict[str, Rows]
    states: list[State] = field(default_factory=list)

    def begin(self, hour: str, changed: Rows) -> None:
        """Note that a load begins; until its end, the server may be in either state."""
        self.events[hour] = changed
        day, moment = hour[:10], time.monotonic()
        before = self.states[-1] if self.states else State({}, {}, moment)
        hours = before.hours | digests(essence(changed))
        self.states.append(State(hours, before.days | {day: self._totals(day)}, moment))

    def end(self) -> None:
        """Note that the server has the last state now."""
        self.states[-2].ended = time.monotonic()

    def _totals(self, day: str) -> str:
        rows = [row for hour, rows in self.events.items() if hour[:10] == day for row in rows]
        counted = [row for row in rows if not row["is_filtered"]]
        impressions = sum(row["event_type"] == "impression" for row in counted)
        revenue, cost = (
            sum((Decimal(row[name] or 0) for row in counted), Decimal(0))
            for name in ("revenue", "cost")
        )
        return f"{impressions} {revenue:f} {cost:f}"

    def allows(self, way: str, held: Held, began: float, ended: float) -> bool:
        """Return whether a pull between two moments may have found this."""
        states = [each for each in self.states if each.began <= ended and each.ended >= began]
        if way == "query":
            # The other process may not have brought all hours yet.
            known = [state.hours for state in self.states if state.began <= ended]
            return all(any(of.get(each) == held[each] for of in known) for each in held)
        if way == "summary":
            return held in [state.days for state in states]
        if way == "export":
            return held in [state.hours for state in states]
        return held.keys() == states[0].hours.keys() and all(
            digest in [state.hours[hour] for state in states] for hour, digest in held.items()
        )


def change(service: Service, history: History, dice: random.Random) -> None:
    """Load events into an hour, or replace all of its events."""
    hour = dice.choice(sorted(history.events))
    held = history.events[hour]
    new = [_another(dice.choice(held), dice) for _ in range(dice.randint(1, 200))]
    replaces = dice.random() < 0.5
    file = service.folder / "to-load.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in new))
    history.begin(hour, new if replaces else held + new)
    words = ["load", str(file), "--partner", "acme", *["--replace-hours"] * replaces]
    server_command(*words, data=service.folder / "data")
    history.end()


def _another(row: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Return an event like this one in the same hour."""
    second = f"{dice.randrange(60):02}:{dice.randrange(60):02}.{dice.randrange(1000):03}Z"
    moment = f"{row['event_time'][:14]}{second}"
    return {**row, "event_id": str(UUID(int=dice.getrandbits(128))), "event_time": moment}


def begin(service: Service) -> History:
    """Ask for all events over plain HTTP."""
    hours: dict[str, Rows] = {}
    query = {"start_date": FIRST, "end_date": LAST, "per_page": "10000"}
    with httpx.Client(headers={"Authorization": f"Bearer {service.key}"}) as http:
        for page in ("1", "2"):
            answer = http.get(service.events_url, params={**query, "page": page})
            for row in answer.raise_for_status().json()["data"]:
                hours.setdefault(row["event_time"][:13], []).append(row)
    history = History({})
    for hour, rows in hours.items():
        history.begin(hour, rows)
    del history.states[:-1]
    return history


@contextmanager
def watched(service: Service) -> Iterator[list[bool]]:
    """Ask for /livez all the time, and note whether it answers."""
    answered: list[bool] = []
    over = Event()

    def watch() -> None:
        with httpx.Client(timeout=LIVE_SECONDS) as http:
            while not over.wait(0.1):
                try:
                    answered.append(http.get(f"{service.url}/livez").is_success)
                except httpx.HTTPError:
                    answered.append(False)

    thread = Thread(target=watch)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()


def load(seconds: float, *, events_a_day: int = EVENTS_A_DAY) -> Section:
    """Pull in all ways while the data change, then look at what was pulled."""
    counts: dict[str, Counter[str]] = {}
    dice = random.Random(26)
    options = ["--export-inline-max", "1000"]
    with serving(generated(events_a_day, days=2), limit=LIMIT, options=options) as service:
        history = begin(service)
        data = service.folder / "data"
        keys = [
            create_key(data, EMAIL, name=f"key {number}") for number in range(int(10 + seconds))
        ]
        environment = {**os.environ, **service.environment, "PROOF_KEYS": " ".join(keys)}
        service.process.forget_peak()
        with watched(service) as answered:
            pullers = {way: _puller(way, seconds, service, environment) for way in WAYS}
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                change(service, history, dice)
            for way, puller in pullers.items():
                # The pull that was under way may wait for a server that is busy.
                if puller.wait(timeout=120):
                    raise ProofError(f"{way}: {_told(service, way)[-2000:]}")
                counts[way] = _judged(way, _told(service, way).splitlines(), history)
        megabytes = service.process.megabytes
        log = Path(f"/proc/{service.process.number}/fd/2").read_text()
        # GET /path 200 3.1 ms 24 bytes key:1
        requests = re.findall(r" (\d{3}) [\d.]+ ms .*key:(\d+)", log)
        for name in ("by-pages", "by-export"):
            whole = _is_whole(service, Path(service.folder, name), keys[-1], history.states[-1])
            counts[f"dataset `{name}`, at the end"] = Counter({SAME if whole else VIOLATED: 1})
    used = len({key for _, key in requests})
    counts[f"requests with {used} keys, none over quota"] = Counter(
        VIOLATED if status == "429" else SAME for status, _ in requests
    )
    counts["responses of `/livez`"] = Counter(SAME if each else VIOLATED for each in answered)
    counts[f"memory of the server: {megabytes:.0f} MB"] = Counter(
        {SAME if megabytes <= MOST_MEGABYTES else VIOLATED: 1}
    )
    tries = {what: (of.total(), of) for what, of in counts.items()}
    return count_outcomes("Mixed load", tries, OUTCOMES, {WARNED: None, VIOLATED: 0})


def _puller(
    way: str, seconds: float, service: Service, environment: dict[str, str]
) -> "subprocess.Popen[str]":
    # Files, because nobody reads a pipe before the end.
    with Path(service.folder, f"{way}.jsonl").open("w") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "proof.puller", way, str(seconds), service.folder],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
        )


def _told(service: Service, way: str) -> str:
    return Path(service.folder, f"{way}.jsonl").read_text()


def _judged(way: str, lines: Sequence[str], history: History) -> Counter[str]:
    """Count the pulls that a process told about."""
    counts = Counter[str]()
    for line in lines:
        pull = json.loads(line)
        outcome, held = pull["outcome"], pull["held"]
        if outcome == SAME and not history.allows(way, held, pull["began"], pull["ended"]):
            outcome = WARNED if pull["warned"] else VIOLATED
        if outcome in {VIOLATED, OTHER}:
            print(f"{way}: {outcome}: {line}")
        counts[outcome] += 1
    return counts


def _is_whole(service: Service, place: Path, key: str, last: State) -> bool:
    """Sync once more, verify, and compare with what the server holds."""
    environment = {**os.environ, **service.environment, "ADANALYTICS_API_KEY": key}
    for words in (["sync", FIRST, LAST, "--to", str(place)], ["verify", str(place)]):
        command = [*PROGRAM, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{words}: {done.stderr}")
            return False
    return digests(held_rows(place)) == last.hours


def measure(quick: bool) -> Section:
    """Load the server for a while."""
    return load(QUICK_SECONDS, events_a_day=QUICK_EVENTS_A_DAY) if quick else load(SECONDS)


@click.command(context_settings={"show_default": True})
@click.option("--minutes", default=10.0, help="How long to pull.")
def main(*, minutes: float) -> None:
    """Pull in all ways while the data change, and print what was violated."""
    section = load(minutes * 60)
    Console(width=None if sys.stdout.isatty() else 160).print(table(section))
    sys.exit(section.figures.values[VIOLATED] > 0)


if __name__ == "__main__":
    main()
