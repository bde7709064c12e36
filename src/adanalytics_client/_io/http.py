"""Requests, responses and errors between the core and httpx: shared by both drivers."""

import copy
import os
import re
import ssl
from collections.abc import Iterator
from errno import errorcode
from types import ModuleType
from typing import ClassVar, Generic, Protocol, TypeVar, cast

from adanalytics_client._base.clock import Clock
from adanalytics_client._base.effects import Failure, FailureKind, Request, ResponseHead, Send, Sink
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._version import __version__
from adanalytics_client.errors import ConfigurationError, TransportError

from .body import ACCEPT_ENCODING, Receiver
from .library import httpx, library_of, request_class
from .logs import Redact
from .proxies import Proxies

SLOW_BODY = "the body came too slowly"
"""The detail of a failure whose body missed the deadline."""

_STEPS = ("connect", "read", "write")
_SHORTEST = 0.001
_DEFAULT_TIMEOUT = 60.0

# Headers of a caller's client that this library sets itself, or that must stay in that client.
_OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "authorization", "content-length", "content-type", "cookie"}
    | {"host", "transfer-encoding"}
)

_BEHIND_HOST = re.compile(r"[^:]*://[^/?]*")
_LEGAL_TARGET = re.compile(rb"[\x21-\x7e]+")
# The messages of httpcore and h11 for a connection that merely ended.
_ENDS = ("Server disconnected", "peer unexpectedly closed")
# In h11's messages this is followed by a part of the response, which may hold a secret.
_QUOTED_BYTES = re.compile(r":\s?b(?:ytearray|['\"]).*", re.DOTALL)

C = TypeVar("C", httpx.Client, httpx.AsyncClient)


class HttpClient(Protocol):
    """The `httpx.Client`, or that of httpx2, for `http=` of `Client`; its owner closes it."""

    @property
    def is_closed(self) -> bool: ...

    def close(self) -> None: ...


class AsyncHttpClient(Protocol):
    """The same for `http=` of `AsyncClient`."""

    @property
    def is_closed(self) -> bool: ...

    async def aclose(self) -> None: ...


AnyHttpClient = HttpClient | AsyncHttpClient


def ignore_cookies(http: httpx.Client | httpx.AsyncClient) -> None:
    """Store no cookies: this library sends none, and a service may set ever new ones."""

    def ignore(response: httpx.Response) -> None: ...

    http.cookies = {}
    # A jar of a class of its own would get the address and the headers of each response, parsed
    # once more: httpx has no other way to do without one.
    http.cookies.extract_cookies = ignore  # type: ignore[method-assign]


