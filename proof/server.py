"""The reference server beside other ways to serve, sum, export and load the same rows."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import httpx
import pyarrow.parquet as pq

from proof.environments import PEERS, python_of
from proof.measuring import Cost, ProofError, Running, in_turn, middle, run, started, wait_until
from proof.report import Figures, Section, goal, number
from proof.service import DAY, PARTNER, PROGRAM, Service, generated, server_command, serving

EVENTS, QUICK_EVENTS = 1_000_000, 100_000
DAYS = 10
PAGE = 10_000
ROUNDS, QUICK_ROUNDS = 3, 1
REPEATS, QUICK_REPEATS = 4, 1
GROWTH_ROUNDS, QUICK_GROWTH_ROUNDS = 15, 2
OURS = "ours"
LAST = str(date.fromisoformat(DAY) + timedelta(days=DAYS - 1))
RANGE = {"start_date": DAY, "end_date": LAST}
# DuckDB's name for each format of an export.
FORMS = {"csv": "CSV", "jsonl": "JSON", "parquet": "PARQUET"}
MOST_MEGABYTES = 250
Command = list[str | Path]
Ask = Callable[[], object]
Costs = dict[str, Cost]


class Rows:
    """The table: a row for each way, with the ratio to ours, which comes first in each group."""

    def __init__(self) -> None:
        self.cells: list[list[str]] = []
        self.values: dict[str, float] = {}
        self.goals: dict[str, float | None] = {}

    def wanted(self, what: str, value: float, most: float, unit: str = "") -> str:
        """Add a figure that has a goal, and return the goal as a cell."""
        self.values[what] = value
        self.goals[what] = most
        return goal(value, most, unit)

    def add(self, what: str, costs: Costs, wanted: str = "") -> None:
        """Add what each way took, and the goal of ours."""
        for way, cost in costs.items():
            is_ours = way == OURS
            self.values[f"{what}, {way}, cpu ms"] = cost.cpu * 1000
            if not is_ours:
                self.values[f"{what}, CPU time / {way}"] = costs[OURS].cpu / cost.cpu
            label = f"**{way}**" if is_ours else way
            cells = [number(cost.cpu * 1000), number(cost.wall * 1000)]
            cells.append(f"{cost.megabytes:.0f}" if cost.megabytes else "")
            cells.append("" if is_ours else f"{costs[OURS].cpu / cost.cpu:.2f}")
            self.cells.append([what, label, *cells, wanted if is_ours else ""])


def measure(quick: bool) -> Section:
    """Serve the same rows from all servers, then load and copy them."""
    events, rounds = (QUICK_EVENTS, QUICK_ROUNDS) if quick else (EVENTS, ROUNDS)
    few, rows = events // 10, Rows()
    with (
        serving(generated(few // DAYS, days=DAYS)) as small,
        serving(generated(events // DAYS, days=DAYS)) as service,
    ):
        file, plain = service.folder / "all.csv", service.folder / "plain.db"
        # Not an export: the memory that one leaves behind makes later pages cheaper.
        pull: Command = [*PROGRAM, "events", DAY, LAST, "-o", file]
        run(pull, environment=service.environment, folder=service.folder)
        run([sys.executable, PEERS / "sqlite_executemany.py", file, plain], folder=service.folder)
        _pages(service, plain, events, rounds, rows)
        _liveness(service, 5 if quick else 20, rows)
        _summaries(service, file, rounds, rows)
        _growth(service, small, events, rows)
        _copies(service, rows)
        _loads(service, few, rounds, rows)
    return Section(
        Figures("The server", rows.values, rows.goals),
        columns=["What", "Way", "CPU, ms", "Wall, ms", "Memory, MB", "Ours / this, CPU", "Goal"],
        rows=rows.cells,
    )


def _rounds(
    asks: dict[str, tuple[Running, Ask]], rounds: int, repeats: int
) -> dict[str, list[Cost]]:
    """Ask in turn, and return the cost of one answer to each in each round."""
    found: dict[str, list[Cost]] = {name: [] for name in asks}
    for _ in range(rounds + 1):
        for name, (process, ask) in asks.items():
            process.forget_peak()
            cpu, began = process.cpu, time.perf_counter()
            for _ in range(repeats):
                ask()
            wall = time.perf_counter() - began
            used = process.cpu - cpu
            found[name].append(Cost(wall / repeats, used / repeats, process.megabytes))
    # The first round warms up.
    return {name: costs[1:] for name, costs in found.items()}


def _cost(asks: dict[str, tuple[Running, Ask]], rounds: int, repeats: int) -> Costs:
    """Ask in turn, and return the cost of one answer to each: the median of the rounds."""
    return {name: middle(costs) for name, costs in _rounds(asks, rounds, repeats).items()}


def _get(http: httpx.Client, url: str, **query: str) -> Ask:
    """Return a function that receives an answer and discards it."""

    def ask() -> None:
        with http.stream("GET", url, params=query or None) as answer:
            answer.raise_for_status()
            for _ in answer.iter_raw():
                pass

    return ask


def _client(service: Service) -> httpx.Client:
    return httpx.Client(headers={"Authorization": f"Bearer {service.key}"}, timeout=600)


def _pages(service: Service, plain: Path, events: int, rounds: int, rows: Rows) -> None:
    """Compare pages with those of Datasette, an endpoint of 40 lines, and a file."""
    last = events // PAGE
    numbers = {"page 1": 1, "page 100": 100, "last page": last}
    if last <= 100:
        del numbers["page 100"]
    body = service.folder / "page.json"
    datasette: Command = [python_of("datasette"), "-m", "datasette", "serve", plain]
    # A busy machine takes longer than the second that Datasette allows a query.
    datasette += ["--setting", "sql_time_limit_ms", "60000"]
    datasette += ["--setting", "max_returned_rows", str(PAGE), "--port"]
    endpoint: Command = [python_of("fastapi_pages"), PEERS / "fastapi_pages.py", plain, body]
    with (
        _client(service) as http,
        httpx.Client(timeout=600) as others,
        _other(service.folder / "datasette.log", datasette, "/-/versions.json") as (url, process),
        _other(service.folder / "fastapi.log", endpoint, "/openapi.json") as (api, api_process),
    ):
        query = {**RANGE, "per_page": str(PAGE)}
        body.write_bytes(http.get(service.events_url, params=query).raise_for_status().content)
        shape = {"_size": str(PAGE), "_shape": "objects", "_nocount": "1"}
        asks: dict[str, tuple[Running, Ask]] = {}
        for name, page in numbers.items():
            query["page"] = str(page)
            after = str((page - 1) * PAGE)
            table = f"{url}/plain/events.json"
            asks[f"{name} ours"] = service.process, _get(http, service.events_url, **query)
            asks[f"{name} Datasette"] = process, _get(others, table, **shape, _next=after)
            asks[f"{name} FastAPI"] = api_process, _get(others, f"{api}/events", **query)
        asks["file"] = api_process, _get(others, f"{api}/static")
        costs = _cost(asks, rounds, REPEATS if events == EVENTS else QUICK_REPEATS)
    for name in numbers:
        ways = {OURS: costs[f"{name} ours"], "Datasette": costs[f"{name} Datasette"]}
        ways["FastAPI and aiosqlite"] = costs[f"{name} FastAPI"]
        if name == "page 1":
            ways["a static file"] = costs["file"]
        deep = costs[f"{name} ours"].cpu / costs["page 1 ours"].cpu
        if name == "page 1":
            megabytes = costs[f"{name} ours"].megabytes
            wanted = rows.wanted("memory for a page, MB", megabytes, MOST_MEGABYTES, " MB")
        else:
            wanted = rows.wanted(f"{name}, CPU time / page 1", deep, 1.2, " times page 1")
        rows.add(name, ways, wanted)


def _liveness(service: Service, pulls: int, rows: Rows) -> None:
    """Request /livez while four clients pull pages, each in a process of its own."""
    addresses = service.folder / "addresses"
    url = httpx.URL(service.events_url, params={**RANGE, "per_page": str(PAGE)})
    addresses.write_text("\n".join([str(url)] * pulls))
    program: Command = [
        python_of("httpx_bodies"),
        PEERS / "httpx_bodies.py",
        DAY,
        os.devnull,
        addresses,
    ]
    environment = {**os.environ, **service.environment}
    clients = [subprocess.Popen(program, env=environment) for _ in range(4)]
    waits: list[float] = []
    try:
        with httpx.Client() as http:
            while any(client.poll() is None for client in clients):
                began = time.perf_counter()
                http.get(f"{service.url}/livez").raise_for_status()
                waits.append(time.perf_counter() - began)
    finally:
        for client in clients:
            client.kill()
    if any(client.wait() for client in clients):
        raise ProofError("A client that pulled pages failed.")
    worst = sorted(waits)[int(len(waits) * 0.99)] * 1000
    wanted = rows.wanted("99th percentile of /livez while 4 clients pull, ms", worst, 50, " ms")
    what, way = f"/livez, 99th percentile of {len(waits):,} requests", "**while 4 clients pull**"
    rows.cells.append([what, way, "", number(worst), "", "", wanted])


@contextmanager
def _other(log: Path, command: Command, path: str) -> Iterator[tuple[str, Running]]:
    """Start another server on a free port, its last argument, and wait until it answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            return httpx.get(url + path).is_success
        except httpx.TransportError:
            return False

    with started([*command, str(port)], log=log) as process:
        wait_until(ready, process, log)
        yield url, Running(process.pid)


