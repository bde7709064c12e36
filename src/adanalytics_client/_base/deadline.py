"""Until when one request may be sent and repeated."""

from dataclasses import dataclass

from adanalytics_client._base.clock import Clock

_LEAST = 1.0
# Timers end a little before the clock says so.
_CLOSE = 0.1


@dataclass(slots=True)
class Deadline:
    """The end of a request with its login, its redirects and its repeats, or of a wait for a file.

    Attributes:
        clock: its monotonic time counts.
        moment: when; what is not counted, such as waits for a rate, moves it.
        name: what a person set to have it, as in code.
    """

    clock: Clock
    moment: float
    name: str

    @property
    def over(self) -> bool:
        """Whether nothing may be sent any more."""
        return self.clock.monotonic() >= self.moment

    @property
    def cut(self) -> bool:
        """Whether what ended just now for lack of time ended because of this."""
        return self.clock.monotonic() >= self.moment - _CLOSE

    @property
    def granted(self) -> float:
        """Until when what is sent now may take: a request that is sent at all gets a second."""
        return max(self.moment, self.clock.monotonic() + _LEAST)

    @property
    def left(self) -> float:
        """Seconds until then; 0 once it is over."""
        return max(0.0, self.moment - self.clock.monotonic())

    def allows(self, seconds: float) -> bool:
        """Whether there is time to wait so long."""
        return self.clock.monotonic() + seconds <= self.moment

    def put_off(self, seconds: float) -> None:
        """Leave some seconds uncounted."""
        self.moment += seconds
