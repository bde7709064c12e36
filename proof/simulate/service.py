"""The model of the service: pages, totals, restatements, limits, exports, and what goes wrong."""

import hashlib
import json
from base64 import urlsafe_b64encode
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from email.utils import formatdate
from functools import lru_cache, partial
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct

from adanalytics_client._base.effects import (
    Failure,
    FailureKind,
    Reply,
    Request,
    ResponseHead,
    Send,
)
from proof.simulate.driver import Process, Violation, World

BASE, FILES, ELSEWHERE = "https://stats.example", "https://files.example", "https://else.example"
FILE_ENDS = (".csv", ".csv?sig=abc")
KEY, EMAIL, PASSWORD = "key/0123456789abcdef", "ann@stats.example", "password-0123456789"
NOON = 1_768_910_400.0
"""When worlds begin: 2026-01-20, in seconds since 1970."""
FIRST_DAY = date(2026, 1, 15)
HOURS = 2
"""The hours of a day that have events; plans are cut to them, so that a day takes 2 requests."""

HOUR = 3_600.0
DELAYS = (0.05, 0.06, 0.3, 2.0)
LATEST_ARRIVAL = 290.0

HONEST = ("published", "silent", "more", "pages", "header", "smaller", "links")
"""Services that state what is so, each in its own way."""
FILE_FAULTS = (
    *("cut", "early end", "early end", "other bytes", "lost", "503", "no length", "unreachable"),
    "late",
)
FAULTS = (
    *(
        "500",
        "503",
        "html",
        "unreachable",
        "lost",
        "late",
        "cut",
        "429",
        "429 date",
        "429 date",
        "429 bare",
    ),
    *("redirect", "away", "202", "empty body", "403 wait", "echo"),
)
ODD = (
    *("shared ids", "no ids", "warned", "404 end", "204", "null", "404", "cut", "uneven"),
    *("summary page", "dates page"),
)
"""Services that a client has to read right, although they are unusual."""
WRONG = (
    *("cap more", "cap pages", "cap total", "total cap", "no hour", "no page", "no end"),
    *("end excluded", "from zero", "closed hours", "short", "hole", "cache", "truncated"),
    *("status error", "accepted", "growing", "no group"),
)
"""Services that are wrong in one way; a client may fail, but take no wrong rows."""
LISTS = ("published", "dates page", "published", "summary page", "no group")
"""Services that differ in the lists beside events."""
MOST_REQUESTS = 600
"""More requests of one process are a loop."""


class Event(Struct, frozen=True):
    """One event of an hour."""

    day: date
    hour: int
    text: bytes
    number: int
    name: str


@dataclass(slots=True)
class Told:
    """Until when the service asked to send nothing, or to send no such request again."""

    at: float
    until: float
    process: Process
    url: str | None


@dataclass(slots=True)
class Export:
    """An order of a file; `polls` were answered after its end."""

    number: int
    ordered_at: float
    seconds: float
    end: str
    rows: list[Event]
    polls: int = 0


