"""One exchange: a request is sent once, when the quota allows, and redirects are followed."""

import logging
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urldefrag

from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.effects import (
    Atomic,
    Failure,
    Operation,
    Reply,
    Request,
    ResponseHead,
    Send,
    Sink,
)
from adanalytics_client._base.observer import RequestDue, RequestSent, notify
from adanalytics_client._base.urls import (
    Address,
    BaseUrl,
    absolute_url,
    host_of,
    origin_of,
    redact_url,
    without_user,
)
from adanalytics_client._call.session import Session
from adanalytics_client._call.waiting import pace
from adanalytics_client.errors import ProtocolError, RequestTimeout

_LOG = logging.getLogger("adanalytics_client")
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Ask:
    """A request and the rules for sending it.

    Attributes:
        request: the request, without a credential.
        authorized: whether the client's credential goes with it (to the base origin only).
        carry: whether the credential follows a redirect within the base origin.
        repeatable: whether it may be sent again even if it may have arrived.
        sink: receives the body of a file, so that it is not held in memory.
        accepted: statuses besides 2xx that are not errors.
    """

    request: Request
    authorized: bool = True
    carry: bool = True
    repeatable: bool = True
    sink: Sink | None = None
    accepted: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The outcome of a request, the address that responded, and the seconds waited for quota."""

    outcome: Reply | Failure
    url: str
    waited: float


def exchange(
    session: Session, ask: Ask, *, deadline: Deadline | None, resends: int = 0
) -> Operation[Exchanged]:
    """Send a request and follow redirects here, not in httpx, so that each hop is checked.

    Args:
        session: the client's session.
        ask: the request, with the credential if it needs one; its sink receives the body of the
            response that is not a redirect.
        deadline: once it is over, nothing is sent; waits for quota postpone it.
        resends: how many requests of the same call preceded it.

    Raises:
        QuotaExceeded: when a hop would have to wait longer than allowed.
        RequestTimeout: when the deadline is over before a hop.
        ProtocolError: for a redirect without a target, or a loop.
    """
    waited = 0.0
    request = replace(ask.request, timeout=session.config.timeout)
    for number in range(resends, resends + _MOST_REDIRECTS + 1):
        if deadline is not None and deadline.over:
            raise _too_late(request.url, deadline, sent=number > resends)
        shown = session.shown(request.url)
        notify(session.observer.due, RequestDue(request.method, shown))
        sent, held = yield from pace(session, request.url)
        waited += held
        if deadline is not None:
            deadline.put_off(held)
        started = session.clock.monotonic()
        until = None if deadline is None else deadline.granted
        outcome: Reply | Failure = yield Send(request, until, ask.sink)
        head = outcome.head if isinstance(outcome, Reply) else None
        if head is not None and session.config.base.owns(request.url):
            session.clock_check.compare(head.sent_at)
        if sent is not None:
            yield Atomic(partial(session.quota.settle, sent, head))
        seconds = session.clock.monotonic() - started
        report = RequestSent(
            method=request.method,
            url=shown,
            status=head.status if head else None,
            seconds=seconds,
            request_id=session.credentials.request_id(head) if head else None,
            resends=number,
            failure=outcome.kind.name.lower() if isinstance(outcome, Failure) else None,
        )
        result = report.status or report.failure
        _LOG.debug("%s %s: %s after %.3f s", report.method, report.url, result, report.seconds)
        notify(session.observer.request, report)
        if head is None or not _is_redirect(head):
            return Exchanged(outcome, request.url, waited)
        request = _redirected(session.config.base, request, head, carry=ask.carry)
    raise ProtocolError(
        "The service redirects in a loop.",
        remedy="Check base_url, or try later.",
        url=redact_url(request.url),
    )


def _too_late(url: str, deadline: Deadline, *, sent: bool) -> RequestTimeout:
    return RequestTimeout(
        f"{deadline.name} passed before the request to {host_of(url)} was sent.",
        remedy="Try later, or allow more time.",
        url=redact_url(url),
        attempts=int(sent),
    )


def _is_redirect(head: ResponseHead) -> bool:
    """Whether the response is a redirect."""
    return head.status in _REDIRECTS and head.get("location") is not None


def _redirected(base: BaseUrl, request: Request, head: ResponseHead, *, carry: bool) -> Request:
    """The request for the next hop (RFC 9110, section 15.4).

    The credential stays only while every hop is on the base origin, and only if `carry`; once
    dropped it stays dropped. A user in the target's address is ignored. A POST stays a POST (307,
    308) on the base origin, or becomes a GET (303); any other would carry a body to a place that
    the user did not name.

    Raises:
        ProtocolError: for a target that is not http(s), or a POST that may not follow.
    """
    location = without_user(head.get("location") or "")
    target = Address(urldefrag(absolute_url(request.url, location)).url)
    if origin_of(target) is None:
        raise ProtocolError(
            "The service redirected to something that is not an http address.",
            remedy="Check base_url.",
        )
    home = base.owns(target) and base.owns(request.url)
    if request.method != "GET":
        if head.status == 303:
            request = replace(request, method="GET", body=None)
        elif not (home and head.status in {307, 308}):
            raise ProtocolError(
                f"The service redirected a {request.method} to {redact_url(target)}.",
                remedy="If it has moved there, set base_url to it.",
            )
    return replace(request, url=target, credential=request.credential if home and carry else None)
