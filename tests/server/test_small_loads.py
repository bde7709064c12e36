"""Many small loads into the same hours: their rows stay in order, and pages stay cheap."""

from collections.abc import Iterator
from datetime import date
from itertools import count
from random import Random

import pytest
from tests.server.records import make_record

from adanalytics_server.storage import chunks as storage_chunks
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.store import PartnerStore

HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z, two hours before another month
DAYS = DayRange(date(2026, 1, 31), date(2026, 1, 31))
CHUNK = 4


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_chunks, "CHUNK_ROWS", CHUNK)


def served(store: PartnerStore, *, per_page: int = 100_000) -> list[bytes]:
    found: list[bytes] = []
    pages = (read_page(store, DAYS, page=page, per_page=per_page) for page in count(1))
    for page in pages:
        found += split_pieces(page.pieces)
        if len(found) == page.total:
            break
    return found


def chunks(store: PartnerStore) -> int:
    with store.reading("2026-01") as connection:
        return int(connection.execute("SELECT COUNT(*) FROM chunks").fetchone()[0])


def killed(records: list[Record]) -> Iterator[Record]:
    """Give the records, then one of the next month, then nothing any more: the process is gone."""
    yield from records
    yield make_record(START + 2 * HOUR, 999_999)
    raise KeyboardInterrupt


def test_rows_of_many_small_loads_stay_in_order_and_in_few_chunks(store: PartnerStore) -> None:
    draw = Random(1)
    expected: list[list[Record]] = [[], []]
    number = 0
    bodies: list[bytes] = []
    for load in range(60):
        new = []
        for hour in range(2):
            rows = draw.randrange(3)
            records = [make_record(START + hour * HOUR + number, number + n) for n in range(rows)]
            expected[hour] += records
            new += records
            number += rows
        if load % 10 == 5:
            unseen = [make_record(START + HOUR - 1, 500_000 + load)]
            with pytest.raises(KeyboardInterrupt):
                ingest(store, killed(unseen))
        ingest(store, new)
        bodies = [record.body for record in expected[0] + expected[1]]
        assert served(store) == bodies
        # The unseen row of a killed load may have a chunk until the next load of its hour.
        full = sum(-(-len(records) // CHUNK) for records in expected)
        assert chunks(store) in {full, full + 1}
    assert served(store, per_page=7) == bodies
    again = [make_record(START + n, 600_000 + n) for n in range(3)]
    ingest(store, again, replace_hours={START // HOUR})
    assert served(store) == [record.body for record in again + expected[1]]
