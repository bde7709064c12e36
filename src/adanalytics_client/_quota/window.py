"""The exact rolling hour: how many requests may still be sent, and when the next one may.

A token bucket of 1,000 an hour allows 1,999 within one hour; a log of sends does not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from sqlite3 import Connection
from typing import NamedTuple

from adanalytics_client._base.effects import ResponseHead

from .headers import rate_window, retry_after
from .hold import PUBLISHED_PAUSE, begin_probe, end_probe, read_hold, record_refusal
from .store import QuotaStore

WINDOW = 3600.0
"""The length of the service's window, in seconds."""

UNANSWERED = 300.0
"""Seconds after which a request without a response has reached the service or never will."""

# Seconds between two looks whether the probe of another request, or process, has its answer.
_PROBE_POLL = 1.0


class Moment(NamedTuple):
    """One moment on two clocks.

    `wall` is seconds since 1970 and may be set. `steady` never goes back while the machine runs, is
    the same for all its processes, and starts near zero when the machine starts.
    """

    wall: float
    steady: float


class Permit(NamedTuple):
    """Permission for one request.

    Attributes:
        number: its place in the log; None if sends are not counted.
        at: when it was given, on the steady clock.
    """

    number: int | None
    at: float


class Reason(Enum):
    """Why no request may be sent now."""

    USED_UP = "quota used up"
    SLOW_DOWN = "the service asked to slow down"
    REFUSED = "the service refused a request"
    PROBING = "another request asks the service again"


class Wait(NamedTuple):
    """No request may be sent now.

    Attributes:
        seconds: the length of the wait.
        until: the end of the wait, on the steady clock.
        resumes_at: the end of the wait, in UTC.
        is_new: True once for each end of a wait.
        reason: why to wait.
        is_hopeless: whether the service has refused requests for so long that a call gives up.
    """

    seconds: float
    until: float
    resumes_at: datetime
    is_new: bool
    reason: Reason
    is_hopeless: bool = False


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


