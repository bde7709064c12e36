"""Sort any number of records in bounded memory: runs in memory, then files, then a merge."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from adanalytics_server.storage.events import Record

# Memory for the records of one run. With the readers below, it limits the memory of a sort.
MOST_BYTES = 64 << 20
# Files read at once; when a level has this many, they merge into one file of the next level.
MOST_RUNS = 32
# Records of each of those files in memory.
_BLOCK = 64
# Bytes of a record's tuple, numbers and object headers, without its body.
_OVERHEAD = 300

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Record]).decode


class RecordSorter:
    """Takes records in any order and yields them sorted as tuples; a context manager.

    Runs that do not fit in about ``most_bytes`` go to the folder, which is created if needed. The
    files have no names, so a killed process leaves nothing behind.
    """

    def __init__(self, *, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._bytes = 0
        self._records: list[Record] = []
        self._levels: list[list[BinaryIO]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._records = []
        for run in self._runs():
            run.close()
        self._levels = []

    def add(self, record: Record) -> None:
        """Add a record.

        Raises:
            OSError: a run cannot be written to the folder, for example because the disk is full.
        """
        self._records.append(record)
        self._bytes += len(record.body) + _OVERHEAD
        if self._bytes > self._most_bytes:
            self._records.sort()
            self._keep(self._records, level=0)
            self._records = []
            self._bytes = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield all records sorted; call once, after adding the last one."""
        self._records.sort()
        runs = self._runs()
        if not runs:
            return iter(self._records)
        return heapq.merge(self._records, *map(_read_run, runs))

    def _runs(self) -> list[BinaryIO]:
        return [run for level in self._levels for run in level]

    def _keep(self, records: Iterable[Record], *, level: int) -> None:
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(self._write_run(records))
        full = self._levels[level]
        if len(full) == MOST_RUNS:
            self._keep(heapq.merge(*map(_read_run, full)), level=level + 1)
            for run in full:
                run.close()
            self._levels[level] = []

    def _write_run(self, records: Iterable[Record]) -> BinaryIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            run = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
            remaining = iter(records)
            while block := list(islice(remaining, _BLOCK)):
                encoded = _encode(block)
                run.write(len(encoded).to_bytes(4, "big"))
                run.write(encoded)
            run.seek(0)
            stack.pop_all()
        return run


def _read_run(run: BinaryIO) -> Iterator[Record]:
    while size := run.read(4):
        yield from _decode(run.read(int.from_bytes(size, "big")))
