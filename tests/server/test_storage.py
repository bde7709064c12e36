"""What is stored: loads are idempotent and atomic, rows come in chunks, damage is noticed."""

import asyncio
import logging
import os
import resource
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.records import make_record

from adanalytics_server.accounts import ratelimit
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.admin import list_partners
from adanalytics_server.api.summaries import read_dates, read_summary
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.chunks import (
    CHUNK_ROWS,
    append_rows,
    count_rows,
    decode_rows,
    some_rows,
    split_pieces,
    split_rows,
)
from adanalytics_server.storage.damage import DamagedFile, DiskFull
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record, decode_event, encode_event
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import HourReplaced, Span, read_page, read_pieces, read_spans
from adanalytics_server.storage.schema import OtherSchema, prepare
from adanalytics_server.storage.state import State, open_state
from adanalytics_server.storage.store import PartnerStore, first_key

HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z
DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))


def bodies(store: PartnerStore) -> list[bytes]:
    return split_pieces(read_page(store, DAYS, page=1, per_page=10_000).pieces)


def impressions(store: PartnerStore) -> int:
    summary = read_summary(store, DAYS, group_by=None, currency="USD")
    count: int = summary["totals"]["impressions"]
    return count


def test_the_same_load_again_adds_nothing(store: PartnerStore) -> None:
    records = [make_record(START + second, second) for second in range(20)]
    first = ingest(store, records)
    again = ingest(store, records)
    assert (first.stored, first.duplicates, len(first.days)) == (20, 0, 1)
    assert (again.stored, again.duplicates, len(again.days)) == (0, 20, 0)
    assert bodies(store) == [record.body for record in records]
    assert impressions(store) == 20


def test_an_id_counts_once_across_months_and_within_a_load(store: PartnerStore) -> None:
    outcome = ingest(
        store, [make_record(START, 1), make_record(START, 1), make_record(START + 3 * HOUR, 1)]
    )
    assert (outcome.stored, outcome.duplicates) == (1, 2)
    assert impressions(store) == 1
    assert read_dates(store) == ["2026-01-31"]


