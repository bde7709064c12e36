"""Answers that no HTTP library would send, byte by byte: both variants make the same of them."""

import gzip
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
from tests.client.bench import Bench
from tests.client.one_export import CSV, FILE, OneExport
from tests.client.stand_in import Say
from tests.client.variants import BOTH_LIBRARIES, OpenVariant

from adanalytics_client import RetryPolicy, errors

BODY = b'{"dates":["2026-01-15"]}'
PACKED = gzip.compress(BODY, mtime=0)
RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"
DAYS = [date(2026, 1, 15)]
TRANSPORT, PROTOCOL = errors.TransportError, errors.ProtocolError


def head(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join([status, *lines, b"", b""])


def sized(body: bytes, *lines: bytes) -> bytes:
    return head(b"Content-Length: %d" % len(body), *lines) + body


def chunks(*pieces: bytes, end: bytes = b"0\r\n\r\n", extension: bytes = b"") -> bytes:
    made = b"".join(b"%x%b\r\n%b\r\n" % (len(each), extension, each) for each in pieces)
    return made + end


CHUNKED = head(b"Transfer-Encoding: chunked")
GOOD = sized(BODY)
CLOSES = "closes"
RESETS = "resets"
STAYS = "stays"
GOES_ON = "goes on"
DRIPPING = b"<dripping>"

# What is sent, what the server does then, and what the client makes of it.
CASES: dict[str, tuple[bytes, str, type[errors.AdAnalyticsError] | None]] = {
    "chunks": (CHUNKED + chunks(BODY[:5], BODY[5:]), STAYS, None),
    "chunks with extensions": (CHUNKED + chunks(BODY, extension=b";a=b"), STAYS, None),
    "trailers": (CHUNKED + chunks(BODY, end=b"0\r\nX-Sum: 1\r\n\r\n"), STAYS, None),
    "no last chunk": (CHUNKED + chunks(BODY, end=b""), CLOSES, TRANSPORT),
    "half a last chunk": (CHUNKED + chunks(BODY, end=b"0"), CLOSES, TRANSPORT),
    "no end of the last chunk": (CHUNKED + chunks(BODY, end=b"0\r\n"), CLOSES, TRANSPORT),
    "no size of a chunk": (CHUNKED + b"zz\r\n", CLOSES, TRANSPORT),
    "a size below zero": (CHUNKED + b"-5\r\nabcde\r\n", CLOSES, TRANSPORT),
    "a chunk that goes on": (CHUNKED + b"5\r\nabcdeXX0\r\n\r\n", CLOSES, TRANSPORT),
    "less than announced": (head(b"Content-Length: 99") + BODY, CLOSES, TRANSPORT),
    "less, and a reset": (head(b"Content-Length: 99") + BODY, RESETS, TRANSPORT),
    # Without the header httpcore may take the connection again, and fail before it is heard.
    "more than announced": (
        head(b"Content-Length: 5", b"Connection: close") + BODY,
        CLOSES,
        PROTOCOL,
    ),
    "a length twice": (sized(BODY, b"Content-Length: 24"), STAYS, None),
    "two lengths": (sized(BODY, b"Content-Length: 3"), STAYS, TRANSPORT),
    "a length that is none": (head(b"Content-Length: +24") + BODY, STAYS, TRANSPORT),
    "a length and chunks": (
        head(b"Content-Length: 5", b"Transfer-Encoding: chunked") + chunks(BODY),
        STAYS,
        None,
    ),
    "another transfer encoding": (head(b"Transfer-Encoding: gzip") + PACKED, CLOSES, TRANSPORT),
    "neither length nor chunks": (head() + BODY, CLOSES, None),
    "an old version": (head(status=b"HTTP/1.0 200 OK") + BODY, CLOSES, None),
    "an end that was announced": (sized(BODY, b"Connection: close"), CLOSES, None),
    "an end that is not kept": (sized(BODY, b"Connection: close"), STAYS, None),
    "an end that was not announced": (GOOD, CLOSES, None),
    "an early hint": (head(b"Link: </a>", status=b"HTTP/1.1 103 Early Hints") + GOOD, STAYS, None),
    "no reason": (head(b"Content-Length: 24", status=b"HTTP/1.1 200") + BODY, STAYS, None),
    "a folded header": (sized(BODY, b"X-A: b", b" c"), STAYS, None),
    "bytes in a header": (sized(BODY, b"X-A: \xff\xfe"), STAYS, None),
    "a zero in a header": (sized(BODY, b"X-A: \x00"), STAYS, TRANSPORT),
    "a header without a colon": (sized(BODY, b"junk"), STAYS, TRANSPORT),
    "many headers": (sized(BODY, *(b"X-%d: a" % each for each in range(3000))), STAYS, None),
    "a header without end": (sized(BODY, b"X-A: " + b"a" * 200_000), STAYS, TRANSPORT),
    "no status": (head(status=b"HTTP/1.1 20 X"), CLOSES, TRANSPORT),
    "a status below 100": (head(status=b"HTTP/1.1 099 X"), CLOSES, TRANSPORT),
    "another protocol": (head(status=b"HTTP/1.1 101 Switching"), CLOSES, TRANSPORT),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", CLOSES, TRANSPORT),
    "no HTTP, and an empty line": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", CLOSES, TRANSPORT),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", CLOSES, TRANSPORT),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", CLOSES, TRANSPORT),
    "nothing": (b"", CLOSES, TRANSPORT),
    "a reset": (b"", RESETS, TRANSPORT),
    "gzip": (sized(PACKED, b"Content-Encoding: gzip"), STAYS, None),
    "gzip without its end": (sized(PACKED[:-3], b"Content-Encoding: gzip"), STAYS, TRANSPORT),
    "an encoding not asked for": (sized(BODY, b"Content-Encoding: br"), STAYS, PROTOCOL),
    "bytes behind the answer": (GOOD + b"JUNK", STAYS, None),
}


