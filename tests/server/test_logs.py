"""The log, one line a request and nothing secret, and the request limit, exact in each hour."""

import asyncio
import io
import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server import admin
from adanalytics_server.accounts import sessions
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.logs import JsonFormatter, TextFormatter, set_up_logs

API = "/api/partners/acme/ad-analytics"
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}
REQUESTS = "adanalytics_server.request_log"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What a server that was set up to log as JSON writes, at DEBUG; undone afterwards."""
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn.error")
    before = root.handlers, root.level, uvicorn.level
    written = io.StringIO()
    set_up_logs("json", level=logging.DEBUG, stream=written)
    yield written
    root.handlers = before[0]
    root.setLevel(before[1])
    uvicorn.setLevel(before[2])


Entries = Callable[[], list[dict[str, object]]]


@pytest.fixture
def entries(log: io.StringIO, http: httpx.Client) -> Entries:
    """A function that reads the lines of this client's requests, once all must be written.

    A line follows the last byte of its answer, but comes before the connection's next request.
    Servers of earlier tests in this process may still write theirs: a request id tells them apart.
    """
    sent: list[str] = []
    http.event_hooks["response"].append(lambda answer: sent.append(answer.headers["x-request-id"]))

    def read() -> list[dict[str, object]]:
        ours = list(sent)
        http.get("/livez")
        lines = [json.loads(line) for line in log.getvalue().splitlines()]
        return [line for line in lines if line["logger"] == REQUESTS and line["request_id"] in ours]

    return read


def test_a_request_is_one_line_with_all_that_was_done(entries: Entries, http: httpx.Client) -> None:
    answer = http.get(f"{API}/dates")
    (entry,) = entries()
    assert isinstance(entry.pop("ms"), float)
    assert str(entry.pop("time")).endswith("Z")
    assert str(entry.pop("message")).startswith(f"GET {API}/dates 200 ")
    assert entry == {
        "level": "info",
        "logger": REQUESTS,
        "method": "GET",
        "path": f"{API}/dates",
        "status": 200,
        "bytes": len(answer.content),
        "credential": "key:1",
        "request_id": answer.headers["x-request-id"],
    }


def test_who_asked_stands_there_by_number(
    entries: Entries, server: LocalServer, http: httpx.Client
) -> None:
    body = {"email": server.email, "password": server.password}
    token = http.post("/api/auth/login", json=body).json()["token"]
    http.get(f"{API}/dates", headers={"Authorization": f"Bearer {token}"})
    http.get(f"{API}/dates", headers={"Authorization": "Bearer aak_wrong"})
    assert [(entry["status"], entry["credential"]) for entry in entries()] == [
        (200, None),
        (200, "user:1"),
        (401, None),
    ]


@pytest.mark.parametrize(
    ("sent", "logged"),
    [
        (f"{API}/dates?start_date=2026-01-01", f"{API}/dates?start_date=2026-01-01"),
        (f"{API}/dates?aak_key&hour=1&key=aak_key", f"{API}/dates?...&hour=1&..."),
        ("/exports/1?expires=17&signature=0f0f", "/exports/1?expires=17&..."),
        ("/no%0Awhere?hour=%0A", "/no%0Awhere?hour=%0A"),
        ("/aak_key/dates", "/.../dates"),
        (f"/{'a' * 5000}", f"/{'a' * 499}..."),
    ],
)
def test_an_address_is_logged_without_what_may_be_secret(
    entries: Entries, http: httpx.Client, sent: str, logged: str
) -> None:
    http.get(sent)
    assert [entry["path"] for entry in entries()] == [logged]


def test_no_secret_reaches_the_log_at_any_level(log: io.StringIO) -> None:
    """Sign in, make a key, order, download, fail: at DEBUG, with the libraries' own loggers."""
    with LocalServer() as server, httpx.Client(base_url=server.url) as http:
        secrets = {server.api_key, server.password, "hunter2-is-wrong"}
        for password in (server.password, "hunter2-is-wrong"):
            body = {"email": server.email, "password": password}
            signed_in = http.post("/api/auth/login", json=body)
            if signed_in.status_code == 200:
                secrets.add(signed_in.json()["token"])
        http.headers["Authorization"] = f"Bearer {server.api_key}"
        job = http.post(f"{API}/bulk-export", json={**RANGE, "format": "csv"}).json()
        secrets.add(job["download_url"].rpartition("signature=")[2])
        http.get(job["status_url"])
        httpx.get(job["download_url"])
        http.get(f"{API}/dates", params={"api_key": server.api_key})
        (server.settings.data / "partners" / "1" / "ledger.db").write_bytes(b"no database" * 500)
        http.get(f"{API}/events", params=RANGE)
        state = (server.settings.data / "state.db").read_bytes()
        wal = (server.settings.data / "state.db-wal").read_bytes()
    assert log.getvalue().count(f'"{REQUESTS}"') >= 7
    ours = "".join(
        line
        for line in log.getvalue().splitlines()
        # The client of this test logs what it sends; the server's log has no say in that.
        if not json.loads(line)["logger"].startswith(("httpx", "httpcore"))
    )
    assert b"$argon2id$" in state + wal
    assert [secret for secret in secrets if secret in ours] == []
    for shape in ("$argon2", "INSERT INTO", "signature=", "aak_"):
        assert shape not in ours


