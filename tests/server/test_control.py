"""The control API: strict, for no browser of another origin; a reset undoes all that it did."""

import asyncio
import sqlite3
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import httpx
import pytest
from tests.server.records import make_record

from adanalytics_server import admin
from adanalytics_server.accounts.credentials import TOKEN_LIFETIME
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.api.routes import OPERATIONS, operation_of
from adanalytics_server.app import create_app
from adanalytics_server.clock import Clock
from adanalytics_server.context import Context
from adanalytics_server.control.files import CannotRestore
from adanalytics_server.faults import CONTROL_PREFIX, Journal
from adanalytics_server.faults.journal import MOST_ENTRIES
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.serving.running import ServerThread
from adanalytics_server.settings import Settings
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.store import PartnerStore

DATES = "/api/partners/acme/ad-analytics/dates"
EVERY = [
    ("POST", "/_control/reset"),
    ("GET", "/_control/clock"),
    ("POST", "/_control/clock"),
    ("GET", "/_control/faults"),
    ("POST", "/_control/faults"),
    ("DELETE", "/_control/faults"),
    ("GET", "/_control/requests"),
    ("DELETE", "/_control/requests"),
]


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[ServerThread]:
    """A server as `serve` starts it, without test controls."""
    thread = ServerThread(create_app(Settings(data=tmp_path)))
    yield thread
    thread.stop()


def test_it_is_not_there_unless_asked_for(plain: ServerThread) -> None:
    with httpx.Client(base_url=plain.url) as http:
        for method, path in EVERY:
            answer = http.request(method, path)
            assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


def test_it_is_not_in_the_openapi_document(tmp_path: Path) -> None:
    plain = create_app(Settings(data=tmp_path)).openapi()
    controlled = create_app(Settings(data=tmp_path, test_controls=True)).openapi()
    assert controlled == plain
    assert not [path for path in plain["paths"] if path.startswith(CONTROL_PREFIX)]


@pytest.mark.parametrize(("method", "path"), EVERY)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_origin_is_refused(
    adanalytics: LocalServer, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = httpx.request(method, adanalytics.url + path, headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error": "Forbidden"})


def control(server: LocalServer, path: str, **body: Any) -> httpx.Response:
    url = f"{server.url}/_control/{path}"
    return httpx.post(url, json=body) if body else httpx.post(url)


def test_the_clock_is_set_moved_stopped_and_started(server: LocalServer, clock: Clock) -> None:
    url = f"{server.url}/_control/clock"
    assert httpx.get(url).json() == {"now": "2026-02-01T00:00:00.000Z", "frozen": True}
    moved = control(server, "clock", now="2026-03-02T01:00:00+01:00", advance=-0.5)
    assert moved.json() == {"now": "2026-03-01T23:59:59.500Z", "frozen": True}
    started = control(server, "clock", freeze=False).json()
    assert (started["frozen"], started["now"][:8]) == (False, moved.json()["now"][:8])
    assert not clock.is_frozen
    stopped = control(server, "clock", freeze=True, now="2030-01-01T00:00:00Z").json()
    assert stopped["frozen"]
    assert httpx.get(url).json() == stopped
    assert stopped["now"].startswith("2030-01-01T00:00:0")


def test_tokens_and_rate_windows_follow_the_clock() -> None:
    with LocalServer(rate_limit=1) as server:
        login = {"email": server.email, "password": server.password}
        token = httpx.post(f"{server.url}/api/auth/login", json=login).json()["token"]

        def get(credential: str) -> int:
            headers = {"Authorization": f"Bearer {credential}"}
            return httpx.get(server.url + DATES, headers=headers).status_code

        assert [get(server.api_key), get(server.api_key), get(token)] == [200, 429, 200]
        control(server, "clock", advance=3_600)
        assert [get(server.api_key), get(token)] == [200, 200]
        control(server, "clock", advance=TOKEN_LIFETIME)
        assert get(token) == 401


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("clock", {"forward": 1}, "forward", "is not a field"),
        ("clock", {"now": "tomorrow"}, "now", "datetime"),
        ("clock", {"now": "2026-01-01"}, "now", "timezone"),
        ("clock", {"now": "2026-01-01T00:00:00"}, "now", "timezone"),
        ("clock", {"advance": "1"}, "advance", "number"),
        ("clock", {"now": 1_767_225_600}, "now", "must be a string"),
        ("clock", {"now": "9999-12-31T00:00:00Z"}, "now", "years 1970 to 9998"),
        ("clock", {"now": "1969-12-31T00:00:00Z", "advance": 1e6}, "now", "years 1970 to 9998"),
        ("clock", {"advance": 1e18}, "advance", "years 1970 to 9998"),
        ("clock", {"now": None}, "body", "needs now, advance or freeze"),
        ("faults", {"faults": []}, "faults", "at least 1"),
        ("faults", {"faults": ["503", "503 onec"]}, "faults.1", "cannot read 'onec'"),
        ("faults", {"faults": [{"effect": "status"}]}, "faults.0", "from 200 to 599"),
        (
            "faults",
            {"faults": [{"effect": "reset", "often": 1}]},
            "faults.0.often",
            "is not a field",
        ),
        ("faults", {"faults": [7]}, "faults.0", "object"),
    ],
)
def test_what_it_cannot_do_is_named(
    adanalytics: LocalServer, path: str, body: dict[str, Any], field: str, message: str
) -> None:
    answer = control(adanalytics, path, **body)
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].startswith(f"{field} ")
    assert message in answer.json()["error"]


