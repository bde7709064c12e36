"""The outermost layer: one line in the log and one count in the metrics for every request."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.accounts import hide_credentials
from adanalytics_server.answers import CREDENTIAL, request_id_of
from adanalytics_server.serving.metrics import Metrics

# Query parameters whose values may be read by whoever reads the log. An allow-list, because a
# credential that was put into a query by mistake can have any name, or be one.
_HARMLESS = frozenset({"start_date", "end_date", "hour", "page", "per_page", "group_by", "expires"})
# Characters of an address in the log, however long the one that was sent is.
LONGEST_TARGET = 500

_log = logging.getLogger("adanalytics_server.request_log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request as the log and the metrics see it.

    Attributes:
        method: the HTTP method.
        target: path and query, without values that could be secret.
        operation: name of the operation that answered; ``none`` when there is none.
        status: status of the answer; ``None`` when the connection ended before there was one.
        seconds: time from the request's head to the answer's last byte.
        sent_bytes: bytes of the answer's body.
        request_id: the id that the answer carries.
        credential: ``key:3`` or ``user:1``; ``None`` for a request without a good one.
    """

    method: str
    target: str
    operation: str
    status: int | None
    seconds: float
    sent_bytes: int
    request_id: str
    credential: str | None


class RequestLog:
    """ASGI middleware that reports every HTTP request when its answer is complete."""

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, timer: Callable[[], float] = time.perf_counter
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._timer = timer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other scopes pass through untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = self._timer()
        status: int | None = None
        sent_bytes = 0

        async def counting_send(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                sent_bytes += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._app(scope, receive, counting_send)
        finally:
            served = Served(
                method=scope["method"],
                target=_target(scope),
                operation=getattr(scope.get("endpoint"), "__name__", "none"),
                status=status,
                seconds=self._timer() - begin,
                sent_bytes=sent_bytes,
                request_id=request_id_of(Request(scope)),
                credential=scope.get(CREDENTIAL),
            )
            self._metrics.end(
                served.operation,
                method=served.method,
                status=served.status,
                seconds=served.seconds,
                sent_bytes=served.sent_bytes,
            )
            _write(served)


def _write(served: Served) -> None:
    fields = {
        "method": served.method,
        "path": served.target,
        "status": served.status,
        "ms": round(served.seconds * 1000, 1),
        "bytes": served.sent_bytes,
        "credential": served.credential,
        "request_id": served.request_id,
    }
    _log.info(
        "%s %s %s %s ms %s bytes %s",
        served.method,
        served.target,
        "aborted" if served.status is None else served.status,
        fields["ms"],
        served.sent_bytes,
        served.credential or "-",
        extra={"fields": fields},
    )


def _target(scope: Scope) -> str:
    """Return path and query in ASCII, still percent-encoded: nothing in it can end a line."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    target = hide_credentials(raw.decode("ascii", "backslashreplace"), mark="...")
    if query := scope["query_string"].decode("ascii", "backslashreplace"):
        target += "?" + "&".join(_readable_pairs(query))
    return target if len(target) <= LONGEST_TARGET else f"{target[:LONGEST_TARGET]}..."


def _readable_pairs(query: str) -> list[str]:
    pairs = parse_qsl(query[:LONGEST_TARGET], keep_blank_values=True)
    return [f"{name}={quote(value)}" if name in _HARMLESS else "..." for name, value in pairs]