def _summaries(service: Service, file: Path, rounds: int, rows: Rows) -> None:
    """Compare summaries with DuckDB over the raw rows."""
    database = service.folder / "rows.duckdb"
    duckdb: Command = [python_of("duckdb_rows"), PEERS / "duckdb_rows.py"]
    run([*duckdb, "load", database, file], folder=service.folder)
    columns = {"day": "event_date", "campaign": "campaign_id"}
    asks: dict[str, tuple[Running, Ask]] = {}
    with _client(service) as http:
        for group in columns:
            ask = _get(http, service.summary_url, **RANGE, group_by=group)
            asks[group] = service.process, ask
        costs = _cost(asks, rounds, repeats=20)
        answer = http.get(service.summary_url, params=RANGE).raise_for_status()
    impressions = answer.json()["meta"]["totals"]["impressions"]
    for group, column in columns.items():
        command = [*duckdb, "sum", database, column]
        theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        if impressions != theirs["impressions"]:
            raise ProofError(f"{impressions:,} impressions, {theirs['impressions']:,} in DuckDB")
        duck = Cost(theirs["wall"] / 1000, theirs["cpu"] / 1000, 0)
        what, cpu = f"summary by {group}", costs[group].cpu * 1000
        wanted = rows.wanted(f"{what}, CPU time, ms", cpu, 10, " ms")
        rows.add(what, {OURS: costs[group], "DuckDB": duck}, wanted)