def test_faults_are_armed_counted_and_disarmed(adanalytics: LocalServer) -> None:
    url = f"{adanalytics.url}/_control/faults"
    detailed = {"effect": "status", "status": 418, "body": "tea", "operation": "dates", "times": 1}
    armed = httpx.post(url, json={"faults": ["503 once", detailed]}).json()["faults"]
    assert [fault["fault"]["status"] for fault in armed] == [503, 418]
    headers = {"Authorization": f"Bearer {adanalytics.api_key}"}
    found = [httpx.get(adanalytics.url + DATES, headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in found] == [503, 418, 200]
    counts = [(fault["matched"], fault["struck"]) for fault in httpx.get(url).json()["faults"]]
    assert counts == [(3, 1), (2, 1)]
    assert httpx.delete(url).status_code == 204
    assert httpx.get(url).json() == {"faults": []}


def test_faults_do_not_reach_the_controls(adanalytics: LocalServer) -> None:
    adanalytics.faults.add("reset")
    assert control(adanalytics, "reset").status_code == 204
    assert adanalytics.journal.entries() == []


def test_the_journal_tells_what_was_asked_and_keeps_secrets_out(adanalytics: LocalServer) -> None:
    login = {"email": adanalytics.email, "password": adanalytics.password}
    token = httpx.post(f"{adanalytics.url}/api/auth/login", json=login).json()["token"]
    headers = {"Authorization": f"Bearer {adanalytics.api_key}", "Range": "bytes=1-"}
    range_ = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
    url = f"{adanalytics.url}/api/partners/acme/ad-analytics"
    order = {**range_, "format": "csv"}
    job = httpx.post(f"{url}/bulk-export", json=order, headers=headers).json()
    httpx.get(job["download_url"])
    httpx.get(f"{url}/events", params={**range_, "api_key": "a secret"}, headers=headers)
    httpx.get(f"{url}/dates", headers={"Authorization": "Bearer short"})
    httpx.get(f"{url}/dates", headers={"Authorization": f"Bearer {token}"})
    misplaced = {"x": f"a {adanalytics.api_key}", token: "y"}
    agent = {"User-Agent": adanalytics.api_key}
    httpx.get(f"{adanalytics.url}/{adanalytics.api_key}/{token}", params=misplaced, headers=agent)
    answer = httpx.get(f"{adanalytics.url}/_control/requests")
    entries = answer.json()["requests"]
    assert [(entry["number"], entry["operation"], entry["status"]) for entry in entries] == [
        (1, "login", 200),
        (2, "start_export", 200),
        (3, "download", 200),
        (4, "events", 400),
        (5, "dates", 401),
        (6, "dates", 200),
        (7, None, 404),
    ]
    key = adanalytics.api_key[-4:]
    last_four = [None, key, None, key, None, token[-4:], None]
    assert [entry["key"] for entry in entries] == last_four
    assert (entries[6]["path"], entries[6]["query"]) == ("/***/***", [["x", "a ***"], ["***", "y"]])
    assert entries[1]["headers"]["range"] == "bytes=1-"
    assert dict(entries[2]["query"])["signature"] == "***"
    signature = job["download_url"].rpartition("=")[2]
    for secret in (adanalytics.password, adanalytics.api_key, token, signature, "a secret"):
        assert secret not in answer.text
    assert httpx.delete(f"{adanalytics.url}/_control/requests").status_code == 204
    assert adanalytics.journal.entries() == []


def test_a_request_that_fails_inside_is_in_the_journal_as_500(adanalytics: LocalServer) -> None:
    ledger = adanalytics.settings.data / "partners" / "1" / "ledger.db"
    url = f"{adanalytics.url}/api/partners/acme/ad-analytics/dates"
    headers = {"Authorization": f"Bearer {adanalytics.api_key}"}
    with LocalServer() as broken:
        folder = broken.settings.data / "partners" / "1"
        folder.mkdir(parents=True)
        (folder / ledger.name).write_bytes(b"no database" * 500)
        broken_headers = {"Authorization": f"Bearer {broken.api_key}"}
        httpx.get(broken.url + DATES, headers=broken_headers)
        (entry,) = broken.journal.entries()
        assert entry.status == 500
    assert httpx.get(url, headers=headers).status_code == 200


def test_the_journal_forgets_the_oldest(adanalytics: LocalServer) -> None:
    httpx.get(adanalytics.url + DATES)
    (entry,) = adanalytics.journal.entries()
    journal = Journal(adanalytics.clock)
    for _ in range(MOST_ENTRIES + 5):
        journal.add(entry)
    assert len(journal.entries()) == MOST_ENTRIES


def test_every_documented_operation_has_a_name(tmp_path: Path) -> None:
    document = create_app(Settings(data=tmp_path)).openapi()
    named = {
        operation_of(method.upper(), path.format(partner_id="a", export_id="b"))
        for path, operations in document["paths"].items()
        for method in operations
        if path.startswith("/api/")
    }
    assert named | {"download"} == set(OPERATIONS)


API = "/api/partners/acme/ad-analytics"
DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
ORDER = {**DAY, "format": "csv"}
START = 1_769_896_800_000

# Not state: counts of the process for monitoring, which begin with it; open files; and the
# worker's queue, which passes over jobs that are gone.
STATELESS = frozenset({"State", "PartnerStore", "Connection", "Queue"})


@pytest.fixture
def faulty() -> Any:
    with LocalServer(sample=Sample(events_per_day=50), faults=["503 once on dates"]) as running:
        yield running


def contents(data: Path) -> dict[str, Any]:
    """Everything in a data folder as values: rows of databases, bytes of other files."""
    found: dict[str, Any] = {}
    for path in sorted(data.rglob("*")):
        name = str(path.relative_to(data))
        if name.startswith("captures") or path.suffix not in (".db", ".csv", ".jsonl"):
            continue
        if path.suffix != ".db":
            found[name] = path.read_bytes()
            continue
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            for (table,) in tables.fetchall():
                rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
                found[f"{name}/{table}"] = sorted(map(repr, rows))
    return found


def memory(value: object, seen: set[int]) -> object:
    """Everything that the server's own objects hold in memory, as values."""
    kind = type(value)
    if isinstance(value, (str, bytes, int, float, type(None), Path)):
        return value
    if id(value) in seen or kind.__name__ in STATELESS:
        return kind.__name__
    seen.add(id(value))
    if isinstance(value, (dict, OrderedDict, Counter)):
        return {str(key): memory(item, seen) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, deque, frozenset)):
        return [memory(item, seen) for item in value]
    if isinstance(value, (FunctionType, MethodType)) or not kind.__module__.startswith("adanal"):
        return kind.__name__
    names = [field.name for field in fields(value)] if is_dataclass(value) else vars(value)
    return {name: memory(getattr(value, name), seen) for name in names}


