"""A server on a loopback port that says given bytes, secured or not."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

OK = b"HTTP/1.1 200 OK\r\n"
END = b"\r\n\r\n"


def sized(body: bytes, *headers: bytes) -> bytes:
    lines = [b"Content-Length: %d" % len(body), *headers]
    return OK + b"\r\n".join(lines) + END + body


CHUNKED = OK + b"Transfer-Encoding: chunked" + END + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


class Wire:
    """A server that answers each request on a connection with the next of some bytes.

    Args:
        connections: the answers on each connection, in order; after the last one it is closed.
        context: secures the connections, where there is one.
    """

    def __init__(self, *connections: list[bytes], context: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._script = list(connections)
        self._context = context
        self.heads: list[list[bytes]] = []
        self.closed = threading.Event()
        port = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{port}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            for answers in self._script:
                opened, _ = self._listener.accept()
                heads: list[bytes] = []
                self.heads.append(heads)
                threading.Thread(
                    target=self._answer, args=(opened, answers, heads), daemon=True
                ).start()

    def _answer(self, opened: socket.socket, answers: list[bytes], heads: list[bytes]) -> None:
        with suppress(OSError, EOFError), self._secured(opened) as connection:
            for answer in answers:
                heads.append(self._read(connection))
                connection.sendall(answer)
        self.closed.set()

    def _secured(self, opened: socket.socket) -> socket.socket:
        return self._context.wrap_socket(opened, server_side=True) if self._context else opened

    def _read(self, connection: socket.socket) -> bytes:
        data = b""
        while END not in data:
            data += self._more(connection)
        head, _, body = data.partition(END)
        told = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        size = int(told[0].split(b":")[1]) if told else 0
        while len(body) < size:
            body += self._more(connection)
        return head

    def _more(self, connection: socket.socket) -> bytes:
        if not (data := connection.recv(65_536)):
            raise EOFError
        return data

    def close(self) -> None:
        self._listener.close()


def certified(path: Path) -> Path:
    """A key and a certificate for 127.0.0.1 that it signed itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=20_000))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, nothing = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, nothing)
    path.write_bytes(private + made.public_bytes(pem))
    return path


def served_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
