"""What starts, imports, single requests and servers inside tests take."""

import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from adanalytics_server.local import LocalServer, Sample
from proof.environments import PEERS
from proof.measuring import Cost, Spread, in_turn, ratio, run, spread
from proof.report import Figures, Section, goal
from proof.service import generated, serving

ROUNDS, QUICK_ROUNDS = 9, 1
REQUESTS, QUICK_REQUESTS = 2_000, 300
PROGRAM = Path(sysconfig.get_path("scripts")) / "adanalytics"
CLICK = "import click"
HTTP = "import httpx, pydantic; httpx.Client; pydantic.BaseModel"
CLIENT = "import adanalytics_client; adanalytics_client.Client"
MODELS = "import adanalytics_client; adanalytics_client.Client; adanalytics_client.Event"


class Rows:
    """The rows of the table and their figures."""

    def __init__(self) -> None:
        self.cells: list[list[str]] = []
        self.values: dict[str, float] = {}
        self.goals: dict[str, float | None] = {}

    def compare(
        self, what: str, taken: Spread, peer: str, share: Spread, most: float | None = None
    ) -> None:
        """Add what something took, in milliseconds, and its ratio to a peer with its goal."""
        self.values[f"{what}, ms"] = taken.median
        self.values[f"{what} / {peer}"] = share.median
        self.goals[f"{what} / {peer}"] = most
        wanted = goal(share.median, most) if most else ""
        self.cells.append([what, str(taken), peer, str(share), wanted])

    def add(self, what: str, milliseconds: float, most: float) -> None:
        """Add what something took and its goal."""
        self.values[f"{what}, ms"] = milliseconds
        self.goals[f"{what}, ms"] = most
        wanted = goal(milliseconds, most, " ms")
        self.cells.append([what, f"{milliseconds:.2f}", "", "", wanted])


def measure(quick: bool) -> Section:
    """Measure processes, requests, then servers."""
    rounds, requests = (QUICK_ROUNDS, QUICK_REQUESTS) if quick else (ROUNDS, REQUESTS)
    rows = Rows()
    _processes(rounds, rows)
    _requests(rounds, requests, rows)
    _servers(rows)
    return Section(
        Figures("Starts and single requests", rows.values, rows.goals),
        columns=["What", "Milliseconds", "Peer", "Ours / peer", "Goal"],
        rows=rows.cells,
    )


def _milliseconds(costs: list[Cost]) -> Spread:
    return spread([cost.wall * 1000 for cost in costs])


def _processes(rounds: int, rows: Rows) -> None:
    """Start the command line and import the client, beside what they are made of."""
    commands: dict[str, list[str | Path]] = {
        each: [sys.executable, "-c", each] for each in (CLICK, HTTP, CLIENT, MODELS)
    }
    commands |= {each: [PROGRAM, each] for each in ("--version", "--help")}

    def start(name: str) -> Callable[[], Cost]:
        return lambda: run(commands[name], folder=PEERS)

    costs = in_turn({name: start(name) for name in commands}, rounds)
    for name, label, peer, peer_label, most in (
        ("--version", "`adanalytics --version`", CLICK, "import of click", 1.5),
        ("--help", "`adanalytics --help`", CLICK, "import of click", None),
        (CLIENT, "import of `Client`", HTTP, "import of httpx and pydantic", 1.2),
        (MODELS, "import of `Client` and `Event`", HTTP, "import of httpx and pydantic", None),
    ):
        shares = [each.wall for each in costs[name]], [each.wall for each in costs[peer]]
        rows.compare(label, _milliseconds(costs[name]), peer_label, ratio(*shares), most)


def _requests(rounds: int, requests: int, rows: Rows) -> None:
    """Send the same request with the client and with httpx alone."""
    with serving(generated(100)) as service, TemporaryDirectory() as name:

        def ask(program: str, count: int) -> Callable[[], Cost]:
            command: list[str | Path] = [sys.executable, PEERS / program, str(count)]
            environment = service.environment
            return lambda: run(command, environment=environment, folder=Path(name))

        programs = {"ours": "adanalytics_dates.py", "httpx": "httpx_dates.py"}
        works = {
            f"{name} {count}": ask(program, count)
            for name, program in programs.items()
            for count in (1, requests)
        }
        costs = in_turn(works, max(1, rounds // 3), warm=rounds > 1)
    each = {
        name: [
            (many.cpu - one.cpu) * 1000 / (requests - 1)
            for many, one in zip(costs[f"{name} {requests}"], costs[f"{name} 1"], strict=True)
        ]
        for name in programs
    }
    shares = ratio(each["ours"], each["httpx"])
    rows.compare("CPU of a request", spread(each["ours"]), "httpx alone", shares, 1.5)


def _servers(rows: Rows) -> None:
    """Start servers inside this process, stop them, and reset one."""
    starts, stops, shares = [], [], []
    with httpx.Client() as http:
        for _ in range(10):
            began = time.perf_counter()
            with LocalServer() as server:
                http.get(f"{server.url}/livez").raise_for_status()
                starts.append((time.perf_counter() - began) * 1000)
            # Another one, without a connection that it would have to close.
            with LocalServer() as server:
                began = time.perf_counter()
                server.close()
                stops.append((time.perf_counter() - began) * 1000)
            shares.append(stops[-1] / _stop_of_uvicorn())
        rows.add("a server's start to its first response", min(starts), 60)
        rows.compare("a server's stop", spread(stops), "stop of bare uvicorn", spread(shares), 0.2)
        with LocalServer(sample=Sample()) as server:
            resets = []
            for _ in range(10):
                http.get(f"{server.url}/livez").raise_for_status()
                began = time.perf_counter()
                server.reset()
                resets.append((time.perf_counter() - began) * 1000)
    rows.add("a server's reset", min(resets), 5)


async def _smallest_app(_scope: Scope, receive: Receive, send: Send) -> None:
    """Start up and shut down, and nothing in between."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def _stop_of_uvicorn() -> float:
    """Return the milliseconds that uvicorn takes to stop."""
    server = uvicorn.Server(uvicorn.Config(_smallest_app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.001)
    began = time.perf_counter()
    server.should_exit = True
    thread.join()
    return (time.perf_counter() - began) * 1000
