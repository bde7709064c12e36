"""The layers around every request: its id, its line in the log, its crash, and its Host.

The log never shows a credential: of a query only the parameters of the API keep their values.
"""

import ipaddress
import logging
import time
from urllib.parse import parse_qsl, quote
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.accounts import hide_credentials
from adanalytics_server.answers import CREDENTIAL, HEADERS, request_id_of
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.serving.monitoring import Metrics
from adanalytics_server.storage.damage import DamagedFile, is_no_room

# An allow-list, because a credential sent by mistake can have any name, or be one.
_HARMLESS = frozenset({"start_date", "end_date", "hour", "page", "per_page", "group_by", "expires"})
# Characters of an address in the log, however long the one that was sent is.
LONGEST_TARGET = 500

_log = logging.getLogger("adanalytics_server.request_log")
_failures = logging.getLogger("adanalytics_server.errors")


def log_failure(request: Request, error: Exception) -> None:
    """Log why a request is answered with a 500.

    A damaged file and a full disk are no fault of the code: one line, without a traceback.
    """
    reason = str(error)
    if is_no_room(error):
        reason += "; free some space, the server needs no restart"
    _failures.error(
        "request %s failed: %s %s: %s",
        request_id_of(request),
        request.method,
        hide_credentials(request.scope["path"], mark="..."),
        reason,
        exc_info=None if isinstance(error, DamagedFile) or is_no_room(error) else error,
    )


class RequestLayer:
    """The outermost ASGI middleware.

    Adds ``X-Request-Id`` to every answer, turns a crash into a plain 500, and when the answer is
    complete counts the request and writes its line in the log.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other scopes pass through untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        headers = scope[HEADERS] = {"X-Request-Id": uuid4().hex}
        status: int | None = None
        sent_bytes = 0

        async def watched_send(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(headers)
            else:
                sent_bytes += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._app(scope, receive, watched_send)
        except Exception as error:
            log_failure(Request(scope), error)
            if status is not None:
                raise
            answer = error_response(ApiError(500, "Internal Server Error"))
            await answer(scope, receive, watched_send)
        finally:
            seconds = time.perf_counter() - begin
            operation = getattr(scope.get("endpoint"), "__name__", "none")
            self._metrics.end(
                operation, scope["method"], status, seconds=seconds, sent_bytes=sent_bytes
            )
            _write_line(scope, status, milliseconds=round(seconds * 1000, 1), sent_bytes=sent_bytes)


def _write_line(scope: Scope, status: int | None, *, milliseconds: float, sent_bytes: int) -> None:
    fields = {
        "method": scope["method"],
        "path": _target(scope),
        "status": status,
        "ms": milliseconds,
        "bytes": sent_bytes,
        "credential": scope.get(CREDENTIAL),
        "request_id": request_id_of(Request(scope)),
    }
    _log.info(
        "%s %s %s %s ms %s bytes %s",
        fields["method"],
        fields["path"],
        status or "aborted",
        milliseconds,
        sent_bytes,
        fields["credential"] or "-",
        extra={"fields": fields},
    )


def _target(scope: Scope) -> str:
    """Return path and query in ASCII, still percent-encoded: nothing in it can end a line."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    target = hide_credentials(raw.decode("ascii", "backslashreplace"), mark="...")
    if query := scope["query_string"].decode("ascii", "backslashreplace"):
        pairs = parse_qsl(query[:LONGEST_TARGET], keep_blank_values=True)
        target += "?" + "&".join(
            f"{name}={quote(value)}" if name in _HARMLESS else "..." for name, value in pairs
        )
    return target if len(target) <= LONGEST_TARGET else f"{target[:LONGEST_TARGET]}..."


class HostCheck:
    """ASGI middleware that answers 400 to a request without exactly one usable ``Host``.

    A page of another site can point its own host name to 127.0.0.1 (DNS rebinding) and is then of
    one origin with the server. ``any_host`` lets every name pass; otherwise only ``localhost`` and
    addresses do, since nobody can point an address elsewhere.
    """

    def __init__(self, app: ASGIApp, *, any_host: bool) -> None:
        self._app = app
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other scopes pass through untouched."""
        if scope["type"] == "http":
            hosts = Headers(scope=scope).getlist("host")
            problem = ""
            # RFC 9112, section 3.2. With two, a proxy in front may have checked the other one.
            # HTTP/1.0 has no such header; no browser sends it.
            if len(hosts) > 1 or not (hosts or scope["http_version"] == "1.0"):
                problem = "A request needs exactly one Host header"
            elif not self._any_host and not all(map(is_own_host, hosts)):
                problem = "The Host header must name localhost or an IP address"
            if problem:
                await error_response(ApiError(400, problem))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def is_own_host(host: str) -> bool:
    """Tell whether a ``Host`` header is localhost or an address, with or without a port.

    >>> [is_own_host(host) for host in ("localhost:8000", "127.0.0.1", "[::1]:80", "evil.example")]
    [True, True, True, False]
    """
    name, _, port = host.rpartition(":")
    if not name or not port.isdecimal():
        name = host
    if name.lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") else name)
    except ValueError:
        return False
    return True


# The rule of Go's http.CrossOriginProtection (https://words.filippo.io/csrf/): browsers say in
# Sec-Fetch-Site where a request comes from, older ones at least in Origin. A client that sends
# neither is no browser, and has no visitor's cookie to misuse.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# "none" is the visitor's own doing: an address typed, a page loaded again.
_OWN_SITES = frozenset({"same-origin", "none"})


def is_cross_origin(request: Request) -> bool:
    """Tell whether a request that changes something was made by a page of another origin."""
    return request.method not in _SAFE_METHODS and comes_from_elsewhere(request)


def comes_from_elsewhere(request: Request) -> bool:
    """Tell whether a page of another origin made a request, whatever its method."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = request.headers.get("origin")
    if origin is None:
        return False
    # The host alone: behind a proxy that ends TLS, the scheme is not known for sure. As text,
    # because not everything that is sent here can be parsed.
    host = request.headers.get("host")
    return host is None or origin.partition("://")[2].lower() != host.lower()
