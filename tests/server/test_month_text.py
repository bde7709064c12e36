"""The files of texts: cut at any row, damaged, rewritten when they are mostly waste."""

import os
from collections.abc import Callable
from datetime import date
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.storage import month_text
from adanalytics_server.storage.damage import DamagedFile
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import Record, decode_event, encode_event
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.joined_rows import as_lines, count_rows, some_rows, split_rows
from adanalytics_server.storage.month_text import CHUNK_ROWS, generation_of
from adanalytics_server.storage.pages import read_page, read_pieces, read_spans
from adanalytics_server.storage.store import PartnerStore
from adanalytics_server.storage.text_reading import HourReplaced, Span

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


def text_files(store: PartnerStore) -> list[Path]:
    return sorted(store.folder.glob("*.events"))


@pytest.mark.parametrize("per_page", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, SIZE + 1])
def test_pages_are_cut_at_any_row(
    store: PartnerStore, make_record: MakeRecord, per_page: int
) -> None:
    expected = fill(store, make_record)
    for page in range(1, 5 if per_page == 1 else 2 * SIZE // per_page + 2):
        begin = (page - 1) * per_page
        assert rows(store, page=page, per_page=per_page) == expected[begin : begin + per_page]


def test_all_rows_of_a_load_are_one_read(store: PartnerStore, make_record: MakeRecord) -> None:
    expected = fill(store, make_record)
    assert read_pieces(store, read_spans(store, DAYS)) == [b",".join(expected)]
    (file,) = text_files(store)
    assert file.read_bytes() == b",".join([*expected, b""])


@given(texts=st.lists(st.text(st.sampled_from('{}[],:"\\ a')), min_size=1, max_size=5))
def test_rows_come_apart_whatever_their_texts_are(
    make_record: MakeRecord, texts: list[str]
) -> None:
    event = decode_event(make_record(START).body)
    bodies = [encode_event(msgspec.structs.replace(event, domain=text)) for text in texts]
    assert split_rows(b",".join(bodies)) == bodies
    assert as_lines(b",".join(bodies)) == b"\n".join(bodies)
    assert count_rows(b",".join(bodies)) == len(bodies)
    for skip, behind in combinations(range(len(bodies) + 1), 2):
        some = some_rows(b",".join(bodies), skip, behind - skip)
        assert some == b",".join(bodies[skip:behind])


def test_no_rows_are_no_rows() -> None:
    assert split_rows(b"") == []


def test_a_file_that_is_mostly_waste_is_written_anew(
    store: PartnerStore, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(month_text, "MOST_WASTE", 1_000)
    fill(store, make_record)
    size = text_files(store)[0].stat().st_size
    sizes = []
    expected: list[bytes] = []
    for again in range(1, 6):
        expected = fill(store, make_record, again=again)
        assert rows(store) == expected
        sizes.append(sum(file.stat().st_size for file in text_files(store)))
    # Each generation holds two or three times what is in use; the one before it may still be there.
    assert max(sizes) <= 5 * size
    with store.reading_month("2026-01") as connection:
        generation = generation_of(connection)
    assert generation >= 3
    ingest(store, [make_record(START, 99_999)])
    assert [file.name for file in text_files(store)] == [f"2026-01.{generation}.events"]
    assert rows(store) == [
        *expected[:SIZE],
        make_record(START, 99_999).body,
        *expected[SIZE:],
    ]


def test_who_reads_a_file_that_was_written_anew_reads_again(
    store: PartnerStore, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(month_text, "MOST_WASTE", 1_000)
    fill(store, make_record)
    spans = read_spans(store, DAYS)
    real = Path.open

    def replaced_meanwhile(path: Path, *args: object, **options: object) -> object:
        if path.name == "2026-01.1.events":
            monkeypatch.setattr(Path, "open", real)
            for again in (1, 2, 3):
                fill(store, make_record, again=again)
        return real(path, *args, **options)  # type: ignore[call-overload]  # handed on as it came

    monkeypatch.setattr(Path, "open", replaced_meanwhile)
    with pytest.raises(HourReplaced, match="written anew"):
        read_pieces(store, spans)


@pytest.mark.parametrize("which", [0, 1, -2, -1])
def test_a_chunk_that_is_gone_is_noticed(
    store: PartnerStore, make_record: MakeRecord, which: int
) -> None:
    """Also between others, in an hour that is read together with its neighbours."""
    fill(store, make_record)
    spans = read_spans(store, DAYS)
    assert len(spans) > 1
    with store.writing_ledger(), store.writing_month("2026-01") as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM chunks ORDER BY key")]
        assert len(keys) > 3
        connection.execute("DELETE FROM chunks WHERE key = ?", (keys[which],))
    with pytest.raises(HourReplaced, match="has not all rows"):
        read_pieces(store, spans)


def test_what_a_killed_rewrite_left_goes_with_the_next_load(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    expected = fill(store, make_record)
    (store.folder / "2026-01.2.events").write_bytes(b"half")
    ingest(store, [make_record(START + 2 * HOUR - 1, 9_999)])
    assert len(text_files(store)) == 1
    assert rows(store) == [*expected, make_record(START + 2 * HOUR - 1, 9_999).body]


def test_a_load_does_not_go_into_a_file_that_lost_its_end(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    fill(store, make_record)
    (file,) = text_files(store)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(DamagedFile, match=r"2026-01\.1\.events is damaged \(its end is missing\)"):
        ingest(store, [make_record(START, 5)])


def test_a_row_too_few_is_noticed_where_a_chunk_is_cut(
    store: PartnerStore, make_record: MakeRecord
) -> None:
    expected = fill(store, make_record)
    (file,) = text_files(store)
    # Two events become one, of the same length.
    damaged = b"".join([expected[0], b" ", expected[1]]).replace(b'} {"', b'  ,"')
    file.write_bytes(file.read_bytes().replace(b",".join(expected[:2]), damaged))
    with pytest.raises(DamagedFile, match="not as many rows"):
        read_pieces(store, [Span(START // HOUR, 0, 3)])
