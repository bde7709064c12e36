"""Whether a request is sent again, and the wait before that."""

from dataclasses import dataclass
from datetime import UTC, datetime

from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import Atomic, Operation, Sleep
from adanalytics_client._exchange import announce
from adanalytics_client._hooks import RetryPlanned, tell
from adanalytics_client._problems import Problem
from adanalytics_client._quota import Hold
from adanalytics_client._session import Session
from adanalytics_client.errors import AdAnalyticsError


@dataclass(frozen=True, slots=True)
class Tries:
    """How far the attempts at one thing have come.

    Attributes:
        sent: how many there were.
        failures: how many of the last ones brought nothing.
        deadline: until when to go on; waits for a rate move it.
    """

    sent: int
    failures: int
    deadline: Deadline


def before_repeat(session: Session, problem: Problem, url: str, tries: Tries) -> Operation[None]:
    """Wait before sending again, or raise."""
    policy, config = session.config.retry, session.config
    seconds = policy.wait(max(0, tries.failures - 1), problem.asked, session.jitter)
    hold = (yield from _held(session, url, seconds)) if problem.limited else None
    if not problem.again or tries.failures >= policy.attempts:
        raise problem.error
    if hold is not None:
        if config.on_limit == "raise" or seconds > config.max_wait:
            raise problem.error
        announce(session, hold)
        yield Sleep(seconds)
        tries.deadline.put_off(seconds)
        return
    if not tries.deadline.allows(seconds):
        raise _out_of_time(session, problem, tries.deadline)
    told = problem.error.message
    planned = RetryPlanned(session.shown(url), tries.sent, seconds, told)
    tell(session.observer.retry, planned)
    yield Sleep(seconds)


def _out_of_time(session: Session, problem: Problem, deadline: Deadline) -> AdAnalyticsError:
    """The error of a problem, saying also what ended the repeats."""
    error = problem.error
    why = f"{deadline.name} leaves no time for another try."
    if problem.asked:
        until = _moment(session, problem.asked)
        why = (
            f"The service asks to wait {problem.asked:.0f} s, until {until:%Y-%m-%d %H:%M:%S} UTC; "
            f"{deadline.name} leaves less."
        )
    if deadline.name not in error.message:
        error.message = f"{error.message} {why}"
        error.args = (error.message,)
    return error


def _held(session: Session, url: str, seconds: float) -> Operation[Hold]:
    """Obey a 429: every request with this key waits, not only the one that was refused."""
    if session.config.base.counts(url):
        hold: Hold = yield Atomic(lambda: session.quota.hold(seconds))
        return hold
    return Hold(seconds, _moment(session, seconds), news=True, asked=True)


def _moment(session: Session, seconds: float) -> datetime:
    return datetime.fromtimestamp(session.clock.time() + seconds, tz=UTC)
