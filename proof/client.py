"""The client and the command line beside other ways to pull the same day."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pyarrow.parquet as pq

from proof.environments import BUILD, PEERS, python_of
from proof.measuring import Cost, ProofError, in_turn, ratio, run, spread
from proof.report import Figures, Section, goal
from proof.service import DAY, PROGRAM, Service, generated, serving

EVENTS, QUICK_EVENTS = 300_000, 10_000
ROUNDS, QUICK_ROUNDS = 3, 1
PAGE = 10_000
OPENAPI = Path(__file__).parent.parent / "docs" / "reference" / "openapi.json"


@dataclass(frozen=True)
class Way:
    """One way to pull a day.

    Args:
        name: its key among the figures; a peer's is that of its program.
        label: how the table names it.
        target: what it writes: a file or a folder.
        ours: the key of our way to the same result; None if this is one of ours.
        goal: the most CPU that ours may take, as a multiple of this.
    """

    name: str
    label: str
    target: str
    ours: str | None = None
    goal: float | None = None

    @property
    def cpu(self) -> str:
        """Return the name of the figure of its CPU time."""
        return f"{self.name} cpu s per million"


WAYS = [
    Way("jsonl", "**`adanalytics events -o x.jsonl`**", "x.jsonl"),
    Way("requests_json", "requests and json, one line per event", "x.jsonl", "jsonl", 0.30),
    Way("httpx_orjson", "httpx and orjson in four threads", "x.jsonl", "jsonl", 0.40),
    Way("httpx_bodies", "httpx, only reading the same bodies", "bytes.txt", "jsonl", 1.8),
    Way("checked_jsonl", "httpx and msgspec, the same checks by hand", "x.jsonl", "jsonl"),
    Way("curl", "curl, only saving the same bodies", "bodies", "jsonl"),
    Way("parquet", "**`adanalytics events -o x.parquet`**", "x.parquet"),
    Way("httpx_polars", "httpx and polars to Parquet", "x.parquet", "parquet", 0.65),
    Way("pyarrow_json", "httpx and pyarrow.json, parsing only", "count.txt", "parquet"),
    Way("typed", "**`for event in client.events(...)`**", "count.txt"),
    Way("pydantic_pages", "httpx and pydantic, a model per page", "count.txt", "typed", 0.8),
    Way("openapi_client", "a client by openapi-python-client", "count.txt", "typed"),
    Way("msgspec_decode", "httpx and msgspec to dicts, untyped", "count.txt", "typed"),
    Way("sync", "**`adanalytics sync --to folder`**", "dataset"),
    Way("sync_export", "**`adanalytics sync --via export`**", "dataset"),
    Way("dlt_rest_api", "dlt, rest_api to Parquet files", "dlt", "sync", 0.15),
]


class Bench:
    """The running service and what the ways need beside it."""

    def __init__(self, service: Service, events: int) -> None:
        self.service = service
        self.events = events
        self.addresses = service.folder / "addresses"
        self.size = self._find_pages()

    def _find_pages(self) -> int:
        """Write the addresses of the pages of each hour, for those that only receive bodies."""
        addresses, size = [], 0
        headers = {"Authorization": f"Bearer {self.service.key}"}
        day = {"start_date": DAY, "end_date": DAY, "per_page": str(PAGE)}
        with httpx.Client(headers=headers, timeout=60) as http:
            for hour in range(24):
                for page in count(1):
                    query = {**day, "hour": str(hour), "page": str(page)}
                    answer = http.get(self.service.events_url, params=query).raise_for_status()
                    addresses.append(str(answer.url))
                    size += len(answer.content)
                    if page * PAGE >= answer.json()["meta"]["total"]:
                        break
        self.addresses.write_text("\n".join(addresses))
        return size

    def run(self, way: Way) -> Cost:
        """Run one way, check what it wrote, and remove that."""
        with TemporaryDirectory(dir=self.service.folder) as name:
            folder = Path(name)
            target = folder / way.target
            environment = {
                **self.service.environment,
                # A new log of requests: the client never sends more than 1,000 an hour.
                "XDG_STATE_HOME": str(folder / "state"),
                "PYTHONPATH": str(BUILD),
                "RUNTIME__DLTHUB_TELEMETRY": "false",
                "DLT_DATA_DIR": str(folder / "dlt-data"),
            }
            cost = run(self._command(way, target), environment=environment, folder=folder)
            self._check(way, target)
        return cost

    def _command(self, way: Way, target: Path) -> Sequence[str | Path]:
        match way.name:
            case "jsonl" | "parquet":
                return [*PROGRAM, "events", DAY, "-o", target]
            case "sync":
                return [*PROGRAM, "sync", DAY, "--to", target]
            case "sync_export":
                return [*PROGRAM, "sync", DAY, "--to", target, "--via", "export"]
            case "typed":
                return [sys.executable, PEERS / "adanalytics_typed.py", DAY, target]
            case "curl":
                return ["curl", "--config", self._curl_config(target)]
        program = PEERS / f"{way.name}.py"
        return [python_of(way.name), program, DAY, target, self.addresses]

    def _curl_config(self, target: Path) -> Path:
        """Write the addresses, and the key, which is no argument."""
        target.mkdir()
        lines = [f'header = "Authorization: Bearer {self.service.key}"', "silent", "fail"]
        for number, address in enumerate(self.addresses.read_text().split()):
            lines += [f'url = "{address}"', f'output = "{target / str(number)}"']
        config = target.with_name("curl.cfg")
        config.write_text("\n".join(lines))
        return config

    def _check(self, way: Way, target: Path) -> None:
        """Compare the number of events, or of bytes where nothing was read."""
        wanted = self.size if way.name in ("curl", "httpx_bodies") else self.events
        if (found := _written(target)) != wanted:
            raise ProofError(f"{way.label} has {found:,} instead of {wanted:,}.")


def _written(target: Path) -> int:
    """Return the events of an output, or the number that it states."""
    if target.suffix == ".jsonl":
        with target.open("rb") as file:
            return sum(1 for _ in file)
    if target.suffix == ".txt":
        return int(target.read_text())
    if target.name == "bodies":
        return sum(body.stat().st_size for body in target.iterdir())
    files = target.rglob("*.parquet") if target.is_dir() else [target]
    # dlt has tables of its own beside that of the events.
    return sum(pq.read_metadata(file).num_rows for file in files if "_dlt" not in file.parent.name)


def generate_client() -> None:
    """Generate the client of the OpenAPI document."""
    program = python_of("openapi_client").with_name("openapi-python-client")
    config = BUILD / "openapi-python-client.yml"
    config.write_text("post_hooks: []\n")
    generated = BUILD / "generated"
    shutil.rmtree(generated, ignore_errors=True)
    words: list[str | Path] = [
        "generate",
        "--path",
        OPENAPI,
        "--output-path",
        generated,
        "--meta",
        "none",
    ]
    subprocess.run([program, *words, "--config", config], check=True, stdout=subprocess.DEVNULL)


def measure(quick: bool) -> Section:
    """Pull the day in every way, in turn."""
    events, rounds = (QUICK_EVENTS, QUICK_ROUNDS) if quick else (EVENTS, ROUNDS)
    generate_client()
    with serving(generated(events)) as service:
        bench = Bench(service, events)
        works = {way.name: (lambda way=way: bench.run(way)) for way in WAYS}
        # Finding the pages has warmed up the server.
        costs = in_turn(works, rounds, warm=False)
    return _section(costs, events)


def _section(costs: dict[str, list[Cost]], events: int) -> Section:
    rows, values, goals = [], dict[str, float](), dict[str, float | None]()
    labels = {way.name: way.label.replace("*", "") for way in WAYS}
    for way in WAYS:
        cpu = [cost.cpu for cost in costs[way.name]]
        wall = spread([cost.wall for cost in costs[way.name]])
        memory = spread([cost.megabytes for cost in costs[way.name]])
        values[way.cpu] = spread(cpu).median / events * 1e6
        values[f"{way.name} wall s"] = wall.median
        values[f"{way.name} peak MB"] = memory.median
        share, wanted = "", ""
        if way.ours:
            ours = ratio([cost.cpu for cost in costs[way.ours]], cpu)
            name = f"{labels[way.ours]} / {labels[way.name]}"
            values[name] = ours.median
            share = str(ours)
            # On few events, the start of the programs is most of the cost.
            if way.goal and events == EVENTS:
                goals[name] = way.goal
                wanted = goal(ours.median, way.goal)
        rows.append([way.label, str(spread(cpu)), str(wall), f"{memory.median:.0f}", share, wanted])
    return Section(
        Figures("CPU time of ours / of another client", values, goals),
        columns=["Way", "CPU, s", "Wall, s", "Memory, MB", "Ours / this", "Goal"],
        rows=rows,
    )
