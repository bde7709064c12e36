"""What a run may spend: so many requests, and so much time."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from adanalytics_cli.core.errors import UsedUp


class Limits:
    """Counts requests before they are sent, and ends the run when it may not go on.

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

    def before_request(self) -> None:
        """Account for a request that is about to be sent. Raises UsedUp when it may not be."""
        self.before_wait(self._clock())
        with self._lock:
            if self._left is None:
                return
            if not self._left:
                raise UsedUp(f"the requests of --max-requests {self._allowed} are used up")
            self._left -= 1

    def before_wait(self, until: datetime) -> None:
        """See that the run may still go on at a moment. Raises UsedUp when not."""
        if self._until is not None and until >= self._until:
            raise UsedUp(f"the {self._seconds:g} s of --deadline do not suffice")
