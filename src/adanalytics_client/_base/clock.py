"""The source of time; the only module that reads it."""

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol

from .logs import LOG

_TOLERATED_SECONDS = 3600.0


class Clock(Protocol):
    """A source of time that tests can replace.

    Examples:
        >>> class Hasty:
        ...     now = 1_768_478_400.0
        ...     def time(self) -> float:
        ...         return self.now
        ...     def monotonic(self) -> float:
        ...         return self.now
        ...     def sleeping(self, until: float) -> tuple[float, ...]:
        ...         self.now = max(self.now, until)
        ...         return ()
        ...     def running(self, change: int) -> None: ...
        >>> clock: Clock = Hasty()
        >>> Client("https://stats.example", api_key="...", partner="acme", clock=clock)
        Client('https://stats.example', partner='acme')
    """

    def time(self) -> float:
        """Return the current time in seconds since 1970-01-01 UTC."""

    def monotonic(self) -> float:
        """Return the reading of a monotonic clock, in seconds; the client uses it for deadlines."""

    def sleeping(self, until: float) -> Iterable[float]:
        """Yield real seconds to wait, one pause after another, until `monotonic()` is `until`."""

    def running(self, change: int) -> None:
        """Count the operations that run: +1 when one begins, -1 when it ends or waits for another.

        An operation in `sleeping` still counts; a clock that jumps must wait for the others.
        """


class SystemClock:
    """The machine's time; a wait takes as long as it says."""

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleeping(self, until: float) -> Iterator[float]:
        # One pause, which may end a moment early: freezegun stops the monotonic clock.
        yield max(0.0, until - time.monotonic())

    def running(self, change: int) -> None:
        """Do nothing: the machine's time passes without regard to operations."""


class ClockCheck:
    """Warns once if the clock and the service's are more than an hour apart."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._warned = False

    def compare(self, sent_at: float | None) -> None:
        """Compare with the `Date` of an answer that has just come."""
        if self._warned or sent_at is None:
            return
        offset = self._clock.time() - sent_at
        # `Date` has whole seconds, and a response takes its time.
        if abs(offset) > _TOLERATED_SECONDS:
            self._warned = True
            LOG.warning(
                "The clock of this machine is %s %s the service's, which says %s UTC. Set it: "
                "'today', waits and the expiry of a token depend on it.",
                timedelta(seconds=round(abs(offset))),
                "ahead of" if offset > 0 else "behind",
                f"{datetime.fromtimestamp(sent_at, tz=UTC):%Y-%m-%d %H:%M}",
            )


Clock.__module__ = "adanalytics_client.types"
