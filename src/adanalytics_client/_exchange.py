"""One request along its redirects, each hop within the quota."""

import logging
from dataclasses import dataclass

from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import (
    Atomic,
    Failure,
    Head,
    Operation,
    Reply,
    Request,
    Send,
    Sink,
    Sleep,
)
from adanalytics_client._hooks import RequestDue, RequestSent, WaitStarted, tell
from adanalytics_client._problems import request_id_of
from adanalytics_client._quota import Hold, Sent
from adanalytics_client._redirects import is_redirect, redirected
from adanalytics_client._session import Session
from adanalytics_client._url import host_of, redact_url
from adanalytics_client.errors import ProtocolError, QuotaExceeded, RequestTimeout

_LOG = logging.getLogger("adanalytics_client")
_MOST_REDIRECTS = 5
_SHORTEST_PAUSE = 0.001


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What came of a request, the address that answered, and seconds waited for quota."""

    outcome: Reply | Failure
    url: str
    waited: float


def exchange(
    session: Session,
    request: Request,
    *,
    deadline: Deadline | None,
    sink: Sink | None,
    carry: bool = True,
    resends: int = 0,
) -> Operation[Exchanged]:
    """Send and follow redirects by hand, so that each hop is checked.

    Args:
        session: the client's session.
        request: what to send first.
        deadline: once it is over, nothing is sent; waits for quota move it.
        sink: takes the body of the answer that is no redirect.
        carry: whether the credential follows a redirect within the base origin.
        resends: how many requests of the same call went before.

    Raises:
        QuotaExceeded: when a hop would have to wait longer than allowed.
        RequestTimeout: when the deadline is over before a hop.
        ProtocolError: for a redirect that leads nowhere or round in circles.
    """
    waited = 0.0
    for number in range(resends, resends + _MOST_REDIRECTS + 1):
        if deadline is not None and deadline.over:
            raise _too_late(request.url, deadline, sent=number > resends)
        shown = session.shown(request.url)
        tell(session.observer.due, RequestDue(request.method, shown))
        sent, held = yield from _pace(session, request.url)
        waited += held
        if deadline is not None:
            deadline.put_off(held)
        started = session.clock.monotonic()
        until = None if deadline is None else deadline.granted
        outcome: Reply | Failure = yield Send(request, until, sink)
        head = outcome.head if isinstance(outcome, Reply) else None
        yield from _settle(session, sent, head)
        seconds = session.clock.monotonic() - started
        told = _told(session, request.method, shown, outcome, seconds, number)
        result = told.status or told.failure
        _LOG.debug("%s %s: %s after %.3f s", told.method, told.url, result, told.seconds)
        tell(session.observer.request, told)
        if head is None or not is_redirect(head):
            return Exchanged(outcome, request.url, waited)
        request = redirected(session.config.base, request, head, carry=carry)
    raise ProtocolError("The service redirects in circles.", url=redact_url(request.url))


def announce(session: Session, hold: Hold) -> None:
    """Tell the observer and, once for each moment of going on, the log about a wait."""
    reason = "the service asked to slow down" if hold.asked else "quota used up"
    tell(session.observer.wait, WaitStarted(reason, hold.seconds, hold.resumes_at))
    if hold.news:
        _LOG.info("%s, going on at %s UTC", reason, f"{hold.resumes_at:%Y-%m-%d %H:%M:%S}")


def _pace(session: Session, url: str) -> Operation[tuple[Sent | None, float]]:
    """Wait for leave to send; a request outside the Partner API needs none."""
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
        announce(session, leave)
        yield Sleep(seconds)
        waited += seconds
        # A clock of somebody's own may count in milliseconds or seconds, and not move for less.
        least = min(2 * least, 1.0)


def _too_late(url: str, deadline: Deadline, *, sent: bool) -> RequestTimeout:
    return RequestTimeout(
        f"{deadline.name} was over before a request to {host_of(url)}, which was not sent. "
        "Try later, or allow more.",
        url=redact_url(url),
        attempts=int(sent),
    )


def _exceeded(leave: Hold) -> QuotaExceeded:
    why = "The requests of this hour are used up"
    if leave.asked:
        why = "The service asked to slow down"
    return QuotaExceeded(
        f"{why}; go on at {leave.resumes_at:%Y-%m-%d %H:%M:%S} UTC.", resumes_at=leave.resumes_at
    )


def _settle(session: Session, sent: Sent | None, head: Head | None) -> Operation[None]:
    if sent is not None:
        yield Atomic(lambda: session.quota.settle(sent, head))


def _told(
    session: Session,
    method: str,
    shown: str,
    outcome: Reply | Failure,
    seconds: float,
    resends: int,
) -> RequestSent:
    if isinstance(outcome, Failure):
        return RequestSent(
            method, shown, None, seconds, None, resends, outcome.trouble.name.lower()
        )
    head = outcome.head
    named = session.credentials.shown(request_id_of(head) or "") or None
    return RequestSent(method, shown, head.status, seconds, named, resends, None)
