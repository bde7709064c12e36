"""How many requests may still be sent: an exact rolling log of the last hour.

A token bucket of 1,000 an hour lets 1,999 through within one hour; a log of moments does not.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from adanalytics_client._effects import Head
from adanalytics_client._retry import remaining, seconds_to_reset

WINDOW = 3600.0
"""Seconds over which the service counts."""


@dataclass(slots=True)
class Sent:
    """One request: when it was sent and, once answered, when the answer came."""

    at: float
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """No request now, but after `seconds`. `news` is True once for each moment of going on."""

    seconds: float
    resumes_at: datetime
    news: bool


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What is left at one moment.

    Attributes:
        limit: requests an hour, or None when the client does not count.
        remaining: requests that may be sent now, or None when the client does not count.
        resumes_at: when the next request may be sent, in UTC; None means now.

    Example:
        >>> client.quota.remaining
        1000
    """

    limit: int | None
    remaining: int | None
    resumes_at: datetime | None


class Quota:
    """The log in memory. Every method is quick and is called inside `Atomic`.

    A request counts until an hour after its *answer*: the service counts it somewhere in between,
    so that is the only moment from which the hour is surely over. The log holds at most `limit`
    entries.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._log: list[Sent] = []
        self._held_until = 0.0
        self._told: int | None = None
        self._told_until = 0.0
        self._announced = 0.0

    def take(self, now: float) -> Sent | Hold:
        """Leave to send one request now, or how long to hold it."""
        until = self._free_at(now)
        if until > now:
            return self._hold(until, now)
        sent = Sent(now)
        if self._limit is not None:
            self._log.append(sent)
        if self._told is not None:
            self._told -= 1
        return sent

    def settle(self, sent: Sent, now: float, head: Head | None) -> None:
        """Note that a request ended, and believe the service when it says that less is left.

        More than the own log allows is not believed: the service's count may not know yet of
        requests that are on their way.
        """
        sent.at, sent.answered = max(sent.at, now), True
        left, reset = (remaining(head), seconds_to_reset(head, now)) if head else (None, None)
        if left is not None and reset is not None:
            open_sends = sum(not each.answered for each in self._log)
            self._told, self._told_until = max(0, left - open_sends), now + reset

    def hold(self, until: float, now: float) -> Hold:
        """Send nothing before `until`: the service said so with a 429."""
        self._held_until = max(self._held_until, until)
        return self._hold(until, now)

    def state(self, now: float) -> QuotaState:
        """What is left now."""
        until = self._free_at(now)
        resumes_at = datetime.fromtimestamp(until, tz=UTC) if until > now else None
        if self._limit is None:
            return QuotaState(None, None, resumes_at)
        left = max(0, self._limit - len(self._log))
        if self._told is not None:
            left = min(left, max(0, self._told))
        return QuotaState(self._limit, 0 if resumes_at else left, resumes_at)

    def _hold(self, until: float, now: float) -> Hold:
        news = until > self._announced + 1.0
        self._announced = max(until, self._announced)
        return Hold(until - now, datetime.fromtimestamp(until, tz=UTC), news)

    def _free_at(self, now: float) -> float:
        self._log = [each for each in self._log if each.at > now - WINDOW]
        if self._told is not None and now >= self._told_until:
            self._told = None
        until = self._held_until
        if self._told is not None and self._told <= 0:
            until = max(until, self._told_until)
        if self._limit is not None and len(self._log) >= self._limit:
            moments = sorted(each.at for each in self._log)
            until = max(until, moments[len(moments) - self._limit] + WINDOW)
        return until
