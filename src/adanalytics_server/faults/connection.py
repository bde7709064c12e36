"""The connection below a request, for faults that no HTTP message can express.

An ASGI application cannot end its connection. The server's protocol puts its transport into the
``extensions`` of the scope.
"""

import asyncio
import socket
import struct
from typing import cast

from starlette.types import Receive, Scope

from adanalytics_server.serving import CONNECTION


class NoConnection(RuntimeError):
    """The application runs under a server that does not lend its connections."""


def reset_connection(scope: Scope) -> None:
    """End the connection at once with a TCP reset, dropping what is not sent yet."""
    transport = _transport_of(scope)
    # A linger time of zero is what turns closing into a reset (RFC 9293, section 3.10.5).
    transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    transport.abort()


def close_connection(scope: Scope) -> None:
    """Send what is written already, then end the connection in good order."""
    _transport_of(scope).close()


async def until_disconnected(receive: Receive) -> None:
    """Wait until the connection is gone; then the application may return without an answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _transport_of(scope: Scope) -> asyncio.Transport:
    extension = (scope.get("extensions") or {}).get(CONNECTION)
    if extension is None:
        raise NoConnection(
            "this fault ends connections, which needs LocalServer or 'adanalytics serve'"
        )
    return cast("asyncio.Transport", extension["transport"])
