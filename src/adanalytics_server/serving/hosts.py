"""Answer under names of this machine only, so that no web page can pose as the server's own.

A page of another site can have its own host name lead to 127.0.0.1 (DNS rebinding), and is
then of one origin with the server. Its ``Host`` header still tells. Addresses are fine in any
case, because no name is behind them that could be led elsewhere.
"""

import ipaddress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from adanalytics_server.errors import ApiError, error_response


class OwnHosts:
    """ASGI middleware that answers 400 to a ``Host`` that is neither localhost nor an address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other scopes pass through untouched."""
        hosts = Headers(scope=scope).getlist("host") if scope["type"] == "http" else []
        # Without the header it is HTTP/1.0: no browser, and no name led here.
        if not all(map(is_own_host, hosts)):
            error = ApiError(400, "The Host header names another host than localhost")
            await error_response(error)(scope, receive, send)
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
