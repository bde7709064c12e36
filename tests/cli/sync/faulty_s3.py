"""moto's S3 server with faults, which strike requests to a bucket at random."""

import os
import random
import signal
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from threading import Barrier, Lock, Thread
from typing import Any, Literal

TIMEOUT = 30
CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")
REFUSAL = b"<Error><Code>NotImplemented</Code><Message>If-None-Match</Message></Error>"
Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


@dataclass
class FaultyS3:
    """Faults before a request is done, and after: then only its answer is lost.

    Attributes:
        share: the part of the requests that are struck.
        status: answer with this status; 0 resets the connection.
        only: strike only requests whose method and path contain this.
        left: the number of faults that are left.
        kill: the process to kill, instead of an answer.
        requests: the method and path of each request.
        meeting: holds back the requests that `only` names until so many have come.
        before: is called with each request before it is done.
        conditions: what becomes of the conditions of a put.
    """

    application: Application
    dice: random.Random = field(default_factory=lambda: random.Random(20260115))
    share: float = 0
    status: int = 503
    only: str = ""
    left: float = float("inf")
    kill: int | None = None
    after: bool | None = None
    requests: list[str] = field(default_factory=list)
    meeting: Barrier | None = None
    before: Callable[[str], object] = str
    conditions: Literal["kept", "ignored", "refused"] = "kept"
    # moto looks and then puts, so two conditional puts at once could both pass.
    one: Lock = field(default_factory=Lock)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self.requests.append(request)
        if self.meeting and self.only in request:
            self.meeting.wait(TIMEOUT)
        self.before(request)
        conditions = [name for name in CONDITIONS if name in environ and request.startswith("PUT")]
        if conditions and self.conditions == "refused":
            start_response("501 Not Implemented", [("Content-Length", str(len(REFUSAL)))])
            return [REFUSAL]
        if self.conditions == "ignored":
            for name in conditions:
                del environ[name]
        with self.one:
            strikes = self.left and self.only in request and self.dice.random() < self.share
            self.left -= bool(strikes)
            after = self.dice.random() < 0.5 if self.after is None else self.after
            if not strikes:
                return [*self.application(environ, start_response)]
            if after:
                for _ in self.application(environ, lambda *_: None):
                    pass
        if self.kill is not None:
            os.kill(self.kill, signal.SIGKILL)
        elif self.status:
            start_response(f"{self.status} Fault", [("Content-Length", "0")])
            return []
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        raise ConnectionResetError

    def rest(self) -> None:
        """Strike no more, and forget the requests."""
        self.share, self.only, self.kill, self.after, self.left = 0, "", None, None, float("inf")
        self.meeting, self.before, self.conditions = None, str, "kept"
        self.requests.clear()


def serve() -> tuple[FaultyS3, str, Callable[[], None]]:
    """Start a server on a free port; return it, its address and what stops it."""
    # It lists a folder of 175 services at each request, twice.
    backends = import_module("moto.backends")
    services = [*backends.list_of_moto_modules()]
    vars(backends)["list_of_moto_modules"] = lambda: services
    moto = import_module("moto.moto_server.werkzeug_app")
    faulty = FaultyS3(moto.DomainDispatcherApplication(moto.create_backend_app))
    serving = import_module("werkzeug.serving").make_server(
        "127.0.0.1", 0, faulty, threaded=True, request_handler=moto.MotoRequestHandler
    )
    thread = Thread(target=serving.serve_forever, daemon=True)
    thread.start()

    def stop() -> None:
        serving.shutdown()
        thread.join()

    return faulty, f"http://127.0.0.1:{serving.server_port}", stop
