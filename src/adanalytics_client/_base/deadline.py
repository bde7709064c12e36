"""The time limit of one request and its retries."""

from dataclasses import dataclass

from .clock import Clock

_LEAST = 1.0
# Timers may fire a little before the clock reaches the deadline.
_CLOSE = 0.1


@dataclass(slots=True)
class Deadline:
    """The time limit of a request with its login, redirects and retries, or of a wait for a file.

    Attributes:
        clock: its monotonic time is used.
        moment: the end, on that clock; uncounted waits, such as for a rate limit, postpone it.
        name: the user's setting for it, as in code.
    """

    clock: Clock
    moment: float
    name: str

    @property
    def is_the_cause(self) -> bool:
        """Return whether something that just ran out of time did so because of this deadline."""
        return self.clock.monotonic() >= self.moment - _CLOSE

    @property
    def for_one_request(self) -> float:
        """Return the deadline of a request sent now: at least a second away."""
        return max(self.moment, self.clock.monotonic() + _LEAST)

    @property
    def left(self) -> float:
        """Return seconds until the end; 0 once it is over."""
        return max(0.0, self.moment - self.clock.monotonic())

    def allows(self, seconds: float) -> bool:
        return self.clock.monotonic() + seconds <= self.moment

    def extend(self, seconds: float) -> None:
        self.moment += seconds