class BaseDriver(Generic[C]):
    """The httpx client of a driver: makes its requests, and turns its errors into failures.

    Args:
        http: the caller's client, whose headers and timeouts apply; None for one of our own, which
            the driver makes at its first request.
        base: the service; the headers of a caller's client go to its origin only.
        clock: measures deadlines.
        redact: removes the secrets from log lines.

    Raises:
        ConfigurationError: for a caller's client of another kind or a closed one, and for proxies
            in the environment that cannot be used.
    """

    kind: ClassVar[str]
    """The class of the client, by its name."""

    def __init__(
        self, http: AnyHttpClient | None, base: BaseUrl, *, clock: Clock, redact: Redact
    ) -> None:
        self._callers = http
        self._http: C | None = None
        self._base = base
        self._headers: dict[str, str] = {}
        self._timeouts = _timeouts(_DEFAULT_TIMEOUT)
        self._proxies = Proxies.of_environment() if http is None else Proxies({})
        # A proxy that cannot be used is an error now, not at the first request.
        self._proxies.through(base.text)
        self._clock = clock
        self._redact = redact
        library = httpx if http is None else library_of(http, self.kind)
        if library is None:
            raise ConfigurationError(
                "http= is not valid.", remedy=f"Pass an httpx.{self.kind}, or one of httpx2."
            )
        self._library: ModuleType = library
        # Not HTTPError, which is also what a hook raises that calls raise_for_status.
        self._errors: tuple[type[Exception], ...] = (library.RequestError, library.InvalidURL)
        if http is None:
            return
        http = cast("C", http)
        self._check_open()
        # Sending stores cookies in the sending client, and the caller's must not change.
        self._http = copy.copy(http)
        ignore_cookies(self._http)
        self._headers = {
            name: text for name, text in http.headers.items() if name not in _OWN_HEADERS
        }
        if self._headers.get("user-agent") == f"python-{library.__name__}/{library.__version__}":
            del self._headers["user-agent"]
        self._timeouts |= {name: getattr(http.timeout, name) for name in _STEPS}

    def _check_open(self) -> None:
        # The sending copy does not notice when the owner closes the caller's client.
        if self._callers is not None and self._callers.is_closed:
            raise ConfigurationError("http= is already closed.", remedy="Pass an open client.")

    def _left(self, deadline: float | None) -> float | None:
        """Return seconds until a deadline; None is no deadline."""
        return None if deadline is None else deadline - self._clock.monotonic()

    def _seconds_to_head(self, request: Request, remaining: float | None) -> float | None:
        """Return the seconds until a response's head must have arrived, with `remaining` in all.

        Without a deadline: the sum of all its steps. A head that arrives byte by byte keeps every
        single step within its time.
        """
        if remaining is not None:
            return max(remaining, _SHORTEST)
        timeouts = self._timeouts_of(request, None)
        steps = [timeouts[name] for name in _STEPS]
        # The steps follow each other: pool, connect, write and the first byte.
        return None if None in steps else sum(seconds or 0.0 for seconds in steps)

    def _build(self, request: Request, remaining: float | None) -> httpx.Request:
        """Return the request as httpx sends it; the credential is added here, not earlier."""
        self._check_open()
        headers = {
            "user-agent": f"adanalytics/{__version__}",
            "accept": "*/*",
            **(self._headers if self._base.owns(request.url) else {}),
            "accept-encoding": ACCEPT_ENCODING,
            **dict(request.headers),
        }
        if request.credential is not None:
            headers["authorization"] = f"Bearer {request.credential.reveal()}"
        http_request = request_class(self._library)(
            request.method,
            request.url,
            headers=headers,
            content=request.body,
            extensions={"timeout": self._timeouts_of(request, remaining)},
        )
        target = _target(request.url)
        if target != http_request.url.raw_path and _LEGAL_TARGET.fullmatch(target):
            # httpx resolves dot segments and quotes some characters, which would break a signature.
            http_request.extensions["target"] = target
        return http_request

    def _timeouts_of(self, request: Request, remaining: float | None) -> dict[str, float | None]:
        timeouts = self._timeouts if request.timeout is None else _timeouts(request.timeout)
        if remaining is None:
            return timeouts
        # No step may last longer than the whole request has left.
        limit = max(remaining, _SHORTEST)
        return timeouts | {
            name: limit if (seconds := timeouts[name]) is None else min(limit, seconds)
            for name in _STEPS
        }

    def _failure_of(
        self, error: Exception, request: Request, head: ResponseHead | None = None
    ) -> Failure:
        """Return the failure for an error of httpx, before or after the head of the response."""
        kind, arrived, detail = _kind_of(self._library, error, has_head=head is not None)
        return Failure(kind, arrived, detail, self._proxies.of(request.url), head)

    def _too_late(self, send: Send) -> Failure | None:
        """Return the failure of a body that arrives too slowly, once its deadline is over."""
        remaining = self._left(send.deadline)
        if remaining is None or remaining >= 0:
            return None
        return Failure(FailureKind.TIMEOUT, arrived=True, detail=SLOW_BODY)


