"""The layers around every request: its id, its log line, its crash, and its Host.

The log never shows a credential: only the API's own query parameters keep their values.
"""

import ipaddress
import logging
import time
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import parse_qsl, quote
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.accounts.credentials import hide_credentials
from adanalytics_server.clock import Clock
from adanalytics_server.dialect import CREDENTIAL, HEADERS, REQUEST_ID, request_id_of
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.storage.damage import DamagedFile, is_no_room

# An allow-list, because a credential sent by mistake can have any name, or be one.
_HARMLESS = frozenset({"start_date", "end_date", "hour", "page", "per_page", "group_by", "expires"})
# Characters of a URL in the log.
LONGEST_TARGET = 500

_log = logging.getLogger("adanalytics_server.request_log")
_failures = logging.getLogger("adanalytics_server.errors")


def log_failure(request: Request, error: Exception) -> None:
    """Log the reason for a 500.

    A damaged file or a full disk is not a bug: one line, without a traceback.
    """
    reason = str(error)
    if is_no_room(error):
        reason += "; free some space (no restart needed)"
    _failures.error(
        "request %s failed: %s %s: %s",
        request_id_of(request),
        request.method,
        hide_credentials(request.scope["path"], mark="..."),
        reason,
        exc_info=None if isinstance(error, DamagedFile) or is_no_room(error) else error,
    )


@dataclass
class RequestLayer:
    """The outermost ASGI middleware.

    Adds the id of the request, in the header ``request_id``, and the clock's ``Date`` to every
    response and turns a crash into a plain 500. When the response is complete, it writes the
    request's log line.
    """

    app: ASGIApp
    clock: Clock
    request_id: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = time.perf_counter()
        date = formatdate(self.clock.milliseconds() // 1000, usegmt=True)
        request_id = scope[REQUEST_ID] = uuid4().hex
        headers = scope[HEADERS] = {"Date": date}
        if self.request_id:
            headers[self.request_id] = request_id
        status = None
        sent_bytes = 0

        async def watched_send(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(headers)
            else:
                sent_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, watched_send)
        except Exception as error:
            log_failure(Request(scope), error)
            # The head is out, so a second response would be read as its body: break the connection.
            if status is not None:
                raise
            answer = error_response(ApiError(500))
            await answer(scope, receive, watched_send)
        finally:
            seconds = time.perf_counter() - begin
            fields = {
                "method": scope["method"],
                "path": _target(scope),
                "status": status,
                "ms": round(seconds * 1000, 1),
                "bytes": sent_bytes,
                "credential": scope.get(CREDENTIAL),
                "request_id": request_id,
            }
            values = {**fields, "status": status or "aborted", "by": fields["credential"] or "-"}
            line = "%(method)s %(path)s %(status)s %(ms)s ms %(bytes)s bytes %(by)s"
            _log.info(line, values, extra={"fields": fields})


def _target(scope: Scope) -> str:
    """Return path and query in ASCII, still percent-encoded, so that nothing can end a line."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    target = hide_credentials(raw.decode("ascii", "backslashreplace"), mark="...")
    if query := scope["query_string"].decode("ascii", "backslashreplace"):
        # Keys come in parameters by mistake, so only values of known names are logged.
        pairs = parse_qsl(query[:LONGEST_TARGET], keep_blank_values=True)
        target += "?" + "&".join(
            f"{name}={quote(value)}" if name in _HARMLESS else "..." for name, value in pairs
        )
    return target if len(target) <= LONGEST_TARGET else f"{target[:LONGEST_TARGET]}..."


@dataclass
class HostCheck:
    """ASGI middleware that answers 400 to a request without exactly one usable ``Host``.

    Another site can point its own host name to 127.0.0.1 (DNS rebinding), which makes its pages
    same-origin with the server. ``any_host`` accepts every name; otherwise only ``localhost`` and
    IP addresses pass, because nobody can point an address elsewhere.
    """

    app: ASGIApp
    any_host: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = Headers(scope=scope).getlist("host")
            problem = ""
            # RFC 9112, section 3.2. With two, a proxy may have checked the other one. HTTP/1.0 has
            # no such header, but no browser uses HTTP/1.0.
            if len(hosts) > 1 or not (hosts or scope["http_version"] == "1.0"):
                problem = "A request needs exactly one Host header"
            elif not self.any_host and not all(map(is_own_host, hosts)):
                problem = "The Host header must name localhost or an IP address"
            if problem:
                await error_response(ApiError(400, problem))(scope, receive, send)
                return
        await self.app(scope, receive, send)


def is_own_host(host: str) -> bool:
    """Return whether a ``Host`` header is localhost or an IP address, with or without a port."""
    # An address of IPv6 has colons of its own, and no port without brackets.
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
# Sec-Fetch-Site where a request comes from, older ones in Origin. A client that sends neither is
# not a browser, so it has no visitor's cookie to misuse.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# "none" means that the visitor typed the address or reloaded the page.
_OWN_SITES = frozenset({"same-origin", "none"})


def comes_from_elsewhere(request: Request) -> bool:
    """Return whether a page of another origin made a request, whatever its method."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = request.headers.get("origin")
    if origin is None:
        return False
    # Compare the host only: behind a TLS proxy, the scheme is uncertain. Compare text, because a
    # client may send anything here.
    host = request.headers.get("host")
    return host is None or origin.partition("://")[2].lower() != host.lower()
