"""A scripted stand-in server.

It knows nothing of the reference server: it follows only the documented paths and answers whatever
shape a test gives it, also broken ones.
"""

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request as the stand-in saw it; `target` is the request target byte for byte."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))


@dataclass(frozen=True)
class Say:
    """One scripted answer. `cut` sends so many bytes of the body and then closes the connection.

    `until_closed` announces no length: the body ends with the connection.
    `phrase` stands behind the status instead of its usual words.
    """

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    chunked: bool = False
    until_closed: bool = False
    hang_up: bool = False
    gate: threading.Event | None = None
    phrase: str | None = None

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Script = Callable[[Asked], Say]


class StandIn:
    """A server on a free loopback port that answers as it is told and remembers what it saw."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.reached = threading.Event()
        self.script: Script = lambda _: Say({"error": "nothing scripted"}, status=500)
        self._lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", 0), self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def says(self, *answers: Say, **by_name: list[Say]) -> None:
        """Answer with these one after the other, whatever is asked; the last one stays.

        Or for each last part of a path by itself: `f_csv` is `/f.csv`.
        """
        queues = {name: [*queue] for name, queue in by_name.items()}
        common = [*answers]

        def script(asked: Asked) -> Say:
            name = asked.path.rpartition("/")[2].replace("-", "_").replace(".", "_")
            queue = queues[name] if queues else common
            return queue.pop(0) if len(queue) > 1 else queue[0]

        self.script = script

    def answer(self, asked: Asked) -> Say:
        with self._lock:
            self.asked.append(asked)
            self.reached.set()
            return self.script(asked)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], stand_in: StandIn) -> None:
        super().__init__(address, _Handler)
        self.stand_in = stand_in

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as inherited
        """Stay quiet."""

    def _serve(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, self.rfile.read(length))
        say = self.server.stand_in.answer(asked)
        if say.gate is not None:
            say.gate.wait(20)
        if say.hang_up:
            self.close_connection = True
            return
        content = say.content()
        # Without a Date: the clocks of the tests say another time.
        self.send_response_only(say.status, say.phrase)
        for name, value in say.headers.items():
            self.send_header(name, value)
        if say.chunked:
            self.send_header("transfer-encoding", "chunked")
        elif say.until_closed:
            self.send_header("connection", "close")
        elif "content-length" not in say.headers:
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        body = content if say.cut is None else content[: say.cut]
        if say.chunked:
            end = b"0\r\n\r\n" if say.cut is None else b""
            body = b"%x\r\n%b\r\n%b" % (len(body), body, end) if body else end
        self.wfile.write(body)
        if say.cut is not None:
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)

    do_GET = do_POST = _serve  # noqa: N815  # names of http.server
