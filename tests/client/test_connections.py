"""Connections: kept, left when stale, secured, ended by close, and never shared by a fork."""

import os
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from httpcore._backends.sync import SyncStream
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import BOTH_LIBRARIES, OpenVariant
from tests.client.wire import CHUNKED, END, OK, Wire, sized
from tests.programs import run_program

from adanalytics_client import Client, ConfigurationError, QuotaPolicy, TransportError

BODY = b'{"dates": ["2026-01-15"]}'
DATES = sized(BODY)


def test_a_connection_is_used_again(open_variant: OpenVariant, wire: Callable[..., Wire]) -> None:
    server = wire([DATES, CHUNKED.replace(b"3\r\nabc\r\n2\r\nde", b"19\r\n" + BODY), DATES])
    variant = open_variant(server.url)
    assert [len(variant.call("dates")) for _ in range(3)] == [1, 1, 1]
    assert [len(each) for each in server.heads] == [3]


def test_a_connection_that_was_closed_meanwhile_costs_no_request(
    open_variant: OpenVariant, wire: Callable[..., Wire]
) -> None:
    server = wire([DATES], [DATES])
    variant = open_variant(server.url)
    variant.call("dates")
    assert server.closed.wait(10)
    variant.call("dates")
    assert [len(each) for each in server.heads] == [1, 1]
    assert variant.client.quota.remaining == 998


@BOTH_LIBRARIES
def test_a_connection_that_closes_under_a_request(
    open_variant: OpenVariant, wire: Callable[..., Wire]
) -> None:
    """A GET is sent again; a POST may have begun an export, so it is not."""
    server = wire([DATES, b""], [DATES, b""], [DATES])
    variant = open_variant(server.url)
    assert [len(variant.call("dates")) for _ in range(2)] == [1, 1]
    with pytest.raises(TransportError, match="broke before an answer"):
        variant.call("start_export", "2026-01-15")
    methods = [head.split()[0] for heads in server.heads for head in heads]
    assert methods == [b"GET", b"GET", b"GET", b"POST"]


