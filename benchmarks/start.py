"""Time of starts as whole processes: the command line against click, a client against httpx.

    python benchmarks/start.py [--short]

Shell prompts and scripts run `--version`; its limit is 1.5 times the time of a Python that imports
only click. Scripts and functions import a client; its limit is 1.2 times that of a Python that
imports httpx and pydantic. The shortest of several runs counts, because other work on the machine
can only delay a start.
"""

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

RUNS = 30
SHORT_RUNS = 10
CLICK = "import click"
HTTP = "import httpx, pydantic; httpx.Client; pydantic.BaseModel"
CLIENT = "import adanalytics_client; adanalytics_client.Client"
# The start, its peer, and the most times that it may take as long.
LIMITS = [("adanalytics --version", CLICK, 1.5), (CLIENT, HTTP, 1.2)]


def seconds(command: list[str]) -> float:
    """Return the time of one process from start to end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    """Measure, print the ratios, and fail above a limit."""
    runs = SHORT_RUNS if "--short" in sys.argv[1:] else RUNS
    program = str(Path(sysconfig.get_path("scripts")) / "adanalytics")
    commands = {name: [sys.executable, "-c", name] for name in (CLICK, HTTP, CLIENT)}
    commands |= {f"adanalytics {each}": [program, each] for each in ("--version", "--help")}
    # In turns, so that a busy moment of the machine affects all of them.
    taken = [{name: seconds(command) for name, command in commands.items()} for _ in range(runs)]
    least = {name: min(each[name] for each in taken) for name in commands}
    for name, time_of in least.items():
        print(f"{name:<58} {1000 * time_of:6.1f} ms")
    for name, peer, limit in LIMITS:
        print(f"{name:<58} {least[name] / least[peer]:6.2f} x, limit {limit} x")
    return 0 if all(least[name] <= limit * least[peer] for name, peer, limit in LIMITS) else 1


if __name__ == "__main__":
    sys.exit(main())
