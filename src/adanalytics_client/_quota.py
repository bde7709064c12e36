"""How many requests may still be sent: a log of every send of the last hour.

A token bucket of 1,000 an hour lets 1,999 through within one hour; a log of moments does not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from adanalytics_client._effects import Head as Answered
from adanalytics_client._quota_log import Blocks, SendLog, Store
from adanalytics_client._quota_records import WINDOW, Moment, Notice
from adanalytics_client._retry import rate_window


@dataclass(frozen=True, slots=True)
class Sent:
    """Leave to send one request; `number` is its place in the log, None where none is kept."""

    number: int | None


@dataclass(frozen=True, slots=True)
class Hold:
    """No request now, but after `seconds`.

    Attributes:
        seconds: how long.
        resumes_at: when that is, in UTC.
        news: True once for each moment of going on.
        asked: whether a 429 asked for it, and not the window of requests.
    """

    seconds: float
    resumes_at: datetime
    news: bool
    asked: bool


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What is left at one moment, with what other processes on this machine sent.

    Attributes:
        limit: requests an hour, or None when the client does not count.
        remaining: requests that this client may send now, its `reserve` left out; None when the
            client does not count.
        resumes_at: when the next request may be sent, in UTC; None means now.

    Example:
        >>> client.quota.remaining
        1000
    """

    limit: int | None
    remaining: int | None
    resumes_at: datetime | None


class Quota:
    """The rules of sending. Every method is quick and is called inside `Atomic`.

    A request counts until an hour after its *answer*: the service counts it somewhere in between,
    so that is the only moment from which the hour is surely over. With a limit of 1,000, a send
    waits until the thousandth before it is an hour old; so any 1,001 sends span an hour.

    Args:
        limit: requests an hour, or None to count nothing and only obey the service.
        reserve: how many of them are left for others who use the same key.
        store: where the log lives.
        now: asked while the log is ours alone, so that moments in it never go back.
    """

    def __init__(
        self, limit: int | None, *, reserve: int, store: Store, now: Callable[[], Moment]
    ) -> None:
        self._limit = limit
        self._reserve = reserve
        self._store = store
        self._now = now
        self._announced = 0.0

    def take(self) -> Sent | Hold:
        """Leave to send one request now, or how long to hold it."""
        return self._store.run(self._take)

    def settle(self, sent: Sent, answer: Answered | None) -> None:
        """Note that a request ended, and believe the service when it says that less is left.

        More than the own log allows is not believed: the service's count may not know yet of
        requests that are on their way.
        """
        self._store.run(lambda blocks: self._settle(blocks, sent, answer))

    def hold(self, seconds: float) -> Hold:
        """Send nothing for `seconds`: the service said so with a 429.

        Others are held for an hour at most, however long the service says: by then its window has
        passed, and a mistaken header shall not stop every later run.
        """
        return self._store.run(lambda blocks: self._obey(blocks, seconds))

    def state(self) -> QuotaState:
        """What is left now."""
        return self._store.run(self._state)

    def _take(self, blocks: Blocks) -> Sent | Hold:
        now, log = self._open(blocks)
        seconds = self._held_for(log, now)
        if seconds > 0:
            return self._hold(seconds, now, asked=log.head.hold.left(now) >= seconds)
        number = None if self._limit is None else log.append()
        log.head.left = max(0, log.head.left - 1)
        log.save()
        return Sent(number)

    def _settle(self, blocks: Blocks, sent: Sent, answer: Answered | None) -> None:
        now, log = self._open(blocks)
        if sent.number is not None:
            log.answer(sent.number)
        window = rate_window(answer, now.wall) if answer else None
        if window is not None:
            left, reset = window
            log.head.left = max(0, left - log.open_sends())
            log.head.told = Notice(now, min(reset, WINDOW))
        log.save()

    def _obey(self, blocks: Blocks, seconds: float) -> Hold:
        now, log = self._open(blocks)
        notice = Notice(now, min(seconds, WINDOW))
        if notice.left(now) > log.head.hold.left(now):
            log.head.hold = notice
            log.save()
        return self._hold(seconds, now, asked=True)

    def _state(self, blocks: Blocks) -> QuotaState:
        now, log = self._open(blocks)
        seconds = self._held_for(log, now)
        resumes_at = _moment_in(seconds, now) if seconds > 0 else None
        if self._limit is None:
            return QuotaState(None, None, resumes_at)
        left = 0 if resumes_at else self._left(log, now, self._limit - self._reserve)
        return QuotaState(self._limit, left, resumes_at)

    def _open(self, blocks: Blocks) -> tuple[Moment, SendLog]:
        now = self._now()
        return now, SendLog.open(blocks, now, capacity=self._limit or 1)

    def _held_for(self, log: SendLog, now: Moment) -> float:
        """Seconds until a request may be sent; zero or less when it may be now."""
        seconds = log.head.hold.left(now)
        if log.head.left <= self._reserve:
            seconds = max(seconds, log.head.told.left(now))
        if self._limit is not None:
            # Those who leave nothing to others count on everybody to keep the whole limit too.
            for count in {self._limit - self._reserve, self._limit, log.head.capacity}:
                decides = log.record(log.head.following - count)
                seconds = max(seconds, decides.free_in(now)) if decides else seconds
        return seconds

    def _left(self, log: SendLog, now: Moment, allowed: int) -> int:
        """How many could be sent now one after the other, the first of which may be."""
        first = log.head.following - allowed
        left = max(0, log.head.oldest - first)
        for record in log.records(range(first + left, log.head.following)):
            if record and record.free_in(now) > 0:
                break
            left += 1
        return min(left, log.head.left - self._reserve) if log.head.told.left(now) > 0 else left

    def _hold(self, seconds: float, now: Moment, *, asked: bool) -> Hold:
        until = now.steady + seconds
        news = until > self._announced + 1.0
        self._announced = max(until, self._announced)
        return Hold(seconds, _moment_in(seconds, now), news, asked)


def _moment_in(seconds: float, now: Moment) -> datetime:
    return datetime.fromtimestamp(now.wall, tz=UTC) + timedelta(seconds=seconds)
