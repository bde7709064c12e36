"""The exact rolling hour: how many requests may still be sent, and when the next one may.

A token bucket of 1,000 an hour allows 1,999 within one hour; a log of sends does not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from sqlite3 import Connection

from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._quota.headers import rate_window
from adanalytics_client._quota.store import QuotaStore

WINDOW = 3600.0
"""The length of the service's window, in seconds."""

UNANSWERED = 300.0
"""Seconds after which a request without a response has reached the service or never will."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment on two clocks.

    `wall` is seconds since 1970 and may be set. `steady` never goes back while the machine runs, is
    the same for all its processes, and starts near zero when the machine starts.
    """

    wall: float
    steady: float


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission for one request; `number` is its place in the log, None without a log."""

    number: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    """No request may be sent now.

    Attributes:
        seconds: the length of the wait.
        resumes_at: the end of the wait, in UTC.
        is_new: True once for each end of a wait.
        by_service: whether a 429 is the reason, and not the window of requests.
    """

    seconds: float
    resumes_at: datetime
    is_new: bool
    by_service: bool


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The quota left at one moment, counting requests from all processes on this machine.

    Attributes:
        limit: requests per hour, or None when the client does not count.
        remaining: requests that this client may send now, with its `reserve` already subtracted;
            None when the client does not count.
        resumes_at: when the next request may be sent, in UTC; None means now.
    """

    limit: int | None
    remaining: int | None
    resumes_at: datetime | None

    def wait_for(self, requests: int) -> float:
        """Return an upper bound on the seconds until `requests` more requests may be sent.

        Each wait for new quota counts as a full hour.

        Examples:
            >>> client.quota.wait_for(1_000), client.quota.wait_for(2_500)
            (0.0, 7200.0)
        """
        if self.limit is None or self.remaining is None or requests <= self.remaining:
            return 0.0
        return WINDOW * -(-(requests - self.remaining) // self.limit)


class Quota:
    """The rules for sending. Every method is quick and is called inside `Atomic`.

    A request counts until an hour after its *response*: the service counts it somewhere in between,
    so only then is the hour surely over. A send needs fewer than `limit` others that still count.
    So of any `limit` + 1 sends, one was over for an hour when the last one was permitted.
    `limit=None` counts nothing and only obeys the service.
    """

    def __init__(
        self, limit: int | None, *, reserve: int, store: QuotaStore, now: Callable[[], Moment]
    ) -> None:
        self._limit = limit
        self._reserve = reserve
        self.store = store
        # Called within a transaction, so that times in the log never go back.
        self._now = now
        self._announced = 0.0

    def with_reserve(self, reserve: int) -> "Quota":
        return Quota(self._limit, reserve=reserve, store=self.store, now=self._now)

    def take(self) -> Permit | Wait:
        """Return the permission to send one request now, or the wait before it."""
        return self.store.run(self._take)

    def _take(self, log: Connection) -> Permit | Wait:
        now = self._present(log)
        _, seconds, asked = self._left(log, now)
        if seconds > 0:
            return self._hold(seconds, now, by_service=asked)
        log.execute("UPDATE state SET stated_left = stated_left - 1")
        if self._limit is None:
            return Permit(None)
        until = now.steady + WINDOW + UNANSWERED
        return Permit(log.execute("INSERT INTO sends (until) VALUES (?)", (until,)).lastrowid)

    def settle(self, sent: Permit, head: ResponseHead | None) -> None:
        """Record the end of a request, and believe the service if it states that less is left.

        A statement that more is left than the log allows is not believed: the service may not have
        counted requests in flight yet.
        """
        self.store.run(lambda log: self._settle(log, sent, head))

    def _settle(self, log: Connection, sent: Permit, head: ResponseHead | None) -> None:
        now = self._present(log)
        hour = now.steady + WINDOW
        if sent.number is not None:
            log.execute("INSERT OR REPLACE INTO sends VALUES (?, ?)", (sent.number, hour))
        if head is not None and (window := rate_window(head, now.wall)):
            left, seconds = window
            # Only a request in flight counts for longer than an hour from now.
            log.execute(
                "UPDATE state SET stated_until = ?,"
                " stated_left = ? - (SELECT count(*) FROM sends WHERE until > ?)",
                (now.steady + min(seconds, WINDOW), left, hour),
            )

    def hold(self, seconds: float) -> Wait:
        """Let no request pass for `seconds`, because the service responded with a 429.

        Other requests are held for at most an hour, however long the service states: by then its
        window has passed, and a mistaken header must not stop every later run.
        """
        return self.store.run(lambda log: self._obey(log, seconds))

    def _obey(self, log: Connection, seconds: float) -> Wait:
        now = self._present(log)
        until = now.steady + min(seconds, WINDOW)
        log.execute("UPDATE state SET hold_until = max(hold_until, ?)", (until,))
        return self._hold(seconds, now, by_service=True)

    def state(self) -> QuotaState:
        return self.store.run(self._state)

    def _state(self, log: Connection) -> QuotaState:
        now = self._present(log)
        left, seconds, _ = self._left(log, now)
        return QuotaState(self._limit, left, _moment_in(seconds, now) if seconds > 0 else None)

    def _present(self, log: Connection) -> Moment:
        """Return the current moment, after removing expired sends and adjusting to a new clock."""
        now = self._now()
        wall, steady = log.execute("SELECT wall, steady FROM state").fetchone()
        if now.steady < steady:
            # The machine restarted, and its steady clock with it: only the wall clock shows how
            # long that took.
            shift = (now.steady - steady - max(0.0, now.wall - wall),)
            log.execute("UPDATE sends SET until = until + ?", shift)
            log.execute(
                "UPDATE state SET hold_until = hold_until + ?, stated_until = stated_until + ?,"
                " full_until = full_until + ?",
                3 * shift,
            )
        log.execute(
            "UPDATE state SET wall = ?, steady = ?, full_until = min(full_until, ?)",
            (now.wall, now.steady, now.steady + WINDOW),
        )
        log.execute("DELETE FROM sends WHERE until <= ?", (now.steady,))
        return now

    def _left(self, log: Connection, now: Moment) -> tuple[int | None, float, bool]:
        """Return the requests left, the seconds until one may be sent, and whether a 429 is why."""
        asked, stated, stated_left, full = log.execute(
            "SELECT hold_until - ?, stated_until - ?, stated_left, full_until - ? FROM state",
            3 * (now.steady,),
        ).fetchone()
        left = None
        used_up = stated if stated_left <= self._reserve else 0.0
        if self._limit is not None:
            (sends,) = log.execute("SELECT count(*) FROM sends").fetchone()
            left = self._limit - self._reserve - sends
            if left <= 0:
                end = "SELECT until - ? FROM sends ORDER BY until LIMIT 1 OFFSET ?"
                used_up = max(used_up, *log.execute(end, (now.steady, -left)).fetchone())
            used_up = max(used_up, full)
            if stated > 0:
                left = min(left, stated_left - self._reserve)
            if max(asked, used_up) > 0:
                left = 0
        return left, max(asked, used_up), asked >= used_up

    def _hold(self, seconds: float, now: Moment, *, by_service: bool) -> Wait:
        until = now.steady + seconds
        is_new = until > self._announced + 1.0
        self._announced = max(until, self._announced)
        return Wait(seconds, _moment_in(seconds, now), is_new, by_service)


def _moment_in(seconds: float, now: Moment) -> datetime:
    return datetime.fromtimestamp(now.wall, tz=UTC) + timedelta(seconds=seconds)


QuotaState.__module__ = "adanalytics_client"
