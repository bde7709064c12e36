"""Reset: complete, whatever a test did to the server."""

import asyncio
import sqlite3
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import httpx
import pytest

from adanalytics_server import admin
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.context import Context
from adanalytics_server.control.files import CannotRestore
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"
DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
ORDER = {**DAY, "format": "csv"}
START = 1_769_896_800_000
MakeRecord = Callable[..., Record]

# Not state: counts of the process for monitoring, which begin with it; open files; and the
# worker's queue, which passes over jobs that are gone.
STATELESS = frozenset({"State", "PartnerStore", "Connection", "Queue"})


@pytest.fixture
def server() -> Any:
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


def everything(server: LocalServer) -> dict[str, Any]:
    context = server._controls.context
    parts = {field.name: getattr(context, field.name) for field in fields(context)}
    parts |= {"faults": server.faults, "journal": server.journal}
    held = {name: memory(part, set()) for name, part in parts.items()}
    return {**held, **contents(server.settings.data)}


def live(server: LocalServer, make_record: MakeRecord) -> None:
    """Change all that can be changed from outside."""
    data = server.settings.data
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
    ) as http:
        http.get(f"{API}/dates")
        job = http.post(f"{API}/bulk-export", json=ORDER).json()
        assert httpx.get(job["download_url"]).status_code == 200
        # Of another account than the one that signs in below, which forgets them.
        wrong = {"email": "nobody@example.com", "password": "a wrong one"}
        assert http.post("/api/auth/login", json=wrong).status_code == 401
        right = {"email": server.email, "password": server.password}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        http.post("/login", data=right, headers=form)
        server.faults.add("500 with probability 0.5", "page drift once per request")
        http.get(f"{API}/events", params=DAY)
    server.clock.advance(seconds=90_000)
    server.clock.freeze()
    admin.add_partner(data, "globex", name="Globex", currency="EUR")
    admin.add_user(data, "ann@example.com", password="long enough", role="admin")
    admin.create_key(data, "ann@example.com", name="hers")
    admin.delete_key(data, "local server")
    for number in (1, 2):
        store = PartnerStore(data / "partners" / str(number))
        ingest(store, [make_record(START, number), make_record(START + 40 * 86_400_000, 9)])
        store.close()
    with httpx.Client(base_url=server.url) as http:
        assert http.get(f"{API}/dates").status_code in {401, 500}


def test_nothing_is_left_after_a_reset(server: LocalServer, make_record: MakeRecord) -> None:
    before = everything(server)
    live(server, make_record)
    after = everything(server)
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
    server.reset()
    found = everything(server)
    # A month that was not there has a file now, whose rows nobody can see.
    assert {name for name in found if name not in before} == {"partners/1/2026-03.db/chunks"}
    for name, value in before.items():
        assert found[name] == value, name


def test_after_a_reset_the_server_serves_as_before(
    server: LocalServer, make_record: MakeRecord
) -> None:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=server.url, headers=headers) as http:
        http.get(f"{API}/dates")
        events = http.get(f"{API}/events", params=DAY).content
        live(server, make_record)
        server.reset()
        assert http.get(f"{API}/dates").status_code == 503
        assert http.get(f"{API}/dates").json() == {"dates": ["2026-01-15"]}
        assert http.get(f"{API}/events", params=DAY).content == events
        # The ids of what was loaded are gone as well: loading it again is no duplicate.
        store = PartnerStore(server.settings.data / "partners" / "1")
        assert ingest(store, [make_record(START, 1)]).stored == 1
        store.close()


def test_every_part_of_the_server_has_its_line(server: LocalServer) -> None:
    """A new part of the context belongs into the list of resettables, or into this one."""
    resettable = {"clock", "limiter", "sign_ins"}
    in_the_tables = {"accounts", "api_keys", "authenticator", "exports", "sessions"}
    in_files = {"stores", "exports"}
    never_changes = {"settings", "tokens", "signer"}
    parts = {field.name for field in fields(Context)}
    assert parts == resettable | in_the_tables | in_files | never_changes


def test_events_that_were_too_many_to_copy_are_an_error_only_when_changed(
    monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord
) -> None:
    monkeypatch.setattr("adanalytics_server.control.files.MOST_COPIED_BYTES", 10)
    with LocalServer(sample=Sample(events_per_day=50)) as server:
        server.reset()
        store = PartnerStore(server.settings.data / "partners" / "1")
        ingest(store, [make_record(START, 1)])
        store.close()
        with pytest.raises(CannotRestore, match="restart the server on a fresh folder"):
            server.reset()


def test_events_that_could_not_be_copied_are_a_409_when_changed(
    server: LocalServer, make_record: MakeRecord
) -> None:
    folder = server.settings.data / "partners" / "1"
    (folder / "2026-02.db").write_bytes(b"no database" * 1000)
    server.keep()
    with closing(PartnerStore(folder)) as store:
        ingest(store, [make_record(START, 1)])
    answer = httpx.post(f"{server.url}/_control/reset")
    assert (answer.status_code, "a file cannot be read" in answer.text) == (409, True)


@pytest.mark.parametrize("method", ["capture", "restore"])
def test_requests_are_answered_while_the_limiter_reads_its_file(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    real = getattr(RateLimiter, method)

    def off_the_loop(*values: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return real(*values)

    monkeypatch.setattr(RateLimiter, method, off_the_loop)
    server.keep()
    server.reset()


def test_resets_from_many_threads_take_turns(server: LocalServer) -> None:
    before = everything(server)
    threads = [threading.Thread(target=server.reset) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert everything(server) == before