def _timeouts(seconds: float | None) -> dict[str, float | None]:
    """Without a limit on waiting for a free connection, which says nothing about the service."""
    return {**dict.fromkeys(_STEPS, seconds), "pool": None}


def _target(url: str) -> bytes:
    """Path and query of an address, byte for byte."""
    target = _BEHIND_HOST.sub("", url, count=1).encode("utf-8")
    return target if target.startswith(b"/") else b"/" + target


def begin_receiving(response: httpx.Response, sink: Sink | None) -> Receiver:
    """Return the receiver of a body whose head has arrived.

    Repeated headers are joined with a comma (RFC 9110, section 5.3).
    """
    # Called once: `headers.items()` of httpx decodes all headers at each call.
    encoding = response.headers.encoding
    headers: dict[str, str] = {}
    for raw_name, raw_text in response.headers.raw:
        name, text = raw_name.decode(encoding).lower(), raw_text.decode(encoding)
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    if response.is_stream_consumed:
        # A body that a hook or a mock has read is decoded, and can no longer be read raw.
        headers.pop("content-encoding", None)
        headers.pop("content-length", None)
    receiver = Receiver(ResponseHead(response.status_code, headers), sink)
    if response.is_stream_consumed and not receiver.unread:
        receiver.write(response.content)
        receiver.unread = True
    return receiver


def cancelled_error() -> TransportError:
    """Return the error of a request that was cancelled."""
    return TransportError("The request was cancelled while it was under way.")


def _kind_of(lib: ModuleType, error: Exception, *, has_head: bool) -> tuple[FailureKind, bool, str]:
    """Return the kind of a failure, whether the request may have arrived, and details."""
    end_kind = FailureKind.TRUNCATED if has_head else FailureKind.BROKEN
    match error:
        case lib.ConnectTimeout() | lib.PoolTimeout():
            return FailureKind.TIMEOUT, False, ""
        case lib.ProxyError() if str(error).startswith("407"):
            return FailureKind.PROXY_LOGIN, False, ""
        case lib.ConnectError() if reason := _refused_certificate(error):
            return FailureKind.UNTRUSTED, False, reason
        case lib.ConnectError() if _has_no_tls(error):
            return FailureKind.NOT_TLS, False, ""
        case lib.ConnectError() | lib.ProxyError() | lib.UnsupportedProtocol():
            return FailureKind.UNREACHABLE, False, _cause(error)
        case lib.InvalidURL() | lib.LocalProtocolError():
            # The text of these errors may repeat the request, with its credential.
            return FailureKind.UNREACHABLE, False, "the request cannot be sent"
        case lib.TimeoutException():
            return FailureKind.TIMEOUT, True, SLOW_BODY if has_head else ""
        case lib.RemoteProtocolError() if not has_head and not str(error).startswith(_ENDS):
            return FailureKind.MALFORMED, True, _QUOTED_BYTES.sub("", str(error))
        case lib.RemoteProtocolError():
            return end_kind, True, _QUOTED_BYTES.sub("", str(error))
    return end_kind, True, _cause(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _refused_certificate(error: BaseException) -> str:
    """Return the reason why TLS refused a certificate; empty for any other failure."""
    refusals = (
        cause for cause in _causes(error) if isinstance(cause, ssl.SSLCertVerificationError)
    )
    return next((refusal.verify_message for refusal in refusals), "")


def _has_no_tls(error: BaseException) -> bool:
    # The second is what OpenSSL says from 3.5 on.
    reasons = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}
    return any(
        isinstance(cause, ssl.SSLError) and cause.reason in reasons for cause in _causes(error)
    )


def _cause(error: BaseException) -> str:
    """Return the operating system's message for the first cause, else the error's own."""
    words = str(error)
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            words = cause.strerror
            # asyncio puts its own messages in strerror; TLS has its own numbers.
            number = cause.errno or 0
            if number in errorcode and not isinstance(cause, ssl.SSLError):
                words = os.strerror(number)
    return words
