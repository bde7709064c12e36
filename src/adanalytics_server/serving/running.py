"""Run the application with uvicorn: bind first, so that a taken port is a plain error."""

import contextlib
import errno
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from adanalytics_server.serving.protocol import StrictProtocol
from adanalytics_server.serving.stopping import PromptServer


class PortInUse(OSError):
    """The address cannot be listened on; the text says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """Bind a listening socket; port 0 takes a free one.

    Raises:
        PortInUse: something listens there, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            text = f"port {port} on {host} is in use: stop what listens there or choose another"
        elif error.errno == errno.EACCES:
            text = f"port {port} on {host} may not be opened by this user: choose one above 1023"
        else:
            text = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise PortInUse(error.errno, text) from error
    except OverflowError as error:
        listener.close()
        raise PortInUse(errno.EINVAL, f"{port} is no port: use 0 to 65535") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the base URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class NotifyingServer(PromptServer):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as usual, then call ``ready`` if the application came up."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def make_server(app: ASGIApp, *, ready: Callable[[], None]) -> NotifyingServer:
    """Prepare a server for one application; run it with ``run(sockets=[listener])``."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="on",
        http=StrictProtocol,
        ws="none",
        server_header=False,
    )
    return NotifyingServer(config, ready=ready)


def serve(app: ASGIApp, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; requests that are under way get time to finish.

    Raises:
        KeyboardInterrupt: ended by SIGINT, after the shutdown.
    """
    with contextlib.closing(listener):
        make_server(app, ready=ready).run(sockets=[listener])
