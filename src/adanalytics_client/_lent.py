"""A lent HTTP client with what of it counts, and what goes with every request."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from typing import Protocol
from urllib.request import Request as UrllibRequest

import httpx

from adanalytics_client._body import ACCEPT_ENCODING
from adanalytics_client._effects import Request
from adanalytics_client._proxies import Proxies
from adanalytics_client._url import BaseUrl
from adanalytics_client._version import __version__
from adanalytics_client._wire import to_httpx
from adanalytics_client.errors import ConfigurationError

_STEPS = ("connect", "read", "write")
# No library takes less than nothing.
_LEAST = 0.001

DEFAULT_TIMEOUT = 60.0
"""Seconds without a byte after which a request is given up, where nobody says otherwise."""

# What this library decides, what belongs to one request, and what must not leave a client.
_NOT_LENT = frozenset(
    {"accept", "accept-encoding", "authorization", "content-length", "content-type", "cookie"}
    | {"host", "transfer-encoding"}
)
_UNNAMED = f"python-httpx/{httpx.__version__}"


class HttpClient(Protocol):
    """What `http=` of `Client` takes: a ready `httpx.Client`."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    def close(self) -> None:
        """Its owner closes it, never this library."""


class AsyncHttpClient(Protocol):
    """What `http=` of `AsyncClient` takes: a ready `httpx.AsyncClient`."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    async def aclose(self) -> None:
        """Its owner closes it, never this library."""


class NoCookies(CookieJar):
    """Keeps none: nothing here sends them, and a service may set ever new ones."""

    def extract_cookies(self, response: HTTPResponse, request: UrllibRequest) -> None:
        """Leave what an answer sets."""


def borrowed(http: HttpClient) -> httpx.Client:
    """A shallow copy of a ready client: its connections and TLS settings, but no cookies.

    Sending stores cookies in the client that sends, and a lent client must not change.
    """
    if not isinstance(http, httpx.Client):
        raise ConfigurationError("http= takes an httpx.Client; AsyncClient takes the async one.")
    _see_open(http)
    lent = copy.copy(http)
    lent.cookies = NoCookies()
    return lent


def borrowed_async(http: AsyncHttpClient) -> httpx.AsyncClient:
    """The same for tasks."""
    if not isinstance(http, httpx.AsyncClient):
        raise ConfigurationError("http= takes an httpx.AsyncClient; Client takes the sync one.")
    _see_open(http)
    lent = copy.copy(http)
    lent.cookies = NoCookies()
    return lent


@dataclass(frozen=True, slots=True)
class Defaults:
    """What goes with every request beside what the request itself says.

    Attributes:
        base: the service; a lent client's headers go to its origin only.
        headers: a lent client's headers, without those that this library decides.
        waits: seconds for each step of a request, by httpx's names; None is without end.
        proxies: those on the way; what a lent client uses is not known.
        lent: a client that is not ours; its copy that sends does not learn that it was closed.
    """

    base: BaseUrl
    headers: Mapping[str, str] = field(repr=False)
    waits: Mapping[str, float | None]
    proxies: Proxies
    lent: HttpClient | AsyncHttpClient | None = None

    @classmethod
    def of(cls, base: BaseUrl, *, timeout: float | None) -> "Defaults":
        """Those of a client of our own; `timeout` is for each step."""
        return cls(base, {}, _waits(timeout or DEFAULT_TIMEOUT), Proxies.of_environment())

    @classmethod
    def of_lent(
        cls,
        http: httpx.Client | httpx.AsyncClient,
        base: BaseUrl,
        *,
        timeout: float | None,
        lent: HttpClient | AsyncHttpClient,
    ) -> "Defaults":
        """Those of the copy of a `lent` client; `timeout` wins over its own."""
        headers = {name: text for name, text in http.headers.items() if name not in _NOT_LENT}
        if headers.get("user-agent") == _UNNAMED:
            del headers["user-agent"]
        theirs, waits = http.timeout, _waits(timeout)
        if timeout is None:
            waits |= {"connect": theirs.connect, "read": theirs.read, "write": theirs.write}
        return cls(base, headers, waits, Proxies({}), lent)

    def see_open(self) -> None:
        """See that a lent client may still send.

        Raises:
            ConfigurationError: when its owner has closed it.
        """
        if self.lent is not None:
            _see_open(self.lent)

    def dress(self, request: Request, left: float | None) -> httpx.Request:
        """The request as httpx sends it; the credential enters here and nowhere before.

        Args:
            request: what to send.
            left: seconds until its deadline, for the whole exchange; with None its head may take as
                long as all steps up to it.

        Raises:
            ConfigurationError: when a lent client was closed.
            httpx.InvalidURL: for an address that httpx cannot read.
        """
        self.see_open()
        headers = {
            "user-agent": f"adanalytics/{__version__}",
            "accept": "*/*",
            **(self.headers if self.base.owns(request.url) else {}),
            "accept-encoding": ACCEPT_ENCODING,
            **dict(request.headers),
        }
        if request.credential is not None:
            headers["authorization"] = f"Bearer {request.credential.reveal()}"
        most = None if left is None else max(left, _LEAST)
        steps = [self.waits[name] for name in _STEPS]
        usual = None if None in steps else sum(each or 0.0 for each in steps)
        return to_httpx(
            request,
            headers,
            self._waits_within(most),
            head_wait=usual if most is None else most,
            whole_wait=most,
        )

    def _waits_within(self, most: float | None) -> Mapping[str, float | None]:
        if most is None:
            return self.waits
        steps = ((name, self.waits[name]) for name in _STEPS)
        within = {name: most if wait is None else min(wait, most) for name, wait in steps}
        return {**self.waits, **within}


def _waits(seconds: float | None) -> dict[str, float | None]:
    """Waiting for a free connection never ends by itself: it says nothing about the service."""
    return {**dict.fromkeys(_STEPS, seconds), "pool": None}


def _see_open(http: HttpClient | AsyncHttpClient) -> None:
    if http.is_closed:
        raise ConfigurationError("http= is closed already; pass an open client.")
