"""CPU time of a page over HTTP, and the server's latency and memory meanwhile.

    python benchmarks/server_http.py [EVENTS]

The server runs in its own process. It reports its CPU time, and its memory is read from /proc.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
from server_process import ServerProcess, server

from adanalytics_server.local import LocalServer, Sample

START = date(2026, 1, 15)
DAYS = 10
PER_PAGE = 10_000
PAGES = 20
ROUNDS = 20
REPEATS = 8
EVENTS_URL = "/api/partners/acme/ad-analytics/events"
EXPORT_URL = "/api/partners/acme/ad-analytics/bulk-export"


def say(what: str, value: float, limit: str) -> None:
    print(f"{what:<58} {value:>7.2f}   {limit}")


def range_query(page: int) -> dict[str, str]:
    return {
        "start_date": START.isoformat(),
        "end_date": (START + timedelta(days=DAYS - 1)).isoformat(),
        "per_page": str(PER_PAGE),
        "page": str(page),
    }


def costs(running: ServerProcess, *works: Callable[[], object]) -> list[float]:
    """Return the server's CPU seconds for one run of each work, the median of some rounds.

    A round takes each work in turn, so that what else the machine does is for all of them. The
    least would be luck: how much of the receiving is booked to the sender depends on which of
    them sleeps when, and differs by half from round to round.
    """
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        rounds.append([])
        for work in works:
            before = running.cpu_seconds()
            for _ in range(REPEATS):
                work()
            rounds[-1].append((running.cpu_seconds() - before) / REPEATS)
    return list(map(median, zip(*rounds, strict=True)))


def pages(running: ServerProcess, http: httpx.Client, events: int) -> None:
    """Compare a page with fixed bytes of the same length, and the last page with the first."""
    last = events // PER_PAGE

    def get(address: str, **query: str) -> None:
        with http.stream("GET", address, params=query) as answer:
            answer.raise_for_status()
            for _ in answer.iter_raw():
                pass

    memory, file, first, deep = costs(
        running,
        lambda: get("/memory"),
        lambda: get("/file"),
        lambda: get(EVENTS_URL, **range_query(1)),
        lambda: get(EVENTS_URL, **range_query(last)),
    )
    say(f"page of {PER_PAGE:,} / the same bytes from memory", first / memory, "at most 2.7")
    say(f"page of {PER_PAGE:,} / the same bytes from a file", first / file, "for information")
    say(f"page {last} / page 1", deep / first, "at most 1.2")


def liveness(running: ServerProcess, http: httpx.Client) -> None:
    """Request /livez while four clients pull pages."""
    waits = []
    with ThreadPoolExecutor(4) as pool:
        pulls = [pool.submit(pull, running.url, http.headers["authorization"]) for _ in range(4)]
        while not all(pull.done() for pull in pulls):
            before = time.perf_counter()
            http.get("/livez").raise_for_status()
            waits.append(time.perf_counter() - before)
        for done in pulls:
            done.result()
    waits.sort()
    worst = waits[int(len(waits) * 0.99)] * 1000
    say(f"milliseconds of /livez at p99, of {len(waits)}", worst, "at most 50")


def pull(url: str, authorization: str) -> None:
    """Pull pages in another process, so that this one measures only the server's waits."""
    program = (
        "import os, sys, httpx\n"
        "with httpx.Client(headers={'Authorization': os.environ['BENCH_KEY']}) as http:\n"
        f"    for _ in range({PAGES}):\n"
        "        with http.stream('GET', sys.argv[1]) as answer:\n"
        "            for _ in answer.iter_raw():\n"
        "                pass\n"
    )
    address = str(httpx.URL(url + EVENTS_URL, params=range_query(1)))
    environment = {**os.environ, "BENCH_KEY": authorization}
    subprocess.run([sys.executable, "-c", program, address], check=True, env=environment)


def exporting(running: ServerProcess, http: httpx.Client) -> None:
    """Export everything in every format, and print the peak memory."""
    query = range_query(1)
    for form in ("csv", "jsonl", "parquet"):
        body = {name: query[name] for name in ("start_date", "end_date")} | {"format": form}
        job = http.post(EXPORT_URL, json=body, timeout=600).json()
        while httpx.get(job["download_url"], headers={"Range": "bytes=0-0"}).status_code == 202:
            time.sleep(0.05)
        say(f"peak resident megabytes, with {form}", running.megabytes(), "at most 250")


def main(events: int) -> None:
    """Generate events over ten days, serve them and measure."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        sample = Sample(start=START, days=DAYS, events_per_day=events // DAYS, seed=1)
        with LocalServer(data=folder, sample=sample, rate_limit=0) as local:
            headers = {"Authorization": f"Bearer {local.api_key}"}
            page = httpx.get(local.url + EVENTS_URL, params=range_query(1), headers=headers)
            (folder / "page.json").write_bytes(page.content)
        print(f"{events:,} events over {DAYS} days")
        with (
            server(folder) as running,
            httpx.Client(base_url=running.url, headers=headers, timeout=60) as http,
        ):
            pages(running, http, events)
            liveness(running, http)
            say("peak resident megabytes, after pages", running.megabytes(), "at most 250")
            exporting(running, http)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