def test_text_is_one_line_whatever_a_message_says() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 1, "a\nb\x1b[2J é", None, None)
    record.created = 1_769_904_000.25
    assert TextFormatter().format(record) == "2026-02-01T00:00:00.250Z INFO a\\nb\\x1b[2J é"


def test_a_traceback_stays_with_its_record() -> None:
    error = ValueError("first\n\x1b[2Jsecond")
    record = logging.LogRecord(
        "x", logging.ERROR, "", 1, "it failed", None, (ValueError, error, None)
    )
    text = TextFormatter().format(record).splitlines()
    assert text[0].endswith(" ERROR it failed")
    assert all(line.startswith("  ") for line in text[1:])
    assert text[-2:] == ["  ValueError: first", "  \\x1b[2Jsecond"]
    assert "second" in json.loads(JsonFormatter().format(record))["trace"]


def full(*_values: object, **_options: object) -> None:
    with closing(sqlite3.connect(":memory:")) as small:
        small.execute("PRAGMA max_page_count = 1")
        small.execute("CREATE TABLE one (a INTEGER)")


def test_a_full_disk_is_one_line(
    log: io.StringIO, server: LocalServer, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is called in the middle of a transaction.
    monkeypatch.setattr(sessions, "_digest", full)
    form = {"email": server.email, "password": server.password}
    answer = http.post("/login", data=form)
    assert answer.status_code == 500
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (failure,) = [line for line in lines if line["level"] == "error"]
    assert answer.headers["x-request-id"] in failure["message"]
    assert "/state.db'; free some space" in failure["message"]
    assert "no room on the disk" in failure["message"]
    assert "trace" not in failure


def test_requests_that_a_shutdown_cancels_leave_no_traceback(log: io.StringIO) -> None:
    uvicorn = logging.getLogger("uvicorn.error")
    for error in (asyncio.CancelledError(), ValueError("a defect")):
        uvicorn.error("Exception in ASGI application", exc_info=error)
    (line,) = log.getvalue().splitlines()
    assert "a defect" in json.loads(line)["trace"]


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.integers(1, 5))
def test_no_sliding_window_holds_more_than_the_limit_and_none_is_wasted(
    pauses: list[int], limit: int
) -> None:
    clock = Clock()
    clock.freeze(datetime(1970, 1, 12, tzinfo=UTC))
    passed: list[int] = []
    with (
        TemporaryDirectory() as folder,
        closing(RateLimiter(Path(folder), clock, is_sliding=True)) as limiter,
    ):
        for pause in pauses:
            clock.advance(seconds=pause / 1000)
            now = clock.milliseconds()
            in_window = sum(now - sent < 3_600_000 for sent in passed)
            allowance = limiter.take("key:1", limit=limit)
            assert allowance.passes == (in_window < limit)
            passed += [now] if allowance.passes else []
            left = limit - sum(now - sent < 3_600_000 for sent in passed)
            assert allowance.remaining == left
            assert limiter.look("key:1", limit=limit).remaining == left


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.integers(1, 5))
def test_each_full_hour_begins_a_count_of_its_own(pauses: list[int], limit: int) -> None:
    clock = Clock()
    clock.freeze(datetime(1970, 1, 12, tzinfo=UTC))
    passed: Counter[int] = Counter()
    with TemporaryDirectory() as folder, closing(RateLimiter(Path(folder), clock)) as limiter:
        for pause in pauses:
            clock.advance(seconds=pause / 1000)
            hour, rest = divmod(clock.milliseconds(), 3_600_000)
            allowance = limiter.take("key:1", limit=limit)
            assert allowance.passes == (passed[hour] < limit)
            passed[hour] += allowance.passes
            assert allowance.remaining == limit - passed[hour]
            assert allowance.seconds == -((rest - 3_600_000) // 1000)


@pytest.fixture(params=[False, True], ids=["hour", "sliding"])
def limiter(tmp_path: Path, clock: Clock, request: pytest.FixtureRequest) -> Iterator[RateLimiter]:
    with closing(RateLimiter(tmp_path, clock, is_sliding=request.param)) as opened:
        yield opened


def test_waiting_as_long_as_it_says_is_enough_and_a_second_less_is_not(
    limiter: RateLimiter, clock: Clock
) -> None:
    limiter.take("key:1", limit=1)
    clock.advance(seconds=0.5)
    seconds = limiter.take("key:1", limit=1).seconds
    clock.advance(seconds=seconds - 1)
    assert not limiter.take("key:1", limit=1).passes
    clock.advance(seconds=1)
    assert limiter.take("key:1", limit=1).passes


def test_the_window_outlives_a_restart(tmp_path: Path, clock: Clock) -> None:
    with closing(RateLimiter(tmp_path, clock)) as before:
        assert [before.take("key:1", limit=2).passes for _ in range(3)] == [True, True, False]
    clock.advance(seconds=3599)
    with closing(RateLimiter(tmp_path, clock)) as after:
        assert not after.take("key:1", limit=2).passes
        clock.advance(seconds=1)
        assert after.take("key:1", limit=2).passes


def test_two_processes_on_one_folder_share_the_window(tmp_path: Path, clock: Clock) -> None:
    with closing(RateLimiter(tmp_path, clock)) as one, closing(RateLimiter(tmp_path, clock)) as two:
        passes = [each.take("key:1", limit=3).passes for each in (one, two, one, two, one)]
    assert passes == [True, True, True, False, False]


@pytest.fixture
def limited(clock: Clock) -> LocalServer:
    return LocalServer(clock=clock, rate_limit=20, dialect="rate-headers")


def test_over_the_limit_the_status_is_all_there_is(clock: Clock) -> None:
    clock.advance(seconds=59 * 60)
    with (
        LocalServer(clock=clock, rate_limit=20) as server,
        httpx.Client(headers={"Authorization": f"Bearer {server.api_key}"}) as http,
    ):
        url = f"{server.url}{API}/dates"
        statuses = [http.get(url).status_code for _ in range(20)]
        refused = http.get(url)
        assert (set(statuses), refused.status_code) == ({200}, 429)
        assert refused.content == b'{"error":"Too Many Requests"}'
        assert not [name for name in refused.headers if "rate" in name or "retry" in name]
        clock.advance(seconds=59)
        assert http.get(url).status_code == 429
        clock.advance(seconds=1)
        assert http.get(url).status_code == 200


def test_the_limit_holds_exactly_under_concurrency(limited: LocalServer) -> None:
    with (
        limited as server,
        httpx.Client(headers={"Authorization": f"Bearer {server.api_key}"}) as http,
        ThreadPoolExecutor(8) as pool,
    ):
        url = f"{server.url}{API}/dates"
        answers = list(pool.map(lambda _: http.get(url), range(30)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 20 + [429] * 10
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json() == {"error": "Too Many Requests"}
    assert refused.headers["retry-after"] == "3600"
    assert refused.headers["ratelimit-policy"] == '"hour";q=20;w=3600'
    assert refused.headers["ratelimit"] == '"hour";r=0;t=3600'
    left = sorted(answer.headers["ratelimit"] for answer in answers if answer.status_code == 200)
    assert len(set(left)) == 20


def test_what_counts_and_what_does_not(limited: LocalServer, clock: Clock) -> None:
    with (
        limited as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):

        def left() -> str:
            return http.get(f"{API}/dates").headers["ratelimit"]

        assert left() == '"hour";r=19;t=3600'
        # Counted: a bad parameter, an unknown partner.
        http.get(f"{API}/events")
        http.get("/api/partners/nowhere/ad-analytics/dates")
        assert left() == '"hour";r=16;t=3600'
        # Not counted: unknown paths, wrong credentials, the health pages, another key.
        http.get("/nowhere")
        httpx.get(f"{server.url}{API}/dates", headers={"Authorization": "Bearer aak_no"})
        http.get("/livez")
        other = admin.create_key(server.settings.data, server.email, name="other")
        answer = http.get(f"{API}/dates", headers={"Authorization": f"Bearer {other}"})
        assert answer.headers["ratelimit"] == '"hour";r=19;t=3600'
        clock.advance(seconds=1800)
        assert left() == '"hour";r=15;t=1800'
        clock.advance(seconds=1800)
        assert left() == '"hour";r=19;t=3600'


def test_logins_of_one_user_share_a_limit_apart_from_its_keys(limited: LocalServer) -> None:
    with limited as server:
        server.add_user("ada@example.com", partners=["acme"])

        def sign_in(email: str) -> dict[str, str]:
            login = {"email": email, "password": server.password}
            token = httpx.post(f"{server.url}/api/auth/login", json=login).json()["token"]
            return {"Authorization": f"Bearer {token}"}

        def get(headers: dict[str, str]) -> str:
            return http.get(f"{server.url}{API}/dates", headers=headers).headers["ratelimit"]

        with httpx.Client() as http:
            found = [get(sign_in(server.email)) for _ in range(2)]
            found += [get(sign_in("ada@example.com"))]
            found += [get({"Authorization": f"Bearer {server.api_key}"})]
    assert [int(text.split("r=")[1].split(";")[0]) for text in found] == [19, 18, 19, 19]
