"""Rows in chunks: cut at any row, and damage is noticed."""

from collections.abc import Callable
from datetime import date
from itertools import combinations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.storage.chunks import (
    CHUNK_ROWS,
    count_rows,
    decode_rows,
    some_rows,
    split_rows,
)
from adanalytics_server.storage.damage import DamagedFile
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record, decode_event, encode_event
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import HourReplaced, Span, read_page, read_pieces, read_spans
from adanalytics_server.storage.store import PartnerStore, first_key

MakeRecord = Callable[..., Record]
HOUR = 3_600_000
START = 1_769_896_800_000  # 2026-01-31T22:00:00Z
DAYS = DayRange(date(2026, 1, 31), date(2026, 1, 31))
SIZE = 3 * CHUNK_ROWS + 5


def rows(store: PartnerStore, **page: int) -> list[bytes]:
    found = read_page(store, DAYS, page=page.get("page", 1), per_page=page.get("per_page", 10**6))
    assert all(found.pieces)
    return [row for piece in found.pieces for row in split_rows(piece)]


def fill(store: PartnerStore, make_record: MakeRecord, *, again: int = 0) -> list[bytes]:
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
def test_pages_are_cut_at_any_row(
    store: PartnerStore, make_record: MakeRecord, per_page: int
) -> None:
    expected = fill(store, make_record)
    for page in range(1, 5 if per_page == 1 else 2 * SIZE // per_page + 2):
        begin = (page - 1) * per_page
        assert rows(store, page=page, per_page=per_page) == expected[begin : begin + per_page]


@given(texts=st.lists(st.text(st.sampled_from('{}[],:"\\ a')), min_size=1, max_size=5))
def test_rows_come_apart_whatever_their_texts_are(
    make_record: MakeRecord, texts: list[str]
) -> None:
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
def test_a_chunk_that_is_gone_is_noticed(
    store: PartnerStore, make_record: MakeRecord, which: int
) -> None:
    """Also between others, in an hour that is read together with its neighbours."""
    fill(store, make_record)
    spans = read_spans(store, DAYS)
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
    store: PartnerStore, make_record: MakeRecord, damage: Callable[[bytes], bytes], reason: str
) -> None:
    fill(store, make_record)
    key = first_key(START // HOUR, 0)
    with store.writing("ledger"), store.writing("2026-01") as connection:
        query = "SELECT texts FROM chunks WHERE key = ?"
        (texts,) = connection.execute(query, (key,)).fetchone()
        connection.execute("UPDATE chunks SET texts = ? WHERE key = ?", (damage(texts), key))
    with pytest.raises(DamagedFile, match=reason):
        read_pieces(store, [Span(START // HOUR, 0, 3)])
