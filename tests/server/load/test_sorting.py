"""Sorting in bounded memory: temporary files give what a sort in memory gives."""

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.loading.sorting import RecordSorter
from adanalytics_server.storage.events import Record


def record(time: int, number: int, size: int = 0) -> Record:
    body = f"{number:08d}".encode() + b"x" * size
    return Record(time, b"", body, number % 10, (None, number), -number, None, number % 2 == 0)


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("most_bytes", [1, 5_000, 1 << 30])
@given(times=st.lists(st.integers(-(2**40), 2**40), max_size=60))
def test_any_records_come_back_sorted(most_bytes: int, times: list[int]) -> None:
    records = [record(time, number % 7) for number, time in enumerate(times)]
    with closing(RecordSorter(most_bytes)) as sorter:
        for each in records:
            sorter.add(each)
        assert list(sorter) == sorted(records)


def test_an_abandoned_sort_closes_its_files() -> None:
    before = open_files()
    with closing(RecordSorter(1)) as sorter:
        for number in range(5_000):
            sorter.add(record(-number, number, size=1_000))
        assert open_files() > before
        assert next(iter(sorter)).time == -4_999
    assert open_files() == before
