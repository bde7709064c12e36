"""Sorting in bounded memory: runs on disk give what a sort in memory gives."""

import random
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
def test_any_records_come_back_sorted(
    tmp_path_factory: pytest.TempPathFactory, most_bytes: int, times: list[int]
) -> None:
    records = [record(time, number % 7) for number, time in enumerate(times)]
    folder = tmp_path_factory.getbasetemp() / "runs"
    with RecordSorter(folder=folder, most_bytes=most_bytes) as sorter:
        for each in records:
            sorter.add(each)
        assert list(sorter) == sorted(records)


def test_one_file_is_open_however_many_runs_there_were(tmp_path: Path) -> None:
    # A run a record: more of them than a process may have files.
    count = 1_029
    numbers = random.Random(3).sample(range(count), count)
    before = open_files()
    with RecordSorter(folder=tmp_path, most_bytes=1) as sorter:
        for number in numbers:
            sorter.add(record(number, number))
        assert open_files() == before + 1
        assert [each.time for each in sorter] == list(range(count))
    assert open_files() == before
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_only_when_memory_is_not_enough(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    with RecordSorter(folder=folder, most_bytes=5_000) as sorter:
        sorter.add(record(1, 1))
        assert list(sorter) == [record(1, 1)]
        assert not folder.exists()
        sorter.add(record(2, 2, size=10_000))
        assert folder.exists()


def test_an_abandoned_sort_closes_its_files(tmp_path: Path) -> None:
    before = open_files()
    with RecordSorter(folder=tmp_path, most_bytes=1) as sorter:
        for number in range(5):
            sorter.add(record(-number, number))
        assert next(iter(sorter)).time == -4
    assert open_files() == before
