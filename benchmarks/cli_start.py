"""Time of `adanalytics --version` and `--help` as whole processes, against `import click`.

    python benchmarks/cli_start.py [--short]

Shell prompts and scripts run `--version`; its limit is 1.5 times the time of a Python that imports
only click. The shortest of several runs counts, because other work on the machine can only delay a
start.
"""

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

LIMIT = 1.5
RUNS = 30
SHORT_RUNS = 10


def seconds(command: list[str]) -> float:
    """Return the time of one process from start to end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    """Measure, print the ratios, and fail above the limit."""
    runs = SHORT_RUNS if "--short" in sys.argv[1:] else RUNS
    program = str(Path(sysconfig.get_path("scripts")) / "adanalytics")
    commands = {
        "import click": [sys.executable, "-c", "import click"],
        "adanalytics --version": [program, "--version"],
        "adanalytics --help": [program, "--help"],
    }
    # In turns, so that a busy moment of the machine affects all of them.
    taken = [{name: seconds(command) for name, command in commands.items()} for _ in range(runs)]
    least = {name: min(each[name] for each in taken) for name in commands}
    for name, time_of in least.items():
        ratio = time_of / least["import click"]
        print(f"{name:<24} {1000 * time_of:6.1f} ms   {ratio:5.2f} x")
    ratio = least["adanalytics --version"] / least["import click"]
    print(f"limit of --version: {LIMIT} x")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
