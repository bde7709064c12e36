"""A clock for clients that lets no test wait."""

import threading


class MovedClock:
    """A clock that moves only when something sleeps, and then at once."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []
        self._lock = threading.Lock()

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleeping(self, until: float) -> tuple[float, ...]:
        with self._lock:
            self.sleeps.append(until - self.now)
            self.now = max(self.now, until)
        return ()

    def running(self, change: int) -> None:
        """Nothing: it moves whatever else runs."""
