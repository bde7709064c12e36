"""An observer that stops a run when it has used up its requests or its time."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from adanalytics_cli.core.errors import UsedUp
from adanalytics_client import Observer, RequestDue, WaitStarted


class Budget(Observer):
    """Counts requests before they are sent, and raises UsedUp before one exceeds a limit.

    A limit of None is none; `seconds` are counted by `clock`, which returns the time in UTC.
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
        """Count a request."""
        if self._until is not None and self._clock() >= self._until:
            raise UsedUp(f"Stopped: the {self._seconds:g} s deadline passed before the sync ended")
        with self._lock:
            if self._left is None:
                return
            if not self._left:
                raise UsedUp(f"Stopped: reached --max-requests {self._allowed}")
            self._left -= 1

    def wait(self, info: WaitStarted) -> None:
        """Refuse a wait that would end after the deadline."""
        if self._until is not None and info.resumes_at >= self._until:
            raise UsedUp(
                f"Stopped: the {self._seconds:g} s deadline passes before requests may resume "
                f"at {info.resumes_at:%H:%M:%S} UTC"
            )
