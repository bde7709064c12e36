"""What the client's tests share: a scripted stand-in server, a moved clock, and both worlds.

The stand-in knows nothing of the reference server: it follows only the documented paths and answers
whatever shape a test gives it, also broken ones.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from adanalytics_client import AsyncClient, Client, RetryPolicy
from adanalytics_client.errors import AdAnalyticsError
from adanalytics_server.local import LocalServer, Sample


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
    """One scripted answer. `cut` sends so many bytes of the body and then closes the connection."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    chunked: bool = False
    hang_up: bool = False
    gate: threading.Event | None = None

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

    def says(self, *answers: Say) -> None:
        """Answer with these one after the other, whatever is asked; the last one stays."""
        waiting = list(answers)
        self.script = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def says_by_name(self, **answers: list[Say]) -> None:
        """Like `says`, for each last part of a path by itself: `f_csv` is `/f.csv`."""

        def script(asked: Asked) -> Say:
            name = asked.path.rpartition("/")[2].replace("-", "_").replace(".", "_")
            waiting = answers[name]
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

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

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as inherited
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
        self.send_response(say.status)
        for name, value in say.headers.items():
            self.send_header(name, value)
        if say.chunked:
            self.send_header("transfer-encoding", "chunked")
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

    do_GET = do_POST = _serve  # noqa: N815 - names of http.server


class MovedClock:
    """A clock that moves only when something sleeps, and then at once."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []
        self._lock = threading.Lock()

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleeping(self, seconds: float) -> float:
        with self._lock:
            self.sleeps.append(seconds)
            self.now += seconds
        return 0.0


class SyncWorld:
    """Runs a scenario through `Client`."""

    def __init__(self, client: Client) -> None:
        self.client: Any = client

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(self.client, name)(*args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return getattr(thing, name)(*args, **options)

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **options).rows())

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **options))

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return list(self.client.events(*args, **options).pages())

    def all_of(self, iterator: Any) -> list[Any]:
        return list(iterator)

    def together(self, *names: str) -> list[Any]:
        """Call methods at the same time; errors come as values."""
        results: list[Any] = [None] * len(names)

        def run(index: int) -> None:
            try:
                results[index] = self.call(names[index])
            except AdAnalyticsError as error:
                results[index] = error

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(names))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def close(self) -> None:
        self.client.close()


class AsyncWorld:
    """Runs the same scenario through `AsyncClient`, on a loop that lives as long as the client."""

    def __init__(self, client: AsyncClient) -> None:
        self.client: Any = client
        self._runner = asyncio.Runner()

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.on(self.client, name, *args, **options)

    def on(self, thing: Any, name: str, *args: Any, **options: Any) -> Any:
        return self._runner.run(getattr(thing, name)(*args, **options))

    def rows(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **options).rows())

    def events(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **options))

    def pages(self, *args: Any, **options: Any) -> list[Any]:
        return self.all_of(self.client.events(*args, **options).pages())

    def together(self, *names: str) -> list[Any]:
        """Call methods at the same time; errors come as values."""

        async def all_of_them() -> list[Any]:
            calls = [getattr(self.client, name)() for name in names]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self._runner.run(all_of_them())

    def close(self) -> None:
        self._runner.run(self.client.close())
        self._runner.close()

    def all_of(self, iterator: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [each async for each in iterator]

        return self._runner.run(collect())


World = SyncWorld | AsyncWorld
OpenWorld = Callable[..., World]


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with closing(StandIn()) as server:
        yield server


@pytest.fixture(scope="session")
def say() -> type[Say]:
    """The class of a scripted answer; a test module cannot import its conftest."""
    return Say


@pytest.fixture
def other_origin() -> Iterator[StandIn]:
    """A second server, which must never see a credential."""
    with closing(StandIn()) as server:
        yield server


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture(params=["sync", "async"])
def open_world(
    request: pytest.FixtureRequest, stand_in: StandIn, clock: MovedClock
) -> Iterator[OpenWorld]:
    """Open a client on the stand-in, in both worlds, with a moved clock and no jitter."""
    opened: list[World] = []

    def open_one(base_url: str | None = None, **options: Any) -> World:
        if not {"api_key", "token", "email"} & options.keys():
            options["api_key"] = "secret-key"
        settings: dict[str, Any] = {
            "partner": "acme",
            "clock": clock,
            "jitter": lambda: 1.0,
            "retry": RetryPolicy(attempts=3),
            "timeout": 10.0,
            **options,
        }
        url = base_url or stand_in.url
        world: World = (
            SyncWorld(Client(url, **settings))
            if request.param == "sync"
            else AsyncWorld(AsyncClient(url, **settings))
        )
        opened.append(world)
        return world

    yield open_one
    for world in opened:
        world.close()


@pytest.fixture
def world(open_world: OpenWorld) -> World:
    return open_world()


@pytest.fixture(scope="session")
def reference() -> Iterator[LocalServer]:
    """The real reference server with two generated days and exports done by its worker."""
    sample = Sample(days=2, events_per_day=1_500, seed=7)
    with LocalServer(sample=sample, export_inline_max=100, rate_limit=5000) as server:
        yield server


@pytest.fixture(params=["sync", "async"])
def reference_world(request: pytest.FixtureRequest, reference: LocalServer) -> Iterator[World]:
    """A client with real time on the reference server, in both worlds."""
    options: dict[str, Any] = {"api_key": reference.api_key, "partner": reference.partner}
    world: World = (
        SyncWorld(Client(reference.url, **options))
        if request.param == "sync"
        else AsyncWorld(AsyncClient(reference.url, **options))
    )
    yield world
    world.close()


@pytest.fixture(scope="session")
def exact() -> Callable[[bytes], Any]:
    """Read JSON as a careful reader would: numbers with a fraction as Decimal."""
    return lambda body: json.loads(body, parse_float=Decimal)
