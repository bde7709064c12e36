"""The single source of time, which a test can move.

Token expiry, rate windows, export expiry and every timestamp read the application's ``Clock``; no
other module of the server reads the time. Durations of requests are measured separately, so that a
stopped clock does not make them zero.
"""

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

MILLISECONDS_PER_HOUR = 3_600_000
MILLISECONDS_PER_DAY = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """A UTC clock that can be moved and stopped.

    Examples:
        >>> clock = Clock()
        >>> clock.freeze(datetime(2026, 1, 20, tzinfo=UTC))
        >>> clock.advance(3600)
        >>> clock.now
        datetime.datetime(2026, 1, 20, 1, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = 0
        self._frozen: int | None = None

    @property
    def now(self) -> datetime:
        """Return the current time, in UTC."""
        return EPOCH + timedelta(milliseconds=self.milliseconds())

    def milliseconds(self) -> int:
        """Return the current time in milliseconds since 1970."""
        with self._lock:
            return self._now()

    def advance(self, seconds: float) -> None:
        """Move the time by ``seconds``, which may be negative. A frozen clock moves too."""
        with self._lock:
            if self._frozen is None:
                self._offset += round(seconds * 1000)
            else:
                self._frozen += round(seconds * 1000)

    def set(self, at: datetime) -> None:
        """Set the time, which must have a time zone; a running clock keeps running, and a frozen
        clock stays frozen."""
        with self._lock:
            if self._frozen is None:
                self._offset += milliseconds_of(at) - self._now()
            else:
                self._frozen = milliseconds_of(at)

    def freeze(self, at: datetime | None = None) -> None:
        """Stop the clock, by default at the current time; any other time must have a time zone."""
        with self._lock:
            self._frozen = self._now() if at is None else milliseconds_of(at)

    def run(self) -> None:
        """Let a stopped clock continue from its current time."""
        with self._lock:
            if self._frozen is not None:
                self._offset = self._frozen - time.time_ns() // 1_000_000
                self._frozen = None

    @property
    def is_frozen(self) -> bool:
        """Return whether the clock is stopped."""
        with self._lock:
            return self._frozen is not None

    def capture(self) -> tuple[int, int | None]:
        with self._lock:
            return self._offset, self._frozen

    def restore(self, state: tuple[int, int | None]) -> None:
        """Restore a captured setting, plus the time since the capture if the clock was running."""
        with self._lock:
            self._offset, self._frozen = state

    def _now(self) -> int:
        if self._frozen is not None:
            return self._frozen
        return time.time_ns() // 1_000_000 + self._offset


def milliseconds_of(instant: datetime) -> int:
    """Return an instant in milliseconds since 1970."""
    return (instant - EPOCH) // timedelta(milliseconds=1)


def rfc3339(milliseconds: int) -> str:
    """Write an instant as RFC 3339 in UTC with milliseconds."""
    days, rest = divmod(milliseconds, MILLISECONDS_PER_DAY)
    minutes, rest = divmod(rest, 60_000)
    return f"{_day(days)}T{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}Z"


# Generated events have two times each, and `isoformat` takes four times as long.
@lru_cache(maxsize=366)
def _day(days: int) -> str:
    return f"{(EPOCH + timedelta(days)).date()}"