def _export(service: Service, form: str, events: int) -> Cost:
    """Export everything and return what that took, without the download."""
    url = service.events_url.replace("/events", "/bulk-export")
    process = service.process
    with _client(service) as http:
        process.forget_peak()
        cpu, began = process.cpu, time.perf_counter()
        job = http.post(url, json={**RANGE, "format": form}).raise_for_status().json()
        while job["status"] in ("pending", "processing"):
            time.sleep(0.05)
            job = http.get(job["status_url"]).raise_for_status().json()
        taken = Cost(time.perf_counter() - began, process.cpu - cpu, process.megabytes)
    if job["status"] != "completed" or job["row_count"] != events:
        raise ProofError(f"The export: {job}")
    return taken


def _copies(service: Service, rows: Rows) -> None:
    """Compare exports with DuckDB's COPY and with the shell of SQLite."""
    folder = service.folder
    duckdb: Command = [python_of("duckdb_rows"), PEERS / "duckdb_rows.py", "copy"]
    events = _rows_of(folder / "all.csv")
    for form, name in FORMS.items():
        copied = folder / f"copy.{form}"
        cost = run([*duckdb, folder / "rows.duckdb", copied, name], folder=folder)
        ways = {OURS: _export(service, form, events), "DuckDB COPY": cost}
        found = {_rows_of(copied)}
        if form == "csv" and shutil.which("sqlite3"):
            shell = folder / "shell.csv"
            modes = ["-header", "-cmd", ".mode csv", "-cmd", f".output {shell}"]
            query: Command = ["-readonly", *modes, folder / "plain.db", "SELECT * FROM events"]
            ways["sqlite3 shell"] = run(["sqlite3", *query], folder=folder)
            found.add(_rows_of(shell))
        if found != {events}:
            raise ProofError(f"{form}: copies have {found} rows instead of {events:,}.")
        what, megabytes = f"export as {form}", ways[OURS].megabytes
        wanted = rows.wanted(f"{what}, memory, MB", megabytes, MOST_MEGABYTES, " MB")
        rows.add(what, ways, wanted)


