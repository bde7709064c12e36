"""CPU time of `adanalytics events -o day.jsonl` against a bare httpx download of the same pages.

    python benchmarks/cli_events.py [--short]

Both are whole processes, including start-up, against one `adanalytics serve`; the kernel reports
the user and system time of each. The peer requests the same pages, one after the other over one
connection, and writes the bodies to a file without reading them. The limit is 1.6 times its CPU for
a day of 1,000,000 events. --short uses 200,000 events; there the start of the program, 0.4 s, is a
large part of the whole, so nothing fails.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

LIMIT = 1.6
EVENTS = 1_000_000
SHORT_EVENTS = 200_000
RUNS = 5
PER_PAGE = 10_000
DAY = "2026-01-15"
PROGRAM = [sys.executable, "-m", "adanalytics_cli"]

PEER = """
import os, sys
import httpx
base, target, *pages = sys.argv[1:]
headers = {"authorization": "Bearer " + os.environ["ADANALYTICS_API_KEY"]}
with httpx.Client(headers=headers, timeout=60) as client, open(target, "wb") as file:
    for page in pages:
        answer = client.get(base + page)
        answer.raise_for_status()
        file.write(answer.content)
"""


def run(*words: str, stdin: str = "") -> str:
    """Run the program to its end and return its stdout."""
    done = subprocess.run(
        [*PROGRAM, *words], input=stdin, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def prepare(data: Path, events: int) -> str:
    """Create a partner with one day of events, and return a key to read it."""
    folder = ["--data", str(data)]
    run("server", "partner", "add", "acme", *folder)
    user = ["server", "user", "add", "ada@example.org", "--role", "admin", "--password-stdin"]
    run(*user, *folder, stdin="a long password\n")
    run(
        *("server", "generate", "--partner", "acme", "--start", DAY),
        *("--events-per-day", str(events), *folder),
    )
    return run(*("server", "key", "create", "--user", "ada@example.org", "--name", "k"), *folder)


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """Start a server without a request limit and give its address."""
    words = ["serve", "--port", "0", "--rate-limit", "0", "--data", str(data)]
    server = subprocess.Popen([*PROGRAM, *words], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    url = server.stderr.readline().split()[1]
    # The server keeps logging, and a full pipe would block it.
    with subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL):
        try:
            yield url
        finally:
            server.kill()
            server.wait()


def cpu_seconds(command: list[str], target: Path) -> float:
    """Return the user and system time of one process that writes a new file."""
    target.unlink(missing_ok=True)
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def pages_of(day: Path) -> list[str]:
    """List the pages that hold the events of a file, hour by hour."""
    counts = [0] * 24
    with day.open("rb") as file:
        for line in file:
            at = line.index(b'"event_time":"') + len('"event_time":"2026-01-15T')
            counts[int(line[at : at + 2])] += 1
    query = f"?start_date={DAY}&end_date={DAY}"
    return [
        f"/api/partners/acme/ad-analytics/events{query}&hour={hour}&per_page={PER_PAGE}&page={page}"
        for hour, count in enumerate(counts)
        for page in range(1, 1 + max(1, -(-count // PER_PAGE)))
    ]


def main() -> int:
    """Measure in turns, print the ratio of the shortest times, and fail above the limit."""
    short = "--short" in sys.argv[1:]
    events = SHORT_EVENTS if short else EVENTS
    with TemporaryDirectory() as scratch:
        data, day, saved = Path(scratch, "data"), Path(scratch, "day.jsonl"), Path(scratch, "pages")
        os.environ["XDG_STATE_HOME"] = scratch
        os.environ["XDG_CONFIG_HOME"] = scratch
        os.environ["ADANALYTICS_API_KEY"] = prepare(data, events)
        with serving(data) as url:
            os.environ |= {"ADANALYTICS_BASE_URL": url, "ADANALYTICS_PARTNER": "acme"}
            program = [*PROGRAM, "events", DAY, "-o", str(day)]
            cpu_seconds(program, day)
            pages = pages_of(day)
            peer = [sys.executable, "-c", PEER, url, str(saved), *pages]
            pairs = [(cpu_seconds(program, day), cpu_seconds(peer, saved)) for _ in range(RUNS)]
            ours, theirs = zip(*pairs, strict=True)
        size = day.stat().st_size / 1e6
    ratio = min(ours) / min(theirs)
    print(f"{events:,} events, {len(pages)} pages, {size:.0f} MB of JSON lines")
    print(f"bare httpx           {min(theirs):6.2f} s of CPU   1.00 x")
    print(f"adanalytics events   {min(ours):6.2f} s of CPU   {ratio:.2f} x")
    print(f"limit at {EVENTS:,} events: {LIMIT} x")
    return 0 if short or ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
