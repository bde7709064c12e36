"""Pages joined are the events: every one once, in order, at any size."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import (
    HourReplaced,
    Span,
    cut,
    read_in_parts,
    read_page,
    read_pieces,
    read_spans,
)
from adanalytics_server.storage.store import PartnerStore

HOUR = 3_600_000
# Two hours before the end of January 2026, so that a range crosses a month.
START = 1_769_896_800_000
DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))
MakeRecord = Callable[..., Record]


def all_pages(store: PartnerStore, days: DayRange, per_page: int) -> list[bytes]:
    bodies: list[bytes] = []
    number = 1
    while True:
        page = read_page(store, days, page=number, per_page=per_page)
        bodies += split_pieces(page.pieces)
        if len(bodies) >= page.total:
            return bodies
        assert page.pieces, "an empty page before the last one"
        number += 1


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=6), per_page=st.integers(1, 60))
def test_pages_joined_are_the_events(
    make_record: MakeRecord, counts: list[int], per_page: int
) -> None:
    records = [
        make_record(START + hour * HOUR + second, hour * 100 + second)
        for hour, count in enumerate(counts)
        for second in range(count)
    ]
    with TemporaryDirectory() as folder:
        store = PartnerStore(Path(folder))
        ingest(store, records)
        assert all_pages(store, DAYS, per_page) == [record.body for record in records]
        chunks = [
            split_pieces(pieces)
            for pieces in read_in_parts(store, read_spans(store, DAYS), rows=per_page)
        ]
        store.close()
    assert [body for chunk in chunks for body in chunk] == [record.body for record in records]
    assert all(0 < len(chunk) <= per_page for chunk in chunks)


def test_an_hour_of_the_day_is_taken_from_every_day_also_before_1970(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    day = 24 * HOUR
    records = [make_record(-day + 5 * HOUR, 1), make_record(5 * HOUR, 2), make_record(6 * HOUR, 3)]
    ingest(store, records)
    days = DayRange(date(1969, 12, 31), date(1970, 1, 1), hour=5)
    page = read_page(store, days, page=1, per_page=10)
    assert split_pieces(page.pieces) == [records[0].body, records[1].body]
    assert page.total == 2


def test_a_page_after_the_last_is_empty_and_knows_the_total(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START, 1)])
    page = read_page(store, DAYS, page=2**63 - 1, per_page=10_000)
    assert (page.pieces, page.total) == ([], 1)


def test_a_page_that_was_served_stays_when_late_data_arrives(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    days = DayRange(date(2026, 1, 31), date(2026, 1, 31), hour=22)
    ingest(store, [make_record(START + second, second) for second in range(10, 20)])
    before = read_page(store, days, page=1, per_page=5)
    ingest(store, [make_record(START, 99)])
    assert read_page(store, days, page=1, per_page=5) == before._replace(total=11)
    assert read_page(store, days, page=3, per_page=5).pieces == [make_record(START, 99).body]


def test_rows_that_vanish_while_they_are_read_are_noticed(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    ingest(store, [make_record(START + second, second) for second in range(3)])
    spans = read_spans(store, DAYS)
    ingest(store, [make_record(START, 50)], replace_hours={START // HOUR})
    with pytest.raises(HourReplaced):
        read_pieces(store, spans)


def test_cut_takes_parts_of_the_first_and_last_span() -> None:
    spans = [Span(1, 0, 4), Span(2, 7, 3), Span(5, 0, 2)]
    assert cut(spans, 3, 5) == [Span(1, 3, 1), Span(2, 7, 3), Span(5, 0, 1)]
    assert cut(spans, 9, 5) == []
