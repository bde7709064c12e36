"""The one source of time, so that a test can move it and everything follows.

Token expiry, rate windows, export expiry and every timestamp ask the application's
``Clock``; no other module of the server asks what time it is. How long an answer took is
measured apart from it, so that a stopped clock does not stop the metrics.
"""

import threading
import time
from datetime import UTC, datetime, timedelta

MILLISECONDS_PER_HOUR = 3_600_000
MILLISECONDS_PER_DAY = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """UTC wall time in whole milliseconds since 1970, movable and stoppable.

    >>> clock = Clock()
    >>> clock.freeze(1_700_000_000_000)
    >>> clock.advance(seconds=3600)
    >>> clock.now()
    1700003600000
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = 0
        self._frozen: int | None = None

    def now(self) -> int:
        """Return the current time in milliseconds since the epoch."""
        with self._lock:
            return self._now()

    def advance(self, *, seconds: float) -> None:
        """Move time by ``seconds``; it may be negative. A frozen clock moves too."""
        with self._lock:
            if self._frozen is None:
                self._offset += round(seconds * 1000)
            else:
                self._frozen += round(seconds * 1000)

    def set(self, at: int) -> None:
        """Make it ``at`` (milliseconds since the epoch) now; it goes on or stands as before."""
        with self._lock:
            if self._frozen is None:
                self._offset += at - self._now()
            else:
                self._frozen = at

    def freeze(self, at: int | None = None) -> None:
        """Stop time at ``at`` (milliseconds since the epoch), or where it is."""
        with self._lock:
            self._frozen = self._now() if at is None else at

    def run(self) -> None:
        """Let a stopped clock go on from where it is."""
        with self._lock:
            if self._frozen is not None:
                self._offset = self._frozen - time.time_ns() // 1_000_000
                self._frozen = None

    @property
    def is_frozen(self) -> bool:
        """Whether time stands still."""
        with self._lock:
            return self._frozen is not None

    def capture(self) -> tuple[int, int | None]:
        """Return what ``restore`` needs to come back to this setting."""
        with self._lock:
            return self._offset, self._frozen

    def restore(self, captured: tuple[int, int | None]) -> None:
        """Go back to a captured setting; a running clock has gone on meanwhile."""
        with self._lock:
            self._offset, self._frozen = captured

    def reset(self) -> None:
        """Go back to the machine's own time, running."""
        with self._lock:
            self._offset = 0
            self._frozen = None

    def _now(self) -> int:
        if self._frozen is not None:
            return self._frozen
        return time.time_ns() // 1_000_000 + self._offset


def rfc3339(milliseconds: int) -> str:
    """Write an instant as RFC 3339 in UTC with milliseconds.

    >>> rfc3339(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
