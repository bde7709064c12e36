"""The source of time; the only module that reads it."""

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time that tests can replace.

    Examples:
        >>> class Hasty:
        ...     now = 1_768_478_400.0
        ...     def time(self) -> float:
        ...         return self.now
        ...     def monotonic(self) -> float:
        ...         return self.now
        ...     def sleeping(self, seconds: float) -> float:
        ...         self.now += seconds
        ...         return 0.0
        >>> clock: Clock = Hasty()
        >>> Client("https://stats.example", api_key="...", partner="acme", clock=clock)
        Client('https://stats.example', partner='acme')
    """

    def time(self) -> float:
        """Seconds since 1970-01-01 UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""

    def sleeping(self, seconds: float) -> float:
        """Called before a wait of `seconds`; returns how many real seconds to wait."""


class SystemClock:
    """The machine's time; a wait takes as long as it says."""

    def time(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleeping(self, seconds: float) -> float:
        """A wait of `seconds` takes `seconds`."""
        return seconds
