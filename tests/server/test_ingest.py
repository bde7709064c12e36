"""Loads are idempotent and atomic, late data go to the end, a replaced hour is replaced whole."""

import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from adanalytics_server.api.summaries import read_dates, read_summary
from adanalytics_server.storage.chunks import CHUNK_ROWS, append_rows, split_pieces
from adanalytics_server.storage.damage import DamagedFile, DiskFull
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.store import PartnerStore, first_key

MakeRecord = Callable[..., Record]
HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z
DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))


def bodies(store: PartnerStore) -> list[bytes]:
    return split_pieces(read_page(store, DAYS, page=1, per_page=10_000).pieces)


def impressions(store: PartnerStore) -> int:
    summary = read_summary(store, DAYS, group_by=None, currency="USD")
    count: int = summary["totals"]["impressions"]
    return count


def test_the_same_load_again_adds_nothing(store: PartnerStore, make_record: MakeRecord) -> None:
    records = [make_record(START + second, second) for second in range(20)]
    first = ingest(store, records)
    again = ingest(store, records)
    assert (first.stored, first.duplicates, len(first.days)) == (20, 0, 1)
    assert (again.stored, again.duplicates, len(again.days)) == (0, 20, 0)
    assert bodies(store) == [record.body for record in records]
    assert impressions(store) == 20


def test_an_id_counts_once_across_months_and_within_a_load(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    outcome = ingest(
        store, [make_record(START, 1), make_record(START, 1), make_record(START + 3 * HOUR, 1)]
    )
    assert (outcome.stored, outcome.duplicates) == (1, 2)
    assert impressions(store) == 1
    assert read_dates(store) == ["2026-01-31"]


def test_a_replaced_hour_leaves_nothing_of_the_old_one(
    store: PartnerStore, make_record: MakeRecord
) -> None:
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


def test_an_event_may_move_between_replaced_hours(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1), make_record(START + 2 * HOUR, 2)])
    moved = [make_record(START + 1, 2), make_record(START + 2 * HOUR, 1)]
    hours = {START // HOUR, START // HOUR + 2}
    outcome = ingest(store, moved, replace_hours=hours)
    assert (outcome.stored, outcome.duplicates, outcome.replaced_hours) == (2, 0, 2)
    assert bodies(store) == [record.body for record in moved]
    assert impressions(store) == 2


def test_a_replaced_hour_without_a_record_is_empty(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1), make_record(START + HOUR, 2)])
    outcome = ingest(store, [], replace_hours={START // HOUR})
    assert (outcome.stored, outcome.replaced_hours) == (0, 1)
    assert bodies(store) == [make_record(START + HOUR, 2).body]
    assert impressions(store) == 1


def test_an_hour_that_lost_rows_cannot_be_replaced(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1), make_record(START + 1, 2)])
    with store.writing("2026-01") as connection:
        connection.execute("DELETE FROM chunks WHERE key = ?", (first_key(START // HOUR, 0),))
    with pytest.raises(DamagedFile, match="rows of an hour are missing"):
        ingest(store, [make_record(START, 3)], replace_hours={START // HOUR})
    assert impressions(store) == 2


def test_a_load_that_fails_half_way_shows_nothing(
    store: PartnerStore, make_record: MakeRecord
) -> None:
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
    store: PartnerStore, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch, name: str
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


def test_a_load_names_the_file_that_is_damaged(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1)])
    for name in ("2026-01", "ledger"):
        (store.folder / f"{name}.db").write_bytes(b"no database" * 1000)
        with pytest.raises(DamagedFile, match=rf"/{name}\.db is damaged"):
            ingest(store, [make_record(START, 2)])


def test_what_a_killed_load_left_is_never_seen_and_later_removed(
    store: PartnerStore, make_record: MakeRecord
) -> None:
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


def test_a_second_writer_is_refused_while_one_writes(
    store: PartnerStore, make_record: MakeRecord
) -> None:
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
