"""Map an outcome to its error, and decide whether to send again."""

from datetime import UTC, datetime
from math import ceil
from typing import NamedTuple

from adanalytics_client._base.effects import LARGEST_BODY, Failure, FailureKind, Reply
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import host_of
from adanalytics_client._json.exact import Json, NotJson, WrongValue, parse
from adanalytics_client._quota.headers import retry_after
from adanalytics_client.errors import (
    AdAnalyticsError,
    AuthenticationError,
    FieldProblem,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProtocolError,
    RateLimited,
    RequestTimeout,
    ServerError,
    StatusError,
    TransportError,
)

from .credentials import LOGIN, Credentials
from .session import Session

# Refused before any work was done, so sending again is safe for a POST too (RFC 9110 section
# 15.5.9, RFC 8470 section 5.2, RFC 6585 section 4).
_UNPROCESSED = frozenset({408, 425, 429})
_LONGEST_REASON = 500
_PROXY_LOGIN = "A proxy asks for a login"
_PROXY_ADVICE = (
    "Put it into the proxy's address, such as HTTP_PROXY=http://USER:PASSWORD@HOST:PORT."
)
_CERTIFICATES = (
    "Check the address; for a private authority, set SSL_CERT_FILE to its file of certificates."
)


class _Row(NamedTuple):
    error: type[AdAnalyticsError]
    message: str
    remedy: str


_UNCONNECTED = _Row(
    RequestTimeout,
    "The client could not connect to {host} {time}.",
    "Check the address and the network",
)
_FAILURES = {
    FailureKind.UNREACHABLE: _Row(
        TransportError,
        "The client could not connect to {host}{because}.",
        "Check the address and the network, or try later.",
    ),
    FailureKind.UNTRUSTED: _Row(
        TransportError, "The certificate of {host} is not trusted{because}.", _CERTIFICATES
    ),
    FailureKind.NOT_TLS: _Row(
        TransportError, "{host} does not speak https.", "Did you mean http:// in the address?"
    ),
    FailureKind.PROXY_LOGIN: _Row(
        TransportError, f"{_PROXY_LOGIN} (407), on the way to {{host}}.", _PROXY_ADVICE
    ),
    FailureKind.TIMEOUT: _Row(
        RequestTimeout, "{host} did not answer {time}{because}.", "Try later"
    ),
    FailureKind.TOO_LARGE: _Row(
        ProtocolError,
        f"The answer from {{host}} is larger than {LARGEST_BODY >> 20} MiB, the limit in memory.",
        remedy("less_at_once"),
    ),
    FailureKind.UNREADABLE: _Row(
        ProtocolError, "The answer from {host} cannot be read{because}.", "Try later."
    ),
    FailureKind.TRUNCATED: _Row(
        TransportError, "The answer from {host} was cut short{because}.", "Try later."
    ),
    FailureKind.MALFORMED: _Row(
        TransportError,
        "The reply from {host} is not valid HTTP{because}.",
        "Check the address, and any proxy on the way to it.",
    ),
    FailureKind.BROKEN: _Row(
        TransportError,
        "The connection to {host} broke before an answer came{because}.",
        "Try later.",
    ),
}
# Another try would meet the same.
_LASTING = {
    FailureKind.UNTRUSTED,
    FailureKind.NOT_TLS,
    FailureKind.PROXY_LOGIN,
    FailureKind.TOO_LARGE,
}


class FailedAttempt(NamedTuple):
    """A failed attempt: its error, and whether to try again.

    Attributes:
        error: the error to raise when there are no more tries.
        can_retry: whether the same request may be sent again.
        retry_after: seconds the service asked to wait, if it did.
        limited: True for a response that says "slow down".
        absent: True for a response that says "not there yet".
        outage: True when the service is down or failing, as during a deployment.
        progress: bytes of the file that have arrived.
        at_once: True when the next attempt differs, so that no pause is needed.
    """

    error: AdAnalyticsError
    can_retry: bool
    retry_after: float | None = None
    limited: bool = False
    absent: bool = False
    outage: bool = False
    progress: int = 0
    at_once: bool = False


def attempt_without_response(
    failure: Failure, url: str, *, repeatable: bool, limit_name: str | None
) -> FailedAttempt:
    """Describe the problem of a request to `url` without a complete response.

    `limit_name` is the setting that limits the time, as in code, if it is known.
    """
    kind, detail = failure.kind, failure.detail.rstrip(".")
    host = host_of(url)
    if failure.proxy is not None:
        host += f" through the proxy {failure.proxy} from the environment"
    # Whether the service was reached at all is what the user has to know.
    row = _UNCONNECTED if kind is FailureKind.TIMEOUT and not failure.arrived else _FAILURES[kind]
    facts = {
        "host": host,
        "because": f": {detail}" if detail else "",
        "time": f"within {limit_name}" if limit_name else "in time",
    }
    advice = row.remedy
    if row.error is RequestTimeout:
        advice = f"{advice}, or allow more time." if limit_name else remedy("timeout", advice)
    error = row.error(row.message.format(**facts), remedy=advice)
    can_retry = kind not in _LASTING and (repeatable or not failure.arrived)
    return FailedAttempt(error, can_retry, outage=kind is FailureKind.UNREACHABLE)


