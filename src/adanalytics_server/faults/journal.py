"""The journal: the latest requests, for tests to assert on.

It holds no secret: only the last four characters of a credential, as in the list of keys, only the
headers named here, and no signature. ``***`` replaces a misplaced key or token.
"""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from adanalytics_server.accounts.credentials import hide_credentials
from adanalytics_server.api.routes import operation_of
from adanalytics_server.clock import Clock
from adanalytics_server.dialect import request_id_of

# Entries kept; the oldest go first.
MOST_ENTRIES = 1_000
# Characters kept of a path, a parameter or a header.
MOST_CHARACTERS = 500
KEPT_HEADERS = (
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "if-range",
    "range",
    "user-agent",
)
_SECRET_PARAMETERS = frozenset({"signature", "token", "password", "api_key", "access_token"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One request and its outcome.

    Attributes:
        number: the request's sequence number, counting from 1 since the start or the last reset.
        at: the time of arrival by the server's clock, in milliseconds since 1970.
        method: the HTTP method.
        path: the path without the query, percent-decoded.
        query: the parameters in the order sent; ``***`` replaces signatures and credentials.
        operation: one of ``adanalytics_server.api.routes.OPERATIONS``, or ``None``.
        key: the last four characters of the bearer credential, or ``None``.
        headers: the request headers that concern content or ranges, and `user-agent`.
        status: the status of the response; ``None`` if the connection was closed instead.
        fault: the effect of the fault that struck the request, in words, or ``None``.
        request_id: the ``X-Request-Id`` of the response.
    """

    number: int
    at: int
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    operation: str | None
    key: str | None
    headers: Mapping[str, str]
    status: int | None
    fault: str | None
    request_id: str


class Journal:
    """The last 1,000 requests, which can be read safely from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=MOST_ENTRIES)
        self._count = 0

    def begin(self, request: Request) -> Entry:
        """Count a request and return its entry, whose `status` and `fault` are not yet set."""
        with self._lock:
            self._count += 1
            number = self._count
        path = request.scope["path"]
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer" and len(credential.strip()) > 8
        return Entry(
            number=number,
            at=self._clock.milliseconds(),
            method=request.method,
            path=_shown(path),
            query=_shown_query(request.scope["query_string"]),
            operation=operation_of(request.method, path),
            # The last four characters would reveal too much of a short credential.
            key=credential.strip()[-4:] if is_bearer else None,
            headers={
                name: _shown(text) for name, text in request.headers.items() if name in KEPT_HEADERS
            },
            status=None,
            fault=None,
            request_id=request_id_of(request),
        )

    def add(self, entry: Entry) -> None:
        """Add an entry; called just before the first byte of the response is sent."""
        with self._lock:
            self._entries.append(entry)

    def entries(self) -> list[Entry]:
        """List the requests in the order of their responses."""
        with self._lock:
            return list(self._entries)

    def clear(self) -> None:
        """Forget all requests and count from 1 again."""
        self.restore((0, ()))

    def capture(self) -> tuple[int, tuple[Entry, ...]]:
        with self._lock:
            return self._count, tuple(self._entries)

    def restore(self, state: tuple[int, tuple[Entry, ...]]) -> None:
        with self._lock:
            self._count, entries = state
            self._entries = deque(entries, maxlen=MOST_ENTRIES)


def _shown(text: str) -> str:
    """Shorten a path, a value or a header for an entry and hide credentials."""
    return hide_credentials(text, mark="***")[:MOST_CHARACTERS]


def _shown_query(query: bytes) -> tuple[tuple[str, str], ...]:
    """Split a query string for an entry and hide signatures."""
    pairs = parse_qsl(query.decode("latin-1")[: 10 * MOST_CHARACTERS], keep_blank_values=True)
    return tuple(
        (_shown(name), "***" if name in _SECRET_PARAMETERS else _shown(text))
        for name, text in pairs
    )
