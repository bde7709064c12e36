"""The bodies of one day's pages, read by the client and by the simplest programs."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import httpx

from adanalytics_client import Client, EventQuery

try:
    import orjson
    import requests
except ImportError as missing:
    sys.exit(f"The peers of this benchmark are not installed ({missing}). Run make bench.")

DAY = date(2026, 1, 15)
PAGE = 10_000
EVENTS_PATH = "/api/partners/acme/ad-analytics/events"
RANGE = {"start_date": DAY.isoformat(), "end_date": DAY.isoformat()}


class Bench:
    """One day of events, pulled in pages of 10,000 as one query, and by the peers."""

    def __init__(self, url: str, key: str, folder: Path, events: int) -> None:
        self.url = url
        self.key = key
        self.headers = {"Authorization": f"Bearer {key}"}
        # Both clients are open before anything is measured.
        self.bare = httpx.Client(headers=self.headers, timeout=60)
        self.client = Client(url, api_key=key, partner="acme", limit=None)
        self.folder = folder
        self.pages = -(-events // PAGE)
        self.bodies = list(self.stream(PAGE))

    def query(self) -> EventQuery:
        return self.client.events(DAY, split="none")

    def stream(self, per_page: int) -> Iterator[bytes]:
        """Give the bodies of all pages from bare httpx."""
        pages = self.pages * PAGE // per_page
        with httpx.Client(headers=self.headers, timeout=60) as http:
            for page in range(1, pages + 1):
                query = {**RANGE, "page": str(page), "per_page": str(per_page)}
                with http.stream("GET", self.url + EVENTS_PATH, params=query) as answer:
                    yield b"".join(answer.iter_raw())

    def answers(self) -> Iterator[httpx.Response]:
        """Give all pages as open answers."""
        for page in range(1, self.pages + 1):
            query = {**RANGE, "page": str(page), "per_page": str(PAGE)}
            with self.bare.stream("GET", self.url + EVENTS_PATH, params=query) as answer:
                yield answer

    def read_only(self) -> None:
        """Discard every piece, which is the cheapest way to read."""
        for answer in self.answers():
            for _ in answer.iter_raw():
                pass

    def read_whole(self) -> None:
        """Read each body in one piece, as `answer.read()` does."""
        for answer in self.answers():
            answer.read()

    def read_hourly(self) -> None:
        """Read the body of each hour in one piece."""
        for hour in range(24):
            query: dict[str, str | int] = {**RANGE, "hour": hour, "per_page": PAGE}
            self.bare.get(self.url + EVENTS_PATH, params=query)

    def save(self) -> Path:
        """Write the bodies to a file unchanged, and sync it."""
        path = self.folder / "peer.json"
        with path.open("wb") as file:
            for answer in self.answers():
                for piece in answer.iter_bytes():
                    file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        return path

    def save_raw(self) -> Path:
        """Do the same with only a socket and a file, which is the cheapest way to write a file."""
        path, buffer = self.folder / "raw.json", bytearray(256 * 1024)
        address = httpx.URL(self.url)
        with (
            socket.create_connection((address.host, address.port or 80)) as connection,
            path.open("wb", buffering=0) as file,
        ):
            for page in range(1, self.pages + 1):
                query = httpx.QueryParams({**RANGE, "page": str(page), "per_page": str(PAGE)})
                lines = [f"GET {EVENTS_PATH}?{query} HTTP/1.1", f"Host: {address.host}"]
                lines += [f"Authorization: Bearer {self.key}", "", ""]
                connection.sendall("\r\n".join(lines).encode())
                head, _, body = connection.recv(4096).partition(b"\r\n\r\n")
                left = int(head.lower().partition(b"content-length: ")[2].split()[0]) - len(body)
                file.write(body)
                while left:
                    received = connection.recv_into(buffer, min(left, len(buffer)))
                    file.write(memoryview(buffer)[:received])
                    left -= received
            os.fsync(file.fileno())
        return path

    def save_with_requests(self) -> Path:
        """Run the loop that most programs begin with: a dict and a line for each event."""
        path = self.folder / "peer.jsonl"
        with requests.Session() as session, path.open("w") as file:
            session.headers.update(self.headers)
            for page in range(1, self.pages + 1):
                query = {**RANGE, "page": str(page), "per_page": str(PAGE)}
                answer = session.get(self.url + EVENTS_PATH, params=query, timeout=60)
                file.writelines(json.dumps(row) + "\n" for row in answer.json()["events"])
        return path

    def save_with_orjson(self) -> Path:
        """Pull each hour separately in four threads, with the fastest decoder."""

        def lines(hour: int) -> bytes:
            query: dict[str, str | int] = {**RANGE, "hour": hour, "per_page": PAGE}
            answer = self.bare.get(self.url + EVENTS_PATH, params=query)
            return b"".join(
                orjson.dumps(row) + b"\n" for row in orjson.loads(answer.content)["events"]
            )

        path = self.folder / "peer.jsonl"
        with ThreadPoolExecutor(4) as pool, path.open("wb") as file:
            file.writelines(pool.map(lines, range(24)))
        return path

    def write_hourly(self) -> Path:
        """Pull the same hours with the client and as many requests in flight."""
        path = self.folder / "x.jsonl"
        self.client.events(DAY, concurrency=4).write(path)
        return path

    def arrays(self) -> list[bytes]:
        """Return the JSON text of each page's list."""
        return [body[body.index(b"[") : body.rindex(b"]", 0, -60) + 1] for body in self.bodies]

    def write(self, name: str) -> Path:
        path = self.folder / name
        self.query().write(path)
        return path
