"""A dataset of many events on one machine: seconds, memory and files.

    python -m benchmarks.large_dataset [MILLIONS]

Three measurements, each of whole processes: the plan of up to 20,000 days, an hour of 3 million
events, and MILLIONS days of a million events, 100 by default, which take 12 GB of disk. The
reference server makes one day; a small service answers for the others with copies of its export on
other dates. The exports are made before anything is measured.
"""

import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client._outputs.arrow.conversion import as_text
from proof.measuring import Cost, run
from proof.service import DAY, PARTNER, PROGRAM, Service, generated, serving

MILLION = 1_000_000
FIRST = date.fromisoformat(DAY)
PLANNED = (5_000, 10_000, 20_000)
COUNTS = (
    *("requests", "impressions", "starts", "first_quartiles", "midpoints", "third_quartiles"),
    *("completions", "clicks", "skips", "errors"),
)


class Days(ThreadingHTTPServer):
    """A service that has the same events on every day, and a file for each that is exported."""

    def __init__(self, folder: Path, row: dict[str, Any], events: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.row, self.events = folder, row, events
        self.days: list[date] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Days

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        match address.path.rpartition("/")[2]:
            case "dates":
                self._answer({"dates": [str(day) for day in self.server.days]})
            case "summary" | "events" as name:
                asked = parse_qs(address.query)
                first, last = asked["start_date"][0], asked["end_date"][0]
                days = [day for day in map(str, self.server.days) if first <= day <= last]
                if name == "events":
                    # For the count of a day; nothing else reads these pages.
                    event = {"event_id": "0", "event_time": f"{first}T00:00:00Z"}
                    self._answer({"events": [event], "total": self.server.events * len(days)})
                else:
                    rows = [{**self.server.row, "date": day} for day in days]
                    self._answer({"summary": rows, "group_by": "day"})
            case name:
                file = self.server.folder / name
                self._begin(file.stat().st_size)
                with file.open("rb") as stream:
                    shutil.copyfileobj(stream, self.wfile, 1 << 20)

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        first, last = (date.fromisoformat(order[f"{end}_date"]) for end in ("start", "end"))
        days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
        files = [{"url": f"{self.server.url}/{day}.{order['format']}"} for day in days]
        count = self.server.events * len(days)
        self._answer({**order, "status": "completed", "files": files, "row_count": count})

    def _answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self._begin(len(body))
        self.wfile.write(body)

    def _begin(self, size: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def answering(folder: Path, row: dict[str, Any], events: int) -> Iterator[Days]:
    with Days(folder, row, events) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def template(service: Service, folder: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return the events of the generated day, and its row of the summary."""
    headers = {"Authorization": f"Bearer {service.key}"}
    asked = {"start_date": DAY, "end_date": DAY, "group_by": "day"}
    answer = httpx.get(service.summary_url, headers=headers, params=asked).raise_for_status()
    (row,) = answer.json()["data"]
    with Client(
        service.url, api_key=service.key, partner=PARTNER, quota=QuotaPolicy(log="memory")
    ) as client:
        file = client.export(DAY, to=folder / "template.parquet")
    return pq.read_table(file), row


def on_day(events: pa.Table, day: date) -> pa.Table:
    """Return the events with the times of another day."""
    shift = pa.scalar(timedelta(days=(day - FIRST).days), pa.duration("ms"))
    for name in ("event_time", "received_at"):
        at = events.schema.get_field_index(name)
        events = events.set_column(at, events.field(at), pc.add(events[name], shift))
    at = events.schema.get_field_index("event_date")
    days = pa.repeat(pa.scalar(day, pa.date32()), len(events))
    return events.set_column(at, events.field(at), days)


def in_one_hour(events: pa.Table, copies: int) -> pa.Table:
    """Return the events so many times, all in the same hour, each with an id of its own."""
    times = events["event_time"].cast(pa.int64())
    hour = 3_600_000
    start = pc.min(times).as_py() // hour * hour
    inside = pc.add(pc.subtract(times, pc.multiply(pc.divide(times, hour), hour)), start)
    at = events.schema.get_field_index("event_time")
    events = events.set_column(at, events.field(at), inside.cast(events.field(at).type))
    at = events.schema.get_field_index("event_hour")
    zero = pc.multiply(events["event_hour"], 0).cast(events.field(at).type)
    events = events.set_column(at, events.field(at), zero)
    made = []
    for copy in range(copies):
        ids = pc.binary_replace_slice(events["event_id"], 0, 1, f"{copy:x}")
        made.append(events.set_column(events.schema.get_field_index("event_id"), "event_id", ids))
    return pa.concat_tables(made)


def command(server: Days, folder: Path, *words: str | Path) -> Cost:
    """Run the command line in an hour of requests of its own."""
    environment = {
        "ADANALYTICS_BASE_URL": server.url,
        "ADANALYTICS_API_KEY": "unused",
        "ADANALYTICS_PARTNER": PARTNER,
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    shutil.rmtree(folder / "state", ignore_errors=True)
    return run([*PROGRAM, "--quiet", *words], environment=environment, folder=folder)


def show(what: str, cost: Cost, bound: str = "") -> None:
    figures = f"{cost.wall:>8.1f} s {cost.cpu:>8.1f} s of CPU {cost.megabytes:>7.0f} MB"
    print(f"{what:<44} {figures}   {bound}", flush=True)


def plans(server: Days, folder: Path) -> None:
    for count in PLANNED:
        server.days = [FIRST - timedelta(days=number) for number in range(count)][::-1]
        span = [str(server.days[0]), str(server.days[-1])]
        cost = command(server, folder, "sync", *span, "--to", folder / "none", "--dry-run")
        show(f"plan of {count:,} days", cost)


def one_hour(folder: Path, events: pa.Table, row: dict[str, Any]) -> None:
    copies = 3
    large = in_one_hour(events, copies)
    pq.write_table(large, folder / f"{DAY}.parquet", compression="zstd")
    cells = [as_text(column.combine_chunks()) for column in large.columns]
    csv.write_csv(pa.table(cells, large.column_names), folder / f"{DAY}.csv")
    rows = len(large)
    del large
    whole = {name: row[name] * copies for name in COUNTS}
    money = {name: str(copies * Decimal(row[name])) for name in ("revenue", "cost")}
    with answering(folder, {**row, **whole, **money}, rows) as server:
        server.days = [FIRST]
        to = folder / "hour"
        cost = command(server, folder, "sync", DAY, "--via", "export", "--to", to)
        show(f"sync of an hour of {rows:,}", cost, "at most 300 MB")
        cost = command(server, folder, "verify", to, "--until", DAY)
        show("verify", cost, "at most 600 MB")
        cost = command(server, folder, "verify", to, "--until", DAY, "--deep")
        show("verify --deep", cost, "at most 600 MB")


def many_days(server: Days, folder: Path, events: pa.Table, count: int) -> None:
    server.days = [FIRST + timedelta(days=number) for number in range(count)]
    for day in server.days:
        file = server.folder / f"{day}.parquet"
        pq.write_table(on_day(events, day), file, compression="zstd")
    to, span = folder / "many", [str(server.days[0]), str(server.days[-1])]
    rows = count * len(events)
    cost = command(server, folder, "sync", *span, "--via", "export", "--to", to)
    show(f"sync of {rows:,} events, {count} days", cost, f"{rows / cost.wall:,.0f} a second")
    files = [*to.glob("data/**/*.parquet")]
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files):,} files of {size / 1e9:.1f} GB")
    cost = command(server, folder, "sync", *span, "--to", to)
    show("sync again, up to date", cost)
    show("verify", command(server, folder, "verify", to, "--until", span[1]))
    grouped = "SELECT country, sum(revenue) FROM events GROUP BY country"
    show("query, revenue by country", command(server, folder, "query", grouped, "--in", to))


def main(millions: int) -> None:
    """Make the template, then measure plans, the large hour and the many days."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with serving(generated(MILLION)) as service:
            events, row = template(service, folder)
        with answering(folder, row, len(events)) as server:
            plans(server, folder)
            one_hour(folder, events, row)
            many_days(server, folder, events, millions)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
