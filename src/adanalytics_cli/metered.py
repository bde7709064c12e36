"""One command whose requests are counted and limited: `python -m adanalytics_cli.metered`."""

import sys
import threading
from pathlib import Path

from adanalytics_client import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client.observers import RequestDue

from .__main__ import main
from .core.errors import UsedUp
from .core.invocation import Invocation


class Meter(Observer):
    """Adds a byte to a file for each request, as the last thing before it is sent.

    So the number of requests is known even of a process that was killed, and one that the quota
    holds back is not counted. UsedUp is raised instead of a request that would make the file longer
    than `most` bytes.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._allowed = most - path.stat().st_size
        self._lock = threading.Lock()

    def due(self, _info: RequestDue) -> None:
        # Before it takes quota; another thread may still be faster.
        self._check(self._path.stat().st_size)

    def send(self, _info: RequestDue) -> None:
        with self._lock, self._path.open("ab", buffering=0) as file:
            self._check(file.tell())
            file.write(b".")

    def _check(self, number: int) -> None:
        if number >= self._most:
            raise UsedUp(
                f"Stopped: this call may send {counted(self._allowed, 'request')} and needs more",
                remedy="Ask for fewer days, or have the user give a larger --max-requests.",
            )


def run() -> None:
    """Run the command of `sys.argv[3:]`, after the file of the meter and its greatest size."""
    path, most = sys.argv[1:3]
    del sys.argv[1:3]
    # A program reads its errors and reports.
    main(Invocation(as_json=True, observers=[Meter(Path(path), int(most))]))


if __name__ == "__main__":
    run()