def everything(faulty: LocalServer) -> dict[str, Any]:
    context = faulty._controls.context
    parts = {field.name: getattr(context, field.name) for field in fields(context)}
    parts |= {"faults": faulty.faults, "journal": faulty.journal}
    held = {name: memory(part, set()) for name, part in parts.items()}
    return {**held, **contents(faulty.settings.data)}


def live(faulty: LocalServer) -> None:
    """Change all that can be changed from outside."""
    data = faulty.settings.data
    with httpx.Client(
        base_url=faulty.url, headers={"Authorization": f"Bearer {faulty.api_key}"}
    ) as http:
        http.get(f"{API}/dates")
        job = http.post(f"{API}/bulk-export", json=ORDER).json()
        assert httpx.get(job["download_url"]).status_code == 200
        # Of another account than the one that signs in below, which forgets them.
        wrong = {"email": "nobody@example.com", "password": "a wrong one"}
        assert http.post("/api/auth/login", json=wrong).status_code == 401
        right = {"email": faulty.email, "password": faulty.password}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        http.post("/login", data=right, headers=form)
        faulty.faults.add("500 with probability 0.5", "page drift once per request")
        http.get(f"{API}/events", params=DAY)
    faulty.clock.advance(seconds=90_000)
    faulty.clock.freeze()
    admin.add_partner(data, "globex", name="Globex", currency="EUR")
    admin.add_user(data, "ann@example.com", password="long enough", role="admin")
    admin.create_key(data, "ann@example.com", name="hers")
    admin.delete_key(data, "local server")
    for number in (1, 2):
        store = PartnerStore(data / "partners" / str(number))
        ingest(store, [make_record(START, number), make_record(START + 40 * 86_400_000, 9)])
        store.close()
    with httpx.Client(base_url=faulty.url) as http:
        assert http.get(f"{API}/dates").status_code in {401, 500}


