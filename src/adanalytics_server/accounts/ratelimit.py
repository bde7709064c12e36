"""The request limit: an exact count per credential, kept in ``limits.db``.

The count begins anew at each full hour. In the dialect ``rate-sliding``, it is that of the last
3,600 s, so each request is stored with its time. The window is in the file only, so it survives a
restart. The number of rows is at most the limit times the credentials in use.
"""

import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from adanalytics_server.clock import Clock
from adanalytics_server.storage.damage import DiskFull, room_for
from adanalytics_server.storage.schema import LIMITS, prepare
from adanalytics_server.storage.store import transaction

WINDOW_SECONDS = 3600
_WINDOW = WINDOW_SECONDS * 1000


class Allowance(NamedTuple):
    """The decision about one request, and the number of requests left.

    ``seconds`` is the time until the first of the counted requests no longer counts.
    """

    limit: int
    passes: bool
    remaining: int
    seconds: int


class RateLimiter:
    """Counts requests per credential; safe to share between threads and processes."""

    def __init__(self, data: Path, clock: Clock, *, is_sliding: bool = False) -> None:
        self._clock = clock
        self._is_sliding = is_sliding
        self._lock = threading.Lock()
        self._path = data / "limits.db"
        self._connection = sqlite3.Connection(
            self._path, isolation_level=None, check_same_thread=False
        )
        try:
            with room_for(self._path):
                prepare(self._connection, LIMITS)
                # Writes survive the process; a power cut may lose a few requests.
                self._connection.execute("PRAGMA synchronous = OFF")
                begin = self._begin(clock.milliseconds())
                self._connection.execute("DELETE FROM sends WHERE at < ?", (begin,))
        except BaseException:
            # An open transaction would block the next start.
            self._connection.close()
            raise

    def take(self, credential: str, *, limit: int) -> Allowance:
        """Count one request if it fits in the window; a refused one is not counted.

        While the disk is full, requests are not counted: those that only read go on.
        """
        with suppress(DiskFull), room_for(self._path), self._lock, transaction(self._connection):
            now = self._clock.milliseconds()
            self._connection.execute(
                "DELETE FROM sends WHERE credential = ? AND at < ?", (credential, self._begin(now))
            )
            allowance = self._allowance(credential, now, limit)
            if not allowance.passes:
                return allowance
            self._connection.execute("INSERT INTO sends VALUES (?, ?)", (credential, now))
            return allowance._replace(remaining=allowance.remaining - 1)
        return self.look(credential, limit=limit)

    def look(self, credential: str, *, limit: int) -> Allowance:
        """Return the allowance of a credential without counting a request."""
        with self._lock:
            return self._allowance(credential, self._clock.milliseconds(), limit)

    def capture(self) -> list[tuple[str, int]]:
        with self._lock:
            return self._connection.execute("SELECT credential, at FROM sends").fetchall()

    def restore(self, counts: list[tuple[str, int]]) -> None:
        """Go back to the requests that were counted in a captured state.

        Raises:
            DiskFull: the disk is full.
        """
        with room_for(self._path), self._lock, transaction(self._connection):
            self._connection.execute("DELETE FROM sends")
            self._connection.executemany("INSERT INTO sends VALUES (?, ?)", counts)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _begin(self, now: int) -> int:
        """Return the first millisecond of the window that ends now."""
        return now - _WINDOW + 1 if self._is_sliding else now - now % _WINDOW

    def _allowance(self, credential: str, now: int, limit: int) -> Allowance:
        begin = self._begin(now)
        count, oldest = self._connection.execute(
            "SELECT COUNT(*), MIN(at) FROM sends WHERE credential = ? AND at >= ?",
            (credential, begin),
        ).fetchone()
        leaves_from = begin
        if self._is_sliding:
            leaves_from = now if oldest is None else oldest
        # Round up: a client that is too early is refused again.
        seconds = -((now - _WINDOW - leaves_from) // 1000)
        return Allowance(limit, count < limit, max(0, limit - count), seconds)