@dataclass
class Raw:
    """Sends the bytes of `answers` one after the other, the last one again and again."""

    answers: list[tuple[bytes, str]]
    requests: int = 0
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while self._asked(connection):
                sent, then = self.answers[min(self.requests, len(self.answers) - 1)]
                self.requests += 1
                begin, dripping, end = sent.partition(DRIPPING)
                connection.sendall(begin)
                if dripping:
                    drip(connection)
                    connection.sendall(end)
                while then == GOES_ON:
                    connection.sendall(sent)
                if then == RESETS:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                if then != STAYS:
                    return

    @staticmethod
    def _asked(connection: socket.socket) -> bool:
        """Whether another request came; none of them has a body."""
        found = b""
        while not found.endswith(b"\r\n\r\n"):
            piece = connection.recv(65_536)
            if not piece:
                return False
            found += piece
        return True


@pytest.fixture
def raw() -> Iterator[Raw]:
    server = Raw([])
    threading.Thread(target=server.serve, daemon=True).start()
    yield server
    # Closing alone would not wake the thread that accepts.
    with suppress(OSError):
        server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()


@BOTH_LIBRARIES
@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_it(raw: Raw, open_variant: OpenVariant, name: str) -> None:
    sent, then, error = CASES[name]
    attempts = 1 if error is None else 3
    raw.answers = [(sent, then)] * attempts + [(GOOD, STAYS)]
    variant = open_variant(raw.url)
    if error is None:
        assert variant.call("dates") == DAYS
    else:
        with pytest.raises(error) as caught:
            variant.call("dates")
        assert type(caught.value) is error
        assert caught.value.attempts == attempts
    assert raw.requests == attempts
    assert variant.call("dates") == DAYS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no HTTP, and an empty line", "valid HTTP: illegal status line. Check the address"),
        ("a header without end", "valid HTTP: Receive buffer too long. Check"),
        ("two lengths", "valid HTTP: conflicting Content-Length headers. Check"),
        ("a zero in a header", "valid HTTP: illegal header line. Check"),
        ("no size of a chunk", "was cut short: illegal chunk header. Try later"),
        ("nothing", "broke before an answer came"),
        ("half a head", "broke before an answer came"),
    ],
)
def test_the_error_says_what_is_wrong_without_the_answer(
    raw: Raw, open_variant: OpenVariant, name: str, message: str
) -> None:
    raw.answers = [CASES[name][:2]]
    variant = open_variant(raw.url, retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.TransportError) as caught:
        variant.call("dates")
    assert message in str(caught.value)
    assert "bytearray" not in str(caught.value)
    assert "SSH" not in str(caught.value)


