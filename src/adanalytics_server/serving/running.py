"""Run the application with uvicorn: in the foreground, or in a thread for tests."""

import asyncio
import contextlib
import errno
import logging
import socket
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from .protocol import StrictProtocol

START_SECONDS = 20.0
STOP_SECONDS = 20.0
# Container managers kill after 10 s (Docker) or 30 s (Kubernetes).
GRACE_SECONDS = 8

_log = logging.getLogger("adanalytics_server.stopping")


# Loggers of others that a server in a thread would write to, beside the program's own lines.
_SHARED_LOGGERS = ("asyncio", "uvicorn.error")
_THREAD = "adanalytics-server"


def _is_worth_telling(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or record.threadName != _THREAD


class PortInUse(OSError):
    """The server cannot listen on the address; the text says why and what to do."""


class LocalServerError(RuntimeError):
    """The server did not start or did not stop; the message says why."""


def listen(host: str, port: int) -> socket.socket:
    """Bind a listening socket; port 0 picks a free one.

    Raises:
        PortInUse: another program listens there, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A server that restarts finds its port in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            text = f"port {port} on {host} is in use: stop the other program or choose another port"
        elif error.errno == errno.EACCES:
            text = f"this user may not open port {port} on {host}: choose one above 1023"
        else:
            text = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise PortInUse(error.errno, text) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address for clients on this machine: 0.0.0.0 and :: are none to connect to."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # bound before
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn's server that calls ``ready`` once it answers and, when idle, stops at once.

    uvicorn itself polls ten times per second for a request to stop and sleeps as long at the end. A
    server in a test starts in 17 ms; stopping should not take ten times as long.
    """

    should_exit: bool
    loop: asyncio.AbstractEventLoop

    def __init__(self, app: ASGIApp, *, ready: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            interface="asgi3",
            lifespan="on",
            http=StrictProtocol,
            ws="none",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self._ready = ready
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def main_loop(self) -> None:
        """Serve until a stop is requested, without uvicorn's ten ticks a second."""
        await self._stopping.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.stop()

    def stop(self) -> None:
        """Stop the server, from another thread or a signal."""
        self.should_exit = True
        if self.started:
            # The loop of a stopped server is closed.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._stopping.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("Stopping: requests in progress have %d s to finish", GRACE_SECONDS)
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            if self.force_exit:
                # uvicorn leaves the application, which then puts a traceback into the log.
                for task in self.server_state.tasks:
                    task.cancel()
                await self.lifespan.shutdown()
            for connection in self.server_state.connections:
                # uvicorn leaves it, and uvloop cannot close where the warning of it is an error.
                _log.warning("A client had not read all of its response: its connection is closed")
                connection.transport.abort()
            return
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        await self.lifespan.shutdown()


def serve(app: ASGIApp, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; current requests get time to finish.

    Raises:
        KeyboardInterrupt: SIGINT stopped the server; raised after the shutdown.
    """
    with contextlib.closing(listener):
        Server(app, ready=ready).run(sockets=[listener])


class ServerThread:
    """A server in a thread, on a free loopback port: from its creation until ``stop``.

    It logs errors only, unless the ``adanalytics_server`` logger has a level.

    Raises:
        LocalServerError: the application failed to start, or took too long.
    """

    _failure: BaseException | None = None

    def __init__(self, app: ASGIApp) -> None:
        logger = logging.getLogger("adanalytics_server")
        # A test's output should not have a line for each request, unless the test asks for it.
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.ERROR)
        for name in _SHARED_LOGGERS:
            logging.getLogger(name).addFilter(_is_worth_telling)
        self._app = app
        self._ready = threading.Event()
        self._listener = listen("127.0.0.1", 0)
        self.url = url_of(self._listener)
        self._server = Server(self._watched, ready=self._ready.set)
        self._thread = threading.Thread(target=self._run, name=_THREAD, daemon=True)
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            self._server.stop()
            raise LocalServerError(
                f"the server did not start within {START_SECONDS:.0f} s; its log may say why"
            )
        # The thread ended before the server ran; its own error says more than a timeout.
        if not self._server.started:
            self._thread.join(STOP_SECONDS)
            raise LocalServerError(
                f"the server did not start: {self._failure or 'its log says why'}"
            ) from self._failure

    def call(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the server's event loop, and wait for its end."""
        asyncio.run_coroutine_threadsafe(work, self._server.loop).result()

    def stop(self) -> None:
        """Let current requests finish, and wait for the end.

        Raises:
            LocalServerError: the server did not stop, or it failed.
        """
        self._server.stop()
        self._thread.join(STOP_SECONDS)
        # The folder cannot be removed while a request still writes there.
        if self._thread.is_alive():
            raise LocalServerError("the server did not stop: one of its requests never ends")
        if self._failure is not None:
            raise LocalServerError(f"the server failed: {self._failure}") from self._failure

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except BaseException as error:
            # uvicorn logs a failed start and exits; the caller needs the reason.
            if scope["type"] == "lifespan":
                self._failure = error
            raise

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except BaseException as error:  # noqa: BLE001  # a thread has no caller; start and stop raise it
            self._failure = self._failure or error
        finally:
            self._listener.close()
            self._ready.set()
