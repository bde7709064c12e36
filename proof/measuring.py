"""What a whole process costs, and what several cost in turn."""

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

LAUNCHER = Path(__file__).with_name("launcher.py")
TIME_LIMIT = 600


class ProofError(Exception):
    """A measurement that could not be made; its text says what happened."""


@dataclass(frozen=True)
class Cost:
    """What a process and the children that it waited for took.

    Args:
        wall: seconds from start to end.
        cpu: seconds of CPU, user and system.
        megabytes: the most resident memory of one of them. The launcher has 10.
    """

    wall: float
    cpu: float
    megabytes: float


@dataclass(frozen=True)
class Spread:
    """The middle of some values, and the extremes."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} ({self.least:.2f} to {self.most:.2f})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


def run(
    command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, folder: Path
) -> Cost:
    """Run a command to its end and return its cost.

    Args:
        command: the program and its arguments.
        environment: variables to set beside those of this process.
        folder: where to run it.

    Raises:
        ProofError: it fails, with the end of what it wrote, or takes longer than ten minutes.
    """
    words = [str(word) for word in command]
    with TemporaryDirectory() as scratch:
        report = Path(scratch, "cost")
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", LAUNCHER, report, *words],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            raise ProofError(f"{words} took more than {TIME_LIMIT} s.") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            text = said.decode(errors="replace")[-2000:]
            raise ProofError(f"{words} ended with {process.returncode}:\n{text}")
        return Cost(*map(float, report.read_text().split()))


def in_turn(
    works: Mapping[str, Callable[[], Cost]], rounds: int, *, warm: bool = True
) -> dict[str, list[Cost]]:
    """Run the works one after the other, round by round, and return the costs of each.

    What else the machine does meanwhile is then for all of them. With ``warm``, an additional
    first round does not count: in it, files come from the disk.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for number in range(rounds + warm):
        for name, work in works.items():
            cost = work()
            if number >= warm:
                costs[name].append(cost)
    return costs


def middle(costs: Sequence[Cost]) -> Cost:
    """Return the medians of the three figures."""
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        median(cost.megabytes for cost in costs),
    )


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Divide the values of each pair, and return the middle of the quotients."""
    return spread([our / their for our, their in zip(ours, theirs, strict=True)])


@dataclass(frozen=True)
class Running:
    """A process that runs on, and what it and its children have used since it started."""

    number: int

    @property
    def cpu(self) -> float:
        """Return its seconds of CPU, user and system."""
        fields = Path(f"/proc/{self.number}/stat").read_text().rpartition(")")[2].split()
        # cutime and cstime, those of the children that ended; counted from the state, field 3.
        ended = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
        # The clock that clock_getcpuclockid(3) names: nanoseconds, while utime counts hundredths.
        own = time.clock_gettime((~self.number << 3) | 2)
        children = Path(f"/proc/{self.number}/task/{self.number}/children").read_text().split()
        return own + ended + sum(Running(int(each)).cpu for each in children)

    @property
    def megabytes(self) -> float:
        """Return the most resident memory that it had since `forget_peak`."""
        for line in Path(f"/proc/{self.number}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise ProofError(f"process {self.number} has no memory")

    def forget_peak(self) -> None:
        """Count the most resident memory from now on."""
        Path(f"/proc/{self.number}/clear_refs").write_text("5")


@contextmanager
def started(command: Sequence[str | Path], *, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, and stop it at the end of the block."""
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a started server is ready.

    Raises:
        ProofError: it ended, with what it logged, or is not ready after a minute.
    """
    last = time.monotonic() + 60
    while not ready():
        if process.poll() is not None or time.monotonic() > last:
            raise ProofError(f"{process.args!r} did not start:\n{log.read_text()}")
        time.sleep(0.02)


def machine(root: Path) -> dict[str, str]:
    """Describe this machine and the versions of what runs on it."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    packages = ("httpx", "msgspec", "pydantic", "pyarrow", "fastapi", "uvicorn", "aiosqlite")
    return {
        "adanalytics": f"{version('adanalytics')}, commit {commit.stdout.strip() or 'unknown'}",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "load": f"a load average of {os.getloadavg()[0]:.1f} at the start",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in packages),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