def drip(connection: socket.socket) -> None:
    """Say a byte now and then until the other side is gone; after eight seconds go on."""
    for _ in range(400):
        if select.select([connection], [], [], 0.02)[0]:
            return
        connection.sendall(b"a")


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"18;a" + DRIPPING + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
        CHUNKED + b"18\r\n" + BODY + b"\r\n0\r\nX: a" + DRIPPING + b"\r\n\r\n",
        sized(BODY, b"X: a" + DRIPPING),
    ],
    ids=["size of a chunk", "trailers", "head"],
)
def test_an_answer_that_drips_is_given_up_in_time(
    raw: Raw, open_variant: OpenVariant, answer: bytes
) -> None:
    """Also where none of what comes is a byte of the body."""
    raw.answers = [(answer, CLOSES)]
    variant = open_variant(raw.url, retry=RetryPolicy(attempts=1, budget=1.0))
    with pytest.raises(errors.RequestTimeout):
        variant.call("dates")


def test_the_head_of_a_file_may_not_drip(raw: Raw, bench: Bench, tmp_path: Path) -> None:
    """The file itself may take as long as it takes."""
    raw.answers = [(sized(b"a,b\r\n", b"X: a" + DRIPPING), CLOSES)]
    bench.says(Say({"status": "done", "download_url": f"{raw.url}/f.csv"}))
    variant = bench.open(timeout=0.3, retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.RequestTimeout):
        variant.call("export", "2026-01-15", to=tmp_path / "f.csv")


def test_a_head_without_end_is_given_up_in_time(raw: Raw, open_variant: OpenVariant) -> None:
    """However steadily it comes: the deadline is of the whole request."""
    raw.answers = [(head(status=b"HTTP/1.1 103 Early Hints"), GOES_ON), (GOOD, STAYS)]
    variant = open_variant(raw.url, retry=RetryPolicy(attempts=1, budget=1.0))
    with pytest.raises(errors.RequestTimeout):
        variant.call("dates")
    assert variant.call("dates") == DAYS


GZIP = {"Content-Encoding": "gzip"}
LISTED = Say({"dates": ["2026-01-15"]})


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("status", "error", "requests"),
    [
        (200, errors.ProtocolError, 3),
        (204, errors.ProtocolError, 1),
        (401, errors.AuthenticationError, 1),
        (404, errors.NotFound, 1),
        # It asks again until the second full hour, within max_wait.
        (429, errors.RateLimited, 16),
        (503, errors.ServerError, 3),
    ],
)
def test_an_error_is_a_typed_one(
    bench: Bench, status: int, error: type[errors.AdAnalyticsError], requests: int, chunked: bool
) -> None:
    bench.says(Say(status=status, headers=GZIP, chunked=chunked and status != 204))
    with pytest.raises(error) as caught:
        bench.call("dates")
    assert type(caught.value) is error
    assert len(bench.asked) == requests


@pytest.mark.parametrize("status", [302, 429, 503])
def test_the_next_request_is_sent(bench: Bench, status: int) -> None:
    headers = {**GZIP, "Location": "/there"} if status == 302 else GZIP
    bench.says(Say(status=status, headers=headers), LISTED)
    assert bench.call("dates") == [date(2026, 1, 15)]


def test_an_order_is_accepted(export: OneExport) -> None:
    export.says(
        bulk_export=[Say(status=202, headers={**GZIP, "Location": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
