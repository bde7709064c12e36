"""An observer that ends a run when it has spent its requests or its time."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from adanalytics_cli.core.errors import UsedUp
from adanalytics_client import Observer, RequestDue, WaitStarted


class Budget(Observer):
    """Counts requests before they are sent, and raises UsedUp before one too many.

    Args:
        requests: how many may be sent, or None for any number.
        seconds: how long the run may take, or None for any time.
        clock: the present moment in UTC.
    """

    def __init__(
        self, *, requests: int | None, seconds: float | None, clock: Callable[[], datetime]
    ) -> None:
        self._allowed = requests
        self._left = requests
        self._seconds = seconds
        self._clock = clock
        self._until = None if seconds is None else clock() + timedelta(seconds=seconds)
        self._lock = threading.Lock()

    def due(self, _info: RequestDue) -> None:
        """Count a request that is about to be sent."""
        self._check(self._clock())
        with self._lock:
            if self._left is None:
                return
            if not self._left:
                raise UsedUp(f"--max-requests {self._allowed} is used up")
            self._left -= 1

    def wait(self, info: WaitStarted) -> None:
        """See that a wait ends within the time of the run."""
        self._check(info.resumes_at)

    def _check(self, moment: datetime) -> None:
        if self._until is not None and moment >= self._until:
            raise UsedUp(f"--deadline {self._seconds:g} leaves no more time")