def test_only_a_long_answer_is_read_in_large_pieces(
    wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory of a large piece is cleared anew for each, which a short answer need not pay."""
    large = b'{"dates": ["2026-01-15"], "pad": "' + b"x" * 1_000_000 + b'"}'
    sizes: list[int] = []
    read = SyncStream.read

    def note(stream: SyncStream, size: int, timeout: float | None = None) -> bytes:
        sizes.append(size)
        return read(stream, size, timeout)

    monkeypatch.setattr(SyncStream, "read", note)
    server = wire([DATES, sized(large), DATES])
    largest = []
    with Client(server.url, api_key="k", partner="p") as client:
        for _ in range(3):
            client.dates()
            largest.append(max(sizes))
            sizes.clear()
    assert largest == [65_536, 262_144, 65_536]


def test_secured_connections(
    open_variant: OpenVariant, wire: Callable[..., Wire], trusted: ssl.SSLContext
) -> None:
    """Also one whose end is that of the body."""
    large = b'{"dates": ["2026-01-15"], "pad": "' + b"x" * 1_000_000 + b'"}'
    server = wire([sized(large), OK + b"X: y" + END + BODY], [DATES], context=trusted)
    variant = open_variant(server.url)
    assert [len(variant.call("dates")) for _ in range(3)] == [1, 1, 1]
    assert [len(each) for each in server.heads] == [2, 1]


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
def test_certificates_that_cannot_be_read(
    open_variant: OpenVariant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    variant = open_variant("https://127.0.0.1:9")
    with pytest.raises(
        ConfigurationError, match=r"Correct or remove SSL_CERT_FILE=.*empty\.pem in the environment"
    ):
        variant.call("dates")


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [("http", b""), ("http", OK + b"Content-"), ("http", DATES[:-5]), ("https", b"")],
    ids=["no head", "half a head", "half a body", "no handshake"],
)
def test_closing_the_client_ends_what_another_thread_waits_for(scheme: str, sent: bytes) -> None:
    caught: list[TransportError] = []

    def ask() -> None:
        try:
            client.dates()
        except TransportError as error:
            caught.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        client = Client(url, api_key="k", partner="acme", quota=QuotaPolicy(log="memory"))
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(65_536)
            accepted.sendall(sent)
            client.close()
            thread.join(10)
            assert not thread.is_alive()
    assert "was cancelled" in str(caught[0])


def test_the_handler_of_a_signal_may_close_the_client(stand_in: StandIn) -> None:
    """It runs in the thread that it interrupts, wherever that is."""
    held = threading.Event()

    def interrupt(_: Asked) -> Say:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        return Say({"dates": []}, gate=held)

    stand_in.script = interrupt
    client = Client(stand_in.url, api_key="k", partner="acme", quota=QuotaPolicy(log="memory"))
    before = signal.signal(signal.SIGUSR1, lambda *_: client.close())
    try:
        with pytest.raises(TransportError, match="was cancelled"):
            client.dates()
    finally:
        held.set()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"])
def test_settings_of_tls_stop_only_what_needs_tls(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    place = f"{tmp_path}/missing/place"
    monkeypatch.setenv(variable, place)
    bench.says(Say({"dates": ["2026-01-15"]}))
    assert len(bench.open().call("dates")) == 1
    with pytest.raises(ConfigurationError, match="TLS cannot be prepared: No such") as caught:
        bench.open("https://127.0.0.1:9").call("dates")
    assert f"{variable}={place}" in caught.value.remedy


MORE = sized(b'{"events": [{"event_id": "1"}], "has_more": true}')

BEGIN = """
import asyncio, os, signal, sys
from adanalytics_client import AsyncClient, Client, ConfigurationError, QuotaPolicy

def in_child(work):
    if (child := os.fork()) == 0:
        signal.alarm(20)
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

options = {"api_key": "k", "partner": "acme", "quota": QuotaPolicy(log="memory")}
"""

SYNC = """
def ask():
    assert len(client.dates()) == 1

def ask_and_close():
    with client:
        ask()

client = Client(sys.argv[1], **options)
ask()
driver = client.connection.driver
locks = [driver._atomic, driver._exclusive, driver._lock]
for lock in locks:
    lock.acquire()
in_child(ask_and_close)
for lock in locks:
    lock.release()
ask()
client.close()
in_child(lambda: refused(ask))
"""

BEGUN = """
client = Client(sys.argv[1], **options)
rows = client.events("2026-01-15", concurrency=1).rows()
next(rows)
in_child(lambda: refused(lambda: list(rows)))
"""

ASYNC = """
loop = asyncio.new_event_loop()

def ask():
    assert len(loop.run_until_complete(client.dates())) == 1

def refused_and_close():
    refused(ask)
    loop.run_until_complete(client.close())

client = AsyncClient(sys.argv[1], **options)
ask()
in_child(refused_and_close)
ask()
loop.run_until_complete(client.close())
loop.close()
"""

PART = """
from contextlib import closing
from pathlib import Path
from adanalytics_client import DownloadError
from adanalytics_client._exports.part import PartialFile

def let_go():
    part.remove()
    part.close()

part = PartialFile(Path(sys.argv[1]))
in_child(let_go)
try:
    PartialFile(Path(sys.argv[1]))
except DownloadError:
    pass
else:
    raise AssertionError
over, end = os.pipe()
if (child := os.fork()) == 0:
    signal.alarm(20)
    os.read(over, 1)
    os._exit(0)
part.close()
with closing(PartialFile(Path(sys.argv[1]))):
    os.write(end, b".")
assert os.waitpid(child, 0)[1] == 0
"""

REFUSED = """
def refused(work):
    try:
        work()
    except ConfigurationError:
        return
    raise AssertionError
"""


def run(program: str, url: str, **environment: str) -> None:
    """Run a program of its own: it has no other threads, which a fork would leave behind."""
    command = [sys.executable, "-W", "error", "-c", BEGIN + REFUSED + program, url]
    done = run_program(command, env={**os.environ, **environment})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("proxied", [False, True])
def test_a_child_has_connections_and_locks_of_its_own(
    wire: Callable[..., Wire], *, proxied: bool
) -> None:
    """Its parent's connection is good for another request after the child has closed the client."""
    server = wire([DATES, DATES], [DATES])
    if proxied:
        run(SYNC, "http://stats.example", http_proxy=server.url)
    else:
        run(SYNC, server.url)
    assert [len(heads) for heads in server.heads] == [2, 1]


def test_events_that_were_begun_before_a_fork_are_refused_in_the_child(
    wire: Callable[..., Wire],
) -> None:
    run(BEGUN, wire([MORE] * 20, [MORE] * 20).url)


def test_a_child_leaves_the_connections_of_tasks_alone(wire: Callable[..., Wire]) -> None:
    server = wire([DATES, DATES], [DATES])
    run(ASYNC, server.url)
    assert [len(heads) for heads in server.heads] == [2]


def test_a_child_neither_ends_nor_keeps_the_lock_of_a_download(tmp_path: Path) -> None:
    run(PART, str(tmp_path / "out.csv"))