def _rows_of(file: Path) -> int:
    if file.suffix == ".parquet":
        rows: int = pq.read_metadata(file).num_rows
        return rows
    with file.open("rb") as stream:
        return sum(1 for _ in stream) - (file.suffix == ".csv")


def _loads(service: Service, events: int, rounds: int, rows: Rows) -> None:
    """Load the first rows of the export into new databases, in turn."""
    file = service.folder / "part.csv"
    with (service.folder / "all.csv").open() as source, file.open("w") as target:
        target.writelines(line for _, line in zip(range(events + 1), source, strict=False))

    def in_new_folder(command: Callable[[Path], Command]) -> Cost:
        with TemporaryDirectory(dir=service.folder) as name:
            return run(command(Path(name)), folder=Path(name))

    def ours(folder: Path) -> Command:
        server_command("partner", "add", PARTNER, data=folder)
        return [*PROGRAM, "server", "load", file, "--partner", PARTNER, "--data", folder]

    def sqlite_utils(folder: Path) -> Command:
        program: Command = [python_of("sqlite_utils"), "-m", "sqlite_utils", "insert"]
        return [*program, folder / "x.db", "events", file, "--csv", "--pk", "event_id"]

    def executemany(folder: Path) -> Command:
        return [sys.executable, PEERS / "sqlite_executemany.py", file, folder / "x.db"]

    ways = {OURS: ours, "sqlite-utils": sqlite_utils, "executemany": executemany}
    works = {name: (lambda way=way: in_new_folder(way)) for name, way in ways.items()}
    slowest = {"sqlite-utils": works.pop("sqlite-utils")}
    costs = in_turn(works, rounds, warm=False) | in_turn(slowest, 1, warm=False)
    rows.add(f"load of {events:,} rows", {name: middle(each) for name, each in costs.items()})


def _growth_rounds(events: int) -> int:
    return GROWTH_ROUNDS if events == EVENTS else QUICK_GROWTH_ROUNDS


def _growth(service: Service, small: Service, events: int, rows: Rows) -> None:
    """Compare the last page and a summary with those of a tenth of the events, in turn."""
    few = events // 10
    asks: dict[str, tuple[Running, Ask]] = {}
    with _client(service) as http, _client(small) as http_of_small:
        for name, of, client, held in (
            ("many", service, http, events),
            ("few", small, http_of_small, few),
        ):
            page = {**RANGE, "per_page": str(PAGE), "page": str(held // PAGE)}
            asks[f"last page {name}"] = of.process, _get(client, of.events_url, **page)
            summary = _get(client, of.summary_url, **RANGE, group_by="day")
            asks[f"summary by day {name}"] = of.process, summary
        costs = _rounds(asks, _growth_rounds(events), REPEATS)
    for what in ("last page", "summary by day"):
        many = [cost.cpu * 1000 for cost in costs[f"{what} many"]]
        less = [cost.cpu * 1000 for cost in costs[f"{what} few"]]
        rows.cells.append([what, f"{few:,} events", number(median(less)), *[""] * 4])
        rows.cells.append([what, f"{events:,} events", number(median(many)), *[""] * 4])
        # The middle half of the pairs; less time for more events is chance, so no growth.
        grown = [more - fewer for more, fewer in zip(many, less, strict=True)]
        low, _, high = (max(0.0, each) / (events - few) for each in quantiles(grown, n=4))
        # From small data, the extrapolation would be chance.
        for millions in (10, 100) if events == EVENTS else ():
            further = millions * 1e6 - events
            least, most = (median(many) + growth * further for growth in (low, high))
            label = f"{millions},000,000 events, extrapolated"
            rows.values[f"{what}, {label}, most cpu ms"] = most
            rows.cells.append([what, label, f"{number(least)} to {number(most)}", *[""] * 4])
