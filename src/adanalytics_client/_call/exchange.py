"""One exchange: a request is sent once, when the quota allows, and redirects are followed."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple
from urllib.parse import urldefrag

from adanalytics_client._base import effects, urls
from adanalytics_client._base.compression import DamagedBody
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import Observer, RequestDue, RequestSent, WaitStarted, notify
from adanalytics_client._base.remedies import remedy
from adanalytics_client._quota.window import Permit, Reason, Wait
from adanalytics_client.errors import ProtocolError, QuotaExceeded, RequestTimeout

from .session import Session

_MOST_REDIRECTS = 5
_SHORTEST_PAUSE = 0.001
# Seconds; a longer wait is logged, so that a user does not wonder.
SILENT_WAIT = 5.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Exchange(NamedTuple):
    """The outcome of a request.

    Attributes:
        outcome: the response, or why there is none.
        url: the address that responded, after redirects.
        pause: the seconds waited for quota.
        hold: the wait for the next probe, after a 429 that states no time.
        has_signature: whether the address has refused the credential, so it is a signed one.
    """

    outcome: effects.Reply | effects.Failure
    url: str
    pause: float
    hold: Wait | None = None
    has_signature: bool = False

    @property
    def status(self) -> int | None:
        return self.outcome.status if isinstance(self.outcome, effects.Reply) else None


def exchange(
    session: Session,
    request: effects.Request,
    *,
    sink: effects.Sink | None,
    carry: bool,
    deadline: Deadline | None,
    max_wait: float,
    resends: int,
) -> effects.Operation[Exchange]:
    """Send a request and follow redirects here, not in httpx, so that each hop is checked.

    Waits for quota, at most `max_wait` seconds for each hop, postpone the `deadline`; `resends`
    requests of the same call preceded this one.
    """
    pause, hold = 0.0, None
    for number in range(resends, resends + _MOST_REDIRECTS + 1):
        # Before the permit: a request that is not sent must not cost quota.
        if deadline is not None and not deadline.left:
            host = urls.host_of(request.url)
            raise RequestTimeout(
                f"{deadline.name} passed before the request to {host} was sent.",
                remedy="Try later, or allow more time.",
                url=urls.redact_url(request.url),
                attempts=int(number > resends),
            )
        # To remove secrets from an address that nobody sees takes longer than the rest of this.
        is_watched = type(session.observer) is not Observer or bool(vars(session.observer))
        is_shown = is_watched or LOG.isEnabledFor(logging.DEBUG)
        address = session.shown(request.url) if is_shown else ""
        due = RequestDue(request.method, address)
        notify(session.observer.due, due)
        permit, pause_of_hop = yield from _pace(session, request.url, max_wait)
        pause += pause_of_hop
        if deadline is not None:
            # The deadline is about the service, and a wait for quota is the client's own.
            deadline.extend(pause_of_hop)
        notify(session.observer.send, due)
        start = session.clock.monotonic()
        until = None if deadline is None else deadline.for_one_request
        outcome: effects.Reply | effects.Failure
        try:
            outcome = yield effects.Send(request, until, sink)
        # The sink found it, not the HTTP library: to the caller it is one more way in which a
        # response fails.
        except DamagedBody as error:
            outcome = effects.Failure(
                effects.FailureKind.UNREADABLE, arrived=True, detail=str(error)
            )
        any_head = outcome.head
        # The status of an error says enough without the rest of its body.
        if isinstance(outcome, effects.Failure) and any_head and any_head.status >= 400:
            outcome = effects.Reply(any_head, b"")
        head = outcome.head if isinstance(outcome, effects.Reply) else None
        # Clocks of other hosts, such as an object store, say nothing about the service's quota.
        if head is not None and session.config.base.owns(request.url):
            session.clock_check.compare(head.sent_at)
        if permit is not None:
            # Also after a failure: the service may have counted a request whose response got lost.
            hold = yield effects.Atomic(partial(session.quota.settle, permit, any_head))
        seconds = session.clock.monotonic() - start
        if is_shown:
            failure = outcome.kind.name.lower() if isinstance(outcome, effects.Failure) else None
            report = RequestSent(
                method=request.method,
                url=address,
                status=head.status if head else None,
                seconds=seconds,
                request_id=session.credentials.request_id(head) if head else None,
                resends=number,
                failure=failure,
            )
            result = report.status or failure
            LOG.debug("%s %s: %s after %.3f s", report.method, address, result, seconds)
            notify(session.observer.request, report)
        if head is None or head.status not in _REDIRECTS or head.get("location") is None:
            return Exchange(outcome, request.url, pause, hold)
        request = _redirected(session.config.base, request, head, carry=carry)
    raise ProtocolError(
        "The service redirects in a loop.",
        remedy=remedy("address"),
        url=urls.redact_url(request.url),
    )


def _pace(
    session: Session, url: str, max_wait: float
) -> effects.Operation[tuple[Permit | None, float]]:
    """Wait until a request may be sent; return the permit and the seconds waited.

    A request outside the Partner API needs no permit.
    """
    pause = 0.0
    if not session.config.base.counts(url):
        return None, pause
    shortest = _SHORTEST_PAUSE
    while True:
        permit: Permit | Wait = yield effects.Atomic(session.quota.take)
        if isinstance(permit, Permit):
            return permit, pause
        seconds = max(permit.seconds, shortest)
        longest = 0.0 if session.config.quota.on_limit == "raise" else max_wait
        if permit.reason is Reason.PROBING:
            # A request in flight is about to show whether the limit has ended.
            longest = max(longest, SILENT_WAIT)
        if permit.is_hopeless or pause + seconds > longest:
            raise QuotaExceeded(
                f"{_described(permit)}.", remedy=advice_for(permit), resumes_at=permit.resumes_at
            )
        if permit.reason is not Reason.PROBING:
            announce(session, permit)
        yield effects.Sleep(max(permit.until, session.clock.monotonic() + shortest))
        pause += seconds
        # A caller's clock may count in milliseconds or seconds, and not move for less.
        shortest = min(2 * shortest, 1.0)


def advice_for(hold: Wait) -> str:
    if hold.is_hopeless:
        return "Try again then. If the limit does not end, ask the service why."
    return remedy("wait")


def _described(hold: Wait) -> WaitStarted:
    asks_again = hold.reason is Reason.REFUSED
    return WaitStarted(hold.reason.value, hold.seconds, hold.resumes_at, asks_again=asks_again)


def announce(session: Session, wait: Wait | WaitStarted, *, is_new: bool = True) -> None:
    """Report a wait to the observer and, once for each time of resuming, to the log."""
    if isinstance(wait, Wait):
        is_new, wait = wait.is_new, _described(wait)
    notify(session.observer.wait, wait)
    if is_new and wait.seconds > SILENT_WAIT:
        # Programs that show waits in another way can filter out records with this field.
        LOG.warning("%s", wait, extra={"resumes_at": wait.resumes_at})


def moment_in(session: Session, seconds: float) -> datetime:
    return datetime.fromtimestamp(session.clock.time() + seconds, tz=UTC)


def _redirected(
    base: urls.BaseUrl, request: effects.Request, head: effects.ResponseHead, *, carry: bool
) -> effects.Request:
    """Make the request for the next hop (RFC 9110, section 15.4).

    The credential stays only while every hop is on the base origin, and only if `carry`; once
    dropped it stays dropped. A user in the target's address is ignored. A POST stays a POST (307,
    308) on the base origin, or becomes a GET (303); any other would carry a body to a place that
    the user did not name.
    """
    location = urls.without_user(head.get("location") or "")
    target = urls.Address(urldefrag(urls.absolute_url(request.url, location)).url)
    if urls.origin_of(target) is None:
        raise ProtocolError(
            "The service redirected to something that is not an http address.",
            remedy=remedy("address"),
        )
    # Both ends: a redirect back to the base from elsewhere was made by somebody else.
    home = base.owns(target) and base.owns(request.url)
    if request.method != "GET":
        if head.status == 303:
            request = replace(request, method="GET", body=None)
        elif not (home and head.status in {307, 308}):
            raise ProtocolError(
                f"The service redirected a {request.method} to {urls.redact_url(target)}.",
                remedy=remedy("moved"),
            )
    return replace(request, url=target, credential=request.credential if home and carry else None)
