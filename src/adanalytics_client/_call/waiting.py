"""Waits: for quota before a request, and before a retry."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.effects import (
    Atomic,
    Operation,
    Sleep,
)
from adanalytics_client._base.observer import RetryPlanned, WaitStarted, notify
from adanalytics_client._call.failures import Problem
from adanalytics_client._call.session import Session
from adanalytics_client._quota import Hold, Sent
from adanalytics_client.errors import AdAnalyticsError, QuotaExceeded

_LOG = logging.getLogger("adanalytics_client")
_SHORTEST_PAUSE = 0.001
# Seconds; a longer wait is reported, so that a user does not wonder.
_SILENT_WAIT = 5.0


def pace(session: Session, url: str) -> Operation[tuple[Sent | None, float]]:
    """Wait until a request may be sent; return the permission and the seconds waited.

    A request outside the Partner API needs no permission.

    Raises:
        QuotaExceeded: when the wait would be longer than allowed.
    """
    waited = 0.0
    if not session.config.base.counts(url):
        return None, waited
    least = _SHORTEST_PAUSE
    while True:
        leave: Sent | Hold = yield Atomic(session.quota.take)
        if isinstance(leave, Sent):
            return leave, waited
        seconds = max(leave.seconds, least)
        if session.config.on_limit == "raise" or waited + seconds > session.config.max_wait:
            raise _exceeded(leave)
        _announce(session, leave)
        yield Sleep(seconds)
        waited += seconds
        # A caller's clock may count in milliseconds or seconds, and not move for less.
        least = min(2 * least, 1.0)


def _exceeded(leave: Hold) -> QuotaExceeded:
    return QuotaExceeded(
        f"{_described(leave)}.",
        remedy="Try again then, or allow longer waits with max_wait=.",
        resumes_at=leave.resumes_at,
    )


@dataclass(frozen=True, slots=True)
class Tries:
    """The attempts so far.

    Attributes:
        sent: the number of attempts.
        failures: how many of the last ones failed without progress.
        deadline: the end of the attempts; waits for a rate limit postpone it.
    """

    sent: int
    failures: int
    deadline: Deadline


def before_repeat(session: Session, problem: Problem, url: str, tries: Tries) -> Operation[None]:
    """Wait before sending again, or raise."""
    policy, config = session.config.retry, session.config
    seconds = policy.wait(max(0, tries.failures - 1), problem.asked, session.jitter)
    hold = (yield from _obey(session, url, seconds)) if problem.limited else None
    if not problem.again or tries.failures >= policy.attempts:
        raise problem.error
    if hold is not None:
        if config.on_limit == "raise" or seconds > config.max_wait:
            raise problem.error
        _announce(session, hold)
        yield Sleep(seconds)
        tries.deadline.put_off(seconds)
        return
    if not tries.deadline.allows(seconds):
        raise _out_of_time(session, problem, tries.deadline)
    planned = RetryPlanned(session.shown(url), tries.sent, seconds, problem.error.message)
    notify(session.observer.retry, planned)
    yield Sleep(seconds)


def _out_of_time(session: Session, problem: Problem, deadline: Deadline) -> AdAnalyticsError:
    """The error of a problem, with the reason why it is not retried."""
    error = problem.error
    why = f"{deadline.name} leaves no time for another try."
    if problem.asked:
        until = _moment(session, problem.asked)
        why = (
            f"The service asks to wait {problem.asked:.0f} s, until {until:%Y-%m-%d %H:%M:%S} UTC; "
            f"{deadline.name} leaves less."
        )
    if deadline.name not in error.message:
        error.amended(message=f"{error.message} {why}")
    return error


def _obey(session: Session, url: str, seconds: float) -> Operation[Hold]:
    """Obey a 429: every request with this key waits, not only the one that was refused."""
    if session.config.base.counts(url):
        hold: Hold = yield Atomic(lambda: session.quota.hold(seconds))
        return hold
    return Hold(seconds, _moment(session, seconds), news=True, asked=True)


def _moment(session: Session, seconds: float) -> datetime:
    return datetime.fromtimestamp(session.clock.time() + seconds, tz=UTC)


def _described(hold: Hold) -> WaitStarted:
    reason = "the service asked to slow down" if hold.asked else "quota used up"
    return WaitStarted(reason, hold.seconds, hold.resumes_at)


def _announce(session: Session, hold: Hold) -> None:
    """Report a wait to the observer and, once for each time of resuming, to the log."""
    started = _described(hold)
    notify(session.observer.wait, started)
    if hold.news and hold.seconds > _SILENT_WAIT:
        # Programs that show waits in another way can filter out records with this field.
        _LOG.warning("%s", started, extra={"resumes_at": hold.resumes_at})
