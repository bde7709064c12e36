"""What a dressed request goes out by: connections of our own, or a client of httpx."""

from dataclasses import dataclass
from typing import Protocol

import httpx

from adanalytics_client._lent import NoCookies
from adanalytics_client._proxies import Proxies
from adanalytics_client._sockets import Sockets

# Below the 5 s after which uvicorn and many load balancers close an idle connection.
_KEEPALIVE = 4.0

_LIMITS = httpx.Limits(
    max_connections=None, max_keepalive_connections=64, keepalive_expiry=_KEEPALIVE
)


class Transmitter(Protocol):
    """Sends for threads."""

    def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read."""

    def read_by_hook(self, response: httpx.Response) -> bytes | None:
        """The decoded body where somebody has read it already, else None."""

    def close(self) -> None:
        """Close what is open."""


class AsyncTransmitter(Protocol):
    """Sends for tasks."""

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read."""

    def read_by_hook(self, response: httpx.Response) -> bytes | None:
        """The decoded body where somebody has read it already, else None."""

    async def aclose(self) -> None:
        """Close what is open."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A transport alone: nothing here needs what a client of httpx does around it."""

    transport: httpx.BaseTransport

    def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read."""
        return self.transport.handle_request(request)

    def read_by_hook(self, _response: httpx.Response) -> None:
        """Nobody has."""

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()


@dataclass(frozen=True, slots=True)
class AsyncDirect:
    """The same for tasks."""

    transport: httpx.AsyncBaseTransport

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read."""
        return await self.transport.handle_async_request(request)

    def read_by_hook(self, _response: httpx.Response) -> None:
        """Nobody has."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self.transport.aclose()


@dataclass(frozen=True, slots=True)
class Through:
    """A client of httpx, of which authentication and redirects are not used."""

    http: httpx.Client

    def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read unless a hook did."""
        return self.http.send(request, stream=True, auth=None, follow_redirects=False)

    def read_by_hook(self, response: httpx.Response) -> bytes | None:
        """The decoded body where a response hook has read it."""
        return _read_by_hook(self.http, response)

    def close(self) -> None:
        """Close it."""
        self.http.close()


@dataclass(frozen=True, slots=True)
class AsyncThrough:
    """The same for tasks."""

    http: httpx.AsyncClient

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is still to be read unless a hook did."""
        return await self.http.send(request, stream=True, auth=None, follow_redirects=False)

    def read_by_hook(self, response: httpx.Response) -> bytes | None:
        """The decoded body where a response hook has read it."""
        return _read_by_hook(self.http, response)

    async def aclose(self) -> None:
        """Close it."""
        await self.http.aclose()


def own_transmitter(sockets: Sockets) -> Transmitter:
    """One of our own; proxies come from the environment as httpx reads it.

    Args:
        sockets: told of every socket that is opened.
    """
    # With h11, which httpx imports late too.
    from adanalytics_client._direct_transport import DirectTransport
    from adanalytics_client._trust import trust

    if proxies := Proxies.of_environment():
        hooks = {"request": [sockets.watch]}
        with proxies.usable():
            return Through(
                httpx.Client(verify=trust(), limits=_LIMITS, event_hooks=hooks, cookies=NoCookies())
            )
    return Direct(DirectTransport(sockets.add, keepalive=_KEEPALIVE))


def own_async_transmitter() -> AsyncTransmitter:
    """The same for tasks, which are cancelled, so that nobody need know their sockets."""
    from adanalytics_client._async_direct_transport import AsyncDirectTransport
    from adanalytics_client._trust import trust

    if proxies := Proxies.of_environment():
        with proxies.usable():
            return AsyncThrough(
                httpx.AsyncClient(verify=trust(), limits=_LIMITS, cookies=NoCookies())
            )
    return AsyncDirect(AsyncDirectTransport(keepalive=_KEEPALIVE))


def _read_by_hook(http: httpx.Client | httpx.AsyncClient, response: httpx.Response) -> bytes | None:
    """A transport may also hand over a response that is read already, as httpx.MockTransport does.

    Its stream can then still be read.
    """
    hooked = response.is_stream_consumed and http.event_hooks["response"]
    return response.content if hooked else None
