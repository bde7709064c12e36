"""A server in its own process that reports its CPU time and its memory."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


class ServerProcess:
    """A running server: its address, its CPU seconds, its resident megabytes."""

    def __init__(self, url: str, number: int) -> None:
        self.url = url
        self._number = number

    def cpu_seconds(self) -> float:
        return float(httpx.get(f"{self.url}/cpu").text)

    def megabytes(self) -> float:
        return most_megabytes(str(self._number))


@contextmanager
def server(folder: Path, *, requests_an_hour: int = 0) -> Iterator[ServerProcess]:
    """Serve a folder until the end of the block; by default without a request limit."""
    program = str(Path(__file__).with_name("http_server.py"))
    command = [sys.executable, program, str(folder), str(requests_an_hour)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            raise RuntimeError("the server's output is not connected")
        try:
            yield ServerProcess(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()


def most_megabytes(process: str = "self") -> float:
    """Return the peak resident megabytes of a process, by default of this one."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024
