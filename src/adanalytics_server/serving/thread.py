"""Run an application in a thread on a free loopback port: ready or dead, never hanging."""

import threading

from starlette.types import ASGIApp, Receive, Scope, Send

from adanalytics_server.serving.running import listen, make_server, url_of

START_SECONDS = 20.0
STOP_SECONDS = 20.0


class LocalServerError(RuntimeError):
    """The server did not come up or did not go down; the text says why."""


class _Watched:
    """The application, with what went wrong at its start kept for whoever waits for it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.failure: BaseException | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except BaseException as error:
            if scope["type"] == "lifespan":
                self.failure = error
            raise


class ServerThread:
    """One run of a server: starts when it is made, ends with :meth:`stop`.

    Raises:
        LocalServerError: the application failed to start, or took too long.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._watched = _Watched(app)
        self._ready = threading.Event()
        self._listener = listen("127.0.0.1", 0)
        self.url = url_of(self._listener)
        self._server = make_server(self._watched, ready=self._ready.set)
        self._thread = threading.Thread(target=self._run, name="adanalytics-server", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            self._server.stop(by_force=True)
            raise LocalServerError(
                f"the server did not start within {START_SECONDS:.0f} s; its log may say why"
            )
        if not self._server.started:
            self._thread.join(STOP_SECONDS)
            failure = self._watched.failure
            raise LocalServerError(
                f"the server did not start: {failure or 'its log says why'}"
            ) from failure

    def stop(self) -> None:
        """Let requests under way finish, stop, and wait for it.

        Raises:
            LocalServerError: it did not stop even when it was told not to wait for anybody, or it
                ended with a failure.
        """
        self._server.stop()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            self._server.stop(by_force=True)
            self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            raise LocalServerError("the server does not stop: a request in it never ends")
        if self._watched.failure is not None:
            raise LocalServerError(
                f"the server failed: {self._watched.failure}"
            ) from self._watched.failure

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._listener])
        except BaseException as error:  # noqa: BLE001  # a thread has nobody to raise to; start and stop do it
            self._watched.failure = self._watched.failure or error
        finally:
            self._listener.close()
            self._ready.set()
