"""Map an outcome to its error, and decide whether to send again."""

from dataclasses import dataclass

from adanalytics_client._base.effects import LARGEST_BODY, Failure, FailureKind, Reply
from adanalytics_client._base.urls import host_of
from adanalytics_client._call.credentials import Credentials
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client._quota import retry_after
from adanalytics_client.errors import (
    AdAnalyticsError,
    AuthenticationError,
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

# Refused before any work was done, so sending again is safe for a POST too (RFC 9110 section
# 15.5.9, RFC 8470 section 5.2, RFC 6585 section 4).
_UNPROCESSED = frozenset({408, 425, 429})
_LONGEST_REASON = 500
_AWAY = (
    "This address is not on the origin of base_url, so the credential was not sent; "
    "if the service has moved, set base_url to its new address."
)


_PROXY_LOGIN = "A proxy asks for a login (407)"
_PROXY_ADVICE = (
    "Put it into the proxy's address, such as HTTP_PROXY=http://USER:PASSWORD@HOST:PORT."
)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error that another try may still avoid.

    Attributes:
        error: the error to raise when there are no more tries.
        again: whether the same request may be sent again.
        asked: seconds the service asked to wait, if it did.
        limited: True for a response that says "slow down".
        waiting: True for a response that says "not ready yet".
    """

    error: AdAnalyticsError
    again: bool
    asked: float | None = None
    limited: bool = False
    waiting: bool = False


def failure_problem(failure: Failure, url: str, *, repeatable: bool, within: str | None) -> Problem:
    """The problem of a request to `url` without a complete response.

    Args:
        failure: the transport failure.
        url: the address asked.
        repeatable: whether it may be sent again even if it may have arrived.
        within: the setting that limits the time, as in code, if it is known.
    """
    host, detail = host_of(url), failure.detail.rstrip(".")
    if failure.proxy is not None:
        host += f" through the proxy {failure.proxy} from the environment"
    because = f": {detail}" if detail else ""
    again = repeatable or not failure.arrived
    time, more = (
        (f"within {within}", "allow more time") if within else ("in time", "raise timeout=")
    )
    error: AdAnalyticsError
    match failure.kind:
        case FailureKind.UNREACHABLE:
            error = TransportError(
                f"The client could not connect to {host}{because}. "
                "Check the address and the network, or try later."
            )
        case FailureKind.UNTRUSTED:
            error = TransportError(
                f"The certificate of {host} is not trusted{because}. Check the address; for a "
                "private authority, set SSL_CERT_FILE to its file of certificates."
            )
            again = False
        case FailureKind.PROXY_LOGIN:
            error = TransportError(f"{_PROXY_LOGIN}, on the way to {host}. {_PROXY_ADVICE}")
            again = False
        case FailureKind.TIMEOUT if not failure.arrived:
            error = RequestTimeout(
                f"The client could not connect to {host} {time}. "
                f"Check the address and the network, or {more}."
            )
        case FailureKind.TIMEOUT:
            error = RequestTimeout(f"{host} did not answer {time}{because}. Try later, or {more}.")
        case FailureKind.TOO_LARGE:
            size = LARGEST_BODY // (1024 * 1024)
            error = ProtocolError(
                f"The answer from {host} is larger than {size} MiB, the limit in memory. "
                "Ask for less with per_page=, or export to a file."
            )
            again = False
        case FailureKind.UNREADABLE:
            error = ProtocolError(f"The answer from {host} cannot be read{because}.")
        case FailureKind.TRUNCATED:
            error = TransportError(f"The answer from {host} was cut short{because}. Try later.")
        case FailureKind.MALFORMED:
            error = TransportError(
                f"The reply from {host} is not valid HTTP{because}. "
                "Check the address, and any proxy on the way to it."
            )
        case FailureKind.BROKEN:
            error = TransportError(
                f"The connection to {host} broke before an answer came{because}. Try later."
            )
    return Problem(error, again)


def status_problem(
    reply: Reply, *, repeatable: bool, now: float, credentials: Credentials, home: bool
) -> Problem:
    """The problem of a response with an error status; `home` is True on the base origin."""
    status, asked = reply.status, retry_after(reply.head, now)
    reason = stated_reason(reply, credentials)
    if status == 429 or (status == 403 and reply.head.get("retry-after") is not None):
        when = f"in {asked:.0f} s" if asked else "later"
        limited = RateLimited(
            f"The service limits the rate of requests{_in_brackets(status, reason)}. "
            f"Try again {when}.",
            status=status,
            reason=reason,
            retry_after=asked,
        )
        return Problem(limited, again=True, asked=asked, limited=True)
    transient = status in _UNPROCESSED or status >= 500
    again = transient and (repeatable or status in _UNPROCESSED)
    advice = credentials.advice if home else _AWAY
    return Problem(_status_error(status, reason, advice), again, asked)


def unreadable_problem(reply: Reply, error: NotJson, *, repeatable: bool) -> Problem:
    """The problem of a success without JSON, which proxies send while a service restarts."""
    kind = (reply.head.get("content-type") or "no content type").partition(";")[0]
    if "html" in kind.lower():
        came = "the body is an HTML page instead of JSON"
    elif not (reply.body.strip() or error.size):
        came = "the body is empty instead of JSON"
    else:
        came = f"its {error.size or len(reply.body)} bytes of {kind} are not JSON: {error}"
    problem = ProtocolError(f"Status {reply.status}, but {came}. Check base_url, or try later.")
    problem.unreadable = True
    return Problem(problem, repeatable)


def stated_reason(reply: Reply, credentials: Credentials) -> str:
    """The service's own words about an error, shortened, or the status when it has none.

    Secrets are removed before the text is shortened, so that no half of one stays.
    """
    try:
        content: Json = parse(reply.body)
    except NotJson:
        content = None
    if isinstance(content, dict):
        details = content.get("details")
        parts = [_message(content)]
        parts += [_detail(each) for each in details] if isinstance(details, list) else []
        text = "; ".join(each for each in parts if each)
        if text:
            return credentials.shown(text)[:_LONGEST_REASON]
    return f"status {reply.status}"


def _message(content: dict[str, Json]) -> str:
    for key in ("error", "message", "detail", "title"):
        value = content.get(key)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return ""


def _detail(item: Json) -> str:
    if not isinstance(item, dict):
        return str(item)
    return " ".join(str(item[key]) for key in ("field", "message") if key in item)


def _in_brackets(status: int, reason: str) -> str:
    """The status, and the reason if that says more."""
    empty = {f"status {status}", "not found"}
    return f" ({status})" if reason.lower() in empty else f" ({status}: {reason.rstrip('.')})"


def _status_error(status: int, reason: str, advice: str) -> StatusError:
    detail = _in_brackets(status, reason)
    if status == 401:
        refused = "A credential is required" if advice is _AWAY else "The credential was refused"
        return AuthenticationError(f"{refused}{detail}. {advice}", status=status, reason=reason)
    if status == 403:
        advice = _AWAY if advice is _AWAY else "Ask an admin for access to this partner."
        return PermissionDenied(
            f"Access was refused{detail}. {advice}", status=status, reason=reason
        )
    if status == 407:
        return InvalidRequest(f"{_PROXY_LOGIN}. {_PROXY_ADVICE}", status=status, reason=reason)
    if status in {404, 405, 410}:
        return NotFound(
            f"Not found{detail}. Check the partner and base_url.", status=status, reason=reason
        )
    if status >= 500:
        return ServerError(f"The service failed{detail}. Try later.", status=status, reason=reason)
    return InvalidRequest(
        f"The service refused the request{detail}. Change its parameters.",
        status=status,
        reason=reason,
    )