class Response(Struct):
    """A response, before the network has carried it."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = {}
    cut: int | None = None


class Service:
    """One service, with its data and with everything that it has seen.

    Attributes:
        limit: the requests of an hour that it allows; None refuses nothing.
        rolling: whether the hour rolls; else it begins anew on the full hour.
        headers: whether it states what is left.
        counted: the times at which a request counted.
        refused: the times at which one was over the limit.
        states: every version of every hour: since when it was so.
    """

    def __init__(self, world: World, kind: str, *, faults: int, days: int) -> None:
        pick = world.choices
        self.world = world
        self.kind = kind
        self.is_usual = self.kind in HONEST
        self.is_right = self.kind not in WRONG
        self.states_total = self.kind in {"published", "header", "smaller"}
        self.events: dict[bytes, Event] = {}
        self.faults = faults
        self.limit: int | None = None
        self.rolling = False
        self.headers = False
        self.token_life = 10 * HOUR
        self.counted: list[float] = []
        self.refused: list[float] = []
        self.in_flight_at_refusal = 0
        self.struck = 0
        self.restated = 0
        self.restates = 0
        self.restate_way = "late"
        self.reserve: int | None = None
        self.sent: Counter[str] = Counter()
        self.told: list[Told] = []
        self.flying = 0
        self.exports: list[Export] = []
        self.orders: Counter[str] = Counter()
        self.export_style = "status"
        self._tokens: dict[str, float] = {}
        self._cached: dict[str, Response] = {}
        self._stated_since = 0.0
        self._numbers = 0
        self.days = [FIRST_DAY + timedelta(days=at) for at in range(days)]
        self.states: dict[tuple[date, int], list[tuple[float, tuple[Event, ...]]]] = {}
        for day in self.days:
            for hour in range(HOURS):
                events = tuple(self._new(day, hour) for _ in range(pick.of((1, 2, 3, 0, 5))))
                if self.kind == "404" and not self.states:
                    # A service that knows no day at all may not know the partner.
                    events = (self._new(day, hour),)
                self.states[day, hour] = [(0.0, events)]

    # The data.

    def _new(self, day: date, hour: int) -> Event:
        self._numbers += 1
        number = self._numbers
        shown = {"shared ids": number // 2, "no ids": None}.get(self.kind, number)
        name = f'"event_id":"e{shown}",' if shown is not None else ""
        text = (
            f'{{{name}"event_time":"{day}T{hour:02}:{number % 60:02}:00.000Z",'
            f'"event_type":"impression","n":{number},"revenue":"0.{number:09}"}}'
        )
        event = Event(day, hour, text.encode(), number, f"e{shown}")
        self.events[event.text] = event
        return event

    def now_in(self, day: date, hour: int) -> tuple[Event, ...]:
        return self.states[day, hour][-1][1] if (day, hour) in self.states else ()

    def between(self, start: date, end: date, hour: int | None) -> list[Event]:
        hours = range(HOURS) if hour is None else (hour,)
        return [
            event
            for day in self.days
            if start <= day <= end
            for each in hours
            for event in self.now_in(day, each)
        ]

    def restate(self) -> None:
        """Change one hour: events come late, at the end or before others, or go."""
        pick = self.world.choices
        place = (pick.of(self.days), pick.below(HOURS))
        events = [*self.now_in(*place)]
        # Only one way in a world: a page cannot show one event less and another more.
        way = self.restate_way
        if way == "gone" and events:
            events.pop(pick.below(len(events)))
        else:
            at = len(events) if way != "between" else pick.below(len(events) + 1)
            events.insert(at, self._new(*place))
        self.restated += 1
        self.states[place].append((self.world.now, tuple(events)))
        self.world.say(lambda: f"the service restates {place[0]} hour {place[1]}: {way}")

    # The network.

    def send(self, process: Process, send: Send, deliver: Callable[[object], None]) -> None:
        request, world = send.request, self.world
        _check_credential(request)
        self._check_told(process, request)
        self.sent[process.name] += 1
        if self.sent[process.name] > MOST_REQUESTS:
            raise Violation(f"more than {MOST_REQUESTS} requests: a loop without an end")
        pick = world.choices
        menu = FILE_FAULTS if request.url.endswith(FILE_ENDS) else FAULTS
        fault = pick.of(menu) if self.faults and pick.happens(self.faults) else ""
        self.struck += bool(fault)
        there, back = pick.of(DELAYS), 0.05
        if fault == "late":
            there, back = pick.of((25.0, 200.0, LATEST_ARRIVAL)), 0.1
        left = 30.0 if request.timeout is None else request.timeout
        if send.deadline is not None:
            left = min(left, send.deadline - world.monotonic())
        world.say(lambda: f"{process.name} sends {request.method} {_short(request.url)} {fault}")
        self.flying += 1
        sent_at = world.now

        def landed(outcome: object) -> None:
            self.flying -= 1
            if process.alive:
                world.say(lambda: f"{process.name} receives {_shown(outcome)}")
                deliver(outcome)

        if fault == "unreachable":
            failure = Failure(FailureKind.UNREACHABLE, arrived=False)
            world.after(min(there, left), partial(landed, failure))
            return
        in_time = there + back <= left
        if not in_time:
            failure = Failure(FailureKind.TIMEOUT, arrived=True)
            world.after(max(0.0, left), partial(landed, failure))

        def arrive() -> None:
            orders = len(self.exports)
            response = self.respond(request, fault, sent_at)
            self.orders[process.name] += len(self.exports) - orders
            if fault == "lost":
                world.after(back, partial(landed, Failure(FailureKind.BROKEN, arrived=True)))
            elif in_time:
                world.after(back, lambda: landed(self._received(process, send, response)))

        world.after(there, arrive)

    def _received(self, process: Process, send: Send, response: Response) -> object:
        """Hand a response to the client, as both real drivers do."""
        if not process.alive:
            return None
        head = ResponseHead(response.status, response.headers)
        self._tell(process, send.request, head)
        body, sink = response.body, send.sink
        sent = body if response.cut is None else body[: response.cut]
        try:
            accepted = False if sink is None else sink.accept(head)
            if accepted:
                half = len(sent) // 2
                if sent and sink is not None and sink.write(sent[:half]):
                    sink.write(sent[half:])
        except Exception as error:  # noqa: BLE001  # thrown into the operation
            return error
        if response.cut is not None and accepted is not None:
            return Failure(FailureKind.TRUNCATED, arrived=True, head=head)
        return Reply(head, b"" if accepted is not False else bytearray(sent))

    # What it asked to wait for.

    def _tell(self, process: Process, request: Request, head: ResponseHead) -> None:
        text, now = head.get("retry-after"), self.world.now
        if head.get("ratelimit"):
            self._stated_since = now
        if text is None or not request.url.startswith(BASE):
            return
        # A date has whole seconds.
        seconds = float(head.get("x-seconds") or text) - (0.0 if text.isdigit() else 1.0)
        holds = head.status == 429 or (head.status == 403 and "retry-after" in head.headers)
        if "/api/partners/" in request.url:
            url = None if holds else request.url
            self.told.append(Told(now, now + min(seconds, HOUR), process, url))

    def forget(self, process: Process) -> None:
        """A caller may try again at once, after an error of the client."""
        self.told = [each for each in self.told if each.url is None or each.process is not process]

    def _check_told(self, process: Process, request: Request) -> None:
        now = self.world.now
        for each in self.told:
            early = each.at < now < each.until - 1e-3
            same = each.url is None or (each.url == request.url and each.process is process)
            if early and same and request.url.startswith(f"{BASE}/api/partners/"):
                raise Violation(f"sent {each.until - now:.1f} s before the service allows it")

    # The service.

    def respond(self, request: Request, fault: str, sent_at: float) -> Response:
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        stamp = {"date": _http_date(int(self.world.now)), "content-type": "application/json"}
        if parts.path.startswith("/files/"):
            # It hides its files from strangers.
            known = request.credential is not None
            response = self._file(request, fault) if known else _error(404, "Not Found")
        elif origin == FILES:
            response = self._file(request, fault)
        elif origin == ELSEWHERE:
            response = Response(200, b"<html></html>", {"content-type": "text/html"})
        elif parts.path == "/api/auth/login":
            response = self._log_in(request)
        else:
            # What it stated later, the client did not know.
            is_told = self._stated_since <= sent_at
            query = _parameters(parts.query)
            response = self._counted(request, parts.path, query, fault, is_told=is_told)
        return Response(response.status, response.body, stamp | response.headers, response.cut)

    def shows_secret(self, text: str) -> bool:
        """Return whether a text shows a credential, as it is or quoted."""
        secrets = (KEY, quote(KEY, safe=""), PASSWORD, *self._tokens)
        return any(secret in text for secret in secrets)

    def issue(self, number: int) -> str:
        """Return a token of the user, made elsewhere."""
        claims = urlsafe_b64encode(json.dumps({"email": EMAIL, "jti": number}).encode())
        token = f"e30.{claims.decode().rstrip('=')}.0123456789"
        self._tokens[token] = self.world.now + 1_000 * HOUR
        return token

    def _log_in(self, request: Request) -> Response:
        if PASSWORD not in (request.body or b"").decode():
            return _error(401, "Unauthorized")
        token = f"token-{len(self._tokens)}-0123456789"
        self._tokens[token] = self.world.now + self.token_life
        return _json({"token": token, "user": {"id": "1", "email": EMAIL, "role": "viewer"}})

    def _counted(
        self, request: Request, path: str, query: dict[str, str], fault: str, *, is_told: bool
    ) -> Response:
        now = self.world.now
        secret = request.credential.reveal() if request.credential else ""
        if secret != KEY and self._tokens.get(secret, 0.0) < now:
            # A second one may be over before the quota allows the request.
            self.struck += 1
            return _error(401, "Unauthorized")
        since = now - HOUR if self.rolling else now - now % HOUR
        used = len(self.counted) - bisect_right(self.counted, since)
        stated: dict[str, str] = {}
        if self.limit is not None and used >= self.limit:
            if not self.refused:
                self.in_flight_at_refusal = self.flying
            self.refused.append(now)
            return _error(429, "Too Many Requests")
        is_told = is_told and self.reserve is not None and self._stated_since > since
        if is_told and (self.limit or 0) - used <= (self.reserve or 0):
            raise Violation("the reserve is spent")
        self.counted.append(now)
        if self.headers and self.limit is not None:
            reset = int(HOUR - now % HOUR) + 1
            stated = {"ratelimit": f'"hour";r={self.limit - used - 1};t={reset}'}
        if self.restates > self.restated and self.world.choices.happens(20):
            self.restate()
        response = self._faulty(request, fault) or self._route(request, path, query)
        if fault == "cut" and response.body:
            response.cut = self.world.choices.below(len(response.body))
        response.headers = stated | response.headers
        return response

    def _faulty(self, request: Request, fault: str) -> Response | None:
        pick, now = self.world.choices, self.world.now
        wait = pick.of((2, 45, 400)) if fault in {"503", "429", "429 date", "403 wait"} else 0
        asked = {"retry-after": f"{wait}", "x-seconds": f"{wait}"}
        path = urlsplit(request.url).path
        match fault:
            case "500":
                return _error(500, "Internal Server Error")
            case "echo" if request.credential:
                secret = request.credential.reveal()
                return _error(500, pick.of((secret, quote(secret, safe=""))))
            case "503":
                return Response(503, b"", asked)
            case "html":
                return Response(200, b"<html>wait</html>", {"content-type": "text/html"})
            case "429":
                return Response(429, b"{}", asked)
            case "403 wait":
                return Response(403, b"{}", asked)
            case "429 date":
                return Response(429, b"{}", asked | {"retry-after": _http_date(int(now) + wait)})
            case "429 bare":
                self.refused.append(now)
                return _error(429, "Too Many Requests")
            case "redirect":
                return Response(307, b"", {"location": request.url})
            case "away":
                return Response(307, b"", {"location": f"{ELSEWHERE}{path}"})
            case "202" if path.endswith("/events"):
                return _json({"data": [], "meta": {}}, 202)
            case "empty body":
                return Response(204)
        return None

    def _route(self, request: Request, path: str, query: dict[str, str]) -> Response:
        if path.endswith("/dates"):
            return self._dates(query)
        if path.endswith("/bulk-export") and request.method == "POST":
            return self._order(json.loads(request.body or b"{}"))
        if "/bulk-export/" in path:
            return self._status(int(path.rpartition("/")[2]))
        if path.endswith("/summary"):
            return self._summary(query)
        if self.kind == "cache":
            return self._cached.setdefault(path, self._events(query))
        return self._events(query)

    def _dates(self, query: dict[str, str]) -> Response:
        listed = [f"{day}" for day in self.days if self.between(day, day, None)]
        if self.kind == "dates page":
            page = int(query.get("page", "1"))
            meta = {"total": len(listed), "page": page, "per_page": 1}
            return _json({"dates": listed[page - 1 : page], "meta": meta})
        return _json({"dates": listed})

    def _summary(self, query: dict[str, str]) -> Response:
        start, end = (date.fromisoformat(query[name]) for name in ("start_date", "end_date"))
        rows = [
            {"date": f"{day}", **_sums(events)}
            for day in self.days
            if start <= day <= end and (events := self.between(day, day, None))
        ]
        if self.kind == "no group":
            rows = [_sums(self.between(start, end, None))]
        meta = {"total": len(rows), "page": 1, "per_page": 100}
        if self.kind == "summary page":
            page = int(query.get("page", "1"))
            meta |= {"page": page, "per_page": 1}
            rows = rows[page - 1 : page]
        return _json({"data": rows, "meta": meta})

    def _events(self, query: dict[str, str]) -> Response:
        kind = self.kind
        start, end = (date.fromisoformat(query[name]) for name in ("start_date", "end_date"))
        hour = int(query["hour"]) if "hour" in query else None
        page, asked = int(query["page"]), int(query["per_page"])
        if kind == "end excluded":
            end -= timedelta(days=1)
        if kind == "no end":
            end = start
        rows = self.between(start, end, None if kind == "no hour" else hour)
        if kind == "closed hours" and hour is not None:
            following = self.between(start, end, hour + 1)
            rows += following[:1]
        if kind == "growing" and page > 1:
            # Each page looks new, and none says that it is the last.
            events = (self._new(start, 0), *self.now_in(start, 0))
            self.states[start, 0].append((self.world.now, events))
        size = (
            min(asked, 2)
            if kind in {"cap more", "cap pages", "cap total", "smaller", "cut"}
            else asked
        )
        at = 0 if kind in {"no page", "growing"} else (page - (kind != "from zero")) * size
        if kind == "uneven":
            # Every second page has one event.
            at = (page - 1) // 2 * (size + 1) + (page - 1) % 2 * size
        part = rows[at : at + (1 if kind == "uneven" and page % 2 == 0 else size)]
        if kind == "hole" and page == 2:
            part = []
        return self._page(rows, part, at=at, page=page, asked=asked, size=size)

    def _page(
        self, rows: list[Event], part: list[Event], *, at: int, page: int, asked: int, size: int
    ) -> Response:
        kind, total, behind = self.kind, len(rows), page > 1 and not part
        if behind and kind == "404 end":
            return _error(404, "Not Found")
        if not rows and kind in {"204", "null", "404"}:
            return {"204": Response(204), "null": Response(200, b'{"data":null}')}.get(
                kind, _error(404, "Not Found")
            )
        pages = -(-total // asked)
        meta: dict[str, object] = {"total": total, "page": page, "per_page": size}
        headers: dict[str, str] = {}
        beside: dict[str, object] = {}
        match kind:
            case "silent" | "no page" | "growing" | "no ids" | "404 end" | "cache":
                meta = {}
            case "more":
                meta = {"has_more": page * size < total}
            case "links":
                meta = {"next": f"/events?page={page + 1}" if page * size < total else None}
            case "pages":
                meta = {"page": page, "total_pages": pages}
            case "header":
                meta, headers = {}, {"x-total-count": f"{total}"}
            case "cap more":
                meta = {"has_more": page * asked < total}
            case "cut":
                meta["per_page"] = asked
            case "uneven":
                meta = {"has_more": at + len(part) < total}
            case "cap pages":
                meta = {"page": page, "per_page": asked, "total_pages": pages}
            case "cap total":
                meta = {"total": len(part), "page": page, "per_page": asked}
            case "total cap":
                meta["total"] = min(total, 3)
            case "short" if part:
                part = part[:-1]
                beside = {"success": False, "error": "a shard is away"}
            case "truncated" if part:
                part, meta, beside = part[:-1], {}, {"truncated": True}
            case "status error" if part:
                part, meta, beside = part[:-1], {}, {"status": "error"}
            case "warned":
                beside = {"warnings": ["slow"]}
            case "accepted" if part and page == 1:
                return _json({"data": [], "meta": {}}, 202)
        around = "".join(f",{json.dumps(k)}:{json.dumps(v)}" for k, v in beside.items())
        body = b"".join(
            (b'{"data":[', b",".join([event.text for event in part]), b"]", around.encode())
        )
        stated = f',"meta":{json.dumps(meta)}' if meta else ""
        return Response(200, body + stated.encode() + b"}", headers)

    # Exports.

    def _order(self, order: dict[str, str]) -> Response:
        start, end = (date.fromisoformat(order[name]) for name in ("start_date", "end_date"))
        pick = self.world.choices
        export = Export(
            len(self.exports),
            self.world.now,
            pick.of((0.0, 5.0, 90.0, 700.0)),
            pick.of(("completed", "completed", "completed", "failed", "cancelled"))
            if self.faults
            else "completed",
            self.between(start, end, None),
        )
        self.exports.append(export)
        self.struck += export.end != "completed"
        return self._state(export, 200 if not export.seconds else 202)

    def _status(self, number: int) -> Response:
        if number >= len(self.exports):
            return _error(404, "Not Found")
        export = self.exports[number]
        return self._state(export, 200)

    def _state(self, export: Export, status: int) -> Response:
        done = self.world.now >= export.ordered_at + export.seconds
        word = export.end if done else "processing"
        export.polls += done
        body: dict[str, object] = {"export_id": f"{export.number}", "status": word}
        if self.export_style == "job":
            body = {"job_id": export.number, "status": word}
        elif not done:
            body["status_url"] = (
                f"{BASE}/api/partners/acme/ad-analytics/bulk-export/{export.number}"
            )
        if done and export.end == "completed":
            content = self.file_of(export)
            body |= {
                "download_url": f"{FILES}/{export.number}.csv?sig=abc",
                "row_count": len(export.rows),
                "size_bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            if self.export_style == "home":
                body["download_url"] = f"{BASE}/files/{export.number}.csv"
            if self.export_style == "bare":
                del body["size_bytes"], body["sha256"]
            if self.export_style == "rows":
                del body["size_bytes"], body["sha256"], body["row_count"]
        return _json(body, status)

    def file_of(self, export: Export) -> bytes:
        rows = [f"{event.name},{event.day},{event.hour},{event.number}" for event in export.rows]
        return "".join(
            f"{line}\r\n" for line in ("event_id,event_date,event_hour,n", *rows)
        ).encode()

    def _file(self, request: Request, fault: str) -> Response:
        name = urlsplit(request.url).path.rpartition("/")[2]
        number = int(name.removesuffix(".csv"))
        content = self.file_of(self.exports[number])
        pick = self.world.choices
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"content-type": "text/csv", "etag": etag}
        wanted = dict(request.headers)
        if fault == "503":
            return _error(503, "Slow down")
        at, status = 0, 200
        if "range" in wanted:
            at = int(wanted["range"].removeprefix("bytes=").partition("-")[0])
            if at >= len(content):
                return Response(416, b"", {"content-range": f"bytes */{len(content)}"})
            if fault == "other bytes":
                # Other bytes under the same name.
                content = content[:-4] + b"9" + content[-3:]
                headers["etag"] = '"another"'
            headers["content-range"] = f"bytes {at}-{len(content) - 1}/{len(content)}"
            status = 206
        elif fault == "other bytes" and self.export_style in {"status", "job", "home"}:
            # Only a checksum tells.
            content = content.replace(b"e1,", b"e7,", 1)
        body = content[at:]
        if fault == "early end":
            # A proxy says that this is all. Where neither size nor checksum is stated, a cut in the
            # last field looks like a last line without an end, which the client logs.
            whole_lines = self.export_style in {"bare", "rows"}
            if whole_lines:
                # Only the count tells: if it failed, that would be logged, and the file stay.
                self.faults = 0
            end = body.rfind(b"\n", 0, -1) + 1 if whole_lines else pick.below(len(body))
            body = body[: end or len(body)]
        if fault != "no length":
            headers["content-length"] = f"{len(body)}"
        cut = pick.below(len(body)) if fault in {"cut", "lost"} and body else None
        return Response(status, body, headers, cut)


def _sums(events: list[Event]) -> dict[str, object]:
    """Return the figures of a summary."""
    nanos = sum(event.number for event in events)
    return {
        "requests": 0,
        "impressions": len(events),
        "revenue": f"{nanos // 10**9}.{nanos % 10**9:09}",
    }


def _json(content: object, status: int = 200) -> Response:
    return Response(status, json.dumps(content).encode())


def _error(status: int, text: str) -> Response:
    return _json({"error": text}, status)


@lru_cache(maxsize=4096)
def _parameters(query: str) -> dict[str, str]:
    return dict(parse_qsl(query))


@lru_cache(maxsize=4096)
def _http_date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _check_credential(request: Request) -> None:
    """No credential leaves its origin, in a header, an address or a body."""
    home = request.url.startswith(f"{BASE}/")
    body = (request.body or b"").decode()
    if request.credential is not None and not home:
        raise Violation(f"the credential goes to {urlsplit(request.url).netloc}")
    if KEY in request.url or KEY in body or PASSWORD in request.url:
        raise Violation("a credential stands in an address or a body")
    if PASSWORD in body and not request.url.startswith(f"{BASE}/api/auth/login"):
        raise Violation(f"the password goes to {_short(request.url)}")


def _short(url: str) -> str:
    return url.removeprefix(f"{BASE}/api/partners/acme/ad-analytics")


def _shown(outcome: object) -> str:
    if isinstance(outcome, Reply):
        return f"{outcome.status} {bytes(outcome.body[:60]).decode(errors='replace')}"
    return outcome.kind.value if isinstance(outcome, Failure) else repr(outcome)
