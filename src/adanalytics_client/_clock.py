"""The real clock; the only module that reads the time."""

import time


class SystemClock:
    """Time of the machine; a wait takes as long as it says."""

    def time(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleeping(self, seconds: float) -> float:
        """A wait of `seconds` takes `seconds`."""
        return seconds
