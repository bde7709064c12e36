"""Requests per million events: the service answers 1,000 an hour."""

import csv
import re
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from adanalytics_client import QuotaState
from adanalytics_client.pricing import Estimate, prices
from proof.measuring import ProofError, run
from proof.report import Figures, Section
from proof.service import DAY, PARTNER, PROGRAM, Service, server_command, serving

SIZES = [1_000, 100_000, 1_000_000, 20_000_000]
# Of the largest of these, only the peaked day is pulled; larger ones are planned only.
REAL, QUICK_REAL = 1_000_000, 1_000
PAGE, DEFAULT_PAGE = 10_000, 1_000
EVENING = range(18, 22)
WAYS = ["hourly", "auto", "none", "default"]


@dataclass(frozen=True)
class Load:
    """A day with so many events."""

    events: int
    peaked: bool

    @property
    def shape(self) -> str:
        return "peaked" if self.peaked else "flat"

    def hours(self) -> list[int]:
        """Return the number of events in each hour."""
        evening = self.events * 2 // 3 // len(EVENING) if self.peaked else 0
        others = 24 - len(EVENING) if self.peaked else 24
        other, left = divmod(self.events - evening * len(EVENING), others)
        counts = [evening if self.peaked and hour in EVENING else other for hour in range(24)]
        # What cannot be divided evenly is spread over the first hours.
        return [each + (hour < left) for hour, each in enumerate(counts)]


LOADS = [Load(events, peaked) for events in SIZES for peaked in (False, True)]


def planned(load: Load) -> dict[str, int]:
    """Return the requests of each way."""
    day = date.fromisoformat(DAY)
    unlimited = QuotaState(None, None, None)
    by_way = {
        price.way: price.requests
        for price in prices(Estimate(day, day, {day: load.events}), unlimited)
    }
    hourly = sum(_pages(events) for events in load.hours())
    auto = by_way["auto"]
    if auto >= by_way["hourly"]:
        # It pulls the hours, too, after the requests that its plan costs.
        auto += hourly - by_way["hourly"]
    else:
        auto += load.events % PAGE == 0
    # At the end, the client requests the service's count of a pull that becomes a file.
    return {
        "hourly": hourly + 1,
        "auto": auto + 1,
        "none": _pages(load.events) + 1,
        "default": -(-load.events // DEFAULT_PAGE),
    }


def _pages(events: int) -> int:
    """Return the requests of a query; after a full last page, the client looks for another one."""
    return max(1, -(-events // PAGE)) + (events > 0 and events % PAGE == 0)


def measure(quick: bool) -> Section:
    """Plan all days, and pull the smaller ones."""
    most = QUICK_REAL if quick else REAL
    real = [load for load in LOADS if load.events < most or load == Load(most, peaked=True)]
    found = _pull(real)
    rows, shares = [], []
    for load in LOADS:
        plan, least = planned(load), -(-load.events // PAGE)
        rows.append([f"{load.events:,}", load.shape, _cell(least, load)])
        rows[-1].extend(_cell(plan[way], load) for way in WAYS)
        rows[-1].append(_verdict(plan, found[load]) if load in found else "planned only")
        shares.append(plan["auto"] / least)
    differing = sum(planned(load) != requests for load, requests in found.items())
    unplanned = "days whose pulls took another number of requests than planned"
    return Section(
        Figures(
            "Requests",
            {"requests of a day at worst / fewest possible": max(shares), unplanned: differing},
            {unplanned: 0},
        ),
        columns=["Events", "Hours", "Least", *WAYS, "Real pulls"],
        rows=rows,
    )


def _cell(requests: int, load: Load) -> str:
    return f"{requests:,} ({requests * 1e6 / load.events:,.0f})"


def _verdict(plan: dict[str, int], found: dict[str, int]) -> str:
    differing = [f"{way}: {found[way]:,}" for way in WAYS if found[way] != plan[way]]
    return ", ".join(differing) or "the same"


def _day_of(load: Load) -> str:
    return str(date.fromisoformat(DAY) + timedelta(days=LOADS.index(load)))


def _pull(loads: list[Load]) -> dict[Load, dict[str, int]]:
    """Pull each day in each way, and return the requests that the server counted."""

    def fill(data: Path) -> None:
        with TemporaryDirectory() as name:
            for load in loads:
                file = Path(name, f"{_day_of(load)}.csv")
                _write(load, file)
                server_command("load", str(file), "--partner", PARTNER, data=data)

    with serving(fill, options=["--dialect", "rate-headers"]) as service:
        return {load: {way: _requests(service, load, way) for way in WAYS} for load in loads}


def _write(load: Load, file: Path) -> None:
    day = _day_of(load)
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["event_time", "event_type", "supply_tag_id"])
        for hour, events in enumerate(load.hours()):
            for number in range(events):
                second, millisecond = divmod(number * 3_600_000 // events, 1000)
                at = f"{hour:02}:{second // 60:02}:{second % 60:02}.{millisecond:03}"
                writer.writerow([f"{day}T{at}Z", "impression", number % 7])


def _requests(service: Service, load: Load, way: str) -> int:
    before = _left(service)
    day = _day_of(load)
    if way == "default":
        _pull_by_default(service, day)
    else:
        with TemporaryDirectory(dir=service.folder) as name:
            target = Path(name, "x.jsonl")
            run(
                [*PROGRAM, "events", day, "--split", way, "-o", target],
                environment={**service.environment, "XDG_STATE_HOME": name},
                folder=Path(name),
            )
            with target.open("rb") as file:
                pulled = sum(1 for _ in file)
            if pulled != load.events:
                raise ProofError(f"{way}: {pulled:,} of {load.events:,} events.")
    # The question for what is left counts, too.
    return before - _left(service) - 1


def _left(service: Service) -> int:
    """Return the requests that the server still allows."""
    with httpx.Client(headers={"Authorization": f"Bearer {service.key}"}) as http:
        dates = service.events_url.replace("/events", "/dates")
        answer = http.get(dates).raise_for_status()
    found = re.search(r"r=(\d+)", answer.headers["RateLimit"])
    if found is None:
        raise ProofError(f"RateLimit: {answer.headers['RateLimit']}")
    return int(found[1])


def _pull_by_default(service: Service, day: str) -> None:
    """Pull a day in one query without naming the size of a page."""
    query = {"start_date": day, "end_date": day}
    headers = {"Authorization": f"Bearer {service.key}"}
    with httpx.Client(headers=headers, timeout=60) as http:
        for page in count(1):
            answer = http.get(service.events_url, params={**query, "page": str(page)})
            meta = answer.raise_for_status().json()["meta"]
            if page * meta["per_page"] >= meta["total"]:
                break
