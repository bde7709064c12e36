"""Another service, written from the public description alone; it shares nothing with the server.

    python foreign_service.py

It prints its address and serves until it is killed. What the description leaves open it fills in
its own way: names, envelopes, page metadata, export states, error bodies. And it is no good
neighbour: it caps pages without a word, compresses in two members, forgets tokens, limits, breaks
off, and shows the page of a proxy now and then, all at fixed intervals. `/truth` tells what it has.
"""

import gzip
import json
import threading
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

DAYS = [date(2026, 1, 31), date(2026, 2, 1)]
PAGE = 25
KEY = "foreign-key-1"
HEADER = ["eventId", "eventTime", "eventType", "revenue"]
MOVED = "Mon, 02 Feb 2026 03:04:05 GMT"


@cache
def events_of(day: date, hour: int) -> list[dict[str, str]]:
    """As texts of JSON values, so that every digit is on the wire."""
    return [
        {
            "eventId": json.dumps(f"{day}-{hour}-{number}"),
            "eventTime": json.dumps(f"{day}T{hour:02}:{number % 60:02}:00Z"),
            "eventType": json.dumps(["impression", "hologram"][number % 2]),
            "revenue": f"0.00450{number:04}",
        }
        for number in range((hour * 13 + day.day) % 60)
    ]


def as_json(event: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in event.items()) + "}"


def every_event(first: date, last: date, hours: range) -> list[dict[str, str]]:
    wanted = [day for day in DAYS if first <= day <= last]
    return [event for day in wanted for hour in hours for event in events_of(day, hour)]


def packed(body: bytes) -> bytes:
    """Two members, which are one body."""
    half = len(body) // 2
    return gzip.compress(body[:half]) + gzip.compress(body[half:])


def exported() -> bytes:
    rows = [
        [str(json.loads(event[name])) for name in HEADER]
        for event in every_event(DAYS[0], DAYS[-1], range(24))
    ]
    for row, event in zip(rows, every_event(DAYS[0], DAYS[-1], range(24)), strict=True):
        row[-1] = event["revenue"]
    return packed("\n".join(",".join(row) for row in [HEADER, *rows]).encode() + b"\n")


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, files: str) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.files = files
        self.lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.tokens: dict[str, int] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as inherited
        """Stay quiet."""

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Api(Handler):
    server: Service

    def count(self, name: str) -> int:
        with self.server.lock:
            self.server.calls[name] += 1
            return self.server.calls[name]

    def chunks(self, text: str, *, whole: bool = True) -> None:
        """Compressed pieces of unequal length; half of them when it breaks off."""
        body = packed(text.encode())
        cuts = [0, len(body) // 7, len(body) // 2, len(body)]
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.foreign+json; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start, end in list(pairwise(cuts))[: None if whole else 2]:
            self.wfile.write(b"%x\r\n%b\r\n" % (end - start, body[start:end]))
        if whole:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def refused(self) -> bool:
        word = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with self.server.lock:
            left = self.server.tokens.get(word, 0)
            if left:
                self.server.tokens[word] = left - 1
        if word != KEY and not left:
            self.say(401, b'{ "error": "Unauthorized" }')
            return True
        return False

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/api/auth/login"):
            if said != {"email": "a@b.example", "password": "pass-word-1"}:
                self.say(401, b'{ "error": "Unauthorized" }')
                return
            token = f"jwt-{self.count('login')}"
            self.server.tokens[token] = 20
            user = {"id": "1", "email": said["email"], "role": "reader"}
            self.say(201, json.dumps({"user": user, "token": token}).encode())
        elif not self.refused():
            days = {"start_date": str(DAYS[0]), "end_date": str(DAYS[-1])}
            assert said == {**days, "format": "csv", "compression": "gzip"}
            job = {"state": "Queued", "job_id": 17, "polling_url": "../../../../jobs/17"}
            self.say(200, json.dumps({"export": job, "status": "ok"}).encode())

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = dict(parse_qsl(asked.query))
        if asked.path == "/truth":
            rows = map(as_json, every_event(DAYS[0], DAYS[-1], range(24)))
            self.say(200, f"[{','.join(rows)}]".encode())
            return
        number = self.count("get")
        if number % 7 == 3:
            page = b"<html><title>Bad gateway</title></html>"
            self.say(502 if number % 2 else 200, page, Content_Type="text/html")
        elif number % 13 == 5:
            self.say(429, b"slow down", Retry_After="1")
        elif not self.refused():
            self.answer(asked.path.rpartition("/")[2], query, whole=number % 11 != 6)

    def answer(self, name: str, query: dict[str, str], *, whole: bool) -> None:
        if name == "dates":
            self.chunks(json.dumps({"dates": [str(day) for day in DAYS]}), whole=whole)
        elif name == "17":
            running = {"state": "In-Progress", "percent": 50}
            done = {"state": "Available", "files": [{"link": self.server.files, "size": "large"}]}
            self.chunks(json.dumps({"job": running if self.count("job") == 1 else done}))
        else:
            hours = range(24)
            if "hour" in query:
                hours = range(int(query["hour"]), int(query["hour"]) + 1)
            days = [date.fromisoformat(query[each]) for each in ("start_date", "end_date")]
            found = every_event(days[0], days[1], hours)
            body = self.page(found, query) if name == "events" else self.sums(found)
            self.chunks(body, whole=whole)

    def page(self, found: list[dict[str, str]], query: dict[str, str]) -> str:
        size = min(int(query["per_page"]), PAGE)
        first = (int(query["page"]) - 1) * size
        rows = ",".join(map(as_json, found[first : first + size]))
        more = json.dumps(first + size < len(found))
        logs = '{"logEntries": 3, "logs": [' + rows + '], "paging": {"hasNext": '
        return '{"result": ' + logs + more + "}}}"

    def sums(self, found: list[dict[str, str]]) -> str:
        total = sum(Decimal(event["revenue"]) for event in found)
        return '{"response": {"values": [{"revenue": ' + str(total) + ', "loudness": 11}]}}'


class Files(Handler):
    """The other origin: signed addresses, no credential, ranges by the date of the last change."""

    server: "FileServer"

    def do_GET(self) -> None:
        content = self.server.content
        if "Authorization" in self.headers or "Cookie" in self.headers:
            self.say(400, b"<Error><Code>InvalidArgument</Code></Error>")
        elif not self.path.endswith("&X-Signature=a%2Fb"):
            self.say(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        elif self.headers.get("If-Range") == MOVED:
            first = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            place = f"bytes {first}-{len(content) - 1}/{len(content)}"
            self.say(206, content[first:], Content_Range=place)
        else:
            self.send_response(200)
            self.send_header("Last-Modified", MOVED)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 3])
            self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:  # noqa: ARG002  # as inherited
        """An hour after the last change, for the header Date."""
        sent = datetime(2026, 2, 2, 3, 4, 5, tzinfo=UTC) + timedelta(hours=1)
        return sent.strftime("%a, %d %b %Y %H:%M:%S GMT")


class FileServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Files)
        self.content = exported()


def main() -> None:
    store = FileServer()
    files = f"http://127.0.0.1:{store.server_port}/x/../all.csv.gz?b=|&X-Signature=a%2Fb"
    service = Service(files)
    threading.Thread(target=store.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{service.server_port}/prefix/"}), flush=True)
    service.serve_forever()


if __name__ == "__main__":
    main()