def test_nothing_is_left_after_a_reset(faulty: LocalServer) -> None:
    before = everything(faulty)
    live(faulty)
    after = everything(faulty)
    assert {name for name in before if after[name] != before[name]} >= {
        "clock",
        "faults",
        "journal",
        "sign_ins",
        "state.db/api_keys",
        "state.db/users",
        "state.db/partners",
        "state.db/exports",
        "limits.db/sends",
        "partners/1/ledger.db/rollups",
    }
    faulty.reset()
    found = everything(faulty)
    # A month that was not there has a file now, whose rows nobody can see.
    assert {name for name in found if name not in before} == {"partners/1/2026-03.db/chunks"}
    for name, value in before.items():
        assert found[name] == value, name


def test_after_a_reset_the_server_serves_as_before(faulty: LocalServer) -> None:
    headers = {"Authorization": f"Bearer {faulty.api_key}"}
    with httpx.Client(base_url=faulty.url, headers=headers) as http:
        http.get(f"{API}/dates")
        events = http.get(f"{API}/events", params=DAY).content
        live(faulty)
        faulty.reset()
        assert http.get(f"{API}/dates").status_code == 503
        assert http.get(f"{API}/dates").json() == {"dates": ["2026-01-15"]}
        assert http.get(f"{API}/events", params=DAY).content == events
        # The ids of what was loaded are gone as well: loading it again is no duplicate.
        store = PartnerStore(faulty.settings.data / "partners" / "1")
        assert ingest(store, [make_record(START, 1)]).stored == 1
        store.close()


def test_every_part_of_the_server_has_its_line(faulty: LocalServer) -> None:
    """A new part of the context belongs into the list of resettables, or into this one."""
    resettable = {"clock", "limiter", "sign_ins"}
    in_the_tables = {"accounts", "api_keys", "authenticator", "exports", "sessions"}
    in_files = {"stores", "exports"}
    never_changes = {"settings", "tokens", "signer"}
    parts = {field.name for field in fields(Context)}
    assert parts == resettable | in_the_tables | in_files | never_changes


def test_events_that_were_too_many_to_copy_are_an_error_only_when_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adanalytics_server.control.files.MOST_COPIED_BYTES", 10)
    with LocalServer(sample=Sample(events_per_day=50)) as faulty:
        faulty.reset()
        store = PartnerStore(faulty.settings.data / "partners" / "1")
        ingest(store, [make_record(START, 1)])
        store.close()
        with pytest.raises(CannotRestore, match="restart the server on a fresh folder"):
            faulty.reset()


def test_events_that_could_not_be_copied_are_a_409_when_changed(faulty: LocalServer) -> None:
    folder = faulty.settings.data / "partners" / "1"
    (folder / "2026-02.db").write_bytes(b"no database" * 1000)
    faulty.keep()
    with closing(PartnerStore(folder)) as store:
        ingest(store, [make_record(START, 1)])
    answer = httpx.post(f"{faulty.url}/_control/reset")
    assert (answer.status_code, "a file cannot be read" in answer.text) == (409, True)


@pytest.mark.parametrize("method", ["capture", "restore"])
def test_requests_are_answered_while_the_limiter_reads_its_file(
    faulty: LocalServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    real = getattr(RateLimiter, method)

    def off_the_loop(*values: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return real(*values)

    monkeypatch.setattr(RateLimiter, method, off_the_loop)
    faulty.keep()
    faulty.reset()


def test_resets_from_many_threads_take_turns(faulty: LocalServer) -> None:
    before = everything(faulty)
    threads = [threading.Thread(target=faulty.reset) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert everything(faulty) == before