def refused_attempt(session: Session, reply: Reply, url: str, *, repeatable: bool) -> FailedAttempt:
    status, now, credentials = reply.status, session.clock.time(), session.credentials
    pause = retry_after(reply.head, now)
    reason, errors = stated_reason(reply, credentials)
    # Words that only repeat the status would stand twice in the message.
    empty = {f"status {status}", "not found"}
    detail = "" if reason.lower() in empty else f": {reason.rstrip('.')}"
    # Some services limit with a 403; the header tells it from a missing right.
    if status == 429 or (status == 403 and reply.head.get("retry-after") is not None):
        resumes_at = datetime.fromtimestamp(now + pause, tz=UTC) if pause else None
        until = f", until {resumes_at:%Y-%m-%d %H:%M:%S} UTC" if resumes_at else ""
        limited = RateLimited(
            f"The service limits the rate of requests ({status}{detail}){until}.",
            remedy=f"Try again in {ceil(pause)} s." if pause else "Try again later.",
            status=status,
            reason=reason,
            errors=errors,
            retry_after=pause,
            resumes_at=resumes_at,
        )
        return FailedAttempt(limited, can_retry=True, retry_after=pause, limited=True)
    transient = status in _UNPROCESSED or status >= 500
    # A request that may have been carried out, such as an order, is not sent twice, unless the
    # status says that the service has not begun with it.
    can_retry = transient and (repeatable or status in _UNPROCESSED)
    home = session.config.base.owns(url)
    # Another origin never got the credential, so its refusal says nothing about it.
    is_login = home and url.endswith(LOGIN)
    # What refuses a login is not published: 400 by RFC 6749 section 5.2, 422 from Laravel, 403 from
    # Django REST framework.
    meaning = 401 if is_login and status in {400, 403, 422} else status
    kind, text, advice = _meaning(meaning, credentials.advice if home else None)
    if is_login and kind is NotFound:
        # It names no partner.
        advice = remedy("address")
    error = kind(
        f"{text} ({status}{detail}).", remedy=advice, status=status, reason=reason, errors=errors
    )
    if isinstance(error, ServerError):
        error.retry_after = pause
    return FailedAttempt(error, can_retry, pause, outage=status >= 500)


def _meaning(status: int, advice: str | None) -> tuple[type[StatusError], str, str]:
    """Return the class, message and remedy of a status; no `advice` away from the base origin."""
    match status:
        case 401:
            text = "The credential was refused" if advice else "A credential is required"
            return AuthenticationError, text, advice or remedy("other_origin")
        case 403:
            ask = "Ask an admin for access to this partner."
            return PermissionDenied, "Access was refused", ask if advice else remedy("other_origin")
        case 404 | 405 | 410:
            return NotFound, "Not found", remedy("partner")
        case 407:
            return InvalidRequest, _PROXY_LOGIN, _PROXY_ADVICE
        case 414 | 431:
            check = "Check the credential and the partner: one of them is far too long."
            return InvalidRequest, "The request is too long for the service", check
        case 400 | 409 | 422:
            return InvalidRequest, "The service refused the request", "Change its parameters."
    if status >= 500 or status in _UNPROCESSED:
        return ServerError, "The service failed", "Try later."
    return InvalidRequest, "The service refused the request", "Ask the service what it means."


def incomplete_attempt(session: Session, reply: Reply, *, can_retry: bool) -> FailedAttempt:
    """Describe the problem of a success whose status says that the data are not all here."""
    problem = ProtocolError(
        f"Status {reply.status}: the service says that its response is not the whole.",
        remedy="Try later, or report it to the service.",
    )
    return FailedAttempt(problem, can_retry, retry_after(reply.head, session.clock.time()))


def unreadable_attempt(reply: Reply, error: NotJson, *, repeatable: bool) -> FailedAttempt:
    """Describe the problem of a success without JSON, as proxies send while a service restarts."""
    kind = (reply.head.get("content-type") or "no content type").partition(";")[0]
    if "html" in kind.lower():
        description = "the body is an HTML page instead of JSON"
    # A body that went into a sink is known only by its size.
    elif not (reply.body.strip() or error.size):
        description = "the body is empty instead of JSON"
    else:
        description = f"its {error.size or len(reply.body)} bytes of {kind} are not JSON: {error}"
    may_pass = not isinstance(error, WrongValue)
    advice = remedy("address") if may_pass else "Report it to the service."
    problem = ProtocolError(f"Status {reply.status}, but {description}.", remedy=advice)
    problem.unreadable = True
    return FailedAttempt(problem, repeatable and may_pass)


def stated_reason(reply: Reply, credentials: Credentials) -> tuple[str, tuple[FieldProblem, ...]]:
    """Return the service's own words about an error, or its status, and those about fields.

    Secrets are removed before the text is shortened, so that no half of one stays.
    """
    try:
        content: Json = parse(reply.body)
    except NotJson:
        content = None
    if not isinstance(content, dict):
        return f"status {reply.status}", ()
    lists = (content.get(name) for name in ("details", "errors", "detail"))
    items = next((value for value in lists if isinstance(value, list)), [])
    errors = tuple(FieldProblem(*map(credentials.shown, _field_error(entry))) for entry in items)
    parts = [_message(content), *(" ".join(filter(None, error)) for error in errors)]
    text = credentials.shown("; ".join(filter(None, parts)))
    # The words come from the service: they are masked above, and cut here.
    return text[:_LONGEST_REASON] or f"status {reply.status}", errors


def _message(content: dict[str, Json]) -> str:
    for key in ("error", "message", "detail", "title"):
        value = content.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return ""


def _field_error(entry: Json) -> tuple[str, str]:
    if not isinstance(entry, dict):
        return "", str(entry)
    # FastAPI's 422: https://fastapi.tiangolo.com/tutorial/handling-errors/
    place = entry.get("loc")
    field = entry.get("field") or (place[-1] if isinstance(place, list) and place else "")
    return str(field), str(entry.get("message") or entry.get("msg") or "")