def test_a_replaced_hour_leaves_nothing_of_the_old_one(store: PartnerStore) -> None:
    other_hour = make_record(START + HOUR, 900, campaign_id=9)
    ingest(
        store,
        [*(make_record(START + n, n, campaign_id=5, revenue=7) for n in range(10)), other_hour],
    )
    # Half of the ids come back, with another campaign.
    replacement = [make_record(START + n, n, campaign_id=6, revenue=11) for n in range(5, 12)]
    outcome = ingest(store, replacement, replace_hours={START // HOUR})
    assert (outcome.stored, outcome.duplicates, outcome.replaced_hours) == (7, 0, 1)
    assert bodies(store) == [*(record.body for record in replacement), other_hour.body]
    rows = read_summary(store, DAYS, group_by="campaign", currency="USD")["summary"]
    assert [(row["campaign_id"], row["impressions"], row["revenue"]) for row in rows] == [
        (6, 7, "0.000000077"),
        (9, 1, "0.002500000"),
    ]
    with store.reading("2026-01") as connection:
        assert connection.execute("SELECT SUM(n) FROM chunks").fetchone() == (8,)
    # The ids of the hour that is gone are free again.
    assert ingest(store, [make_record(START, 0)]).stored == 1


def test_an_event_may_move_between_replaced_hours(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1), make_record(START + 2 * HOUR, 2)])
    moved = [make_record(START + 1, 2), make_record(START + 2 * HOUR, 1)]
    hours = {START // HOUR, START // HOUR + 2}
    outcome = ingest(store, moved, replace_hours=hours)
    assert (outcome.stored, outcome.duplicates, outcome.replaced_hours) == (2, 0, 2)
    assert bodies(store) == [record.body for record in moved]
    assert impressions(store) == 2


def test_a_replaced_hour_without_a_record_is_empty(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1), make_record(START + HOUR, 2)])
    outcome = ingest(store, [], replace_hours={START // HOUR})
    assert (outcome.stored, outcome.replaced_hours) == (0, 1)
    assert bodies(store) == [make_record(START + HOUR, 2).body]
    assert impressions(store) == 1


def test_an_hour_that_lost_rows_cannot_be_replaced(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1), make_record(START + 1, 2)])
    with store.writing("2026-01") as connection:
        connection.execute("DELETE FROM chunks WHERE key = ?", (first_key(START // HOUR, 0),))
    with pytest.raises(DamagedFile, match="rows of an hour are missing"):
        ingest(store, [make_record(START, 3)], replace_hours={START // HOUR})
    assert impressions(store) == 2


def test_a_load_that_fails_half_way_shows_nothing(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1)])

    def broken() -> Iterator[Record]:
        yield make_record(START, 2)
        # The next month: the first one has been committed by now, and must not show.
        yield make_record(START + 2 * HOUR, 3)
        raise OSError("the file ends here")

    with pytest.raises(OSError, match="ends here"):
        ingest(store, broken())
    assert bodies(store) == [make_record(START, 1).body]
    assert impressions(store) == 1


@pytest.mark.parametrize("name", ["2026-01", "ledger"])
def test_a_load_without_room_changes_nothing(
    store: PartnerStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ingest(store, [make_record(START, 1)])
    real = sqlite3.Connection

    def full(path: str | Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(path, **options)
        if Path(path).stem == name:
            connection.execute("PRAGMA max_page_count = 1")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "Connection", full)
        with pytest.raises(DiskFull, match=r"no room on the disk: .*\.db"):
            ingest(store, [make_record(START + 1, number) for number in range(2, 2000)])
    assert len(bodies(store)) == 1
    assert ingest(store, [make_record(START + 1, 2)]).stored == 1
    assert len(bodies(store)) == 2


@pytest.mark.parametrize("log", [b"", b"commits"])
def test_a_reader_without_room_for_the_index_of_the_log_misses_no_commit(
    tmp_path: Path, log: bytes
) -> None:
    with closing(PartnerStore(tmp_path)) as store, store.reading("ledger"):
        pass
    (tmp_path / "ledger.db-wal").write_bytes(log)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with (
            closing(PartnerStore(tmp_path)) as store,
            pytest.raises(DiskFull) if log else nullcontext(),
            store.reading("ledger") as ledger,
        ):
            assert ledger.execute("SELECT number FROM revision").fetchone() == (0,)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_load_names_the_file_that_is_damaged(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1)])
    for name in ("2026-01", "ledger"):
        (store.folder / f"{name}.db").write_bytes(b"no database" * 1000)
        with pytest.raises(DamagedFile, match=rf"/{name}\.db is damaged"):
            ingest(store, [make_record(START, 2)])


def test_what_a_killed_load_left_is_never_seen_and_later_removed(store: PartnerStore) -> None:
    ingest(store, [make_record(START, 1)])
    hour = START // HOUR
    torn = [make_record(START + 9, number).body for number in range(2, CHUNK_ROWS + 9)]
    with store.writing("2026-01") as connection:
        append_rows(connection, first_key(hour, 0), first_key(hour, 1), torn)
    assert bodies(store) == [make_record(START, 1).body]
    ingest(store, [make_record(START + 1, 2)])
    assert bodies(store) == [make_record(START, 1).body, make_record(START + 1, 2).body]
    with store.reading("2026-01") as connection:
        assert connection.execute("SELECT SUM(n) FROM chunks").fetchone() == (2,)


def test_a_second_writer_is_refused_while_one_writes(store: PartnerStore) -> None:
    ingest(store, [])
    with (
        store.writing("ledger"),
        sqlite3.connect(store.folder / "ledger.db", timeout=0, isolation_level=None) as second,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        second.execute("BEGIN IMMEDIATE")
    second.close()


def test_a_reader_cannot_write(store: PartnerStore) -> None:
    with (
        pytest.raises(sqlite3.OperationalError, match="readonly"),
        store.reading("ledger") as connection,
    ):
        connection.execute("UPDATE revision SET number = 5")


ONE_DAY = DayRange(date(2026, 1, 31), date(2026, 1, 31))
SIZE = 3 * CHUNK_ROWS + 5


def rows(store: PartnerStore, **page: int) -> list[bytes]:
    found = read_page(
        store, ONE_DAY, page=page.get("page", 1), per_page=page.get("per_page", 10**6)
    )
    assert all(found.pieces)
    return [row for piece in found.pieces for row in split_rows(piece)]


def fill(store: PartnerStore, *, again: int = 0) -> list[bytes]:
    """Put ``SIZE`` rows into each of two hours; ``again`` makes other ones in their place."""
    records = [
        make_record(START + hour * HOUR + second, 10_000 * again + 1_000 * hour + second)
        for hour in range(2)
        for second in range(SIZE)
    ]
    hours = {START // HOUR, START // HOUR + 1} if again else set()
    ingest(store, records, replace_hours=hours)
    return [record.body for record in records]


@pytest.mark.parametrize("per_page", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, SIZE + 1])
def test_pages_are_cut_at_any_row(store: PartnerStore, per_page: int) -> None:
    expected = fill(store)
    for page in range(1, 5 if per_page == 1 else 2 * SIZE // per_page + 2):
        begin = (page - 1) * per_page
        assert rows(store, page=page, per_page=per_page) == expected[begin : begin + per_page]


@given(texts=st.lists(st.text(st.sampled_from('{}[],:"\\ a')), min_size=1, max_size=5))
def test_rows_come_apart_whatever_their_texts_are(texts: list[str]) -> None:
    event = decode_event(make_record(START).body)
    bodies = [encode_event(msgspec.structs.replace(event, domain=text)) for text in texts]
    assert split_rows(b",".join(bodies)) == bodies
    assert [row["domain"] for row in decode_rows([b",".join(bodies)])] == texts
    assert count_rows(b",".join(bodies)) == len(bodies)
    for skip, behind in combinations(range(len(bodies) + 1), 2):
        some = some_rows(b",".join(bodies), skip, behind - skip)
        assert some == b",".join(bodies[skip:behind])


def test_no_rows_are_no_rows() -> None:
    assert split_rows(b"") == []


@pytest.mark.parametrize("which", [0, 1, -2, -1])
def test_a_chunk_that_is_gone_is_noticed(store: PartnerStore, which: int) -> None:
    """Also between others, in an hour that is read together with its neighbours."""
    fill(store)
    spans = read_spans(store, ONE_DAY)
    assert len(spans) > 1
    with store.writing("ledger"), store.writing("2026-01") as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM chunks ORDER BY key")]
        assert len(keys) > 3
        connection.execute("DELETE FROM chunks WHERE key = ?", (keys[which],))
    with pytest.raises(HourReplaced, match=r"rows of hour \d+ are missing"):
        read_pieces(store, spans)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda texts: texts.replace(b'},{"event_id', b'} ,"event_id', 1), "wrong number of rows"),
        (lambda texts: b"[" + texts[1:], "no events"),
        (lambda texts: texts[:-1] + b"]", "no events"),
    ],
)
def test_texts_that_are_no_events_are_noticed(
    store: PartnerStore, damage: Callable[[bytes], bytes], reason: str
) -> None:
    fill(store)
    key = first_key(START // HOUR, 0)
    with store.writing("ledger"), store.writing("2026-01") as connection:
        query = "SELECT texts FROM chunks WHERE key = ?"
        (texts,) = connection.execute(query, (key,)).fetchone()
        connection.execute("UPDATE chunks SET texts = ? WHERE key = ?", (damage(texts), key))
    with pytest.raises(DamagedFile, match=reason):
        read_pieces(store, [Span(START // HOUR, 0, 3)])


@pytest.mark.parametrize("version", [1, 99])
def test_a_folder_of_another_layout_is_left_alone(tmp_path: Path, version: int) -> None:
    list_partners(tmp_path)
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "state.db").read_bytes()
    with pytest.raises(OtherSchema, match=rf"layout {version}, .* load the events into a new"):
        list_partners(tmp_path)
    assert (tmp_path / "state.db").read_bytes() == before


def test_tables_are_created_together_or_not_at_all() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            prepare(connection, "CREATE TABLE a (x);\nCREATE TABLE a (x);\n")
        connection.rollback()
        assert connection.execute("SELECT * FROM sqlite_master").fetchall() == []


async def write(state: State, name: str) -> None:
    async with state.writing() as connection:
        await connection.execute("INSERT INTO secrets VALUES (?, x'00')", (name,))


async def cancel_at(data: Path, statement: str) -> list[str]:
    """Cancel a write while SQLite runs a statement of it; which names are there after the next."""
    async with open_state(data) as state:
        loop, cancelled = asyncio.get_running_loop(), threading.Event()
        tasks: list[asyncio.Task[None]] = []

        def cancel() -> None:
            tasks.pop().cancel()
            loop.call_soon(cancelled.set)

        def trace(running: str) -> None:
            if running == statement and tasks:
                loop.call_soon_threadsafe(cancel)
                cancelled.wait()

        async with state.writing() as connection:
            await connection.set_trace_callback(trace)
        task = asyncio.create_task(write(state, "first"))
        tasks.append(task)
        with pytest.raises(asyncio.CancelledError):
            await task
        await write(state, "second")
        return [row["name"] for row in await state.rows("SELECT name FROM secrets ORDER BY name")]


@pytest.mark.parametrize(
    ("statement", "names"), [("BEGIN IMMEDIATE", ["second"]), ("COMMIT", ["first", "second"])]
)
def test_a_cancelled_write_ends_its_transaction(
    tmp_path: Path, statement: str, names: list[str]
) -> None:
    assert asyncio.run(cancel_at(tmp_path, statement)) == names


def test_the_folder_of_each_new_name_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    data = tmp_path / "new" / "data"
    with LocalServer(data=data, sample=Sample(events_per_day=24)):
        pass
    named = (tmp_path, tmp_path / "new", data, data / "partners")
    assert {path.stat().st_ino for path in named} <= synced


RecordMaker = Callable[..., Record]
API = "/api/partners/acme/ad-analytics"
GOOD = {"start_date": "2026-01-30", "end_date": "2026-01-31"}
BAD = {"start_date": "2026-02-01", "end_date": "2026-02-02"}
BOTH = {"start_date": "2026-01-30", "end_date": "2026-02-02"}


def overwritten(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def cut_in_half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def zeroed_in_the_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:-4096] = bytes(len(content) - 2 * 4096)
    file.write_bytes(content)


def removed(file: Path) -> None:
    file.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (
    overwritten,
    cut_in_half,
    zeroed_in_the_middle,
    removed,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two days on each side of the end of a month."""
    data = tmp_path_factory.mktemp("original")
    sample = Sample(start=date(2026, 1, 30), days=4, events_per_day=240)
    with LocalServer(data=data, sample=sample):
        return data


@pytest.fixture
def http(request: pytest.FixtureRequest, original: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a server on a copy of that folder, with its second month damaged."""
    data = tmp_path / "data"
    for file in original.rglob("*.db"):
        copy = data / file.relative_to(original)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    with LocalServer(data=data) as server:
        name, damage = request.param
        damage(data / "partners" / "1" / name)
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=f"{server.url}{API}", headers=headers) as client:
            yield client


@pytest.mark.parametrize(
    "http",
    [("2026-02.db", damage) for damage in DAMAGES],
    indirect=True,
    ids=lambda damage: f"{damage[1].__name__} {damage[0]}",
)
def test_a_damaged_month_is_the_only_one_that_fails(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert http.get("/events", params=GOOD).json()["meta"]["total"] == 480
    for days in (BAD, BOTH):
        answer = http.get("/events", params={**days, "per_page": 10_000})
        assert (answer.status_code, answer.json()) == (500, {"error": "Internal Server Error"})
        (line,) = [
            record.getMessage()
            for record in caplog.records
            if record.levelno == logging.ERROR
            and answer.headers["x-request-id"] in record.getMessage()
        ]
        assert "2026-02." in line
        assert "damaged" in line
    assert http.get("/events", params=GOOD).status_code == 200
    assert http.get("/summary", params=BOTH).status_code == 200
    assert len(http.get("/dates").json()["dates"]) == 4
    orders = [http.post("/bulk-export", json={**days, "format": "csv"}) for days in (BAD, GOOD)]
    assert [order.json()["status"] for order in orders] == ["failed", "completed"]
    assert "damaged" in orders[0].json()["error"]


@pytest.mark.parametrize("http", [("2026-02.db", overwritten)], indirect=True)
def test_a_damaged_file_is_one_line_without_a_traceback(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    http.get("/events", params=BAD)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert not record.exc_info
    assert record.getMessage().endswith(
        "partners/1/2026-02.db is damaged (file is not a database): restore its folder from a"
        " backup, or delete the folder and load its files again"
    )


def full(*_: object) -> NoReturn:
    raise DiskFull(Path("a folder", "a file"))


def test_reads_go_on_when_the_disk_is_full(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = shutil.copytree(original, tmp_path / "data")
    with LocalServer(data=data, dialect="rate-headers") as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=f"{server.url}{API}", headers=headers) as http:
            with monkeypatch.context() as patch:
                # Where a request begins to write.
                patch.setattr(State, "writing", full)
                patch.setattr(ratelimit, "transaction", full)
                patch.setattr(PartnerStore, "_open_for_writing", full)
                answers = [http.get("/events", params=GOOD) for _ in range(2)]
                summary = http.get("/summary", params=BOTH)
            assert [len(each.json()["data"]) for each in answers] == [480, 480]
            assert summary.status_code == 200
            assert "r=1000;" in answers[1].headers["ratelimit"]
            # The pool holds no connection that assumes an unchanged file.
            with closing(PartnerStore(data / "partners" / "1")) as store:
                ingest(store, [make_record(1_769_731_200_000)])
            answer = http.get("/events", params=GOOD)
            assert len(answer.json()["data"]) == 481
            assert "r=999;" in answer.headers["ratelimit"]


def test_a_full_disk_names_the_file_also_at_the_start_and_at_a_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.Connection
    pages = 1

    def small(path: str | Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(path, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    async def start() -> None:
        async with open_state(tmp_path):
            pytest.fail("it has started")

    monkeypatch.setattr(sqlite3, "Connection", small)
    with pytest.raises(DiskFull, match=r"/state\.db"):
        asyncio.run(start())
    with pytest.raises(DiskFull, match=r"/limits\.db"):
        RateLimiter(tmp_path, Clock())
    pages = 10
    limiter = RateLimiter(tmp_path, Clock())
    try:
        with pytest.raises(DiskFull, match=r"/limits\.db"):
            limiter.restore([(f"key:{number}", number) for number in range(10_000)])
    finally:
        limiter.close()