@dataclass(eq=False)
class Quota:
    """The rules for sending. Every method is quick and is called inside `Atomic`.

    A request counts until an hour after its *response*: the service counts it somewhere in between,
    so only then is the hour surely over. One without a response may arrive until `UNANSWERED`
    seconds after it was sent. A send needs fewer than `limit` others that still count. So of any
    `limit` + 1 sends, one was over for an hour when the last one was permitted.
    `limit=None` counts nothing and only obeys the service. `longest_wait` scales the pauses before
    a request asks a service again that refused one without stating a time.
    """

    limit: int | None
    reserve: int
    store: QuotaStore
    # Called within a transaction, so that times in the log never go back.
    now: Callable[[], Moment]
    longest_wait: float = PUBLISHED_PAUSE
    _announced_until: float = field(default=0.0, init=False)

    def take(self) -> Permit | Wait:
        """Return the permission to send one request now, or the wait before it."""
        return self.store.run(self._take)

    def _take(self, log: Connection) -> Permit | Wait:
        now = self._present(log)
        _, seconds, reason = self._left(log, now)
        if seconds > 0:
            return self._wait(log, seconds, now, reason)
        log.execute("UPDATE state SET stated_left = stated_left - 1")
        begin_probe(log, now.steady)
        if self.limit is None:
            return Permit(None, now.steady)
        until = now.steady + WINDOW + UNANSWERED
        cursor = log.execute("INSERT INTO sends (until) VALUES (?)", (until,))
        return Permit(cursor.lastrowid, now.steady)

    def settle(self, permit: Permit, head: ResponseHead | None) -> Wait | None:
        """Record the end of a request, and believe the service if it states that less is left.

        A statement that more is left than the log allows is not believed: the service may not have
        counted requests in flight yet. After a 429 that states no time, the key is held, and the
        wait for the next probe is returned.
        """
        return self.store.run(lambda log: self._settle(log, permit, head))

    def _settle(self, log: Connection, permit: Permit, head: ResponseHead | None) -> Wait | None:
        now = self._present(log)
        hour = now.steady + WINDOW
        if permit.number is not None:
            # Without a response, the request may still be on its way.
            arrived = now.steady if head is not None else permit.at + UNANSWERED
            until = max(arrived, now.steady) + WINDOW
            row = (until, permit.number, permit.at + WINDOW + UNANSWERED)
            change = "UPDATE sends SET until = ? WHERE id = ? AND until = ?"
            if not log.execute(change, row).rowcount:
                # It has expired, and its number may be that of another send.
                log.execute("INSERT INTO sends (until) VALUES (?)", (until,))
        if head is not None and (window := rate_window(head, now.wall)):
            remaining, seconds = window
            # Only a request in flight counts for longer than an hour from now.
            log.execute(
                "UPDATE state SET stated_until = ?,"
                " stated_left = ? - (SELECT count(*) FROM sends WHERE until > ?)",
                (now.steady + min(seconds, WINDOW), remaining, hour),
            )
        if head is None or head.status != 429 or retry_after(head, now.wall):
            end_probe(log, permit.at, is_success=head is not None and head.status < 500)
            return None
        record_refusal(
            log, permit.at, steady=now.steady, wall=now.wall, longest_wait=self.longest_wait
        )
        _, seconds, reason = self._left(log, now)
        return self._wait(log, max(0.0, seconds), now, reason)

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
        return self._wait(log, seconds, now, Reason.SLOW_DOWN)

    def state(self) -> QuotaState:
        return self.store.run(self._state)

    def _state(self, log: Connection) -> QuotaState:
        now = self._present(log)
        remaining, seconds, _ = self._left(log, now)
        return QuotaState(self.limit, remaining, _moment_in(seconds, now) if seconds > 0 else None)

    def _present(self, log: Connection) -> Moment:
        """Return the current moment, after removing expired sends and adjusting to a new clock."""
        now = self.now()
        present = (now.wall, now.steady, now.steady + WINDOW)
        change = "UPDATE state SET wall = ?, steady = ?, full_until = min(full_until, ?)"
        if not log.execute(f"{change} WHERE steady <= ?", (*present, now.steady)).rowcount:
            wall, steady = log.execute("SELECT wall, steady FROM state").fetchone()
            # The machine restarted, and its steady clock with it: only the wall clock shows how
            # long that took.
            shift = (now.steady - steady - max(0.0, now.wall - wall),)
            log.execute("UPDATE sends SET until = until + ?", shift)
            log.execute(
                "UPDATE state SET hold_until = hold_until + ?, stated_until = stated_until + ?,"
                " full_until = full_until + ?",
                3 * shift,
            )
            log.execute("UPDATE refusals SET at = at + ?", shift)
            log.execute(
                "UPDATE hold SET since = since + ?, refused_at = refused_at + ?,"
                " probe_at = probe_at + ?, probe_until = probe_until + ?",
                4 * shift,
            )
            log.execute(change, present)
        log.execute("DELETE FROM sends WHERE until <= ?", (now.steady,))
        return now

    def _left(self, log: Connection, now: Moment) -> tuple[int | None, float, Reason]:
        """Return the requests left, and the seconds until one may be sent and their reason."""
        hold_requests, limit_end, limit_left, full, sends = log.execute(
            "SELECT hold_until - ?, stated_until - ?, stated_left, full_until - ?,"
            " (SELECT count(*) FROM sends) FROM state",
            3 * (now.steady,),
        ).fetchone()
        remaining = None
        used_up = limit_end if limit_left <= self.reserve else 0.0
        # Both count: what the service stated, and what was sent from here. The lower one holds.
        if self.limit is not None:
            remaining = self.limit - self.reserve - sends
            # A request is free when the oldest of those too many leaves the hour.
            if remaining <= 0:
                end = "SELECT until - ? FROM sends ORDER BY until LIMIT 1 OFFSET ?"
                used_up = max(used_up, *log.execute(end, (now.steady, -remaining)).fetchone())
            used_up = max(used_up, full)
            if limit_end > 0:
                remaining = min(remaining, limit_left - self.reserve)
        waits = [(hold_requests, Reason.SLOW_DOWN), (used_up, Reason.USED_UP)]
        if hold := read_hold(log):
            waits.append((hold.probe_at - now.steady, Reason.REFUSED))
            waits.append((min(hold.probe_until - now.steady, _PROBE_POLL), Reason.PROBING))
        seconds, reason = max(waits, key=lambda wait: wait[0])
        return 0 if remaining is not None and seconds > 0 else remaining, seconds, reason

    def _wait(self, log: Connection, seconds: float, now: Moment, reason: Reason) -> Wait:
        until = now.steady + seconds
        is_new = until > self._announced_until + 1.0
        self._announced_until = max(until, self._announced_until)
        hold = read_hold(log) if reason is Reason.REFUSED else None
        is_hopeless = hold is not None and hold.is_hopeless(now.wall - now.steady)
        return Wait(seconds, until, _moment_in(seconds, now), is_new, reason, is_hopeless)


def _moment_in(seconds: float, now: Moment) -> datetime:
    return datetime.fromtimestamp(now.wall, tz=UTC) + timedelta(seconds=seconds)


QuotaState.__module__ = "adanalytics_client"
